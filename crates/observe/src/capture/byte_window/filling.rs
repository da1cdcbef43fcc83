//! Brings bytes to the window.

use std::io::{self, Read};
use std::time::Duration;

use super::{Backing, ByteWindow, LONGEST_NEED, READ_BYTES, buffer};
use crate::capture::error::Stop;
use crate::capture::stop::CHECK_INTERVAL;

impl ByteWindow {
    /// From now on the capture is read live.
    pub(in super::super) fn read_as_it_comes(&mut self) {
        self.as_it_comes = true;
    }

    /// Waits a little for more to come. Whether there is more, or the end.
    pub(in super::super) fn wait(&mut self) -> io::Result<bool> {
        match &mut self.backing {
            Backing::Live(live) => live.wait(CHECK_INTERVAL),
            _ => Ok(true),
        }
    }

    /// Reads until `bytes` bytes are in the window. False if the capture ends before.
    pub(in super::super) fn need(&mut self, bytes: usize) -> Result<bool, Stop> {
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

    fn would_wait(&mut self) -> io::Result<bool> {
        match &mut self.backing {
            Backing::Live(live) if self.as_it_comes => Ok(!live.wait(Duration::ZERO)?),
            _ => Ok(false),
        }
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
}
