//! Counts of rising cells in few bytes: most cells follow closely on the one before, and have few counts.

/// Pairs of cell and count, each as the distance from the cell before and the count, both in 7 bits a byte (LEB128). What is equal has equal
/// bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PackedCells {
    /// All pairs but the last one, to which more may be added.
    bytes: Vec<u8>,
    /// The cell of the last of these.
    packed: u16,
    last: Option<(u16, u64)>,
    len: u32,
}

impl PackedCells {
    /// Adds a pair behind the last one, or to it.
    pub(crate) fn push(&mut self, cell: u16, count: u64) {
        if let Some((last, sum)) = &mut self.last {
            debug_assert!(*last <= cell, "cells rise");
            if *last == cell {
                *sum = sum.saturating_add(count);
                return;
            }
            let (before, sum) = (*last, *sum);
            self.put(u64::from(before.wrapping_sub(self.packed)));
            self.put(sum);
            self.packed = before;
        }
        self.last = Some((cell, count));
        self.len += 1;
    }

    fn put(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// The pairs, in the order of the cells.
    pub(crate) fn pairs(&self) -> Pairs<'_> {
        Pairs { bytes: &self.bytes, cell: 0, last: self.last }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// The last cell.
    pub(crate) fn last(&self) -> Option<u16> {
        self.last.map(|(cell, _)| cell)
    }

    /// Gives up memory that is not used.
    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }
}

/// The pairs of [`PackedCells`].
#[derive(Clone, Debug)]
pub(crate) struct Pairs<'a> {
    bytes: &'a [u8],
    cell: u16,
    last: Option<(u16, u64)>,
}

impl Iterator for Pairs<'_> {
    type Item = (u16, u64);

    #[inline]
    fn next(&mut self) -> Option<(u16, u64)> {
        let Some(distance) = take(&mut self.bytes) else { return self.last.take() };
        self.cell = self.cell.wrapping_add(distance as u16);
        Some((self.cell, take(&mut self.bytes)?))
    }
}

#[inline]
fn take(from: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_come_back_and_most_take_two_bytes() {
        let pairs = [(0, 1), (1, 127), (128, 1), (300, 128), (56_319, u64::MAX)];
        let mut packed = PackedCells::default();
        pairs.iter().for_each(|&(cell, count)| packed.push(cell, count));
        assert_eq!(
            (packed.pairs().collect::<Vec<_>>(), packed.len(), packed.last()),
            (pairs.to_vec(), 5, Some(56_319))
        );
        assert_eq!(packed.bytes.len(), 3 * 2 + 4);
        packed.push(56_319, 1);
        assert_eq!(packed.pairs().last(), Some((56_319, u64::MAX)));
        assert_eq!(PackedCells::default().pairs().next(), None);
    }
}
