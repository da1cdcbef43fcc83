//! An operation, as calls to the operating system.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, IntoRawFd, OwnedFd};

use plimsoll_model::{FileCall, FileIdentity};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RawDir};
use rustix::io::{Errno, retry_on_intr};

use super::lock::{LockKind, lock};
use super::{Called, PathClient, Trouble, data};
use crate::client::Events;
use crate::joined::joined;
use crate::operation::{Access, Cause, Disposition, FileKey, Kind, Operation, Reply, Tag};
use plimsoll_wire::smb2::pattern::{is_pattern, matches};

/// Permission bits of new files and directories, before the umask.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o777);
/// Room for names, bytes: as libraries have it.
const NAMES: usize = 32 << 10;

const NOT_SUPPORTED: Trouble = Trouble::NotAsked(Cause::Unsupported);

impl PathClient {
    /// Performs an operation and returns its system call; `None` if there is none. Calls `over` when it is done.
    pub(super) fn perform(
        &mut self,
        operation: &Operation<'_>,
        tag: Tag,
        over: &mut dyn FnMut(),
        events: &mut dyn Events,
    ) -> (Option<FileCall>, Called) {
        let (call, called) = match *operation {
            Operation::Open { path, access, disposition, .. } => {
                return (Some(FileCall::Open), self.open(path, access, disposition, over));
            }
            Operation::OpenEntry { delete_on_close: true, .. } => return (None, Err(NOT_SUPPORTED)),
            Operation::OpenEntry { path, kind, disposition, .. } => {
                let call = if makes_directory(kind, disposition) { FileCall::MakeDirectory } else { FileCall::Open };
                return (Some(call), self.create(path, kind, disposition, over));
            }
            Operation::List { path } | Operation::ListNames { path } => {
                return (Some(FileCall::ReadDirectory), self.list(path, None, tag, over, events));
            }
            Operation::Find { path, pattern, .. } if is_pattern(pattern) => {
                return (Some(FileCall::ReadDirectory), self.list(path, Some(pattern), tag, over, events));
            }
            Operation::Cancel { .. } => return (None, Ok(Reply::Nothing)),
            Operation::Watch { .. } => return (None, Err(NOT_SUPPORTED)),
            Operation::Close { file } => (FileCall::Close, self.close(file)),
            Operation::Read { .. } => return (Some(FileCall::Read), self.read(operation, tag, over, events)),
            Operation::Write { file, offset, length, content, key } => {
                let written = self.files.get(file);
                let written = written.and_then(|file| Ok(data::write(file, offset, length, content, key)?));
                (FileCall::Write, written.map(|bytes| Reply::Written { bytes }))
            }
            Operation::WriteThrough { file, offset, length, content, key } => {
                let written = self.files.get(file).and_then(|file| {
                    let bytes = data::write(file, offset, length, content, key)?;
                    retry_on_intr(|| fs::fdatasync(file))?;
                    Ok(bytes)
                });
                (FileCall::Write, written.map(|bytes| Reply::Written { bytes }))
            }
            Operation::Flush { file } => {
                (FileCall::Sync, self.files.get(file).and_then(|file| nothing(retry_on_intr(|| fs::fsync(file)))))
            }
            Operation::Truncate { file, size } => {
                let file = self.files.get(file);
                (FileCall::Truncate, file.and_then(|file| nothing(retry_on_intr(|| fs::ftruncate(file, size)))))
            }
            Operation::GetattrOpen { file } | Operation::QueryOpen { file, .. } => {
                (FileCall::Stat, self.files.get(file).and_then(|file| Ok(attributes(&fs::fstat(file)?))))
            }
            Operation::SetattrOpen { file, mode } => {
                let mode = Mode::from_raw_mode(mode & 0o7777);
                (FileCall::ChmodOpen, self.files.get(file).and_then(|file| nothing(fs::fchmod(file, mode))))
            }
            Operation::Lock { file, offset, length, exclusive, wait } => {
                (FileCall::Lock, self.lock(file, (offset, length), exclusive, wait))
            }
            Operation::Unlock { file, offset, length } => {
                let file = self.files.get(file);
                (FileCall::Unlock, file.and_then(|file| nothing(lock(file, LockKind::Unlock, offset, length))))
            }
            Operation::Copy { from, to, length } => (FileCall::CopyRange, self.copy(from, to, length)),
            Operation::Null => {
                (FileCall::Null, fs::fstat(&self.root.directory).map(|_| Reply::Nothing).map_err(Into::into))
            }
            Operation::Fsinfo | Operation::QueryFileSystem { .. } => (FileCall::StatFileSystem, self.space()),
            _ => self.on_a_path(operation),
        };
        over();
        (Some(call), called)
    }

    fn on_a_path(&self, operation: &Operation<'_>) -> (FileCall, Called) {
        let root = self.root.directory.as_fd();
        let on = |path, call: &dyn Fn(&str) -> Result<(), Errno>| below(path).and_then(|path| nothing(call(path)));
        match *operation {
            // A name is looked up.
            Operation::Find { path, pattern, .. } => {
                self.on_a_path(&Operation::Getattr { path: &joined(path, pattern) })
            }
            Operation::Getattr { path } | Operation::Lookup { path } | Operation::Query { path, .. } => {
                let stat = below(path).and_then(|path| Ok(fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW)?));
                (FileCall::StatAt, stat.map(|stat| attributes(&stat)))
            }
            Operation::Setattr { path, mode } => {
                let mode = Mode::from_raw_mode(mode & 0o7777);
                (FileCall::Chmod, on(path, &|path| fs::chmodat(root, path, mode, AtFlags::empty())))
            }
            Operation::Access { path } => {
                (FileCall::Access, on(path, &|path| fs::accessat(root, path, fs::Access::READ_OK, AtFlags::empty())))
            }
            Operation::Mkdir { path } => {
                (FileCall::MakeDirectory, on(path, &|path| fs::mkdirat(root, path, DIRECTORY_MODE)))
            }
            Operation::Rmdir { path } => {
                (FileCall::RemoveDirectory, on(path, &|path| fs::unlinkat(root, path, AtFlags::REMOVEDIR)))
            }
            Operation::Remove { path } => {
                (FileCall::Unlink, on(path, &|path| fs::unlinkat(root, path, AtFlags::empty())))
            }
            Operation::Rename { from, to } => {
                let to = below(to);
                (FileCall::Rename, to.and_then(|to| on(from, &|from| fs::renameat(root, from, root, to))))
            }
            Operation::Link { from, to } => {
                let to = below(to);
                (FileCall::Link, to.and_then(|to| on(from, &|from| fs::linkat(root, from, root, to, AtFlags::empty()))))
            }
            Operation::Symlink { path, text } => {
                (FileCall::SymbolicLink, on(path, &|path| fs::symlinkat(text, root, path)))
            }
            Operation::Readlink { path } => (FileCall::ReadLink, self.read_link(path)),
            _ => (FileCall::Null, Err(NOT_SUPPORTED)),
        }
    }

    fn open(&mut self, path: &str, access: Access, disposition: Disposition, over: &mut dyn FnMut()) -> Called {
        let access = match access {
            Access::Read => OFlags::RDONLY,
            Access::Write => OFlags::WRONLY,
            Access::ReadWrite => OFlags::RDWR,
        };
        let opened = self.open_at(path, access | flags(disposition));
        over();
        let file = opened?;
        data::advise(file.as_fd(), self.root.reading)?;
        self.opened(file, path)
    }

    /// Reads; afterwards drops the data from the page cache, if requested.
    fn read(&self, operation: &Operation<'_>, tag: Tag, over: &mut dyn FnMut(), events: &mut dyn Events) -> Called {
        let Operation::Read { file, offset, length, keep } = *operation else { return Err(NOT_SUPPORTED) };
        let file = self.files.get(file)?;
        let bytes = data::read(file, offset, length, over, |at, piece| {
            if keep {
                events.data(tag, at, piece);
            }
        })?;
        data::forget(file, self.root.reading, (offset, bytes))?;
        Ok(Reply::Read { bytes })
    }

    fn open_at(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Trouble> {
        let path = below(path)?;
        let root = self.root.directory.as_fd();
        Ok(retry_on_intr(|| fs::openat(root, path, flags | OFlags::CLOEXEC, FILE_MODE))?)
    }

    fn opened(&mut self, file: OwnedFd, path: &str) -> Called {
        let size = fs::fstat(&file)?.st_size;
        Ok(Reply::Opened { size: Some(size.unsigned_abs()), file: self.files.add(file, FileIdentity::of_path(path))? })
    }

    /// Opens a file or directory. A new directory is opened after it was made.
    fn create(&mut self, path: &str, kind: Kind, disposition: Disposition, over: &mut dyn FnMut()) -> Called {
        let directory = OFlags::RDONLY | OFlags::DIRECTORY;
        if makes_directory(kind, disposition) {
            let made = below(path).and_then(|path| Ok(fs::mkdirat(self.root.directory.as_fd(), path, DIRECTORY_MODE)?));
            over();
            match made {
                Err(Trouble::Errno(Errno::EXIST)) if disposition == Disposition::OpenOrCreate => {}
                made => made?,
            }
            let opened = self.open_at(path, directory)?;
            return self.opened(opened, path);
        }
        let opened = match kind {
            Kind::Directory if disposition != Disposition::Open => Err(NOT_SUPPORTED),
            Kind::Directory => self.open_at(path, directory),
            Kind::File | Kind::Any => match self.open_at(path, OFlags::RDWR | flags(disposition)) {
                // Directories cannot be opened for writing.
                Err(Trouble::Errno(Errno::ISDIR)) if kind == Kind::Any => self.open_at(path, directory),
                opened => opened,
            },
        };
        over();
        self.opened(opened?, path)
    }

    /// Closes a file: where a network is behind it, this is where writes fail that were only promised.
    fn close(&mut self, file: FileKey) -> Called {
        let file = self.files.take(file)?;
        // SAFETY: the descriptor has no other owner, and it is not used again.
        let result = unsafe { libc::close(file.into_raw_fd()) };
        let error = (result == -1).then(std::io::Error::last_os_error);
        match error.map(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO)) {
            // Linux closes the descriptor even so (close(2)).
            None | Some(Errno::INTR) => Ok(Reply::Nothing),
            Some(errno) => Err(errno.into()),
        }
    }

    fn list(
        &self,
        path: &str,
        pattern: Option<&str>,
        tag: Tag,
        over: &mut dyn FnMut(),
        events: &mut dyn Events,
    ) -> Called {
        let mut names = Vec::new();
        let listed = self.names(path, &mut names);
        over();
        listed?;
        let mut entries = 0;
        for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let name = String::from_utf8_lossy(name);
            if pattern.is_none_or(|pattern| matches(pattern, &name)) {
                events.entry(tag, &name);
                entries += 1;
            }
        }
        Ok(Reply::Listed { entries })
    }

    /// The names in a directory, each with a zero byte behind it.
    fn names(&self, path: &str, names: &mut Vec<u8>) -> Result<(), Trouble> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let path = below(path)?;
        let root = self.root.directory.as_fd();
        let directory: OwnedFd = retry_on_intr(|| fs::openat(root, path, flags, Mode::empty()))?;
        let mut room = [const { MaybeUninit::uninit() }; NAMES];
        let mut entries = RawDir::new(&directory, &mut room);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                names.extend_from_slice(name.to_bytes_with_nul());
            }
        }
        Ok(())
    }

    fn read_link(&self, path: &str) -> Called {
        let text = fs::readlinkat(self.root.directory.as_fd(), below(path)?, Vec::new())?;
        // A link that is not UTF-8 cannot be returned as text.
        text.into_string().map(Reply::Text).map_err(|_| Trouble::Malformed)
    }

    fn space(&self) -> Called {
        let space = fs::fstatvfs(&self.root.directory)?;
        let bytes = |blocks: u64| blocks.saturating_mul(space.f_frsize);
        Ok(Reply::Space { total: bytes(space.f_blocks), free: bytes(space.f_bavail) })
    }

    /// Locks a range. Waiting locks are not supported: they would block all clients of this thread, perhaps including the holder.
    fn lock(&self, file: FileKey, (offset, length): (u64, u64), exclusive: bool, wait: bool) -> Called {
        let kind = if exclusive { LockKind::Exclusive } else { LockKind::Shared };
        match lock(self.files.get(file)?, kind, offset, length) {
            Err(Errno::AGAIN | Errno::ACCESS) if wait => Err(NOT_SUPPORTED),
            result => nothing(result),
        }
    }

    /// Copies the first `length` bytes of a file.
    fn copy(&self, from: FileKey, to: FileKey, length: u32) -> Called {
        let (from, to) = (self.files.get(from)?, self.files.get(to)?);
        let (mut read, mut written) = (0, 0);
        while written < u64::from(length) {
            let left = usize::try_from(u64::from(length) - written).unwrap_or(usize::MAX);
            let copied = retry_on_intr(|| fs::copy_file_range(from, Some(&mut read), to, Some(&mut written), left))?;
            if copied == 0 {
                break;
            }
        }
        Ok(Reply::Written { bytes: u32::try_from(written).unwrap_or(length) })
    }
}

/// What opening does besides, where a file is or is not there.
fn flags(disposition: Disposition) -> OFlags {
    match disposition {
        Disposition::Open => OFlags::empty(),
        Disposition::Create => OFlags::CREATE | OFlags::EXCL,
        Disposition::OpenOrCreate => OFlags::CREATE,
        Disposition::OverwriteOrCreate | Disposition::Supersede => OFlags::CREATE | OFlags::TRUNC,
        Disposition::Overwrite => OFlags::TRUNC,
    }
}

fn makes_directory(kind: Kind, disposition: Disposition) -> bool {
    kind == Kind::Directory && matches!(disposition, Disposition::Create | Disposition::OpenOrCreate)
}

fn nothing(result: Result<(), Errno>) -> Called {
    result.map(|()| Reply::Nothing).map_err(Into::into)
}

fn attributes(stat: &fs::Stat) -> Reply {
    let directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    Reply::Attributes { size: stat.st_size.unsigned_abs(), directory }
}

/// The path as the system takes it; one that leaves the directory is not asked for.
fn below(path: &str) -> Result<&str, Trouble> {
    if path.is_empty() {
        return Ok(".");
    }
    let leaves = path.starts_with('/') || path.split('/').any(|part| part == "..");
    if leaves { Err(NOT_SUPPORTED) } else { Ok(path) }
}
