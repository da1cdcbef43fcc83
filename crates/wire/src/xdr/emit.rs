//! Appends XDR items to a message.
//!
//! Spec: RFC 4506 4

use super::strict::padding;

/// Appends XDR items.
pub trait Emit {
    /// An unsigned integer, an enumeration or a boolean.
    fn put_u32(&mut self, number: u32);
    /// An unsigned hyper integer.
    fn put_u64(&mut self, number: u64);
    /// Bytes as they stand: fixed-length opaque data of a length that is a multiple of four.
    fn put_fixed(&mut self, bytes: &[u8]);
    /// Variable-length opaque data or a string: its length, the bytes, padding.
    fn put_opaque(&mut self, bytes: &[u8]);
    /// A boolean, and the number if there is one.
    fn put_optional_u32(&mut self, number: Option<u32>) {
        self.put_u32(u32::from(number.is_some()));
        if let Some(number) = number {
            self.put_u32(number);
        }
    }
}

impl Emit for Vec<u8> {
    #[inline]
    fn put_u32(&mut self, number: u32) {
        self.extend_from_slice(&number.to_be_bytes());
    }

    #[inline]
    fn put_u64(&mut self, number: u64) {
        self.extend_from_slice(&number.to_be_bytes());
    }

    #[inline]
    fn put_fixed(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    #[inline]
    fn put_opaque(&mut self, bytes: &[u8]) {
        // Items of 4 GiB do not occur; cuts the data so that its length always fits.
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX - 3);
        self.put_u32(length);
        self.extend_from_slice(bytes.get(..length as usize).unwrap_or(bytes));
        self.extend_from_slice(&[0; 3][..padding(length as usize)]);
    }
}

/// An XDR item: numbers, booleans, opaque data of fixed length (arrays) and of variable length (slices).
pub(crate) trait Item {
    /// Appends the item.
    fn emit(&self, out: &mut Vec<u8>);
}

macro_rules! items {
    ($($type:ty, |$item:ident, $out:ident| $put:expr;)*) => {
        $(impl Item for $type {
            #[inline]
            fn emit(&self, $out: &mut Vec<u8>) {
                let $item = self;
                $put
            }
        })*
    };
}

items! {
    u32, |number, out| out.put_u32(*number);
    u64, |number, out| out.put_u64(*number);
    bool, |is_true, out| out.put_u32(u32::from(*is_true));
    [u8], |bytes, out| out.put_opaque(bytes);
}

impl<const LENGTH: usize> Item for [u8; LENGTH] {
    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        out.put_fixed(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opaque_data_is_padded_to_words() {
        // RFC 4506 7: the file "sillyprog" of its example.
        let mut bytes = Vec::new();
        bytes.put_opaque(b"sillyprog");
        assert_eq!(bytes, b"\0\0\0\x09sillyprog\0\0\0");
        bytes.clear();
        bytes.put_opaque(b"");
        bytes.put_optional_u32(Some(7));
        bytes.put_optional_u32(None);
        assert_eq!(bytes, b"\0\0\0\0\0\0\0\x01\0\0\0\x07\0\0\0\0");
    }
}
