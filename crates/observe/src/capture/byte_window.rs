//! A window that slides over the decompressed bytes of one capture.
//!
//! All formats are parsed from this window. It is a memory map of the file where that takes less processor time, if the system
//! guarantees that no process changes the file meanwhile; otherwise it is filled by large reads into one buffer that stays in the
//! second-level cache. See docs/decisions/0002.

mod filling;
mod mapping;
mod parked;
mod seeking;

use std::collections::VecDeque;
use std::io::{Cursor, Read};

use super::ahead;
use super::error::Stop;
use super::plain::{Mapped, Plain};
use super::stop::Live;
use parked::Parked;

/// Bytes of zeros that are taken for reserved space, at most.
const ZEROS_MAX: u64 = 64 << 30;
/// Bytes per read. 128 KiB to 1 MiB were equally fast on an idle machine; a small buffer leaves more of the second-level cache to the
/// later stages.
const READ_BYTES: usize = 128 << 10;

/// Maximum argument of [`ByteWindow::need`], bytes: a packet of the largest size with its headers and trailers.
pub(super) const LONGEST_NEED: usize = 384 << 10;

const BUFFER_BYTES: usize = LONGEST_NEED + READ_BYTES;

/// Where a window's bytes come from.
pub(super) enum Backing {
    /// Forward only: a pipe, or a compressed file.
    Stream(Box<dyn Read + Send>),
    /// Forward only, and as it comes.
    Live(Box<dyn Live>),
    /// A plain file.
    Plain(Plain),
    /// A stream that was read to memory.
    Memory(Cursor<Vec<u8>>),
}

/// The window over one capture's bytes.
pub(super) struct ByteWindow {
    backing: Backing,
    /// The capture is read live: a read that would wait returns [`Stop::Idle`].
    as_it_comes: bool,
    /// Maps are for other threads as well, which would need copies of bytes that were read.
    maps_any_pages: bool,
    /// The bytes are decompressed on the way, so that an error without a number from the system means damage.
    compressed: bool,
    /// The bytes that were read; unused while there is a map.
    buffer: Vec<u8>,
    map: Option<Mapped>,
    /// `pos..filled` of the map or the buffer is available and not consumed.
    pos: usize,
    filled: usize,
    /// Position of the map or the buffer in the capture.
    base: u64,
    ended: bool,
    /// The compressed stream ended too early.
    cut: bool,
    /// The place of the capture's first byte: places count on from one capture to the next.
    origin: u64,
    /// The place of the first byte that is still needed; the end of places if none is.
    kept_from: u64,
    /// Where something begins that is stepped over and not needed, as a place.
    skipping_from: Option<u64>,
    /// Bytes that the window has left and that are still needed.
    parked: VecDeque<Parked>,
    /// Buffers to use again.
    spare: Vec<Vec<u8>>,
}

impl ByteWindow {
    /// A window at the start of `backing`.
    pub(super) fn new(backing: Backing, compressed: bool) -> Self {
        Self { backing, compressed, buffer: buffer(), ended: false, ..Self::empty() }
    }

    /// A window over nothing.
    pub(super) fn empty() -> Self {
        Self {
            backing: Backing::Memory(Cursor::default()),
            as_it_comes: false,
            maps_any_pages: false,
            compressed: false,
            buffer: Vec::new(),
            map: None,
            pos: 0,
            filled: 0,
            base: 0,
            ended: true,
            cut: false,
            origin: 0,
            kept_from: u64::MAX,
            skipping_from: None,
            parked: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// Continues with another capture. The bytes of this one that are still needed stay.
    pub(super) fn replace(&mut self, next: Self) {
        self.park();
        let before = std::mem::replace(self, next);
        self.origin = before.place();
        self.maps_any_pages = before.maps_any_pages;
        (self.kept_from, self.parked, self.spare) = (before.kept_from, before.parked, before.spare);
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        self.map.as_ref().map_or(&self.buffer, Mapped::bytes)
    }

    /// The bytes in the window that are not consumed; more may follow.
    #[inline]
    pub(super) fn available(&self) -> &[u8] {
        // `get` instead of an index: both bounds always hold, and a wrong one must not end the process.
        self.bytes().get(self.pos..self.filled).unwrap_or_default()
    }

    /// The bytes in the window, consumed or not.
    #[inline]
    pub(super) fn whole(&self) -> &[u8] {
        self.bytes().get(..self.filled).unwrap_or_default()
    }

    /// Where `available()` starts in the window.
    pub(super) fn position(&self) -> usize {
        self.pos
    }

    /// Skips a complete record in the window, and returns the bytes of its packet.
    #[inline]
    pub(super) fn take(&mut self, packet: usize, end: usize) -> &[u8] {
        let at = self.pos;
        self.consume(end);
        self.bytes().get(at + packet..at + end).unwrap_or_default()
    }

    /// Whether the compressed stream ended too early.
    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }

    /// Where the window starts, as a place.
    #[inline]
    fn front(&self) -> u64 {
        self.origin.saturating_add(self.base)
    }

    /// Where `available()` starts, counted over all captures, for [`ByteWindow::slice`].
    #[inline]
    pub(super) fn place(&self) -> u64 {
        self.front().saturating_add(self.pos as u64)
    }

    /// Bytes from `place` on, which [`ByteWindow::keep_from`] keeps.
    #[inline]
    pub(super) fn slice(&self, place: u64, len: usize) -> &[u8] {
        match place.checked_sub(self.front()).map(|at| at as usize) {
            Some(at) if at.saturating_add(len) <= self.filled => self.bytes().get(at..at + len).unwrap_or_default(),
            _ => self.left(place, len),
        }
    }

    /// Where `available()` starts in the capture, in bytes.
    pub(super) fn offset(&self) -> u64 {
        self.base.saturating_add(self.pos as u64)
    }

    /// Steps over bytes that are in the window.
    #[inline]
    pub(super) fn consume(&mut self, bytes: usize) {
        self.pos = self.pos.saturating_add(bytes).min(self.filled);
    }

    /// Skips a complete record; the next ones probably have the same length.
    #[inline]
    pub(super) fn pass(&mut self, record: usize) {
        self.consume(record);
        // Bytes that were read (not mapped) are in the cache already.
        if let Some(map) = &self.map {
            ahead::ask(map.bytes(), self.pos, record);
        }
    }

    /// Makes sure that the next record's first `bytes` bytes are in the window. False at a clean end.
    pub(super) fn record(&mut self, bytes: usize) -> Result<bool, Stop> {
        if self.need(bytes)? {
            return Ok(true);
        }
        if self.available().is_empty() && !self.cut { Ok(false) } else { Err(Stop::Truncated) }
    }

    /// Makes sure that `bytes` bytes of a record that has begun are in the window.
    pub(super) fn rest(&mut self, bytes: usize) -> Result<(), Stop> {
        if self.need(bytes)? { Ok(()) } else { Err(Stop::Truncated) }
    }

    /// Steps over zeros, but not without end; whether there are only zeros up to the end. Of a live capture with nothing more yet, that is unknown: false.
    pub(super) fn ends_in_zeros(&mut self) -> Result<bool, Stop> {
        self.skipping_from = Some(self.place());
        let mut left = ZEROS_MAX;
        let outcome = loop {
            let here = self.available();
            if left == 0 || here.iter().any(|byte| *byte != 0) {
                break Ok(false);
            }
            let zeros = here.len();
            left = left.saturating_sub(zeros as u64);
            self.consume(zeros);
            match self.need(1) {
                Ok(true) => {}
                Ok(false) => break Ok(true),
                Err(Stop::Idle) => break Ok(false),
                Err(stop) => break Err(stop),
            }
        };
        self.skipping_from = None;
        outcome
    }

    /// Steps over bytes of a record that need not be in the window.
    pub(super) fn skip(&mut self, mut bytes: u64) -> Result<(), Stop> {
        self.skipping_from = Some(self.place());
        let mut outcome = Ok(());
        while bytes > 0 && outcome.is_ok() {
            let here = usize::try_from(bytes).unwrap_or(usize::MAX).min(READ_BYTES);
            outcome = self.rest(here);
            if matches!(outcome, Err(Stop::Idle)) {
                // A part has been skipped, so the stream cannot be restarted.
                outcome = self.wait().map(drop).map_err(Stop::from);
                continue;
            }
            self.consume(here);
            bytes -= here as u64;
        }
        self.skipping_from = None;
        outcome
    }
}

/// A new buffer. Its pages take memory when they are written to.
fn buffer() -> Vec<u8> {
    vec![0; BUFFER_BYTES]
}
