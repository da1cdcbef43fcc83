//! Files as Windows has them. A file has no number that the standard library tells: its full name must do.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::windows::io::AsHandle;
use std::path::Path;

use super::readers::Readers;

pub(super) fn node(_there: &Metadata) -> Option<(u64, u64)> {
    None
}

/// The folder determines the readers.
pub(super) fn create(path: &Path, _readers: Readers) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

pub(super) fn standard_input() -> io::Result<File> {
    duplicate(io::stdin())
}

pub(super) fn standard_output() -> io::Result<File> {
    duplicate(io::stdout())
}

pub(super) fn standard_error() -> io::Result<File> {
    duplicate(io::stderr())
}

fn duplicate(stream: impl AsHandle) -> io::Result<File> {
    stream.as_handle().try_clone_to_owned().map(File::from)
}
