//! Messages: where one SMB or RPC message ends in a stream and the next begins.
//!
//! Only the head of a message is kept; the payload of reads and writes is stepped over. After a hole, lengths lead
//! across it where they can; where a header was lost, the next message is found again by its signature.

mod framer;
mod prefix;
mod signature;
pub(crate) mod tls;

use serde::{Deserialize, Serialize};

pub use framer::{Faults, Framer, LongMessages};
pub use prefix::Framing;
pub use signature::{HEADER_NEED, is_call, is_reply, recognise, smb_headers};

use crate::packet::Stamp;

/// One SMB or RPC message.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Its head as captured, behind the framing prefix and without record marks; contiguous from the first byte.
    pub bytes: &'a [u8],
    /// Its length on the wire, bytes, without framing prefix.
    pub len: u64,
    /// First byte.
    pub first: Stamp,
    /// The byte that arrived last, wherever it stands; `None` where a hole hides the end.
    pub last: Option<Stamp>,
    /// How long it waited for bytes that filled a gap in the stream, ns; `None` where bytes of it were not seen, and over UDP.
    pub resent_wait_ns: Option<u64>,
    /// Stream offset behind its last byte; 0 over UDP.
    pub end_offset: u64,
    /// Acknowledged offset in the other direction, from the packet with the message's first byte; 0 over UDP.
    pub acknowledges: u64,
    /// Packets that carried it, as far as seen.
    pub packets: u32,
    /// Stream offset of the message's prefix; 0 over UDP.
    pub begin_offset: u64,
    /// Record marks within the message.
    pub marks: &'a [FragmentMark],
    /// The message's kind.
    pub content: Content,
}

/// A message in one packet, all of which was captured.
#[cfg(test)]
pub(crate) fn whole(bytes: &[u8], stamp: Stamp) -> Message<'_> {
    Message {
        bytes,
        len: bytes.len() as u64,
        first: stamp,
        last: Some(stamp),
        resent_wait_ns: Some(0),
        end_offset: 0,
        acknowledges: 0,
        packets: 1,
        begin_offset: 0,
        marks: &[],
        content: Content::Message,
    }
}

/// The content after a prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    /// A message with a header of a known protocol.
    #[default]
    Message,
    /// A block of SMB1 raw data, without a header.
    Raw,
    /// A packet of this type of the NetBIOS session service, which carries no message.
    Service(u8),
    /// The prefix itself, and behind it too little of a header to tell: `bytes` has both, as far as they were captured.
    Beginning,
}

/// The mark of a further fragment of an RPC record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FragmentMark {
    /// Number of message bytes before the mark.
    pub at: u64,
    /// The mark; bytes in a hole are zero.
    pub bytes: [u8; 4],
}
