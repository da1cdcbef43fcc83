//! Calls that are made often: written once, copied, and set where they differ.
//!
//! Spec: MS-SMB2 2.2.1

use core::marker::PhantomData;

use super::draft::{Call, Head, TooLong};

/// A call of one length whose fields can be set in a copy of it.
pub trait Patch: Call {
    /// Sets every field that a call of this command can differ in. `message` begins at the header.
    fn patch(&self, message: &mut [u8]);
}

/// The bytes of a call.
#[derive(Clone, Debug)]
pub struct Template<C> {
    bytes: Box<[u8]>,
    call: PhantomData<fn(C)>,
}

impl<C: Patch> Template<C> {
    /// From any call of the command.
    ///
    /// # Errors
    ///
    /// As [`Call::emit`].
    pub fn new(call: &C) -> Result<Self, TooLong> {
        let mut bytes = Vec::new();
        call.emit(&Head::default(), &mut bytes)?;
        Ok(Self { bytes: bytes.into(), call: PhantomData })
    }

    /// Appends `call`: what [`Call::emit`] would append.
    #[inline]
    pub fn emit(&self, head: &Head, call: &C, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        if let Some(message) = out.get_mut(start..) {
            head.patch(message);
            call.patch(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::FileId;
    use crate::smb2::close::Close;
    use crate::smb2::header::FLAG_SIGNED;
    use crate::smb2::read::Read;
    use crate::smb2::write::Write;

    fn same_as_emitted<C: Patch>(made_of: &C, call: &C) {
        let head = Head {
            charge: 3,
            credits: 64,
            flags: FLAG_SIGNED,
            channel_sequence: 1,
            message_id: u64::MAX - 3,
            tree_id: 0x0102_0304,
            session_id: 0x1_0203_0405,
        };
        let (mut plain, mut copied) = (b"before".to_vec(), b"before".to_vec());
        call.emit(&head, &mut plain).unwrap();
        Template::new(made_of).unwrap().emit(&head, call, &mut copied);
        assert_eq!(plain, copied);
    }

    #[test]
    fn a_copy_is_what_would_have_been_emitted() {
        let (one, two) = (FileId([1; 16]), FileId([2; 16]));
        let read = Read { file: one, offset: 1, length: 2, minimum: 3, flags: 0 };
        same_as_emitted(&read, &Read { file: two, offset: 1 << 40, length: 1 << 20, minimum: 0, flags: 1 });
        let write = Write { file: one, offset: 1, length: 2, flags: 0 };
        same_as_emitted(&write, &Write { file: two, offset: 1 << 40, length: 1 << 20, flags: 1 });
        same_as_emitted(&Close { file: one, attributes: true }, &Close { file: two, attributes: false });
    }
}
