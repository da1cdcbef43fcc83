//! READ.
//!
//! Spec: MS-SMB2 2.2.19, 2.2.20

use super::command::Command;
use super::draft::{Call, Draft, TooLong, set};
use super::fields::view;
use super::file_id::FileId;
use super::header;
use super::reply::{Answer, Malformed, Reply};

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 49;
/// Request: Padding, u8: where the client would like the data, from the answer's header on.
pub const PADDING: usize = header::LEN + 2;
/// Request: Flags, u8, from dialect 3.0.2 on.
pub const REQUEST_FLAGS: usize = header::LEN + 3;
/// Request: Length, u32.
pub const LENGTH: usize = header::LEN + 4;
/// Request: Offset, u64.
pub const OFFSET: usize = header::LEN + 8;
/// Request: FileId, 16 bytes.
pub const FILE_ID: usize = header::LEN + 16;
/// Request: MinimumCount, u32.
pub const MINIMUM_COUNT: usize = header::LEN + 32;
/// Request: end of the fixed part.
pub const REQUEST_END: usize = header::LEN + 48;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 17;
/// Response: DataOffset, u8.
pub const DATA_OFFSET: usize = header::LEN + 2;
/// Response: DataLength, u32.
pub const DATA_LENGTH: usize = header::LEN + 4;

/// Response: DataRemaining, u32.
pub const DATA_REMAINING: usize = header::LEN + 8;
/// Response: end of the fixed part, and the usual start of the data. A client needs this many bytes to read the answer without its data.
pub const RESPONSE_END: usize = header::LEN + 16;

view! {
    /// What to read.
    Request, request, Read, REQUEST_SIZE;
    /// The handle.
    file_id: FileId = file_id FILE_ID;
    /// From where in the file, in bytes.
    offset: u64 = u64 OFFSET;
    /// How many bytes at most.
    length: u32 = u32 LENGTH;
}
view! {
    /// The data; present with `STATUS_BUFFER_OVERFLOW` too.
    Response, response, Read, RESPONSE_SIZE;
    /// How many bytes were read.
    data_len: u32 = u32 DATA_LENGTH;
    /// Where they begin, in bytes from the SMB2 header.
    data_offset: u8 = u8 DATA_OFFSET;
}

/// The call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The handle.
    pub file: FileId,
    /// From where in the file, in bytes.
    pub offset: u64,
    /// How many bytes at most.
    pub length: u32,
    /// How many bytes at least: with fewer the answer is `STATUS_END_OF_FILE`.
    pub minimum: u32,
    /// 0, or 1: past the server's cache, from dialect 3.0.2 on.
    pub flags: u8,
}

impl Call for Read {
    const COMMAND: Command = Command::Read;

    fn payload(&self) -> u32 {
        self.length
    }

    fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        draft.fixed(REQUEST_SIZE, REQUEST_END);
        // Where clients have it by custom: directly behind the fixed part.
        draft.u8(PADDING, RESPONSE_END as u8);
        let message = draft.message();
        set(message, REQUEST_FLAGS, [self.flags]);
        set(message, LENGTH, self.length.to_le_bytes());
        set(message, OFFSET, self.offset.to_le_bytes());
        set(message, FILE_ID, self.file.0);
        set(message, MINIMUM_COUNT, self.minimum.to_le_bytes());
        draft.at_least_a_byte(REQUEST_END);
        Ok(())
    }
}

/// The data that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// How many bytes.
    pub length: u32,
    /// Where they begin, from the answer's header on.
    pub offset: u8,
    /// How many bytes of a message in a pipe are still to be read.
    pub remaining: u32,
    /// The bytes that were kept.
    pub kept: &'a [u8],
}

/// Reads the answer, whose data may have been dropped in part or as a whole. The length of the reply shows that it was complete.
///
/// # Errors
/// If a field violates the specification.
#[inline]
pub fn parse<'a>(reply: &Reply<'a>) -> Result<Answer<'a, Data<'a>>, Malformed> {
    reply.answer(Command::Read, RESPONSE_SIZE, RESPONSE_END, |body| {
        let offset = body.u8(DATA_OFFSET, "DataOffset")?;
        let length = body.u32(DATA_LENGTH, "DataLength")?;
        let kept = body.stored_part(offset.into(), length, RESPONSE_END, "Buffer")?;
        Ok(Data { length, offset, remaining: body.u32(DATA_REMAINING, "DataRemaining")?, kept })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::reply::Why;
    use crate::smb2::status::STATUS_END_OF_FILE;
    use crate::smb2::testing::{Message, emitted, refused, truncations, whole};

    /// Hand-assembled from 2.2.19.
    #[test]
    fn request() {
        let bytes = Message::request(8).u16(49).u8(0x50).u8(0).u32(0x1_0000).u64(0x12_3456_789A).put(&[1; 16]).bytes();
        let view = Request::new(&bytes).unwrap();
        assert_eq!(view.length(), Some(0x1_0000));
        assert_eq!(view.offset(), Some(0x12_3456_789A));
        assert_eq!(view.file_id(), Some(FileId([1; 16])));
        truncations(&bytes, |bytes| Request::new(bytes)?.offset());
        truncations(&bytes, |bytes| Request::new(bytes)?.file_id());
    }

    #[test]
    fn a_call_reads_as_it_was_said() {
        let call = Read { file: FileId([1; 16]), offset: 0x12_3456_789A, length: 0x1_0001, minimum: 3, flags: 1 };
        let bytes = emitted(&call);
        let view = Request::new(&bytes).unwrap();
        assert_eq!((view.file_id(), view.offset()), (Some(call.file), Some(call.offset)));
        assert_eq!((view.length(), header::charge(call.payload())), (Some(0x1_0001), 2));
        let body = Message::request(8).u16(49).u8(0x50).u8(1).u32(0x1_0001).u64(call.offset).put(&[1; 16]);
        assert_eq!(bytes, body.u32(3).u64(0).u32(0).u8(0).like(&bytes), "as 2.2.19 lays it out");
    }

    #[test]
    fn an_answer_is_read_strictly() {
        let response = |offset, len| {
            Message::response(8, 0).u16(17).u8(offset).u8(0).u32(len).u32(9).u32(0).put(b"abcdef").bytes()
        };
        let good = response(0x50, 6);
        let data = Data { length: 6, offset: 0x50, remaining: 9, kept: b"abcdef" };
        assert_eq!(parse(&whole(&good)), Ok(Answer::Done(data)));
        refused(&good, |reply| parse(reply).map(Answer::refusal));
        let cut = Reply::new(&good[..RESPONSE_END + 2], good.len()).unwrap();
        assert_eq!(parse(&cut), Ok(Answer::Done(Data { kept: b"ab", ..data })), "the rest was there");
        for (offset, len) in [(0x50, 7), (0x51, 6), (0x4F, 6), (0xFF, u32::MAX)] {
            let error = parse(&whole(&response(offset, len))).unwrap_err();
            let why = Why::Place { offset: offset.into(), length: len.into() };
            assert_eq!((error.field, error.why), ("Buffer", why));
        }
    }

    /// Hand-assembled from 2.2.20; the data itself need not be captured.
    #[test]
    fn response() {
        let bytes = |status| Message::response(8, status).u16(17).u8(0x50).u8(0).u32(6).u32(0).u32(0).bytes();
        let whole = bytes(0);
        let view = Response::new(&whole).unwrap();
        assert_eq!((view.data_len(), view.data_offset()), (Some(6), Some(0x50)));
        truncations(&whole, |bytes| Response::new(bytes)?.data_len());
        assert!(Response::new(&bytes(STATUS_END_OF_FILE)).is_none());
    }
}
