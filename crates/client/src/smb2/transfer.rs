//! The requests of a read or write.

use plimsoll_wire::smb2::FileId;

/// A transfer of file data in one or more requests.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    pub(super) file: FileId,
    /// Where the first request begins.
    pub(super) from: u64,
    /// Where the next request begins.
    pub(super) next: u64,
    /// Where the last one ends.
    pub(super) end: u64,
    /// No request was sent yet: even a transfer of 0 bytes sends one.
    fresh: bool,
    /// Offset and length of what the server left out of a write.
    again: Vec<(u64, u32)>,
    /// Bytes that were moved.
    pub(super) moved: u32,
}

impl Transfer {
    /// `None` where the end is beyond all offsets.
    pub(super) fn new(file: FileId, offset: u64, length: u32) -> Option<Self> {
        let end = offset.checked_add(u64::from(length))?;
        Some(Self { file, from: offset, next: offset, end, fresh: true, again: Vec::new(), moved: 0 })
    }

    /// Whether something was asked for already.
    pub(super) fn is_begun(&self) -> bool {
        !self.fresh
    }

    /// Whether there is something left to ask for.
    pub(super) fn has_more(&self) -> bool {
        self.fresh || self.next < self.end || !self.again.is_empty()
    }

    /// Length of the next request, at most `most` bytes.
    pub(super) fn next_length(&self, most: u32) -> u32 {
        let left = self.again.last().map_or(self.end.saturating_sub(self.next), |(_, length)| u64::from(*length));
        u32::try_from(left).unwrap_or(u32::MAX).min(most)
    }

    /// Takes at most `most` bytes off: offset and length of the next request.
    pub(super) fn take(&mut self, most: u32) -> (u64, u32) {
        let length = self.next_length(most);
        self.fresh = false;
        let Some((offset, left)) = self.again.pop() else {
            let offset = self.next;
            self.next += u64::from(length);
            return (offset, length);
        };
        if left > length {
            self.again.push((offset + u64::from(length), left - length));
        }
        (offset, length)
    }

    /// The server wrote `count` of the `length` bytes from `offset` on. The rest is written again, because other requests may have written
    /// what is behind it.
    pub(super) fn written(&mut self, offset: u64, length: u32, count: u32) {
        self.moved = self.moved.saturating_add(count);
        if count < length {
            self.again.push((offset + u64::from(count), length - count));
        }
    }

    /// Sends no further requests.
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
    fn what_was_left_out_of_a_write_is_cut_as_everything_else() {
        let mut transfer = Transfer::new(FileId::PREVIOUS, 100, 50).unwrap();
        assert_eq!((transfer.take(30), transfer.take(30)), ((100, 30), (130, 20)));
        assert!(!transfer.has_more());
        transfer.written(100, 30, 5);
        transfer.written(130, 20, 20);
        assert_eq!((transfer.has_more(), transfer.next_length(15)), (true, 15));
        assert_eq!((transfer.take(15), transfer.take(15)), ((105, 15), (120, 10)));
        transfer.written(105, 15, 15);
        transfer.written(120, 10, 10);
        assert_eq!((transfer.has_more(), transfer.moved), (false, 50));
        transfer.written(105, 15, 14);
        transfer.stop();
        assert!(!transfer.has_more());
    }
}
