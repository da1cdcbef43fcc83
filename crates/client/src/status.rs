//! Meaning of a server's statuses, for messages and for retries.

use std::fmt;

use plimsoll_model::{Protocol, errno_name};
use plimsoll_wire::nfs::status::{
    NFS3ERR_ACCES, NFS3ERR_BADHANDLE, NFS3ERR_DQUOT, NFS3ERR_EXIST, NFS3ERR_ISDIR, NFS3ERR_NOENT, NFS3ERR_NOSPC,
    NFS3ERR_NOTDIR, NFS3ERR_NOTEMPTY, NFS3ERR_NOTSUPP, NFS3ERR_PERM, NFS3ERR_ROFS,
};
use plimsoll_wire::smb2::status::{
    STATUS_ACCESS_DENIED, STATUS_CONNECTION_REFUSED, STATUS_DIRECTORY_NOT_EMPTY, STATUS_DISK_FULL,
    STATUS_FILE_IS_A_DIRECTORY, STATUS_INVALID_DEVICE_REQUEST, STATUS_INVALID_INFO_CLASS, STATUS_MEDIA_WRITE_PROTECTED,
    STATUS_NO_SUCH_FILE, STATUS_NOT_A_DIRECTORY, STATUS_NOT_IMPLEMENTED, STATUS_NOT_SUPPORTED,
    STATUS_OBJECT_NAME_COLLISION, STATUS_OBJECT_NAME_NOT_FOUND, STATUS_OBJECT_PATH_NOT_FOUND, STATUS_PATH_NOT_COVERED,
    STATUS_QUOTA_EXCEEDED,
};
use plimsoll_wire::{nfs, smb2};

use crate::operation::{Cause, Failure};

/// Linux's errno where it differs from NFS. Errors that stand for both below have the same number in both.
const ENOSYS: u32 = 38;
const EOPNOTSUPP: u32 = 95;
const EDQUOT: u32 = 122;

/// The standard's name of a status of the supported protocols; `None` without one.
#[must_use]
pub fn status_name(protocol: Protocol, status: u32) -> Option<&'static str> {
    match protocol {
        Protocol::Smb2 => smb2::status_name(status),
        Protocol::Nfs3 => nfs::status_name(3, status),
        Protocol::Nfs4 => nfs::status_name(4, status),
        Protocol::Mount => nfs::mount_status_name(status),
        Protocol::File => errno_name(status),
        _ => None,
    }
}

/// What happened, the status by name, and in answer to what.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.cause.label())?;
        let protocol = self.procedure.map(|procedure| procedure.row().protocol);
        // Where the server agreed to what cannot be used, its status says nothing.
        if let Some(status) = self.status.filter(|&status| status != 0) {
            match protocol.and_then(|protocol| status_name(protocol, status)) {
                Some(name) => write!(f, ": {name}")?,
                None => write!(f, ": status {status:#010x}")?,
            }
        }
        self.procedure.map_or(Ok(()), |procedure| write!(f, ", {}", procedure.name()))?;
        if self.named() == Some((Protocol::Smb2, STATUS_PATH_NOT_COVERED)) {
            f.write_str("; the path is a DFS link, and Plimsoll does not follow DFS referrals: give the server and share to which the link refers")?;
        }
        Ok(())
    }
}

const DENIED: [u32; 3] = [NFS3ERR_PERM, NFS3ERR_ACCES, NFS3ERR_ROFS];

impl Failure {
    /// Whether the user lacks the right, or the share is read-only.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        match self.named() {
            Some((Protocol::Smb2, status)) => [STATUS_ACCESS_DENIED, STATUS_MEDIA_WRITE_PROTECTED].contains(&status),
            Some((Protocol::Nfs3 | Protocol::File, status)) => DENIED.contains(&status),
            _ => false,
        }
    }

    /// The share, export or file system is read-only for every user.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        matches!(
            self.named(),
            Some((Protocol::Smb2, STATUS_MEDIA_WRITE_PROTECTED) | (Protocol::Nfs3 | Protocol::File, NFS3ERR_ROFS))
        )
    }

    /// There is no space left, on the disk or for this user.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(
            self.named(),
            Some(
                (Protocol::Smb2, STATUS_DISK_FULL | STATUS_QUOTA_EXCEEDED)
                    | (Protocol::Nfs3, NFS3ERR_NOSPC | NFS3ERR_DQUOT)
                    | (Protocol::File, NFS3ERR_NOSPC | EDQUOT)
            )
        )
    }

    /// An NFS 3 server does not know a handle, which is of another server.
    #[must_use]
    pub fn is_foreign_handle(&self) -> bool {
        let version_3 = self.procedure.is_some_and(|procedure| procedure.row().protocol == Protocol::Nfs3);
        version_3 && self.status == Some(NFS3ERR_BADHANDLE)
    }

    /// The object to make exists already.
    #[must_use]
    pub fn is_there(&self) -> bool {
        matches!(
            self.named(),
            Some((Protocol::Smb2, STATUS_OBJECT_NAME_COLLISION) | (Protocol::Nfs3 | Protocol::File, NFS3ERR_EXIST))
        )
    }

    /// The connection failed, without an answer to the request, or the server has ended the session.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        matches!(
            self.cause,
            Cause::ConnectionRefused
                | Cause::ConnectionReset
                | Cause::ConnectionClosed
                | Cause::TimedOut
                | Cause::Unreachable
                | Cause::SessionLost
                | Cause::SessionEndedUnsigned
        )
    }

    /// The object to remove does not exist.
    #[must_use]
    pub fn is_not_there(&self) -> bool {
        matches!(
            self.named(),
            Some(
                (Protocol::Smb2, STATUS_OBJECT_NAME_NOT_FOUND | STATUS_OBJECT_PATH_NOT_FOUND | STATUS_NO_SUCH_FILE)
                    | (Protocol::Nfs3 | Protocol::File, NFS3ERR_NOENT)
            )
        )
    }

    /// The file to remove is a directory. REMOVE of an NFS server may remove empty directories.
    #[must_use]
    pub fn is_a_directory(&self) -> bool {
        matches!(
            self.named(),
            Some(
                (Protocol::Smb2, STATUS_FILE_IS_A_DIRECTORY | STATUS_DIRECTORY_NOT_EMPTY)
                    | (Protocol::Nfs3, NFS3ERR_ISDIR | NFS3ERR_NOTEMPTY)
                    | (Protocol::File, NFS3ERR_ISDIR)
            )
        )
    }

    /// The directory to remove is another kind of object: a file or a link.
    #[must_use]
    pub fn is_no_directory(&self) -> bool {
        matches!(
            self.named(),
            Some((Protocol::Smb2, STATUS_NOT_A_DIRECTORY) | (Protocol::Nfs3 | Protocol::File, NFS3ERR_NOTDIR))
        )
    }

    /// The root of an SMB share cannot be opened as a directory: the share may have named pipes (`IPC$`) or a printer in place of files.
    #[must_use]
    pub fn is_without_files(&self) -> bool {
        matches!(
            self.named(),
            Some((
                Protocol::Smb2,
                STATUS_CONNECTION_REFUSED | STATUS_INVALID_DEVICE_REQUEST | STATUS_OBJECT_NAME_NOT_FOUND
            ))
        )
    }

    /// The server has no such thing: a procedure, a class of information, a kind of file.
    #[must_use]
    pub fn is_not_supported(&self) -> bool {
        matches!(
            self.named(),
            Some(
                (Protocol::Smb2, STATUS_NOT_SUPPORTED | STATUS_NOT_IMPLEMENTED | STATUS_INVALID_INFO_CLASS)
                    | (Protocol::Nfs3, NFS3ERR_NOTSUPP)
                    | (Protocol::File, ENOSYS | EOPNOTSUPP)
            )
        )
    }

    fn named(&self) -> Option<(Protocol, u32)> {
        // The errors that matter here have the same numbers in both versions.
        let protocol = match self.procedure?.row().protocol {
            Protocol::Nfs4 => Protocol::Nfs3,
            protocol => protocol,
        };
        Some((protocol, self.status?))
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Outcome, Procedure};

    use super::*;
    use crate::operation::Cause;

    fn failure(procedure: Option<Procedure>, status: Option<u32>, cause: Cause) -> Failure {
        Failure { procedure, status, outcome: Outcome::Refused, cause }
    }

    fn some(protocol: Protocol) -> Procedure {
        Procedure::all().find(|procedure| procedure.row().protocol == protocol).unwrap()
    }

    #[test]
    fn a_failure_says_what_happened_by_name() {
        let said = |protocol, status| failure(Some(some(protocol)), Some(status), Cause::Status).to_string();
        assert!(said(Protocol::Smb2, 0xc000_006d).starts_with("error status: STATUS_LOGON_FAILURE, "));
        assert!(said(Protocol::Nfs3, 30).starts_with("error status: NFS3ERR_ROFS, "));
        assert!(said(Protocol::File, 28).starts_with("error status: ENOSPC, "));
        assert!(said(Protocol::Smb2, 0xdead_beef).contains("status 0xdeadbeef"));
        assert_eq!(failure(None, None, Cause::TimedOut).to_string(), "timed out");
        assert_eq!(failure(None, Some(5), Cause::Status).to_string(), "error status: status 0x00000005");
    }

    #[test]
    fn a_read_only_file_system_in_every_protocol() {
        let told = |protocol, status| failure(Some(some(protocol)), Some(status), Cause::Status).is_read_only();
        assert!(told(Protocol::Smb2, 0xC000_00A2) && !told(Protocol::Smb2, 0xC000_0022));
        for protocol in [Protocol::Nfs3, Protocol::Nfs4, Protocol::File] {
            assert!(told(protocol, 30) && !told(protocol, 13), "{protocol:?}");
        }
    }

    #[test]
    fn there_and_not_there_in_every_protocol() {
        for (protocol, there, not) in
            [(Protocol::Smb2, 0xc000_0035, 0xc000_0034), (Protocol::Nfs3, 17, 2), (Protocol::File, 17, 2)]
        {
            let told = |status| {
                let failure = failure(Some(some(protocol)), Some(status), Cause::Status);
                (failure.is_there(), failure.is_not_there())
            };
            assert_eq!((told(there), told(not), told(5)), ((true, false), (false, true), (false, false)));
        }
    }

    #[test]
    fn what_a_server_does_not_have_in_every_protocol() {
        let told = |protocol, status| failure(Some(some(protocol)), Some(status), Cause::Status).is_not_supported();
        assert!(told(Protocol::Smb2, 0xC000_00BB) && told(Protocol::Smb2, 0xC000_0003) && !told(Protocol::Smb2, 95));
        assert!(told(Protocol::Nfs3, 10_004) && !told(Protocol::Nfs3, 5));
        assert!(told(Protocol::File, 95) && !told(Protocol::File, 10_004));
        assert!(!failure(None, None, Cause::CallRejected).is_not_supported(), "RPC says nothing about the file");
    }
}
