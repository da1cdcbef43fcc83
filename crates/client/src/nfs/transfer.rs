//! Data that is moved in one or more requests.

/// Data of one file that is moved in one or more requests.
#[derive(Clone, Debug)]
pub(crate) struct Transfer<H> {
    pub(crate) handle: H,
    /// Where the next request begins.
    next: u64,
    /// Where the last one ends.
    end: u64,
    /// Nothing was asked for yet: then even a transfer of nothing asks once.
    fresh: bool,
    /// Offsets and lengths of data that answers left out.
    again: Vec<(u64, u32)>,
    /// Bytes that were moved.
    bytes: u32,
}

impl<H> Transfer<H> {
    /// `None` where the end is beyond all offsets.
    pub(crate) fn new(handle: H, offset: u64, length: u32) -> Option<Self> {
        let end = offset.checked_add(u64::from(length))?;
        Some(Self { handle, next: offset, end, fresh: true, again: Vec::new(), bytes: 0 })
    }

    /// Takes at most `most` bytes off: offset and length of the next request; `None` where nothing is left.
    pub(crate) fn take(&mut self, most: u32) -> Option<(u64, u32)> {
        if let Some((offset, length)) = self.again.pop() {
            // The request may be from a session that accepted longer requests than the present one.
            let taken = length.min(most);
            if taken < length {
                self.again.push((offset + u64::from(taken), length - taken));
            }
            return Some((offset, taken));
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

    /// `count` of the `asked` bytes were moved. The rest is requested again, unless nothing moves or the file ends there; then nothing
    /// after it is requested either.
    pub(crate) fn moved(&mut self, offset: u64, asked: u32, count: u32, end: bool) {
        self.bytes = self.bytes.saturating_add(count);
        if end {
            self.next = self.end;
        } else if count > 0 && count < asked {
            self.again.push((offset + u64::from(count), asked - count));
        }
    }

    /// A request was put off: it is asked again.
    pub(crate) fn ask_again(&mut self, offset: u64, length: u32) {
        self.again.push((offset, length));
    }

    /// Bytes that were moved.
    pub(crate) fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Whether nothing is left to ask for.
    pub(crate) fn is_over(&self) -> bool {
        !self.fresh && self.next >= self.end && self.again.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::nfs::v3::FileHandle;

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
    fn what_is_asked_for_again_is_split_if_requests_must_be_shorter() {
        let mut transfer = Transfer::new(FileHandle::new(&[1]).unwrap(), 0, 20).unwrap();
        let _ = transfer.take(20);
        transfer.ask_again(0, 20);
        let taken: Vec<_> = std::iter::from_fn(|| transfer.take(8)).collect();
        assert_eq!(taken, [(0, 8), (8, 8), (16, 4)]);
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
        let mut ended = Transfer::new(FileHandle::new(&[1]).unwrap(), 0, 30).unwrap();
        let _ = (ended.take(10), ended.take(10));
        ended.moved(10, 10, 2, true);
        assert!(ended.is_over(), "nothing is asked for behind the end of the file");
        ended.moved(0, 10, 9, false);
        assert_eq!((ended.take(10), ended.bytes()), (Some((9, 1)), 11), "but before it");
        transfer.moved(7, 3, 0, false);
        assert!(transfer.is_over(), "what does not move is not asked for for ever");
    }
}
