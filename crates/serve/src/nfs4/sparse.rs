//! Optional operations of 4.2: COPY and CLONE; ALLOCATE, DEALLOCATE, SEEK and READ_PLUS.
//!
//! Spec: RFC 7862 15

use std::sync::Arc;

use plimsoll_wire::nfs::v4::StateId;
use plimsoll_wire::xdr::Emit;

use super::compound::Compound;
use super::limits::{LONGEST_COPY, LONGEST_DATA};
use super::opens::{READ, WRITE};
use super::status::{Done, Status};
use crate::memory::{Kind, Node, Trouble};

/// FILE_SYNC4.
const FILE_SYNC: u32 = 2;
/// Segments of a READ_PLUS, at most: the client asks for the rest.
const MOST_SEGMENTS: usize = 64;
/// NFS4_CONTENT_DATA, NFS4_CONTENT_HOLE.
const DATA: u32 = 0;
const HOLE: u32 = 1;
/// Bytes that are copied at a time.
const PIECE: u64 = 1 << 20;

/// A range of the saved file, and where it goes to in the current one.
struct Copying {
    from: Arc<Node>,
    to: Arc<Node>,
    from_offset: u64,
    to_offset: u64,
    count: u64,
}

impl Copying {
    /// Copies the next bytes, or makes the next hole, after `done` bytes and before `wanted`; returns the length, which is 0 at the end of
    /// the source.
    fn piece(&self, done: u64, wanted: u64) -> Result<u64, Trouble> {
        let (at, to, end) = (self.from_offset + done, self.to_offset + done, self.from_offset + wanted);
        let (data, size) = self.from.next_data(at, end)?;
        let (start, stop) = data.unwrap_or((end, end));
        let hole = start.min(end).min(size).saturating_sub(at);
        if hole > 0 {
            self.to.make_hole(to, hole)?;
            return Ok(hole);
        }
        let (bytes, _) = self.from.read(at, stop.min(end).saturating_sub(at).min(PIECE) as u32)?;
        self.to.write(to, &bytes)?;
        Ok(bytes.len() as u64)
    }
}

impl Compound<'_, '_> {
    /// The common arguments of COPY and CLONE, checked. A count of 0 means the rest of the source.
    fn copying(&mut self) -> Done<Copying> {
        let (of_from, of_to) = (StateId::parse(&mut self.reader)?, StateId::parse(&mut self.reader)?);
        let (from_offset, to_offset, count) = (self.reader.u64()?, self.reader.u64()?, self.reader.u64()?);
        let (from, to) = (Arc::clone(&self.saved()?.node), Arc::clone(self.current()?));
        if from.kind() != Kind::File || to.kind() != Kind::File {
            return Err(Status::WRONG_TYPE);
        }
        self.server.may_change(&to)?;
        self.may(&from, of_from, READ)?;
        self.may(&to, of_to, WRITE)?;
        let size = from.stat().size;
        let rest = size.checked_sub(from_offset).ok_or(Status::INVAL)?;
        let count = if count == 0 { rest } else { count };
        if count > rest || to_offset.checked_add(count).is_none_or(|end| end > i64::MAX as u64) {
            return Err(Status::INVAL);
        }
        Ok(Copying { from, to, from_offset, to_offset, count })
    }

    /// COPY: always in order, and complete when it answers, as the client may demand it.
    pub(super) fn copy(&mut self) -> Done {
        let copying = self.copying()?;
        let (_consecutive, _synchronous, servers) =
            (self.reader.boolean()?, self.reader.boolean()?, self.reader.u32()?);
        if servers > 0 {
            return Err(Status::NOTSUPP);
        }
        if copying.from.id() == copying.to.id() {
            return Err(Status::INVAL);
        }
        self.recall(&copying.to)?;
        let (wanted, mut done) = (copying.count.min(LONGEST_COPY), 0);
        while done < wanted {
            match copying.piece(done, wanted) {
                // The bytes before are copied.
                Err(Trouble::NoSpace) if done > 0 => break,
                // The source became shorter meanwhile.
                Ok(0) => break,
                copied => done += copied?,
            }
        }
        // No ID of a copy that goes on.
        self.out.put_u32(0);
        self.out.put_u64(done);
        self.out.put_u32(FILE_SYNC);
        self.out.put_fixed(&self.server.boot);
        // Consecutive and synchronous.
        [1, 1].iter().for_each(|&word| self.out.put_u32(word));
        Ok(())
    }

    /// CLONE: the whole range, or nothing of it.
    pub(super) fn clone_range(&mut self) -> Done {
        let copying = self.copying()?;
        let Copying { from_offset, to_offset, count, .. } = copying;
        let overlap = from_offset < to_offset.saturating_add(count) && to_offset < from_offset.saturating_add(count);
        if copying.from.id() == copying.to.id() && overlap {
            return Err(Status::INVAL);
        }
        self.recall(&copying.to)?;
        if count == 0 {
            return Ok(());
        }
        // Space is taken for all of it first, so that no write fails; holes return theirs. A client cannot ask for the rest of a clone, so
        // the work has no other bound than this space, which is at most the memory of the file system.
        copying.to.allocate(to_offset, count)?;
        let mut done = 0;
        while done < count {
            match copying.piece(done, count)? {
                0 => break,
                copied => done += copied,
            }
        }
        Ok(())
    }

    /// State, offset and length of ALLOCATE and DEALLOCATE.
    fn range_to_change(&mut self) -> Done<(Arc<Node>, u64, u64)> {
        let state = StateId::parse(&mut self.reader)?;
        let (offset, length) = (self.reader.u64()?, self.reader.u64()?);
        let file = self.regular_file()?;
        self.server.may_change(&file)?;
        self.may(&file, state, WRITE)?;
        if length == 0 {
            return Err(Status::INVAL);
        }
        if offset.checked_add(length).is_none_or(|end| end > i64::MAX as u64) {
            return Err(Status::FBIG);
        }
        self.recall(&file)?;
        Ok((file, offset, length))
    }

    pub(super) fn allocate(&mut self) -> Done {
        let (file, offset, length) = self.range_to_change()?;
        Ok(file.allocate(offset, length)?)
    }

    pub(super) fn deallocate(&mut self) -> Done {
        let (file, offset, length) = self.range_to_change()?;
        Ok(file.deallocate(offset, length)?)
    }

    pub(super) fn seek(&mut self) -> Done {
        let state = StateId::parse(&mut self.reader)?;
        let (offset, what) = (self.reader.u64()?, self.reader.u32()?);
        let file = self.file()?;
        self.may(&file, state, READ)?;
        if what > HOLE {
            return Err(Status::UNION_NOTSUPP);
        }
        let (data, size) = file.next_data(offset, u64::MAX)?;
        if offset >= size {
            return Err(Status::NXIO);
        }
        let found = match (what, data) {
            (DATA, Some((start, _))) => start,
            (DATA, None) => size,
            (_, Some((start, end))) if start <= offset => end,
            _ => offset,
        };
        self.out.put_u32(u32::from(found >= size));
        self.out.put_u64(found);
        Ok(())
    }

    pub(super) fn read_plus(&mut self) -> Done {
        let state = StateId::parse(&mut self.reader)?;
        let (offset, count) = (self.reader.u64()?, self.reader.u32()?);
        let file = self.file()?;
        self.may(&file, state, READ)?;
        let eof_at = self.out.len();
        // Whether the file ends, and the number of segments.
        self.out.put_u64(0);
        let end = offset.saturating_add(count.min(LONGEST_DATA).into());
        let (mut at, mut segments, mut size) = (offset, 0, file.stat().size);
        while at < end.min(size) && segments < MOST_SEGMENTS {
            let (data, now) = file.next_data(at, end)?;
            size = now;
            let end = end.min(size);
            match data {
                Some((start, stop)) if start == at => {
                    let (bytes, _) = file.read(at, u32::try_from(stop.min(end) - at).unwrap_or(0))?;
                    // The file became shorter meanwhile: it ends here, or before.
                    if bytes.is_empty() {
                        size = size.min(at);
                        break;
                    }
                    self.out.put_u32(DATA);
                    self.out.put_u64(at);
                    self.out.put_opaque(&bytes);
                    at += bytes.len() as u64;
                }
                data => {
                    let stop = data.map_or(end, |(start, _)| start.min(end));
                    self.out.put_u32(HOLE);
                    [at, stop.saturating_sub(at)].iter().for_each(|&number| self.out.put_u64(number));
                    at = at.max(stop);
                }
            }
            segments += 1;
        }
        let head = [u32::from(at >= size), segments as u32];
        for (word, place) in head.iter().zip([eof_at, eof_at + 4]) {
            if let Some(place) = self.out.get_mut(place..place + 4) {
                place.copy_from_slice(&word.to_be_bytes());
            }
        }
        Ok(())
    }

    /// The current handle, of a regular file that is to be changed: 4.2 refuses others with one status.
    fn regular_file(&self) -> Done<Arc<Node>> {
        let node = self.current()?;
        if node.kind() == Kind::File { Ok(Arc::clone(node)) } else { Err(Status::WRONG_TYPE) }
    }
}
