//! The locked ranges of a file, which the client reclaims after a restart of the server.

/// A locked range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) offset: u64,
    /// `u64::MAX`: to the end of the file.
    pub(super) length: u64,
    pub(super) exclusive: bool,
}

/// Ranges that do not overlap.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges(Vec<Range>);

impl Range {
    /// The offset after its last byte; `u64::MAX` for the end of the file.
    fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }

    /// The part between two offsets.
    fn between(self, from: u64, to: u64) -> Option<Self> {
        let (from, to) = (from.max(self.offset), to.min(self.end()));
        let length = if to == u64::MAX { u64::MAX } else { to.saturating_sub(from) };
        (from < to).then_some(Self { offset: from, length, ..self })
    }
}

impl Ranges {
    /// Adds a granted lock, which replaces earlier locks of the same owner on these bytes.
    pub(super) fn lock(&mut self, range: Range) {
        self.unlock(range.offset, range.length);
        self.0.push(range);
    }

    /// Removes an unlocked range.
    pub(super) fn unlock(&mut self, offset: u64, length: u64) {
        let end = offset.saturating_add(length);
        let rest = |range: &Range| [range.between(0, offset), range.between(end, u64::MAX)];
        self.0 = self.0.iter().flat_map(rest).flatten().collect();
    }

    /// The locked ranges, in the order of locking.
    pub(super) fn iter(&self) -> impl Iterator<Item = Range> {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(offset: u64, length: u64, exclusive: bool) -> Range {
        Range { offset, length, exclusive }
    }

    #[test]
    fn an_unlocked_part_is_left_out() {
        let mut ranges = Ranges::default();
        ranges.lock(range(0, 100, true));
        ranges.lock(range(200, u64::MAX, false));
        ranges.unlock(40, 20);
        ranges.unlock(300, 10);
        let left: Vec<_> = ranges.iter().collect();
        let expected = [(0, 40, true), (60, 40, true), (200, 100, false), (310, u64::MAX, false)];
        assert_eq!(left, expected.map(|(offset, length, exclusive)| range(offset, length, exclusive)));
        ranges.lock(range(30, 40, false));
        assert_eq!(ranges.iter().count(), 5, "the last lock of a byte holds");
        ranges.unlock(0, u64::MAX);
        assert_eq!(ranges.iter().count(), 0);
    }
}
