//! TCP segments.

use serde::{Deserialize, Serialize};

/// The flags that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// Sender is done.
    pub fn fin(self) -> bool {
        self.0 & 0x01 != 0
    }
    /// Sender is done, or the connection is broken off.
    pub fn ends(self) -> bool {
        self.0 & 0x05 != 0
    }
    /// Connection opens, ends, or is broken off.
    pub fn opens_or_ends(self) -> bool {
        self.0 & 0x07 != 0
    }
    /// Connection opens.
    pub fn syn(self) -> bool {
        self.0 & 0x02 != 0
    }
    /// Connection is broken off.
    pub fn rst(self) -> bool {
        self.0 & 0x04 != 0
    }
    /// The acknowledgement number counts.
    pub fn ack(self) -> bool {
        self.0 & 0x10 != 0
    }
}

/// A TCP segment. Functions that few segments reach take it by value: a reference would make the compiler write every segment to memory.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Sequence number of the first payload byte (of the SYN, where there is one).
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// The window, not scaled.
    pub window: u16,
    /// The scale that a SYN announces for all further windows of its sender (RFC 7323 2.2).
    pub window_scale: Option<u8>,
    /// The captured part of the payload.
    pub payload: &'a [u8],
    /// Length of the payload on the wire, bytes.
    pub wire_len: u32,
}

/// A TCP segment that owns its payload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SegmentBuf {
    /// See [`Segment::seq`].
    pub seq: u32,
    /// See [`Segment::ack`].
    pub ack: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// See [`Segment::window`].
    pub window: u16,
    /// See [`Segment::window_scale`].
    pub window_scale: Option<u8>,
    /// The captured part of the payload.
    pub payload: Vec<u8>,
    /// See [`Segment::wire_len`].
    pub wire_len: u32,
}

impl SegmentBuf {
    /// A copy.
    pub fn of(segment: &Segment<'_>) -> Self {
        let Segment { seq, ack, flags, window, window_scale, payload, wire_len } = *segment;
        Self { seq, ack, flags, window, window_scale, payload: payload.to_vec(), wire_len }
    }

    /// The segment.
    pub fn as_segment(&self) -> Segment<'_> {
        let Self { seq, ack, flags, window, window_scale, ref payload, wire_len } = *self;
        Segment { seq, ack, flags, window, window_scale, payload, wire_len }
    }
}
