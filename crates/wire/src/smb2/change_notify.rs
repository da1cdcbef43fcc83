//! CHANGE_NOTIFY: the client waits for a change in a directory. A held request: its time is no response time.
//!
//! Spec: MS-SMB2 2.2.35, 2.2.36

use super::fields::view;
use super::file_id::FileId;
use super::header;

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 32;
/// Request: Flags, u16.
pub const FLAGS: usize = header::LEN + 2;
/// Request: FileId, 16 bytes.
pub const FILE_ID: usize = header::LEN + 8;
/// Request: CompletionFilter, u32.
pub const FILTER: usize = header::LEN + 24;
/// SMB2_WATCH_TREE: everything below it too.
pub const FLAG_WATCH_TREE: u16 = 0x0001;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 9;
/// Response: OutputBufferLength, u32.
pub const OUTPUT_LENGTH: usize = header::LEN + 4;

view! {
    /// What to watch.
    Request, request, ChangeNotify, REQUEST_SIZE
}
view! {
    /// What changed.
    Response, response, ChangeNotify, RESPONSE_SIZE
}

impl Request<'_> {
    /// The directory's handle.
    #[must_use]
    pub fn file_id(&self) -> Option<FileId> {
        self.fields.file_id(FILE_ID)
    }

    /// Watches everything below it too.
    #[must_use]
    pub fn watches_tree(&self) -> Option<bool> {
        Some(self.fields.u16(FLAGS)? & FLAG_WATCH_TREE != 0)
    }

    /// Which changes count, FILE_NOTIFY_CHANGE bits.
    #[must_use]
    pub fn filter(&self) -> Option<u32> {
        self.fields.u32(FILTER)
    }
}

impl Response<'_> {
    /// Length of the changes in bytes; 0 with `STATUS_NOTIFY_ENUM_DIR`: too many to tell.
    #[must_use]
    pub fn output_len(&self) -> Option<u32> {
        self.fields.u32(OUTPUT_LENGTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::status::{STATUS_CANCELLED, STATUS_NOTIFY_ENUM_DIR};
    use crate::smb2::testing::{Message, truncations};

    /// Hand-assembled from 2.2.35.
    #[test]
    fn request() {
        let bytes = Message::request(15).u16(32).u16(1).u32(32).put(&[9; 16]).u32(0x17).u32(0).bytes();
        let view = Request::new(&bytes).unwrap();
        assert_eq!((view.file_id(), view.watches_tree()), (Some(FileId([9; 16])), Some(true)));
        assert_eq!(view.filter(), Some(0x17));
        truncations(&bytes, |bytes| Request::new(bytes)?.filter());
    }

    /// Hand-assembled from 2.2.36.
    #[test]
    fn response() {
        let response = |status, len| Message::response(15, status).u16(9).u16(0x48).u32(len).bytes();
        assert_eq!(Response::new(&response(0, 24)).unwrap().output_len(), Some(24));
        assert_eq!(Response::new(&response(STATUS_NOTIFY_ENUM_DIR, 0)).unwrap().output_len(), Some(0));
        assert!(Response::new(&response(STATUS_CANCELLED, 0)).is_none());
    }
}
