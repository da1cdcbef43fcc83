//! READ.
//!
//! Spec: MS-SMB2 2.2.19, 2.2.20

use super::fields::view;
use super::file_id::FileId;
use super::header;

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 49;
/// Request: Length, u32.
pub const LENGTH: usize = header::LEN + 4;
/// Request: Offset, u64.
pub const OFFSET: usize = header::LEN + 8;
/// Request: FileId, 16 bytes.
pub const FILE_ID: usize = header::LEN + 16;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 17;
/// Response: DataOffset, u8.
pub const DATA_OFFSET: usize = header::LEN + 2;
/// Response: DataLength, u32.
pub const DATA_LENGTH: usize = header::LEN + 4;

view! {
    /// What to read.
    Request, request, Read, REQUEST_SIZE
}
view! {
    /// What was read; there with `STATUS_BUFFER_OVERFLOW` too.
    Response, response, Read, RESPONSE_SIZE
}

impl Request<'_> {
    /// The handle.
    #[must_use]
    pub fn file_id(&self) -> Option<FileId> {
        self.fields.file_id(FILE_ID)
    }

    /// From where in the file, in bytes.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.fields.u64(OFFSET)
    }

    /// How many bytes at most.
    #[must_use]
    pub fn length(&self) -> Option<u32> {
        self.fields.u32(LENGTH)
    }
}

impl Response<'_> {
    /// How many bytes were read.
    #[must_use]
    pub fn data_len(&self) -> Option<u32> {
        self.fields.u32(DATA_LENGTH)
    }

    /// Where they begin, in bytes from the SMB2 header.
    #[must_use]
    pub fn data_offset(&self) -> Option<u8> {
        self.fields.u8(DATA_OFFSET)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::status::STATUS_END_OF_FILE;
    use crate::smb2::testing::{Message, truncations};

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
