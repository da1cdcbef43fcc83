//! The call, and the contexts that go with it.
//!
//! Spec: MS-SMB2 2.2.13, 2.2.13.2

use super::{
    ACCESS_READ_ATTRIBUTES, ACCESS_READ_CONTROL, ACCESS_READ_DATA, ACCESS_READ_EA, ACCESS_SYNCHRONIZE, DESIRED_ACCESS,
    DISPOSITION, DISPOSITION_OPEN, IMPERSONATION, IMPERSONATION_IMPERSONATION, NAME, OPLOCK_NONE, OPTIONS,
    REQUEST_ATTRIBUTES, REQUEST_CONTEXTS, REQUEST_END, REQUEST_OPLOCK, REQUEST_SIZE, SHARE_ACCESS, SHARE_DELETE,
    SHARE_READ, SHARE_WRITE, context,
};
use crate::smb2::FileId;
use crate::smb2::command::Command;
use crate::smb2::draft::{Call, Draft, TooLong, fit16, fit32};

/// The call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Create<'a> {
    /// The path below the share, parts separated by `/` or `\`, none leading; empty for the share's root.
    pub name: &'a str,
    /// See the `OPLOCK_` constants.
    pub oplock: u8,
    /// See the `IMPERSONATION_` constants.
    pub impersonation: u32,
    /// ACCESS_MASK bits, see the `ACCESS_` constants.
    pub access: u32,
    /// FILE_ATTRIBUTE bits for a new file.
    pub attributes: u32,
    /// Access allowed to other opens, see the `SHARE_` constants.
    pub share: u32,
    /// See the `DISPOSITION_` constants.
    pub disposition: u32,
    /// See the `OPTION_` constants.
    pub options: u32,
    /// Further requests, each kind at most once.
    pub contexts: &'a [Context<'a>],
}

impl<'a> Create<'a> {
    /// Opens an existing file to read it, and allows other opens to read, write and delete it.
    #[must_use]
    pub const fn reading(name: &'a str) -> Self {
        Self {
            name,
            oplock: OPLOCK_NONE,
            impersonation: IMPERSONATION_IMPERSONATION,
            access: ACCESS_READ_DATA
                | ACCESS_READ_EA
                | ACCESS_READ_ATTRIBUTES
                | ACCESS_READ_CONTROL
                | ACCESS_SYNCHRONIZE,
            attributes: 0,
            share: SHARE_READ | SHARE_WRITE | SHARE_DELETE,
            disposition: DISPOSITION_OPEN,
            options: 0,
            contexts: &[],
        }
    }
}

/// A create context of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context<'a> {
    /// `RqLs`: a lease, dialect 2.1 and 3.0. Goes with [`super::OPLOCK_LEASE`].
    Lease(Lease),
    /// `RqLs` of version 2, from dialect 3.0 on.
    Lease2 {
        /// The lease.
        lease: Lease,
        /// Key of the lease on the directory that the file is in.
        parent: Option<[u8; 16]>,
        /// Counts the lease's changes.
        epoch: u16,
    },
    /// `DHnQ`: a durable handle, please.
    Durable,
    /// `DHnC`: the durable handle of before, please.
    Reconnect(FileId),
    /// `DH2Q`: a durable handle, from dialect 3.0 on.
    Durable2 {
        /// How long the server is to wait for a reconnect, ms; 0 leaves it to the server.
        timeout_ms: u32,
        /// Persistent: survives the server too.
        persistent: bool,
        /// Identifies the open, unique within this client.
        guid: [u8; 16],
    },
    /// `DH2C`: the durable handle of before, from dialect 3.0 on.
    Reconnect2 {
        /// The handle of before.
        file: FileId,
        /// The open's name of before.
        guid: [u8; 16],
        /// It was persistent.
        persistent: bool,
    },
    /// `MxAc`: queries the user's maximal access rights.
    MaximalAccess,
    /// `QFid`: the file's number on its disk.
    DiskId,
    /// `AlSi`: reserves this number of bytes.
    AllocationSize(u64),
    /// `TWrp`: as it was then, a FILETIME.
    Timewarp(u64),
    /// Any other.
    Other {
        /// Its name.
        name: [u8; 4],
        /// Its data.
        data: &'a [u8],
    },
}

/// A lease that is asked for, granted, or held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The client's key of the lease.
    pub key: [u8; 16],
    /// Caching rights, see the `LEASE_` constants.
    pub state: u32,
}

impl Context<'_> {
    const fn name(&self) -> [u8; 4] {
        match self {
            Self::Lease(_) | Self::Lease2 { .. } => context::LEASE,
            Self::Durable => context::DURABLE,
            Self::Reconnect(_) => context::RECONNECT,
            Self::Durable2 { .. } => context::DURABLE_2,
            Self::Reconnect2 { .. } => context::RECONNECT_2,
            Self::MaximalAccess => context::MAXIMAL_ACCESS,
            Self::DiskId => context::DISK_ID,
            Self::AllocationSize(_) => context::ALLOCATION_SIZE,
            Self::Timewarp(_) => context::TIMEWARP,
            Self::Other { name, .. } => *name,
        }
    }

    fn data(&self, draft: &mut Draft<'_>) {
        match self {
            Self::Lease(lease) => lease.put(draft, 0),
            Self::Lease2 { lease, parent, epoch } => {
                lease.put(draft, if parent.is_some() { context::LEASE_PARENT_SET } else { 0 });
                draft.put(&parent.unwrap_or_default());
                draft.put(&epoch.to_le_bytes());
                draft.put(&[0; 2]);
            }
            Self::Durable => draft.put(&[0; 16]),
            Self::Reconnect(file) => draft.put(&file.0),
            Self::Durable2 { timeout_ms, persistent, guid } => {
                draft.put(&timeout_ms.to_le_bytes());
                draft.put(&persistent_flag(*persistent));
                draft.put(&[0; 8]);
                draft.put(guid);
            }
            Self::Reconnect2 { file, guid, persistent } => {
                draft.put(&file.0);
                draft.put(guid);
                draft.put(&persistent_flag(*persistent));
            }
            Self::MaximalAccess | Self::DiskId => {}
            Self::AllocationSize(number) | Self::Timewarp(number) => draft.put(&number.to_le_bytes()),
            Self::Other { data, .. } => draft.put(data),
        }
    }
}

impl Lease {
    /// Key, state, flags, duration (which is reserved).
    fn put(&self, draft: &mut Draft<'_>, flags: u32) {
        draft.put(&self.key);
        draft.put(&self.state.to_le_bytes());
        draft.put(&flags.to_le_bytes());
        draft.put(&[0; 8]);
    }
}

fn persistent_flag(persistent: bool) -> [u8; 4] {
    if persistent { context::FLAG_PERSISTENT.to_le_bytes() } else { [0; 4] }
}

impl Call for Create<'_> {
    const COMMAND: Command = Command::Create;

    fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        draft.fixed(REQUEST_SIZE, REQUEST_END);
        draft.u8(REQUEST_OPLOCK, self.oplock);
        draft.u32(IMPERSONATION, self.impersonation);
        draft.u32(DESIRED_ACCESS, self.access);
        draft.u32(REQUEST_ATTRIBUTES, self.attributes);
        draft.u32(SHARE_ACCESS, self.share);
        draft.u32(DISPOSITION, self.disposition);
        draft.u32(OPTIONS, self.options);
        name_and_contexts(draft, self.name, |draft| put_contexts(draft, self.contexts))
    }
}

/// The variable part: the name, then what `contexts` appends, each in its place.
fn name_and_contexts(
    draft: &mut Draft<'_>,
    name: &str,
    contexts: impl FnOnce(&mut Draft<'_>) -> Result<(), TooLong>,
) -> Result<(), TooLong> {
    draft.variable16(NAME, "Name", |draft| draft.path(name))?;
    let named = draft.end();
    draft.align(context::ALIGNMENT);
    let start = draft.end();
    contexts(draft)?;
    if draft.end() > start {
        draft.u32(REQUEST_CONTEXTS, fit32("CreateContexts", start)?);
        draft.u32(REQUEST_CONTEXTS + 4, fit32("CreateContexts", draft.end() - start)?);
    } else {
        draft.cut(named);
    }
    draft.at_least_a_byte(REQUEST_END);
    Ok(())
}

fn put_contexts(draft: &mut Draft<'_>, contexts: &[Context<'_>]) -> Result<(), TooLong> {
    let mut before = None;
    for context in contexts {
        draft.align(context::ALIGNMENT);
        let start = draft.end();
        if let Some(before) = before {
            draft.u32(before + context::NEXT, fit32("CreateContexts", start - before)?);
        }
        draft.put(&[0; context::NAME_AT]);
        draft.u16(start + context::NAME_OFFSET, context::NAME_AT as u16);
        draft.u16(start + context::NAME_OFFSET + 2, 4);
        draft.put(&context.name());
        draft.align(context::ALIGNMENT);
        let data = draft.end();
        context.data(draft);
        if draft.end() > data {
            draft.u16(start + context::DATA_OFFSET, fit16("DataOffset", data - start)?);
            draft.u32(start + context::DATA_OFFSET + 2, fit32("DataLength", draft.end() - data)?);
        }
        before = Some(start);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::create::{
        self, DISPOSITION_OPEN_IF, LEASE_HANDLE, LEASE_READ, LEASE_WRITE, OPLOCK_LEASE, OPTION_NON_DIRECTORY,
    };
    use crate::smb2::testing::{Message, emitted};

    const LEASE: Lease = Lease { key: [0x11; 16], state: LEASE_READ | LEASE_HANDLE | LEASE_WRITE };
    const CALL: Create<'_> = Create {
        name: "a/bc.txt",
        oplock: OPLOCK_LEASE,
        impersonation: IMPERSONATION_IMPERSONATION,
        access: 0x0012_0089,
        attributes: 0x80,
        share: SHARE_READ | SHARE_WRITE,
        disposition: DISPOSITION_OPEN_IF,
        options: OPTION_NON_DIRECTORY,
        contexts: &[],
    };

    #[test]
    fn a_call_reads_as_it_was_said() {
        let contexts =
            [Context::MaximalAccess, Context::DiskId, Context::Lease2 { lease: LEASE, parent: None, epoch: 0 }];
        let bytes = emitted(&Create { contexts: &contexts, ..CALL });
        let view = create::Request::new(&bytes).unwrap();
        assert_eq!(view.name().unwrap(), r"a\bc.txt");
        assert_eq!((view.desired_access(), view.attributes()), (Some(0x0012_0089), Some(0x80)));
        assert_eq!((view.share_access(), view.disposition()), (Some(3), Some(DISPOSITION_OPEN_IF)));
        assert_eq!((view.options(), view.oplock_level()), (Some(OPTION_NON_DIRECTORY), Some(OPLOCK_LEASE)));
        assert_eq!(view.context_names().collect::<Vec<_>>(), [b"MxAc", b"QFid", b"RqLs"]);
        let without = emitted(&CALL);
        assert_eq!((without.len(), &without[..REQUEST_CONTEXTS]), (REQUEST_END + 16, &bytes[..REQUEST_CONTEXTS]));
        assert_eq!(create::Request::new(&without).unwrap().context_names().count(), 0);
        let root = emitted(&Create { name: "", ..CALL });
        assert!(create::Request::new(&root).unwrap().name().unwrap().is_empty());
        assert_eq!(root.len(), REQUEST_END + 1, "StructureSize 57 counts a byte");
    }

    /// Hand-assembled from 2.2.13 and 2.2.13.2.
    #[test]
    fn the_layout_is_the_specifications() {
        let contexts = [Context::Durable, Context::Lease(LEASE)];
        let bytes = emitted(&Create { name: "abc", contexts: &contexts, ..CALL });
        let fixed = Message::request(5).u16(57).u8(0).u8(0xFF).u32(2).u64(0).u64(0);
        let fixed = fixed.u32(0x0012_0089).u32(0x80).u32(3).u32(3).u32(0x40);
        let named = fixed.u16(0x78).u16(6).u32(0x80).u32(40 + 56).utf16("abc").u16(0);
        let first = named.u32(40).u16(16).u16(4).u16(0).u16(24).u32(16).put(b"DHnQ").u32(0).put(&[0; 16]);
        let second = first.u32(0).u16(16).u16(4).u16(0).u16(24).u32(32).put(b"RqLs").u32(0);
        let expected = second.put(&[0x11; 16]).u32(7).u32(0).u64(0).like(&bytes);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn every_context_has_its_length() {
        let (file, guid) = (FileId([3; 16]), [4; 16]);
        // 2.2.13.2.1 to 2.2.13.2.12
        let cases: [(Context<'_>, &[u8; 4], u32); 11] = [
            (Context::Lease(LEASE), b"RqLs", 32),
            (Context::Lease2 { lease: LEASE, parent: Some([5; 16]), epoch: 1 }, b"RqLs", 52),
            (Context::Durable, b"DHnQ", 16),
            (Context::Reconnect(file), b"DHnC", 16),
            (Context::Durable2 { timeout_ms: 1, persistent: true, guid }, b"DH2Q", 32),
            (Context::Reconnect2 { file, guid, persistent: false }, b"DH2C", 36),
            (Context::MaximalAccess, b"MxAc", 0),
            (Context::DiskId, b"QFid", 0),
            (Context::AllocationSize(1 << 20), b"AlSi", 8),
            (Context::Timewarp(7), b"TWrp", 8),
            (Context::Other { name: *b"ExtA", data: b"12345" }, b"ExtA", 5),
        ];
        for (context, name, length) in cases {
            let bytes = emitted(&Create { name: "", contexts: &[context], ..CALL });
            let view = create::Request::new(&bytes).unwrap();
            assert_eq!(view.context_names().collect::<Vec<_>>(), [name], "{context:?}");
            let is_reconnection = matches!(context, Context::Reconnect(_) | Context::Reconnect2 { .. });
            assert_eq!(view.reconnected(), is_reconnection.then_some(file), "{context:?}");
            let at = REQUEST_END + context::DATA_OFFSET + 2;
            assert_eq!(u32::from_le_bytes(*bytes[at..].first_chunk().unwrap()), length, "{context:?}");
            assert_eq!(bytes.len(), REQUEST_END + 24 + length as usize);
        }
    }
}
