//! Opens the inputs, one after the other.

use std::sync::Arc;

use super::{Captures, Live};
use crate::capture::anomalies::CaptureAnomalies;
#[cfg(target_os = "linux")]
use crate::capture::byte_window::Backing;
use crate::capture::byte_window::ByteWindow;
use crate::capture::carried::Carried;
use crate::capture::error::CaptureError;
use crate::capture::format::FileFormat;
use crate::capture::input::{self, Compression, Input};
#[cfg(target_os = "linux")]
use crate::capture::interface::Interface;
use crate::capture::order;
use crate::capture::ordered::Ordered;
use crate::capture::parser::{self, Parser};
use crate::capture::stop::StopReading;
use crate::capture::time_order::TimeOrder;

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
            Some((window, parser)) => {
                this.window.replace(window);
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
        let current: Box<str> = interface.label().into();
        let mut window = ByteWindow::new(Backing::Live(Box::new(interface.until(stop.clone()))), false);
        let mut this = Self { stop, current, pipe: true, ..Self::of_nothing() };
        match Parser::open(&mut window) {
            Ok(Some(parser)) => this.parse(parser, Compression::None),
            Ok(None) => return Err(unknown(&Input::Stdin, window.available())),
            Err(stop) => this.stop(stop)?,
        }
        this.window.replace(window);
        Ok(this)
    }

    fn of_nothing() -> Self {
        Self {
            inputs: Vec::new().into_iter(),
            current: "".into(),
            window: ByteWindow::empty(),
            parser: Parser::Closed,
            time_order: TimeOrder::new(),
            ordered: Ordered::default(),
            failed: None,
            number: 0,
            number_before: 0,
            continues: false,
            anomalies: CaptureAnomalies::default(),
            downtimes: Arc::default(),
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

    /// Opens the next input that is not empty. False if there is none.
    pub(super) fn open_next(&mut self) -> Result<bool, CaptureError> {
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
            self.window.replace(opened.window);
            self.pipe = opened.pipe;
            match Parser::open(&mut self.window) {
                Ok(Some(parser)) => {
                    self.parse(parser, opened.compression);
                    self.read_as_it_comes();
                    return Ok(true);
                }
                Ok(None) => return Err(unknown(&input, self.window.available())),
                Err(stop) => self.stop(stop)?,
            }
        }
        self.window.replace(ByteWindow::empty());
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
