//! Statuses that mean trouble, and what each means.

use plimsoll_model::StatusFamily::{self, Dos, Errno, Mount, Nfs, Nlm, Nt};
use plimsoll_stats::tallies::FULL;

use super::Kind;

/// From when on a status means trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// From the first on.
    Once,
    /// When there are many, or clients wait for it.
    Many,
    /// When most requests get it, or clients wait for it.
    Storm,
    /// When it comes again and again: people mistype once or twice.
    Again,
}

/// Statuses that mean one thing.
pub(super) struct Meaning {
    /// Its meaning, and the place to check.
    pub(super) text: &'static str,
    pub(super) when: When,
    pub(super) kind: Kind,
    /// Advice if it began while clients worked.
    pub(super) changed: Option<&'static str>,
    pub(super) statuses: &'static [(StatusFamily, u32)],
}

/// Refusals because of locks. A status does not say whose.
pub(super) const LOCKED: [(StatusFamily, u32); 6] = [
    (Nt, 0xC000_0054),  // FILE_LOCK_CONFLICT
    (Nt, 0xC000_0055),  // LOCK_NOT_GRANTED
    (Dos, 0x0021_0001), // ERRDOS, ERRlock
    (Nfs, 10_012),      // LOCKED
    (Nfs, 10_010),      // DENIED
    (Nlm, 1),           // DENIED
];

/// Refusals because files are open. A status does not say who has them open.
pub(super) const SHARED: [(StatusFamily, u32); 3] = [
    (Nt, 0xC000_0043),  // SHARING_VIOLATION
    (Dos, 0x0020_0001), // ERRDOS, ERRbadshare
    (Nfs, 10_015),      // SHARE_DENIED
];

/// Refusals in the grace period of a server.
pub(super) const GRACE: [(StatusFamily, u32); 2] = [
    (Nfs, 10_013), // GRACE
    (Nlm, 4),      // DENIED_GRACE_PERIOD
];

/// Refusals of requests that name a session or a share that is no longer there, or is not there for them.
pub(super) const ENDED: [(StatusFamily, u32); 5] = [
    (Nt, 0xC000_00C9), // NETWORK_NAME_DELETED
    (Nt, 0xC000_0203), // USER_SESSION_DELETED
    (Nt, 0xC000_026E), // VOLUME_DISMOUNTED
    (Nfs, 10_052),     // BADSESSION
    (Nfs, 10_078),     // DEADSESSION
];

/// The table of the meanings.
macro_rules! meanings {
    ($($when:ident, $kind:ident: $text:literal $(changed $changed:literal)? => $statuses:expr;)*) => {
        &[$(Meaning {
            text: $text,
            when: When::$when,
            kind: Kind::$kind,
            changed: [$(Some($changed),)? None][0],
            statuses: $statuses,
        }),*]
    };
}

/// All of them.
pub(super) const MEANINGS: &[Meaning] = meanings! {
    Once, Trouble: "the file system of the server is full, or a quota is used up" => &FULL;
    Many, Trouble: "the server asks clients to try again later"
        => &[(Nfs, 10_008)]; // JUKEBOX or DELAY
    Many, Trouble: "the status says that the server was in its grace period, after a start or a failover. In this period, clients may \
               reclaim their earlier opens and locks, but get no new ones. Check the length of this period in the configuration of the \
               server"
        => &GRACE;
    Many, Trouble: "clients use handles of files that no longer exist, or of a file system that was exported again"
        changed "whether the file system was replaced, restored or exported again"
        => &[(Nfs, 70), (Nfs, 10_014), (Nlm, 7), (Errno, 116)]; // STALE, FHEXPIRED, STALE_FH
    Once, Trouble: "the server does not accept the session or share that the requests name. Possible causes: the server ended the session \
               or removed the share, the client had ended it, or the session belongs to another connection"
        => &ENDED;
    // Kerberos tickets expire after some hours, and the client logs on again (MS-SMB2 3.3.5.2.9).
    Many, Remark: "the logon of the session has expired (with Kerberos: the user's ticket), so the client must log on again. Check the \
               lifetime of tickets, and the clocks of client and server"
        => &[(Nt, 0xC000_035C)]; // NETWORK_SESSION_EXPIRED
    Once, Remark: "the server has no share of the name that the client asked for. Check the name of the share in the client's path"
        => &[(Nt, 0xC000_00CC), (Dos, 0x0006_0002)]; // BAD_NETWORK_NAME; ERRSRV, ERRinvnetname
    Once, Trouble: "the server dropped the opens and locks of a client, because the client's lease expired or another client uses the same client ID"
        => &[(Nfs, 10_011)]; // EXPIRED
    Once, Trouble: "the server lacks memory or other resources" => &[
            (Nt, 0xC000_009A),  // INSUFFICIENT_RESOURCES
            (Nt, 0xC000_0205),  // INSUFF_SERVER_RESOURCES
            (Nt, 0xC000_0017),  // NO_MEMORY
            (Nt, 0xC000_00CE),  // TOO_MANY_SESSIONS
            (Nt, 0xC000_011F),  // TOO_MANY_OPENED_FILES
            (Dos, 0x0059_0002), // ERRSRV, ERRnoresource
            (Nfs, 10_018),      // RESOURCE
            (Nlm, 2),           // DENIED_NOLOCKS
        ];
    Once, Trouble: "the server accepts no further connection. Possible causes: the maximum number of users is reached, or a client of SMB 2 \
               adds a connection to a session, which needs SMB 3"
        => &[(Nt, 0xC000_00D0)]; // REQUEST_NOT_ACCEPTED
    Once, Trouble: "the server could not read or write its storage" => &[
            (Nt, 0xC000_00E9), // UNEXPECTED_IO_ERROR
            (Nt, 0xC000_0185), // IO_DEVICE_ERROR
            (Nt, 0xC000_003E), // DATA_ERROR
            (Nt, 0xC000_003F), // CRC_ERROR
            (Nt, 0xC000_0032), // DISK_CORRUPT_ERROR
            (Nt, 0xC000_0102), // FILE_CORRUPT_ERROR
            (Nt, 0xC000_00B5), // IO_TIMEOUT
            (Nfs, 5),
            (Nfs, 10_006), // SERVERFAULT
            (Mount, 5),
            (Errno, 5),
        ];
    Many, Mechanism: "other clients, the client itself or a program on the server have the files open, or hold locks on them"
        => &SHARED;
    Many, Mechanism: "other clients, the client itself or a program on the server hold locks on the files" => &LOCKED;
    Again, Trouble: "the server refuses logons again and again. Possible causes: a wrong or old password, or an account that is locked, \
               expired or not allowed to log on"
        changed "the password, or the account"
        => &[
            (Nt, 0xC000_006D),  // LOGON_FAILURE
            (Nt, 0xC000_006A),  // WRONG_PASSWORD
            (Nt, 0xC000_0064),  // NO_SUCH_USER
            (Nt, 0xC000_006E),  // ACCOUNT_RESTRICTION
            (Nt, 0xC000_006F),  // INVALID_LOGON_HOURS
            (Nt, 0xC000_0070),  // INVALID_WORKSTATION
            (Nt, 0xC000_0071),  // PASSWORD_EXPIRED
            (Nt, 0xC000_0072),  // ACCOUNT_DISABLED
            (Nt, 0xC000_0193),  // ACCOUNT_EXPIRED
            (Nt, 0xC000_0224),  // PASSWORD_MUST_CHANGE
            (Nt, 0xC000_0234),  // ACCOUNT_LOCKED_OUT
            (Nt, 0xC000_015B),  // LOGON_TYPE_NOT_GRANTED
            (Nt, 0xC000_005E),  // NO_LOGON_SERVERS
            (Nt, 0xC000_018D),  // TRUSTED_RELATIONSHIP_FAILURE
            (Dos, 0x0002_0002), // ERRSRV, ERRbadpw
        ];
    Again, Trouble: "the server refuses mounts again and again, because the export does not allow the client"
        changed "the list of allowed clients, or the name service in which the server looks up their names"
        => &[(Mount, 1), (Mount, 13)]; // PERM, ACCES
    Storm, Trouble: "the share, the export or its file system is read-only"
        changed "whether the export or the file system became read-only" => &[
            (Nt, 0xC000_00A2),  // MEDIA_WRITE_PROTECTED
            (Dos, 0x0013_0003), // ERRHRD, ERRnowrite
            (Nfs, 30),          // ROFS
            (Errno, 30),
        ];
    Storm, Trouble: "clients repeat requests for which they have no permission"
        changed "permissions, the options of the export (e.g. root squash), or the account"
        => &[(Nt, 0xC000_0022), (Nt, 0xC000_0061), (Dos, 0x0005_0001), (Nfs, 1), (Nfs, 13)];
};
