//! Variance of message sizes summed over consecutive messages.
//!
//! Messages of one kind occur together, so the error of "bytes missing over mean size" is larger than for independent sizes. Sums over
//! blocks of 1, 2, 4 … consecutive messages show how large it is. Messages are added in batches, because every message passes here.

use serde::{Deserialize, Serialize};

use super::Estimate;

/// Sizes of blocks are powers of two below two to this.
const LEVELS: usize = 16;
/// No block waits for a partner. (Sums are below 2^63.)
const NONE: u64 = u64::MAX;
/// Minimum number of blocks for a usable variance of their size.
const BLOCKS_MIN: u32 = 8;
/// Messages added at once: a block of the level below.
const BATCH: usize = 8;
const BATCH_LEVEL: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Level {
    /// The sum of the block before, which has no partner yet; or [`NONE`].
    open: u64,
    blocks: u32,
    squares: f64,
}

impl Default for Level {
    fn default() -> Self {
        Self { open: NONE, blocks: 0, squares: 0.0 }
    }
}

impl Level {
    /// Takes blocks of these sums.
    #[inline]
    fn add<const N: usize>(&mut self, sums: [u64; N]) {
        self.blocks = self.blocks.saturating_add(N as u32);
        // A sum is below 2^63, and of signed numbers the conversion is one instruction.
        sums.iter().map(|&sum| sum as i64 as f64).for_each(|sum| self.squares += sum * sum);
    }
}

/// The sizes of blocks twice as large.
#[inline]
fn twice<const N: usize, const HALF: usize>(sums: [u64; N]) -> [u64; HALF] {
    let mut pairs = sums.chunks_exact(2).map(|pair| pair.iter().sum());
    std::array::from_fn(|_| pairs.next().unwrap_or_default())
}

/// Adds a block of 2^`from` messages; the levels below are there.
#[inline]
fn add_block(levels: &mut Vec<Level>, from: usize, sum: u64) {
    let mut block = sum;
    for at in from..LEVELS {
        if at == levels.len() {
            grow(levels);
        }
        let level = &mut levels[at];
        level.add([block]);
        let before = std::mem::replace(&mut level.open, NONE);
        if before == NONE {
            level.open = block;
            return;
        }
        block += before;
    }
}

/// Adds a level, and room for no other: most connections need few.
#[cold]
fn grow(levels: &mut Vec<Level>) {
    levels.reserve_exact(1);
    levels.push(Level::default());
}

/// Sizes of messages, in the order of their stream.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Blocks {
    /// None before the first batch; then as many as there are sizes of blocks.
    levels: Vec<Level>,
    /// Number of messages in `levels`, and the sum of their sizes.
    added: u64,
    sum: u64,
    /// Sizes still to be added.
    batch: [u64; BATCH],
    waiting: usize,
}

impl Blocks {
    /// Takes the next message's size.
    #[inline]
    pub(crate) fn add(&mut self, size: u64) {
        self.batch[self.waiting % BATCH] = size;
        self.waiting += 1;
        if self.waiting == BATCH {
            self.add_batch();
        }
    }

    #[inline(never)]
    fn add_batch(&mut self) {
        self.waiting = 0;
        self.added += BATCH as u64;
        if self.levels.is_empty() {
            self.levels = vec![Level::default(); BATCH_LEVEL];
        }
        let [one, two, four, ..] = self.levels.as_mut_slice() else { return };
        let pairs: [u64; BATCH / 2] = twice(self.batch);
        let quads: [u64; BATCH / 4] = twice(pairs);
        one.add(self.batch);
        two.add(pairs);
        four.add(quads);
        let all = quads[0] + quads[1];
        add_block(&mut self.levels, BATCH_LEVEL, all);
        self.sum += all;
    }

    /// Sizes that are not in `levels`.
    fn waiting(&self) -> &[u64] {
        self.batch.get(..self.waiting).unwrap_or_default()
    }

    /// The blocks of all messages.
    fn levels(&self) -> Vec<Level> {
        let mut levels = self.levels.clone();
        self.waiting().iter().for_each(|&size| add_block(&mut levels, 0, size));
        levels
    }

    /// Messages so far.
    pub(crate) fn messages(&self) -> u64 {
        self.added + self.waiting as u64
    }

    /// Mean size; `None` without messages.
    pub(crate) fn mean(&self) -> Option<f64> {
        let sum = self.sum + self.waiting().iter().sum::<u64>();
        (sum > 0).then(|| sum as f64 / self.messages() as f64)
    }

    /// How many messages `missing` bytes in `gaps` places were, messages being of these sizes.
    pub(crate) fn messages_in(&self, missing: u64, gaps: u32) -> Option<Estimate> {
        let mean = self.mean()?;
        let (operations, gaps) = (missing as f64 / mean, f64::from(gaps.max(1)));
        let levels = self.levels();
        let messages = self.messages() as f64;
        let sampling = variance(&levels, mean, messages) / messages.powi(2) * operations.powi(2);
        let variance = gaps * variance(&levels, mean, operations / gaps) + sampling;
        Some(Estimate { operations, error: variance.sqrt() / mean })
    }
}

/// The variance of the sum of `messages` consecutive sizes with this mean.
fn variance(levels: &[Level], mean: f64, messages: f64) -> f64 {
    let mut largest = 0.0_f64;
    for (at, level) in levels.iter().enumerate().filter(|(_, level)| level.blocks >= BLOCKS_MIN) {
        let size = (1u64 << at) as f64;
        let blocks = f64::from(level.blocks);
        let of_block = (level.squares / blocks - (mean * size).powi(2)).max(0.0) * blocks / (blocks - 1.0);
        // Of independent blocks variances add up; blocks larger than that many messages do not count.
        if size <= messages.max(1.0) {
            largest = largest.max(of_block * messages / size);
        }
    }
    if levels.first().is_some_and(|level| level.blocks >= BLOCKS_MIN) {
        return largest;
    }
    // Too few to tell: sizes may differ by as much as they are.
    messages.powi(2) * mean.powi(2)
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

    /// As if each message were added by itself.
    #[test]
    fn a_batch_counts_as_its_messages_do() {
        let mut blocks = Blocks::default();
        let (mut levels, mut sum) = (Vec::new(), 0);
        for (at, size) in (1..=1_003u64).map(|at| at * at % 977).enumerate() {
            blocks.add(size);
            add_block(&mut levels, 0, size);
            sum += size;
            assert_eq!((blocks.levels(), blocks.messages()), (levels.clone(), at as u64 + 1));
            assert_eq!(blocks.mean(), Some(sum as f64 / (at + 1) as f64));
        }
    }

    #[test]
    fn nothing_is_said_without_messages_and_little_after_one() {
        assert_eq!(Blocks::default().messages_in(1_000, 1), None);
        let mut one = Blocks::default();
        one.add(100);
        assert!(one.messages_in(1_000, 1).unwrap().error >= 10.0);
    }
}
