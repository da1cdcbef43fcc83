//! OPLOCK_BREAK: the server takes a caching right back (notification), the client agrees (acknowledgement), the server
//! confirms (response). Oplocks and leases have a form each.
//!
//! Spec: MS-SMB2 2.2.23, 2.2.24, 2.2.25

mod client;

pub use client::{Acknowledge, Notice, notice, parse};

use super::fields::Fields;
use super::file_id::FileId;
use super::header::{self, Command, Header, UNSOLICITED};

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

/// Who says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The server, of its own accord: pairs with nothing by message id.
    Notification,
    /// The client: a request.
    Acknowledgement,
    /// The server, to an acknowledgement.
    Response,
}

/// Which caching right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// An oplock on an open file.
    Oplock,
    /// A lease of a client on a file.
    Lease,
}

/// A borrowed break message of any role and form.
#[derive(Clone, Copy, Debug)]
pub struct Break<'a> {
    fields: Fields<'a>,
    role: Role,
    form: Form,
}

/// The role of a header alone. None when it is no break, or when the message id was not captured.
#[must_use]
pub fn role(header: &Header<'_>) -> Option<Role> {
    if header.command() != Command::OplockBreak {
        return None;
    }
    if !header.is_response() {
        return Some(Role::Acknowledgement);
    }
    Some(if header.message_id()? == UNSOLICITED { Role::Notification } else { Role::Response })
}

impl<'a> Break<'a> {
    /// `message` begins at the SMB2 header. None when it is no break, an error, or too little was captured to tell.
    #[must_use]
    pub fn new(message: &'a [u8]) -> Option<Self> {
        let role = role(&Header::new(message)?)?;
        let code = Command::OplockBreak.code();
        let lease_size = if role == Role::Notification { LEASE_NOTIFICATION_SIZE } else { LEASE_SIZE };
        let door = if role == Role::Acknowledgement { Fields::request } else { Fields::response };
        let oplock = door(message, code, OPLOCK_SIZE).map(|fields| (fields, Form::Oplock));
        let (fields, form) = oplock.or_else(|| Some((door(message, code, lease_size)?, Form::Lease)))?;
        Some(Self { fields, role, form })
    }

    /// Who says it.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// Oplock or lease.
    #[must_use]
    pub fn form(&self) -> Form {
        self.form
    }

    /// Oplock only: the handle.
    #[must_use]
    pub fn file_id(&self) -> Option<FileId> {
        if self.form == Form::Oplock { self.fields.file_id(FILE_ID) } else { None }
    }

    /// Oplock only: the level that remains.
    #[must_use]
    pub fn oplock_level(&self) -> Option<u8> {
        if self.form == Form::Oplock { self.fields.u8(OPLOCK_LEVEL) } else { None }
    }

    /// Lease only: the client's name of the lease.
    #[must_use]
    pub fn lease_key(&self) -> Option<[u8; 16]> {
        if self.form == Form::Lease { self.fields.array(LEASE_KEY) } else { None }
    }

    /// Lease only: the state that remains: 1 read, 2 handle, 4 write caching.
    #[must_use]
    pub fn lease_state(&self) -> Option<u32> {
        match (self.form, self.role) {
            (Form::Oplock, _) => None,
            (Form::Lease, Role::Notification) => self.fields.u32(NEW_LEASE_STATE),
            (Form::Lease, _) => self.fields.u32(LEASE_STATE),
        }
    }

    /// Lease notification only: the server waits for an acknowledgement.
    #[must_use]
    pub fn needs_acknowledgement(&self) -> Option<bool> {
        (self.form == Form::Lease && self.role == Role::Notification).then_some(())?;
        Some(self.fields.u32(LEASE_FLAGS)? & FLAG_ACK_REQUIRED != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::testing::{Message, truncations};

    /// Hand-assembled from 2.2.23.1, 2.2.24.1, 2.2.25.1.
    #[test]
    fn oplock_in_its_three_roles() {
        for (message, role) in [
            (Message::response(18, 0).message_id(UNSOLICITED), Role::Notification),
            (Message::request(18).message_id(7), Role::Acknowledgement),
            (Message::response(18, 0).message_id(7), Role::Response),
        ] {
            let bytes = message.u16(24).u8(1).u8(0).u32(0).put(&[3; 16]).bytes();
            let view = Break::new(&bytes).unwrap();
            assert_eq!((view.role(), view.form()), (role, Form::Oplock));
            assert_eq!((view.file_id(), view.oplock_level()), (Some(FileId([3; 16])), Some(1)));
            assert_eq!((view.lease_key(), view.lease_state()), (None, None));
            truncations(&bytes, |bytes| Break::new(bytes)?.file_id());
        }
    }

    /// Hand-assembled from 2.2.23.2.
    #[test]
    fn lease_notification() {
        let head = Message::response(18, 0).message_id(UNSOLICITED).u16(44).u16(2).u32(1).put(&[4; 16]);
        let bytes = head.u32(7).u32(3).u32(0).u32(0).u32(0).bytes();
        let view = Break::new(&bytes).unwrap();
        assert_eq!((view.role(), view.form()), (Role::Notification, Form::Lease));
        assert_eq!((view.lease_key(), view.lease_state()), (Some([4; 16]), Some(3)));
        assert_eq!((view.needs_acknowledgement(), view.file_id()), (Some(true), None));
        truncations(&bytes, |bytes| Break::new(bytes)?.lease_state());
    }

    /// Hand-assembled from 2.2.24.2; the same size as a notification's is not.
    #[test]
    fn lease_acknowledgement() {
        let with_size = |size| Message::request(18).u16(size).u16(0).u32(0).put(&[4; 16]).u32(1).u64(0).bytes();
        let bytes = with_size(36);
        let view = Break::new(&bytes).unwrap();
        assert_eq!((view.role(), view.form(), view.lease_state()), (Role::Acknowledgement, Form::Lease, Some(1)));
        assert_eq!(view.needs_acknowledgement(), None);
        assert!(Break::new(&with_size(44)).is_none());
    }

    #[test]
    fn without_a_message_id_no_role() {
        let bytes = Message::response(18, 0).message_id(UNSOLICITED).bytes();
        assert_eq!(role(&Header::new(&bytes[..31]).unwrap()), None);
        assert_eq!(role(&Header::new(&bytes[..32]).unwrap()), Some(Role::Notification));
    }
}
