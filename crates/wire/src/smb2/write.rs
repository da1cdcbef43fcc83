//! WRITE.
//!
//! Spec: MS-SMB2 2.2.21, 2.2.22

use super::fields::view;
use super::file_id::FileId;
use super::header;

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
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 17;
/// Response: Count, u32.
pub const COUNT: usize = header::LEN + 4;

view! {
    /// What to write where.
    Request, request, Write, REQUEST_SIZE
}
view! {
    /// How much was written.
    Response, response, Write, RESPONSE_SIZE
}

impl Request<'_> {
    /// The handle.
    #[must_use]
    pub fn file_id(&self) -> Option<FileId> {
        self.fields.file_id(FILE_ID)
    }

    /// Where in the file, in bytes.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.fields.u64(OFFSET)
    }

    /// How many bytes.
    #[must_use]
    pub fn data_len(&self) -> Option<u32> {
        self.fields.u32(LENGTH)
    }

    /// Where they begin, in bytes from the SMB2 header.
    #[must_use]
    pub fn data_offset(&self) -> Option<u16> {
        self.fields.u16(DATA_OFFSET)
    }
}

impl Response<'_> {
    /// How many bytes were written.
    #[must_use]
    pub fn count(&self) -> Option<u32> {
        self.fields.u32(COUNT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, truncations};

    /// Hand-assembled from 2.2.21; the data itself need not be captured.
    #[test]
    fn request() {
        let bytes = Message::request(9).u16(49).u16(0x70).u32(30).u64(77).put(&[2; 16]).fill(16).bytes();
        let view = Request::new(&bytes).unwrap();
        assert_eq!((view.data_len(), view.data_offset(), view.offset()), (Some(30), Some(0x70), Some(77)));
        assert_eq!(view.file_id(), Some(FileId([2; 16])));
        truncations(&bytes, |bytes| Request::new(bytes)?.file_id());
    }

    /// Hand-assembled from 2.2.22.
    #[test]
    fn response() {
        let bytes = Message::response(9, 0).u16(17).u16(0).u32(30).u32(0).u32(0).bytes();
        assert_eq!(Response::new(&bytes).unwrap().count(), Some(30));
        truncations(&bytes, |bytes| Response::new(bytes)?.count());
    }
}
