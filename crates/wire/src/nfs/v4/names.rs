//! Operations on a name in the current directory: LOOKUP, REMOVE, RENAME, LINK.
//!
//! Spec: RFC 8881 18.13, RFC 8881 18.25, RFC 8881 18.26, RFC 8881 18.9

use super::Call;

/// LOOKUP: makes the named object the current file handle.
#[derive(Clone, Copy, Debug)]
pub struct Lookup<'a> {
    /// The name.
    pub name: &'a [u8],
}

call!(Lookup<'_>, OPERATION = 15: name);

/// REMOVE: a file, or an empty directory.
#[derive(Clone, Copy, Debug)]
pub struct Remove<'a> {
    /// The name.
    pub name: &'a [u8],
}

call!(Remove<'_>, OPERATION = 28: name);

/// RENAME: from the saved directory to the current one.
#[derive(Clone, Copy, Debug)]
pub struct Rename<'a> {
    /// The name in the saved directory.
    pub from: &'a [u8],
    /// The name in the current directory.
    pub to: &'a [u8],
}

call!(Rename<'_>, OPERATION = 29: from, to);

/// LINK: gives the saved file another name, in the current directory.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// The new name.
    pub name: &'a [u8],
}

call!(Link<'_>, OPERATION = 11: name);
