//! System calls on any mounted file system: those of POSIX, and of Linux where POSIX has none. Their numbers are Plimsoll's own.
//!
//! Spec: POSIX.1-2024, System Interfaces; Linux man-pages section 2

use super::Row;
use super::row::{row, unknown};
use crate::{Group as G, Operation as O, Protocol};

/// A call to the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum FileCall {
    /// `fstat` of the root directory: requests only an answer.
    Null = 0,
    /// `openat`.
    Open,
    /// `close`.
    Close,
    /// `pread`, until all bytes are read or the file ends.
    Read,
    /// `pwritev`, until all is written.
    Write,
    /// `fsync`.
    Sync,
    /// `fstatat`, of a symbolic link itself.
    StatAt,
    /// `fstat`.
    Stat,
    /// `fchmodat`.
    Chmod,
    /// `ftruncate`.
    Truncate,
    /// `faccessat`.
    Access,
    /// `openat`, `getdents64` to the end, `close`.
    ReadDirectory,
    /// `mkdirat`.
    MakeDirectory,
    /// `unlinkat` of a directory.
    RemoveDirectory,
    /// `unlinkat`.
    Unlink,
    /// `renameat`.
    Rename,
    /// `linkat`.
    Link,
    /// `symlinkat`.
    SymbolicLink,
    /// `readlinkat`.
    ReadLink,
    /// `fstatvfs`.
    StatFileSystem,
    /// `fcntl(F_OFD_SETLK)`.
    Lock,
    /// `fcntl(F_OFD_SETLK)` with F_UNLCK.
    Unlock,
    /// `copy_file_range`, until all is copied.
    CopyRange,
    /// `fchmod`.
    ChmodOpen,
}

const fn call(call: FileCall, name: &'static str, operation: O, group: G) -> Row {
    row(Protocol::File, call as u16, name, operation, group)
}

pub(super) const ROWS: &[Row] = &[
    call(FileCall::Null, "fstat of the root", O::Null, G::Session),
    call(FileCall::Open, "openat", O::Open, G::OpenClose),
    call(FileCall::Close, "close", O::Close, G::OpenClose),
    call(FileCall::Read, "pread", O::Read, G::Read),
    call(FileCall::Write, "pwritev", O::Write, G::Write),
    call(FileCall::Sync, "fsync", O::Flush, G::Write),
    call(FileCall::StatAt, "fstatat", O::GetAttributes, G::Attributes),
    call(FileCall::Stat, "fstat", O::GetAttributes, G::Attributes),
    call(FileCall::Chmod, "fchmodat", O::SetAttributes, G::Attributes),
    call(FileCall::Truncate, "ftruncate", O::SetAttributes, G::Attributes),
    call(FileCall::Access, "faccessat", O::Access, G::Attributes),
    call(FileCall::ReadDirectory, "getdents64", O::List, G::Directory),
    call(FileCall::MakeDirectory, "mkdirat", O::MakeDirectory, G::Directory),
    call(FileCall::RemoveDirectory, "unlinkat of a directory", O::RemoveDirectory, G::Directory),
    call(FileCall::Unlink, "unlinkat", O::Remove, G::Directory),
    call(FileCall::Rename, "renameat", O::Rename, G::Directory),
    call(FileCall::Link, "linkat", O::Link, G::Directory),
    call(FileCall::SymbolicLink, "symlinkat", O::Link, G::Directory),
    call(FileCall::ReadLink, "readlinkat", O::ReadLink, G::Directory),
    call(FileCall::StatFileSystem, "fstatvfs", O::FileSystemInfo, G::Attributes),
    call(FileCall::Lock, "fcntl lock", O::Lock, G::Locking),
    call(FileCall::Unlock, "fcntl unlock", O::Lock, G::Locking),
    // The kernel, or the server behind it, copies: file data is written, though none passes through the program.
    call(FileCall::CopyRange, "copy_file_range", O::Write, G::Write).without_data(),
    call(FileCall::ChmodOpen, "fchmod", O::SetAttributes, G::Attributes),
    unknown(Protocol::File),
];
