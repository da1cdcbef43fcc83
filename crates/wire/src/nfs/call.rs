//! Calls as rows: a number, and fields.
//!
//! Spec: RFC 1813 3.3, RFC 7530 16, RFC 8881 18

/// Implements `Call` for a type: the number of its procedure or operation, and the fields in the order in which they are appended.
macro_rules! call {
    ($call:ty, $constant:ident = $number:literal: $($field:tt),+) => {
        impl Call for $call {
            const $constant: u32 = $number;

            #[inline]
            fn emit(&self, out: &mut Vec<u8>) {
                #[allow(unused_imports, reason = "some fields have an own method of this name")]
                use crate::xdr::Item as _;
                $(self.$field.emit(out);)+
            }
        }
    };
}
