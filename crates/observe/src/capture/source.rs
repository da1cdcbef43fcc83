//! A window that slides over the decompressed bytes of one capture.
//!
//! All formats are parsed from this window. It is a memory map of the file where that takes less processor time, if the system
//! guarantees that no process changes the file meanwhile; otherwise it is filled by large reads into one buffer that stays in the
//! second-level cache. See docs/decisions/0002.

use std::collections::VecDeque;
use std::io::{self, Cursor, Read};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::ahead;
use super::error::Stop;
use super::plain::{Mapped, Part, Plain};
use super::stop::{LOOK, Live};

/// Bytes per read. 128 KiB to 1 MiB were equally fast on an idle machine; a small buffer leaves more of the second-level cache to the
/// later stages.
const READ_BYTES: usize = 128 << 10;

/// Maximum argument of [`Source::need`], bytes: a packet of the largest size with its headers and trailers.
pub(super) const LONGEST_NEED: usize = 384 << 10;

/// The most of a stream that is kept in memory for a format that must be read out of order, in bytes.
pub(super) const MEMORY_LIMIT: u64 = 48 << 20;

/// How far behind the next record bytes may stand that are still needed and are mapped again with it, in bytes. Farther ones, in front
/// of a large block that is stepped over, are copied.
const MAPPED_AGAIN: u64 = 1 << 20;

/// Bytes of a buffer.
const BUFFER_BYTES: usize = LONGEST_NEED + READ_BYTES;

/// Pieces that may be parked before all that waits is given out. A block of packets takes a handful of buffers.
const PARKED_MAX: usize = 16;

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
pub(super) struct Source {
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

/// Bytes that the window has left.
struct Parked {
    place: u64,
    /// The place behind the last one.
    end: u64,
    bytes: Vec<u8>,
}

impl Source {
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
    pub(super) fn window(&self) -> &[u8] {
        self.bytes().get(..self.filled).unwrap_or_default()
    }

    /// Where `available()` starts in the window.
    pub(super) fn position(&self) -> usize {
        self.pos
    }

    /// Whether the window is a part of the file in memory.
    #[inline]
    pub(super) fn is_mapped(&self) -> bool {
        self.map.is_some()
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

    /// Where `available()` starts, counted over all captures, for [`Source::slice`].
    #[inline]
    pub(super) fn place(&self) -> u64 {
        self.front().saturating_add(self.pos as u64)
    }

    /// Bytes from `place` on, which [`Source::keep_from`] keeps.
    #[inline]
    pub(super) fn slice(&self, place: u64, len: usize) -> &[u8] {
        match place.checked_sub(self.front()).map(|at| at as usize) {
            Some(at) if at.saturating_add(len) <= self.filled => self.bytes().get(at..at + len).unwrap_or_default(),
            _ => self.left(place, len),
        }
    }

    /// The map of the window, for other threads.
    pub(super) fn part(&self) -> Option<&Arc<Part>> {
        self.map.as_ref().map(Mapped::part)
    }

    /// Position in that map of bytes from [`Source::slice`]; `None` if they are elsewhere.
    #[inline]
    pub(super) fn in_map(&self, place: u64, len: usize) -> Option<usize> {
        let at = place.checked_sub(self.front())? as usize;
        (self.map.is_some() && at.saturating_add(len) <= self.filled).then_some(at)
    }

    /// Bytes that the window has left.
    #[cold]
    fn left(&self, place: u64, len: usize) -> &[u8] {
        let within = |parked: &&Parked| parked.place <= place && place + len as u64 <= parked.end;
        let Some(parked) = self.parked.iter().find(within) else {
            debug_assert!(len == 0, "{len} bytes at offset {place} are no longer in the buffer");
            return &[];
        };
        let at = (place - parked.place) as usize;
        parked.bytes.get(at..at + len).unwrap_or_default()
    }

    /// From now on bytes before `place` are not needed any more, and later ones stay.
    pub(super) fn keep_from(&mut self, place: u64) {
        self.kept_from = place;
        while self.parked.front().is_some_and(|parked| parked.end <= place)
            && let Some(parked) = self.parked.pop_front()
        {
            // A file that is mapped is rarely read again.
            if parked.bytes.len() == BUFFER_BYTES && self.spare.len() < PARKED_MAX && self.map.is_none() {
                self.spare.push(parked.bytes);
            }
        }
    }

    /// Whether the window holds so many bytes that some must be released before the next read.
    #[inline]
    pub(super) fn is_crowded(&self) -> bool {
        self.parked.len() >= PARKED_MAX
    }

    /// The places in the window, in front of `available()`, that are needed.
    fn needed(&self) -> Range<u64> {
        let end = self.skipping_from.unwrap_or(u64::MAX).min(self.place());
        self.kept_from.max(self.front())..end
    }

    /// Moves the needed bytes out before the window is replaced: a buffer as it is, of a map a copy.
    fn park(&mut self) {
        let (kept, front) = (self.needed(), self.front());
        if kept.is_empty() {
            return;
        }
        let (place, bytes) = match &self.map {
            None => (front, std::mem::take(&mut self.buffer)),
            Some(map) => {
                let within = (kept.start - front) as usize..(kept.end - front) as usize;
                (kept.start, map.bytes().get(within).unwrap_or_default().to_vec())
            }
        };
        self.parked.push_back(Parked { place, end: kept.end, bytes });
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

    /// Reads until `bytes` bytes are in the window. False if the capture ends before.
    pub(super) fn need(&mut self, bytes: usize) -> Result<bool, Stop> {
        debug_assert!(bytes <= LONGEST_NEED);
        while self.filled - self.pos < bytes {
            if self.ended {
                return Ok(false);
            }
            if self.remap()? {
                continue;
            }
            if self.would_wait()? {
                return Err(Stop::Idle);
            }
            self.make_room();
            let end = self.filled + READ_BYTES;
            let Some(room) = self.buffer.get_mut(self.filled..end) else { return Ok(false) };
            let read = match &mut self.backing {
                Backing::Stream(stream) => stream.read(room),
                Backing::Live(live) => live.read(room),
                Backing::Plain(file) => file.read(room),
                Backing::Memory(bytes) => bytes.read(room),
            };
            match read {
                Ok(0) => self.ended = true,
                Ok(count) => self.filled = self.filled.saturating_add(count).min(self.buffer.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if self.compressed && error.raw_os_error().is_none() => self.decompression(&error)?,
                Err(error) => return Err(Stop::Io(error)),
            }
        }
        Ok(true)
    }

    /// From now on files are mapped even in small pages.
    pub(super) fn map_any_pages(&mut self) {
        self.maps_any_pages = true;
    }

    /// From now on the capture is read live.
    pub(super) fn read_as_it_comes(&mut self) {
        self.as_it_comes = true;
    }

    fn would_wait(&mut self) -> io::Result<bool> {
        match &mut self.backing {
            Backing::Live(live) if self.as_it_comes => Ok(!live.wait(Duration::ZERO)?),
            _ => Ok(false),
        }
    }

    /// Waits a little for more to come. Whether there is more, or the end.
    pub(super) fn wait(&mut self) -> io::Result<bool> {
        match &mut self.backing {
            Backing::Live(live) => live.wait(LOOK),
            _ => Ok(true),
        }
    }

    /// Brings more of a plain file to the window, from the first byte that is not consumed. False where it ends in the window, where the
    /// window is full, and for other inputs.
    pub(super) fn go_on(&mut self) -> Result<bool, Stop> {
        let rest = self.filled - self.pos;
        match self.backing {
            _ if self.ended => Ok(false),
            _ if self.map.is_some() => Ok(self.remap()?),
            // An error comes again with the next read, after the packets in the window.
            Backing::Plain(_) if rest < LONGEST_NEED => Ok(self.need(rest + 1).unwrap_or(false)),
            _ => Ok(false),
        }
    }

    /// Maps the file from the first unconsumed byte, or from the bytes that must stay before it. Returns false if the file must be read;
    /// the next read then returns that byte, or the one after the buffer.
    fn remap(&mut self) -> io::Result<bool> {
        let offset = self.base.saturating_add(self.pos as u64);
        let Backing::Plain(file) = &mut self.backing else { return Ok(false) };
        // The first piece is read: most files that are looked at are small, and most that are not captures end here.
        if self.base == 0 && self.filled == 0 {
            return Ok(false);
        }
        let may_map = file.may_map(offset);
        let kept = self.needed();
        let mut kept = if kept.is_empty() { 0 } else { self.place() - kept.start };
        let is_far = kept > MAPPED_AGAIN;
        if may_map && (self.map.is_none() || is_far) || !may_map && self.map.is_some() {
            self.park();
            kept = 0;
        }
        let from = offset - kept;
        let Backing::Plain(file) = &mut self.backing else { return Ok(false) };
        if may_map
            && !is_far
            && let Some(map) = &mut self.map
            && let Some(needed) = from.checked_sub(self.base)
            && file.fill(map, needed as usize, self.pos)
        {
            (self.filled, self.ended) = (map.filled, map.last);
            return Ok(true);
        }
        // The needed bytes of the old map, in case there is no new one: without the lease, the file may change before they are read again.
        let old = self.map.as_ref().map(|map| {
            let needed = from.checked_sub(self.base).map(|start| start as usize..start as usize + kept as usize);
            needed.and_then(|range| map.bytes().get(range)).unwrap_or_default().to_vec()
        });
        self.map = None;
        if may_map && let Some(map) = file.map(from, offset, self.maps_any_pages) {
            (self.base, self.pos, self.filled, self.ended) =
                (map.base, (offset - map.base) as usize, map.filled, map.last);
            self.map = Some(map);
            (self.buffer, self.spare) = (Vec::new(), Vec::new());
            return Ok(true);
        }
        file.give_back();
        if old.is_some() || may_map {
            (self.base, self.pos, self.filled) = (offset, 0, 0);
            file.seek(offset)?;
        }
        if let Some(bytes) = old {
            let place = self.origin.saturating_add(from);
            self.parked.push_back(Parked { place, end: place + kept, bytes });
        }
        Ok(false)
    }

    /// An error of the decompressor: the compressed file ends too early, or is damaged.
    fn decompression(&mut self, error: &io::Error) -> Result<(), Stop> {
        self.ended = true;
        if error.kind() == io::ErrorKind::UnexpectedEof {
            self.cut = true;
            return Ok(());
        }
        let offset = self.base.saturating_add(self.filled as u64);
        Err(Stop::Bad { offset, what: format!("the compressed data is damaged ({error})") })
    }

    /// Moves the unconsumed bytes, a part of one record, to the front of the buffer, so that reads go to the same few cached bytes. If
    /// the bytes before them are still needed, they move to another buffer.
    fn make_room(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = self.spare.pop().unwrap_or_else(buffer);
        }
        if self.pos == 0 {
            return;
        }
        if self.needed().is_empty() {
            self.buffer.copy_within(self.pos..self.filled, 0);
        } else if self.filled < READ_BYTES {
            return;
        } else {
            let mut next = self.spare.pop().unwrap_or_else(buffer);
            let rest = self.buffer.get(self.pos..self.filled).unwrap_or_default();
            if let Some(room) = next.get_mut(..rest.len()) {
                room.copy_from_slice(rest);
            }
            self.park();
            self.buffer = next;
        }
        self.base = self.base.saturating_add(self.pos as u64);
        self.filled -= self.pos;
        self.pos = 0;
    }

    /// Lets [`Source::seek`] work, for formats that are not read in order: a stream is read to memory, up to a limit.
    /// To be called before anything is consumed.
    pub(super) fn make_seekable(&mut self) -> Result<(), Stop> {
        let stream: &mut dyn Read = match &mut self.backing {
            Backing::Stream(stream) => stream,
            Backing::Live(live) => live,
            Backing::Plain(_) | Backing::Memory(_) => return Ok(()),
        };
        let mut bytes = self.buffer.get(..self.filled).unwrap_or_default().to_vec();
        let outcome = stream.take(MEMORY_LIMIT).read_to_end(&mut bytes);
        if bytes.len() as u64 > MEMORY_LIMIT {
            return Err(Stop::Unsupported(format!(
                "captures in this format are limited to {} MiB in a pipe or a compressed file (no limit for an uncompressed file)",
                MEMORY_LIMIT >> 20
            )));
        }
        match outcome {
            Ok(_) => {}
            Err(error) if self.compressed && error.raw_os_error().is_none() => self.cut = true,
            Err(error) => return Err(Stop::Io(error)),
        }
        let mut memory = Cursor::new(bytes);
        memory.set_position(self.filled as u64);
        self.backing = Backing::Memory(memory);
        self.ended = false;
        Ok(())
    }

    /// Puts the window at `offset` bytes from the start of the capture. Only after [`Source::make_seekable`].
    pub(super) fn seek(&mut self, offset: u64) -> Result<(), Stop> {
        if let Some(within) = offset.checked_sub(self.base)
            && let Ok(within) = usize::try_from(within)
            && within <= self.filled
        {
            self.pos = within;
            return Ok(());
        }
        self.park();
        match &mut self.backing {
            Backing::Plain(file) => file.seek(offset)?,
            Backing::Memory(bytes) => bytes.set_position(offset),
            Backing::Stream(_) | Backing::Live(_) => {}
        }
        self.map = None;
        (self.base, self.pos, self.filled, self.ended) = (offset, 0, 0, false);
        Ok(())
    }
}

/// A new buffer. Its pages take memory when they are written to.
fn buffer() -> Vec<u8> {
    vec![0; BUFFER_BYTES]
}
