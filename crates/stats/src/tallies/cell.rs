//! Sums over requests of one operation, and their comparison with others.

use plimsoll_model::{Operation, Transaction};
use serde::{Deserialize, Serialize};

use crate::accumulator::Sample;

/// Requests for an operation that are compared, at least.
pub const MIN_COMPARED: u64 = 20;
/// Minimum mean of a slow operation, as a multiple of the others' mean.
pub const SLOW_MEAN: f64 = 3.0;
/// Minimum typical (geometric mean) time of a slow operation, as a multiple: a few long requests among many do not make it slow.
pub const SLOW_TYPICAL: f64 = 2.0;

/// Sums over requests. Times are limited to 2^56 ns (two years), so that sums cannot overflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Requests whose response time is known.
    pub count: u64,
    /// Their response times, ns.
    pub waited_ns: u64,
    /// The binary logarithms of these, in 1/256, with the mantissa taken as linear (off by 6 % at most).
    pub log2_sum: u64,
    /// Of those whose service time is known: response times and service times, ns.
    pub split_ns: u64,
    /// See `split_ns`.
    pub service_ns: u64,
    /// File data that they carried, bytes.
    pub payload: u64,
}

/// Minimum number of requests on one side if the factor is at least `FAR_SLOWER`; other comparisons need more.
const MIN_FAR: u64 = 10;
/// Minimum factor of mean and typical time for a comparison with few requests.
const FAR_SLOWER: f64 = 10.0;

/// Minimum values for a slow operation.
struct Limits {
    least: u64,
    mean: f64,
    typical: f64,
}

/// Sums of times stop here, ns.
pub(super) const MOST_NS: u64 = 1 << 56;

impl Cell {
    /// Adds a request that stands for `weight` requests in the counts.
    #[inline]
    pub(super) fn of(t: &Transaction, measured: &Sample, waited_ns: u64, weight: u64) -> Self {
        let service = measured.service_ns();
        Self {
            count: weight,
            waited_ns,
            log2_sum: weight.saturating_mul(log2(waited_ns)),
            split_ns: if service.is_some() { waited_ns } else { 0 },
            service_ns: service.map_or(0, |ns| ns.min(waited_ns)),
            payload: weight.saturating_mul(t.payload_bytes.unwrap_or(0)),
        }
    }

    /// Adds a request. Sums of times that captures can have stay far below 2^64; six plain additions are two or three instructions.
    #[inline]
    pub(super) fn add_request(&mut self, one: &Cell) {
        self.count = self.count.wrapping_add(one.count);
        self.waited_ns = self.waited_ns.wrapping_add(one.waited_ns);
        self.log2_sum = self.log2_sum.wrapping_add(one.log2_sum);
        self.split_ns = self.split_ns.wrapping_add(one.split_ns);
        self.service_ns = self.service_ns.wrapping_add(one.service_ns);
        self.payload = self.payload.wrapping_add(one.payload);
    }

    /// Adds another part.
    #[inline]
    pub fn add(&mut self, other: &Cell) {
        *self = Self {
            count: sum(self.count, other.count),
            waited_ns: sum(self.waited_ns, other.waited_ns),
            log2_sum: sum(self.log2_sum, other.log2_sum),
            split_ns: sum(self.split_ns, other.split_ns),
            service_ns: sum(self.service_ns, other.service_ns),
            payload: sum(self.payload, other.payload),
        };
    }

    /// The difference to a part.
    pub fn without(&self, part: &Cell) -> Cell {
        Cell {
            count: self.count.saturating_sub(part.count),
            waited_ns: self.waited_ns.saturating_sub(part.waited_ns),
            log2_sum: self.log2_sum.saturating_sub(part.log2_sum),
            split_ns: self.split_ns.saturating_sub(part.split_ns),
            service_ns: self.service_ns.saturating_sub(part.service_ns),
            payload: self.payload.saturating_sub(part.payload),
        }
    }

    /// The mean response time, ns.
    pub fn mean_ns(&self) -> f64 {
        self.waited_ns as f64 / self.count.max(1) as f64
    }

    /// The typical response time: their geometric mean, ns.
    pub fn typical_ns(&self) -> f64 {
        self.log2_mean().exp2()
    }

    /// The part of the waiting that was service time, where it is known.
    pub fn service_share(&self) -> Option<f64> {
        (self.split_ns > 0).then(|| self.service_ns as f64 / self.split_ns as f64)
    }

    fn log2_mean(&self) -> f64 {
        self.log2_sum as f64 / 256.0 / self.count.max(1) as f64
    }

    /// The part of the waiting that was service time, ns; `None` where it is not known.
    fn service_ns(&self) -> Option<f64> {
        (self.split_ns > 0).then(|| self.waited_ns as f64 * self.service_ns as f64 / self.split_ns as f64)
    }
}

/// Sums stop as times do.
#[inline]
pub(super) fn sum(a: u64, b: u64) -> u64 {
    a.saturating_add(b).min(MOST_NS)
}

/// The binary logarithm in 1/256.
pub(super) fn log2(ns: u64) -> u64 {
    let ns = ns.max(1);
    let exponent = ns.ilog2();
    let mantissa = if exponent >= 8 { ns >> (exponent - 8) } else { ns << (8 - exponent) };
    u64::from(exponent) << 8 | (mantissa & 0xff)
}

/// A cell for each operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByOperation(pub(super) Box<[Cell; Operation::ALL.len()]>);

impl Default for ByOperation {
    fn default() -> Self {
        Self(Box::new([Cell::default(); Operation::ALL.len()]))
    }
}

/// Comparison of requests with others of the same operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Excess {
    /// Requests for operations that the others have as well.
    pub requests: u64,
    /// Time that clients waited for these requests, ns.
    pub waited_ns: f64,
    /// Time that clients waited for all requests, including operations that the others lack, ns.
    pub whole_ns: f64,
    /// The waiting time if each had taken as long as the others' mean, ns.
    pub expected_ns: f64,
    /// The part of the difference that is service time, where it is known.
    pub service_share: Option<f64>,
    /// The operation with the largest difference.
    pub operation: Operation,
    /// Number of requests for that operation.
    pub count: u64,
    /// Mean time of these requests, ns.
    pub mean_ns: f64,
    /// Mean time of the others' requests of the same size, ns.
    pub others_ns: f64,
    /// Its typical (geometric mean) time, as a multiple of the others'.
    pub typical: f64,
}

impl Excess {
    /// Additional waiting time compared with the others, ns.
    pub fn ns(&self) -> f64 {
        self.waited_ns - self.expected_ns
    }

    /// Waiting time as a multiple of the others'.
    pub fn times(&self) -> f64 {
        self.mean_ns / self.others_ns
    }
}

impl ByOperation {
    /// Each operation's sums.
    pub fn iter(&self) -> impl Iterator<Item = (Operation, &Cell)> {
        Operation::ALL.into_iter().zip(self.0.iter())
    }

    /// The sums of all of these.
    pub fn sum<'s>(all: impl IntoIterator<Item = &'s ByOperation>) -> ByOperation {
        let mut sum = ByOperation::default();
        all.into_iter().for_each(|one| sum.add(one));
        sum
    }

    /// All operations together.
    pub fn total(&self) -> Cell {
        let mut total = Cell::default();
        self.0.iter().for_each(|cell| total.add(cell));
        total
    }

    pub(super) fn add(&mut self, other: &ByOperation) {
        self.0.iter_mut().zip(other.0.iter()).for_each(|(mine, theirs)| mine.add(theirs));
    }

    /// The difference to a part.
    pub fn without(&self, part: &ByOperation) -> ByOperation {
        let mut rest = ByOperation::default();
        rest.0
            .iter_mut()
            .zip(self.0.iter().zip(part.0.iter()))
            .for_each(|(rest, (all, part))| *rest = all.without(part));
        rest
    }

    /// The sums of some operations.
    pub fn only(&self, is_in: impl Fn(Operation) -> bool) -> ByOperation {
        let mut part = ByOperation::default();
        let kept = part.0.iter_mut().zip(self.iter()).filter(|(_, (operation, _))| is_in(*operation));
        kept.for_each(|(part, (_, cell))| *part = *cell);
        part
    }

    /// Compares these requests with `others`; `None` if they are not slow: an operation must be slow by [`SLOW_MEAN`] and
    /// [`SLOW_TYPICAL`], and the total wait must be twice the expected one.
    pub fn slower_than(&self, others: &ByOperation) -> Option<Excess> {
        self.compared(others, &Limits { least: MIN_COMPARED, mean: SLOW_MEAN, typical: SLOW_TYPICAL })
    }

    /// Whether an operation has enough requests, here and among `others`, for [`Self::slower_than`] to find it.
    pub fn is_comparable(&self, others: &ByOperation) -> bool {
        let mut both = self.0.iter().zip(others.0.iter());
        both.any(|(mine, theirs)| mine.count.min(theirs.count) >= MIN_COMPARED)
    }

    /// The same of as few as 10 requests, where they take 10 times as long.
    pub fn far_slower_than(&self, others: &ByOperation) -> Option<Excess> {
        self.compared(others, &Limits { least: MIN_FAR, mean: FAR_SLOWER, typical: FAR_SLOWER })
    }

    fn compared(&self, others: &ByOperation, limits: &Limits) -> Option<Excess> {
        let (mut requests, mut waited_ns, mut expected_ns) = (0, 0.0, 0.0);
        let mut service = Some(0.0);
        let mut slowest: Option<(f64, Operation, &Cell, f64, f64)> = None;
        for (operation, mine) in self.iter() {
            let theirs = &others.0[operation as usize];
            if mine.count == 0 || theirs.count < limits.least {
                continue;
            }
            let larger = larger(mine, theirs);
            let (own, usual) = (mine.waited_ns as f64, mine.count as f64 * theirs.mean_ns() * larger);
            requests += mine.count;
            waited_ns += own;
            expected_ns += usual;
            let usual_service = theirs.service_ns().map(|ns| mine.count as f64 * ns / theirs.count as f64 * larger);
            service = service.zip(mine.service_ns()).zip(usual_service).map(|((sum, mine), usual)| sum + mine - usual);
            let typical = (mine.log2_mean() - theirs.log2_mean() - larger.log2()).exp2();
            let is_slow = own >= limits.mean * usual && typical >= limits.typical && mine.count >= limits.least;
            if is_slow && slowest.is_none_or(|(most, ..)| own - usual > most) {
                slowest = Some((own - usual, operation, mine, usual / mine.count as f64, typical));
            }
        }
        let (_, operation, cell, others_ns, typical) = slowest.filter(|_| waited_ns >= 2.0 * expected_ns)?;
        let service_share = service.map(|service| (service / (waited_ns - expected_ns)).clamp(0.0, 1.0));
        let (count, mean_ns) = (cell.count, cell.mean_ns());
        let whole_ns = self.iter().map(|(_, cell)| cell.waited_ns as f64).sum();
        Some(Excess {
            requests,
            waited_ns,
            whole_ns,
            expected_ns,
            service_share,
            operation,
            count,
            mean_ns,
            others_ns,
            typical,
        })
    }
}

/// Ratio of the mean data sizes, at least 1: a larger request may take proportionally longer.
fn larger(mine: &Cell, theirs: &Cell) -> f64 {
    let size = |cell: &Cell| cell.payload as f64 / cell.count.max(1) as f64;
    if theirs.payload == 0 { 1.0 } else { (size(mine) / size(theirs)).max(1.0) }
}

crate::state::fields!("sums of requests"; Cell { count, waited_ns, log2_sum, split_ns, service_ns, payload } if |cell| {
    cell.service_ns <= cell.split_ns && cell.split_ns <= cell.waited_ns
});
crate::state::fields!("sums by operation"; ByOperation { 0 });

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(count: u64, each_ns: u64) -> Cell {
        let mut sum = Cell::default();
        (0..count).for_each(|_| {
            sum.add(&Cell { count: 1, waited_ns: each_ns, log2_sum: log2(each_ns), ..Cell::default() });
        });
        sum
    }

    fn reads(cell: Cell) -> ByOperation {
        let mut all = ByOperation::default();
        all.0[Operation::Read as usize] = cell;
        all
    }

    #[test]
    fn the_logarithm_is_near() {
        for ns in [1u64, 2, 3, 255, 256, 1_000, 123_456_789, u64::MAX] {
            assert!((log2(ns) as f64 / 256.0 - (ns as f64).log2()).abs() < 0.09, "{ns}");
        }
    }

    #[test]
    fn requests_are_slow_that_usually_take_longer_than_those_of_others() {
        let others = reads(requests(100, 1_000_000));
        let slow = reads(requests(20, 5_000_000)).slower_than(&others).unwrap();
        assert_eq!((slow.operation, slow.count, slow.requests), (Operation::Read, 20, 20));
        assert_eq!((slow.times(), slow.ns()), (5.0, 80_000_000.0));
        assert!(reads(requests(20, 2_500_000)).slower_than(&others).is_none(), "not three times as long");
        assert!(reads(requests(19, 5_000_000)).slower_than(&others).is_none(), "too few");
        assert!(reads(requests(20, 1)).is_comparable(&others) && !reads(requests(19, 1)).is_comparable(&others));
        assert!(reads(requests(20, 5_000_000)).slower_than(&reads(requests(19, 1_000_000))).is_none());
        let mut few_long = requests(95, 1_000_000);
        few_long.add(&requests(5, 100_000_000));
        assert!(reads(few_long).slower_than(&others).is_none(), "the usual one is as quick");
    }

    #[test]
    fn all_waiting_is_also_for_what_the_others_lack() {
        let mut mine = reads(requests(20, 5_000_000));
        mine.0[Operation::Open as usize] = requests(3, 7_000_000);
        let slow = mine.slower_than(&reads(requests(100, 1_000_000))).unwrap();
        assert_eq!((slow.waited_ns, slow.whole_ns), (100_000_000.0, 121_000_000.0));
    }

    #[test]
    fn few_requests_are_slow_that_take_many_times_as_long() {
        let others = reads(requests(10, 1_000_000));
        assert!(reads(requests(10, 12_000_000)).slower_than(&others).is_none(), "too few");
        assert_eq!(reads(requests(10, 12_000_000)).far_slower_than(&others).unwrap().count, 10);
        assert!(reads(requests(10, 8_000_000)).far_slower_than(&others).is_none(), "not ten times as long");
        assert!(reads(requests(9, 12_000_000)).far_slower_than(&others).is_none(), "too few");
        let mut one_long = requests(9, 1_000_000);
        one_long.add(&requests(1, 900_000_000));
        assert!(reads(one_long).far_slower_than(&others).is_none(), "nine are as quick");
    }

    #[test]
    fn larger_requests_may_take_longer() {
        let sized = |cell: Cell, each: u64| reads(Cell { payload: cell.count * each, ..cell });
        let others = sized(requests(100, 1_000_000), 4_096);
        assert!(sized(requests(100, 10_000_000), 65_536).slower_than(&others).is_none(), "16 times as large");
        assert!(sized(requests(100, 60_000_000), 65_536).slower_than(&others).is_some());
    }

    #[test]
    fn the_difference_is_service_time_or_it_is_not() {
        let split = |cell: Cell, service_ns| reads(Cell { split_ns: cell.waited_ns, service_ns, ..cell });
        let others = split(requests(100, 1_000_000), 90_000_000);
        let share =
            |service_ns| split(requests(20, 11_000_000), service_ns).slower_than(&others).unwrap().service_share;
        assert_eq!(share(20 * 10_900_000), Some(1.0));
        assert_eq!(share(20 * 900_000), Some(0.0));
        assert_eq!(reads(requests(20, 11_000_000)).slower_than(&others).unwrap().service_share, None);
    }
}
