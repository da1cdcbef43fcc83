//! CREATE: a directory, or a symbolic link. Files are made by OPEN.
//!
//! Spec: RFC 8881 18.4

use super::Call;
use super::attributes::SetAttributes;
use crate::xdr::Emit;

/// The kind of the new object.
#[derive(Clone, Copy, Debug)]
pub enum Kind<'a> {
    /// A directory.
    Directory,
    /// A symbolic link that says this.
    Link(&'a [u8]),
}

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct Create<'a> {
    /// The kind of the new object.
    pub kind: Kind<'a>,
    /// Its name in the current directory.
    pub name: &'a [u8],
    /// Its attributes.
    pub attributes: SetAttributes,
}

impl Call for Create<'_> {
    const OPERATION: u32 = 6;

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        // nfs_ftype4: NF4DIR, NF4LNK.
        match self.kind {
            Kind::Directory => out.put_u32(2),
            Kind::Link(text) => {
                out.put_u32(5);
                out.put_opaque(text);
            }
        }
        out.put_opaque(self.name);
        self.attributes.emit(out);
    }
}
