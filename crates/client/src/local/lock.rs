//! Range locks of open files, not of the process: clients, which are threads of one process, exclude each other like separate computers.
//!
//! Spec: POSIX.1-2024 fcntl (F_OFD_SETLK)

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

/// What to do with a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockKind {
    Shared,
    Exclusive,
    Unlock,
}

/// Locks or unlocks a range without waiting. A length of 0 reaches to the end of the file, however far.
pub(super) fn lock(file: BorrowedFd<'_>, kind: LockKind, offset: u64, length: u64) -> Result<(), Errno> {
    let kind = match kind {
        LockKind::Shared => libc::F_RDLCK,
        LockKind::Exclusive => libc::F_WRLCK,
        LockKind::Unlock => libc::F_UNLCK,
    };
    let place = |bytes: u64| libc::off64_t::try_from(bytes).map_err(|_| Errno::OVERFLOW);
    // SAFETY: a structure of numbers, for which zero is a value; `l_pid` must be 0.
    let mut range: libc::flock64 = unsafe { std::mem::zeroed() };
    range.l_type = kind as libc::c_short;
    range.l_whence = libc::SEEK_SET as libc::c_short;
    (range.l_start, range.l_len) = (place(offset)?, place(length)?);
    // SAFETY: the descriptor is open while it is borrowed, and the structure lives through the call.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const range) };
    if result == -1 {
        let error = std::io::Error::last_os_error();
        return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO));
    }
    Ok(())
}
