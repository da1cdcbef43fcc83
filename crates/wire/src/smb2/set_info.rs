//! SET_INFO: a file's attributes change: times, length, name, deletion. The response's body says nothing more.
//!
//! Spec: MS-SMB2 2.2.39, 2.2.40

use super::fields::{to_len, view};
use super::file_id::FileId;
use super::header;
pub use super::query_info::InfoType;
use crate::text::Utf16Le;

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 33;
/// Request: InfoType, u8.
pub const INFO_TYPE: usize = header::LEN + 2;
/// Request: FileInfoClass, u8.
pub const INFO_CLASS: usize = header::LEN + 3;
/// Request: BufferLength, u32.
pub const BUFFER_LENGTH: usize = header::LEN + 4;
/// Request: BufferOffset, u16.
pub const BUFFER_OFFSET: usize = header::LEN + 8;
/// Request: FileId, 16 bytes.
pub const FILE_ID: usize = header::LEN + 16;
/// Request: end of the fixed part.
pub const REQUEST_END: usize = header::LEN + 32;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 2;

/// FileRenameInformation.
pub const CLASS_RENAME: u8 = 10;
/// FileLinkInformation: laid out alike.
pub const CLASS_LINK: u8 = 11;
/// FileDispositionInformation: delete on close, or not.
pub const CLASS_DISPOSITION: u8 = 13;
/// FileEndOfFileInformation: truncate or extend.
pub const CLASS_END_OF_FILE: u8 = 20;
/// FileNameLength, u32, within rename and link information (MS-FSCC 2.4.42.2, 2.4.28.2).
pub const RENAME_NAME_LENGTH: usize = 16;
/// FileName within rename and link information.
pub const RENAME_NAME: usize = 20;

view! {
    /// What to change.
    Request, request, SetInfo, REQUEST_SIZE
}

impl<'a> Request<'a> {
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

    /// Length of the new values in bytes.
    #[must_use]
    pub fn buffer_len(&self) -> Option<u32> {
        self.fields.u32(BUFFER_LENGTH)
    }

    /// A rename's or link's new name, from the share's root. None for every other class.
    #[must_use]
    pub fn new_name(&self) -> Option<Utf16Le<'a>> {
        let names = matches!(self.info_class()?, CLASS_RENAME | CLASS_LINK);
        (names && self.info_type()? == InfoType::File).then_some(())?;
        let (offset, buffer_len) = self.buffer()?;
        let len = to_len(self.fields.u32(offset.checked_add(RENAME_NAME_LENGTH)?)?)?;
        (RENAME_NAME.checked_add(len)? <= buffer_len).then_some(())?;
        self.fields.variable(offset.checked_add(RENAME_NAME)?, len, REQUEST_END).map(Utf16Le)
    }

    /// Whether the file is to be deleted on close. None for every other class.
    #[must_use]
    pub fn deletes(&self) -> Option<bool> {
        (self.info_class()? == CLASS_DISPOSITION && self.info_type()? == InfoType::File).then_some(())?;
        let (offset, len) = self.buffer()?;
        (len >= 1).then_some(())?;
        Some(self.fields.u8(offset)? != 0)
    }

    /// Offset and length of the new values; they lie behind the fixed part.
    fn buffer(&self) -> Option<(usize, usize)> {
        let offset = usize::from(self.fields.u16(BUFFER_OFFSET)?);
        (offset >= REQUEST_END).then_some((offset, to_len(self.buffer_len()?)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, truncations};
    use proptest::prelude::*;

    /// Hand-assembled from 2.2.39.
    fn request(info_type: u8, class: u8, len: u32) -> Message {
        let head = Message::request(17).u16(33).u8(info_type).u8(class).u32(len).u16(0x60).u16(0).u32(0);
        head.put(&[2; 16])
    }

    #[test]
    fn rename_has_the_new_name() {
        // MS-FSCC 2.4.42.2: ReplaceIfExists, 7 reserved, RootDirectory, FileNameLength, FileName.
        let bytes = request(1, CLASS_RENAME, 34).u8(1).fill(7).u64(0).u32(14).utf16("dir\\new").bytes();
        let view = Request::new(&bytes).unwrap();
        assert_eq!(view.new_name().unwrap(), "dir\\new");
        assert_eq!((view.file_id(), view.buffer_len()), (Some(FileId([2; 16])), Some(34)));
        assert_eq!(view.deletes(), None);
        truncations(&bytes, |bytes| Request::new(bytes)?.new_name());
    }

    #[test]
    fn a_name_longer_than_its_buffer_is_none() {
        let bytes = request(1, CLASS_RENAME, 24).u8(1).fill(7).u64(0).u32(14).utf16("dir\\new").bytes();
        assert_eq!(Request::new(&bytes).unwrap().new_name(), None);
    }

    #[test]
    fn disposition_deletes_or_not() {
        for (byte, deletes) in [(1, true), (0, false)] {
            let bytes = request(1, CLASS_DISPOSITION, 1).u8(byte).bytes();
            assert_eq!(Request::new(&bytes).unwrap().deletes(), Some(deletes));
        }
        // Class 13 of the file system is something else.
        assert_eq!(Request::new(&request(2, CLASS_DISPOSITION, 1).u8(1).bytes()).unwrap().deletes(), None);
    }

    proptest! {
        #[test]
        fn any_body_reads(class in 9..14u8, rest: Vec<u8>) {
            let bytes = Message::request(17).u16(33).u8(1).u8(class).put(&rest).bytes();
            let view = Request::new(&bytes).unwrap();
            prop_assert!(view.new_name().is_none_or(|name| name.0.len() < rest.len()));
            let _ = (view.deletes(), view.file_id());
        }
    }
}
