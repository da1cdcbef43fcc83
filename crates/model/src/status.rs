//! The outcome of a request by its status: one table for captures and runs.
//!
//! A status that the table does not name is a refusal if its standard calls it an error (NTSTATUS of severity 3, any DOS error,
//! any NFS status but 0), and expected if it is an NTSTATUS of lower severity.
//!
//! Spec: MS-ERREF 2.3.1
//! Spec: MS-CIFS 2.2.2.4
//! Spec: RFC 1813 2.6
//! Spec: RFC 7530 13
//! Spec: RFC 8881 15
//! Spec: RFC 8276 8.4.1

use crate::{Group, Operation as O, Outcome, Procedure, Protocol};

use Outcome::{Cancelled, Expected, Failed, Refused};

/// A status that ends some requests otherwise than its standard's severity alone says.
#[derive(Clone, Copy, Debug)]
pub struct StatusRule {
    /// As on the wire.
    pub status: u32,
    /// Name in the standard.
    pub name: &'static str,
    /// How a request that it answers ended.
    pub outcome: Outcome,
    /// The operations that the rule applies to; for others the status is a refusal. Empty: all.
    pub operations: &'static [O],
}

/// Statuses that are numbered together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusFamily {
    /// NTSTATUS: SMB2, and SMB1 of a client that asks for it.
    Nt,
    /// DOS error classes: SMB1 otherwise.
    Dos,
    /// NFS versions 2 to 4.2, NFSACL and the callbacks. No number means two things.
    Nfs,
    /// The lock manager.
    Nlm,
    /// MOUNT.
    Mount,
    /// `errno` of Linux.
    Errno,
}

/// Operations that look for a name: "not found" is a valid answer. CLOSE follows the CREATE of its SMB2 compound, whose status it
/// repeats.
const LOOKUPS: &[O] = &[O::Open, O::Lookup, O::GetAttributes, O::Access, O::List, O::Close];
/// In NFS only LOOKUP and OPEN have the name; other operations have a handle, which is valid or stale.
const NFS_LOOKUPS: &[O] = &[O::Open, O::Lookup];
const READS: &[O] = &[O::Read, O::List];
const ATTRIBUTES: &[O] = &[O::GetAttributes];
/// Asking for referrals is how a client finds out that there are none.
const CONTROL: &[O] = &[O::Control];

const fn rule(status: u32, name: &'static str, outcome: Outcome) -> StatusRule {
    StatusRule { status, name, outcome, operations: &[] }
}

const fn expected(status: u32, name: &'static str, operations: &'static [O]) -> StatusRule {
    StatusRule { status, name, outcome: Expected, operations }
}

/// By number, for the search.
const NT: &[StatusRule] = &[
    rule(0x8000_0011, "STATUS_DEVICE_BUSY", Refused),
    rule(0x8000_0013, "STATUS_INVALID_EA_NAME", Refused),
    rule(0x8000_0014, "STATUS_EA_LIST_INCONSISTENT", Refused),
    rule(0xC000_0001, "STATUS_UNSUCCESSFUL", Failed),
    rule(0xC000_000E, "STATUS_NO_SUCH_DEVICE", Failed),
    expected(0xC000_000F, "STATUS_NO_SUCH_FILE", LOOKUPS),
    expected(0xC000_0011, "STATUS_END_OF_FILE", READS),
    rule(0xC000_0016, "STATUS_MORE_PROCESSING_REQUIRED", Expected),
    rule(0xC000_0017, "STATUS_NO_MEMORY", Failed),
    rule(0xC000_0032, "STATUS_DISK_CORRUPT_ERROR", Failed),
    expected(0xC000_0034, "STATUS_OBJECT_NAME_NOT_FOUND", LOOKUPS),
    expected(0xC000_003A, "STATUS_OBJECT_PATH_NOT_FOUND", LOOKUPS),
    rule(0xC000_003E, "STATUS_DATA_ERROR", Failed),
    rule(0xC000_003F, "STATUS_CRC_ERROR", Failed),
    expected(0xC000_0051, "STATUS_NONEXISTENT_EA_ENTRY", ATTRIBUTES),
    expected(0xC000_0052, "STATUS_NO_EAS_ON_FILE", ATTRIBUTES),
    rule(0xC000_007F, "STATUS_DISK_FULL", Failed),
    rule(0xC000_009A, "STATUS_INSUFFICIENT_RESOURCES", Failed),
    rule(0xC000_00A3, "STATUS_DEVICE_NOT_READY", Failed),
    rule(0xC000_00B5, "STATUS_IO_TIMEOUT", Failed),
    rule(0xC000_00B6, "STATUS_FILE_FORCED_CLOSED", Failed),
    rule(0xC000_00BE, "STATUS_BAD_NETWORK_PATH", Failed),
    rule(0xC000_00BF, "STATUS_NETWORK_BUSY", Failed),
    rule(0xC000_00C4, "STATUS_UNEXPECTED_NETWORK_ERROR", Failed),
    rule(0xC000_00C7, "STATUS_NO_SPOOL_SPACE", Failed),
    rule(0xC000_00C9, "STATUS_NETWORK_NAME_DELETED", Failed),
    rule(0xC000_00CE, "STATUS_TOO_MANY_SESSIONS", Failed),
    rule(0xC000_00D0, "STATUS_REQUEST_NOT_ACCEPTED", Failed),
    rule(0xC000_00E5, "STATUS_INTERNAL_ERROR", Failed),
    rule(0xC000_00E9, "STATUS_UNEXPECTED_IO_ERROR", Failed),
    rule(0xC000_0102, "STATUS_FILE_CORRUPT_ERROR", Failed),
    rule(0xC000_011F, "STATUS_TOO_MANY_OPENED_FILES", Failed),
    rule(0xC000_0120, "STATUS_CANCELLED", Cancelled),
    expected(0xC000_019C, "STATUS_FS_DRIVER_REQUIRED", CONTROL),
    rule(0xC000_0203, "STATUS_USER_SESSION_DELETED", Failed),
    rule(0xC000_0205, "STATUS_INSUFF_SERVER_RESOURCES", Failed),
    expected(0xC000_0225, "STATUS_NOT_FOUND", CONTROL),
    rule(0xC000_0236, "STATUS_CONNECTION_REFUSED", Failed),
    rule(0xC000_023C, "STATUS_NETWORK_UNREACHABLE", Failed),
    rule(0xC000_023D, "STATUS_HOST_UNREACHABLE", Failed),
    rule(0xC000_0240, "STATUS_REQUEST_ABORTED", Failed),
    rule(0xC000_0241, "STATUS_CONNECTION_ABORTED", Failed),
    rule(0xC000_026E, "STATUS_VOLUME_DISMOUNTED", Failed),
    rule(0xC000_0466, "STATUS_SERVER_UNAVAILABLE", Failed),
    rule(0xC000_0467, "STATUS_FILE_NOT_AVAILABLE", Failed),
];

const ERRDOS: u32 = 1;
const ERRSRV: u32 = 2;
const ERRHRD: u32 = 3;

/// A DOS error as it stands in the header: the class in the low byte, the code in the high half.
const fn dos(class: u32, code: u32) -> u32 {
    code << 16 | class
}

const DOS: &[StatusRule] = &[
    rule(dos(ERRSRV, 0x01), "ERRerror", Failed),
    expected(dos(ERRDOS, 0x02), "ERRbadfile", LOOKUPS),
    expected(dos(ERRDOS, 0x03), "ERRbadpath", LOOKUPS),
    rule(dos(ERRDOS, 0x04), "ERRnofids", Failed),
    rule(dos(ERRDOS, 0x08), "ERRnomem", Failed),
    rule(dos(ERRDOS, 0x12), "ERRnofiles", Expected),
    rule(dos(ERRHRD, 0x15), "ERRnotready", Failed),
    rule(dos(ERRHRD, 0x17), "ERRdata", Failed),
    rule(dos(ERRHRD, 0x19), "ERRseek", Failed),
    rule(dos(ERRHRD, 0x1A), "ERRbadmedia", Failed),
    rule(dos(ERRHRD, 0x1B), "ERRbadsector", Failed),
    rule(dos(ERRHRD, 0x1D), "ERRwrite", Failed),
    rule(dos(ERRHRD, 0x1E), "ERRread", Failed),
    rule(dos(ERRDOS, 0x1F), "ERRgeneral", Failed),
    rule(dos(ERRHRD, 0x1F), "ERRgeneral", Failed),
    rule(dos(ERRHRD, 0x24), "ERRsharebufexc", Failed),
    expected(dos(ERRDOS, 0x26), "ERReof", READS),
    rule(dos(ERRHRD, 0x27), "ERRdiskfull", Failed),
    rule(dos(ERRSRV, 0x41), "ERRsrverror", Failed),
    rule(dos(ERRSRV, 0x53), "ERRnoroom", Failed),
    rule(dos(ERRSRV, 0x58), "ERRtimeout", Failed),
    rule(dos(ERRSRV, 0x59), "ERRnoresource", Failed),
    rule(dos(ERRDOS, 0xEA), "ERRmoredata", Expected),
];

/// Names of version 4, except for the one that only version 2 has.
const NFS: &[StatusRule] = &[
    expected(2, "NFS4ERR_NOENT", NFS_LOOKUPS),
    rule(5, "NFS4ERR_IO", Failed),
    // What SEEK asks: no data follows, or the file ends before.
    expected(6, "NFS4ERR_NXIO", ATTRIBUTES),
    rule(28, "NFS4ERR_NOSPC", Failed),
    rule(70, "NFS4ERR_STALE", Failed),
    rule(99, "NFSERR_WFLUSH", Failed),
    rule(10_006, "NFS4ERR_SERVERFAULT", Failed),
    // What VERIFY and NVERIFY ask.
    expected(10_009, "NFS4ERR_SAME", ATTRIBUTES),
    rule(10_011, "NFS4ERR_EXPIRED", Failed),
    rule(10_014, "NFS4ERR_FHEXPIRED", Failed),
    rule(10_018, "NFS4ERR_RESOURCE", Failed),
    rule(10_022, "NFS4ERR_STALE_CLIENTID", Failed),
    rule(10_023, "NFS4ERR_STALE_STATEID", Failed),
    expected(10_027, "NFS4ERR_NOT_SAME", ATTRIBUTES),
    rule(10_047, "NFS4ERR_ADMIN_REVOKED", Failed),
    rule(10_052, "NFS4ERR_BADSESSION", Failed),
    rule(10_078, "NFS4ERR_DEADSESSION", Failed),
    rule(10_087, "NFS4ERR_DELEG_REVOKED", Failed),
    expected(10_095, "NFS4ERR_NOXATTR", ATTRIBUTES),
];

const NLM: &[StatusRule] = &[
    rule(2, "NLM_DENIED_NOLOCKS", Failed),
    // The client waits for a GRANTED call.
    rule(3, "NLM_BLOCKED", Expected),
    rule(7, "NLM_STALE_FH", Failed),
    rule(9, "NLM_FAILED", Failed),
];

const MOUNT: &[StatusRule] = &[rule(5, "MNT3ERR_IO", Failed), rule(10_006, "MNT3ERR_SERVERFAULT", Failed)];

const ERRNO: &[StatusRule] = &[
    expected(2, "ENOENT", LOOKUPS),
    rule(5, "EIO", Failed),
    rule(6, "ENXIO", Failed),
    rule(12, "ENOMEM", Failed),
    rule(19, "ENODEV", Failed),
    rule(23, "ENFILE", Failed),
    rule(24, "EMFILE", Failed),
    rule(28, "ENOSPC", Failed),
    rule(37, "ENOLCK", Failed),
    expected(61, "ENODATA", ATTRIBUTES),
    rule(62, "ETIME", Failed),
    rule(67, "ENOLINK", Failed),
    rule(70, "ECOMM", Failed),
    rule(71, "EPROTO", Failed),
    rule(100, "ENETDOWN", Failed),
    rule(101, "ENETUNREACH", Failed),
    rule(103, "ECONNABORTED", Failed),
    rule(104, "ECONNRESET", Failed),
    rule(107, "ENOTCONN", Failed),
    rule(110, "ETIMEDOUT", Failed),
    rule(111, "ECONNREFUSED", Failed),
    rule(112, "EHOSTDOWN", Failed),
    rule(113, "EHOSTUNREACH", Failed),
    rule(116, "ESTALE", Failed),
    rule(121, "EREMOTEIO", Failed),
];

crate::words! {
    StatusFamily,
    "Every family.",
    "In words.":
    Nt "NTSTATUS", Dos "DOS error", Nfs "NFS", Nlm "NLM", Mount "MOUNT", Errno "errno"
}

impl StatusFamily {
    /// Its rules, by number.
    pub fn rules(self) -> &'static [StatusRule] {
        match self {
            StatusFamily::Nt => NT,
            StatusFamily::Dos => DOS,
            StatusFamily::Nfs => NFS,
            StatusFamily::Nlm => NLM,
            StatusFamily::Mount => MOUNT,
            StatusFamily::Errno => ERRNO,
        }
    }

    /// The family of a status of a protocol; `None` for a protocol whose calls have no status.
    pub fn of(protocol: Protocol, status: u32) -> Option<StatusFamily> {
        Some(match protocol {
            Protocol::Smb1 if is_dos(status) => StatusFamily::Dos,
            Protocol::Smb1 | Protocol::Smb2 => StatusFamily::Nt,
            Protocol::Nfs2 | Protocol::Nfs3 | Protocol::Nfs4 | Protocol::Nfs4Callback | Protocol::NfsAcl => {
                StatusFamily::Nfs
            }
            Protocol::Nlm => StatusFamily::Nlm,
            Protocol::Mount => StatusFamily::Mount,
            Protocol::File => StatusFamily::Errno,
            Protocol::Portmap | Protocol::Rpc => return None,
        })
    }
}

/// A class in the low byte, a code in the high half, and nothing between. NT's own errors of facility 0 have `0xC000` there.
fn is_dos(status: u32) -> bool {
    let [class, reserved, ..] = status.to_le_bytes();
    reserved == 0 && matches!(class, 1..=3 | 0xFF) && !matches!(status >> 16, 0 | 0x4000 | 0x8000 | 0xC000)
}

impl Outcome {
    /// How a request ended that was answered with a status, 0 being success in every protocol.
    #[inline]
    #[must_use]
    pub fn of_status(procedure: Procedure, status: u32) -> Outcome {
        if status == 0 { Outcome::Succeeded } else { of_other_status(procedure, status) }
    }

    /// The outcome of an answer. `self` is the outcome without the status: for "carried out" and "refused" the status decides.
    #[inline]
    #[must_use]
    pub fn with_status(self, procedure: Procedure, status: Option<u32>) -> Outcome {
        match (self, status) {
            (Outcome::Succeeded | Outcome::Refused, Some(status)) if status != 0 => of_other_status(procedure, status),
            _ => self,
        }
    }
}

impl Outcome {
    /// The outcome of a request that reconnects an open file after a lost connection (SMB durable handles). That there is no such file is an
    /// ordinary answer about a name, but not here.
    #[must_use]
    pub fn of_reconnection(self) -> Outcome {
        if self == Outcome::Expected { Outcome::Refused } else { self }
    }
}

#[cold]
fn of_other_status(procedure: Procedure, status: u32) -> Outcome {
    let row = procedure.row();
    let Some(family) = StatusFamily::of(row.protocol, status) else { return Refused };
    let rules = family.rules();
    match rules.binary_search_by_key(&status, |rule| rule.status).ok().and_then(|place| rules.get(place)) {
        Some(rule) if rule.operations.is_empty() || rule.operations.contains(&row.operation) => rule.outcome,
        // The status is expected for some of the possible operations.
        Some(rule) if (row.group == Group::Unknown || procedure.is_unknown()) && rule.outcome == Expected => {
            Outcome::Unknown
        }
        Some(_) => Refused,
        None if family == StatusFamily::Nt && status >> 30 < 3 => Expected,
        None => Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(protocol: Protocol, code: u16, status: u32) -> Outcome {
        Outcome::of_status(Procedure::of(protocol, code), status)
    }

    #[test]
    fn rules_are_in_order_for_the_search() {
        for family in StatusFamily::ALL {
            assert!(family.rules().windows(2).all(|pair| pair[0].status < pair[1].status), "{family:?}");
        }
    }

    #[test]
    fn nobody_knows_whether_the_answer_to_an_unknown_question_is_an_error() {
        let not_found = 0xC000_0034;
        assert_eq!(ends(Protocol::Smb1, 0x32, not_found), Outcome::Unknown, "TRANSACTION2, its function cut off");
        assert_eq!(Outcome::of_status(Procedure::of_sub(Protocol::Smb1, 0x32, 5), not_found), Expected);
        assert_eq!(ends(Protocol::Smb1, 0x32, 0xC000_0022), Refused, "access denied, whatever was asked");
    }

    #[test]
    fn a_name_that_is_not_there_is_an_answer_to_who_looks_for_it() {
        let not_found = 0xC000_0034;
        assert_eq!(ends(Protocol::Smb2, 0x05, not_found), Expected, "CREATE");
        assert_eq!(ends(Protocol::Smb2, 0x0E, 0xC000_000F), Expected, "QUERY_DIRECTORY");
        assert_eq!(ends(Protocol::Smb1, 0x06, not_found), Refused, "DELETE");
        assert_eq!(ends(Protocol::Smb1, 0x08, dos(ERRDOS, 2)), Expected, "QUERY_INFORMATION");
        assert_eq!(ends(Protocol::Nfs3, 3, 2), Expected, "LOOKUP");
        assert_eq!(ends(Protocol::Nfs3, 12, 2), Refused, "REMOVE");
        assert_eq!(ends(Protocol::Nfs4, 18, 2), Expected, "OPEN");
        assert_eq!(ends(Protocol::Nfs4, 69, 6), Expected, "SEEK");
        assert_eq!(ends(Protocol::Nfs4, 25, 6), Refused, "READ");
        assert_eq!(ends(Protocol::Mount, 1, 2), Refused, "MNT");
        assert_eq!(ends(Protocol::File, 6, 2), Expected, "fstatat");
    }

    #[test]
    fn an_end_is_expected_of_reads_and_listings_alike() {
        assert_eq!(ends(Protocol::Smb2, 0x08, 0xC000_0011), Expected);
        assert_eq!(ends(Protocol::Smb2, 0x0E, 0x8000_0006), Expected);
        assert_eq!(ends(Protocol::Smb2, 0x09, 0xC000_0011), Refused);
        assert_eq!(ends(Protocol::Smb1, 0x2E, dos(ERRDOS, 0x26)), Expected);
        assert_eq!(ends(Protocol::Smb2, 0x08, 0x8000_0005), Expected, "STATUS_BUFFER_OVERFLOW");
        assert_eq!(ends(Protocol::Smb2, 0x01, 0xC000_0016), Expected, "STATUS_MORE_PROCESSING_REQUIRED");
    }

    #[test]
    fn a_server_in_trouble_is_no_server_that_says_no() {
        assert_eq!(ends(Protocol::Smb2, 0x09, 0xC000_007F), Failed, "STATUS_DISK_FULL");
        assert_eq!(ends(Protocol::Smb2, 0x05, 0xC000_0022), Refused, "STATUS_ACCESS_DENIED");
        assert_eq!(ends(Protocol::Smb2, 0x05, 0xC000_0001), Failed, "STATUS_UNSUCCESSFUL is no DOS error");
        assert_eq!(ends(Protocol::Nfs3, 7, 28), Failed, "NFS3ERR_NOSPC");
        assert_eq!(ends(Protocol::Nfs3, 1, 70), Failed, "NFS3ERR_STALE");
        assert_eq!(ends(Protocol::Nfs3, 1, 71), Refused);
        assert_eq!(ends(Protocol::File, 2, 116), Failed, "ESTALE");
        assert_eq!(ends(Protocol::Smb2, 0x05, 0xC0FF_FFFF), Refused, "an error without a name");
        assert_eq!(ends(Protocol::Rpc, 0, 7), Refused);
    }

    #[test]
    fn a_status_says_nothing_where_it_is_not_the_cause() {
        let read = Procedure::of(Protocol::Smb2, 8);
        assert_eq!(Outcome::Failed.with_status(read, Some(0xC000_0011)), Failed);
        assert_eq!(Outcome::Refused.with_status(read, None), Refused);
        assert_eq!(Outcome::Succeeded.with_status(read, Some(0)), Outcome::Succeeded);
        assert_eq!(Outcome::Refused.with_status(read, Some(0xC000_0011)), Expected);
        assert_eq!(Outcome::Succeeded.with_status(read, Some(0xC000_0120)), Cancelled);
    }
}
