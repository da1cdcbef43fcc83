//! The classic capture format of libpcap, with its nanosecond and "modified" variants, in both byte orders.
//!
//! Spec: draft-ietf-opsawg-pcap-04 4 and 5
//!
//! Files before version 2.3 have the two lengths swapped, version 2.3 has them in either order; as in Wireshark, the greater one is the
//! original length. The time zone field is ignored (no writer sets it), and the frame check sequence bits of the link type are masked off
//! (bytes after the IP packet are not payload).

mod variant;

use super::byte_window::ByteWindow;
use super::bytes::Order;
use super::error::Stop;
use super::link::LinkType;
use super::located::Located;
use super::{Format, MAX_PACKET_BYTES};

/// The file header: magic, version, time zone, accuracy, snaplen, link type.
const FILE_HEADER: usize = 24;
/// The record header: seconds, fraction, captured length, original length.
const RECORD_HEADER: usize = 16;
/// The record header of A. Kuznetzov's patched tcpdump: as before, then interface, protocol, packet type.
const MODIFIED_RECORD_HEADER: usize = 24;
/// The registry's numbers use the lower 26 bits of the field; the other bits describe a frame check sequence.
const LINK_TYPE_MASK: u32 = 0x03ff_ffff;

/// Which of the two lengths in a record header comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lengths {
    CapturedFirst,
    OriginalFirst,
    CapturedIsTheSmaller,
}

/// A reader of one pcap file.
#[derive(Debug)]
pub(super) struct Pcap {
    order: Order,
    /// Nanoseconds in a unit of the record header's fraction: 1000 or 1.
    fraction_ns: u32,
    pub(super) link: LinkType,
    record_header: usize,
    lengths: Lengths,
    /// The reason why reading stopped while the first records were examined; it is reported after the packets that were read before.
    stopped: Option<Stop>,
}

/// A record that lies whole and sound at the beginning of the window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    /// Where its packet begins and ends.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) original_len: u32,
    pub(super) time_ns: i64,
}

/// Which byte order and variant the first four bytes tell of: order, nanoseconds in a unit, record header.
fn magic(first: &[u8]) -> Option<(Order, u32, usize)> {
    let found = match Order::Big.u32(first.get(..4)?, 0) {
        0xa1b2_c3d4 => (Order::Big, 1000, RECORD_HEADER),
        0xd4c3_b2a1 => (Order::Little, 1000, RECORD_HEADER),
        0xa1b2_3c4d => (Order::Big, 1, RECORD_HEADER),
        0x4d3c_b2a1 => (Order::Little, 1, RECORD_HEADER),
        0xa1b2_cd34 => (Order::Big, 1000, MODIFIED_RECORD_HEADER),
        0x34cd_b2a1 => (Order::Little, 1000, MODIFIED_RECORD_HEADER),
        _ => return None,
    };
    Some(found)
}

/// Whether these are the first bytes of such a file.
pub(super) fn recognise(first: &[u8]) -> bool {
    magic(first).is_some()
}

impl Pcap {
    /// Reads the file header.
    pub(super) fn open(window: &mut ByteWindow) -> Result<Self, Stop> {
        window.rest(FILE_HEADER)?;
        let header = window.available();
        let Some((order, fraction_ns, record_header)) = magic(header) else {
            return Err(Stop::Bad { offset: 0, what: "no magic number".into() });
        };
        let version = (order.u16(header, 4), order.u16(header, 6));
        if version.0 != 2 {
            return Err(Stop::Unsupported(format!("pcap version {}.{} is not supported", version.0, version.1)));
        }
        let lengths = match version.1 {
            0..=2 => Lengths::OriginalFirst,
            3 => Lengths::CapturedIsTheSmaller,
            _ => Lengths::CapturedFirst,
        };
        let link = LinkType::from_registry(order.u32(header, 20) & LINK_TYPE_MASK);
        window.consume(FILE_HEADER);
        let (record_header, stopped) = if fraction_ns == 1000 && lengths == Lengths::CapturedFirst {
            variant::record_header(window, order, record_header)
        } else {
            (record_header, None)
        };
        Ok(Self { order, fraction_ns, link, record_header, lengths, stopped })
    }

    /// The variant, and the nanoseconds in a unit of its timestamps.
    pub(super) fn describe(&self) -> (Format, u64) {
        let format = match (self.record_header, self.fraction_ns) {
            (RECORD_HEADER, 1) => Format::PcapNanosecond,
            (RECORD_HEADER, _) => Format::Pcap,
            _ => Format::PcapModified,
        };
        (format, u64::from(self.fraction_ns))
    }

    /// The first record of the window, if it is complete and valid. Always inlined: in a command with several loops over packets the
    /// compiler makes it a function, which takes 2 % more instructions for small packets.
    #[inline(always)]
    pub(super) fn peek(&self, window: &[u8]) -> Option<Record> {
        let header = window.first_chunk::<RECORD_HEADER>()?;
        let [seconds, fraction, captured, original_len] = self.order.four_u32(header);
        let (start, end) = (self.record_header, self.record_header + captured as usize);
        // A record without lengths may be damage: `record` looks at it.
        let is_empty = (captured | original_len) == 0;
        if is_empty || captured > MAX_PACKET_BYTES || end > window.len() || self.lengths != Lengths::CapturedFirst {
            return None;
        }
        Some(Record { start, end, original_len, time_ns: self.time(seconds, fraction) })
    }

    /// The next packet, if its record is complete and valid in the window; otherwise None: call [`Pcap::next`].
    #[inline]
    pub(super) fn quick(&self, window: &mut ByteWindow) -> Option<Located> {
        let Record { start, end, original_len, time_ns } = self.peek(window.available())?;
        let place = window.place() + start as u64;
        window.pass(end);
        Some(Located { start: place, len: end - start, original_len, time_ns: Some(time_ns), link: self.link })
    }

    /// The next packet, None at the end of the file.
    pub(super) fn next(&mut self, window: &mut ByteWindow) -> Result<Option<Located>, Stop> {
        match self.record(window) {
            end @ (Ok(None) | Err(Stop::Truncated)) => self.stopped.take().map_or(end, Err),
            other => other,
        }
    }

    fn record(&self, window: &mut ByteWindow) -> Result<Option<Located>, Stop> {
        if !window.record(self.record_header)? {
            return Ok(None);
        }
        let header = window.available();
        let (first, second) = (self.order.u32(header, 8), self.order.u32(header, 12));
        let (captured, original_len) = match self.lengths {
            Lengths::CapturedFirst => (first, second),
            Lengths::OriginalFirst => (second, first),
            Lengths::CapturedIsTheSmaller => (first.min(second), first.max(second)),
        };
        if captured > MAX_PACKET_BYTES {
            let what = format!("a record header says {captured} captured bytes; the limit is {MAX_PACKET_BYTES}");
            return Err(Stop::Bad { offset: window.offset(), what });
        }
        // Space that was reserved and never written, as at the end of a full disk. No program captures a packet of 0 bytes. If nothing
        // follows, the file ends early; a ring may have files without a packet.
        if header.iter().take(RECORD_HEADER).all(|byte| *byte == 0) {
            let offset = window.offset();
            if window.ends_in_zeros()? {
                return Err(Stop::Truncated);
            }
            return Err(Stop::Bad { offset, what: "a record header is all zeros".to_owned() });
        }
        let time_ns = Some(self.time(self.order.u32(header, 0), self.order.u32(header, 4)));
        let len = captured as usize;
        window.rest(self.record_header + len)?;
        let start = window.place() + self.record_header as u64;
        window.pass(self.record_header + len);
        Ok(Some(Located { start, len, original_len, time_ns, link: self.link }))
    }

    /// Seconds are unsigned, as Wireshark has them. A fraction of more than a second is added as it stands.
    #[inline]
    fn time(&self, seconds: u32, fraction: u32) -> i64 {
        i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * i64::from(self.fraction_ns)
    }
}
