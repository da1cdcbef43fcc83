//! How much the sizes of so many messages in a row vary.
//!
//! Messages of a kind come together, so the error of "bytes missing over mean size" is larger than that of independent
//! sizes. Sums over blocks of 1, 2, 4 … messages in a row show how large it is. A message costs two blocks on average.

use super::Estimate;

/// Sizes of blocks are powers of two below two to this.
const LEVELS: usize = 16;
/// The variance of a block size is believed from so many blocks on.
const BLOCKS_MIN: u32 = 8;

#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// The sum of the block before, which has no partner yet.
    open: Option<u64>,
    blocks: u32,
    squares: f64,
}

/// Sizes of messages, in the order of their stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    levels: Vec<Level>,
    messages: u64,
    sum: u64,
}

impl Blocks {
    /// Takes the next message's size.
    #[inline]
    pub(crate) fn add(&mut self, size: u64) {
        self.messages += 1;
        self.sum += size;
        let mut block = size;
        for at in 0..LEVELS {
            if at == self.levels.len() {
                self.levels.push(Level::default());
            }
            let Some(level) = self.levels.get_mut(at) else { return };
            level.blocks = level.blocks.saturating_add(1);
            level.squares += (block as f64) * (block as f64);
            let Some(before) = level.open.take() else {
                level.open = Some(block);
                return;
            };
            block += before;
        }
    }

    /// Messages so far.
    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    /// Mean size; `None` without messages.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.messages > 0 && self.sum > 0).then(|| self.sum as f64 / self.messages as f64)
    }

    /// How many messages `missing` bytes in `gaps` places were, messages being of these sizes.
    pub(crate) fn messages_in(&self, missing: u64, gaps: u32) -> Option<Estimate> {
        let mean = self.mean()?;
        let (operations, gaps) = (missing as f64 / mean, f64::from(gaps.max(1)));
        let sampling = self.variance(self.messages as f64) / (self.messages as f64).powi(2) * operations.powi(2);
        let variance = gaps * self.variance(operations / gaps) + sampling;
        Some(Estimate { operations, error: variance.sqrt() / mean })
    }

    /// The variance of the sum of `messages` sizes in a row.
    fn variance(&self, messages: f64) -> f64 {
        let mean = self.mean().unwrap_or_default();
        let mut largest = 0.0_f64;
        for (at, level) in self.levels.iter().enumerate().filter(|(_, level)| level.blocks >= BLOCKS_MIN) {
            let size = (1u64 << at) as f64;
            let blocks = f64::from(level.blocks);
            let of_block = (level.squares / blocks - (mean * size).powi(2)).max(0.0) * blocks / (blocks - 1.0);
            // Of independent blocks variances add up; blocks larger than that many messages do not count.
            if size <= messages.max(1.0) {
                largest = largest.max(of_block * messages / size);
            }
        }
        match self.levels.first() {
            Some(level) if level.blocks >= BLOCKS_MIN => largest,
            // Too few to tell: sizes may differ by as much as they are.
            _ => messages.powi(2) * mean.powi(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sizes_leave_no_doubt() {
        let mut blocks = Blocks::default();
        (0..100).for_each(|_| blocks.add(120));
        let found = blocks.messages_in(1_200, 2).unwrap();
        assert_eq!((found.operations, found.error), (10.0, 0.0));
    }

    #[test]
    fn sizes_that_come_in_runs_leave_more_doubt_than_mixed_ones() {
        let (mut mixed, mut runs) = (Blocks::default(), Blocks::default());
        for at in 0..4_096u64 {
            mixed.add(if at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 0 { 100 } else { 300 });
            runs.add(if at / 64 % 2 == 0 { 100 } else { 300 });
        }
        let (mixed, runs) = (mixed.messages_in(12_800, 1).unwrap(), runs.messages_in(12_800, 1).unwrap());
        assert!((63.0..65.0).contains(&mixed.operations) && mixed.error < 10.0, "{mixed:?}");
        assert!(runs.error > 20.0, "{runs:?}");
    }

    #[test]
    fn nothing_is_said_without_messages_and_little_after_one() {
        assert_eq!(Blocks::default().messages_in(1_000, 1), None);
        let mut one = Blocks::default();
        one.add(100);
        assert!(one.messages_in(1_000, 1).unwrap().error >= 10.0);
    }
}
