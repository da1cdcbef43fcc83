//! Byte-range locks of one file.
//!
//! Spec: RFC 8881 9.1, RFC 8881 18.10

use super::status::{Done, Status};

/// Bytes from `first` to `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Span {
    /// From an offset and a length; all ones are all bytes that there will be.
    pub(super) fn new(offset: u64, length: u64) -> Done<Self> {
        let last = match length {
            0 => return Err(Status::INVAL),
            u64::MAX => u64::MAX,
            _ => offset.checked_add(length - 1).ok_or(Status::INVAL)?,
        };
        Ok(Self { first: offset, last })
    }

    /// Its length as it is sent.
    pub(super) fn length(self) -> u64 {
        if self.last == u64::MAX { u64::MAX } else { self.last - self.first + 1 }
    }

    fn meets(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// A lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) span: Span,
    pub(super) exclusive: bool,
    /// Number of the lock state, which is its owner's.
    pub(super) state: u64,
}

/// The locks of a file, those of each owner without overlaps.
#[derive(Debug, Default)]
pub(super) struct Ranges(Vec<Range>);

impl Ranges {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether this state has locks.
    pub(super) fn has(&self, state: u64) -> bool {
        self.0.iter().any(|range| range.state == state)
    }

    /// A lock of another owner that excludes this one.
    pub(super) fn conflict(&self, span: Span, exclusive: bool, state: Option<u64>) -> Option<Range> {
        let conflicts =
            |range: &&Range| Some(range.state) != state && (range.exclusive || exclusive) && range.span.meets(span);
        self.0.iter().find(conflicts).copied()
    }

    /// Locks a range, and replaces what the owner had of it.
    pub(super) fn lock(&mut self, span: Span, exclusive: bool, state: u64) {
        self.unlock(span, state);
        let mut whole = span;
        // Neighbours of the same kind become one.
        self.0.retain(|range| {
            let joins = range.state == state
                && range.exclusive == exclusive
                && (range.span.last.checked_add(1) == Some(span.first)
                    || span.last.checked_add(1) == Some(range.span.first));
            if joins {
                whole.first = whole.first.min(range.span.first);
                whole.last = whole.last.max(range.span.last);
            }
            !joins
        });
        self.0.push(Range { span: whole, exclusive, state });
    }

    /// Whether unlocking a range makes two locks of one.
    pub(super) fn splits(&self, span: Span, state: u64) -> bool {
        let is_around = |range: &Range| range.span.first < span.first && range.span.last > span.last;
        self.0.iter().any(|range| range.state == state && is_around(range))
    }

    /// Unlocks a range of an owner; what remains of a lock before and behind it stays.
    pub(super) fn unlock(&mut self, span: Span, state: u64) {
        let mut rest = Vec::new();
        self.0.retain(|range| {
            if range.state != state || !range.span.meets(span) {
                return true;
            }
            if range.span.first < span.first {
                rest.push(Range { span: Span { first: range.span.first, last: span.first - 1 }, ..*range });
            }
            if range.span.last > span.last {
                rest.push(Range { span: Span { first: span.last + 1, last: range.span.last }, ..*range });
            }
            false
        });
        self.0.append(&mut rest);
    }

    /// Unlocks everything of an owner.
    pub(super) fn forget(&mut self, state: u64) {
        self.0.retain(|range| range.state != state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 24;

    /// Compares with one cell per byte and owner, over all short programs of a generator.
    #[test]
    fn ranges_do_what_single_bytes_would() {
        let mut seed = 7_u64;
        let mut step = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut refused = 0;
        for _ in 0..200 {
            let mut ranges = Ranges::default();
            let mut cells = [[0_u8; SIZE as usize]; 3];
            for _ in 0..40 {
                let (state, first) = (step(3), step(SIZE));
                let span = Span::new(first, 1 + step(SIZE - first)).unwrap();
                let (exclusive, locks) = (step(2) == 1, step(3) > 0);
                let bytes = span.first as usize..=span.last as usize;
                if locks {
                    let others = (0..3).filter(|&other| other != state);
                    let busy = others.into_iter().any(|other| {
                        cells[other as usize][bytes.clone()].iter().any(|&cell| cell == 2 || cell == 1 && exclusive)
                    });
                    assert_eq!(ranges.conflict(span, exclusive, Some(state)).is_some(), busy);
                    if busy {
                        refused += 1;
                        continue;
                    }
                    ranges.lock(span, exclusive, state);
                } else {
                    ranges.unlock(span, state);
                }
                let value = if locks { 1 + u8::from(exclusive) } else { 0 };
                cells[state as usize][bytes].fill(value);
                for (state, cells) in cells.iter().enumerate() {
                    let mut seen = [0; SIZE as usize];
                    for range in ranges.0.iter().filter(|range| range.state == state as u64) {
                        let bytes = &mut seen[range.span.first as usize..=range.span.last as usize];
                        assert!(bytes.iter().all(|&cell| cell == 0), "an owner's locks overlap");
                        bytes.fill(1 + u8::from(range.exclusive));
                    }
                    assert_eq!(&seen, cells);
                }
            }
        }
        assert!(refused > 100, "{refused}");
    }

    #[test]
    fn all_ones_are_the_rest_of_the_file() {
        let rest = Span::new(5, u64::MAX).unwrap();
        assert_eq!((rest.last, rest.length()), (u64::MAX, u64::MAX));
        assert_eq!((Span::new(5, 0), Span::new(u64::MAX, 2)), (Err(Status::INVAL), Err(Status::INVAL)));
        assert_eq!(Span::new(u64::MAX, 1).unwrap().first, u64::MAX);
    }
}
