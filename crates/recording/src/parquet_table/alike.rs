//! One value per row, stored once as long as all are equal: unwritten values need no memory and no cache.

/// The values of rows, one each.
pub(super) struct Alike<T> {
    rows: usize,
    first: T,
    /// None as long as all are the first one.
    each: Vec<T>,
}

impl<T: Copy + PartialEq + Default> Alike<T> {
    pub(super) fn new() -> Self {
        Self { rows: 0, first: T::default(), each: Vec::new() }
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// More rows, all with this value.
    #[inline]
    pub(super) fn put_same(&mut self, value: T, rows: usize) {
        if self.rows == 0 {
            self.first = value;
        }
        if value != self.first || !self.each.is_empty() {
            self.spread().extend(std::iter::repeat_n(value, rows));
        }
        self.rows += rows;
    }

    /// More rows, a value each.
    #[inline]
    pub(super) fn put(&mut self, values: impl ExactSizeIterator<Item = T> + Clone) {
        let rows = values.len();
        let first = if self.rows == 0 { values.clone().next().unwrap_or_default() } else { self.first };
        self.first = first;
        if !self.each.is_empty() || !values.clone().all(|value| value == first) {
            self.spread().extend(values);
        }
        self.rows += rows;
    }

    /// The values of all rows, to be changed, but not in number.
    pub(super) fn spread(&mut self) -> &mut Vec<T> {
        if self.each.is_empty() {
            self.each.resize(self.rows, self.first);
        }
        &mut self.each
    }

    /// The values of all rows if they are not all equal.
    pub(super) fn different(&mut self) -> Option<&mut Vec<T>> {
        (!self.each.is_empty()).then_some(&mut self.each)
    }

    pub(super) fn clear(&mut self) {
        self.rows = 0;
        self.each.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_each_from_the_first_other_one() {
        let mut values = Alike::new();
        values.put([7, 7].into_iter());
        values.put_same(7, 2);
        assert_eq!((values.len(), values.different()), (4, None));
        values.put([7, 8].into_iter());
        values.put_same(7, 1);
        assert_eq!((values.len(), values.spread()), (7, &mut vec![7, 7, 7, 7, 7, 8, 7]));
        values.clear();
        values.put_same(9, 1);
        values.put([9].into_iter());
        assert_eq!((values.len(), values.different()), (2, None));
        values.put_same(8, 2);
        assert_eq!(values.spread(), &mut vec![9, 9, 8, 8]);
    }

    #[test]
    fn none_is_no_value() {
        let mut values = Alike::new();
        values.put([].into_iter());
        values.put_same(3, 0);
        values.put([4, 4].into_iter());
        assert_eq!((values.len(), values.spread()), (2, &mut vec![4, 4]));
    }
}
