//! SESSION_SETUP: one step of a logon.
//!
//! Spec: MS-SMB2 2.2.5, 2.2.6

use super::command::Command;
use super::draft::{Call, Draft, TooLong};
use super::fields::view;
use super::header;
use super::reply::{Answer, Malformed, Reply};

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 25;
/// Request: Flags, u8.
pub const REQUEST_FLAGS: usize = header::LEN + 2;
/// Request: SecurityMode, u8, see [`negotiate`](super::negotiate).
pub const SECURITY_MODE: usize = header::LEN + 3;
/// Request: Capabilities, u32.
pub const REQUEST_CAPABILITIES: usize = header::LEN + 4;
/// Request: SecurityBufferOffset and SecurityBufferLength, u16 each.
pub const REQUEST_BUFFER: usize = header::LEN + 12;
/// Request: PreviousSessionId, u64.
pub const PREVIOUS_SESSION_ID: usize = header::LEN + 16;
/// Request: end of the fixed part.
pub const REQUEST_END: usize = header::LEN + 24;
/// Request flag: binds another channel to the session.
pub const FLAG_BINDING: u8 = 0x01;
/// StructureSize of the response's body.
pub const RESPONSE_SIZE: u16 = 9;
/// Response: SessionFlags, u16.
pub const SESSION_FLAGS: usize = header::LEN + 2;
/// Response: SecurityBufferOffset and SecurityBufferLength, u16 each.
pub const RESPONSE_BUFFER: usize = header::LEN + 4;
/// Response: end of the fixed part.
pub const RESPONSE_END: usize = header::LEN + 8;
/// Response flag: logged on as guest.
pub const SESSION_IS_GUEST: u16 = 0x0001;
/// Response flag: logged on anonymously.
pub const SESSION_IS_NULL: u16 = 0x0002;
/// Response flag: everything that follows is encrypted.
pub const SESSION_ENCRYPTS: u16 = 0x0004;

view! {
    /// The client's step.
    Request, request, SessionSetup, REQUEST_SIZE;
    /// The session that this one replaces after a lost connection; 0 for none.
    previous_session_id: u64 = u64 PREVIOUS_SESSION_ID;
}
view! {
    /// The server's step; there with `STATUS_MORE_PROCESSING_REQUIRED` too.
    Response, response, SessionSetup, RESPONSE_SIZE;
}

impl<'a> Request<'a> {
    /// The captured part of the token, for [`Authenticate::find`](crate::ntlmssp::Authenticate::find).
    #[must_use]
    pub fn security_buffer(&self) -> Option<&'a [u8]> {
        let offset = usize::from(self.fields.u16(REQUEST_BUFFER)?);
        let len = usize::from(self.fields.u16(REQUEST_BUFFER + 2)?);
        self.fields.variable_captured(offset, len, REQUEST_END)
    }

    /// Binds this connection as another channel to the header's session.
    #[must_use]
    pub fn is_binding(&self) -> Option<bool> {
        Some(self.fields.u8(REQUEST_FLAGS)? & FLAG_BINDING != 0)
    }
}

impl<'a> Response<'a> {
    /// The complete token of the server.
    #[must_use]
    pub fn security_buffer(&self) -> Option<&'a [u8]> {
        self.fields.variable16(RESPONSE_BUFFER, RESPONSE_END)
    }
}

/// The call: the client's step of a logon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionSetup<'a> {
    /// 0, or [`FLAG_BINDING`].
    pub flags: u8,
    /// `SIGNING_` bits of [`negotiate`](super::negotiate).
    pub security_mode: u8,
    /// SMB2_GLOBAL_CAP_DFS or none.
    pub capabilities: u32,
    /// The session that this one replaces; 0 for none.
    pub previous_session_id: u64,
    /// The token.
    pub security_buffer: &'a [u8],
}

impl Call for SessionSetup<'_> {
    const COMMAND: Command = Command::SessionSetup;

    fn body(&self, draft: &mut Draft<'_>) -> Result<(), TooLong> {
        draft.fixed(REQUEST_SIZE, REQUEST_END);
        draft.u8(REQUEST_FLAGS, self.flags);
        draft.u8(SECURITY_MODE, self.security_mode);
        draft.u32(REQUEST_CAPABILITIES, self.capabilities);
        draft.u64(PREVIOUS_SESSION_ID, self.previous_session_id);
        draft.variable16(REQUEST_BUFFER, "SecurityBuffer", |draft| draft.put(self.security_buffer))?;
        draft.at_least_a_byte(REQUEST_END);
        Ok(())
    }
}

/// The server's step of a logon. The session's id is the reply's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetupReply<'a> {
    /// Guest, null, encrypting: see the `SESSION_` constants.
    pub flags: u16,
    /// The token.
    pub security_buffer: &'a [u8],
}

/// Reads the answer; after `STATUS_MORE_PROCESSING_REQUIRED`, further ones follow.
///
/// # Errors
/// If a field violates the specification.
pub fn parse<'a>(reply: &Reply<'a>) -> Result<Answer<'a, SetupReply<'a>>, Malformed> {
    reply.answer(Command::SessionSetup, RESPONSE_SIZE, RESPONSE_END, |body| {
        Ok(SetupReply {
            flags: body.u16(SESSION_FLAGS, "SessionFlags")?,
            security_buffer: body.variable16(RESPONSE_BUFFER, RESPONSE_END, "SecurityBuffer")?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::status::{STATUS_LOGON_FAILURE, STATUS_MORE_PROCESSING_REQUIRED};
    use crate::smb2::testing::{Message, emitted, refused, truncations, whole};

    /// Hand-assembled from 2.2.5.
    #[test]
    fn request_buffer() {
        let bytes = Message::request(1).u16(25).u8(1).u8(1).u32(0).u32(0).u16(88).u16(5).u64(77).put(b"token").bytes();
        let view = Request::new(&bytes).unwrap();
        assert_eq!(view.security_buffer(), Some(&b"token"[..]));
        assert_eq!(view.is_binding(), Some(true));
        assert_eq!(view.previous_session_id(), Some(77));
        assert_eq!(Request::new(&bytes[..90]).unwrap().security_buffer(), Some(&b"to"[..]));
        truncations(&bytes, |bytes| Request::new(bytes)?.previous_session_id());
    }

    #[test]
    fn a_call_reads_as_it_was_said() {
        let call = SessionSetup {
            flags: FLAG_BINDING,
            security_mode: 2,
            capabilities: 1,
            previous_session_id: 77,
            security_buffer: b"token",
        };
        let bytes = emitted(&call);
        let view = Request::new(&bytes).unwrap();
        assert_eq!(view.security_buffer(), Some(&b"token"[..]));
        assert_eq!((view.is_binding(), view.previous_session_id()), (Some(true), Some(77)));
        assert_eq!((bytes[SECURITY_MODE], bytes[REQUEST_CAPABILITIES], bytes.len()), (2, 1, REQUEST_END + 5));
    }

    #[test]
    fn a_step_is_read_strictly() {
        let body = |offset, len| {
            let head = Message::response(1, STATUS_MORE_PROCESSING_REQUIRED).u16(9).u16(4);
            head.u16(offset).u16(len).put(b"tok").bytes()
        };
        let good = body(72, 3);
        let step = SetupReply { flags: SESSION_ENCRYPTS, security_buffer: b"tok" };
        assert_eq!(parse(&whole(&good)), Ok(Answer::Done(step)));
        refused(&good, |reply| parse(reply).map(Answer::refusal));
        for (offset, len) in [(72, 4), (71, 3), (0, 1), (u16::MAX, u16::MAX)] {
            let error = parse(&whole(&body(offset, len))).unwrap_err();
            assert_eq!((error.command, error.field), (Command::SessionSetup, "SecurityBuffer"), "{offset} {len}");
        }
    }

    /// Hand-assembled from 2.2.6, and the ERROR response of the same size.
    #[test]
    fn response_step_and_refusal() {
        let body = |status| Message::response(1, status).u16(9).u16(4).u16(72).u16(3).put(b"tok").bytes();
        let bytes = body(STATUS_MORE_PROCESSING_REQUIRED);
        let view = Response::new(&bytes).unwrap();
        assert_eq!(view.security_buffer(), Some(&b"tok"[..]));
        truncations(&bytes, |bytes| Response::new(bytes)?.security_buffer());
        assert!(Response::new(&body(STATUS_LOGON_FAILURE)).is_none());
    }
}
