//! A file handle, held in place.
//!
//! Spec: RFC 1813 2.6 (`nfs_fh3`)

use crate::xdr::{Emit, Malformed, Strict};

/// Bytes of a handle, at most (NFS3_FHSIZE).
pub const FHSIZE: usize = 64;

/// A file handle: up to 64 bytes that mean something to the server alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileHandle {
    length: u8,
    bytes: [u8; FHSIZE],
}

impl FileHandle {
    /// From its bytes; `None` where there are more than [`FHSIZE`].
    #[inline]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut handle = Self { length: u8::try_from(bytes.len()).ok()?, bytes: [0; FHSIZE] };
        handle.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(handle)
    }

    /// Its bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }

    #[inline]
    pub(in crate::nfs) fn parse(reader: &mut Strict<'_>) -> Result<Self, Malformed> {
        Self::new(reader.opaque(FHSIZE)?).ok_or(Malformed)
    }

    /// `post_op_fh3`.
    #[inline]
    pub(super) fn parse_optional(reader: &mut Strict<'_>) -> Result<Option<Self>, Malformed> {
        if reader.boolean()? { Self::parse(reader).map(Some) } else { Ok(None) }
    }

    #[inline]
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.put_opaque(self.as_bytes());
    }
}

impl std::fmt::Debug for FileHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FileHandle(")?;
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

/// A name in a directory (`diropargs3`).
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The directory.
    pub directory: &'a FileHandle,
    /// The name in it.
    pub name: &'a [u8],
}

impl Place<'_> {
    #[inline]
    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        self.directory.emit(out);
        out.put_opaque(self.name);
    }
}
