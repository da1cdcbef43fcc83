//! A bounds-checked reader of XDR items over borrowed bytes.
//!
//! Spec: RFC 4506 4
//!
//! An observer's bytes often end early: the snap length cut the packet, or the payload was skipped on purpose. Reading past the captured
//! bytes is therefore `None`, not an error, and [`Cursor::ran_out`] distinguishes it from invalid bytes.

/// Reads consecutive XDR items. Copy it to look ahead.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    ran_out: bool,
}

impl<'a> Cursor<'a> {
    /// A cursor at the first of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, ran_out: false }
    }

    /// The remaining bytes.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// True once a read asked for more than was captured: the item may well exist on the wire.
    #[inline]
    pub fn ran_out(&self) -> bool {
        self.ran_out
    }

    /// The next `length` bytes as they stand, without XDR padding.
    #[inline]
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        match self.rest.split_at_checked(length) {
            Some((taken, rest)) => {
                self.rest = rest;
                Some(taken)
            }
            None => self.end(),
        }
    }

    /// Steps over `length` bytes.
    #[inline]
    pub fn skip(&mut self, length: usize) -> Option<()> {
        self.take(length).map(|_| ())
    }

    /// An unsigned integer, an enumeration or a boolean.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        match self.rest.split_first_chunk::<4>() {
            Some((taken, rest)) => {
                self.rest = rest;
                Some(u32::from_be_bytes(*taken))
            }
            None => self.end(),
        }
    }

    /// An unsigned hyper integer.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        match self.rest.split_first_chunk::<8>() {
            Some((taken, rest)) => {
                self.rest = rest;
                Some(u64::from_be_bytes(*taken))
            }
            None => self.end(),
        }
    }

    /// A boolean: 0 or 1. `None` for any other number.
    #[inline]
    pub fn boolean(&mut self) -> Option<bool> {
        match self.u32()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// Variable-length opaque data or a string, as bytes: a length, that many bytes, and padding to a multiple of four.
    /// `None` when not all of it was captured, so that half a name is never taken for a name. Padding that was cut off
    /// is forgiven.
    #[inline]
    pub fn opaque(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()? as usize;
        self.padded(length)
    }

    /// Like [`Self::opaque`], with the limit that the specification gives; a longer one is malformed and gives `None`.
    #[inline]
    pub fn opaque_up_to(&mut self, limit: usize) -> Option<&'a [u8]> {
        let mut after_length = *self;
        match after_length.u32() {
            Some(length) if length as usize > limit => None,
            Some(length) => {
                *self = after_length;
                self.padded(length as usize)
            }
            None => self.end(),
        }
    }

    #[inline]
    fn padded(&mut self, length: usize) -> Option<&'a [u8]> {
        let padded = length.saturating_add(length.wrapping_neg() & 3);
        if let Some((data, rest)) = self.rest.split_at_checked(padded) {
            self.rest = rest;
            return data.get(..length);
        }
        let data = self.take(length)?;
        self.rest = &[];
        Some(data)
    }

    // Inlined, so that a cursor can live in registers.
    #[inline]
    fn end<T>(&mut self) -> Option<T> {
        self.ran_out = true;
        self.rest = &[];
        None
    }
}

/// The big-endian number at `at`, for headers whose items stand at fixed offsets.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

mod emit;
mod strict;

pub use emit::Emit;
pub(crate) use emit::Item;
pub use strict::{Malformed, Strict, padding};

#[cfg(test)]
pub(crate) mod builder;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_follow_each_other() {
        // RFC 4506 4.2, 4.5 and 4.10: integer, hyper, opaque "sillyprog" padded to 12.
        let bytes = b"\0\0\0\x07\0\0\0\0\0\0\0\x09\0\0\0\x09sillyprog\0\0\0\0\0\0\x01";
        let mut cursor = Cursor::new(bytes);
        assert_eq!(cursor.u32(), Some(7));
        assert_eq!(cursor.u64(), Some(9));
        assert_eq!(cursor.opaque(), Some(&b"sillyprog"[..]));
        assert_eq!(cursor.boolean(), Some(true));
        assert!(!cursor.ran_out());
        assert_eq!(cursor.u32(), None);
        assert!(cursor.ran_out());
    }

    #[test]
    fn a_cut_item_is_missing_and_nothing_follows_it() {
        let mut cursor = Cursor::new(b"\0\0\0\x09silly\0\0\x01");
        assert_eq!(cursor.opaque(), None);
        assert!(cursor.ran_out());
        assert_eq!(cursor.take(1), None, "the bytes after a cut item have no meaning");
    }

    #[test]
    fn cut_padding_is_forgiven() {
        let mut cursor = Cursor::new(b"\0\0\0\x05silly");
        assert_eq!(cursor.opaque(), Some(&b"silly"[..]));
        assert!(!cursor.ran_out());
    }

    #[test]
    fn an_absurd_length_is_refused() {
        assert_eq!(Cursor::new(&[0xFF; 64]).opaque(), None);
        let mut cursor = Cursor::new(b"\0\0\0\x05silly\0\0\0");
        assert_eq!(cursor.opaque_up_to(4), None);
        assert!(!cursor.ran_out(), "too long is malformed, not cut");
        assert_eq!(Cursor::new(b"\0\0\0\x02").boolean(), None);
    }
}
