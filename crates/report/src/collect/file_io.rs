//! How files are read and written.

use plimsoll_stats::Statistics;
use plimsoll_stats::io::{BLOCK_BYTES, Direction, Order, Reuse};

use crate::findings::{CacheShare, FileIo, IoDirection, RunShare, SizeShare, WorkingSet};

/// `None` where it was not added up, or nothing was read or written.
pub(super) fn file_io(statistics: &Statistics) -> Option<FileIo> {
    let io = statistics.io()?;
    let (reads, writes) = (direction(io.reads()), direction(io.writes()));
    let any = reads.requests + writes.requests + io.unknown() > 0;
    any.then(|| FileIo { reads, writes, unknown: io.unknown(), working_set: working_set(io.reuse()) })
}

fn direction(of: &Direction) -> IoDirection {
    let order = |wanted| of.orders().find(|(order, _)| *order == wanted).map_or(0, |(_, count)| count);
    IoDirection {
        requests: of.requests(),
        bytes: of.bytes(),
        sizes: of.sizes().map(|it| SizeShare { from: it.from, to: it.to, count: it.count, bytes: it.bytes }).collect(),
        first: order(Order::First),
        sequential: order(Order::Sequential),
        strided: order(Order::Strided),
        random: order(Order::Random),
        run_mean_bytes: of.runs().mean_bytes(),
        run_mean_requests: of.runs().mean_requests(),
        runs: of.runs().lengths().map(|(from, to, count)| RunShare { from, to, count }).collect(),
    }
}

fn working_set(reuse: &Reuse) -> WorkingSet {
    let caches = reuse.distances().into_iter().map(|it| CacheShare { bytes: it.cache_bytes, hits: it.share });
    WorkingSet {
        block_bytes: BLOCK_BYTES,
        accesses: reuse.touches(),
        bytes: reuse.working_set_bytes(),
        reused: reuse.reused(),
        sampled: reuse.sampled(),
        relative_error: reuse.relative_error(),
        caches: caches.collect(),
    }
}
