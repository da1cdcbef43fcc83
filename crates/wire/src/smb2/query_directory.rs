//! QUERY_DIRECTORY: a directory is listed.
//!
//! Spec: MS-SMB2 2.2.33, 2.2.34

mod entries;

pub use entries::{Class, Entries, Entry};

use super::command::Command;
use super::draft::{Call, Draft, TooLong};
use super::fields::view;
use super::file_id::FileId;
use super::header;
use super::reply::{Answer, Buffer, Malformed, Reply};
use crate::text::Utf16Le;

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 33;
/// Request: FileInformationClass, u8.
pub const INFO_CLASS: usize = header::LEN + 2;
/// Request: Flags, u8.
pub const FLAGS: usize = header::LEN + 3;
/// Request: FileIndex, u32.
pub const FILE_INDEX: usize = header::LEN + 4;
/// Request: FileId, 16 bytes.
pub const FILE_ID: usize = header::LEN + 8;
/// Request: FileNameOffset and FileNameLength, u16 each.
pub const PATTERN: usize = header::LEN + 24;
/// Request: OutputBufferLength, u32.
pub const REQUEST_OUTPUT_LENGTH: usize = header::LEN + 28;
/// Request: end of the fixed part.
pub const REQUEST_END: usize = header::LEN + 32;
/// SMB2_RESTART_SCANS: from the beginning.
pub const FLAG_RESTART: u8 = 0x01;
/// SMB2_REOPEN: from the beginning, perhaps with another pattern.
pub const FLAG_REOPEN: u8 = 0x10;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 9;
/// Response: OutputBufferOffset, u16.
pub const OUTPUT_OFFSET: usize = header::LEN + 2;
/// Response: OutputBufferLength, u32.
pub const OUTPUT_LENGTH: usize = header::LEN + 4;

/// Response: end of the fixed part.
pub const RESPONSE_END: usize = header::LEN + 8;

view! {
    /// What to list.
    Request, request, QueryDirectory, REQUEST_SIZE;
    /// The directory's handle.
    file_id: FileId = file_id FILE_ID;
    /// The requested information about each entry (MS-FSCC 2.4).
    info_class: u8 = u8 INFO_CLASS;
    /// Restart, single entry, index, reopen.
    flags: u8 = u8 FLAGS;
    /// The longest answer, in bytes.
    output_len: u32 = u32 REQUEST_OUTPUT_LENGTH;
}

impl<'a> Request<'a> {
    /// Which names, with wildcards; empty to go on with the pattern before.
    #[must_use]
    pub fn pattern(&self) -> Option<Utf16Le<'a>> {
        self.fields.text16(PATTERN, REQUEST_END)
    }
}

/// The call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryDirectory<'a> {
    /// The directory's handle.
    pub directory: FileId,
    /// The requested information about each entry.
    pub class: Class,
    /// See the `FLAG_` constants.
    pub flags: u8,
    /// With SMB2_INDEX_SPECIFIED, where to go on.
    pub index: u32,
    /// Which names, with wildcards; empty to go on with the pattern before.
    pub pattern: &'a str,
    /// The longest answer, in bytes.
    pub output_len: u32,
}

impl Call for QueryDirectory<'_> {
    const COMMAND: Command = Command::QueryDirectory;

    fn payload(&self) -> u32 {
        self.output_len
    }

    fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        draft.fixed(REQUEST_SIZE, REQUEST_END);
        draft.u8(INFO_CLASS, self.class.code());
        draft.u8(FLAGS, self.flags);
        draft.u32(FILE_INDEX, self.index);
        draft.array(FILE_ID, self.directory.0);
        draft.u32(REQUEST_OUTPUT_LENGTH, self.output_len);
        draft.variable16(PATTERN, "FileName", |draft| draft.text(self.pattern))?;
        draft.at_least_a_byte(REQUEST_END);
        Ok(())
    }
}

/// Reads the answer, for [`Entries`]. The end of a directory is an error status, `STATUS_NO_MORE_FILES`.
///
/// # Errors
/// If a field violates the specification.
#[inline]
pub fn parse<'a>(reply: &Reply<'a>) -> Result<Answer<'a, Buffer<'a>>, Malformed> {
    reply.answer(Command::QueryDirectory, RESPONSE_SIZE, RESPONSE_END, |body| {
        body.buffer(OUTPUT_OFFSET, OUTPUT_LENGTH, RESPONSE_END)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::status::STATUS_NO_MORE_FILES;
    use crate::smb2::testing::{Message, emitted, refused, truncations, whole};

    /// Hand-assembled from 2.2.33.
    #[test]
    fn request() {
        let head = Message::request(14).u16(33).u8(0x25).u8(FLAG_RESTART).u32(0).put(&[8; 16]);
        let bytes = head.u16(0x60).u16(10).u32(0x1_0000).utf16("*.txt").bytes();
        let view = Request::new(&bytes).unwrap();
        assert_eq!((view.info_class(), view.flags()), (Some(0x25), Some(FLAG_RESTART)));
        assert_eq!((view.file_id(), view.output_len()), (Some(FileId([8; 16])), Some(0x1_0000)));
        assert_eq!(view.pattern().unwrap(), "*.txt");
        truncations(&bytes, |bytes| Request::new(bytes)?.pattern());
    }

    #[test]
    fn a_call_reads_as_it_was_said() {
        let call = QueryDirectory {
            directory: FileId([8; 16]),
            class: Class::IdBothDirectory,
            flags: FLAG_RESTART,
            index: 9,
            pattern: "*.txt",
            output_len: 0x1_0000,
        };
        let bytes = emitted(&call);
        let view = Request::new(&bytes).unwrap();
        assert_eq!((view.info_class(), view.flags()), (Some(37), Some(FLAG_RESTART)));
        assert_eq!((view.file_id(), view.output_len()), (Some(call.directory), Some(0x1_0000)));
        assert_eq!(view.pattern().unwrap(), "*.txt");
        let head =
            Message::request(14).u16(33).u8(37).u8(FLAG_RESTART).u32(9).put(&[8; 16]).u16(0x60).u16(10).u32(0x1_0000);
        assert_eq!(bytes, head.utf16("*.txt").like(&bytes), "as 2.2.33 lays it out");
        let again = emitted(&QueryDirectory { pattern: "", ..call });
        assert_eq!(again.len(), REQUEST_END + 1, "StructureSize 33 counts a byte");
    }

    #[test]
    fn an_answer_is_read_strictly() {
        let good = Message::response(14, 0).u16(9).u16(72).u32(4).put(b"abcd").bytes();
        assert_eq!(parse(&whole(&good)).unwrap().done().unwrap().bytes(), b"abcd");
        refused(&good, |reply| parse(reply).map(Answer::refusal));
        let end = Message::response(14, STATUS_NO_MORE_FILES).u16(9).u16(0).u32(0).u8(0).bytes();
        assert_eq!(parse(&whole(&end)).unwrap().refusal().unwrap().status, STATUS_NO_MORE_FILES);
    }
}
