//! Packets that are already in the order of their times, as nearly all are.
//!
//! Where two consecutive blocks of packets are in order, sorting would change nothing (see `time_order.rs`): the packets of the first block
//! are returned without a copy, and only the position up to which they are in order is stored. Everything else goes to
//! `TimeOrder`: a packet out of order, an invalid record, the end of the input.

use super::ahead;
use super::byte_window::ByteWindow;
use super::parser::Parser;
use super::pcap::{Pcap, Record};
use super::time_order::{KEPT_BYTES, LOOK_AHEAD};
use super::{CaptureError, Captures, LinkType};

/// A run of consecutive packets in order.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    packets: usize,
    bytes: usize,
    /// The latest time in the run; of an empty run, the latest time before it.
    latest: i64,
}

impl Run {
    /// An empty one behind this.
    fn next(self) -> Self {
        Self { packets: 0, bytes: 0, latest: self.latest }
    }

    /// As many packets as stay in `TimeOrder` between two blocks.
    #[inline]
    fn is_enough(&self) -> bool {
        self.packets >= LOOK_AHEAD || self.bytes as u64 > KEPT_BYTES
    }

    /// Looks at the record behind it, at `at` in the window. False if it is not in order, or no whole and sound record.
    #[inline]
    fn look(&mut self, pcap: &Pcap, window: &[u8], is_mapped: bool, at: usize) -> bool {
        let Some(record) = window.get(at..).and_then(|rest| pcap.peek(rest)) else { return false };
        if record.time_ns < self.latest {
            return false;
        }
        self.latest = record.time_ns;
        self.packets += 1;
        self.bytes += record.end;
        // Bytes that were read (not mapped) are in the cache already.
        if is_mapped {
            ahead::ask(window, at + record.end, record.end);
        }
        true
    }
}

/// State of the check, relative to the reader's position.
#[derive(Debug, Default)]
pub(super) struct Ordered {
    /// Number of packets that may be returned without sorting.
    ready: usize,
    /// The run of ordered packets after these, and the run after that, as far as it was checked.
    behind: Run,
    next: Run,
    /// The position after all checked packets.
    to: usize,
}

impl Ordered {
    /// The next packet's record, if it may be returned. Each call also checks one record further on, so that waiting for memory and the
    /// work on packets overlap.
    #[inline]
    pub(super) fn take(&mut self, parser: &Parser, window: &ByteWindow) -> Option<(Record, LinkType)> {
        if self.ready == 0 {
            return None;
        }
        let Parser::Pcap(pcap) = parser else { return None };
        let bytes = window.whole();
        if !self.next.is_enough() {
            self.look(pcap, bytes, window.is_mapped());
        }
        self.ready -= 1;
        bytes.get(window.position()..).and_then(|rest| pcap.peek(rest)).map(|record| (record, pcap.link))
    }

    /// Whether there is one.
    pub(super) fn is_ready(&self) -> bool {
        self.ready > 0
    }

    #[inline]
    fn look(&mut self, pcap: &Pcap, window: &[u8], is_mapped: bool) -> bool {
        let bytes = self.next.bytes;
        let is_next = self.next.look(pcap, window, is_mapped, self.to);
        self.to += self.next.bytes - bytes;
        is_next
    }

    /// Checks records until the run is long enough. Returns false if it ends before that.
    fn look_on(&mut self, pcap: &Pcap, window: &ByteWindow) -> bool {
        while !self.next.is_enough() {
            if !self.look(pcap, window.whole(), window.is_mapped()) {
                return false;
            }
        }
        true
    }
}

impl Captures {
    /// Looks ahead. Whether packets may be given out: those in `TimeOrder`, or, if there are none, those where the reader stands.
    pub(super) fn look_ahead(&mut self) -> Result<bool, CaptureError> {
        let none_waits = self.time_order.is_empty();
        if self.ordered.ready > 0 || self.ordered.behind.packets == 0 {
            let next = Run { latest: self.time_order.latest(), ..Run::default() };
            self.ordered = Ordered { next, to: self.window.position(), ..Ordered::default() };
        }
        while self.failed.is_none() && !self.stop.asked() && self.is_next_in_order(none_waits)? {
            let Ordered { behind, next, to, .. } = self.ordered;
            self.ordered = Ordered { ready: 0, behind: next, next: next.next(), to };
            if !none_waits {
                self.time_order.release();
                return Ok(true);
            }
            if behind.packets > 0 {
                self.ordered.ready = behind.packets;
                self.time_order.passed(behind.latest);
                return Ok(true);
            }
        }
        self.ordered = Ordered::default();
        Ok(false)
    }

    /// Whether enough packets behind those that are known are in order. If `none_waits` in `TimeOrder`, more of a plain file is read or
    /// mapped.
    fn is_next_in_order(&mut self, none_waits: bool) -> Result<bool, CaptureError> {
        let Parser::Pcap(pcap) = &self.parser else { return Ok(false) };
        if self.ordered.look_on(pcap, &self.window) {
            return Ok(true);
        }
        let is_whole = |window: &[u8]| window.get(self.ordered.to..).is_some_and(|rest| pcap.peek(rest).is_some());
        if !none_waits || is_whole(self.window.whole()) {
            return Ok(false);
        }
        let known = self.ordered.to - self.window.position();
        self.window.keep_from(self.window.place());
        match self.window.go_on() {
            Ok(true) => self.ordered.to = self.window.position() + known,
            Ok(false) => return Ok(false),
            Err(stop) => return self.stop(stop).map(|()| false),
        }
        let Parser::Pcap(pcap) = &self.parser else { return Ok(false) };
        Ok(self.ordered.look_on(pcap, &self.window))
    }
}
