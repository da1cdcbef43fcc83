//! When a call that arrived then is to be answered.

use std::time::Duration;

use super::answers::Asked;
use super::latency::Sampler;
use super::script::{Oddities, Script, Service, Stalls, nanoseconds};

/// The theoretical quantile `q` of the response time for a constant latency with stalls, under evenly spaced calls. Of all calls, the
/// fraction `length / every` meets a stall, and waits for its rest.
#[must_use]
pub fn stalled(latency: Duration, stalls: &Stalls, q: f64) -> Duration {
    let share = stalls.length.as_secs_f64() / stalls.every.as_secs_f64();
    // Due within a stall: arrived up to `latency` before it began, until `latency` before it ends.
    if q <= 1.0 - share { latency } else { latency + stalls.length.mul_f64((q - (1.0 - share)) / share) }
}

/// The answer to a queue with exponential times at work and Poisson arrivals of `rate` a second (M/M/1): the response
/// time that a part `q` of the calls does not exceed; `None` where the queue grows for ever.
#[must_use]
pub fn queued_exponential(mean: Duration, rate: f64, q: f64) -> Option<Duration> {
    let spare = 1.0 / mean.as_secs_f64() - rate;
    (spare > 0.0).then(|| Duration::from_secs_f64(-(1.0 - q).ln() / spare))
}

/// Follows a script. All times are nanoseconds of the server's clock.
#[derive(Debug)]
pub(super) struct Schedule {
    sampler: Sampler,
    stalls: Option<Stalls>,
    /// When the first timed call arrived.
    began: Option<u64>,
    /// Until when each worker is busy.
    busy_until: Vec<u64>,
    odd: Oddities,
    /// Calls that the lossy file had.
    risked: u32,
}

impl Schedule {
    pub(super) fn new(script: &Script) -> Self {
        let sampler = Sampler::new(script.latency, script.draw, script.seed);
        let workers = match script.service {
            Service::Parallel => 0,
            Service::Queue => 1,
            Service::Workers(count) => count as usize,
        };
        Self { sampler, stalls: script.stalls, began: None, busy_until: vec![0; workers], odd: script.odd, risked: 0 }
    }

    /// When to answer the timed call that arrived at `arrived`, or `None` for never; calls come in the order of their arrival.
    pub(super) fn due(&mut self, arrived: u64, asked: Asked) -> Option<u64> {
        let began = *self.began.get_or_insert(arrived);
        let time = nanoseconds(self.sampler.next().mul_f64(self.odd.factor(asked)));
        if self.is_lost(asked) {
            return None;
        }
        // Without parallel workers nothing waits.
        let worker = self.busy_until.iter_mut().min_by_key(|until| **until);
        let mut due = worker.as_ref().map_or(arrived, |until| arrived.max(**until)).saturating_add(time);
        if let Some(stalls) = &self.stalls
            && let Some(end) = stalls.end(due.saturating_sub(began))
        {
            due = began + end;
        }
        if let Some(until) = worker {
            *until = due;
        }
        Some(due)
    }

    fn is_lost(&mut self, asked: Asked) -> bool {
        let Some((_, one_in)) = self.odd.lossy_file.filter(|(file, _)| asked.file == Some(*file)) else { return false };
        self.risked = self.risked.wrapping_add(1);
        self.risked.is_multiple_of(one_in.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Draw, Latency};
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Response times, sorted, of calls at these instants.
    fn responses(script: &Script, arrivals: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut schedule = Schedule::new(script);
        let mut times: Vec<u64> = arrivals.map(|at| schedule.due(at, Asked::default()).unwrap() - at).collect();
        times.sort_unstable();
        times
    }

    #[test]
    fn parallel_calls_do_not_wait() {
        let script = Script::parallel(Latency::Constant(10 * MS));
        assert_eq!(responses(&script, [5, 5, 5, 6].into_iter()), [10_000_000; 4]);
    }

    #[test]
    fn queued_calls_wait_for_those_before() {
        let script = Script::queue(Latency::Constant(MS));
        assert_eq!(
            responses(&script, [0, 0, 500_000, 9_000_000].into_iter()),
            [1_000_000, 1_000_000, 2_000_000, 2_500_000]
        );
    }

    #[test]
    fn workers_share_a_queue() {
        let script = Script { service: Service::Workers(2), ..Script::queue(Latency::Constant(MS)) };
        assert_eq!(responses(&script, [0, 0, 0, 0, 0].into_iter()), [1, 1, 2, 2, 3].map(|ms| ms * 1_000_000));
    }

    /// 2,000 operations per second for a minute with one stall of 1.4 s: more than 2 % of the calls see it.
    #[test]
    fn a_stall_shows_in_the_tail_as_the_closed_form_says() {
        let stalls = Stalls { first: 30_000 * MS, every: 60_000 * MS, length: 1400 * MS };
        let latency = Latency::Constant(2 * MS);
        let script = Script { stalls: Some(stalls), ..Script::parallel(latency) };
        let count = 120_000_usize;
        let times = responses(&script, (0..count as u64).map(|call| call * 500_000));
        for q in [0.5, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999] {
            let got = times[(q * count as f64) as usize] as f64 / 1e9;
            let wanted = stalled(2 * MS, &stalls, q).as_secs_f64();
            assert!((got - wanted).abs() < 0.01 * wanted, "p{q}: {got} s instead of {wanted} s");
        }
        assert!(stalled(2 * MS, &stalls, 0.99).as_secs_f64() > 0.7);
    }

    #[test]
    fn a_queue_is_as_slow_as_theory_says() {
        let script = Script { seed: 5, ..Script::queue(Latency::Exponential { mean: MS }) };
        let rate = 600.0;
        let mut gaps =
            Sampler::new(Latency::Exponential { mean: Duration::from_secs_f64(1.0 / rate) }, Draw::Independent, 9);
        let mut at = 0;
        let arrivals = (0..300_000).map(|_| {
            at += nanoseconds(gaps.next());
            at
        });
        let times = responses(&script, arrivals);
        for q in [0.5, 0.9, 0.99] {
            let got = times[(q * times.len() as f64) as usize] as f64 / 1e9;
            let wanted = queued_exponential(MS, rate, q).unwrap().as_secs_f64();
            assert!((got / wanted - 1.0).abs() < 0.03, "p{q}: {got} s instead of {wanted} s");
        }
        assert_eq!(queued_exponential(MS, 1000.0, 0.5), None);
    }

    #[test]
    fn odd_calls_are_slow_or_lost_and_others_are_not() {
        let odd = Oddities { slow_size: Some((1_500, 3.0)), unfair_file: Some((4, 2.0)), lossy_file: Some((7, 5)) };
        let mut schedule = Schedule::new(&Script { odd, ..Script::parallel(Latency::Constant(MS)) });
        let mut asked = |file, read| schedule.due(0, Asked { file, read });
        assert_eq!([asked(None, Some(1_500)), asked(Some(4), None)], [Some(3_000_000), Some(2_000_000)]);
        assert_eq!([asked(Some(1), Some(1_499)), asked(Some(4), Some(1_500))], [Some(1_000_000), Some(6_000_000)]);
        assert_eq!((0..20).filter(|_| asked(Some(7), None).is_none()).count(), 4);
    }

    #[test]
    fn a_stalled_queue_goes_on_behind_the_stall() {
        let stalls = Stalls { first: 2 * MS, every: 100 * MS, length: 10 * MS };
        let script = Script { stalls: Some(stalls), ..Script::queue(Latency::Constant(MS)) };
        let mut schedule = Schedule::new(&script);
        let due: Vec<u64> =
            [0, 1_500_000, 1_600_000].into_iter().map(|at| schedule.due(at, Asked::default()).unwrap()).collect();
        assert_eq!(due, [1_000_000, 12_000_000, 13_000_000]);
    }
}
