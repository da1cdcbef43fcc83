//! Measures the differences between the monotonic clocks of the ranks.
//!
//! A message goes to a rank and back. The rank read its clock somewhere between: half the round trip is the largest error of the middle.
//! Of many round trips the shortest counts. Monotonic clocks, because setting the time of day does not move them.

use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};
use rustix::time::{ClockId, clock_gettime};

/// What a rank knows about clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks {
    /// The monotonic clock of rank 0 minus that of this rank, ns.
    offset: i64,
    /// Maximum error of the offset, ns.
    bound: i64,
    /// Maximum error between any two ranks, ns.
    between: i64,
    /// The time of day of rank 0 minus its monotonic clock, ns.
    epoch: i64,
}

impl Clocks {
    /// The common clock (the time of day of rank 0) minus the monotonic clock of this rank, ns.
    pub(crate) fn origin_ns(&self) -> i64 {
        self.offset + self.epoch
    }

    /// The common clock, ns.
    pub(crate) fn common_ns(&self) -> i64 {
        read(ClockId::Monotonic) + self.origin_ns()
    }

    /// The largest difference between the common clocks of two ranks, ns.
    pub(crate) fn bound_ns(&self) -> i64 {
        self.between
    }

    /// Offset and bound of this rank.
    pub(crate) fn own(&self) -> [i64; 2] {
        [self.offset, self.bound]
    }

    /// The largest current difference between the common clocks that ranks derived from an earlier measurement, ns.
    pub(crate) fn difference_ns(&self, earlier: &Clocks, world: &SimpleCommunicator) -> u64 {
        let moved = self.offset - earlier.offset;
        // Each measurement may be wrong by its bound.
        let bound = self.bound + earlier.bound;
        let all = of_all(world, [moved, bound]);
        spread(&all)
    }
}

/// Maximum difference between clocks that moved by these amounts, each within its bound, ns.
fn spread(all: &[[i64; 2]]) -> u64 {
    let least = all.iter().map(|[moved, bound]| moved - bound).min().unwrap_or(0);
    let most = all.iter().map(|[moved, bound]| moved + bound).max().unwrap_or(0);
    most.abs_diff(least)
}

/// Collects the values of all ranks, in all ranks.
pub(crate) fn of_all(world: &SimpleCommunicator, own: [i64; 2]) -> Vec<[i64; 2]> {
    let mut all = vec![0_i64; 2 * world.size() as usize];
    world.all_gather_into(&own[..], &mut all[..]);
    all.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect()
}

/// Measures all ranks, one after the other.
///
/// # Errors
/// A clock went backwards.
pub(crate) fn measure(world: &SimpleCommunicator, round_trips: u32) -> anyhow::Result<Clocks> {
    let (mut offset, mut bound) = (0, 0);
    for rank in 1..world.size() {
        world.barrier();
        let pair = match world.rank() {
            0 => Some(ask(world, rank, round_trips)),
            this if this == rank => {
                answer(world, round_trips);
                None
            }
            _ => None,
        };
        let mut pair = pair.unwrap_or([0, i64::MAX]);
        world.process_at_rank(0).broadcast_into(&mut pair[..]);
        anyhow::ensure!(pair[1] != i64::MAX, "rank {rank}: its clock could not be measured");
        if world.rank() == rank {
            [offset, bound] = pair;
        }
    }
    let mut bounds = vec![0_i64; world.size() as usize];
    world.all_gather_into(&bound, &mut bounds[..]);
    bounds.sort_unstable();
    let between = bounds.iter().rev().take(2).sum();
    let mut epoch = epoch();
    world.process_at_rank(0).broadcast_into(&mut epoch);
    Ok(Clocks { offset, bound, between, epoch })
}

/// Rank 0 asks another rank for its time many times. Returns the offset, and its maximum error.
fn ask(world: &SimpleCommunicator, rank: i32, round_trips: u32) -> [i64; 2] {
    let other = world.process_at_rank(rank);
    let mut best = [0, i64::MAX];
    for _ in 0..round_trips {
        let sent = read(ClockId::Monotonic);
        other.send(&0_i64);
        let (theirs, _) = other.receive::<i64>();
        let round_trip = read(ClockId::Monotonic) - sent;
        // Rounded up, plus the resolution of both clocks.
        let bound = round_trip / 2 + 2;
        if bound < best[1] {
            best = [sent + round_trip / 2 - theirs, bound];
        }
    }
    best
}

fn answer(world: &SimpleCommunicator, round_trips: u32) {
    let root = world.process_at_rank(0);
    for _ in 0..round_trips {
        let _ = root.receive::<i64>();
        root.send(&read(ClockId::Monotonic));
    }
}

/// The time of day minus the monotonic clock, ns: of several readings, the one with the shortest interruption.
fn epoch() -> i64 {
    let reading = |_| {
        let before = read(ClockId::Monotonic);
        let real = read(ClockId::Realtime);
        let after = read(ClockId::Monotonic);
        (after - before, real - before - (after - before) / 2)
    };
    (0..8).map(reading).min().map_or(0, |(_, epoch)| epoch)
}

fn read(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_drifts_is_seen_behind_the_bounds() {
        assert_eq!(spread(&[[0, 0], [0, 500], [0, 700]]), 1_400);
        assert_eq!(spread(&[[0, 0], [3_000_000, 500], [-200, 700]]), 3_001_400);
    }
}
