//! File handles of version 3, and names in directories.
//!
//! Spec: RFC 1813 2.6 (`nfs_fh3`, `diropargs3`)

use crate::nfs::handle::Handle;
use crate::xdr::{Emit, Malformed, Strict};

/// Bytes of a handle, at most (NFS3_FHSIZE).
pub const FHSIZE: usize = 64;

/// A file handle: up to 64 bytes that mean something to the server alone.
pub type FileHandle = Handle<FHSIZE>;

/// `post_op_fh3`.
#[inline]
pub(super) fn parse_optional(reader: &mut Strict<'_>) -> Result<Option<FileHandle>, Malformed> {
    if reader.boolean()? { FileHandle::parse(reader).map(Some) } else { Ok(None) }
}

/// A name in a directory (`diropargs3`).
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The directory.
    pub directory: &'a FileHandle,
    /// The name in the directory.
    pub name: &'a [u8],
}

impl Place<'_> {
    #[inline]
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        self.directory.emit(out);
        out.put_opaque(self.name);
    }
}
