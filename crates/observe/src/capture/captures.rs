//! The reader: takes the inputs one after the other, and returns their packets in order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::anomalies::CaptureAnomalies;
use super::carried::Carried;
use super::error::{CaptureError, Stop};
use super::format::FileFormat;
use super::frame::Frame;
use super::input::{self, Compression, Input};
#[cfg(target_os = "linux")]
use super::interface::Interface;
use super::located::Located;
use super::order;
use super::ordered::Ordered;
use super::parser::{self, Parser};
#[cfg(target_os = "linux")]
use super::source::Backing;
use super::source::Source;
use super::stop::StopReading;
use super::window::{Entry, Window};

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
    pub(super) source: Source,
    pub(super) parser: Parser,
    /// Packets that were read and not given out.
    pub(super) window: Window,
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
    /// Looks at every file and opens the first input.
    ///
    /// # Errors
    /// If there is no input, if one is given twice, if one of the files does not exist, cannot be read or is in no known format (pipes are
    /// found out about later), or if the first one is damaged before its first packet.
    pub fn open(inputs: Vec<Input>) -> Result<Self, CaptureError> {
        Self::open_until(inputs, StopReading::default())
    }

    /// As [`Captures::open`], until `stop` is set. A file then ends at once; a pipe ends with its writer, or soon afterwards.
    ///
    /// # Errors
    /// As [`Captures::open`].
    pub fn open_until(inputs: Vec<Input>, stop: StopReading) -> Result<Self, CaptureError> {
        Self::open_behind(inputs, Carried::default(), stop)
    }

    /// The same behind the last packets of the file before, whose numbers are continued.
    ///
    /// # Errors
    /// As [`Captures::open`].
    pub fn open_behind(inputs: Vec<Input>, carried: Carried, stop: StopReading) -> Result<Self, CaptureError> {
        if inputs.is_empty() {
            return Err(CaptureError::Empty("no input given".into()));
        }
        let mut bytes_total = Some(0u64);
        for input in &inputs {
            let size = look_at(input)?;
            bytes_total = bytes_total.zip(size).map(|(sum, size)| sum.saturating_add(size));
        }
        let mut anomalies = CaptureAnomalies::default();
        let inputs = order::in_order(inputs, &mut anomalies)?.into_iter();
        let number = carried.last_number();
        let continues = number > 0;
        let mut this = Self { inputs, anomalies, bytes_total, stop, number, continues, ..Self::of_nothing() };
        match carried.open() {
            Some((source, parser)) => {
                this.source.replace(source);
                this.parser = Parser::Carried(parser);
            }
            None => drop(this.open_next()?),
        }
        Ok(this)
    }

    /// Captures an interface until `stop` is set.
    ///
    /// # Errors
    /// If the interface cannot be read.
    #[cfg(target_os = "linux")]
    pub fn of_interface(interface: Interface, stop: StopReading) -> Result<Self, CaptureError> {
        let current: Box<str> = interface.name().into();
        let mut source = Source::new(Backing::Live(Box::new(interface.until(stop.clone()))), false);
        let mut this = Self { stop, current, pipe: true, ..Self::of_nothing() };
        match Parser::open(&mut source) {
            Ok(Some(parser)) => this.parse(parser, Compression::None),
            Ok(None) => return Err(unknown(&Input::Stdin, source.available())),
            Err(stop) => this.stop(stop)?,
        }
        this.source.replace(source);
        Ok(this)
    }

    fn of_nothing() -> Self {
        Self {
            inputs: Vec::new().into_iter(),
            current: "".into(),
            source: Source::empty(),
            parser: Parser::Closed,
            window: Window::new(),
            ordered: Ordered::default(),
            failed: None,
            number: 0,
            number_before: 0,
            continues: false,
            anomalies: CaptureAnomalies::default(),
            formats: Vec::new(),
            bytes_read: Arc::default(),
            bytes_total: None,
            stop: StopReading::default(),
            pipe: false,
            interrupted: false,
            live: Live::Off,
            waited_in_vain: false,
        }
    }

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
            self.source.read_as_it_comes();
        }
    }

    /// The next packet, or that none has come for a while.
    ///
    /// # Errors
    /// As [`Captures::next`].
    pub fn next_or_idle(&mut self) -> Result<Next<'_>, CaptureError> {
        if !self.window.has_ready() && !self.ordered.is_ready() && !self.refill()? {
            if self.live != Live::Idle {
                return Ok(Next::End);
            }
            let input = &self.current;
            let more = self.source.wait().map_err(|source| CaptureError::Io { input: input.clone(), source })?;
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
            if let Some(Entry { located, number, .. }) = self.window.pop() {
                let Located { start, len, original_len, time_ns, link } = located;
                let captured = self.source.slice(start, len);
                return Ok(Some(Frame { number, time_ns, link, captured, original_len }));
            }
            if let Some((record, link)) = self.ordered.take(&self.parser, &self.source) {
                self.number += 1;
                let (number, time_ns) = (self.number, Some(record.time_ns));
                let captured = self.source.take(record.start, record.end);
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
        CaptureAnomalies { reordered: self.window.reordered, ..self.anomalies }
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
            self.window.begin();
            if self.look_ahead()? {
                return Ok(true);
            }
            let from = self.window.needed_from().unwrap_or_else(|| self.source.place());
            self.source.keep_from(from);
            let number = self.number;
            let all = self.fill(from);
            if self.live == Live::Idle {
                let nothing_new = std::mem::take(&mut self.waited_in_vain) && self.number == number;
                self.window.settle_so_far(nothing_new, self.source.place());
                return Ok(self.window.has_ready());
            }
            self.window.settle(all, self.source.place());
            if self.window.has_ready() {
                return Ok(true);
            }
            if all {
                if let Some(failed) = self.failed.take() {
                    return Err(failed);
                }
                // All packets were returned: the memory of the window is free for the report.
                self.source = Source::empty();
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
        if self.failed.is_some() || !self.window.has_room(from, self.source.place()) {
            return true;
        }
        while self.window.has_room(from, self.source.place()) {
            if self.stop.asked() && !self.pipe {
                self.interrupt();
            }
            let quick = match &self.parser {
                Parser::Pcap(pcap) => pcap.quick(&mut self.source),
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
            self.window.push(located, number);
            if !self.parser.looks_ahead() || self.source.is_crowded() {
                return true;
            }
        }
        false
    }

    /// The next packet by the long way: refilling the window, and on to the next file.
    #[inline(never)]
    fn search(&mut self) -> Result<Option<Located>, CaptureError> {
        loop {
            match self.parser.next(&mut self.source, &mut self.anomalies) {
                Ok(Some(located)) => return Ok(Some(located)),
                Ok(None) => {}
                Err(Stop::Idle) => {
                    self.live = Live::Idle;
                    return Ok(None);
                }
                Err(stop) => self.stop(stop)?,
            }
            if !self.open_next()? {
                return Ok(None);
            }
        }
    }

    /// Opens the next input that is not empty. False if there is none.
    fn open_next(&mut self) -> Result<bool, CaptureError> {
        self.parser = Parser::Closed;
        self.number_before = self.number;
        while let Some(input) = self.inputs.next() {
            // The first input is opened even so: if it is a pipe, its writer may have ended by the same Ctrl-C.
            if self.stop.asked() && !self.current.is_empty() {
                self.interrupted = true;
                self.inputs = Vec::new().into_iter();
                break;
            }
            self.current = input.name();
            let opened = input::open(&input, &self.bytes_read, &self.stop)
                .map_err(|source| CaptureError::Io { input: input.name(), source })?;
            if opened.empty {
                self.anomalies.empty_files += 1;
                continue;
            }
            self.source.replace(opened.source);
            self.pipe = opened.pipe;
            match Parser::open(&mut self.source) {
                Ok(Some(parser)) => {
                    self.parse(parser, opened.compression);
                    self.read_as_it_comes();
                    return Ok(true);
                }
                Ok(None) => return Err(unknown(&input, self.source.available())),
                Err(stop) => self.stop(stop)?,
            }
        }
        self.source.replace(Source::empty());
        if self.formats.is_empty() && self.anomalies.truncated_tail == 0 && !self.continues {
            return Err(CaptureError::NoBytes(self.current.clone()));
        }
        Ok(false)
    }

    /// Begins to read the present input.
    fn parse(&mut self, parser: Parser, compression: Compression) {
        if let Some((format, tick_ns)) = parser.describe() {
            self.formats.push(FileFormat { input: self.current.clone(), format, compression, tick_ns });
        }
        self.parser = parser;
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

/// Finds out before the work begins that a file is missing or of no known format. Its size, if it has one.
fn look_at(input: &Input) -> Result<Option<u64>, CaptureError> {
    let failed = |source| CaptureError::Io { input: input.name(), source };
    let size = input.size().map_err(failed)?;
    if let (Input::File(path), Some(_)) = (input, size) {
        let first = std::fs::File::open(path).and_then(input::first_bytes).map_err(failed)?;
        let packed = input::compression(&first) != Compression::None;
        if !first.is_empty() && !packed && !parser::is_known(&first) {
            return Err(unknown(input, &first));
        }
    }
    Ok(size)
}

/// The error for a file whose first bytes say nothing.
fn unknown(input: &Input, window: &[u8]) -> CaptureError {
    let first = window.get(..window.len().min(input::SNIFF_BYTES)).unwrap_or_default();
    let hex: Vec<String> = first.iter().map(|byte| format!("{byte:02x}")).collect();
    let start = if hex.is_empty() { "none".to_owned() } else { hex.join(" ") };
    CaptureError::UnknownFormat { input: input.name(), start: start.into(), advice: parser::advice(first).into() }
}

impl std::fmt::Debug for Captures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Captures").field("current", &self.current).field("number", &self.number).finish_non_exhaustive()
    }
}
