//! A strict reader of XDR.
//!
//! Spec: RFC 4506 4
//!
//! A client has its peer's complete message, so missing and remaining bytes are errors. Padding must be present; its value is ignored.

/// The bytes violate the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("it violates the protocol's specification")
    }
}

impl std::error::Error for Malformed {}

/// Reads consecutive items.
#[derive(Debug, Clone, Copy)]
pub struct Strict<'a> {
    rest: &'a [u8],
}

impl<'a> Strict<'a> {
    /// A reader at the first of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The remaining bytes.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `length` bytes, without padding.
    #[inline]
    pub fn fixed(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// An unsigned integer.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// An unsigned hyper integer.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// A boolean: 0 or 1.
    #[inline]
    pub fn boolean(&mut self) -> Result<bool, Malformed> {
        match self.u32()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }

    /// Variable-length opaque data or a string, of at most `limit` bytes.
    #[inline]
    pub fn opaque(&mut self, limit: usize) -> Result<&'a [u8], Malformed> {
        let length = self.u32()? as usize;
        if length > limit {
            return Err(Malformed);
        }
        let data = self.fixed(length)?;
        self.fixed(padding(length))?;
        Ok(data)
    }

    /// Nothing may be left.
    #[inline]
    pub fn end(self) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(Malformed) }
    }
}

/// Bytes of padding behind `length` bytes of opaque data: 0 to 3.
#[inline]
pub const fn padding(length: usize) -> usize {
    length.wrapping_neg() & 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_follow_each_other_and_end() {
        // RFC 4506 4.2, 4.5 and 4.10, as in the tolerant cursor's test.
        let bytes = b"\0\0\0\x07\0\0\0\0\0\0\0\x09\0\0\0\x09sillyprog\0\0\0\0\0\0\x01";
        let mut strict = Strict::new(bytes);
        assert_eq!((strict.u32(), strict.u64()), (Ok(7), Ok(9)));
        assert_eq!((strict.opaque(9), strict.boolean()), (Ok(&b"sillyprog"[..]), Ok(true)));
        assert_eq!(strict.end(), Ok(()));
    }

    #[test]
    fn what_is_cut_too_long_or_left_over_is_malformed() {
        assert_eq!(Strict::new(b"\0\0\0\x05silly\0\0").opaque(9), Err(Malformed), "padding is missing");
        assert_eq!(Strict::new(b"\0\0\0\x05silly\0\0\0").opaque(4), Err(Malformed), "longer than may be");
        assert_eq!(Strict::new(&[0xFF; 64]).opaque(usize::MAX), Err(Malformed), "longer than is there");
        assert_eq!(Strict::new(b"\0\0\0\x02").boolean(), Err(Malformed));
        assert_eq!(Strict::new(b"\0\0\0").u32(), Err(Malformed));
        assert_eq!(Strict::new(b"\0").end(), Err(Malformed));
    }
}
