//! CLOSE: a handle is given up.
//!
//! Spec: MS-SMB2 2.2.15, 2.2.16

use super::attributes::{Attributes, Times};
use super::command::Command;
use super::draft::{Call, Draft, TooLong, set};
use super::fields::view;
use super::file_id::FileId;
use super::header;
use super::reply::{Answer, Malformed, Reply};

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 24;
/// Request: Flags, u16.
pub const REQUEST_FLAGS: usize = header::LEN + 2;
/// Request: FileId, 16 bytes.
pub const FILE_ID: usize = header::LEN + 8;
/// Request: end.
pub const REQUEST_END: usize = header::LEN + 24;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 60;
/// Response: Flags, u16; 1 says that the attributes that follow are filled in.
pub const RESPONSE_FLAGS: usize = header::LEN + 2;
/// Response: CreationTime, LastAccessTime, LastWriteTime and ChangeTime, u64 each.
pub const TIMES: usize = header::LEN + 8;
/// Response: AllocationSize, u64.
pub const ALLOCATION_SIZE: usize = header::LEN + 40;
/// Response: EndofFile, u64.
pub const END_OF_FILE: usize = header::LEN + 48;
/// Response: FileAttributes, u32.
pub const RESPONSE_ATTRIBUTES: usize = header::LEN + 56;
/// Response: end.
pub const RESPONSE_END: usize = header::LEN + 60;
/// Flag: attributes are asked for, or given.
pub const FLAG_ATTRIBUTES: u16 = 0x0001;

view! {
    /// Which handle.
    Request, request, Close, REQUEST_SIZE;
    /// The handle.
    file_id: FileId = file_id FILE_ID;
}

/// The call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close {
    /// The handle.
    pub file: FileId,
    /// Asks for the attributes that the file has when it is closed.
    pub attributes: bool,
}

impl Call for Close {
    const COMMAND: Command = Command::Close;

    fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        draft.fixed(REQUEST_SIZE, REQUEST_END);
        let message = draft.message();
        set(message, REQUEST_FLAGS, u16::from(self.attributes).to_le_bytes());
        set(message, FILE_ID, self.file.0);
        Ok(())
    }
}

/// It is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// None where they were not asked for, or the server did not fill them in.
    pub attributes: Option<Attributes>,
}

/// Reads the answer.
///
/// # Errors
///
/// If a field violates the specification.
#[inline]
pub fn parse<'a>(reply: &Reply<'a>) -> Result<Answer<'a, Closed>, Malformed> {
    reply.answer(Command::Close, RESPONSE_SIZE, RESPONSE_END, |body| {
        if body.u16(RESPONSE_FLAGS, "Flags")? & FLAG_ATTRIBUTES == 0 {
            return Ok(Closed { attributes: None });
        }
        let attributes = Attributes {
            times: Times::parse(body, TIMES)?,
            allocation_size: body.u64(ALLOCATION_SIZE, "AllocationSize")?,
            end_of_file: body.u64(END_OF_FILE, "EndofFile")?,
            attributes: body.u32(RESPONSE_ATTRIBUTES, "FileAttributes")?,
        };
        Ok(Closed { attributes: Some(attributes) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, emitted, refused, truncations, whole};

    /// Hand-assembled from 2.2.15.
    #[test]
    fn request() {
        let bytes = Message::request(6).u16(24).u16(1).u32(0).put(&[5; 16]).bytes();
        assert_eq!(Request::new(&bytes).unwrap().file_id(), Some(FileId([5; 16])));
        truncations(&bytes, |bytes| Request::new(bytes)?.file_id());
    }

    #[test]
    fn a_call_reads_as_it_was_said() {
        let bytes = emitted(&Close { file: FileId([5; 16]), attributes: true });
        assert_eq!(bytes, Message::request(6).u16(24).u16(1).u32(0).put(&[5; 16]).like(&bytes));
        assert_eq!(Request::new(&bytes).unwrap().file_id(), Some(FileId([5; 16])));
    }

    #[test]
    fn an_answer_is_read_strictly() {
        let response = |flags| {
            let times = Message::response(6, 0).u16(60).u16(flags).u32(0).u64(1).u64(2).u64(3).u64(4);
            times.u64(4096).u64(99).u32(0x20).bytes()
        };
        let times = Times { creation: 1, last_access: 2, last_write: 3, change: 4 };
        let attributes = Attributes { times, allocation_size: 4096, end_of_file: 99, attributes: 0x20 };
        assert_eq!(parse(&whole(&response(1))), Ok(Answer::Done(Closed { attributes: Some(attributes) })));
        assert_eq!(parse(&whole(&response(0))), Ok(Answer::Done(Closed { attributes: None })));
        refused(&response(1), |reply| parse(reply).map(Answer::refusal));
    }
}
