//! Estimate of the clock resolution of a capture.
//!
//! # Method
//!
//! A clock that ticks every g nanoseconds gives times whose differences are multiples of g, so g divides their greatest common divisor.
//! That divisor of n independent differences is larger than g with a probability of about 2^-n, so after [`ENOUGH_STEPS`] differences it
//! is the estimate of the tick; with fewer it is only an upper bound.
//!
//! A timer that ticks every 15.6 ms but is stored in microseconds jitters by one or two of these, and its divisor is 1 µs. Two signs show
//! the coarse clock: packets inside one tick have the same time (steps of zero), and no step is much smaller than the tick. So if at
//! least one in [`COARSE_ZERO_SHARE`] steps is zero while even the smallest other step is [`COARSE_RATIO`] divisors long, that smallest
//! step is the estimate. (With a clock as fine as the divisor, some of these short gaps would have lasted one to nine ticks.)
//!
//! Steps back are counted and used by their size: a step of up to [`DISORDER_MAX_NS`] comes from packets that are out of order by more
//! than the sort window (`time_order.rs`); a longer one means that the clock was set back. There is one estimate: for captures of several
//! machines, or interfaces with different clocks, it is the finest clock's.

use serde::{Deserialize, Serialize};

use super::time_order::DISORDER_MAX_NS;

/// Minimum number of steps other than zero for an estimate; with fewer it is an upper bound. The estimate is wrong by chance once in
/// about 2^16 captures.
const ENOUGH_STEPS: u64 = 16;
/// How many divisors long the smallest step must be for a coarse clock in disguise.
const COARSE_RATIO: u64 = 10;
/// A coarse clock shows at least one step of zero in this number of steps.
const COARSE_ZERO_SHARE: u64 = 10;

/// A streaming estimate of the granularity of a capture's clock.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClockEstimate {
    last_ns: Option<i64>,
    divisor: Divisor,
    smallest_step_ns: u64,
    steps: u64,
    zero_steps: u64,
    backward_steps: u64,
    out_of_order: u64,
}

/// Properties of the clock, from the times of the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Granularity {
    /// The tick of the clock in nanoseconds, None if no two times differ.
    pub estimate_ns: Option<u64>,
    /// There were too few steps for an estimate: `estimate_ns` is an upper bound.
    pub at_most: bool,
    /// Number of packets stamped more than 100 ms before the previous packet: the clock was set back.
    pub backward_steps: u64,
    /// Number of packets stamped up to 100 ms before the previous packet.
    pub out_of_order: u64,
    /// Number of packets with the time of the previous packet.
    pub zero_steps: u64,
    /// The smallest difference that is not zero, in nanoseconds, None if there is none.
    pub smallest_step_ns: Option<u64>,
    /// How many differences there were, zero ones included.
    pub steps: u64,
}

impl ClockEstimate {
    /// An estimate without any time yet.
    pub fn new() -> Self {
        Self {
            last_ns: None,
            divisor: Divisor::of_nothing(),
            smallest_step_ns: u64::MAX,
            steps: 0,
            zero_steps: 0,
            backward_steps: 0,
            out_of_order: 0,
        }
    }

    /// Takes the time of the next packet, in nanoseconds. Costs a multiplication; a division only when the estimate
    /// changes, which it does at most 64 times.
    #[inline]
    pub fn observe(&mut self, time_ns: i64) {
        let Some(last_ns) = self.last_ns.replace(time_ns) else { return };
        self.steps += 1;
        let step = time_ns.abs_diff(last_ns);
        if step == 0 {
            self.zero_steps += 1;
            return;
        }
        if time_ns < last_ns {
            let set_back = step > DISORDER_MAX_NS as u64;
            self.backward_steps += u64::from(set_back);
            self.out_of_order += u64::from(!set_back);
        }
        self.smallest_step_ns = self.smallest_step_ns.min(step);
        if !self.divisor.divides(step) {
            self.divisor = self.divisor.with(step);
        }
    }

    /// The current estimate.
    pub fn granularity(&self) -> Granularity {
        let different = self.steps - self.zero_steps;
        let smallest_step_ns = (different > 0).then_some(self.smallest_step_ns);
        let divisor = self.divisor.value;
        let coarse = different >= ENOUGH_STEPS
            && self.zero_steps >= self.steps / COARSE_ZERO_SHARE
            && self.smallest_step_ns / COARSE_RATIO >= divisor;
        Granularity {
            estimate_ns: if coarse { smallest_step_ns } else { (different > 0).then_some(divisor) },
            at_most: different < ENOUGH_STEPS,
            backward_steps: self.backward_steps,
            out_of_order: self.out_of_order,
            zero_steps: self.zero_steps,
            smallest_step_ns,
            steps: self.steps,
        }
    }
}

impl Default for ClockEstimate {
    fn default() -> Self {
        Self::new()
    }
}

/// A divisor, prepared so that a multiplication tests for it.
///
/// For an odd d, n is a multiple of d exactly if n times the inverse of d (mod 2^64) is at most (2^64 - 1) / d; for an even d the product
/// is first rotated by its factors of two. (Granlund and Montgomery, "Division by invariant integers using multiplication", 1994, section
/// 9.)
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Divisor {
    value: u64,
    inverse: u64,
    twos: u32,
    limit: u64,
}

impl Divisor {
    /// The greatest common divisor of no number: it divides only zero.
    fn of_nothing() -> Self {
        Self { value: 0, inverse: 1, twos: 0, limit: 0 }
    }

    #[inline]
    fn divides(self, number: u64) -> bool {
        number.wrapping_mul(self.inverse).rotate_right(self.twos) <= self.limit
    }

    /// The greatest common divisor of this and a number that is not zero.
    #[cold]
    fn with(self, number: u64) -> Self {
        let (mut value, mut rest) = (number, self.value);
        while rest != 0 {
            (value, rest) = (rest, value % rest);
        }
        let twos = value.trailing_zeros();
        let odd = value >> twos;
        // Newton's iteration: each round doubles the bits that are right, and three are to begin with.
        let mut inverse = odd;
        for _ in 0..5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        }
        Self { value, inverse, twos, limit: u64::MAX / value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Times that advance by pseudo-random gaps of up to `longest_ns`, as a clock with this tick tells them.
    fn ticking(tick_ns: u64, longest_ns: u64, count: usize) -> ClockEstimate {
        let mut estimate = ClockEstimate::new();
        let (mut state, mut now) = (0x9e37_79b9_7f4a_7c15_u64, 1_400_000_000_000_000_123_u64);
        for _ in 0..count {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            now += (state >> 33) % longest_ns;
            estimate.observe((now / tick_ns * tick_ns) as i64);
        }
        estimate
    }

    #[test]
    fn ticks_of_usual_clocks_are_found() {
        for tick_ns in [1, 100, 1_000, 4_000, 1_000_000, 10_000_000, 15_625_000] {
            let found = ticking(tick_ns, 50_000_000, 2_000).granularity();
            assert_eq!((found.estimate_ns, found.at_most), (Some(tick_ns), false), "{tick_ns} ns");
        }
    }

    #[test]
    fn a_coarse_timer_written_with_jitter_is_recognised() {
        // 15.6 ms of Windows, rounded to microseconds: ticks of 15600 and 15601 µs.
        let mut estimate = ClockEstimate::new();
        let mut time_us = 0;
        for tick in 0..200 {
            time_us += 15_600 + i64::from(tick % 3 == 0);
            (0..1 + tick % 5).for_each(|_| estimate.observe(time_us * 1000));
        }
        let found = estimate.granularity();
        assert_eq!((found.estimate_ns, found.at_most), (Some(15_600_000), false));
    }

    #[test]
    fn a_fine_clock_with_bursts_stays_fine() {
        // Half of the packets come 1 to 9 µs after the previous one, some at the same time, the rest much later.
        let mut estimate = ClockEstimate::new();
        let mut time_us = 0;
        for packet in 0..1000 {
            time_us += if packet % 2 == 0 { packet % 10 } else { 20_000 + packet };
            estimate.observe(time_us * 1000);
        }
        assert_eq!(estimate.granularity().estimate_ns, Some(1_000));
    }

    #[test]
    fn a_sparse_capture_gives_an_upper_bound() {
        let mut estimate = ClockEstimate::new();
        assert_eq!(estimate.granularity().estimate_ns, None);
        estimate.observe(5_000_000_000);
        estimate.observe(5_000_000_000);
        assert_eq!(estimate.granularity().estimate_ns, None, "no two times differ");
        estimate.observe(7_000_000_000);
        let found = estimate.granularity();
        assert_eq!((found.estimate_ns, found.at_most, found.zero_steps), (Some(2_000_000_000), true, 1));
    }

    #[test]
    fn steps_back_are_counted_and_extremes_are_safe() {
        let mut estimate = ClockEstimate::new();
        let times = [10_000, 4_000, 4_000, 9_000, i64::MAX, i64::MIN, 100_000_000, 0, 100_000_001, 0];
        times.into_iter().for_each(|time| estimate.observe(time));
        let found = estimate.granularity();
        assert_eq!((found.out_of_order, found.backward_steps, found.estimate_ns, found.steps), (2, 2, Some(1), 9));
    }

    proptest! {
        #[test]
        fn the_fast_test_is_the_remainder(value in 1u64.., number in any::<u64>(), times in any::<u32>()) {
            let divisor = Divisor::of_nothing().with(value);
            prop_assert_eq!(divisor.value, value);
            prop_assert_eq!(divisor.divides(number), number % value == 0);
            let multiple = value.checked_mul(u64::from(times)).unwrap_or(value);
            prop_assert!(divisor.divides(multiple));
        }
    }
}
