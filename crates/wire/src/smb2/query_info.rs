//! QUERY_INFO: attributes of a file, its file system, security or quota.
//!
//! Spec: MS-SMB2 2.2.37, 2.2.38

use super::fields::view;
use super::file_id::FileId;
use super::header;

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
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 9;
/// Response: OutputBufferLength, u32.
pub const OUTPUT_LENGTH: usize = header::LEN + 4;

view! {
    /// What is asked.
    Request, request, QueryInfo, REQUEST_SIZE
}
view! {
    /// The answer; there with `STATUS_BUFFER_OVERFLOW` too.
    Response, response, QueryInfo, RESPONSE_SIZE
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
}

impl Request<'_> {
    /// File, file system, security or quota.
    #[must_use]
    pub fn info_type(&self) -> Option<InfoType> {
        self.fields.u8(INFO_TYPE).map(InfoType::from_code)
    }

    /// Which information, within its type (MS-FSCC 2.4, 2.5).
    #[must_use]
    pub fn info_class(&self) -> Option<u8> {
        self.fields.u8(INFO_CLASS)
    }

    /// The handle.
    #[must_use]
    pub fn file_id(&self) -> Option<FileId> {
        self.fields.file_id(FILE_ID)
    }

    /// For security: which parts of the descriptor.
    #[must_use]
    pub fn additional(&self) -> Option<u32> {
        self.fields.u32(ADDITIONAL)
    }

    /// The longest answer, in bytes.
    #[must_use]
    pub fn output_len(&self) -> Option<u32> {
        self.fields.u32(REQUEST_OUTPUT_LENGTH)
    }
}

impl Response<'_> {
    /// Length of the answer in bytes.
    #[must_use]
    pub fn output_len(&self) -> Option<u32> {
        self.fields.u32(OUTPUT_LENGTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::status::{STATUS_BUFFER_OVERFLOW, STATUS_BUFFER_TOO_SMALL};
    use crate::smb2::testing::{Message, truncations};

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

    /// Hand-assembled from 2.2.38.
    #[test]
    fn response() {
        let response = |status| Message::response(16, status).u16(9).u16(0x48).u32(40).bytes();
        assert_eq!(Response::new(&response(STATUS_BUFFER_OVERFLOW)).unwrap().output_len(), Some(40));
        assert!(Response::new(&response(STATUS_BUFFER_TOO_SMALL)).is_none());
    }
}
