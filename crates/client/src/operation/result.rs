//! How an operation ended: its reply, or the cause of its failure.

use plimsoll_model::{Outcome, Procedure};
use serde::{Deserialize, Serialize};

use super::{FileKey, Tag};

/// How an operation ended.
#[derive(Clone, Debug)]
pub struct Done {
    /// The requester.
    pub tag: Tag,
    /// When the last byte of its last answer was there, ns since the Unix epoch.
    pub at: i64,
    /// The result.
    pub result: Result<Reply, Failure>,
}

/// The result of an operation.
#[allow(missing_docs, reason = "each variant's line names its fields")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It was done.
    Nothing,
    /// A file was opened; its size where the server was asked ([`Caching::Handle`](super::Caching::Handle) does not).
    Opened { file: FileKey, size: Option<u64> },
    /// This number of bytes was read; fewer than requested at the end of the file.
    Read { bytes: u32 },
    /// This number of bytes was written.
    Written { bytes: u32 },
    /// Data or a hole begins at this offset; `None` where the file ends before.
    Found { offset: Option<u64> },
    /// Attributes.
    Attributes { size: u64, directory: bool },
    /// Number of names, without `.` and `..`.
    Listed { entries: u64 },
    /// The file system's size and free space, bytes.
    Space { total: u64, free: u64 },
    /// Target of a link.
    Text(String),
    /// A port, from the portmapper.
    Port(u16),
    /// A root file handle, from MOUNT.
    Root(Vec<u8>),
}

/// Why an operation did not succeed. Never sent, not answered and refused are different things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The procedure that failed; `None` where none was sent.
    pub procedure: Option<Procedure>,
    /// The status on the wire, where an answer came.
    pub status: Option<u32>,
    /// Its kind.
    pub outcome: Outcome,
    /// What happened.
    pub cause: Cause,
}

impl Failure {
    /// The connection says it, or the clock: no answer came.
    #[must_use]
    pub fn without_answer(cause: Cause) -> Self {
        Self { procedure: None, status: None, outcome: Outcome::Unanswered, cause }
    }

    /// The operation was not sent.
    #[must_use]
    pub fn never_sent(cause: Cause) -> Self {
        Self { procedure: None, status: None, outcome: Outcome::NeverSent, cause }
    }
}

/// What happened to an operation that did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Cause {
    /// The server answered with an error status.
    Status,
    /// The server did not give an open file back after a lost connection (SMB durable handles).
    ReconnectionRefused,
    /// The connection was refused.
    ConnectionRefused,
    /// The connection was reset.
    ConnectionReset,
    /// The server closed the connection.
    ConnectionClosed,
    /// No answer within the time allowed.
    TimedOut,
    /// The answer made no sense.
    Malformed,
    /// Signature or encryption of the answer were wrong or missing.
    Untrusted,
    /// The data read were not the data written.
    WrongData,
    /// The script expects another status, a status where there was none, or other lengths.
    Unexpected,
    /// The client cannot do this: the protocol has no such operation, or the server no such procedure, or the file is not
    /// open.
    Unsupported,
    /// It takes more credits (SMB2) than the server grants.
    TooFewCredits,
    /// The measurement ended before it was sent.
    Ended,
    /// The user's logon was refused.
    LogonRefused,
    /// There is no such share or export, or it is not for this user.
    ShareRefused,
    /// The server has none of the dialects asked for, or not the signing or encryption that was demanded.
    NotOffered,
    /// The logon has no session key, because it is anonymous or the server made a guest of the user; signatures, encryption and further
    /// connections of the session need one.
    NoSessionKey,
    /// The server binds no further connections to a session: it says so, or its dialect is older than 3.0.
    NoMultichannel,
    /// At the address of a further connection there is another server: its ServerGuid differs.
    OtherServer,
    /// The SMB dialect is older than 3.0.2: it has no write-through of single writes.
    NoWriteThrough,
    /// The server's RPC layer rejected the call: no such program or version, unreadable arguments, or an internal error. It says nothing
    /// about the file.
    CallRejected,
    /// The server lost data that was not durable: it restarted between a write and its flush (RFC 1813 4.8).
    LostWrites,
    /// The server does not know the session any more (NFSv4.1 BADSESSION and its like): it restarted, or the lease ended. Or the session has
    /// expired or was ended (SMB).
    SessionLost,
    /// The server says that the session has ended, in an answer without the signature or encryption that the session demands: it has no
    /// key for it any more. Nothing proves that the answer is the server's.
    SessionEndedUnsigned,
    /// No way to the server (no route, host or network down).
    Unreachable,
    /// This machine had no more ports, open files or memory; the server is not the cause.
    OutOfResources,
    /// This machine's operating system refused a call, for no lack of anything: not the server's fault.
    RefusedBySystem,
    /// A request of the file's owner has no response (NFS 4.0), so the client does not know the locks that the server has.
    LocksUnknown,
    /// The client has no lock of this file: it got none, or has lost it.
    NoLock,
}

impl Cause {
    /// Whether the server said no to a connection, and would say so again.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Cause::LogonRefused
                | Cause::ShareRefused
                | Cause::NotOffered
                | Cause::NoSessionKey
                | Cause::NoMultichannel
                | Cause::OtherServer
        )
    }

    /// The word used in reports.
    pub fn label(self) -> &'static str {
        match self {
            Cause::Status => "error status",
            Cause::ReconnectionRefused => "durable handle not reconnected (CREATE refused)",
            Cause::ConnectionRefused => "connection refused",
            Cause::ConnectionReset => "connection reset",
            Cause::ConnectionClosed => "connection closed",
            Cause::TimedOut => "timed out",
            Cause::Malformed => "malformed answer",
            Cause::Untrusted => "answer not authentic",
            Cause::WrongData => "wrong data",
            Cause::Unexpected => "not the result that the workload expects",
            Cause::Unsupported => "not supported",
            Cause::TooFewCredits => "needs more SMB2 credits than the server grants (on Samba, raise smb2 max credits)",
            Cause::Ended => "not sent before the measurement ended",
            Cause::LogonRefused => "logon refused",
            Cause::ShareRefused => "share refused",
            Cause::NotOffered => "requested dialect, signing or encryption not offered by the server",
            Cause::NoSessionKey => {
                "an anonymous or guest logon can neither sign nor encrypt, nor use --channels: give a user of the server in the target"
            }
            Cause::NoMultichannel => {
                "no SMB multichannel: omit --channels, or use a server that offers multichannel with SMB 3.0 or later \
                (on Samba, set \"server multi channel support = yes\" and remove \"smb encrypt = required\")"
            }
            Cause::OtherServer => {
                "another server answered at the address of a further connection (its ServerGuid differs): with ?addresses=, give only \
                addresses of the same server"
            }
            Cause::NoWriteThrough => "write-through (stable = true) needs SMB 3.0.2 or later",
            Cause::CallRejected => "call rejected by RPC",
            Cause::LostWrites => "writes lost by the server",
            Cause::SessionLost => "session lost",
            Cause::SessionEndedUnsigned => "session ended by the server (answer not signed)",
            Cause::Unreachable => "server unreachable",
            Cause::OutOfResources => "this machine ran out of ports, open files or memory",
            Cause::RefusedBySystem => "system call refused by this machine's operating system",
            Cause::LocksUnknown => "locks of the file unknown, because an earlier request got no response",
            Cause::NoLock => "no lock to release",
        }
    }
}
