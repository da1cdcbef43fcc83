//! Files as Unix has them.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::readers::Readers;

/// Device and inode, which identify the file under any name.
pub(super) fn node(there: &Metadata) -> Option<(u64, u64)> {
    Some((there.dev(), there.ino()))
}

/// Creates a file that does not exist yet.
pub(super) fn create(path: &Path, readers: Readers) -> io::Result<File> {
    let mode = match readers {
        Readers::Usual => 0o666,
        Readers::Owner => 0o600,
    };
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

/// Standard input, to examine its type.
pub(super) fn standard_input() -> io::Result<File> {
    duplicate(io::stdin())
}

/// Standard output, to write to it directly.
pub(super) fn standard_output() -> io::Result<File> {
    duplicate(io::stdout())
}

/// Standard error, likewise.
pub(super) fn standard_error() -> io::Result<File> {
    duplicate(io::stderr())
}

fn duplicate(stream: impl AsFd) -> io::Result<File> {
    stream.as_fd().try_clone_to_owned().map(File::from)
}
