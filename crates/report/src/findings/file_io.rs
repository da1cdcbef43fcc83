//! How files are read and written.

use serde::{Deserialize, Serialize};

/// How files are read and written: requests that move file data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileIo {
    /// Reads.
    pub reads: IoDirection,
    /// Writes.
    pub writes: IoDirection,
    /// Reads and writes whose file, offset or length is unknown: no other number here includes them.
    pub unknown: u64,
    /// Working set and re-use, reads and writes together.
    pub working_set: WorkingSet,
}

/// Reads, or writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IoDirection {
    /// How many requests.
    pub requests: u64,
    /// Bytes that they asked for.
    pub bytes: u64,
    /// Sizes in powers of two, those in use.
    pub sizes: Vec<SizeShare>,
    /// Requests that are the first of their connection for the file.
    pub first: u64,
    /// Requests that begin where one of the last four ended.
    pub sequential: u64,
    /// Requests as far from one of the last four as that from its forerunner.
    pub strided: u64,
    /// All other requests.
    pub random: u64,
    /// Mean length of a run, bytes: consecutive requests, each of which begins where the previous one ended.
    pub run_mean_bytes: Option<f64>,
    /// Mean length of a run, requests.
    pub run_mean_requests: Option<f64>,
    /// Runs by their number of requests.
    pub runs: Vec<RunShare>,
}

/// Requests of a range of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeShare {
    /// Smallest size, bytes.
    pub from: u64,
    /// Largest size, bytes, inclusive.
    pub to: u64,
    /// How many requests.
    pub count: u64,
    /// Their requested bytes in total.
    pub bytes: u64,
}

/// Runs of a range of lengths.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunShare {
    /// Fewest requests.
    pub from: u64,
    /// Most requests, inclusive.
    pub to: u64,
    /// How many runs.
    pub count: u64,
}

/// Which blocks are used, and how soon again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkingSet {
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Accesses to blocks.
    pub accesses: u64,
    /// Bytes of different blocks; null where too few were sampled.
    pub bytes: Option<u64>,
    /// Share of accesses to blocks that were accessed before, 0..=1.
    pub reused: Option<f64>,
    /// Share of blocks that was looked at; 1: the numbers are exact.
    pub sampled: f64,
    /// Relative standard error of `bytes`.
    pub relative_error: Option<f64>,
    /// Hit ratios of LRU caches.
    pub caches: Vec<CacheShare>,
}

/// The hit ratio of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheShare {
    /// Size of the cache, bytes.
    pub bytes: u64,
    /// Share of accesses that it would have served, 0..=1.
    pub hits: f64,
}

/// A size that is a power of two: `512 B`, `4 KiB`, `64 MiB`.
pub(crate) fn binary(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let place = bytes.checked_ilog2().map_or(0, |power| power as usize / 10);
    format!("{} {}", bytes >> (10 * place), units.get(place).copied().unwrap_or_default())
}

impl FileIo {
    /// The ranges of sizes that reads or writes have, in order.
    pub(crate) fn size_ranges(&self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> =
            self.reads.sizes.iter().chain(&self.writes.sizes).map(|it| (it.from, it.to)).collect();
        ranges.sort_unstable();
        ranges.dedup();
        ranges
    }
}

impl IoDirection {
    /// Mean size, bytes; none without requests.
    #[must_use]
    pub fn mean_bytes(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.bytes as f64 / self.requests as f64)
    }

    /// Sequential, strided and random requests as parts of those that have a forerunner.
    pub(crate) fn orders(&self) -> ([u64; 3], u64) {
        let orders = [self.sequential, self.strided, self.random];
        (orders, orders.iter().sum())
    }
}
