//! TREE_CONNECT: the client goes to a share.
//!
//! Spec: MS-SMB2 2.2.9, 2.2.10

use super::fields::view;
use super::header;
use crate::text::Utf16Le;

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 9;
/// Request: PathOffset and PathLength, u16 each.
pub const PATH: usize = header::LEN + 4;
/// Request: end of the fixed part.
pub const REQUEST_END: usize = header::LEN + 8;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 16;
/// Response: ShareType, u8.
pub const SHARE_TYPE: usize = header::LEN + 2;
/// Response: ShareFlags, u32.
pub const SHARE_FLAGS: usize = header::LEN + 4;
/// Share flag: everything in this share is encrypted.
pub const SHARE_ENCRYPTS: u32 = 0x0000_8000;

view! {
    /// Where to.
    Request, request, TreeConnect, REQUEST_SIZE
}
view! {
    /// What is there. The header's tree id names it from now on.
    Response, response, TreeConnect, RESPONSE_SIZE
}

/// What a share holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShareType {
    /// Files.
    Disk,
    /// Named pipes (`IPC$`).
    Pipe,
    /// A printer.
    Print,
    /// A number that the specification does not name.
    Unknown(u8),
}

impl<'a> Request<'a> {
    /// `\\server\share`.
    #[must_use]
    pub fn path(&self) -> Option<Utf16Le<'a>> {
        self.fields.text16(PATH, REQUEST_END)
    }
}

impl Response<'_> {
    /// Disk, pipe or printer.
    #[must_use]
    pub fn share_type(&self) -> Option<ShareType> {
        Some(match self.fields.u8(SHARE_TYPE)? {
            1 => ShareType::Disk,
            2 => ShareType::Pipe,
            3 => ShareType::Print,
            other => ShareType::Unknown(other),
        })
    }

    /// SMB2_SHAREFLAG bits.
    #[must_use]
    pub fn share_flags(&self) -> Option<u32> {
        self.fields.u32(SHARE_FLAGS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, truncations};

    /// Hand-assembled from 2.2.9.
    #[test]
    fn request_path() {
        let path = r"\\srv\IPC$";
        let bytes = Message::request(3).u16(9).u16(0).u16(72).u16(20).utf16(path).bytes();
        assert_eq!(Request::new(&bytes).unwrap().path().unwrap(), path);
        truncations(&bytes, |bytes| Request::new(bytes)?.path());
    }

    #[test]
    fn a_path_inside_the_fixed_part_is_none() {
        let bytes = Message::request(3).u16(9).u16(0).u16(64).u16(4).utf16("ab").bytes();
        assert_eq!(Request::new(&bytes).unwrap().path(), None);
    }

    /// Hand-assembled from 2.2.10.
    #[test]
    fn response_share_type() {
        let bytes = Message::response(3, 0).u16(16).u8(2).u8(0).u32(SHARE_ENCRYPTS).u32(0).u32(0x1F_01FF).bytes();
        let view = Response::new(&bytes).unwrap();
        assert_eq!(view.share_type(), Some(ShareType::Pipe));
        assert_eq!(view.share_flags(), Some(SHARE_ENCRYPTS));
        truncations(&bytes, |bytes| Response::new(bytes)?.share_flags());
    }
}
