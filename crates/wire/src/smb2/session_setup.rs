//! SESSION_SETUP: one step of a logon.
//!
//! Spec: MS-SMB2 2.2.5, 2.2.6

use super::fields::view;
use super::header;

/// StructureSize of the request's body.
pub const REQUEST_SIZE: u16 = 25;
/// Request: Flags, u8.
pub const REQUEST_FLAGS: usize = header::LEN + 2;
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
    Request, request, SessionSetup, REQUEST_SIZE
}
view! {
    /// The server's step; there with `STATUS_MORE_PROCESSING_REQUIRED` too.
    Response, response, SessionSetup, RESPONSE_SIZE
}

impl<'a> Request<'a> {
    /// The token, for [`Authenticate::find`](crate::ntlmssp::Authenticate::find). What was captured of it.
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

    /// The session that this one takes over after a lost connection; 0 for none.
    #[must_use]
    pub fn previous_session_id(&self) -> Option<u64> {
        self.fields.u64(PREVIOUS_SESSION_ID)
    }
}

impl<'a> Response<'a> {
    /// Guest, null, encrypting: see the `SESSION_` constants.
    #[must_use]
    pub fn session_flags(&self) -> Option<u16> {
        self.fields.u16(SESSION_FLAGS)
    }

    /// The server's token, all of it.
    #[must_use]
    pub fn security_buffer(&self) -> Option<&'a [u8]> {
        self.fields.variable16(RESPONSE_BUFFER, RESPONSE_END)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::status::{STATUS_LOGON_FAILURE, STATUS_MORE_PROCESSING_REQUIRED};
    use crate::smb2::testing::{Message, truncations};

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

    /// Hand-assembled from 2.2.6, and the ERROR response of the same size.
    #[test]
    fn response_step_and_refusal() {
        let body = |status| Message::response(1, status).u16(9).u16(4).u16(72).u16(3).put(b"tok").bytes();
        let bytes = body(STATUS_MORE_PROCESSING_REQUIRED);
        let view = Response::new(&bytes).unwrap();
        assert_eq!(view.session_flags(), Some(SESSION_ENCRYPTS));
        assert_eq!(view.security_buffer(), Some(&b"tok"[..]));
        truncations(&bytes, |bytes| Response::new(bytes)?.security_buffer());
        assert!(Response::new(&body(STATUS_LOGON_FAILURE)).is_none());
    }
}
