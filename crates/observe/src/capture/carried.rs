//! The last packets of a capture file, for the analysis of the next one.
//!
//! Packets are sorted by time (`time_order.rs`), and one of the next file may belong in front of the last ones of this file. So these
//! are not taken yet: they are carried over, and read again in front of the next file.

use std::collections::VecDeque;
use std::io::Cursor;

use serde::{Deserialize, Serialize};

use super::byte_window::{Backing, ByteWindow};
use super::error::Stop;
use super::located::Located;
use super::time_order::{KEPT_BYTES, LOOK_AHEAD};
use super::{Frame, LinkType};

/// Packets that are not taken yet: as many as stay in `TimeOrder` from one block to the next.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Carried {
    packets: VecDeque<Packet>,
    bytes: u64,
    /// The highest number of a packet so far.
    last_number: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Packet {
    number: u64,
    time_ns: Option<i64>,
    link: LinkType,
    original_len: u32,
    bytes: Vec<u8>,
}

impl Packet {
    fn frame(&self) -> Frame<'_> {
        let &Self { number, time_ns, link, original_len, ref bytes } = self;
        Frame { number, time_ns, link, captured: bytes, original_len }
    }
}

impl Carried {
    /// Takes the next packet of the file. Passes the oldest packets to `give` while `LOOK_AHEAD` packets or `KEPT_BYTES` wait.
    pub fn pass(&mut self, frame: &Frame<'_>, mut give: impl FnMut(&Frame<'_>)) {
        self.last_number = self.last_number.max(frame.number);
        let mut bytes = Vec::new();
        while self.packets.len() >= LOOK_AHEAD || self.bytes + frame.captured.len() as u64 > KEPT_BYTES {
            let Some(first) = self.packets.pop_front() else { break };
            give(&first.frame());
            self.bytes -= first.bytes.len() as u64;
            // Its memory is used again.
            bytes = first.bytes;
        }
        bytes.clear();
        bytes.extend_from_slice(frame.captured);
        self.bytes += bytes.len() as u64;
        let &Frame { number, time_ns, link, original_len, .. } = frame;
        self.packets.push_back(Packet { number, time_ns, link, original_len, bytes });
    }

    /// The packets that are carried.
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.packets.iter().map(Packet::frame)
    }

    /// The highest number of a packet so far.
    pub(super) fn last_number(&self) -> u64 {
        self.last_number
    }

    /// As a window over bytes and its parser; `None` where there are none.
    pub(super) fn open(self) -> Option<(ByteWindow, CarriedParser)> {
        if self.packets.is_empty() {
            return None;
        }
        let bytes: Vec<u8> = self.packets.iter().flat_map(|packet| &packet.bytes).copied().collect();
        Some((
            ByteWindow::new(Backing::Memory(Cursor::new(bytes)), false),
            CarriedParser { packets: self.packets, number: 0 },
        ))
    }
}

/// Reads them.
#[derive(Debug)]
pub(super) struct CarriedParser {
    packets: VecDeque<Packet>,
    /// The number of the packet that was read last.
    pub(super) number: u64,
}

impl CarriedParser {
    /// The next packet, None at the end.
    pub(super) fn next(&mut self, window: &mut ByteWindow) -> Result<Option<Located>, Stop> {
        let Some(packet) = self.packets.pop_front() else { return Ok(None) };
        let Packet { number, time_ns, link, original_len, bytes } = packet;
        window.rest(bytes.len())?;
        let start = window.place();
        window.consume(bytes.len());
        self.number = number;
        Ok(Some(Located { start, len: bytes.len(), original_len, time_ns, link }))
    }
}
