//! SET_INFO: a file's attributes change: times, length, name, deletion. The response's body says nothing more.
//!
//! Spec: MS-SMB2 2.2.39, 2.2.40

use super::command::Command;
use super::draft::{Call, Draft, TooLong, fit32};
use super::fields::{to_len, view};
use super::file_id::FileId;
use super::header;
use super::information::{CLASS_BASIC, FileBasic};
pub use super::query_info::InfoType;
use super::reply::{Answer, Malformed, Reply};
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
/// Response: end.
pub const RESPONSE_END: usize = header::LEN + 2;
/// Request: AdditionalInformation, u32.
pub const ADDITIONAL: usize = header::LEN + 12;

/// FileRenameInformation.
pub const CLASS_RENAME: u8 = 10;
/// FileLinkInformation: laid out alike.
pub const CLASS_LINK: u8 = 11;
/// FileDispositionInformation: delete on close, or not.
pub const CLASS_DISPOSITION: u8 = 13;
/// FileAllocationInformation: reserves a number of bytes.
pub const CLASS_ALLOCATION: u8 = 19;
/// FileEndOfFileInformation: truncate or extend.
pub const CLASS_END_OF_FILE: u8 = 20;
/// FileNameLength, u32, within rename and link information (MS-FSCC 2.4.42.2, 2.4.28.2).
pub const RENAME_NAME_LENGTH: usize = 16;
/// FileName within rename and link information.
pub const RENAME_NAME: usize = 20;

view! {
    /// What to change.
    Request, request, SetInfo, REQUEST_SIZE;
    /// Which information, within its type (MS-FSCC 2.4, 2.5).
    info_class: u8 = u8 INFO_CLASS;
    /// The handle.
    file_id: FileId = file_id FILE_ID;
    /// Length of the new values in bytes.
    buffer_len: u32 = u32 BUFFER_LENGTH;
}

impl<'a> Request<'a> {
    /// File, file system, security or quota.
    #[must_use]
    pub fn info_type(&self) -> Option<InfoType> {
        self.fields.u8(INFO_TYPE).map(InfoType::from_code)
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

/// The call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetInfo<'a> {
    /// The handle.
    pub file: FileId,
    /// The change.
    pub change: Change<'a>,
}

/// What SET_INFO changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// FileEndOfFileInformation: its length in bytes. Spec: MS-FSCC 2.4.14
    EndOfFile(u64),
    /// FileAllocationInformation: reserves this number of bytes. Spec: MS-FSCC 2.4.4
    Allocation(u64),
    /// FileBasicInformation: times (0 keeps a time) and attributes (0 keeps them). Spec: MS-FSCC 2.4.7
    Basic(FileBasic),
    /// FileDispositionInformation: deleted when its last handle is closed, or not. Spec: MS-FSCC 2.4.11
    Disposition {
        /// Delete it.
        delete: bool,
    },
    /// FileRenameInformation. Spec: MS-FSCC 2.4.42.2
    Rename {
        /// From the share's root, parts separated by `/` or `\`, none leading.
        name: &'a str,
        /// Even where another file has that name.
        replace: bool,
    },
    /// FileLinkInformation: one name more. Spec: MS-FSCC 2.4.28.2
    Link {
        /// As in a rename.
        name: &'a str,
        /// Even where another file has that name.
        replace: bool,
    },
    /// Any other.
    Other {
        /// File, file system, security or quota.
        info_type: InfoType,
        /// Which information.
        class: u8,
        /// For security: which parts of the descriptor.
        additional: u32,
        /// The new values.
        bytes: &'a [u8],
    },
}

/// Bytes of a rename's or link's information, at least: Windows counts the padding of the structure.
const RENAME_LEN: usize = 24;

impl Change<'_> {
    const fn class(&self) -> u8 {
        match self {
            Self::EndOfFile(_) => CLASS_END_OF_FILE,
            Self::Allocation(_) => CLASS_ALLOCATION,
            Self::Basic(_) => CLASS_BASIC,
            Self::Disposition { .. } => CLASS_DISPOSITION,
            Self::Rename { .. } => CLASS_RENAME,
            Self::Link { .. } => CLASS_LINK,
            Self::Other { class, .. } => *class,
        }
    }

    fn put(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        match self {
            Self::EndOfFile(bytes) | Self::Allocation(bytes) => draft.put(&bytes.to_le_bytes()),
            Self::Basic(basic) => basic.put(draft),
            Self::Disposition { delete } => draft.put(&[u8::from(*delete)]),
            Self::Rename { name, replace } | Self::Link { name, replace } => put_name(draft, name, *replace)?,
            Self::Other { bytes, .. } => draft.put(bytes),
        }
        Ok(())
    }
}

/// ReplaceIfExists, reserved, RootDirectory (0: the name counts from the share's root), FileNameLength, FileName.
fn put_name(draft: &mut Draft<'_>, name: &str, replace: bool) -> Result<(), TooLong> {
    let start = draft.end();
    draft.put(&[0; RENAME_NAME]);
    draft.u8(start, replace.into());
    draft.path(name);
    let length = draft.end() - start - RENAME_NAME;
    draft.u32(start + RENAME_NAME_LENGTH, fit32("FileNameLength", length)?);
    draft.put(&[0; RENAME_LEN][..RENAME_LEN.saturating_sub(RENAME_NAME + length)]);
    Ok(())
}

impl Call for SetInfo<'_> {
    const COMMAND: Command = Command::SetInfo;

    fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        draft.fixed(REQUEST_SIZE, REQUEST_END);
        let (info_type, additional) = match self.change {
            Change::Other { info_type, additional, .. } => (info_type, additional),
            _ => (InfoType::File, 0),
        };
        draft.u8(INFO_TYPE, info_type.code());
        draft.u8(INFO_CLASS, self.change.class());
        draft.u16(BUFFER_OFFSET, REQUEST_END as u16);
        draft.u32(ADDITIONAL, additional);
        draft.array(FILE_ID, self.file.0);
        self.change.put(draft)?;
        draft.u32(BUFFER_LENGTH, fit32("BufferLength", draft.end() - REQUEST_END)?);
        draft.at_least_a_byte(REQUEST_END);
        Ok(())
    }
}

/// Reads the answer.
///
/// # Errors
///
/// Where it is none of this command, or its body has another size.
pub fn parse<'a>(reply: &Reply<'a>) -> Result<Answer<'a, ()>, Malformed> {
    reply.answer(Command::SetInfo, RESPONSE_SIZE, RESPONSE_END, |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::attributes::Times;
    use crate::smb2::testing::{Message, emitted, refused, truncations, whole};
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
        // Class 13 of file systems has another meaning.
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

    fn said(change: Change<'_>) -> Vec<u8> {
        emitted(&SetInfo { file: FileId([2; 16]), change })
    }

    #[test]
    fn names_read_as_they_were_said() {
        for (name, read, len) in [("dir/new", r"dir\new", 34), ("x", "x", 24)] {
            let (rename, link) = (Change::Rename { name, replace: true }, Change::Link { name, replace: true });
            for (change, class) in [(rename, CLASS_RENAME), (link, CLASS_LINK)] {
                let bytes = said(change);
                let view = Request::new(&bytes).unwrap();
                assert_eq!((view.info_type(), view.info_class()), (Some(InfoType::File), Some(class)));
                assert_eq!((view.new_name().unwrap() == read, view.buffer_len()), (true, Some(len)));
                assert_eq!((view.file_id(), bytes.len()), (Some(FileId([2; 16])), REQUEST_END + len as usize));
                assert_eq!(bytes[REQUEST_END], 1, "ReplaceIfExists");
            }
        }
    }

    #[test]
    fn values_are_where_the_specification_has_them() {
        let times = Times { creation: 1, last_access: 2, last_write: 3, change: 4 };
        let basic = FileBasic { times, attributes: 0x20 };
        let descriptor = Change::Other { info_type: InfoType::Security, class: 0, additional: 4, bytes: b"dacl" };
        for (change, info_type, class, expected) in [
            (Change::EndOfFile(1 << 33), 1, CLASS_END_OF_FILE, Message::structure().u64(1 << 33)),
            (Change::Allocation(4096), 1, CLASS_ALLOCATION, Message::structure().u64(4096)),
            (Change::Disposition { delete: true }, 1, CLASS_DISPOSITION, Message::structure().u8(1)),
            (Change::Basic(basic), 1, 4, Message::structure().u64(1).u64(2).u64(3).u64(4).u32(0x20).u32(0)),
            (descriptor, 3, 0, Message::structure().put(b"dacl")),
        ] {
            let (bytes, expected) = (said(change), expected.bytes());
            let fixed =
                Message::request(17).u16(33).u8(info_type).u8(class).u32(expected.len() as u32).u16(0x60).u16(0);
            let additional = if info_type == 3 { 4 } else { 0 };
            let whole = fixed.u32(additional).put(&[2; 16]).put(&expected).like(&bytes);
            assert_eq!(bytes, whole, "{change:?}");
        }
        assert_eq!(Request::new(&said(Change::Disposition { delete: false })).unwrap().deletes(), Some(false));
    }

    #[test]
    fn an_answer_is_read_strictly() {
        let good = Message::response(17, 0).u16(2).bytes();
        assert_eq!(parse(&whole(&good)), Ok(Answer::Done(())));
        refused(&good, |reply| parse(reply).map(Answer::refusal));
    }
}
