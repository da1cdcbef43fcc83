//! The reader: takes the inputs one after the other, and returns their packets in order.

mod opening;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::anomalies::CaptureAnomalies;
use super::byte_window::ByteWindow;
use super::downtimes::Downtimes;
use super::error::{CaptureError, Stop};
use super::format::FileFormat;
use super::frame::Frame;
use super::input::Input;
use super::located::Located;
use super::ordered::Ordered;
use super::parser::Parser;
use super::stop::StopReading;
use super::time_order::{Entry, TimeOrder};

/// Progress of the reader, on disk: for a compressed file in compressed bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read of all inputs so far. The window reads ahead, by up to 1 MiB.
    pub bytes_read: u64,
    /// The size of all inputs in bytes, None if one of them is a pipe.
    pub bytes_total: Option<u64>,
}

/// A reader of captures, in the order of their first packets.
pub struct Captures {
    inputs: std::vec::IntoIter<Input>,
    current: Box<str>,
    pub(super) window: ByteWindow,
    pub(super) parser: Parser,
    /// Packets that were read and not given out.
    pub(super) time_order: TimeOrder,
    /// State of the search for packets in order, ahead of the reader.
    pub(super) ordered: Ordered,
    /// The error that ended the reading; it is returned after the packets that were read before it.
    pub(super) failed: Option<CaptureError>,
    /// The number of the last frame that was read, and of the last one of the file before.
    pub(super) number: u64,
    number_before: u64,
    /// There were packets in files before the inputs.
    continues: bool,
    anomalies: CaptureAnomalies,
    downtimes: Arc<Downtimes>,
    formats: Vec<FileFormat>,
    bytes_read: Arc<AtomicU64>,
    bytes_total: Option<u64>,
    pub(super) stop: StopReading,
    /// A pipe is being read.
    pipe: bool,
    /// Reading ended before the input did.
    interrupted: bool,
    live: Live,
    /// Nothing came while it was last waited for.
    waited_in_vain: bool,
}

/// Whether packets are given out as they come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Live {
    /// No: a read waits for more.
    #[default]
    Off,
    /// There is more, as far as is known.
    Busy,
    /// Nothing more has come so far.
    Idle,
}

/// The next event of a capture that is read live.
#[derive(Debug)]
pub enum Next<'a> {
    /// A packet.
    Frame(Frame<'a>),
    /// No packet within a tenth of a second or less: the caller can do other work.
    Idle,
    /// All inputs are read.
    End,
}

impl Captures {
    /// From now on packets are returned as they arrive: [`Captures::next_or_idle`]. Their order is the same, except that a packet written
    /// more than 10 ms after younger packets is not sorted.
    #[must_use]
    pub fn as_they_come(mut self) -> Self {
        self.live = Live::Busy;
        self.read_as_it_comes();
        self
    }

    /// Sets the input to live reading, unless it is compressed or its format is read out of order.
    fn read_as_it_comes(&mut self) {
        if self.live != Live::Off && self.parser.looks_ahead() {
            self.window.read_as_it_comes();
        }
    }

    /// The next packet, or that none has come for a while.
    ///
    /// # Errors
    /// As [`Captures::next`].
    pub fn next_or_idle(&mut self) -> Result<Next<'_>, CaptureError> {
        if !self.time_order.has_ready() && !self.ordered.is_ready() && !self.refill()? {
            if self.live != Live::Idle {
                return Ok(Next::End);
            }
            let input = &self.current;
            let more = self.window.wait().map_err(|source| CaptureError::Io { input: input.clone(), source })?;
            self.waited_in_vain = !more;
            return Ok(Next::Idle);
        }
        Ok(self.next()?.map_or(Next::End, Next::Frame))
    }

    /// The next packet, None when all inputs are read.
    ///
    /// # Errors
    /// If an input cannot be read, is in no known format or is damaged before its first packet. The call after an
    /// error goes on with the next input.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "a frame borrows from the reader, which an Iterator cannot say")]
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        loop {
            if let Some(Entry { located, number, .. }) = self.time_order.pop() {
                let Located { start, len, original_len, time_ns, link } = located;
                let captured = self.window.slice(start, len);
                return Ok(Some(Frame { number, time_ns, link, captured, original_len }));
            }
            if let Some((record, link)) = self.ordered.take(&self.parser, &self.window) {
                self.number += 1;
                let (number, time_ns) = (self.number, Some(record.time_ns));
                let captured = self.window.take(record.start, record.end);
                return Ok(Some(Frame { number, time_ns, link, captured, original_len: record.original_len }));
            }
            if !self.refill()? {
                return Ok(None);
            }
        }
    }

    /// Whether reading was ended before the input was.
    pub fn interrupted(&self) -> bool {
        self.interrupted || self.stop.cut_off()
    }

    /// Progress of the reader.
    pub fn progress(&self) -> Progress {
        let bytes_read = self.bytes_read.load(Ordering::Relaxed);
        // A file that is read out of order may be read twice in places.
        let bytes_read = self.bytes_total.map_or(bytes_read, |total| bytes_read.min(total));
        Progress { bytes_read, bytes_total: self.bytes_total }
    }

    /// Damage found so far.
    pub fn anomalies(&self) -> CaptureAnomalies {
        CaptureAnomalies { reordered: self.time_order.reordered, ..self.anomalies }
    }

    /// The times in which the captured interface was down, for live views.
    pub fn downtimes(&self) -> Arc<Downtimes> {
        Arc::clone(&self.downtimes)
    }

    /// The formats of the inputs that were opened so far; empty inputs have no entry.
    pub fn formats(&self) -> &[FileFormat] {
        &self.formats
    }

    /// Drops all data that was not read yet.
    #[cold]
    fn interrupt(&mut self) {
        // A parser that is closed already has read everything.
        self.interrupted |= !matches!(self.parser, Parser::Closed);
        self.parser = Parser::Closed;
        self.inputs = Vec::new().into_iter();
    }

    /// Finds the next packets that may be given out. Whether there are any.
    #[inline(never)]
    pub(super) fn refill(&mut self) -> Result<bool, CaptureError> {
        loop {
            self.time_order.begin();
            if self.look_ahead()? {
                return Ok(true);
            }
            let from = self.time_order.needed_from().unwrap_or_else(|| self.window.place());
            self.window.keep_from(from);
            let number = self.number;
            let all = self.fill(from);
            if self.live == Live::Idle {
                let nothing_new = std::mem::take(&mut self.waited_in_vain) && self.number == number;
                self.time_order.settle_so_far(nothing_new, self.window.place());
                return Ok(self.time_order.has_ready());
            }
            self.time_order.settle(all, self.window.place());
            if self.time_order.has_ready() {
                return Ok(true);
            }
            if all {
                if let Some(failed) = self.failed.take() {
                    return Err(failed);
                }
                // All packets were returned: the memory of the window is free for the report.
                self.window = ByteWindow::empty();
                return Ok(false);
            }
        }
    }

    /// Fills the block from position `from` on. Returns whether the block can be returned: no later packet can belong before its packets.
    fn fill(&mut self, from: u64) -> bool {
        if self.live == Live::Idle {
            self.live = Live::Busy;
        }
        // There is room for one more at least; were there none, waiting for it would never end.
        if self.failed.is_some() || !self.time_order.has_room(from, self.window.place()) {
            return true;
        }
        while self.time_order.has_room(from, self.window.place()) {
            if self.stop.asked() && !self.pipe {
                self.interrupt();
            }
            let quick = match &self.parser {
                Parser::Pcap(pcap) => pcap.quick(&mut self.window),
                _ => None,
            };
            let located = match quick.map_or_else(|| self.search(), |located| Ok(Some(located))) {
                Ok(Some(located)) => located,
                Ok(None) => return true,
                Err(error) => {
                    self.failed = Some(error);
                    return true;
                }
            };
            let number = match &self.parser {
                Parser::Carried(carried) => carried.number,
                _ => {
                    self.number += 1;
                    self.number
                }
            };
            self.time_order.push(located, number);
            if !self.parser.looks_ahead() || self.window.is_crowded() {
                return true;
            }
        }
        false
    }

    /// The next packet by the long way: refilling the window, and on to the next file.
    #[inline(never)]
    fn search(&mut self) -> Result<Option<Located>, CaptureError> {
        let mut ended_ns = None;
        loop {
            match self.parser.next(&mut self.window, &mut self.anomalies, &self.downtimes) {
                Ok(Some(located)) => {
                    if let (Some(ended_ns), Some(begins_ns)) = (ended_ns, located.time_ns) {
                        self.anomalies.file_gaps.add(ended_ns, begins_ns);
                    }
                    return Ok(Some(located));
                }
                Ok(None) => {}
                Err(Stop::Idle) => {
                    self.live = Live::Idle;
                    return Ok(None);
                }
                Err(stop) => self.stop(stop)?,
            }
            // A watch states how long it captured; of other files only their packets tell.
            let latest = Some(self.time_order.latest()).filter(|&latest| latest > i64::MIN);
            ended_ns = latest.max(latest.and(self.anomalies.captured_until_ns));
            if !self.open_next()? {
                return Ok(None);
            }
        }
    }

    /// Ends the current file. Damage counts as a bad record if the file returned a packet before it; otherwise it is an error.
    pub(super) fn stop(&mut self, stop: Stop) -> Result<(), CaptureError> {
        self.parser = Parser::Closed;
        let input = self.current.clone();
        match stop {
            // It was not the capture that ended there.
            Stop::Truncated if self.stop.cut_off() => {}
            // Only a live capture is idle, and `search` has handled that.
            Stop::Idle => {}
            Stop::Truncated => self.anomalies.truncated_tail += 1,
            Stop::Bad { .. } if self.number > self.number_before => self.anomalies.bad_records += 1,
            Stop::Bad { offset, what } => return Err(CaptureError::Damaged { input, offset, what: what.into() }),
            Stop::Unsupported(what) => return Err(CaptureError::Unsupported { input, what: what.into() }),
            Stop::Io(source) => return Err(CaptureError::Io { input, source }),
        }
        Ok(())
    }
}

impl std::fmt::Debug for Captures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Captures").field("current", &self.current).field("number", &self.number).finish_non_exhaustive()
    }
}
