//! Attributes, times and troubles, in SMB's words.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use smb_server::{FileInfo, SmbError};

use crate::memory::{Kind, Stat, Trouble};

/// Spec: MS-FSCC 2.6, FILE_ATTRIBUTE_READONLY.
pub(super) const READONLY: u32 = 0x1;
/// Spec: MS-FSCC 2.6, FILE_ATTRIBUTE_ARCHIVE. Accepted but not stored, because files in memory are never archived.
pub(super) const ARCHIVE: u32 = 0x20;
/// From 1601, where FILETIME begins, to 1970, in its units of 100 ns.
const EPOCH: u64 = 116_444_736_000_000_000;

pub(super) fn error(trouble: Trouble) -> SmbError {
    match trouble {
        Trouble::NotFound | Trouble::Stale => SmbError::NotFound,
        Trouble::Exists => SmbError::Exists,
        Trouble::NotADirectory => SmbError::NotADirectory,
        Trouble::IsADirectory => SmbError::IsDirectory,
        Trouble::WrongKind => SmbError::NotSupported,
        Trouble::NotEmpty => SmbError::NotEmpty,
        Trouble::InvalidName | Trouble::NameTooLong => SmbError::NameInvalid,
        Trouble::IntoItself => SmbError::AccessDenied,
        Trouble::NoSpace | Trouble::TooLarge | Trouble::TooManyNames => SmbError::DiskFull,
    }
}

/// Whether no user may write it.
pub(super) fn is_read_only(stat: &Stat) -> bool {
    stat.attributes.mode & 0o222 == 0
}

pub(super) fn info(name: String, stat: &Stat) -> FileInfo {
    let directory = stat.kind == Kind::Directory;
    let mut info = FileInfo::new(name);
    (info.end_of_file, info.allocation_size) = if directory { (0, 0) } else { (stat.size, stat.used) };
    info.creation_time = filetime(stat.attributes.created);
    info.last_access_time = filetime(stat.attributes.accessed);
    info.last_write_time = filetime(stat.attributes.modified);
    info.change_time = filetime(stat.attributes.changed);
    info.is_directory = directory;
    info.read_only = is_read_only(stat);
    info.file_index = stat.id;
    info
}

/// Spec: MS-DTYP 2.3.3.
fn filetime(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    EPOCH.saturating_add(u64::try_from(since.as_nanos() / 100).unwrap_or(u64::MAX))
}

/// Spec: MS-DTYP 2.3.3. Before 1970 is 1970.
pub(super) fn instant(filetime: u64) -> SystemTime {
    let ticks = filetime.saturating_sub(EPOCH);
    let since = Duration::new(ticks / 10_000_000, u32::try_from(ticks % 10_000_000).unwrap_or(0) * 100);
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_as_they_went() {
        for ticks in [EPOCH, EPOCH + 1, 133_500_000_123_456_789, i64::MAX as u64] {
            assert_eq!(filetime(instant(ticks)), ticks);
        }
        assert_eq!(filetime(instant(0)), EPOCH);
        assert!(filetime(instant(u64::MAX)) >= EPOCH);
        // A date with its FILETIME from MS-DTYP's neighbourhood: 2000-01-01 00:00:00 UTC.
        assert_eq!(filetime(UNIX_EPOCH + Duration::from_secs(946_684_800)), 125_911_584_000_000_000);
    }
}
