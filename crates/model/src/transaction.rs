//! One request and its answer.

use serde::{Deserialize, Serialize};

use crate::{Asked, Endpoint, Frames, Outcome, Procedure, Symbol, Timeline, Vantage};

/// One request and its answer, or one request that got none.
///
/// Sizes are in bytes and count whole protocol messages (SMB or RPC, without framing prefix); for a member of a
/// compound they are the member's own part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transaction {
    /// What went over the wire.
    pub procedure: Procedure,
    /// The side that asked; for a callback ([`Procedure::is_callback`]) the side that answered.
    pub client: Endpoint,
    /// The other side.
    pub server: Endpoint,
    /// Number of the connection within this capture or run, from 0.
    pub connection: u32,
    /// SMB session ID, or a hash of an NFS 4.1 session ID, where known.
    pub session: Option<u64>,
    /// Share or export, where known.
    pub share: Symbol,
    /// Path of the object within the share, where known.
    pub path: Symbol,
    /// Account (SMB) or numeric uid (AUTH_SYS), where known.
    pub user: Symbol,
    /// SMB1 pid<<16|mid, SMB2 message id, RPC xid; `None` where cut off.
    pub id: Option<u64>,
    /// Place in its compound or AndX chain, from 0; `None` for a request that was alone.
    pub compound_position: Option<u16>,
    /// Status as on the wire; `None` when unanswered or cut off.
    pub status: Option<u32>,
    /// How it ended.
    pub outcome: Outcome,
    /// File data carried by a read's answer or a write's request, bytes; of a write's data what the server wrote, where its answer says so
    /// (SMB2, NFS 3 and 4).
    pub payload_bytes: Option<u64>,
    /// Size of the request, bytes; `None` for an operation inside an NFSv4 compound that is not `counted`.
    pub request_bytes: Option<u64>,
    /// Size of the final response, bytes; `None` likewise.
    pub response_bytes: Option<u64>,
    /// Packets that carried the request; 0 without packet data.
    pub request_packets: u32,
    /// Packets that carried the final response.
    pub response_packets: Option<u32>,
    /// When things happened.
    pub timeline: Timeline,
    /// Where in the capture they stand.
    pub frames: Frames,
    /// Whose clock it was.
    pub vantage: Vantage,
    /// Number of the load level, from 0; `None` outside a measured phase, and where there are no load levels.
    pub level: Option<u32>,
    /// Waits by design (change notification, blocking lock, named-pipe read): reported apart.
    pub long_lived: bool,
    /// Sums count it. Of an NFSv4 compound one row does: the operation that it is about, with the sizes of the whole; or the
    /// whole, where that is not known.
    pub counted: bool,
    /// How long its messages waited for bytes that TCP had to send again (or that were overtaken), ns: 0 where nothing was sent
    /// again, `None` where it is not known.
    pub resent_wait_ns: Option<u64>,
    /// Parameters of the request.
    pub asked: Asked,
    /// The simulated client of a run, from 0; `None` in a capture, and for requests that no client made itself.
    pub client_index: Option<u32>,
}

impl Transaction {
    /// File data that it moved, bytes, if the request succeeded. The data of a write without an answer, or of a refused one, was sent,
    /// but may not have been written. `None` if the size is unknown, 0 if no data was moved.
    #[inline]
    pub fn moved_bytes(&self) -> Option<u64> {
        match self.outcome {
            Outcome::Succeeded | Outcome::Expected | Outcome::Unknown | Outcome::Cancelled => self.payload_bytes,
            // The part of a Write_Raw without an answer.
            Outcome::Unanswered if self.procedure == Procedure::write_raw_async() => self.payload_bytes,
            Outcome::Unanswered | Outcome::Refused | Outcome::Failed | Outcome::NeverSent => Some(0),
        }
    }

    /// Whether it moved an unknown amount of file data, because the length was cut off. A refused request, or one at the end of the file,
    /// moved none.
    #[inline]
    pub fn has_unknown_payload(&self) -> bool {
        self.payload_bytes.is_none()
            && self.procedure.row().carries_data
            && match self.outcome {
                Outcome::Succeeded | Outcome::Unknown => true,
                // A warning (STATUS_BUFFER_OVERFLOW) comes with data.
                Outcome::Expected => self.status.is_none_or(|status| status >> 30 < 3),
                _ => false,
            }
    }

    /// Whether the size of its request, or of an answer that was seen, is unknown.
    #[inline]
    pub fn has_unknown_size(&self) -> bool {
        self.request_bytes.is_none() || (self.response_bytes.is_none() && self.timeline.response_first.is_some())
    }
}
