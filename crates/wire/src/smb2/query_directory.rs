//! QUERY_DIRECTORY: a directory is listed.
//!
//! Spec: MS-SMB2 2.2.33, 2.2.34

use super::fields::view;
use super::file_id::FileId;
use super::header;
use crate::text::Utf16Le;

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 33;
/// Request: FileInformationClass, u8.
pub const INFO_CLASS: usize = header::LEN + 2;
/// Request: Flags, u8.
pub const FLAGS: usize = header::LEN + 3;
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
/// SMB2_REOPEN: from the beginning, with a new pattern.
pub const FLAG_REOPEN: u8 = 0x10;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 9;
/// Response: OutputBufferLength, u32.
pub const OUTPUT_LENGTH: usize = header::LEN + 4;

view! {
    /// What to list.
    Request, request, QueryDirectory, REQUEST_SIZE
}
view! {
    /// The entries.
    Response, response, QueryDirectory, RESPONSE_SIZE
}

impl<'a> Request<'a> {
    /// The directory's handle.
    #[must_use]
    pub fn file_id(&self) -> Option<FileId> {
        self.fields.file_id(FILE_ID)
    }

    /// What is asked of each entry (MS-FSCC 2.4).
    #[must_use]
    pub fn info_class(&self) -> Option<u8> {
        self.fields.u8(INFO_CLASS)
    }

    /// Restart, single entry, index, reopen.
    #[must_use]
    pub fn flags(&self) -> Option<u8> {
        self.fields.u8(FLAGS)
    }

    /// Which names, with wildcards; empty to go on with the pattern before.
    #[must_use]
    pub fn pattern(&self) -> Option<Utf16Le<'a>> {
        self.fields.text16(PATTERN, REQUEST_END)
    }

    /// The longest answer, in bytes.
    #[must_use]
    pub fn output_len(&self) -> Option<u32> {
        self.fields.u32(REQUEST_OUTPUT_LENGTH)
    }
}

impl Response<'_> {
    /// Length of the entries in bytes.
    #[must_use]
    pub fn output_len(&self) -> Option<u32> {
        self.fields.u32(OUTPUT_LENGTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::status::{STATUS_NO_MORE_FILES, STATUS_PENDING};
    use crate::smb2::testing::{Message, truncations};

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

    /// Hand-assembled from 2.2.34. An ERROR body has the same size and must not read as an empty listing.
    #[test]
    fn response_and_errors_that_look_like_it() {
        let response = |status| Message::response(14, status).u16(9).u16(0x48).u32(200).bytes();
        assert_eq!(Response::new(&response(0)).unwrap().output_len(), Some(200));
        assert!(Response::new(&response(STATUS_NO_MORE_FILES)).is_none());
        assert!(Response::new(&response(STATUS_PENDING)).is_none());
    }
}
