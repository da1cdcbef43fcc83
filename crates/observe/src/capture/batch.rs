//! Batches of packets for another thread.
//!
//! Packets in a memory map are not copied, and the batch holds the map; all others are copied.

use std::sync::Arc;

use super::ahead;
use super::byte_window::ByteWindow;
use super::error::CaptureError;
use super::located::Located;
use super::plain::Part;
use super::time_order::Entry;
use super::{Captures, Frame, LinkType, Progress};

/// Packets between one that is looked at and one that memory is asked for.
const AHEAD: usize = 8;
/// The same for what the batch says of a packet, which another processor has written.
const FAR_AHEAD: usize = 4 * AHEAD;
/// Marks the place of copied bytes. Maps are smaller than this, and so are the copies of one window.
const COPIED: u32 = 1 << 31;
/// Marks the length of a packet without a time.
const TIMELESS: u32 = 1 << 31;

/// Bytes of memory that an empty batch keeps for copies, at most: there may be some hundred batches.
const KEPT_BYTES: usize = 64 << 10;

/// Consecutive packets for another thread. A batch is reusable: it keeps some of its memory.
#[derive(Debug, Default)]
pub struct Batch {
    map: Option<Arc<Part>>,
    copied: Vec<u8>,
    /// The number of the first packet.
    first: u64,
    packets: Vec<Handed>,
    bytes: usize,
    progress: Progress,
}

/// A packet of a batch: half a line of the cache, for it goes from processor to processor.
#[derive(Clone, Copy, Debug)]
struct Handed {
    /// 0 if it has none.
    time_ns: i64,
    /// Its number minus that of the first packet.
    number: i32,
    /// Where its first byte is, in the map or, with [`COPIED`], among those that were copied.
    at: u32,
    /// With [`TIMELESS`], if it has no time.
    len: u32,
    original_len: u32,
    link: LinkType,
}

impl Handed {
    #[inline]
    fn len(&self) -> usize {
        (self.len & !TIMELESS) as usize
    }
}

impl Batch {
    /// The packets, in order.
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        let map = self.map.as_ref().map_or(&[][..], |map| &map.bytes);
        self.packets.iter().enumerate().map(move |(at, packet)| {
            if let Some(later) = self.packets.get(at + FAR_AHEAD) {
                ahead::prefetch(later);
            }
            if let Some(soon) = self.packets.get(at + AHEAD)
                && soon.at & COPIED == 0
            {
                ahead::ask_packet(map, soon.at as usize, soon.len());
            }
            let &Handed { time_ns, number, at, len, original_len, link } = packet;
            let from = if at & COPIED == 0 { map } else { &self.copied };
            let at = (at & !COPIED) as usize;
            let captured = from.get(at..at + packet.len()).unwrap_or_default();
            let number = self.first.wrapping_add_signed(i64::from(number));
            Frame { number, time_ns: (len & TIMELESS == 0).then_some(time_ns), link, captured, original_len }
        })
    }

    /// How many there are.
    pub fn packets(&self) -> usize {
        self.packets.len()
    }

    /// Their captured bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Progress of the reader at the end of the batch.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Gives up the packets and the map.
    pub fn clear(&mut self) {
        self.map = None;
        self.copied.clear();
        self.copied.shrink_to(KEPT_BYTES);
        self.packets.clear();
        self.bytes = 0;
    }

    #[inline]
    fn add(&mut self, located: &Located, number: u64, window: &ByteWindow) {
        let &Located { start, len, original_len, time_ns, link } = located;
        let (at, len) = match window.in_map(start, len) {
            Some(at) => (at as u32, len),
            None => {
                let (at, bytes) = (self.copied.len(), window.slice(start, len));
                self.copied.extend_from_slice(bytes);
                (at as u32 | COPIED, bytes.len())
            }
        };
        if self.packets.is_empty() {
            self.first = number;
        }
        self.bytes += len;
        let number = number.wrapping_sub(self.first) as i32;
        let timeless = if time_ns.is_none() { TIMELESS } else { 0 };
        let time_ns = time_ns.unwrap_or_default();
        self.packets.push(Handed { time_ns, number, at, len: len as u32 | timeless, original_len, link });
    }
}

impl Captures {
    /// The next packets, as [`Captures::next`] would give them, in an empty batch. False if there are none.
    ///
    /// # Errors
    /// As [`Captures::next`].
    pub fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, CaptureError> {
        self.window.map_any_pages();
        while !self.time_order.has_ready() && !self.ordered.is_ready() {
            if !self.refill()? {
                return Ok(false);
            }
        }
        // The reader does not move while a batch is filled, so all packets are in one window.
        batch.map = self.window.part().cloned();
        batch.progress = self.progress();
        while let Some(Entry { located, number, .. }) = self.time_order.pop() {
            batch.add(&located, number, &self.window);
        }
        while let Some((record, link)) = self.ordered.take(&self.parser, &self.window) {
            self.number += 1;
            let start = self.window.place() + record.start as u64;
            let len = record.end - record.start;
            let located =
                Located { start, len, original_len: record.original_len, time_ns: Some(record.time_ns), link };
            batch.add(&located, self.number, &self.window);
            self.window.consume(record.end);
        }
        Ok(true)
    }
}
