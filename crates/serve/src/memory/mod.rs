//! One file system in memory for both servers: names, attributes and bytes, bounded, for many threads at once.
//!
//! A [`Node`] is a file, a directory or a symbolic link. It lives as long as it has a name or a reference, so a file may be removed or
//! renamed while it is open. Locks are taken in one order: the file system's `moving` (before changes of two directories), then
//! directories, then other nodes.

mod attributes;
mod budget;
mod content;
mod directory;
mod linking;
mod moving;
mod node;
mod system;
#[cfg(test)]
mod tests;

pub(crate) use attributes::{Change, Set};
pub(crate) use linking::TOP;
pub(crate) use moving::Replace;
pub(crate) use node::{Kind, Node, Stat};
pub(crate) use system::{FileSystem, New};

/// Why something could not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// No such name.
    NotFound,
    /// There is such a name.
    Exists,
    /// A directory was needed.
    NotADirectory,
    /// The operation needs an object that is not a directory.
    IsADirectory,
    /// Only a symbolic link, or only a file, will do.
    WrongKind,
    /// The directory has entries.
    NotEmpty,
    /// A name that nothing can have.
    InvalidName,
    /// A name of more than [`LONGEST_NAME`] bytes.
    NameTooLong,
    /// A directory would be moved into itself.
    IntoItself,
    /// The file system's memory limit is reached.
    NoSpace,
    /// Behind the end of the longest file.
    TooLarge,
    /// The node has no name any more.
    Stale,
    /// The node has all the names that it can have.
    TooManyNames,
}

/// Bytes of a name, as on most file systems.
pub(crate) const LONGEST_NAME: usize = 255;
/// Bytes of a symbolic link's text, as POSIX's PATH_MAX.
pub(crate) const LONGEST_LINK: usize = 4096;
