//! QUERY_INFO: attributes of a file, its file system, security or quota.
//!
//! Spec: MS-SMB2 2.2.37, 2.2.38

use super::command::Command;
use super::draft::{Call, Draft, TooLong, set};
use super::fields::view;
use super::file_id::FileId;
use super::header;
use super::reply::{Answer, Buffer, Malformed, Reply};

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 41;
/// Request: InfoType, u8.
pub const INFO_TYPE: usize = header::LEN + 2;
/// Request: FileInfoClass, u8.
pub const INFO_CLASS: usize = header::LEN + 3;
/// Request: OutputBufferLength, u32.
pub const REQUEST_OUTPUT_LENGTH: usize = header::LEN + 4;
/// Request: AdditionalInformation, u32.
pub const ADDITIONAL: usize = header::LEN + 16;
/// Request: FileId, 16 bytes.
pub const FILE_ID: usize = header::LEN + 24;
/// Request: end of the fixed part.
pub const REQUEST_END: usize = header::LEN + 40;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 9;
/// Response: OutputBufferOffset, u16.
pub const OUTPUT_OFFSET: usize = header::LEN + 2;
/// Response: OutputBufferLength, u32.
pub const OUTPUT_LENGTH: usize = header::LEN + 4;

/// Response: end of the fixed part.
pub const RESPONSE_END: usize = header::LEN + 8;

view! {
    /// The query.
    Request, request, QueryInfo, REQUEST_SIZE;
    /// Which information, within its type (MS-FSCC 2.4, 2.5).
    info_class: u8 = u8 INFO_CLASS;
    /// The handle.
    file_id: FileId = file_id FILE_ID;
    /// For security: which parts of the descriptor.
    additional: u32 = u32 ADDITIONAL;
    /// The longest answer, in bytes.
    output_len: u32 = u32 REQUEST_OUTPUT_LENGTH;
}

/// What QUERY_INFO and SET_INFO are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InfoType {
    /// The file.
    File,
    /// The file system it is on.
    FileSystem,
    /// Its owner and access list.
    Security,
    /// Quotas.
    Quota,
    /// A number that the specification does not name.
    Unknown(u8),
}

impl InfoType {
    /// From the number on the wire.
    #[must_use]
    pub const fn from_code(code: u8) -> Self {
        match code {
            1 => Self::File,
            2 => Self::FileSystem,
            3 => Self::Security,
            4 => Self::Quota,
            other => Self::Unknown(other),
        }
    }

    /// The number on the wire.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::File => 1,
            Self::FileSystem => 2,
            Self::Security => 3,
            Self::Quota => 4,
            Self::Unknown(code) => code,
        }
    }
}

impl Request<'_> {
    /// File, file system, security or quota.
    #[must_use]
    pub fn info_type(&self) -> Option<InfoType> {
        self.fields.u8(INFO_TYPE).map(InfoType::from_code)
    }
}

/// The call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryInfo {
    /// The handle.
    pub file: FileId,
    /// File, file system or security.
    pub info_type: InfoType,
    /// Which information, see [`information`](super::information).
    pub class: u8,
    /// For security: which parts of the descriptor.
    pub additional: u32,
    /// The longest answer, in bytes.
    pub output_len: u32,
}

impl Call for QueryInfo {
    const COMMAND: Command = Command::QueryInfo;

    fn payload(&self) -> u32 {
        self.output_len
    }

    fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        draft.fixed(REQUEST_SIZE, REQUEST_END);
        let message = draft.message();
        set(message, INFO_TYPE, [self.info_type.code()]);
        set(message, INFO_CLASS, [self.class]);
        set(message, REQUEST_OUTPUT_LENGTH, self.output_len.to_le_bytes());
        set(message, ADDITIONAL, self.additional.to_le_bytes());
        set(message, FILE_ID, self.file.0);
        draft.at_least_a_byte(REQUEST_END);
        Ok(())
    }
}

/// Reads the answer, for [`information`](super::information), which needs the request's class.
///
/// # Errors
/// If a field violates the specification.
#[inline]
pub fn parse<'a>(reply: &Reply<'a>) -> Result<Answer<'a, Buffer<'a>>, Malformed> {
    reply.answer(Command::QueryInfo, RESPONSE_SIZE, RESPONSE_END, |body| {
        body.buffer(OUTPUT_OFFSET, OUTPUT_LENGTH, RESPONSE_END)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, emitted, refused, truncations, whole};

    /// Hand-assembled from 2.2.37.
    #[test]
    fn request() {
        let head = Message::request(16).u16(41).u8(3).u8(0).u32(512).u16(0).u16(0).u32(0).u32(7).u32(0);
        let bytes = head.put(&[1; 16]).bytes();
        let view = Request::new(&bytes).unwrap();
        assert_eq!((view.info_type(), view.info_class()), (Some(InfoType::Security), Some(0)));
        assert_eq!((view.additional(), view.output_len()), (Some(7), Some(512)));
        assert_eq!(view.file_id(), Some(FileId([1; 16])));
        truncations(&bytes, |bytes| Request::new(bytes)?.file_id());
    }

    #[test]
    fn a_call_reads_as_it_was_said() {
        let call = QueryInfo {
            file: FileId([8; 16]),
            info_type: InfoType::Security,
            class: 18,
            additional: 5,
            output_len: 65_537,
        };
        let bytes = emitted(&call);
        let view = Request::new(&bytes).unwrap();
        assert_eq!((view.info_type(), view.info_class()), (Some(InfoType::Security), Some(18)));
        assert_eq!((view.file_id(), view.additional()), (Some(call.file), Some(5)));
        assert_eq!((view.output_len(), header::charge(call.payload())), (Some(65_537), 2));
        let body = Message::request(16).u16(41).u8(3).u8(18).u32(65_537).u64(0).u32(5).u32(0).put(&[8; 16]);
        assert_eq!(bytes, body.u8(0).like(&bytes), "as 2.2.37 lays it out");
    }

    #[test]
    fn an_answer_is_read_strictly() {
        let response = |offset, len| Message::response(16, 0).u16(9).u16(offset).u32(len).put(b"abcd").bytes();
        let good = response(72, 4);
        assert_eq!(parse(&whole(&good)).unwrap().done().unwrap().bytes(), b"abcd");
        refused(&good, |reply| parse(reply).map(Answer::refusal));
        for (offset, len) in [(72, 5), (71, 4), (u16::MAX, u32::MAX)] {
            assert_eq!(parse(&whole(&response(offset, len))).unwrap_err().field, "OutputBuffer");
        }
    }
}
