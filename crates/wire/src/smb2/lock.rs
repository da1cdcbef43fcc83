//! LOCK: byte ranges are locked or unlocked. The response's body says nothing more.
//!
//! Spec: MS-SMB2 2.2.26, 2.2.27

use super::command::Command;
use super::draft::{Call, Draft, TooLong, fit16};
use super::fields::view;
use super::file_id::FileId;
use super::header;
use super::reply::{Answer, Malformed, Reply};

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 48;
/// Request: LockCount, u16.
pub const COUNT: usize = header::LEN + 2;
/// Request: LockSequenceNumber and LockSequenceIndex, u32 together; reserved before dialect 2.1.
pub const SEQUENCE: usize = header::LEN + 4;
/// Request: FileId, 16 bytes.
pub const FILE_ID: usize = header::LEN + 8;
/// Request: the first SMB2_LOCK_ELEMENT: Offset u64, Length u64, Flags u32, reserved u32.
pub const FIRST_ELEMENT: usize = header::LEN + 24;
/// Length within an element.
const ELEMENT_LENGTH: usize = 8;
/// Flags within an element.
pub const ELEMENT_FLAGS: usize = 16;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 4;
/// Response: end.
pub const RESPONSE_END: usize = header::LEN + 4;

/// SMB2_LOCKFLAG_SHARED_LOCK.
pub const FLAG_SHARED: u32 = 0x01;
/// SMB2_LOCKFLAG_EXCLUSIVE_LOCK.
pub const FLAG_EXCLUSIVE: u32 = 0x02;
/// SMB2_LOCKFLAG_UNLOCK.
pub const FLAG_UNLOCK: u32 = 0x04;
/// SMB2_LOCKFLAG_FAIL_IMMEDIATELY.
pub const FLAG_FAIL_IMMEDIATELY: u32 = 0x10;

view! {
    /// Which ranges of which file.
    Request, request, Lock, REQUEST_SIZE;
    /// The handle.
    file_id: FileId = file_id FILE_ID;
    /// How many ranges.
    count: u16 = u16 COUNT;
}

/// Flags of a lock element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LockFlags(pub u32);

impl LockFlags {
    /// A shared lock.
    #[must_use]
    pub fn is_shared(self) -> bool {
        self.0 & FLAG_SHARED != 0
    }

    /// An exclusive lock.
    #[must_use]
    pub fn is_exclusive(self) -> bool {
        self.0 & FLAG_EXCLUSIVE != 0
    }

    /// The range is given back.
    #[must_use]
    pub fn is_unlock(self) -> bool {
        self.0 & FLAG_UNLOCK != 0
    }

    /// Refuse rather than wait.
    #[must_use]
    pub fn fails_immediately(self) -> bool {
        self.0 & FLAG_FAIL_IMMEDIATELY != 0
    }

    /// The server holds the request until the range is free: its time is no response time.
    #[must_use]
    pub fn waits(self) -> bool {
        (self.is_shared() || self.is_exclusive()) && !self.is_unlock() && !self.fails_immediately()
    }
}

impl Request<'_> {
    /// Offset and length of the first range, in bytes.
    #[must_use]
    pub fn first_range(&self) -> Option<(u64, u64)> {
        (self.count()? != 0).then_some(())?;
        Some((self.fields.u64(FIRST_ELEMENT)?, self.fields.u64(FIRST_ELEMENT + ELEMENT_LENGTH)?))
    }

    /// Flags of the first range. It decides: locks and unlocks do not mix, and a lock that waits is alone (3.3.5.14).
    #[must_use]
    pub fn first_flags(&self) -> Option<LockFlags> {
        (self.count()? != 0).then_some(())?;
        self.fields.u32(FIRST_ELEMENT + ELEMENT_FLAGS).map(LockFlags)
    }
}

/// The call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lock<'a> {
    /// The handle.
    pub file: FileId,
    /// Distinguishes a repeated lock request from a new one on durable handles; 0 otherwise.
    pub sequence: u32,
    /// The ranges: one at least.
    pub elements: &'a [Element],
}

/// A range to lock or unlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its first byte.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
    /// What to do with it.
    pub flags: LockFlags,
}

impl Call for Lock<'_> {
    const COMMAND: Command = Command::Lock;

    fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        // The StructureSize counts the first element.
        draft.fixed(REQUEST_SIZE, FIRST_ELEMENT);
        draft.u16(COUNT, fit16("LockCount", self.elements.len())?);
        draft.u32(SEQUENCE, self.sequence);
        draft.array(FILE_ID, self.file.0);
        for element in self.elements {
            draft.put(&element.offset.to_le_bytes());
            draft.put(&element.length.to_le_bytes());
            draft.put(&element.flags.0.to_le_bytes());
            draft.put(&[0; 4]);
        }
        Ok(())
    }
}

/// Reads the answer.
///
/// # Errors
///
/// Where it is none of this command, or its body has another size.
pub fn parse<'a>(reply: &Reply<'a>) -> Result<Answer<'a, ()>, Malformed> {
    reply.answer(Command::Lock, RESPONSE_SIZE, RESPONSE_END, |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, emitted, refused, truncations, whole};

    /// Hand-assembled from 2.2.26.
    fn request(flags: u32) -> Vec<u8> {
        let element = Message::request(10).u16(48).u16(1).u32(0).put(&[4; 16]).u64(0).u64(100);
        element.u32(flags).u32(0).bytes()
    }

    #[test]
    fn which_locks_wait() {
        for (flags, waits) in [(0x01, true), (0x02, true), (0x11, false), (0x12, false), (0x04, false), (0, false)] {
            assert_eq!(Request::new(&request(flags)).unwrap().first_flags().unwrap().waits(), waits, "{flags:#x}");
        }
    }

    #[test]
    fn fields() {
        let bytes = request(FLAG_UNLOCK);
        let view = Request::new(&bytes).unwrap();
        assert_eq!((view.count(), view.file_id()), (Some(1), Some(FileId([4; 16]))));
        assert!(view.first_flags().unwrap().is_unlock());
        truncations(&bytes, |bytes| Request::new(bytes)?.first_flags());
    }

    #[test]
    fn a_call_reads_as_it_was_said() {
        let element = |offset, flags| Element { offset, length: 100, flags: LockFlags(flags) };
        let elements = [element(0, FLAG_EXCLUSIVE | FLAG_FAIL_IMMEDIATELY), element(1 << 40, FLAG_SHARED)];
        let bytes = emitted(&Lock { file: FileId([4; 16]), sequence: 0x11, elements: &elements });
        let view = Request::new(&bytes).unwrap();
        assert_eq!((view.count(), view.file_id()), (Some(2), Some(FileId([4; 16]))));
        assert_eq!(view.first_flags(), Some(elements[0].flags));
        let head = Message::request(10).u16(48).u16(2).u32(0x11).put(&[4; 16]).u64(0).u64(100).u32(0x12).u32(0);
        assert_eq!(bytes, head.u64(1 << 40).u64(100).u32(1).u32(0).like(&bytes), "as 2.2.26 lays it out");
    }

    #[test]
    fn an_answer_is_read_strictly() {
        let good = Message::response(10, 0).u16(4).u16(0).bytes();
        assert_eq!(parse(&whole(&good)), Ok(Answer::Done(())));
        refused(&good, |reply| parse(reply).map(Answer::refusal));
    }
}
