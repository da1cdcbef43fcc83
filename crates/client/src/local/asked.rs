//! The requested object of an operation, for its transaction.

use plimsoll_model::{Asked, FileAccess, FileIdentity};

use super::PathClient;
use crate::operation::{Access, Disposition, FileKey, Operation};

impl PathClient {
    /// The requested object of an operation. (Without names: all names of a run are known before it begins.)
    pub(super) fn asked(&self, operation: &Operation<'_>) -> Asked {
        let path = |path: &str| Asked { file: Some(FileIdentity::of_path(path)), ..Asked::default() };
        let open = |file: FileKey| Asked { file: self.files.identity(file), ..Asked::default() };
        let range = |file, offset, bytes: u64| Asked { offset: Some(offset), bytes: Some(bytes), ..open(file) };
        match *operation {
            Operation::Open { path: name, access, disposition, .. } => {
                Asked { disposition: Some(how(disposition)), access: Some(what_for(access)), ..path(name) }
            }
            Operation::OpenEntry { path: name, disposition, .. } => {
                Asked { disposition: Some(how(disposition)), ..path(name) }
            }
            Operation::Lookup { path: name }
            | Operation::Getattr { path: name }
            | Operation::Access { path: name }
            | Operation::List { path: name }
            | Operation::ListNames { path: name }
            | Operation::Mkdir { path: name }
            | Operation::Rmdir { path: name }
            | Operation::Remove { path: name }
            | Operation::Readlink { path: name }
            | Operation::Query { path: name, .. }
            | Operation::Setattr { path: name, .. }
            | Operation::Find { path: name, .. }
            | Operation::Rename { from: name, .. }
            | Operation::Link { from: name, .. }
            | Operation::Symlink { path: name, .. } => path(name),
            Operation::Read { file, offset, length, .. }
            | Operation::Write { file, offset, length, .. }
            | Operation::WriteThrough { file, offset, length, .. } => range(file, offset, length.into()),
            Operation::Lock { file, offset, length, .. } | Operation::Unlock { file, offset, length } => {
                range(file, offset, length)
            }
            Operation::Copy { to, length, .. } => range(to, 0, length.into()),
            Operation::Close { file }
            | Operation::Flush { file }
            | Operation::GetattrOpen { file }
            | Operation::QueryOpen { file, .. }
            | Operation::SetattrOpen { file, .. }
            | Operation::Truncate { file, .. } => open(file),
            _ => Asked::default(),
        }
    }
}

/// open(2) replaces no file.
fn how(disposition: Disposition) -> Disposition {
    if disposition == Disposition::Supersede { Disposition::OverwriteOrCreate } else { disposition }
}

fn what_for(access: Access) -> FileAccess {
    match access {
        Access::Read => FileAccess::Read,
        Access::Write => FileAccess::Write,
        Access::ReadWrite => FileAccess::ReadWrite,
    }
}
