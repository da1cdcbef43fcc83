//! CB_RECALL_ANY: the server limits the number of recallable objects of some types that the client may keep.
//!
//! Spec: RFC 8881 20.6, RFC 8435

use crate::xdr::{Malformed, Strict};

/// RCA4_TYPE_MASK_RDATA_DLG.
const READ_DELEGATIONS: u32 = 1;
/// All defined types: 0 to 4, 8, 9, 12 to 15 (RFC 8881), 16 and 17 (RFC 8435).
const DEFINED: u32 = 0x0003_F31F;
/// Maximum number of words of a type mask; all defined types are in the first one.
const MOST_WORDS: u32 = 16;

/// The arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecallAny {
    /// Maximum number of objects of these types that the client may keep.
    pub keep: u32,
    /// The first word of the type mask.
    types: u32,
    /// The other words name no type.
    rest_is_empty: bool,
}

impl RecallAny {
    /// Reads the arguments, which the other operations of the callback follow.
    ///
    /// # Errors
    /// The bytes end before the arguments do, or the type mask is absurdly long.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Strict::new(bytes);
        let (keep, words) = (reader.u32()?, reader.u32()?);
        if words > MOST_WORDS {
            return Err(Malformed);
        }
        let types = if words > 0 { reader.u32()? } else { 0 };
        let mut rest_is_empty = true;
        for _ in 1..words {
            rest_is_empty &= reader.u32()? == 0;
        }
        Ok(Self { keep, types, rest_is_empty })
    }

    /// Whether the specification defines all types of the mask. The client must refuse others with NFS4ERR_INVAL.
    pub fn is_defined(&self) -> bool {
        self.types & !DEFINED == 0 && self.rest_is_empty
    }

    /// Whether read delegations of files are among the types.
    pub fn limits_read_delegations(&self) -> bool {
        self.types & READ_DELEGATIONS != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdr::builder::Xdr;

    /// `CB_RECALL_ANY4args`: craa_objects_to_keep, craa_type_mask (RFC 8881 20.6.1).
    fn read(words: &[u32]) -> Result<(u32, bool, bool), Malformed> {
        let any = RecallAny::parse(&Xdr::new().words(words).0)?;
        Ok((any.keep, any.is_defined(), any.limits_read_delegations()))
    }

    #[test]
    fn the_mask_names_the_types_and_undefined_ones_are_known() {
        assert_eq!(read(&[7, 1, 1]), Ok((7, true, true)));
        assert_eq!(read(&[7, 1, 1 << 1 | 1 << 2 | 1 << 3]), Ok((7, true, false)), "write, directory, layouts");
        assert_eq!(read(&[u32::MAX, 1, DEFINED]), Ok((u32::MAX, true, true)));
        assert_eq!(read(&[0, 0]), Ok((0, true, false)), "an empty mask");
        assert_eq!(read(&[0, 2, 1, 0]), Ok((0, true, true)));
        assert_eq!(read(&[0, 2, 1, 1]), Ok((0, false, true)), "type 32");
        for undefined in [5, 6, 7, 10, 11, 18, 31] {
            assert_eq!(read(&[0, 1, 1 | 1 << undefined]), Ok((0, false, true)), "type {undefined}");
        }
        assert_eq!(
            (read(&[0, 1]), read(&[0]), read(&[0, u32::MAX, 1])),
            (Err(Malformed), Err(Malformed), Err(Malformed))
        );
        // The next operation follows.
        assert_eq!(read(&[3, 1, 1, 10, 0]), Ok((3, true, true)));
    }
}
