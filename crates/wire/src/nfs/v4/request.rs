//! Writer of COMPOUND: its head, and one operation after the other.
//!
//! Spec: RFC 8881 16.2.3

use super::compound::Operation;
use crate::xdr::Emit;

/// The arguments of one operation.
pub trait Call {
    /// The operation's number.
    const OPERATION: u32;
    /// Appends the arguments.
    fn emit(&self, out: &mut Vec<u8>);
}

/// A compound under construction, at the end of a message. Its tag is empty.
#[derive(Debug)]
pub struct Compound<'o> {
    out: &'o mut Vec<u8>,
    /// Where the number of its operations stands.
    count_at: usize,
    count: u32,
    /// The position of an operation, and where its bytes begin.
    marked: Option<(u32, usize)>,
}

impl<'o> Compound<'o> {
    /// Appends the head of a compound without operations.
    #[inline]
    pub fn begin(minor_version: u32, out: &'o mut Vec<u8>) -> Self {
        out.put_u32(0);
        out.put_u32(minor_version);
        let count_at = out.len();
        out.put_u32(0);
        Self { out, count_at, count: 0, marked: None }
    }

    /// Marks the operation at a position, from 0, to read it with [`Compound::marked`].
    #[inline]
    #[must_use]
    pub fn marking(self, position: u32) -> Self {
        Self { marked: Some((position, usize::MAX)), ..self }
    }

    /// The marked operation as it was written, if it was.
    #[inline]
    #[must_use]
    pub fn marked(&self) -> Option<Operation<'_>> {
        let (position, at) = self.marked?;
        Operation::of_arguments(position, self.out.get(at..)?)
    }

    /// Appends an operation.
    #[inline]
    pub fn add<C: Call>(&mut self, call: &C) -> &mut Self {
        if let Some((position, at)) = &mut self.marked
            && *position == self.count
        {
            *at = self.out.len();
        }
        self.out.put_u32(C::OPERATION);
        call.emit(self.out);
        self.count += 1;
        if let Some(place) = self.out.get_mut(self.count_at..self.count_at + 4) {
            place.copy_from_slice(&self.count.to_be_bytes());
        }
        self
    }
}

/// Declares operations without arguments.
macro_rules! without_arguments {
    ($($(#[$about:meta])* $name:ident = $number:literal;)*) => {
        $(
            $(#[$about])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl Call for $name {
                const OPERATION: u32 = $number;

                #[inline]
                fn emit(&self, _: &mut Vec<u8>) {}
            }
        )*
    };
}

without_arguments! {
    /// GETFH: the current file handle (RFC 8881 18.8).
    GetHandle = 10;
    /// PUTROOTFH: makes the root of all exports the current file handle (RFC 8881 18.21).
    PutRoot = 24;
    /// READLINK: the target of the link at the current file handle (RFC 8881 18.24).
    ReadLink = 27;
    /// RESTOREFH: makes the saved file handle the current one (RFC 8881 18.27).
    Restore = 31;
    /// SAVEFH: saves the current file handle (RFC 8881 18.28).
    Save = 32;
}
