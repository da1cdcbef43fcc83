//! Equal bins of time that widen when there get too many.

use serde::{Deserialize, Serialize};

use crate::state::{Reader, State, StateError, Writer};

/// The content of a bin.
pub trait Cell: Default {
    /// Adds another cell.
    fn absorb(&mut self, other: &Self);
}

/// Equal bins of time, at most `limit` of them.
///
/// A bin's width is [`BASE_NS`] times the smallest power of two for which the bins suffice, and bins begin at multiples of their width
/// since the Unix epoch. So the bins depend only on the earliest and latest time, not on the order of arrival, and merged parts are
/// exactly the whole.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bins<T> {
    limit: usize,
    doublings: u32,
    first: i64,
    cells: Vec<T>,
    here: Here,
}

/// The bin that was asked for last, for times come in runs.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Here {
    start_ns: i64,
    /// 0 where it is not known.
    width_ns: u64,
    place: usize,
}

impl<T: PartialEq> PartialEq for Bins<T> {
    /// Which bin was asked for last makes no difference.
    fn eq(&self, other: &Self) -> bool {
        let key = |bins: &Self| (bins.limit, bins.doublings, bins.first);
        key(self) == key(other) && self.cells == other.cells
    }
}

/// More bins than any report has.
const MOST: usize = 1 << 16;

/// Narrowest bin, ns: 1 ms shows the shape of a capture of a second.
pub const BASE_NS: i64 = 1_000_000;

impl<T: Cell> Bins<T> {
    /// No bins yet. (At least two are kept: no power of two joins the bins on both sides of the epoch.)
    pub fn new(limit: usize) -> Self {
        Self { limit: limit.max(2), doublings: 0, first: 0, cells: Vec::new(), here: Here::default() }
    }

    /// The bin of a time.
    #[inline]
    pub fn at(&mut self, ns: i64) -> Option<&mut T> {
        if ns >= self.here.start_ns && ns.abs_diff(self.here.start_ns) < self.here.width_ns {
            return self.cells.get_mut(self.here.place);
        }
        self.look_up(ns)
    }

    fn look_up(&mut self, ns: i64) -> Option<&mut T> {
        let mut bin = ns.div_euclid(BASE_NS) >> self.doublings;
        let mut offset = bin.wrapping_sub(self.first);
        if offset < 0 || offset >= self.cells.len() as i64 {
            self.cover(bin, bin);
            bin = ns.div_euclid(BASE_NS) >> self.doublings;
            offset = bin - self.first;
        }
        let (place, width_ns) = (usize::try_from(offset).ok()?, self.width_ns());
        // (A bin that begins before the earliest time there is is not remembered.)
        self.here = match bin.checked_mul(width_ns) {
            Some(start_ns) => Here { start_ns, width_ns: width_ns.unsigned_abs(), place },
            None => Here::default(),
        };
        self.cells.get_mut(place)
    }

    /// Makes room for the bins `from..=to` (numbered at the present width), widening all as often as it takes.
    #[cold]
    fn cover(&mut self, mut from: i64, mut to: i64) {
        self.here = Here::default();
        if self.cells.is_empty() {
            self.first = from;
        }
        let mut last = self.first + self.cells.len() as i64 - 1;
        let is_empty = self.cells.is_empty();
        loop {
            let low = if is_empty { from } else { from.min(self.first) };
            let high = if is_empty { to } else { to.max(last) };
            if high - low < self.limit as i64 {
                let before = if is_empty { 0 } else { (self.first - low) as usize };
                self.cells.splice(..0, std::iter::repeat_with(T::default).take(before));
                self.first = low;
                while (self.cells.len() as i64) < high - low + 1 {
                    self.cells.push(T::default());
                }
                return;
            }
            self.double();
            (from, to, last) = (from >> 1, to >> 1, last >> 1);
        }
    }

    fn double(&mut self) {
        self.here = Here::default();
        let (old_first, old) = (self.first, std::mem::take(&mut self.cells));
        self.doublings += 1;
        self.first >>= 1;
        for (i, cell) in old.into_iter().enumerate() {
            let place = ((old_first + i as i64) >> 1) - self.first;
            if place < self.cells.len() as i64 {
                if let Some(last) = self.cells.last_mut() {
                    last.absorb(&cell);
                }
            } else {
                self.cells.push(cell);
            }
        }
    }

    /// Adds another part of the same data.
    pub fn merge(&mut self, other: &Bins<T>) {
        if other.cells.is_empty() {
            return;
        }
        while self.doublings < other.doublings {
            self.double();
        }
        let shift = self.doublings - other.doublings;
        let last = other.first + other.cells.len() as i64 - 1;
        self.cover(other.first >> shift, last >> shift);
        let shift = self.doublings - other.doublings;
        for (i, cell) in other.cells.iter().enumerate() {
            let place = ((other.first + i as i64) >> shift) - self.first;
            if let Some(mine) = usize::try_from(place).ok().and_then(|place| self.cells.get_mut(place)) {
                mine.absorb(cell);
            }
        }
    }

    /// These bins at the width of `frame`, into which they were merged, and the index of the first one there.
    pub fn placed_in(&self, frame: &Bins<T>) -> (usize, Vec<T>) {
        let shift = frame.doublings.saturating_sub(self.doublings).min(62);
        let first = self.first >> shift;
        let mut cells: Vec<T> = Vec::new();
        for (i, cell) in self.cells.iter().enumerate() {
            let place = usize::try_from(((self.first + i as i64) >> shift) - first).unwrap_or_default();
            while cells.len() <= place {
                cells.push(T::default());
            }
            cells[place].absorb(cell);
        }
        (usize::try_from(first - frame.first).unwrap_or_default(), cells)
    }

    /// Most bins there can be.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Start of the first bin, ns since the Unix epoch; 0 without bins.
    pub fn start_ns(&self) -> i64 {
        self.first.saturating_mul(self.width_ns())
    }

    /// Width of a bin, ns.
    pub fn width_ns(&self) -> i64 {
        BASE_NS.checked_shl(self.doublings).filter(|w| *w > 0).unwrap_or(i64::MAX)
    }

    /// The bins, in time order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        self.cells.iter()
    }
}

impl<T: State> State for Bins<T> {
    fn put(&self, out: &mut Writer) {
        self.limit.put(out);
        self.doublings.put(out);
        self.first.put(out);
        self.cells.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let (limit, doublings, first) = (usize::take(from)?, u32::take(from)?, i64::take(from)?);
        let cells = Vec::<T>::take(from)?;
        // No time of 64 bits is in a bin farther from the epoch, and a bin as wide as all of time needs no doubling.
        let farthest = (i64::MAX / BASE_NS) >> doublings.min(62);
        let held = first >= -farthest - 1 && first <= farthest;
        if cells.len() <= limit && limit <= MOST && doublings <= 44 && held {
            Ok(Self { limit, doublings, first, cells, here: Here::default() })
        } else {
            Err(from.no("bins"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Count(u64);

    impl Cell for Count {
        fn absorb(&mut self, other: &Self) {
            self.0 += other.0;
        }
    }

    fn of(times: &[i64]) -> Bins<Count> {
        let mut bins: Bins<Count> = Bins::new(10);
        for &t in times {
            bins.at(t).unwrap().0 += 1;
        }
        bins
    }

    #[test]
    fn bins_widen_and_keep_their_counts() {
        let bins = of(&[0, 999_999, 1_000_000, 9_999_999]);
        assert_eq!((bins.width_ns(), bins.iter().len()), (BASE_NS, 10));
        let bins = of(&[0, 999_999, 1_000_000, 9_999_999, 10_000_000]);
        assert_eq!((bins.width_ns(), bins.start_ns()), (2 * BASE_NS, 0));
        assert_eq!(bins.iter().map(|c| c.0).collect::<Vec<_>>(), [3, 0, 0, 0, 1, 1]);
    }

    #[test]
    fn a_time_before_the_first_bin_is_taken() {
        let bins = of(&[5_000_000, -1]);
        assert_eq!((bins.start_ns(), bins.iter().len()), (-BASE_NS, 7));
        assert_eq!(bins.iter().map(|c| c.0).sum::<u64>(), 2);
    }

    #[test]
    fn the_whole_range_of_times_is_taken() {
        let bins = of(&[i64::MIN, i64::MAX, 0]);
        assert!(bins.iter().len() <= 10);
        assert_eq!(bins.iter().map(|c| c.0).sum::<u64>(), 3);
    }

    proptest! {
        #[test]
        fn parts_in_any_order_make_the_whole(
            times in prop::collection::vec(-1_000_000_000_000i64..1_000_000_000_000, 0..60), parts in 1usize..8
        ) {
            let whole = of(&times);
            let (place, same) = whole.placed_in(&whole);
            prop_assert!(place == 0 && same.iter().eq(whole.iter()));
            let mut placed = vec![0; whole.iter().len()];
            for part in times.chunks(7).map(of) {
                let (place, cells) = part.placed_in(&whole);
                cells.iter().zip(&mut placed[place..]).for_each(|(cell, sum)| *sum += cell.0);
            }
            prop_assert_eq!(placed, whole.iter().map(|cell| cell.0).collect::<Vec<_>>());
            let mut merged = Bins::new(10);
            for part in 0..parts {
                let mine: Vec<_> = times.iter().skip(part).step_by(parts).copied().collect();
                merged.merge(&of(&mine));
            }
            prop_assert_eq!(&merged, &whole);
            prop_assert!(whole.iter().len() <= 10);
            prop_assert_eq!(whole.iter().map(|c| c.0).sum::<u64>(), times.len() as u64);
            let mut backwards = times.clone();
            backwards.reverse();
            prop_assert_eq!(of(&backwards), whole);
        }
    }
}
