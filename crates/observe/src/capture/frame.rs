//! A packet as it was captured.

use super::link::LinkType;

/// Maximum length of a packet, bytes, as in libpcap and Wireshark for these link types. A record that claims more counts as damage, and
/// no memory is allocated for it.
pub const MAX_PACKET_BYTES: u32 = 256 << 10;

/// One captured packet, borrowed from the reader until the next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// 1-based, counted across files in order, as in tshark: the position in the capture, whatever the packet's time.
    pub number: u64,
    /// When it was captured, in nanoseconds since the Unix epoch. None where the format has no time (simple packet
    /// blocks of pcapng) or one that 64 bits cannot hold.
    pub time_ns: Option<i64>,
    /// The link layer that the first captured byte belongs to.
    pub link: LinkType,
    /// The bytes that were kept.
    pub captured: &'a [u8],
    /// How long the packet was, in bytes. Some writers set less than was captured.
    pub original_len: u32,
}
