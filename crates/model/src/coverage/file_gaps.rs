//! Times between capture files.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

/// Gaps that are kept: 384 bytes.
const MOST: usize = 16;

/// Times between the last packet of a capture file and the first one of the next. It is unknown whether anybody captured then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileGaps {
    /// The longest ones in the order of time: from and to, ns since the Unix epoch.
    longest: [Option<(i64, i64)>; MOST],
    /// The sum of the others, at least, ns.
    others_ns: u64,
}

impl FileGaps {
    /// The shortest that is kept, ns: a ring of capture files of a server with few clients has shorter ones without traffic.
    pub const SHORTEST_NS: i64 = 10_000_000_000;

    /// These, and others of which only the sum is known.
    pub fn of(gaps: impl IntoIterator<Item = (i64, i64)>, others_ns: u64) -> Self {
        let mut gaps: Vec<(i64, i64)> = gaps.into_iter().filter(|gap| length(gap) >= Self::SHORTEST_NS).collect();
        gaps.sort_by_key(|gap| (Reverse(length(gap)), *gap));
        let left_out = gaps.iter().skip(MOST).map(|gap| length(gap).unsigned_abs());
        let others_ns = left_out.fold(others_ns, u64::saturating_add);
        gaps.truncate(MOST);
        gaps.sort_unstable();
        let mut longest = [None; MOST];
        longest.iter_mut().zip(gaps).for_each(|(place, gap)| *place = Some(gap));
        Self { longest, others_ns }
    }

    /// Adds the time between a file and the next one.
    pub fn add(&mut self, from_ns: i64, to_ns: i64) {
        *self = Self::of(self.iter().chain([(from_ns, to_ns)]), self.others_ns);
    }

    /// The same with those of later files of the capture.
    #[must_use]
    pub fn and(&self, later: &Self) -> Self {
        Self::of(self.iter().chain(later.iter()), self.others_ns.saturating_add(later.others_ns))
    }

    /// The sum of the gaps that are shorter than those of [`FileGaps::iter`], at least, ns. Their times are not known.
    pub fn others_ns(&self) -> u64 {
        self.others_ns
    }

    /// In the order of time: from and to, ns since the Unix epoch.
    pub fn iter(&self) -> impl Iterator<Item = (i64, i64)> {
        self.longest.iter().flatten().copied()
    }

    /// Their parts in a time.
    pub fn within(&self, (first, last): (i64, i64)) -> impl Iterator<Item = (i64, i64)> {
        self.iter().map(move |(from, to)| (from.max(first), to.min(last))).filter(|(from, to)| from < to)
    }

    /// The times in which neither of two captures has packets. Each capture has packets at both ends of its span.
    pub(super) fn of_both(mine: (&Self, (i64, i64)), theirs: (&Self, (i64, i64))) -> Self {
        let both = [mine, theirs];
        let around = |gaps: &Self, span: (i64, i64)| -> Vec<(i64, i64)> {
            let outside = [(i64::MIN, span.0), (span.1, i64::MAX)];
            gaps.within(span).chain(outside).collect()
        };
        let [mine, theirs] = both.map(|(gaps, span)| around(gaps, span));
        let common =
            mine.iter().flat_map(|one| theirs.iter().map(move |other| (one.0.max(other.0), one.1.min(other.1))));
        let others_ns = others_of_both(both.map(|(gaps, span)| (gaps.others_ns, span)));
        Self::of(common.filter(|&(from, to)| from > i64::MIN && to < i64::MAX), others_ns)
    }
}

fn length(&(from, to): &(i64, i64)) -> i64 {
    to.saturating_sub(from)
}

/// The least sum of the gaps whose times are not known. Where two captures overlap, one may have packets in the gaps of the other.
fn others_of_both([(mine_ns, my_span), (theirs_ns, their_span)]: [(u64, (i64, i64)); 2]) -> u64 {
    let overlap = (my_span.0.max(their_span.0), my_span.1.min(their_span.1));
    let overlap_ns = length(&overlap).max(0).unsigned_abs();
    mine_ns.saturating_sub(overlap_ns).saturating_add(theirs_ns.saturating_sub(overlap_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000_000;

    fn gaps(of: &FileGaps) -> Vec<(i64, i64)> {
        of.iter().map(|(from, to)| (from / MINUTE, to / MINUTE)).collect()
    }

    fn minutes((from, to): (i64, i64)) -> (i64, i64) {
        (from * MINUTE, to * MINUTE)
    }

    #[test]
    fn the_time_in_no_capture_is_a_gap_in_any_order() {
        let none = FileGaps::default();
        let sum = |one: (&FileGaps, (i64, i64)), other: (&FileGaps, (i64, i64))| {
            let both = FileGaps::of_both((one.0, minutes(one.1)), (other.0, minutes(other.1)));
            assert_eq!(both, FileGaps::of_both((other.0, minutes(other.1)), (one.0, minutes(one.1))));
            both
        };
        let apart = sum((&none, (0, 10)), (&none, (70, 80)));
        assert_eq!(gaps(&apart), [(10, 70)]);
        assert_eq!(sum((&none, (0, 10)), (&none, (5, 80))), none, "they overlap");
        // A third capture of the time between, and one of all of it.
        assert_eq!(gaps(&sum((&apart, (0, 80)), (&none, (20, 30)))), [(10, 20), (30, 70)]);
        assert_eq!(sum((&apart, (0, 80)), (&none, (0, 80))), none);
        assert_eq!(gaps(&sum((&apart, (0, 80)), (&none, (90, 95)))), [(10, 70), (80, 90)]);
        assert_eq!(apart.within(minutes((60, 75))).collect::<Vec<_>>(), [minutes((60, 70))], "of a part of the time");
    }

    #[test]
    fn short_ones_are_left_out_and_the_longest_are_kept() {
        let mut many = FileGaps::default();
        many.add(0, FileGaps::SHORTEST_NS - 1);
        many.add(5, 4);
        assert_eq!(many, FileGaps::default());
        (0..40).for_each(|at| many.add(at * 100 * MINUTE, (at * 101 + 1) * MINUTE));
        let kept = gaps(&many);
        assert_eq!((kept.len(), kept.first(), kept.last()), (MOST, Some(&(2_400, 2_425)), Some(&(3_900, 3_940))));
        // Those of 1 to 24 minutes are known by their sum.
        let sum = |gaps: &FileGaps| gaps.others_ns() / MINUTE.unsigned_abs();
        assert_eq!((sum(&many), sum(&many.and(&many))), (300, 600 + 2 * 228));
        let none = FileGaps::default();
        let with = |span: (i64, i64)| sum(&FileGaps::of_both((&many, minutes((0, 4_000))), (&none, minutes(span))));
        assert_eq!(with((5_000, 5_001)), 325, "the gap between both is longer than one that was kept");
        assert_eq!(with((10, 110)), 200, "packets of 100 minutes, perhaps in these gaps");
    }
}
