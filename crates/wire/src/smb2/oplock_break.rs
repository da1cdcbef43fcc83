//! OPLOCK_BREAK: the server takes a caching right back (notification), the client agrees (acknowledgement), the server
//! confirms (response). Oplocks and leases have a form each.
//!
//! Spec: MS-SMB2 2.2.23, 2.2.24, 2.2.25, 3.2.5.19

use super::command::Command;
use super::create::Lease;
use super::draft::{Call, Draft, TooLong};
use super::file_id::FileId;
use super::header;
use super::reply::{Answer, Body, Malformed, Reply, Why};

/// StructureSize of the oplock form, in all three roles.
pub const OPLOCK_SIZE: u16 = 24;
/// StructureSize of a lease break notification.
pub const LEASE_NOTIFICATION_SIZE: u16 = 44;
/// StructureSize of a lease break acknowledgement or response.
pub const LEASE_SIZE: u16 = 36;
/// Oplock: OplockLevel, u8.
pub const OPLOCK_LEVEL: usize = header::LEN + 2;
/// Oplock: FileId, 16 bytes.
pub const FILE_ID: usize = header::LEN + 8;
/// Oplock: end.
pub const OPLOCK_END: usize = header::LEN + 24;
/// Lease notification: NewEpoch, u16, in the dialects 3.
pub const LEASE_EPOCH: usize = header::LEN + 2;
/// Lease: Flags, u32.
pub const LEASE_FLAGS: usize = header::LEN + 4;
/// Lease: LeaseKey, 16 bytes.
pub const LEASE_KEY: usize = header::LEN + 8;
/// Lease acknowledgement and response: LeaseState, u32. Notification: CurrentLeaseState.
pub const LEASE_STATE: usize = header::LEN + 24;
/// Lease acknowledgement and response: end.
pub const LEASE_ACKNOWLEDGEMENT_END: usize = header::LEN + 36;
/// Lease notification: NewLeaseState, u32.
pub const NEW_LEASE_STATE: usize = header::LEN + 28;
/// Lease notification: end.
pub const LEASE_NOTIFICATION_END: usize = header::LEN + 44;
/// Notification flag: the server waits for an acknowledgement.
pub const FLAG_ACK_REQUIRED: u32 = 0x0000_0001;

/// The server breaks a lease or oplock without a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// An oplock: level II and exclusive ones are acknowledged where they are broken from exclusive or batch.
    Oplock {
        /// The handle.
        file: FileId,
        /// The level that remains.
        level: u8,
    },
    /// A lease.
    Lease {
        /// Key, and the state that remains.
        lease: Lease,
        /// The state that it had.
        from: u32,
        /// Version 2: counts the lease's changes.
        epoch: u16,
        /// The server waits for an acknowledgement.
        acknowledge: bool,
    },
}

/// The call: the client gives the right back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledge {
    /// An oplock.
    Oplock {
        /// The handle.
        file: FileId,
        /// The level that remains.
        level: u8,
    },
    /// A lease, with the state that remains.
    Lease(Lease),
}

impl Call for Acknowledge {
    const COMMAND: Command = Command::OplockBreak;

    fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        match *self {
            Self::Oplock { file, level } => {
                draft.fixed(OPLOCK_SIZE, OPLOCK_END);
                draft.u8(OPLOCK_LEVEL, level);
                draft.array(FILE_ID, file.0);
            }
            Self::Lease(lease) => {
                draft.fixed(LEASE_SIZE, LEASE_ACKNOWLEDGEMENT_END);
                draft.array(LEASE_KEY, lease.key);
                draft.u32(LEASE_STATE, lease.state);
            }
        }
        Ok(())
    }
}

/// Reads an unsolicited break: a reply with the message id [`header::UNSOLICITED`].
///
/// # Errors
/// If a field violates the specification.
pub fn notice(reply: &Reply<'_>) -> Result<Notice, Malformed> {
    let body = reply.body();
    if reply.command() != Command::OplockBreak {
        return Err(body.malformed("Command", Why::Value(reply.header().command_code().into())));
    }
    if is_oplock(&body)? {
        body.fixed(OPLOCK_SIZE, OPLOCK_END)?;
        return Ok(Notice::Oplock {
            file: body.file_id(FILE_ID, "FileId")?,
            level: body.u8(OPLOCK_LEVEL, "OplockLevel")?,
        });
    }
    body.fixed(LEASE_NOTIFICATION_SIZE, LEASE_NOTIFICATION_END)?;
    Ok(Notice::Lease {
        lease: Lease { key: body.array(LEASE_KEY, "LeaseKey")?, state: body.u32(NEW_LEASE_STATE, "NewLeaseState")? },
        from: body.u32(LEASE_STATE, "CurrentLeaseState")?,
        epoch: body.u16(LEASE_EPOCH, "NewEpoch")?,
        acknowledge: body.u32(LEASE_FLAGS, "Flags")? & FLAG_ACK_REQUIRED != 0,
    })
}

/// Reads the answer to an acknowledgement: the remaining rights on the server.
///
/// # Errors
/// If a field violates the specification.
pub fn parse<'a>(reply: &Reply<'a>) -> Result<Answer<'a, Acknowledge>, Malformed> {
    if is_oplock(&reply.body())? {
        return reply.answer(Command::OplockBreak, OPLOCK_SIZE, OPLOCK_END, |body| {
            let level = body.u8(OPLOCK_LEVEL, "OplockLevel")?;
            Ok(Acknowledge::Oplock { file: body.file_id(FILE_ID, "FileId")?, level })
        });
    }
    reply.answer(Command::OplockBreak, LEASE_SIZE, LEASE_ACKNOWLEDGEMENT_END, |body| {
        let state = body.u32(LEASE_STATE, "LeaseState")?;
        Ok(Acknowledge::Lease(Lease { key: body.array(LEASE_KEY, "LeaseKey")?, state }))
    })
}

/// A break as far as it was captured: a notification or an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The oplock form.
    pub is_oplock: bool,
    /// FileId of an oplock, LeaseKey of a lease.
    pub key: Option<[u8; 16]>,
    /// Notification of a lease: its state until then.
    pub from: Option<u32>,
    /// The remaining OplockLevel or LeaseState.
    pub to: Option<u32>,
    /// Notification of a lease: whether the server waits for an acknowledgement.
    pub acknowledge: Option<bool>,
}

impl Captured {
    /// Reads a member that is known to be a break. None without its form.
    #[must_use]
    pub fn new(member: &[u8]) -> Option<Self> {
        let array = |at: usize| member.get(at..)?.first_chunk().copied();
        let u32_at = |at: usize| array(at).map(u32::from_le_bytes);
        let size = u16::from_le_bytes(*member.get(header::LEN..)?.first_chunk()?);
        let key = |at: usize| member.get(at..)?.first_chunk().copied();
        match size {
            OPLOCK_SIZE => {
                let to = member.get(OPLOCK_LEVEL).map(|&level| level.into());
                Some(Self { is_oplock: true, key: key(FILE_ID), to, ..Self::default() })
            }
            LEASE_NOTIFICATION_SIZE => Some(Self {
                is_oplock: false,
                key: key(LEASE_KEY),
                from: u32_at(LEASE_STATE),
                to: u32_at(NEW_LEASE_STATE),
                acknowledge: u32_at(LEASE_FLAGS).map(|flags| flags & FLAG_ACK_REQUIRED != 0),
            }),
            LEASE_SIZE => Some(Self { key: key(LEASE_KEY), to: u32_at(LEASE_STATE), ..Self::default() }),
            _ => None,
        }
    }
}

/// The StructureSize tells the forms apart.
fn is_oplock(body: &Body<'_>) -> Result<bool, Malformed> {
    Ok(body.u16(header::LEN, "StructureSize")? == OPLOCK_SIZE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::create::{OPLOCK_BATCH, OPLOCK_II};
    use crate::smb2::testing::{Message, emitted, refused, whole};

    const LEASE: Lease = Lease { key: [4; 16], state: 3 };

    /// Hand-assembled from 2.2.24.1 and 2.2.24.2.
    #[test]
    fn acknowledgements_are_laid_out_as_specified() {
        let bytes = emitted(&Acknowledge::Oplock { file: FileId([3; 16]), level: OPLOCK_II });
        assert_eq!(bytes, Message::request(18).u16(24).u8(OPLOCK_II).u8(0).u32(0).put(&[3; 16]).like(&bytes));
        let bytes = emitted(&Acknowledge::Lease(LEASE));
        assert_eq!(bytes, Message::request(18).u16(36).u16(0).u32(0).put(&[4; 16]).u32(3).u64(0).like(&bytes));
    }

    /// Hand-assembled from 2.2.23.1 and 2.2.23.2.
    #[test]
    fn notices_are_read_strictly() {
        let unasked = || Message::response(18, 0).message_id(header::UNSOLICITED);
        let oplock = unasked().u16(24).u8(OPLOCK_BATCH).u8(0).u32(0).put(&[3; 16]).bytes();
        let lease = unasked().u16(44).u16(9).u32(1).put(&[4; 16]).u32(7).u32(3).u32(0).u32(0).u32(0).bytes();
        let file = FileId([3; 16]);
        assert_eq!(notice(&whole(&oplock)), Ok(Notice::Oplock { file, level: OPLOCK_BATCH }));
        let expected = Notice::Lease { lease: LEASE, from: 7, epoch: 9, acknowledge: true };
        assert_eq!(notice(&whole(&lease)), Ok(expected));
        for bytes in [oplock, lease] {
            for cut in header::LEN..bytes.len() {
                assert!(notice(&whole(&bytes[..cut])).is_err(), "cut at {cut}");
            }
        }
        let other = Message::response(6, 0).u16(24).fill(22).bytes();
        assert_eq!(notice(&whole(&other)).unwrap_err().field, "Command");
    }

    /// Hand-assembled from 2.2.23 and 2.2.24.
    #[test]
    fn captured_breaks_have_the_fields_that_were_captured() {
        let oplock = Message::response(18, 0).u16(24).u8(OPLOCK_BATCH).u8(0).u32(0).put(&[3; 16]).bytes();
        let lease = Message::response(18, 0).u16(44).u16(9).u32(1).put(&[4; 16]).u32(7).u32(3).u32(0).u64(0).bytes();
        let call = Message::request(18).u16(36).u16(0).u32(0).put(&[4; 16]).u32(3).u64(0).bytes();
        let found = Captured { is_oplock: true, key: Some([3; 16]), to: Some(9), ..Captured::default() };
        assert_eq!(Captured::new(&oplock), Some(found));
        let of_lease = Captured { key: Some([4; 16]), to: Some(3), ..Captured::default() };
        let found = Captured { from: Some(7), acknowledge: Some(true), ..of_lease };
        assert_eq!(Captured::new(&lease), Some(found));
        assert_eq!(Captured::new(&call), Some(of_lease));
        assert_eq!(Captured::new(&lease[..NEW_LEASE_STATE]), Some(Captured { to: None, ..found }));
        assert_eq!(Captured::new(&lease[..LEASE_KEY + 15]).and_then(|cut| cut.key), None);
        assert_eq!(Captured::new(&Message::response(18, 0).u16(9).u64(0).bytes()), None, "an error");
        assert_eq!(Captured::new(&oplock[..header::LEN]), None);
    }

    /// Hand-assembled from 2.2.25.1 and 2.2.25.2.
    #[test]
    fn answers_are_read_strictly() {
        let oplock = Message::response(18, 0).u16(24).u8(1).u8(0).u32(0).put(&[3; 16]).bytes();
        let lease = Message::response(18, 0).u16(36).u16(0).u32(0).put(&[4; 16]).u32(3).u64(0).bytes();
        let left = Acknowledge::Oplock { file: FileId([3; 16]), level: OPLOCK_II };
        assert_eq!(parse(&whole(&oplock)), Ok(Answer::Done(left)));
        assert_eq!(parse(&whole(&lease)), Ok(Answer::Done(Acknowledge::Lease(LEASE))));
        for good in [oplock, lease] {
            refused(&good, |reply| parse(reply).map(Answer::refusal));
        }
    }
}
