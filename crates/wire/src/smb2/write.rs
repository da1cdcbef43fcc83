//! WRITE.
//!
//! Spec: MS-SMB2 2.2.21, 2.2.22

use super::command::Command;
use super::draft::{Call, Draft, TooLong, set};
use super::fields::view;
use super::file_id::FileId;
use super::header;
use super::reply::{Answer, Malformed, Reply};

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 49;
/// Request: DataOffset, u16.
pub const DATA_OFFSET: usize = header::LEN + 2;
/// Request: Length, u32.
pub const LENGTH: usize = header::LEN + 4;
/// Request: Offset, u64.
pub const OFFSET: usize = header::LEN + 8;
/// Request: FileId, 16 bytes.
pub const FILE_ID: usize = header::LEN + 16;
/// Request: Flags, u32.
pub const FLAGS: usize = header::LEN + 44;
/// Request: end of the fixed part: where the data goes.
pub const REQUEST_END: usize = header::LEN + 48;
/// Request flag: on stable storage before the answer, from dialect 2.1 on.
pub const FLAG_WRITE_THROUGH: u32 = 0x0000_0001;
/// Request flag: past the server's cache, from dialect 3.0.2 on.
pub const FLAG_WRITE_UNBUFFERED: u32 = 0x0000_0002;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 17;
/// Response: Count, u32.
pub const COUNT: usize = header::LEN + 4;

/// Response: end of the fixed part.
pub const RESPONSE_END: usize = header::LEN + 16;

view! {
    /// What to write where.
    Request, request, Write, REQUEST_SIZE;
    /// The handle.
    file_id: FileId = file_id FILE_ID;
    /// Position in the file, in bytes.
    offset: u64 = u64 OFFSET;
    /// How many bytes.
    data_len: u32 = u32 LENGTH;
    /// Where they begin, in bytes from the SMB2 header.
    data_offset: u16 = u16 DATA_OFFSET;
}
view! {
    /// How much was written.
    Response, response, Write, RESPONSE_SIZE;
    /// How many bytes the server wrote.
    count: u32 = u32 COUNT;
}

impl Request<'_> {
    /// Whether they are to be on stable storage before the answer.
    #[must_use]
    pub fn is_durable(&self) -> Option<bool> {
        Some(self.fields.u32(FLAGS)? & FLAG_WRITE_THROUGH != 0)
    }
}

/// The call, up to its data: `length` bytes follow directly, or one byte that says nothing where that is 0, for the
/// StructureSize counts it and Samba insists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The handle.
    pub file: FileId,
    /// Position in the file, in bytes.
    pub offset: u64,
    /// How many bytes.
    pub length: u32,
    /// See the `FLAG_` constants.
    pub flags: u32,
}

impl Call for Write {
    const COMMAND: Command = Command::Write;

    fn payload(&self) -> u32 {
        self.length
    }

    fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        draft.fixed(REQUEST_SIZE, REQUEST_END);
        draft.u16(DATA_OFFSET, REQUEST_END as u16);
        let message = draft.message();
        set(message, LENGTH, self.length.to_le_bytes());
        set(message, OFFSET, self.offset.to_le_bytes());
        set(message, FILE_ID, self.file.0);
        set(message, FLAGS, self.flags.to_le_bytes());
        Ok(())
    }
}

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// How many bytes.
    pub count: u32,
}

/// Reads the answer.
///
/// # Errors
///
/// If a field violates the specification.
#[inline]
pub fn parse<'a>(reply: &Reply<'a>) -> Result<Answer<'a, Written>, Malformed> {
    reply.answer(Command::Write, RESPONSE_SIZE, RESPONSE_END, |body| Ok(Written { count: body.u32(COUNT, "Count")? }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, emitted, refused, truncations, whole};

    /// Hand-assembled from 2.2.21; the data itself need not be captured.
    #[test]
    fn request() {
        let bytes = Message::request(9).u16(49).u16(0x70).u32(30).u64(77).put(&[2; 16]).fill(16).bytes();
        let view = Request::new(&bytes).unwrap();
        assert_eq!((view.data_len(), view.data_offset(), view.offset()), (Some(30), Some(0x70), Some(77)));
        assert_eq!(view.file_id(), Some(FileId([2; 16])));
        truncations(&bytes, |bytes| Request::new(bytes)?.file_id());
    }

    #[test]
    fn a_call_reads_as_it_was_said() {
        let call = Write { file: FileId([2; 16]), offset: 77, length: 30, flags: FLAG_WRITE_THROUGH };
        let bytes = emitted(&call);
        let view = Request::new(&bytes).unwrap();
        assert_eq!((view.data_len(), view.data_offset(), view.offset()), (Some(30), Some(0x70), Some(77)));
        assert_eq!((view.file_id(), bytes.len()), (Some(call.file), 0x70));
        let body = Message::request(9).u16(49).u16(0x70).u32(30).u64(77).put(&[2; 16]).u64(0).u32(0).u32(1);
        assert_eq!(bytes, body.like(&bytes), "as 2.2.21 lays it out");
    }

    #[test]
    fn an_answer_is_read_strictly() {
        let good = Message::response(9, 0).u16(17).u16(0).u32(30).u32(0).u32(0).bytes();
        assert_eq!(Response::new(&good).and_then(|response| response.count()), Some(30));
        truncations(&good, |bytes| Response::new(bytes)?.count());
        assert_eq!(parse(&whole(&good)), Ok(Answer::Done(Written { count: 30 })));
        refused(&good, |reply| parse(reply).map(Answer::refusal));
    }
}
