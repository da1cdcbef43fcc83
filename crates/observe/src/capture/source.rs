//! A window that slides over the bytes of one capture, decompressed.
//!
//! Every format is parsed from this one window. It is a part of the file in memory where the system lets nobody change the file
//! meanwhile; else it is filled by large reads into one buffer that stays in the second-level cache. See
//! docs/decisions/0002.

use std::io::{self, Cursor, Read};

use memmap2::Mmap;

use super::ahead;
use super::error::Stop;
use super::plain::{Mapped, Plain};

/// Bytes asked for in one read. 128 KiB to 1 MiB measured alike on an idle machine; the less of the second-level
/// cache is taken, the more is left for what comes after.
const READ_BYTES: usize = 256 << 10;

/// The most that [`Source::need`] can be asked for, in bytes: a packet of the largest size with what stands around it.
pub(super) const LONGEST_NEED: usize = 384 << 10;

/// The most of a stream that is kept in memory for a format that must be read out of order, in bytes.
pub(super) const MEMORY_LIMIT: u64 = 48 << 20;

/// Where a window's bytes come from.
pub(super) enum Backing {
    /// Forward only: a pipe, or a compressed file.
    Stream(Box<dyn Read + Send>),
    /// A plain file.
    Plain(Plain),
    /// A stream that was read to memory.
    Memory(Cursor<Vec<u8>>),
}

/// The window over one capture's bytes.
pub(super) struct Source {
    backing: Backing,
    /// The bytes are decompressed on the way, so that an error without a number from the system means damage.
    compressed: bool,
    /// What was read; not used while there is a map.
    buffer: Vec<u8>,
    map: Option<Mmap>,
    /// `pos..filled` of the map or the buffer is what is there and not consumed.
    pos: usize,
    filled: usize,
    /// Where the map or the buffer stands in the capture.
    base: u64,
    ended: bool,
    /// The compressed stream ended too early.
    cut: bool,
}

impl Source {
    /// A window at the start of `backing`.
    pub(super) fn new(backing: Backing, compressed: bool) -> Self {
        let buffer = vec![0; LONGEST_NEED + READ_BYTES];
        Self { backing, compressed, buffer, map: None, pos: 0, filled: 0, base: 0, ended: false, cut: false }
    }

    /// A window over nothing.
    pub(super) fn empty() -> Self {
        let (backing, buffer) = (Backing::Memory(Cursor::default()), Vec::new());
        Self { backing, compressed: false, buffer, map: None, pos: 0, filled: 0, base: 0, ended: true, cut: false }
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or(&self.buffer)
    }

    /// The bytes in the window that are not consumed; more may follow.
    #[inline]
    pub(super) fn available(&self) -> &[u8] {
        // `get` instead of an index: both bounds always hold, and a wrong one must not end the process.
        self.bytes().get(self.pos..self.filled).unwrap_or_default()
    }

    /// Whether the compressed stream ended too early.
    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }

    /// Where `available()` starts in the window, for [`Source::slice`].
    #[inline]
    pub(super) fn position(&self) -> usize {
        self.pos
    }

    /// Bytes of the window, good until the next `need`, `record` or `seek`.
    #[inline]
    pub(super) fn slice(&self, start: usize, len: usize) -> &[u8] {
        self.bytes().get(start..start.saturating_add(len)).unwrap_or_default()
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

    /// Steps over a whole record; the next ones are likely of its length.
    #[inline]
    pub(super) fn pass(&mut self, record: usize) {
        self.consume(record);
        // What was read is in the cache.
        if let Some(map) = &self.map {
            ahead::ask(map, self.pos, record);
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
        while bytes > 0 {
            let here = usize::try_from(bytes).unwrap_or(usize::MAX).min(READ_BYTES);
            self.rest(here)?;
            self.consume(here);
            bytes -= here as u64;
        }
        Ok(())
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
            self.compact();
            let end = self.filled + READ_BYTES;
            let Some(room) = self.buffer.get_mut(self.filled..end) else { return Ok(false) };
            let read = match &mut self.backing {
                Backing::Stream(stream) => stream.read(room),
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

    /// Maps on from the first byte that is not consumed. False where the file must be read; then the next read brings that byte, or
    /// what follows it in the buffer.
    fn remap(&mut self) -> io::Result<bool> {
        let Backing::Plain(file) = &mut self.backing else { return Ok(false) };
        // The first piece is read: most files that are looked at are small, and most that are not captures end here.
        if self.base == 0 && self.filled == 0 {
            return Ok(false);
        }
        let offset = self.base.saturating_add(self.pos as u64);
        let was_mapped = self.map.take().is_some();
        if let Some(Mapped { bytes, base, last }) = file.map(offset) {
            (self.base, self.pos, self.filled, self.ended) = (base, (offset - base) as usize, bytes.len(), last);
            self.map = Some(bytes);
            return Ok(true);
        }
        if was_mapped {
            file.seek(offset)?;
            (self.base, self.pos, self.filled) = (offset, 0, 0);
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

    /// Moves what is not consumed, a part of one record, to the front, so that reads go to the same cached bytes.
    fn compact(&mut self) {
        if self.pos > 0 {
            self.buffer.copy_within(self.pos..self.filled, 0);
            self.base = self.base.saturating_add(self.pos as u64);
            self.filled -= self.pos;
            self.pos = 0;
        }
    }

    /// Lets [`Source::seek`] work, for formats that are not read in order: a stream is read to memory, up to a limit.
    /// To be called before anything is consumed.
    pub(super) fn make_seekable(&mut self) -> Result<(), Stop> {
        let Backing::Stream(stream) = &mut self.backing else { return Ok(()) };
        let mut bytes = self.buffer.get(..self.filled).unwrap_or_default().to_vec();
        let outcome = stream.take(MEMORY_LIMIT).read_to_end(&mut bytes);
        if bytes.len() as u64 > MEMORY_LIMIT {
            return Err(Stop::Unsupported(format!(
                "this format is not read in order, and from a pipe or a compressed file at most {} MiB of it are \
                 (give the decompressed file instead)",
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
        match &mut self.backing {
            Backing::Plain(file) => file.seek(offset)?,
            Backing::Memory(bytes) => bytes.set_position(offset),
            Backing::Stream(_) => {}
        }
        self.map = None;
        (self.base, self.pos, self.filled, self.ended) = (offset, 0, 0, false);
        Ok(())
    }
}
