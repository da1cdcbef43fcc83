//! FLUSH: the server writes its cached data of a file to disk. The response has no fields.
//!
//! Spec: MS-SMB2 2.2.17, 2.2.18

use super::command::Command;
use super::draft::{Call, Draft, TooLong, set};
use super::fields::view;
use super::file_id::FileId;
use super::header;
use super::reply::{Answer, Malformed, Reply};

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 24;
/// Request: FileId, 16 bytes.
pub const FILE_ID: usize = header::LEN + 8;
/// Request: end.
pub const REQUEST_END: usize = header::LEN + 24;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 4;
/// Response: end.
pub const RESPONSE_END: usize = header::LEN + 4;

view! {
    /// Which file.
    Request, request, Flush, REQUEST_SIZE;
    /// The handle.
    file_id: FileId = file_id FILE_ID;
}

/// The call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flush {
    /// The handle.
    pub file: FileId,
}

impl Call for Flush {
    const COMMAND: Command = Command::Flush;

    fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        draft.fixed(REQUEST_SIZE, REQUEST_END);
        set(draft.message(), FILE_ID, self.file.0);
        Ok(())
    }
}

/// Reads the answer.
///
/// # Errors
///
/// Where it is none of this command, or its body has another size.
pub fn parse<'a>(reply: &Reply<'a>) -> Result<Answer<'a, ()>, Malformed> {
    reply.answer(Command::Flush, RESPONSE_SIZE, RESPONSE_END, |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, emitted, refused, truncations, whole};

    /// Hand-assembled from 2.2.17.
    #[test]
    fn request() {
        let bytes = Message::request(7).u16(24).u16(0).u32(0).put(&[0xFF; 16]).bytes();
        assert!(Request::new(&bytes).unwrap().file_id().unwrap().is_previous());
        truncations(&bytes, |bytes| Request::new(bytes)?.file_id());
    }

    #[test]
    fn call_and_answer() {
        let bytes = emitted(&Flush { file: FileId([5; 16]) });
        assert_eq!(bytes, Message::request(7).u16(24).u16(0).u32(0).put(&[5; 16]).like(&bytes));
        assert_eq!(Request::new(&bytes).unwrap().file_id(), Some(FileId([5; 16])));
        let good = Message::response(7, 0).u16(4).u16(0).bytes();
        assert_eq!(parse(&whole(&good)), Ok(Answer::Done(())));
        refused(&good, |reply| parse(reply).map(Answer::refusal));
    }
}
