//! The rows of a group in the order of the beginnings of their requests.

use plimsoll_model::Transaction;

/// The rows since the last row group, as they came.
#[derive(Default)]
pub(super) struct Order {
    /// When each began, and which row it is.
    rows: Vec<(i64, u32)>,
    unsorted: bool,
}

impl Order {
    /// One more row.
    #[inline]
    pub(super) fn put(&mut self, t: &Transaction) {
        // Those that never began come first.
        let begun = t.timeline.request_first.unwrap_or(i64::MIN);
        self.unsorted |= self.rows.last().is_some_and(|&(last, _)| last > begun);
        // A row group's rows are far fewer.
        self.rows.push((begun, self.rows.len() as u32));
    }

    /// The order that sorts the rows; rows of the same time keep their order. `None` if all are sorted already.
    pub(super) fn take(&mut self) -> Option<Vec<u32>> {
        let sorted = std::mem::take(&mut self.unsorted).then(|| {
            // Of a group that is over in seconds, all but some four of the eight bytes of an instant are alike, and are passed over.
            radsort::sort_by_key(&mut self.rows, |&(begun, _)| begun);
            self.rows.iter().map(|&(_, row)| row).collect()
        });
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
