//! Working set and re-use: the accessed blocks, and the number of other blocks between two accesses of one (its stack distance).
//!
//! Blocks are sampled by their hash, as in SHARDS (Waldspurger et al. 2015): all accesses of a sampled block are kept, in order of time.
//! So memory is bounded, parts can be merged, and a distance among sampled blocks is the distance among all blocks times the sampled
//! fraction.

use serde::{Deserialize, Serialize};

use crate::state::{Counter, Reader, State, StateError, Writer};

/// Bytes of a block.
pub const BLOCK_BYTES: u64 = 4_096;
/// Touches kept, at most.
const MOST: usize = 16_384;
/// Blocks of one request that are looked at, at most: 16 MiB, more than clients ask for at once.
const MOST_BLOCKS: u64 = 4_096;

/// Which blocks were touched, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reuse {
    /// Blocks whose hash is not above it are kept.
    highest: u64,
    /// When, and which block, by its hash.
    touches: Vec<(i64, u64)>,
    /// Touches of all blocks.
    total: u64,
}

/// Repeated accesses of blocks, by the bytes of other blocks accessed in between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// An LRU cache of this size would have had the block.
    pub cache_bytes: u64,
    /// Fraction of all accesses, including those of smaller caches: the hit ratio.
    pub share: f64,
}

impl Default for Reuse {
    fn default() -> Self {
        Self { highest: u64::MAX, touches: Vec::new(), total: 0 }
    }
}

impl Reuse {
    /// A request touched bytes of a file.
    pub(super) fn record(&mut self, at: i64, file: u64, offset: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let first = offset / BLOCK_BYTES;
        let last = (offset.saturating_add(bytes - 1) / BLOCK_BYTES).min(first.saturating_add(MOST_BLOCKS - 1));
        self.total = self.total.saturating_add(last - first + 1);
        for block in first..=last {
            let hash = hash(file, block);
            if hash <= self.highest {
                self.touches.push((at, hash));
            }
        }
        self.thin_out();
    }

    /// Sorts by a total order, so that the result does not depend on how the data was divided.
    pub(super) fn sort(&mut self) {
        self.touches.sort_unstable();
    }

    /// Keeps fewer blocks, so that there are few enough touches.
    fn thin_out(&mut self) {
        while self.touches.len() > MOST && self.highest > 0 {
            self.highest /= 2;
            self.touches.retain(|(_, hash)| *hash <= self.highest);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        self.highest = self.highest.min(other.highest);
        self.touches.extend(&other.touches);
        self.touches.retain(|(_, hash)| *hash <= self.highest);
        self.thin_out();
    }

    /// Number of all accesses of blocks.
    pub fn touches(&self) -> u64 {
        self.total
    }

    /// Share of the blocks that is kept: 1 where the numbers are exact.
    pub fn sampled(&self) -> f64 {
        (self.highest as f64 + 1.0) / 2f64.powi(64)
    }

    /// Relative standard error of the working set: 1 / √(blocks kept); 0 where all are kept, `None` where none is.
    pub fn relative_error(&self) -> Option<f64> {
        match (self.highest, self.blocks()) {
            (u64::MAX, _) => Some(0.0),
            (_, 0) => None,
            (_, blocks) => Some(1.0 / (blocks as f64).sqrt()),
        }
    }

    /// Bytes of different blocks that were touched; `None` where no block is kept.
    pub fn working_set_bytes(&self) -> Option<u64> {
        let blocks = self.blocks();
        (blocks > 0 || self.total == 0).then(|| (blocks as f64 / self.sampled() * BLOCK_BYTES as f64).round() as u64)
    }

    /// Share of touches whose block was touched before; `None` where no block is kept.
    pub fn reused(&self) -> Option<f64> {
        let touches = self.touches.len() as f64;
        (touches > 0.0).then(|| 1.0 - self.blocks() as f64 / touches)
    }

    /// How many different blocks are kept.
    fn blocks(&self) -> usize {
        let mut blocks: Vec<u64> = self.touches.iter().map(|(_, hash)| *hash).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks.len()
    }

    /// Hit ratios of caches of sizes that are powers of two, from the smallest that has any to the smallest that has all.
    pub fn distances(&self) -> Vec<Distance> {
        let mut sizes = [0u64; 64];
        for distance in self.sampled_distances() {
            // The cache holds the block itself, too.
            let bytes = (distance as f64 / self.sampled() + 1.0) * BLOCK_BYTES as f64;
            let power = bytes.log2().ceil().clamp(0.0, 63.0) as usize;
            if let Some(count) = sizes.get_mut(power) {
                *count += 1;
            }
        }
        let (mut so_far, mut all) = (0, Vec::new());
        let last = sizes.iter().rposition(|count| *count > 0);
        for (power, count) in sizes.into_iter().enumerate().take(last.map_or(0, |last| last + 1)) {
            so_far += count;
            if so_far > 0 {
                let share = so_far as f64 / self.touches.len() as f64;
                all.push(Distance { cache_bytes: 1 << power, share });
            }
        }
        all
    }

    /// For each repeated access of a block: the number of other sampled blocks accessed since.
    fn sampled_distances(&self) -> Vec<u64> {
        let mut touches = self.touches.clone();
        // Blocks of one request come in the order of their hashes, the same each time.
        touches.sort_unstable();
        let mut last: std::collections::HashMap<u64, usize> = std::collections::HashMap::new();
        let mut newest = Marks::new(touches.len());
        let mut distances = Vec::new();
        for (place, (_, block)) in touches.into_iter().enumerate() {
            if let Some(before) = last.insert(block, place) {
                distances.push(newest.between(before, place));
                newest.add(before, -1);
            }
            newest.add(place, 1);
        }
        distances
    }
}

/// Marks at indices, with prefix sums (a Fenwick tree).
struct Marks(Vec<i64>);

impl Marks {
    fn new(places: usize) -> Self {
        Self(vec![0; places + 1])
    }

    fn add(&mut self, place: usize, mark: i64) {
        let mut at = place + 1;
        while let Some(sum) = self.0.get_mut(at) {
            *sum += mark;
            at += at & at.wrapping_neg();
        }
    }

    fn before(&self, place: usize) -> i64 {
        let (mut at, mut sum) = (place, 0);
        while at > 0 {
            sum += self.0.get(at).copied().unwrap_or(0);
            at &= at - 1;
        }
        sum
    }

    /// Marks behind `from` and before `to`.
    fn between(&self, from: usize, to: usize) -> u64 {
        u64::try_from(self.before(to) - self.before(from + 1)).unwrap_or(0)
    }
}

/// Spreads files and blocks over all numbers (the finaliser of SplitMix64).
fn hash(file: u64, block: u64) -> u64 {
    let mut mixed = file ^ block.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

impl State for Reuse {
    fn put(&self, out: &mut Writer) {
        (self.highest, self.total).put(out);
        self.touches.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let (highest, total): (u64, u64) = State::take(from)?;
        let reuse = Self { highest, total, touches: State::take(from)? };
        let fits = reuse.touches.len() <= MOST && reuse.touches.iter().all(|(_, hash)| *hash <= highest);
        if fits && Counter::all(&[total]) { Ok(reuse) } else { Err(from.no("touches of blocks")) }
    }
}
