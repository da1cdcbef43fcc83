//! CREATE_SESSION: slots for requests.
//!
//! Spec: RFC 8881 18.36

use super::Call;
use super::sequence::SessionId;
use crate::xdr::{Emit, Malformed, Strict};

/// CREATE_SESSION4_FLAG_CONN_BACK_CHAN: the server may call on this connection.
pub const BACK_CHANNEL: u32 = 2;

/// What both sides can take on a channel (`channel_attrs4`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Longest request, bytes.
    pub request: u32,
    /// Longest response, bytes.
    pub response: u32,
    /// Longest response that is kept to be sent again, bytes.
    pub cached: u32,
    /// Operations of a compound, at most.
    pub operations: u32,
    /// Slots: requests that are on their way at once, at most.
    pub slots: u32,
}

impl Channel {
    /// Appends it.
    pub fn emit(&self, out: &mut Vec<u8>) {
        // No padding before headers.
        out.put_u32(0);
        let Self { request, response, cached, operations, slots } = *self;
        [request, response, cached, operations, slots].iter().for_each(|&word| out.put_u32(word));
        // No RDMA.
        out.put_u32(0);
    }

    /// Reads it.
    ///
    /// # Errors
    /// The bytes end before, or violate the specification.
    pub fn parse(reader: &mut Strict<'_>) -> Result<Self, Malformed> {
        reader.u32()?;
        let (request, response, cached) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let (operations, slots) = (reader.u32()?, reader.u32()?);
        match reader.u32()? {
            0 => {}
            1 => reader.fixed(4).map(|_| ())?,
            _ => return Err(Malformed),
        }
        Ok(Self { request, response, cached, operations, slots })
    }
}

/// The call.
#[derive(Clone, Copy, Debug)]
pub struct CreateSession {
    /// The client's id.
    pub client: u64,
    /// As EXCHANGE_ID said, one more with each session.
    pub sequence: u32,
    /// [`BACK_CHANNEL`].
    pub flags: u32,
    /// Requests of the client.
    pub fore: Channel,
    /// Requests of the server.
    pub back: Channel,
    /// Program of the server's calls: any number that the client likes.
    pub callback: u32,
}

impl Call for CreateSession {
    const OPERATION: u32 = 43;

    fn emit(&self, out: &mut Vec<u8>) {
        out.put_u64(self.client);
        out.put_u32(self.sequence);
        out.put_u32(self.flags);
        self.fore.emit(out);
        self.back.emit(out);
        out.put_u32(self.callback);
        // callback_sec_parms4: the server calls with AUTH_NONE.
        out.put_u32(1);
        out.put_u32(0);
    }
}

/// A session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The call's sequence id again.
    pub sequence: u32,
    /// Which of the flags hold.
    pub flags: u32,
    /// Requests of the client.
    pub fore: Channel,
    /// Requests of the server.
    pub back: Channel,
}

pub(super) fn parse(reader: &mut Strict<'_>) -> Result<Session, Malformed> {
    let id = reader.array()?;
    let (sequence, flags) = (reader.u32()?, reader.u32()?);
    Ok(Session { id, sequence, flags, fore: Channel::parse(reader)?, back: Channel::parse(reader)? })
}
