//! CREATE: a file, directory or pipe is opened or made.
//!
//! Spec: MS-SMB2 2.2.13, 2.2.14

pub mod context;
mod granted;
mod reply;
mod request;

pub use reply::{Durable, Granted, GrantedLease, Opened, parse};
pub use request::{Context, Create, Lease};

use super::fields::{Fields, to_len, view};
use super::file_id::FileId;
use super::header;
use crate::text::Utf16Le;

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 57;
/// Request: RequestedOplockLevel, u8.
pub const REQUEST_OPLOCK: usize = header::LEN + 3;
/// Request: ImpersonationLevel, u32.
pub const IMPERSONATION: usize = header::LEN + 4;
/// Request: DesiredAccess, u32.
pub const DESIRED_ACCESS: usize = header::LEN + 24;
/// Request: FileAttributes, u32.
pub const REQUEST_ATTRIBUTES: usize = header::LEN + 28;
/// Request: ShareAccess, u32.
pub const SHARE_ACCESS: usize = header::LEN + 32;
/// Request: CreateDisposition, u32.
pub const DISPOSITION: usize = header::LEN + 36;
/// Request: CreateOptions, u32.
pub const OPTIONS: usize = header::LEN + 40;
/// Request: NameOffset and NameLength, u16 each.
pub const NAME: usize = header::LEN + 44;
/// Request: CreateContextsOffset and CreateContextsLength, u32 each.
pub const REQUEST_CONTEXTS: usize = header::LEN + 48;
/// Request: end of the fixed part.
pub const REQUEST_END: usize = header::LEN + 56;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 89;
/// Response: OplockLevel, u8.
pub const RESPONSE_OPLOCK: usize = header::LEN + 2;
/// Response: CreateAction, u32.
pub const ACTION: usize = header::LEN + 4;
/// Response: CreationTime, LastAccessTime, LastWriteTime and ChangeTime, u64 each.
pub const TIMES: usize = header::LEN + 8;
/// Response: AllocationSize, u64.
pub const ALLOCATION_SIZE: usize = header::LEN + 40;
/// Response: EndofFile, u64.
pub const END_OF_FILE: usize = header::LEN + 48;
/// Response: FileAttributes, u32.
pub const RESPONSE_ATTRIBUTES: usize = header::LEN + 56;
/// Response: FileId, 16 bytes.
pub const FILE_ID: usize = header::LEN + 64;
/// Response: CreateContextsOffset and CreateContextsLength, u32 each.
pub const RESPONSE_CONTEXTS: usize = header::LEN + 80;
/// Response: end of the fixed part.
pub const RESPONSE_END: usize = header::LEN + 88;

/// ImpersonationLevel: the server acts as the client, locally. What clients use.
pub const IMPERSONATION_IMPERSONATION: u32 = 2;

/// ACCESS_MASK bits (2.2.13.1): FILE_READ_DATA, or FILE_LIST_DIRECTORY.
pub const ACCESS_READ_DATA: u32 = 0x0000_0001;
/// FILE_WRITE_DATA, or FILE_ADD_FILE.
pub const ACCESS_WRITE_DATA: u32 = 0x0000_0002;
/// FILE_APPEND_DATA, or FILE_ADD_SUBDIRECTORY.
pub const ACCESS_APPEND_DATA: u32 = 0x0000_0004;
/// FILE_READ_EA.
pub const ACCESS_READ_EA: u32 = 0x0000_0008;
/// FILE_READ_ATTRIBUTES.
pub const ACCESS_READ_ATTRIBUTES: u32 = 0x0000_0080;
/// FILE_WRITE_ATTRIBUTES.
pub const ACCESS_WRITE_ATTRIBUTES: u32 = 0x0000_0100;
/// DELETE: delete or rename it.
pub const ACCESS_DELETE: u32 = 0x0001_0000;
/// READ_CONTROL: its owner and access list.
pub const ACCESS_READ_CONTROL: u32 = 0x0002_0000;
/// SYNCHRONIZE.
pub const ACCESS_SYNCHRONIZE: u32 = 0x0010_0000;
/// MAXIMUM_ALLOWED.
pub const ACCESS_MAXIMUM_ALLOWED: u32 = 0x0200_0000;

/// ShareAccess: other opens may read meanwhile.
pub const SHARE_READ: u32 = 0x0000_0001;
/// Other opens may write meanwhile.
pub const SHARE_WRITE: u32 = 0x0000_0002;
/// Other opens may delete or rename it meanwhile.
pub const SHARE_DELETE: u32 = 0x0000_0004;

/// Lease state: reads may be cached.
pub const LEASE_READ: u32 = 0x0000_0001;
/// The handle may be kept open when its user closes it.
pub const LEASE_HANDLE: u32 = 0x0000_0002;
/// Writes may be cached.
pub const LEASE_WRITE: u32 = 0x0000_0004;

/// FILE_ATTRIBUTE_NORMAL: no other attribute is set.
pub const ATTRIBUTE_NORMAL: u32 = 0x0000_0080;
/// FILE_ATTRIBUTE_DIRECTORY.
pub const ATTRIBUTE_DIRECTORY: u32 = 0x0000_0010;
/// FILE_DIRECTORY_FILE in the options: must be a directory.
pub const OPTION_DIRECTORY: u32 = 0x0000_0001;
/// FILE_NON_DIRECTORY_FILE in the options: must not be one.
pub const OPTION_NON_DIRECTORY: u32 = 0x0000_0040;
/// FILE_OPEN_REPARSE_POINT in the options: opens a symbolic link itself, not its target.
pub const OPTION_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
/// FILE_DELETE_ON_CLOSE in the options.
pub const OPTION_DELETE_ON_CLOSE: u32 = 0x0000_1000;

/// Oplock level: none.
pub const OPLOCK_NONE: u8 = 0x00;
/// Oplock level II: read caching.
pub const OPLOCK_II: u8 = 0x01;
/// Exclusive oplock: read and write caching.
pub const OPLOCK_EXCLUSIVE: u8 = 0x08;
/// Batch oplock: read, write and handle caching.
pub const OPLOCK_BATCH: u8 = 0x09;
/// A lease, in a create context.
pub const OPLOCK_LEASE: u8 = 0xFF;

/// CreateDisposition values: replace, or create.
pub const DISPOSITION_SUPERSEDE: u32 = 0;
/// Open, or fail.
pub const DISPOSITION_OPEN: u32 = 1;
/// Create, or fail.
pub const DISPOSITION_CREATE: u32 = 2;
/// Open, or create.
pub const DISPOSITION_OPEN_IF: u32 = 3;
/// Truncate, or fail.
pub const DISPOSITION_OVERWRITE: u32 = 4;
/// Truncate, or create.
pub const DISPOSITION_OVERWRITE_IF: u32 = 5;

view! {
    /// What to open and how.
    Request, request, Create, REQUEST_SIZE;
    /// ACCESS_MASK bits.
    desired_access: u32 = u32 DESIRED_ACCESS;
    /// FILE_ATTRIBUTE bits for a new file.
    attributes: u32 = u32 REQUEST_ATTRIBUTES;
    /// Access allowed to other opens: 1 read, 2 write, 4 delete.
    share_access: u32 = u32 SHARE_ACCESS;
    /// What to do when the file exists or does not, see the `DISPOSITION_` constants.
    disposition: u32 = u32 DISPOSITION;
    /// FILE_ option bits.
    options: u32 = u32 OPTIONS;
    /// See the `OPLOCK_` constants.
    oplock_level: u8 = u8 REQUEST_OPLOCK;
}
view! {
    /// The opened file.
    Response, response, Create, RESPONSE_SIZE;
    /// The handle.
    file_id: FileId = file_id FILE_ID;
    /// FILE_ATTRIBUTE bits.
    attributes: u32 = u32 RESPONSE_ATTRIBUTES;
    /// The action taken, see the `ACTION_` constants.
    action: u32 = u32 ACTION;
    /// Length of the file in bytes.
    end_of_file: u64 = u64 END_OF_FILE;
    /// The oplock granted, see the `OPLOCK_` constants.
    oplock_level: u8 = u8 RESPONSE_OPLOCK;
}

impl<'a> Request<'a> {
    /// The path below the share, without a leading backslash; empty for the share's root.
    #[must_use]
    pub fn name(&self) -> Option<Utf16Le<'a>> {
        self.fields.text16(NAME, REQUEST_END)
    }

    /// Closing the last handle deletes it.
    #[must_use]
    pub fn deletes_on_close(&self) -> Option<bool> {
        Some(self.options()? & OPTION_DELETE_ON_CLOSE != 0)
    }

    /// Does it reconnect a durable handle (DHnC or DH2C), as far as its create contexts were captured.
    #[must_use]
    pub fn reconnects(&self) -> bool {
        self.context_names().any(|name| name == b"DHnC" || name == b"DH2C")
    }

    /// The durable handle that it reconnects, as far as its create contexts were captured.
    ///
    /// Spec: MS-SMB2 2.2.13.2.4, 2.2.13.2.12
    #[must_use]
    pub fn reconnected(&self) -> Option<FileId> {
        let mut contexts = ContextNames::new(self.fields)?;
        loop {
            let context = contexts.rest;
            if matches!(contexts.next()?, b"DHnC" | b"DH2C") {
                return handle(context).map(|id| FileId(*id));
            }
        }
    }

    /// The parts of its create contexts that [`Request::reconnected`] reads: heads, and of a reconnection the name and the handle.
    pub(super) fn context_parts(&self) -> Vec<&'a [u8]> {
        let mut parts = Vec::new();
        let Some(mut contexts) = ContextNames::new(self.fields) else { return parts };
        loop {
            let context = contexts.rest;
            parts.push(context.get(..context::NAME_AT).unwrap_or(context));
            let Some(name) = contexts.next() else { return parts };
            if matches!(name, b"DHnC" | b"DH2C") {
                parts.push(name);
                parts.extend(handle(context).map(<[u8; 16]>::as_slice));
            }
        }
    }

    /// The names of its create contexts as far as they were captured: `RqLs`, `DH2Q`, `MxAc`.
    #[must_use]
    pub fn context_names(&self) -> ContextNames<'a> {
        ContextNames::new(self.fields).unwrap_or(ContextNames { rest: &[] })
    }
}

impl Response<'_> {
    /// It is a directory.
    #[must_use]
    pub fn is_directory(&self) -> Option<bool> {
        Some(self.attributes()? & ATTRIBUTE_DIRECTORY != 0)
    }
}

/// The handle in the data of a context that reconnects it.
fn handle(context: &[u8]) -> Option<&[u8; 16]> {
    let [.., offset0, offset1] = *context.first_chunk::<12>()?;
    context.get(usize::from(u16::from_le_bytes([offset0, offset1]))..)?.first_chunk()
}

/// Iterates over the names of create contexts (2.2.13.2). Each takes at least 16 bytes, so any input ends it.
#[derive(Clone, Debug)]
pub struct ContextNames<'a> {
    rest: &'a [u8],
}

impl<'a> ContextNames<'a> {
    fn new(fields: Fields<'a>) -> Option<Self> {
        let offset = to_len(fields.u32(REQUEST_CONTEXTS)?)?;
        let len = to_len(fields.u32(REQUEST_CONTEXTS + 4)?)?;
        fields.variable_captured(offset, len, REQUEST_END).map(|rest| Self { rest })
    }
}

impl<'a> Iterator for ContextNames<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        // Next u32, NameOffset u16, NameLength u16, reserved, DataOffset u16, DataLength u32.
        let context = core::mem::take(&mut self.rest);
        let [n0, n1, n2, n3, offset0, offset1, len0, len1] = *context.first_chunk::<8>()?;
        let offset = usize::from(u16::from_le_bytes([offset0, offset1]));
        let len = usize::from(u16::from_le_bytes([len0, len1]));
        let name = context.get(offset..offset.checked_add(len)?)?;
        let next = to_len(u32::from_le_bytes([n0, n1, n2, n3]))?;
        if next >= 16 {
            self.rest = context.get(next..).unwrap_or_default();
        }
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, truncations};
    use proptest::prelude::*;

    /// Hand-assembled from 2.2.13, as in the example "connecting to a share and opening a file" of MS-SMB2 4: name
    /// at 0x78, then two create contexts.
    fn request() -> Vec<u8> {
        let fixed = Message::request(5).u16(57).u8(0).u8(OPLOCK_BATCH).u32(2).u64(0).u64(0);
        let fixed = fixed.u32(0x0012_0089).u32(0x80).u32(7).u32(DISPOSITION_OPEN);
        let named = fixed.u32(OPTION_DIRECTORY | OPTION_DELETE_ON_CLOSE).u16(0x78).u16(16).u32(0x88).u32(48);
        let first = named.utf16("test.txt").u32(24).u16(16).u16(4).u16(0).u16(0).u32(0).put(b"MxAc").u32(0);
        first.u32(0).u16(16).u16(4).u16(0).u16(0).u32(0).put(b"QFid").u32(0).bytes()
    }

    #[test]
    fn request_fields() {
        let bytes = request();
        let view = Request::new(&bytes).unwrap();
        assert_eq!(view.name().unwrap(), "test.txt");
        assert_eq!(view.desired_access(), Some(0x0012_0089));
        assert_eq!((view.attributes(), view.share_access()), (Some(0x80), Some(7)));
        assert_eq!(view.disposition(), Some(DISPOSITION_OPEN));
        assert_eq!(view.options(), Some(OPTION_DIRECTORY | OPTION_DELETE_ON_CLOSE));
        assert_eq!(view.deletes_on_close(), Some(true));
        assert_eq!(view.oplock_level(), Some(OPLOCK_BATCH));
        assert_eq!(view.context_names().collect::<Vec<_>>(), [b"MxAc", b"QFid"]);
        assert!(!view.reconnects());
        for name in [b"DHnC", b"DH2C"] {
            let at = bytes.windows(4).position(|part| part == b"QFid").unwrap();
            let mut bytes = bytes.clone();
            bytes[at..at + 4].copy_from_slice(name);
            assert!(Request::new(&bytes).unwrap().reconnects());
        }
    }

    #[test]
    fn a_path_cut_short_is_missing() {
        let bytes = request();
        truncations(&bytes, |bytes| Request::new(bytes)?.name());
        truncations(&bytes, |bytes| Request::new(bytes)?.options());
        assert_eq!(Request::new(&bytes[..140]).unwrap().context_names().count(), 0);
        assert_eq!(Request::new(&bytes[..162]).unwrap().context_names().count(), 1);
    }

    #[test]
    fn the_root_has_an_empty_name() {
        let mut bytes = request();
        bytes[NAME..NAME + 4].fill(0);
        assert!(Request::new(&bytes).unwrap().name().unwrap().is_empty());
    }

    /// Hand-assembled from 2.2.14.
    #[test]
    fn response_fields() {
        let times = Message::response(5, 0).u16(89).u8(OPLOCK_II).u8(0).u32(2).fill(32);
        let bytes = times.u64(4096).u64(1234).u32(ATTRIBUTE_DIRECTORY).u32(0).put(&[3; 16]).u64(0).bytes();
        let view = Response::new(&bytes).unwrap();
        assert_eq!(view.file_id(), Some(FileId([3; 16])));
        assert_eq!(view.action(), Some(2));
        assert_eq!(view.end_of_file(), Some(1234));
        assert_eq!(view.is_directory(), Some(true));
        assert_eq!(view.oplock_level(), Some(OPLOCK_II));
        truncations(&bytes, |bytes| Response::new(bytes)?.file_id());
    }

    proptest! {
        #[test]
        fn any_body_reads(body: Vec<u8>) {
            let bytes = Message::request(5).u16(57).put(&body).bytes();
            let view = Request::new(&bytes).unwrap();
            prop_assert!(view.context_names().count() <= bytes.len() / 16 + 1);
            prop_assert!(view.name().is_none_or(|name| name.0.len() <= body.len()));
        }
    }
}
