//! The window over a plain file: mapped from the first byte that is still needed, or read.

use std::io;
use std::sync::Arc;

use super::parked::Parked;
use super::{Backing, ByteWindow, LONGEST_NEED};
use crate::capture::error::Stop;
use crate::capture::plain::{Mapped, Part};

/// How far behind the next record bytes may stand that are still needed and are mapped again with it, in bytes. Farther ones, in front
/// of a large block that is stepped over, are copied.
const MAPPED_AGAIN: u64 = 1 << 20;

impl ByteWindow {
    /// From now on files are mapped even in small pages.
    pub(in super::super) fn map_any_pages(&mut self) {
        self.maps_any_pages = true;
    }

    /// Whether the window is a part of the file in memory.
    #[inline]
    pub(in super::super) fn is_mapped(&self) -> bool {
        self.map.is_some()
    }

    /// The map of the window, for other threads.
    pub(in super::super) fn part(&self) -> Option<&Arc<Part>> {
        self.map.as_ref().map(Mapped::part)
    }

    /// Position in that map of bytes from [`ByteWindow::slice`]; `None` if they are elsewhere.
    #[inline]
    pub(in super::super) fn in_map(&self, place: u64, len: usize) -> Option<usize> {
        let at = place.checked_sub(self.front())? as usize;
        (self.map.is_some() && at.saturating_add(len) <= self.filled).then_some(at)
    }

    /// Brings more of a plain file to the window, from the first byte that is not consumed. False where it ends in the window, where the
    /// window is full, and for other inputs.
    pub(in super::super) fn go_on(&mut self) -> Result<bool, Stop> {
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
    pub(super) fn remap(&mut self) -> io::Result<bool> {
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
}
