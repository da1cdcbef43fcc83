//! The pcapng capture format: sections, interfaces, and packets of three kinds; all other blocks are skipped.
//!
//! Spec: draft-ietf-opsawg-pcapng-03 3 and 4
//!
//! Each section has its own byte order, each interface its own link type, clock resolution and clock offset. A packet that names an
//! undescribed interface, or does not fit its block, counts as a bad record and is skipped: the block's length still gives the position
//! of the next block.

pub(crate) mod blocks;
#[cfg(any(target_os = "linux", feature = "anonymize"))]
pub(crate) mod writer;

use blocks::{
    BYTE_ORDER, ENHANCED_PACKET, EPB_DROPCOUNT, IF_NAME, IF_TSOFFSET, IF_TSRESOL, INTERFACE_DESCRIPTION,
    INTERFACE_STATISTICS, ISB_ENDTIME, ISB_IFDROP, ISB_OSDROP, ISB_STARTTIME, OPT_COMMENT, OPT_ENDOFOPT, PACKET,
    SECTION_HEADER, SHB_USERAPPL, SIMPLE_PACKET,
};

use super::byte_window::{ByteWindow, LONGEST_NEED};
use super::bytes::Order;
use super::downtimes::Downtimes;
use super::error::Stop;
use super::link::LinkType;
use super::located::Located;
use super::resolution::Resolution;
use super::{CaptureAnomalies, MAX_PACKET_BYTES};

/// The type of a section header block, the same in both byte orders, and so the file's first bytes.
pub(super) const MAGIC: &[u8] = &[0x0a, 0x0d, 0x0d, 0x0a];
/// Blocks that hold no packets: name resolution, decryption secrets, and the custom ones.
const NO_PACKETS: [u32; 4] = [4, 0x0a, 0x0bad, 0x4000_0bad];

/// Type and length before a block's body, length behind it.
const BLOCK_HEADER: usize = 8;
const BLOCK_OVERHEAD: usize = 12;
/// The shortest section header block.
const SHORTEST_SECTION: u32 = 28;
/// Bytes before the options of a section header block.
const SECTION_OPTIONS: usize = 24;
/// The options of a longer section header block are not read; its comments are long.
const MAX_SECTION_HEADER: u32 = 64 << 10;
/// Comment in the last statistics of an interface that was removed while Plimsoll captured it.
pub(crate) const INTERFACE_REMOVED: &[u8] = b"the interface was removed: its capture ended";
/// Name of the interface in a file of `plimsoll run --tap`.
pub(crate) const CAPTURE_OF_TAP: &[u8] = b"tap";
/// Bytes before the packet in an enhanced packet block and in a packet block.
const PACKET_HEADER: usize = 28;
/// Bytes before the packet in a simple packet block.
const SIMPLE_HEADER: usize = 12;
/// More interfaces than this in a section are refused, so that a file cannot fill the memory with them.
const MAX_INTERFACES: usize = 64 << 10;

/// One interface of a section.
#[derive(Debug)]
struct Interface {
    link: LinkType,
    /// The most bytes kept of a packet; 0 is no limit.
    snaplen: u32,
    clock: Resolution,
    /// Losses so far, by its statistics or by its packets.
    drops: u64,
    /// Losses so far by its packets alone: the statistics may count the same ones.
    drops_by_packets: u64,
    /// When it went down, while it is.
    down_since_ns: Option<i64>,
    /// It is the tap of a load generator, which leaves out file data by design: no snap length cut its packets.
    is_tap: bool,
}

impl Interface {
    /// It has lost this number of packets so far.
    fn lost(&mut self, drops: u64, anomalies: &mut CaptureAnomalies) {
        let more = drops.saturating_sub(self.drops);
        anomalies.reported_drops = anomalies.reported_drops.saturating_add(more);
        self.drops = self.drops.max(drops);
    }
}

/// A reader of one pcapng file.
#[derive(Debug)]
pub(super) struct Pcapng {
    order: Order,
    interfaces: Vec<Interface>,
    /// Plimsoll wrote the section.
    is_own: bool,
}

/// A packet of a block.
struct Packet {
    located: Located,
    /// Its time cannot be represented.
    untimed: bool,
    /// A tap left out file data.
    shortened_by_tap: bool,
    interface: usize,
    /// Packets that the capture lost before it.
    drops: u64,
}

impl Pcapng {
    /// Reads the first section header, so that a file that only begins like one is refused at once.
    pub(super) fn open(window: &mut ByteWindow) -> Result<Self, Stop> {
        let mut this = Self { order: Order::Little, interfaces: Vec::new(), is_own: false };
        window.rest(BLOCK_OVERHEAD)?;
        this.section(window)?;
        Ok(this)
    }

    /// The next packet, None at the end of the file.
    pub(super) fn next(
        &mut self,
        window: &mut ByteWindow,
        anomalies: &mut CaptureAnomalies,
        downtimes: &Downtimes,
    ) -> Result<Option<Located>, Stop> {
        while window.record(BLOCK_OVERHEAD)? {
            let header = window.available();
            let kind = self.order.u32(header, 0);
            if kind == SECTION_HEADER {
                self.section(window)?;
                continue;
            }
            let len = self.order.u32(header, 4);
            if !len.is_multiple_of(4) || (len as usize) < BLOCK_OVERHEAD {
                let what = format!("a block of type {kind:#x} has the invalid length {len}");
                return Err(Stop::Bad { offset: window.offset(), what });
            }
            let packet = matches!(kind, PACKET | SIMPLE_PACKET | ENHANCED_PACKET);
            let known = packet || matches!(kind, INTERFACE_DESCRIPTION | INTERFACE_STATISTICS);
            if !known || len as usize > LONGEST_NEED {
                anomalies.bad_records += u64::from(packet);
                anomalies.skipped_blocks += u64::from(!packet && !NO_PACKETS.contains(&kind));
                window.skip(u64::from(len))?;
                continue;
            }
            let len = len as usize;
            window.rest(len)?;
            self.check_trailer(window, len)?;
            if packet {
                let found = self.packet(kind, window.available().get(..len).unwrap_or_default(), window.place());
                window.pass(len);
                match found {
                    Some(packet) => {
                        anomalies.unusable_times += u64::from(packet.untimed);
                        anomalies.shortened_by_tap += u64::from(packet.shortened_by_tap);
                        if packet.drops > 0 {
                            self.lost_before(&packet, anomalies);
                        }
                        return Ok(Some(packet.located));
                    }
                    None => anomalies.bad_records += 1,
                }
                continue;
            }
            let block = window.available().get(..len).unwrap_or_default();
            if kind == INTERFACE_STATISTICS {
                self.statistics(block, anomalies, downtimes);
            } else if !self.interface(block) {
                let what = format!(
                    "the interface description is too short, or the section has more than {MAX_INTERFACES} interfaces"
                );
                return Err(Stop::Bad { offset: window.offset(), what });
            }
            window.consume(len);
        }
        Ok(None)
    }

    /// A section header: byte order, version, and a new list of interfaces.
    fn section(&mut self, window: &mut ByteWindow) -> Result<(), Stop> {
        let offset = window.offset();
        window.rest(SHORTEST_SECTION as usize)?;
        let header = window.available();
        self.order = match Order::Big.u32(header, 8) {
            BYTE_ORDER => Order::Big,
            swapped if swapped.swap_bytes() == BYTE_ORDER => Order::Little,
            other => {
                return Err(Stop::Bad {
                    offset,
                    what: format!("a section header has the invalid byte-order magic {other:#x}"),
                });
            }
        };
        let len = self.order.u32(header, 4);
        let version = (self.order.u16(header, 12), self.order.u16(header, 14));
        if !len.is_multiple_of(4) || len < SHORTEST_SECTION {
            return Err(Stop::Bad { offset, what: format!("a section header has the invalid length {len}") });
        }
        if version.0 != 1 {
            return Err(Stop::Unsupported(format!("pcapng version {}.{} is not supported", version.0, version.1)));
        }
        self.is_own = false;
        if len <= MAX_SECTION_HEADER {
            window.rest(len as usize)?;
            let block = window.available().get(..len as usize).unwrap_or_default();
            let mut applications = self.options(block, SECTION_OPTIONS).filter(|(code, _)| *code == SHB_USERAPPL);
            self.is_own = applications.any(|(_, name)| name.starts_with(b"plimsoll "));
        }
        window.skip(u64::from(len))?;
        self.interfaces.clear();
        Ok(())
    }

    /// The length after a block must repeat the length before it; otherwise the next block's position is unknown.
    fn check_trailer(&self, window: &ByteWindow, len: usize) -> Result<(), Stop> {
        let trailer = self.order.u32(window.available(), len - 4) as usize;
        if trailer == len {
            return Ok(());
        }
        let what = format!("the two length fields of a block differ: {len} before the data, {trailer} after the data");
        Err(Stop::Bad { offset: window.offset(), what })
    }

    /// An interface description. False if it is too short, or one too many.
    fn interface(&mut self, block: &[u8]) -> bool {
        if block.len() < 20 || self.interfaces.len() >= MAX_INTERFACES {
            return false;
        }
        let link = LinkType::from_registry(u32::from(self.order.u16(block, 8)));
        let (mut unit, mut offset_s, mut is_tap) = (None, 0, false);
        for (code, value) in self.options(block, 16) {
            match (code, value.len()) {
                (IF_NAME, _) => is_tap = self.is_own && value == CAPTURE_OF_TAP,
                (IF_TSRESOL, 1) => unit = value.first().copied(),
                (IF_TSOFFSET, 8) => offset_s = self.order.u64(value, 0) as i64,
                _ => {}
            }
        }
        let clock = Resolution::new(unit.unwrap_or(6), offset_s);
        self.interfaces.push(Interface {
            link,
            snaplen: self.order.u32(block, 12),
            clock,
            drops: 0,
            drops_by_packets: 0,
            down_since_ns: None,
            is_tap,
        });
        true
    }

    /// Interface statistics: drops by the interface and by the system. Of another program only the greater one is certain, because both
    /// may have counted the same packets; Plimsoll's own counts have none in common. An end of the capture without a start says when the
    /// interface went down, and a start without an end says when it was up again (`interface/section.rs`). Both say, in a section of
    /// Plimsoll, until when it captured. Other programs write both or neither, and their end may be the time of the last packet.
    fn statistics(&mut self, block: &[u8], anomalies: &mut CaptureAnomalies, downtimes: &Downtimes) {
        let order = self.order;
        let value = |wanted: u16| {
            let mut values = self.options(block, 20).filter(|&(code, value)| code == wanted && value.len() == 8);
            values.next().map(|(_, value)| value)
        };
        let [by_card, by_system] =
            [ISB_IFDROP, ISB_OSDROP].map(|code| value(code).map_or(0, |value| order.u64(value, 0)));
        let drops = if self.is_own { by_card.saturating_add(by_system) } else { by_card.max(by_system) };
        let ticks = |bytes: &[u8], at| u64::from(order.u32(bytes, at)) << 32 | u64::from(order.u32(bytes, at + 4));
        let time = |code| value(code).map(|value| ticks(value, 0));
        let (started, ended, written) = (time(ISB_STARTTIME), time(ISB_ENDTIME), ticks(block, 12));
        let is_removed = self.options(block, 20).any(|(code, text)| code == OPT_COMMENT && text == INTERFACE_REMOVED);
        if let Some(interface) = self.interfaces.get_mut(self.order.u32(block, 8) as usize) {
            match (started, ended) {
                (None, Some(ended)) => {
                    interface.down_since_ns = interface.clock.time_ns(ended);
                    if let Some(ns) = interface.down_since_ns {
                        anomalies.downtime.begin(ns);
                        downtimes.begin(ns);
                    }
                }
                (Some(started), None) => {
                    let from_ns = interface.down_since_ns.take();
                    if let (Some(from_ns), Some(ns)) = (from_ns, interface.clock.time_ns(started)) {
                        anomalies.downtime.end(from_ns, ns);
                        downtimes.end(from_ns, ns);
                    }
                }
                // Both times are that of the block: damage of one of them is noticed.
                (Some(_), Some(ended)) if self.is_own && written == ended => {
                    anomalies.captured_until_ns = anomalies.captured_until_ns.max(interface.clock.time_ns(ended));
                    anomalies.interfaces_removed += u64::from(is_removed);
                }
                _ => {}
            }
            interface.lost(drops, anomalies);
        }
    }

    /// The capture lost packets before this one.
    #[cold]
    fn lost_before(&mut self, packet: &Packet, anomalies: &mut CaptureAnomalies) {
        if let Some(interface) = self.interfaces.get_mut(packet.interface) {
            interface.drops_by_packets = interface.drops_by_packets.saturating_add(packet.drops);
            interface.lost(interface.drops_by_packets, anomalies);
        }
    }

    fn packet(&self, kind: u32, block: &[u8], place: u64) -> Option<Packet> {
        let order = self.order;
        let (number, header) = match kind {
            SIMPLE_PACKET => (0, SIMPLE_HEADER),
            PACKET => (u32::from(order.u16(block, BLOCK_HEADER)), PACKET_HEADER),
            _ => (order.u32(block, BLOCK_HEADER), PACKET_HEADER),
        };
        let room = block.len().checked_sub(header + 4)?;
        let interface = self.interfaces.get(number as usize)?;
        let (captured, original_len) = if kind == SIMPLE_PACKET {
            let original = order.u32(block, BLOCK_HEADER);
            let limit = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
            (original.min(limit), original)
        } else {
            (order.u32(block, 20), order.u32(block, 24))
        };
        if captured > MAX_PACKET_BYTES || captured as usize > room {
            return None;
        }
        let time_ns = if kind == SIMPLE_PACKET {
            None
        } else {
            let ticks = u64::from(order.u32(block, 12)) << 32 | u64::from(order.u32(block, 16));
            interface.clock.time_ns(ticks)
        };
        let untimed = kind != SIMPLE_PACKET && time_ns.is_none();
        let (start, len) = (place + header as u64, captured as usize);
        let located = Located { start, len, original_len, time_ns, link: interface.link };
        let shortened_by_tap = interface.is_tap && captured < original_len;
        let drops = self.drops_before(kind, block, len);
        Some(Packet { located, untimed, shortened_by_tap, interface: number as usize, drops })
    }

    /// Packets that the capture lost before the packet of a block, `len` bytes of which were captured.
    fn drops_before(&self, kind: u32, block: &[u8], len: usize) -> u64 {
        match kind {
            // All bits are set if the number is unknown.
            PACKET => Some(self.order.u16(block, 10)).filter(|&drops| drops != u16::MAX).map_or(0, u64::from),
            ENHANCED_PACKET => {
                let mut options = self.options(block, PACKET_HEADER + len.next_multiple_of(4));
                let drops = options.find(|&(code, value)| code == EPB_DROPCOUNT && value.len() == 8);
                drops.map_or(0, |(_, value)| self.order.u64(value, 0))
            }
            _ => 0,
        }
    }

    /// The options of a block from `at` on: code and value, until the end mark, the trailer or the first that does not fit.
    fn options<'a>(&self, block: &'a [u8], at: usize) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
        let order = self.order;
        let mut rest = block.get(at..block.len().saturating_sub(4)).unwrap_or_default();
        std::iter::from_fn(move || {
            let (header, tail) = rest.split_first_chunk::<4>()?;
            let (code, len) = (order.u16(header, 0), usize::from(order.u16(header, 2)));
            let value = tail.get(..len)?;
            rest = tail.get(len.next_multiple_of(4)..).unwrap_or_default();
            (code != OPT_ENDOFOPT).then_some((code, value))
        })
    }
}
