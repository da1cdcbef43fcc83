//! CLOSE: a handle is given up.
//!
//! Spec: MS-SMB2 2.2.15, 2.2.16

use super::fields::view;
use super::file_id::FileId;
use super::header;

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 24;
/// Request: FileId, 16 bytes.
pub const FILE_ID: usize = header::LEN + 8;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 60;
/// Response: Flags, u16; 1 says that the attributes that follow are filled in.
pub const RESPONSE_FLAGS: usize = header::LEN + 2;
/// Response: EndofFile, u64.
pub const END_OF_FILE: usize = header::LEN + 48;
/// Flag: attributes are asked for, or given.
pub const FLAG_ATTRIBUTES: u16 = 0x0001;

view! {
    /// Which handle.
    Request, request, Close, REQUEST_SIZE
}
view! {
    /// It is closed.
    Response, response, Close, RESPONSE_SIZE
}

impl Request<'_> {
    /// The handle.
    #[must_use]
    pub fn file_id(&self) -> Option<FileId> {
        self.fields.file_id(FILE_ID)
    }
}

impl Response<'_> {
    /// Length of the file in bytes. None also when the server did not fill it in.
    #[must_use]
    pub fn end_of_file(&self) -> Option<u64> {
        (self.fields.u16(RESPONSE_FLAGS)? & FLAG_ATTRIBUTES != 0).then_some(())?;
        self.fields.u64(END_OF_FILE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, truncations};

    /// Hand-assembled from 2.2.15 and 2.2.16.
    #[test]
    fn request_and_response() {
        let bytes = Message::request(6).u16(24).u16(1).u32(0).put(&[5; 16]).bytes();
        assert_eq!(Request::new(&bytes).unwrap().file_id(), Some(FileId([5; 16])));
        truncations(&bytes, |bytes| Request::new(bytes)?.file_id());

        let response = |flags| Message::response(6, 0).u16(60).u16(flags).u32(0).fill(32).u64(4096).u64(99).u32(0);
        assert_eq!(Response::new(&response(1).bytes()).unwrap().end_of_file(), Some(99));
        assert_eq!(Response::new(&response(0).bytes()).unwrap().end_of_file(), None);
    }
}
