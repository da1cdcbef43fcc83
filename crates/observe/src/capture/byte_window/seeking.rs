//! Formats that are not read in order: the window jumps to an offset.

use std::io::{Cursor, Read};

use super::{Backing, ByteWindow};
use crate::capture::error::Stop;

/// The most of a stream that is kept in memory for a format that must be read out of order, in bytes.
const MEMORY_LIMIT: u64 = 48 << 20;

impl ByteWindow {
    /// Lets [`ByteWindow::seek`] work, for formats that are not read in order: a stream is read to memory, up to a limit.
    /// To be called before anything is consumed.
    pub(in super::super) fn make_seekable(&mut self) -> Result<(), Stop> {
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

    /// Puts the window at `offset` bytes from the start of the capture. Only after [`ByteWindow::make_seekable`].
    pub(in super::super) fn seek(&mut self, offset: u64) -> Result<(), Stop> {
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
