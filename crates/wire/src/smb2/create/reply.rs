//! The opened file, and the server's answers to the contexts.
//!
//! Spec: MS-SMB2 2.2.14, 2.2.14.2

use super::{
    ACTION, ALLOCATION_SIZE, END_OF_FILE, FILE_ID, Lease, RESPONSE_ATTRIBUTES, RESPONSE_CONTEXTS, RESPONSE_END,
    RESPONSE_OPLOCK, RESPONSE_SIZE, TIMES, context,
};
use crate::smb2::FileId;
use crate::smb2::attributes::{Attributes, Times};
use crate::smb2::command::Command;
use crate::smb2::reply::{Answer, Body, Malformed, Reply, Why};

/// The opened file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The handle.
    pub file: FileId,
    /// The oplock granted, see the `OPLOCK_` constants.
    pub oplock: u8,
    /// The action taken, see the `ACTION_` constants.
    pub action: u32,
    /// Times, sizes, attributes.
    pub attributes: Attributes,
    /// Further grants of the server.
    pub granted: Granted,
}

/// Results of the contexts. None for contexts that the server did not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// The lease, and its caching rights.
    pub lease: Option<GrantedLease>,
    /// The handle is durable.
    pub durable: Option<Durable>,
    /// NTSTATUS of the query and, if it is 0, the user's maximal access rights.
    pub maximal_access: Option<(u32, u32)>,
    /// The file's number on its disk, and the disk's.
    pub disk_id: Option<(u64, u64)>,
}

/// A lease as granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantedLease {
    /// Key and state.
    pub lease: Lease,
    /// It is being broken meanwhile.
    pub breaking: bool,
    /// Version 2: counts the lease's changes.
    pub epoch: Option<u16>,
}

/// A durable handle as granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durable {
    /// Version 2: how long the server waits for a reconnect, ms.
    pub timeout_ms: Option<u32>,
    /// It survives the server too.
    pub persistent: bool,
}

/// SMB2_LEASE_FLAG_BREAK_IN_PROGRESS.
const LEASE_BREAKING: u32 = 0x0000_0002;

/// Reads the answer.
///
/// # Errors
///
/// If a field violates the specification.
#[inline]
pub fn parse<'a>(reply: &Reply<'a>) -> Result<Answer<'a, Opened>, Malformed> {
    reply.answer(Command::Create, RESPONSE_SIZE, RESPONSE_END, |body| {
        let contexts = body.variable32(RESPONSE_CONTEXTS, RESPONSE_END, "CreateContexts")?;
        Ok(Opened {
            file: body.file_id(FILE_ID, "FileId")?,
            oplock: body.u8(RESPONSE_OPLOCK, "OplockLevel")?,
            action: body.u32(ACTION, "CreateAction")?,
            attributes: Attributes {
                times: Times::parse(body, TIMES)?,
                allocation_size: body.u64(ALLOCATION_SIZE, "AllocationSize")?,
                end_of_file: body.u64(END_OF_FILE, "EndofFile")?,
                attributes: body.u32(RESPONSE_ATTRIBUTES, "FileAttributes")?,
            },
            granted: granted(body, contexts)?,
        })
    })
}

/// Walks the contexts. Each next one begins further on, so any input ends it.
fn granted(body: &Body<'_>, contexts: &[u8]) -> Result<Granted, Malformed> {
    let mut granted = Granted::default();
    let mut rest = body.within(contexts);
    while !rest.bytes().is_empty() {
        let next = rest.u32(context::NEXT, "Next")?;
        let (one, more) = if next == 0 { (rest, rest.within(&[])) } else { rest.split(next, "Next")? };
        let name = one.variable16(context::NAME_OFFSET, context::NAME_AT, "Name")?;
        let offset = one.u16(context::DATA_OFFSET, "DataOffset")?;
        let length = one.u32(context::DATA_OFFSET + 2, "DataLength")?;
        let data = one.variable(offset.into(), length, context::NAME_AT, "Data")?;
        granted.take(name, &one.within(data))?;
        rest = more;
    }
    Ok(granted)
}

impl Granted {
    fn take(&mut self, name: &[u8], data: &Body<'_>) -> Result<(), Malformed> {
        match *name.first_chunk().unwrap_or(&[0; 4]) {
            context::LEASE => once(data, "RqLs", &mut self.lease, lease(data)?),
            context::DURABLE => once(data, "DHnQ", &mut self.durable, Durable { timeout_ms: None, persistent: false }),
            context::DURABLE_2 => {
                let persistent = data.u32(4, "DH2Q")? & context::FLAG_PERSISTENT != 0;
                let timeout_ms = Some(data.u32(0, "DH2Q")?);
                once(data, "DH2Q", &mut self.durable, Durable { timeout_ms, persistent })
            }
            context::MAXIMAL_ACCESS => {
                let access = (data.u32(0, "MxAc")?, data.u32(4, "MxAc")?);
                once(data, "MxAc", &mut self.maximal_access, access)
            }
            context::DISK_ID => once(data, "QFid", &mut self.disk_id, (data.u64(0, "QFid")?, data.u64(8, "QFid")?)),
            // Other contexts were not requested; 3.2.5.7 names none that a client must evaluate.
            _ => Ok(()),
        }
    }
}

/// 2.2.14.2.10 (32 bytes) or 2.2.14.2.11 (52 bytes).
fn lease(data: &Body<'_>) -> Result<GrantedLease, Malformed> {
    let epoch = match data.bytes().len() {
        32 => None,
        52 => Some(data.u16(48, "RqLs")?),
        other => return Err(data.malformed("RqLs", Why::Value(other as u64))),
    };
    let lease = Lease { key: data.array(0, "RqLs")?, state: data.u32(16, "RqLs")? };
    Ok(GrantedLease { lease, breaking: data.u32(20, "RqLs")? & LEASE_BREAKING != 0, epoch })
}

fn once<T>(body: &Body<'_>, name: &'static str, place: &mut Option<T>, value: T) -> Result<(), Malformed> {
    if place.replace(value).is_some() {
        return Err(body.malformed(name, Why::Repeated));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::create::OPLOCK_LEASE;
    use crate::smb2::testing::{Message, refused, whole};

    /// Hand-assembled from 2.2.14, up to the contexts' place.
    fn fixed() -> Message {
        let times = Message::response(5, 0).u16(89).u8(OPLOCK_LEASE).u8(0).u32(2);
        let sizes = times.u64(1).u64(2).u64(3).u64(4).u64(8192).u64(1234).u32(0x20).u32(0);
        sizes.put(&[3; 16])
    }

    fn context(message: Message, next: u32, name: &[u8; 4], data: &[u8]) -> Message {
        let head = message.u32(next).u16(16).u16(4).u16(0).u16(24).u32(data.len() as u32).put(name).u32(0);
        head.put(data)
    }

    fn with_contexts() -> Vec<u8> {
        let lease = [&[0x11; 16][..], &5_u32.to_le_bytes(), &2_u32.to_le_bytes(), &[0; 24], &[9, 0, 0, 0]].concat();
        let contexts = context(fixed().u32(0x98).u32(32 + 32 + 80), 32, b"MxAc", &[0, 0, 0, 0, 0xFF, 1, 0x1F, 0]);
        let contexts = context(contexts, 32, b"DH2Q", &[0x60, 0xEA, 0, 0, 2, 0, 0, 0]);
        context(contexts, 0, b"RqLs", &lease).u32(0).bytes()
    }

    #[test]
    fn what_was_opened() {
        let bytes = fixed().u32(0).u32(0).bytes();
        let opened = parse(&whole(&bytes)).unwrap().done().unwrap();
        let times = Times { creation: 1, last_access: 2, last_write: 3, change: 4 };
        let attributes = Attributes { times, allocation_size: 8192, end_of_file: 1234, attributes: 0x20 };
        let granted = Granted::default();
        let expected = Opened { file: FileId([3; 16]), oplock: OPLOCK_LEASE, action: 2, attributes, granted };
        assert_eq!(opened, expected);
        refused(&bytes, |reply| parse(reply).map(Answer::refusal));
    }

    #[test]
    fn what_was_granted() {
        let bytes = with_contexts();
        let granted = parse(&whole(&bytes)).unwrap().done().unwrap().granted;
        let lease = Lease { key: [0x11; 16], state: 5 };
        assert_eq!(granted.lease, Some(GrantedLease { lease, breaking: true, epoch: Some(9) }));
        assert_eq!(granted.durable, Some(Durable { timeout_ms: Some(60_000), persistent: true }));
        assert_eq!((granted.maximal_access, granted.disk_id), (Some((0, 0x001F_01FF)), None));
    }

    #[test]
    fn contexts_that_cannot_be_are_named() {
        let error = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = with_contexts();
            change(&mut bytes);
            parse(&whole(&bytes)).unwrap_err().field
        };
        assert_eq!(error(&|bytes| bytes.truncate(0x98 + 100)), "CreateContexts", "outside of the message");
        assert_eq!(error(&|bytes| bytes[RESPONSE_CONTEXTS] = 0x97), "CreateContexts", "in the fixed part");
        assert_eq!(error(&|bytes| bytes[0x98 + 1] = 0xFF), "Next", "beyond the contexts");
        assert_eq!(error(&|bytes| bytes[0x98] = 3), "Name", "too short for a context");
        assert_eq!(error(&|bytes| bytes[0x98 + context::NAME_OFFSET] = 8), "Name", "in the fixed part");
        assert_eq!(error(&|bytes| bytes[0x98 + context::DATA_OFFSET + 2] = 9), "Data", "longer than its context");
        assert_eq!(error(&|bytes| bytes[0x98 + 64 + context::DATA_OFFSET + 2] = 33), "RqLs", "neither version");
        let twice = |bytes: &mut Vec<u8>| bytes[0x98 + 32 + 16..0x98 + 32 + 20].copy_from_slice(b"MxAc");
        assert_eq!(error(&twice), "MxAc", "twice");
    }
}
