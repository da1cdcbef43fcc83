//! Marks the parts of a message, for a program that rewrites messages without personal, machine and file names.
//!
//! A mark says that a range of bytes is recognised: numbers of the protocol, a name, an id. Unmarked bytes are file data, a secret,
//! padding or unknown. Each protocol has its marks beside its views, and they cover the fields that the views read:
//! [`crate::smb2::mark`], [`crate::smb1::mark`], [`crate::rpc::mark_call`] and [`crate::rpc::mark_reply`].
//!
//! Spec: none; each protocol names its own

use core::ops::Range;

/// The kind of a range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Signatures, lengths, flags, counts, offsets, statuses, and ids that a connection or session gives out.
    Number,
    /// A name or path in UTF-16LE.
    Wide,
    /// A name or path in UTF-8, or in the code page that client and server agreed on.
    Narrow,
    /// An id that servers may build from numbers of a disk, and that stays the same for long.
    Id,
    /// The big-endian number of a user or group.
    User,
}

/// The marks of a message.
#[derive(Debug)]
pub struct Marks<'a> {
    message: &'a [u8],
    found: Vec<(Range<usize>, Mark)>,
}

impl<'a> Marks<'a> {
    /// No marks yet, of `message`.
    #[must_use]
    pub fn new(message: &'a [u8]) -> Self {
        Self { message, found: Vec::new() }
    }

    /// The ranges that have a mark, within the message. A later one may lie within an earlier one, and then counts.
    pub fn iter(&self) -> impl Iterator<Item = (Range<usize>, Mark)> {
        self.found.iter().cloned()
    }

    /// Marks a range as far as it was captured.
    pub(crate) fn range(&mut self, range: Range<usize>, mark: Mark) {
        let end = range.end.min(self.message.len());
        if range.start < end {
            self.found.push((range.start..end, mark));
        }
    }

    /// Marks bytes that a view of the message returned; ignores other bytes.
    pub(crate) fn part(&mut self, part: &[u8], mark: Mark) {
        if let Some(range) = self.place(part) {
            self.range(range, mark);
        }
    }

    /// Where in the message bytes stand that a view of it gave.
    pub(crate) fn place(&self, part: &[u8]) -> Option<Range<usize>> {
        let start = part.as_ptr().addr().checked_sub(self.message.as_ptr().addr())?;
        let end = start.checked_add(part.len())?;
        (end <= self.message.len()).then_some(start..end)
    }

    pub(crate) fn message(&self) -> &'a [u8] {
        self.message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_parts_of_the_message_are_marked() {
        let message = [0_u8; 8];
        let mut marks = Marks::new(&message);
        marks.part(&message[2..4], Mark::Number);
        marks.part(&[1, 2, 3], Mark::Wide);
        marks.range(6..20, Mark::Narrow);
        marks.range(9..20, Mark::Narrow);
        let found: Vec<_> = marks.iter().collect();
        assert_eq!(found, [(2..4, Mark::Number), (6..8, Mark::Narrow)]);
    }
}
