//! Data that is moved in one or more requests.

use plimsoll_wire::nfs::v3::FileHandle;

/// Data of one file that is moved in one or more requests.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    pub(super) handle: FileHandle,
    /// Where the next request begins.
    next: u64,
    /// Where the last one ends.
    end: u64,
    /// Nothing was asked for yet: then even a transfer of nothing asks once.
    fresh: bool,
    /// Offsets and lengths of what an answer left out.
    again: Vec<(u64, u32)>,
    /// Bytes that were moved.
    bytes: u32,
}

impl Transfer {
    /// `None` where the end is beyond all offsets.
    pub(super) fn new(handle: FileHandle, offset: u64, length: u32) -> Option<Self> {
        let end = offset.checked_add(u64::from(length))?;
        Some(Self { handle, next: offset, end, fresh: true, again: Vec::new(), bytes: 0 })
    }

    /// Takes at most `most` bytes off: offset and length of the next request; `None` where nothing is left.
    pub(super) fn take(&mut self, most: u32) -> Option<(u64, u32)> {
        if let Some(left) = self.again.pop() {
            return Some(left);
        }
        if self.is_over() {
            return None;
        }
        let offset = self.next;
        let length = u32::try_from(self.end.saturating_sub(offset)).unwrap_or(u32::MAX).min(most);
        self.next += u64::from(length);
        self.fresh = false;
        Some((offset, length))
    }

    /// So many of the bytes that were asked for were moved; the rest is asked for again, unless the file ends there or
    /// nothing moves.
    pub(super) fn moved(&mut self, offset: u64, asked: u32, count: u32, end: bool) {
        self.bytes = self.bytes.saturating_add(count);
        if count > 0 && count < asked && !end {
            self.again.push((offset + u64::from(count), asked - count));
        }
    }

    /// Bytes that were moved.
    pub(super) fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Whether nothing is left to ask for.
    pub(super) fn is_over(&self) -> bool {
        !self.fresh && self.next >= self.end && self.again.is_empty()
    }

    /// Asks for no more.
    pub(super) fn stop(&mut self) {
        self.next = self.end;
        self.fresh = false;
        self.again.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_transfers_take_several_requests_and_empty_ones_take_one() {
        let handle = FileHandle::new(&[1]).unwrap();
        let mut transfer = Transfer::new(handle, 10, 25).unwrap();
        let taken: Vec<_> = std::iter::from_fn(|| transfer.take(10)).collect();
        assert_eq!(taken, [(10, 10), (20, 10), (30, 5)]);
        let mut empty = Transfer::new(handle, 7, 0).unwrap();
        assert_eq!((empty.take(10), empty.take(10)), (Some((7, 0)), None));
        assert!(Transfer::new(handle, u64::MAX, 1).is_none());
    }

    #[test]
    fn what_an_answer_leaves_out_is_asked_for_again() {
        let mut transfer = Transfer::new(FileHandle::new(&[1]).unwrap(), 0, 20).unwrap();
        let _ = (transfer.take(10), transfer.take(10));
        transfer.moved(0, 10, 4, false);
        transfer.moved(10, 10, 10, false);
        assert!(!transfer.is_over());
        assert_eq!((transfer.take(10), transfer.take(10)), (Some((4, 6)), None));
        transfer.moved(4, 6, 3, true);
        assert_eq!((transfer.is_over(), transfer.bytes()), (true, 17));
        transfer.moved(7, 3, 0, false);
        assert!(transfer.is_over(), "what does not move is not asked for for ever");
    }
}
