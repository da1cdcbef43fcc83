//! Operations on a name in the current directory: LOOKUP, REMOVE, RENAME, LINK.
//!
//! Spec: RFC 8881 18.13, RFC 8881 18.25, RFC 8881 18.26, RFC 8881 18.9

use super::Call;
use crate::xdr::Emit;

/// LOOKUP: makes the named object the current file handle.
#[derive(Clone, Copy, Debug)]
pub struct Lookup<'a> {
    /// The name.
    pub name: &'a [u8],
}

impl Call for Lookup<'_> {
    const OPERATION: u32 = 15;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        out.put_opaque(self.name);
    }
}

/// REMOVE: a file, or an empty directory.
#[derive(Clone, Copy, Debug)]
pub struct Remove<'a> {
    /// The name.
    pub name: &'a [u8],
}

impl Call for Remove<'_> {
    const OPERATION: u32 = 28;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        out.put_opaque(self.name);
    }
}

/// RENAME: from the saved directory to the current one.
#[derive(Clone, Copy, Debug)]
pub struct Rename<'a> {
    /// The name in the saved directory.
    pub from: &'a [u8],
    /// The name in the current directory.
    pub to: &'a [u8],
}

impl Call for Rename<'_> {
    const OPERATION: u32 = 29;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        out.put_opaque(self.from);
        out.put_opaque(self.to);
    }
}

/// LINK: gives the saved file another name, in the current directory.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// The new name.
    pub name: &'a [u8],
}

impl Call for Link<'_> {
    const OPERATION: u32 = 11;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        out.put_opaque(self.name);
    }
}
