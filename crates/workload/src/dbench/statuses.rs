//! Statuses that lines expect, and their equivalents in other protocols.

use plimsoll_model::Protocol;
use plimsoll_wire::nfs;
use plimsoll_wire::nfs::status::{
    NFS3ERR_ACCES, NFS3ERR_DQUOT, NFS3ERR_EXIST, NFS3ERR_INVAL, NFS3ERR_ISDIR, NFS3ERR_NAMETOOLONG, NFS3ERR_NOENT,
    NFS3ERR_NOSPC, NFS3ERR_NOTDIR, NFS3ERR_NOTEMPTY, NFS3ERR_PERM, NFS3ERR_ROFS, NFS3ERR_XDEV,
};
use plimsoll_wire::smb2::status::{self as nt, NAMED};
use plimsoll_wire::smb2::status_name;

/// The expected result of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Expected {
    /// It is done.
    Success,
    /// A refusal with any status.
    Failure,
    /// Either.
    Anything,
    /// This NTSTATUS, which is none of success.
    Nt(u32),
    /// This nfsstat3, which is not NFS3_OK.
    Nfs(u32),
}

/// One trouble in three languages: NTSTATUS, nfsstat3, errno of Linux. A list that is empty has no word for it.
struct Row {
    nt: &'static [u32],
    nfs: &'static [u32],
    errno: &'static [i32],
}

/// Statuses with an equivalent in another protocol. Others, such as sharing violations and pending deletes, exist only in SMB.
const TABLE: &[Row] = &[
    // A name does not exist, in any part of the path.
    Row {
        nt: &[nt::STATUS_OBJECT_NAME_NOT_FOUND, nt::STATUS_OBJECT_PATH_NOT_FOUND, nt::STATUS_NO_SUCH_FILE],
        nfs: &[NFS3ERR_NOENT],
        errno: &[libc::ENOENT],
    },
    Row { nt: &[nt::STATUS_OBJECT_NAME_COLLISION], nfs: &[NFS3ERR_EXIST], errno: &[libc::EEXIST] },
    Row { nt: &[nt::STATUS_ACCESS_DENIED], nfs: &[NFS3ERR_PERM, NFS3ERR_ACCES], errno: &[libc::EPERM, libc::EACCES] },
    Row {
        nt: &[nt::STATUS_NOT_A_DIRECTORY, nt::STATUS_OBJECT_PATH_NOT_FOUND],
        nfs: &[NFS3ERR_NOTDIR],
        errno: &[libc::ENOTDIR],
    },
    Row { nt: &[nt::STATUS_FILE_IS_A_DIRECTORY], nfs: &[NFS3ERR_ISDIR], errno: &[libc::EISDIR] },
    Row { nt: &[nt::STATUS_DIRECTORY_NOT_EMPTY], nfs: &[NFS3ERR_NOTEMPTY], errno: &[libc::ENOTEMPTY] },
    Row { nt: &[nt::STATUS_INVALID_PARAMETER], nfs: &[NFS3ERR_INVAL], errno: &[libc::EINVAL] },
    Row { nt: &[nt::STATUS_DISK_FULL], nfs: &[NFS3ERR_NOSPC], errno: &[libc::ENOSPC] },
    Row { nt: &[nt::STATUS_QUOTA_EXCEEDED], nfs: &[NFS3ERR_DQUOT], errno: &[libc::EDQUOT] },
    Row { nt: &[nt::STATUS_MEDIA_WRITE_PROTECTED], nfs: &[NFS3ERR_ROFS], errno: &[libc::EROFS] },
    Row {
        nt: &[nt::STATUS_OBJECT_NAME_INVALID, nt::STATUS_NAME_TOO_LONG],
        nfs: &[NFS3ERR_NAMETOOLONG],
        errno: &[libc::ENAMETOOLONG],
    },
    Row { nt: &[nt::STATUS_NOT_SAME_DEVICE], nfs: &[NFS3ERR_XDEV], errno: &[libc::EXDEV] },
    Row {
        nt: &[nt::STATUS_LOCK_NOT_GRANTED, nt::STATUS_FILE_LOCK_CONFLICT],
        nfs: &[],
        errno: &[libc::EAGAIN, libc::EACCES],
    },
];

impl Row {
    fn expects(&self, expected: Expected) -> bool {
        match expected {
            Expected::Nt(status) => self.nt.contains(&status),
            Expected::Nfs(status) => self.nfs.contains(&status),
            Expected::Success | Expected::Failure | Expected::Anything => false,
        }
    }

    fn has(&self, protocol: Protocol, status: u32) -> bool {
        match protocol {
            Protocol::Smb2 => self.nt.contains(&status),
            // These statuses have the same numbers in both versions.
            Protocol::Nfs3 | Protocol::Nfs4 => self.nfs.contains(&status),
            Protocol::File => i32::try_from(status).is_ok_and(|status| self.errno.contains(&status)),
            _ => false,
        }
    }
}

impl Expected {
    /// A search that finds nothing.
    pub(crate) const NO_SUCH_FILE: Self = Self::Nt(nt::STATUS_NO_SUCH_FILE);
    /// An unlock of a range without a lock.
    pub(crate) const RANGE_NOT_LOCKED: Self = Self::Nt(nt::STATUS_RANGE_NOT_LOCKED);

    /// Whether a refusal is the expected one: the same status, or its equivalent in another protocol.
    pub(crate) fn is(self, protocol: Protocol, status: u32) -> bool {
        match (self, protocol) {
            (Expected::Success, _) => false,
            (Expected::Failure | Expected::Anything, _) => true,
            (Expected::Nt(wanted), Protocol::Smb2) | (Expected::Nfs(wanted), Protocol::Nfs3 | Protocol::Nfs4) => {
                wanted == status
            }
            _ => TABLE.iter().any(|row| row.expects(self) && row.has(protocol, status)),
        }
    }

    /// Whether the expected result is not success.
    pub(crate) fn is_failure(self) -> bool {
        !matches!(self, Expected::Success | Expected::Anything)
    }

    pub(crate) fn name(self) -> String {
        let named = |name: Option<&'static str>, status: u32| {
            name.map_or_else(|| format!("status {status:#010x}"), str::to_owned)
        };
        match self {
            Expected::Success => "success".to_owned(),
            Expected::Failure => "an error".to_owned(),
            Expected::Anything => "anything".to_owned(),
            Expected::Nt(status) => named(status_name(status), status),
            Expected::Nfs(status) => named(nfs::status_name(3, status), status),
        }
    }

    /// As the last word of a line says it; `None` where it is no status.
    pub(super) fn parse(word: &str, nfs: bool) -> Option<Self> {
        match word {
            "SUCCESS" => return Some(Expected::Success),
            "ERROR" => return Some(Expected::Failure),
            "NT_STATUS_OK" => return Some(Expected::Success),
            _ if word.starts_with('*') => return Some(Expected::Anything),
            _ => {}
        }
        let status = match word.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => by_name(word.strip_prefix("NT_")?)?,
        };
        Some(match status {
            0 => Expected::Success,
            status if nfs => Expected::Nfs(status),
            status => Expected::Nt(status),
        })
    }
}

fn by_name(name: &str) -> Option<u32> {
    NAMED.iter().copied().find(|status| status_name(*status) == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_read_as_they_are_written() {
        let read = |word| Expected::parse(word, false);
        assert_eq!(read("NT_STATUS_OK"), Some(Expected::Success));
        assert_eq!(read("0x00000000"), Some(Expected::Success));
        assert_eq!(read("NT_STATUS_OBJECT_NAME_NOT_FOUND"), Some(Expected::Nt(0xC000_0034)));
        assert_eq!(read("0xc000000f"), Some(Expected::Nt(nt::STATUS_NO_SUCH_FILE)));
        assert_eq!(Expected::parse("0x00000002", true), Some(Expected::Nfs(2)));
        assert_eq!((read("*"), read("ERROR")), (Some(Expected::Anything), Some(Expected::Failure)));
        for none in ["NT_STATUS_NO_SUCH_NAME", "9935", "0x", "0x1ffffffff", "STATUS_NO_SUCH_FILE", ""] {
            assert_eq!(read(none), None, "{none}");
        }
    }

    #[test]
    fn a_status_is_itself_or_its_like_elsewhere() {
        let gone = Expected::Nt(nt::STATUS_OBJECT_NAME_NOT_FOUND);
        assert!(gone.is(Protocol::Smb2, nt::STATUS_OBJECT_NAME_NOT_FOUND));
        assert!(!gone.is(Protocol::Smb2, nt::STATUS_OBJECT_PATH_NOT_FOUND), "SMB says which");
        assert!(gone.is(Protocol::Nfs3, 2) && gone.is(Protocol::File, 2) && !gone.is(Protocol::Nfs3, 13));
        assert!(Expected::Nfs(66).is(Protocol::Smb2, nt::STATUS_DIRECTORY_NOT_EMPTY));
        assert!(Expected::Nfs(66).is(Protocol::File, 39), "ENOTEMPTY of Linux");
        assert!(!Expected::Nt(nt::STATUS_SHARING_VIOLATION).is(Protocol::Nfs3, 13), "nothing like it");
        assert!(Expected::Failure.is(Protocol::Nfs3, 5) && !Expected::Success.is(Protocol::Nfs3, 5));
        assert_eq!(
            (gone.name(), Expected::Nfs(2).name()),
            ("STATUS_OBJECT_NAME_NOT_FOUND".into(), "NFS3ERR_NOENT".into())
        );
    }
}
