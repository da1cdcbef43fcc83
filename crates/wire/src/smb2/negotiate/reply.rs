//! The server's choices.
//!
//! Spec: MS-SMB2 2.2.4, 2.2.4.1, 3.2.5.2

use super::context::{self, ALIGNMENT, HEADER_LEN};
use super::{
    CONTEXT_COUNT, CONTEXT_OFFSET, DIALECT, DIALECT_311, MAX_READ, MAX_TRANSACT, MAX_WRITE, RESPONSE_BUFFER,
    RESPONSE_CAPABILITIES, RESPONSE_END, RESPONSE_SECURITY_MODE, RESPONSE_SIZE, SERVER_GUID, START_TIME, SYSTEM_TIME,
    dialect_name,
};
use crate::smb2::command::Command;
use crate::smb2::reply::{Answer, Body, Malformed, Reply, Why};

/// The server's choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated<'a> {
    /// The dialect, or [`DIALECT_WILDCARD`](super::DIALECT_WILDCARD).
    pub dialect: u16,
    /// `SIGNING_` bits.
    pub security_mode: u16,
    /// `CAP_` bits.
    pub capabilities: u32,
    /// Names the server.
    pub server_guid: [u8; 16],
    /// The longest QUERY_INFO, QUERY_DIRECTORY, SET_INFO and CHANGE_NOTIFY, in bytes.
    pub max_transact: u32,
    /// The longest READ, in bytes.
    pub max_read: u32,
    /// The longest WRITE, in bytes.
    pub max_write: u32,
    /// The server's clock, a FILETIME.
    pub system_time: u64,
    /// When it began, a FILETIME; 0 in most servers.
    pub start_time: u64,
    /// The first token of a logon (SPNEGO's offer of mechanisms); may be empty.
    pub security_buffer: &'a [u8],
    /// The choices from the offer; all None before dialect 3.1.1.
    pub chosen: Chosen,
}

/// The server's choices from an [`Offer`](super::Offer). None if the server did not answer it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The preauthentication hash's number. Always there in dialect 3.1.1.
    pub hash: Option<u16>,
    /// The [`Cipher`](super::Cipher)'s number; 0 says that there is none in common.
    pub cipher: Option<u16>,
    /// The signing algorithm's number (MS-SMB2 2.2.3.1.7).
    pub signing: Option<u16>,
}

/// Reads the answer.
///
/// # Errors
/// If a field violates the specification: an unknown dialect, in dialect 3.1.1 a missing preauthentication hash, or several choices where
/// there must be one.
pub fn parse<'a>(reply: &Reply<'a>) -> Result<Answer<'a, Negotiated<'a>>, Malformed> {
    reply.answer(Command::Negotiate, RESPONSE_SIZE, RESPONSE_END, |body| {
        let dialect = body.u16(DIALECT, "DialectRevision")?;
        if dialect_name(dialect).is_none() {
            return Err(body.malformed("DialectRevision", Why::Value(dialect.into())));
        }
        Ok(Negotiated {
            dialect,
            security_mode: body.u16(RESPONSE_SECURITY_MODE, "SecurityMode")?,
            capabilities: body.u32(RESPONSE_CAPABILITIES, "Capabilities")?,
            server_guid: body.array(SERVER_GUID, "ServerGuid")?,
            max_transact: body.u32(MAX_TRANSACT, "MaxTransactSize")?,
            max_read: body.u32(MAX_READ, "MaxReadSize")?,
            max_write: body.u32(MAX_WRITE, "MaxWriteSize")?,
            system_time: body.u64(SYSTEM_TIME, "SystemTime")?,
            start_time: body.u64(START_TIME, "ServerStartTime")?,
            security_buffer: body.variable16(RESPONSE_BUFFER, RESPONSE_END, "SecurityBuffer")?,
            chosen: if dialect == DIALECT_311 { Chosen::parse(body)? } else { Chosen::default() },
        })
    })
}

impl Chosen {
    fn parse(body: &Body<'_>) -> Result<Self, Malformed> {
        let mut chosen = Self::default();
        let mut at = body.u32(CONTEXT_OFFSET, "NegotiateContextOffset")?;
        for _ in 0..body.u16(CONTEXT_COUNT, "NegotiateContextCount")? {
            let head = body.variable(at, HEADER_LEN as u32, RESPONSE_END, "NegotiateContext")?;
            let head = body.within(head);
            let length = u32::from(head.u16(2, "DataLength")?);
            // `variable` found the header within the message: neither sum can be too large.
            let data = body.variable(at.saturating_add(HEADER_LEN as u32), length, RESPONSE_END, "NegotiateContext")?;
            chosen.take(head.u16(0, "ContextType")?, &body.within(data))?;
            let end = at.saturating_add(HEADER_LEN as u32).saturating_add(length);
            at = end.checked_next_multiple_of(ALIGNMENT as u32).unwrap_or(u32::MAX);
        }
        if chosen.hash.is_none() {
            return Err(body.malformed("SMB2_PREAUTH_INTEGRITY_CAPABILITIES", Why::Missing));
        }
        Ok(chosen)
    }

    /// Contexts that were not requested are ignored, see 3.2.5.2.
    fn take(&mut self, kind: u16, data: &Body<'_>) -> Result<(), Malformed> {
        // The number chosen stands behind a count, and in a hash's context behind the salt's length too.
        let (name, place, at) = match kind {
            context::PREAUTH_INTEGRITY => ("SMB2_PREAUTH_INTEGRITY_CAPABILITIES", &mut self.hash, 4),
            context::ENCRYPTION => ("SMB2_ENCRYPTION_CAPABILITIES", &mut self.cipher, 2),
            context::SIGNING => ("SMB2_SIGNING_CAPABILITIES", &mut self.signing, 2),
            _ => return Ok(()),
        };
        let count = data.u16(0, name)?;
        if count != 1 {
            return Err(data.malformed(name, Why::Value(count.into())));
        }
        if place.replace(data.u16(at, name)?).is_some() {
            return Err(data.malformed(name, Why::Repeated));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::negotiate::{CAP_LARGE_MTU, SIGNING_REQUIRED};
    use crate::smb2::testing::{Message, refused, whole};

    /// Hand-assembled from 2.2.4: a token of 5 bytes at 0x80, then `contexts`.
    fn response(dialect: u16, count: u16, contexts: impl Fn(Message) -> Message) -> Vec<u8> {
        let head = Message::response(0, 0).u16(65).u16(SIGNING_REQUIRED.into()).u16(dialect).u16(count);
        let sizes = head.put(&[9; 16]).u32(CAP_LARGE_MTU).u32(1 << 20).u32(8 << 20).u32(4 << 20);
        let times = sizes.u64(131_000_000_000_000_000).u64(5).u16(0x80).u16(5).u32(0x88);
        contexts(times.put(b"token").put(&[0; 3])).bytes()
    }

    fn chosen(message: Message) -> Message {
        let hash = message.u16(1).u16(38).u32(0).u16(1).u16(32).u16(1).put(&[0xCD; 32]).u16(0);
        let cipher = hash.u16(2).u16(4).u32(0).u16(1).u16(2).u32(0);
        let unknown = cipher.u16(0x77).u16(3).u32(0).put(&[1, 2, 3]).put(&[0; 5]);
        unknown.u16(8).u16(4).u32(0).u16(1).u16(2)
    }

    #[test]
    fn what_was_chosen() {
        let bytes = response(DIALECT_311, 4, chosen);
        let answer = parse(&whole(&bytes)).unwrap().done().unwrap();
        assert_eq!(answer.chosen, Chosen { hash: Some(1), cipher: Some(2), signing: Some(2) });
        assert_eq!((answer.dialect, answer.security_mode), (0x0311, 2));
        assert_eq!((answer.capabilities, answer.server_guid), (CAP_LARGE_MTU, [9; 16]));
        assert_eq!((answer.max_transact, answer.max_read, answer.max_write), (1 << 20, 8 << 20, 4 << 20));
        assert_eq!((answer.system_time, answer.start_time), (131_000_000_000_000_000, 5));
        assert_eq!(answer.security_buffer, b"token");
        refused(&bytes, |reply| parse(reply).map(Answer::refusal));
    }

    #[test]
    fn older_dialects_choose_nothing_more() {
        // The contexts' fields are reserved there: their values are ignored.
        let bytes = response(0x0302, 0xFFFF, |message| message);
        let answer = parse(&whole(&bytes)).unwrap().done().unwrap();
        assert_eq!((answer.dialect, answer.chosen), (0x0302, Chosen::default()));
    }

    #[test]
    fn what_cannot_be_is_named() {
        let field = |bytes: Vec<u8>| parse(&whole(&bytes)).unwrap_err().field;
        assert_eq!(field(response(0x0312, 0, |message| message)), "DialectRevision");
        assert_eq!(field(response(DIALECT_311, 0, |message| message)), "SMB2_PREAUTH_INTEGRITY_CAPABILITIES");
        assert_eq!(field(response(DIALECT_311, 5, chosen)), "NegotiateContext", "one more than there are");
        let two = |message: Message| message.u16(1).u16(8).u32(0).u16(2).u16(0).u16(1).u16(1);
        assert_eq!(field(response(DIALECT_311, 1, two)), "SMB2_PREAUTH_INTEGRITY_CAPABILITIES", "two hashes");
        let twice = |message| chosen(chosen(message).u32(0));
        assert_eq!(field(response(DIALECT_311, 8, twice)), "SMB2_PREAUTH_INTEGRITY_CAPABILITIES", "twice");
        let mut bytes = response(DIALECT_311, 4, chosen);
        bytes[CONTEXT_OFFSET..CONTEXT_OFFSET + 4].fill(0xFF);
        assert_eq!(field(bytes), "NegotiateContext");
        let mut bytes = response(DIALECT_311, 4, chosen);
        bytes[RESPONSE_BUFFER + 3] = 0xFF;
        assert_eq!(field(bytes), "SecurityBuffer");
    }
}
