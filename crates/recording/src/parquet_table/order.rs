//! The rows of a group in the order of the beginnings of their requests.

use plimsoll_model::Transaction;

/// How far from the end a row is put in its place; farther ones wait for the sort.
const NEAR: usize = 16;

/// The rows since the last row group, nearly sorted.
#[derive(Default)]
pub(super) struct Order {
    /// When each began, and which row it is.
    rows: Vec<(i64, u32)>,
    /// Whether any of them is not where it came, and whether any is not where it belongs.
    moved: bool,
    unsorted: bool,
}

impl Order {
    /// One more row. Requests begin nearly in the order in which they end, so most find their place near the end.
    #[inline]
    pub(super) fn put(&mut self, t: &Transaction) {
        // Those that never began come first.
        let begun = t.timeline.request_first.unwrap_or(i64::MIN);
        let end = self.rows.len();
        let later = self.rows.iter().rev().take(NEAR).take_while(|&&(other, _)| other > begun).count();
        // A row group's rows are far fewer.
        self.rows.push((begun, end as u32));
        if later > 0 {
            self.moved = true;
            if later < NEAR {
                self.rows.get_mut(end - later..).unwrap_or_default().rotate_right(1);
            } else {
                self.unsorted = true;
            }
        }
    }

    /// The rows sorted; those of one instant stay as they came. `None` where all came sorted.
    pub(super) fn take(&mut self) -> Option<Vec<u32>> {
        let (moved, unsorted) = (std::mem::take(&mut self.moved), std::mem::take(&mut self.unsorted));
        if unsorted {
            // It makes use of long sorted pieces, one a worker's.
            self.rows.sort_by_key(|&(begun, _)| begun);
        }
        let sorted = moved.then(|| self.rows.iter().map(|&(_, row)| row).collect());
        self.rows.clear();
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(begun: &[Option<i64>]) -> Option<Vec<u32>> {
        let mut order = Order::default();
        for &begun in begun {
            let mut t =
                plimsoll_testkit::transaction(plimsoll_model::Procedure::of(plimsoll_model::Protocol::Nfs3, 1), 0, 0);
            t.timeline.request_first = begun;
            order.put(&t);
        }
        order.take()
    }

    #[test]
    fn rows_are_sorted_and_equal_ones_stay_as_they_came() {
        assert_eq!(sorted(&[Some(1), Some(2), Some(2), Some(3)]), None, "nothing to do");
        assert_eq!(sorted(&[Some(5), Some(7), Some(5), None, Some(6)]), Some(vec![3, 0, 2, 4, 1]));
        let mut random = plimsoll_testkit::Random::new(1);
        let begun: Vec<Option<i64>> = (0..1_000).map(|_| Some((random.bits() >> 56) as i64)).collect();
        let mut expected: Vec<u32> = (0..1_000).collect();
        expected.sort_by_key(|&row| begun[row as usize]);
        assert_eq!(sorted(&begun), Some(expected));
    }
}
