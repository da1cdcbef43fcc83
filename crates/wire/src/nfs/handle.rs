//! A file handle, held in place.
//!
//! Spec: RFC 1813 2.6 (`nfs_fh3`), RFC 8881 3.3.4 (`nfs_fh4`)

use crate::xdr::{Emit, Malformed, Strict};

/// A file handle: up to `MOST` bytes that mean something to the server alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle<const MOST: usize> {
    length: u8,
    bytes: [u8; MOST],
}

impl<const MOST: usize> Handle<MOST> {
    /// The handle of nothing, of no bytes.
    pub const EMPTY: Self = Self { length: 0, bytes: [0; MOST] };

    /// From its bytes; `None` where there are more than `MOST`.
    #[inline]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut handle = Self { length: u8::try_from(bytes.len()).ok()?, bytes: [0; MOST] };
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
        Self::new(reader.opaque(MOST)?).ok_or(Malformed)
    }

    #[inline]
    pub(in crate::nfs) fn emit(&self, out: &mut Vec<u8>) {
        out.put_opaque(self.as_bytes());
    }
}

impl<const MOST: usize> std::fmt::Debug for Handle<MOST> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FileHandle(")?;
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}
