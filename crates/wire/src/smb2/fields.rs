//! Loads at fixed offsets from a message that may have been cut short, and the door every body view goes through.

use super::file_id::FileId;
use super::header::{self, Header};
use crate::text::Utf16Le;

/// The bytes of one message from its SMB2 header on, already known to be the command, direction and layout of the view
/// that holds them. Every offset counts from the header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// None unless the message is a request of this command whose body has this StructureSize.
    pub(super) fn request(message: &'a [u8], command: u16, structure_size: u16) -> Option<Self> {
        let header = Header::new(message)?;
        (!header.is_response()).then_some(())?;
        Self::of(header, message, command, structure_size)
    }

    /// None unless the message is a response of this command whose body has this StructureSize and is no error.
    pub(super) fn response(message: &'a [u8], command: u16, structure_size: u16) -> Option<Self> {
        let header = Header::new(message)?;
        (header.is_response() && !super::error::replaces_body(&header)).then_some(())?;
        Self::of(header, message, command, structure_size)
    }

    fn of(header: Header<'a>, message: &'a [u8], command: u16, structure_size: u16) -> Option<Self> {
        let fields = Self(message);
        (header.command_code() == command && fields.u16(header::LEN)? == structure_size).then_some(fields)
    }

    pub(super) fn u8(&self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    pub(super) fn u16(&self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }

    pub(super) fn file_id(&self, at: usize) -> Option<FileId> {
        self.array(at).map(FileId)
    }

    pub(super) fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..)?.first_chunk().copied()
    }

    /// `len` bytes at `offset`, all of them or None. A variable part may not begin inside the fixed part, which ends at `fixed_end`. An
    /// empty part may be anywhere, because senders set its offset to any value.
    pub(super) fn variable(&self, offset: usize, len: usize, fixed_end: usize) -> Option<&'a [u8]> {
        if len == 0 {
            return Some(&[]);
        }
        (offset >= fixed_end).then_some(())?;
        self.0.get(offset..offset.checked_add(len)?)
    }

    /// The captured part of `len` bytes at `offset`; the same rule for the fixed part.
    pub(super) fn variable_captured(&self, offset: usize, len: usize, fixed_end: usize) -> Option<&'a [u8]> {
        if len == 0 {
            return Some(&[]);
        }
        (offset >= fixed_end).then_some(())?;
        let end = offset.checked_add(len)?.min(self.0.len());
        self.0.get(offset..end)
    }

    /// Text whose offset and length are two u16 fields beginning at `at`. None when a byte of it is missing: a path
    /// cut short would be another path.
    pub(super) fn text16(&self, at: usize, fixed_end: usize) -> Option<Utf16Le<'a>> {
        self.variable16(at, fixed_end).map(Utf16Le)
    }

    /// Bytes whose offset and length are two u16 fields beginning at `at`.
    pub(super) fn variable16(&self, at: usize, fixed_end: usize) -> Option<&'a [u8]> {
        let offset = usize::from(self.u16(at)?);
        let len = usize::from(self.u16(at + 2)?);
        self.variable(offset, len, fixed_end)
    }
}

/// A u32 of the wire as a length or offset in memory.
pub(super) fn to_len(value: u32) -> Option<usize> {
    usize::try_from(value).ok()
}

/// Declares a view: its type, its door, the three constants the door checks, and the fields that it only loads: a getter
/// each, which loads its type from its place.
macro_rules! view {
    (
        $(#[$doc:meta])* $name:ident, $door:ident, $command:ident, $size:expr;
        $($(#[$field_doc:meta])* $field:ident: $type:ty = $load:ident $place:ident;)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'a> {
            fields: $crate::smb2::fields::Fields<'a>,
        }

        impl<'a> $name<'a> {
            /// `message` begins at the SMB2 header. None when it is not this command in this direction and layout, and
            /// when too little was captured to tell.
            #[must_use]
            pub fn new(message: &'a [u8]) -> Option<Self> {
                let command = $crate::smb2::Command::$command.code();
                let fields = $crate::smb2::fields::Fields::$door(message, command, $size)?;
                Some(Self { fields })
            }

            $(
                $(#[$field_doc])*
                #[must_use]
                pub fn $field(&self) -> Option<$type> {
                    self.fields.$load($place)
                }
            )*
        }
    };
}

pub(super) use view;
