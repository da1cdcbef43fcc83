//! CHANGE_NOTIFY: the client waits for a change in a directory. A held request: its time is no response time.
//!
//! Spec: MS-SMB2 2.2.35, 2.2.36

use super::command::Command;
use super::draft::{Call, Draft, TooLong};
use super::fields::view;
use super::file_id::FileId;
use super::header;
use super::reply::{Answer, Body, Malformed, Reply, Why};
use crate::text::Utf16Le;

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 32;
/// Request: Flags, u16.
pub const FLAGS: usize = header::LEN + 2;
/// Request: OutputBufferLength, u32.
pub const REQUEST_OUTPUT_LENGTH: usize = header::LEN + 4;
/// Request: FileId, 16 bytes.
pub const FILE_ID: usize = header::LEN + 8;
/// Request: CompletionFilter, u32.
pub const FILTER: usize = header::LEN + 24;
/// Request: end.
pub const REQUEST_END: usize = header::LEN + 32;
/// SMB2_WATCH_TREE: everything below it too.
pub const FLAG_WATCH_TREE: u16 = 0x0001;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 9;
/// Response: OutputBufferOffset, u16.
pub const OUTPUT_OFFSET: usize = header::LEN + 2;
/// Response: OutputBufferLength, u32.
pub const OUTPUT_LENGTH: usize = header::LEN + 4;

/// Response: end of the fixed part.
pub const RESPONSE_END: usize = header::LEN + 8;

view! {
    /// What to watch.
    Request, request, ChangeNotify, REQUEST_SIZE;
    /// The directory's handle.
    file_id: FileId = file_id FILE_ID;
    /// Which changes count, FILE_NOTIFY_CHANGE bits.
    filter: u32 = u32 FILTER;
}

/// The call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeNotify {
    /// The directory's handle.
    pub directory: FileId,
    /// Everything below it too.
    pub tree: bool,
    /// Which changes count, FILE_NOTIFY_CHANGE bits.
    pub filter: u32,
    /// The longest answer, in bytes.
    pub output_len: u32,
}

impl Call for ChangeNotify {
    const COMMAND: Command = Command::ChangeNotify;

    fn payload(&self) -> u32 {
        self.output_len
    }

    fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        draft.fixed(REQUEST_SIZE, REQUEST_END);
        draft.u16(FLAGS, if self.tree { FLAG_WATCH_TREE } else { 0 });
        draft.u32(REQUEST_OUTPUT_LENGTH, self.output_len);
        draft.array(FILE_ID, self.directory.0);
        draft.u32(FILTER, self.filter);
        Ok(())
    }
}

/// Reads the answer. An answer without changes and with `STATUS_NOTIFY_ENUM_DIR` means that there were too many to list.
///
/// # Errors
/// If a field violates the specification.
pub fn parse<'a>(reply: &Reply<'a>) -> Result<Answer<'a, Changes<'a>>, Malformed> {
    reply.answer(Command::ChangeNotify, RESPONSE_SIZE, RESPONSE_END, |body| {
        body.buffer(OUTPUT_OFFSET, OUTPUT_LENGTH, RESPONSE_END).map(|buffer| Changes(buffer.0))
    })
}

/// The changes, oldest first.
#[derive(Clone, Debug)]
pub struct Changes<'a>(Body<'a>);

/// FILE_NOTIFY_INFORMATION. Spec: MS-FSCC 2.7.1
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// FILE_ACTION number: 1 added, 2 removed, 3 modified, 4 and 5 renamed from and to.
    pub action: u32,
    /// The name below the watched directory.
    pub name: Utf16Le<'a>,
}

/// Where FileName begins, behind NextEntryOffset, Action and FileNameLength.
const CHANGE_NAME: usize = 12;

impl<'a> Changes<'a> {
    fn take(&mut self) -> Result<Change<'a>, Malformed> {
        let body = self.0.take();
        let next = body.u32(0, "NextEntryOffset")?;
        let one = if next == 0 {
            body
        } else {
            if (next as usize) < CHANGE_NAME {
                return Err(body.malformed("NextEntryOffset", Why::Value(next.into())));
            }
            let (one, more) = body.split(next, "NextEntryOffset")?;
            self.0 = more;
            one
        };
        let name = one.variable(CHANGE_NAME as u32, one.u32(8, "FileNameLength")?, CHANGE_NAME, "FileName")?;
        Ok(Change { action: one.u32(4, "Action")?, name: Utf16Le(name) })
    }
}

impl<'a> Iterator for Changes<'a> {
    type Item = Result<Change<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.bytes().is_empty() { None } else { Some(self.take()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::status::STATUS_NOTIFY_ENUM_DIR;
    use crate::smb2::testing::{Message, emitted, refused, truncations, whole};

    /// Hand-assembled from 2.2.35.
    #[test]
    fn request() {
        let bytes = Message::request(15).u16(32).u16(1).u32(32).put(&[9; 16]).u32(0x17).u32(0).bytes();
        let view = Request::new(&bytes).unwrap();
        assert_eq!((view.file_id(), view.filter()), (Some(FileId([9; 16])), Some(0x17)));
        truncations(&bytes, |bytes| Request::new(bytes)?.filter());
    }

    #[test]
    fn a_call_reads_as_it_was_said() {
        let call = ChangeNotify { directory: FileId([9; 16]), tree: true, filter: 0x17, output_len: 4096 };
        let bytes = emitted(&call);
        let view = Request::new(&bytes).unwrap();
        assert_eq!((view.file_id(), view.filter()), (Some(call.directory), Some(0x17)));
        let body = Message::request(15).u16(32).u16(1).u32(4096).put(&[9; 16]).u32(0x17).u32(0);
        assert_eq!(bytes, body.like(&bytes), "as 2.2.35 lays it out");
    }

    /// Hand-assembled from 2.2.36 and MS-FSCC 2.7.1.
    #[test]
    fn changes_are_read_strictly() {
        let response = |next, len| {
            let head = Message::response(15, 0).u16(9).u16(0x48).u32(16 + 18).u32(next).u32(4).u32(len).utf16("ab");
            head.u32(0).u32(5).u32(6).utf16("cde").bytes()
        };
        let read = |bytes: &[u8]| {
            parse(&whole(bytes)).unwrap().done().unwrap().collect::<Result<Vec<_>, _>>().map(|all| {
                all.iter().map(|change| (change.action, change.name.chars().collect::<String>())).collect::<Vec<_>>()
            })
        };
        let good = response(16, 4);
        assert_eq!(read(&good), Ok(vec![(4, "ab".to_owned()), (5, "cde".to_owned())]));
        refused(&good, |reply| parse(reply).map(Answer::refusal));
        assert_eq!(read(&response(16, 6)).unwrap_err().field, "FileName");
        assert_eq!(read(&response(11, 4)).unwrap_err().field, "NextEntryOffset");
        assert_eq!(read(&response(99, 4)).unwrap_err().field, "NextEntryOffset");
        let many = Message::response(15, STATUS_NOTIFY_ENUM_DIR).u16(9).u16(0).u32(0).bytes();
        assert_eq!(read(&many), Ok(vec![]));
    }
}
