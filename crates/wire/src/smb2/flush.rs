//! FLUSH: what the server caches of a file goes to disk. The response's body says nothing more.
//!
//! Spec: MS-SMB2 2.2.17, 2.2.18

use super::fields::view;
use super::file_id::FileId;
use super::header;

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 24;
/// Request: FileId, 16 bytes.
pub const FILE_ID: usize = header::LEN + 8;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 4;

view! {
    /// Which file.
    Request, request, Flush, REQUEST_SIZE
}

impl Request<'_> {
    /// The handle.
    #[must_use]
    pub fn file_id(&self) -> Option<FileId> {
        self.fields.file_id(FILE_ID)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, truncations};

    /// Hand-assembled from 2.2.17.
    #[test]
    fn request() {
        let bytes = Message::request(7).u16(24).u16(0).u32(0).put(&[0xFF; 16]).bytes();
        assert!(Request::new(&bytes).unwrap().file_id().unwrap().is_previous());
        truncations(&bytes, |bytes| Request::new(bytes)?.file_id());
    }
}
