//! What workers counted of a level becomes what a report tells of it besides its transactions.

use std::collections::BTreeMap;

use plimsoll_drive::engine::{self, Histogram, StationTally, TurnTally, WorkerCpu};
use plimsoll_report::collect::run::Answered;
use plimsoll_report::findings::{Fairness, Generator, OUTSIDE_THE_PHASE, RoundTrip, Times, TurnKind};
use plimsoll_stats::curve::StationShare;

/// The turns of one kind; whoever knows the workload gives it its name.
pub(super) fn turn_kind(tally: &TurnTally) -> TurnKind {
    let seconds = |sum_ns: u64, of: u64| (of > 0).then(|| sum_ns as f64 / of as f64 / 1e9);
    TurnKind {
        name: String::new(),
        ended: tally.ended,
        unended: tally.unended,
        failed: tally.failed,
        late: tally.late,
        late_from_before: tally.late_from_before,
        mean_s: seconds(tally.duration_sum_ns, tally.ended),
        overrun_mean_s: seconds(tally.overrun_sum_ns, tally.late),
        overrun_max_s: (tally.late > 0).then_some(tally.overrun_max_ns as f64 / 1e9),
    }
}

/// Whether the load generator kept up, as far as numbers tell.
pub(super) fn keeping_up(generator: &engine::Generator) -> Generator {
    let cpu = |worker: &WorkerCpu| (worker.user_ns + worker.system_ns) as f64 / 1e9;
    let cpu_s: f64 = generator.workers.iter().map(cpu).sum();
    let polled_s: f64 = generator.workers.iter().map(|worker| worker.polled_ns as f64 / 1e9).sum();
    let elapsed_s: f64 = generator.workers.iter().map(|worker| worker.elapsed_ns as f64 / 1e9).sum();
    Generator {
        cpu_s,
        cpu_share: if elapsed_s > 0.0 { cpu_s / elapsed_s } else { 0.0 },
        cpu_per_operation_s: None,
        polling_share: (elapsed_s > 0.0).then(|| polled_s / elapsed_s),
        schedule_lag: times(&generator.schedule_lag),
        wake_up_lag: times(&generator.wake_up_lag),
        clock_granularity_s: (generator.clock_granularity_ns > 0).then(|| generator.clock_granularity_ns as f64 / 1e9),
        round_trip: generator.round_trips.together().map(|found| RoundTrip {
            least_s: found.least_ns as f64 / 1e9,
            smoothed_s: found.smoothed_ns as f64 / 1e9,
        }),
        never_sent: generator.never_sent,
        strangers: generator.strangers,
        spared: generator.spared,
    }
}

/// What the server did in the measured phase.
pub(super) fn answered_in_it(generator: &engine::Generator) -> Answered {
    let engine::Answered { requests, read_bytes, written_bytes } = generator.answered;
    Answered { requests, read_bytes, written_bytes }
}

/// How the server shared itself among the stations: turns of each, over their mean.
pub(super) fn fairness(stations: &[StationTally]) -> Fairness {
    let count = stations.len() as f64;
    let turns = || stations.iter().map(|station| station.turns as f64);
    let mean = turns().sum::<f64>() / count;
    let starved = stations.iter().filter(|station| station.turns == 0).count() as u64;
    let stations = stations.len() as u64;
    if stations == 0 || mean == 0.0 {
        return Fairness { stations, starved, ..Fairness::default() };
    }
    let squares: f64 = turns().map(|turns| turns * turns).sum();
    let spread = turns().map(|turns| (turns - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Fairness {
        stations,
        starved,
        min: turns().reduce(f64::min).map(|turns| turns / mean),
        max: turns().reduce(f64::max).map(|turns| turns / mean),
        stddev: (stations > 1).then(|| spread.sqrt() / mean),
        jain: Some((mean * count).powi(2) / (count * squares)),
    }
}

/// A station's actions, errors and mean response time.
pub(super) fn share(station: &StationTally) -> StationShare {
    let count = station.actions as f64;
    let mean_ns = station.response_sum_ns as f64 / count.max(1.0);
    // Rounding must not make it negative.
    let variance = (station.response_squares / count.max(1.0) - mean_ns * mean_ns).max(0.0);
    StationShare {
        station: station.station,
        actions: station.actions,
        errors: station.error_count(),
        mean_s: mean_ns / 1e9,
        error_s: (variance / count.max(1.0)).sqrt() / 1e9,
    }
}

/// What happened to actions that did not succeed, and how often.
pub(super) fn failures(stations: &[StationTally]) -> Vec<(String, u64)> {
    let mut sums = BTreeMap::new();
    for station in stations {
        for &(cause, count) in &station.errors {
            *sums.entry(cause.label().to_owned()).or_insert(0) += count;
        }
        // What failed before or after the measured phase spoils no number, and is said all the same.
        for &(cause, count) in &station.errors_outside {
            *sums.entry(format!("{}{OUTSIDE_THE_PHASE}", cause.label())).or_insert(0) += count;
        }
    }
    sums.into_iter().collect()
}

/// Seconds of a histogram of nanoseconds.
pub(super) fn times(of: &Histogram) -> Option<Times> {
    let at = |quantile| of.quantile(quantile).map(|ns| ns as f64 / 1e9);
    Some(Times {
        count: of.count(),
        min_s: of.min()? as f64 / 1e9,
        max_s: of.max()? as f64 / 1e9,
        mean_s: of.mean()? / 1e9,
        stddev_s: of.stddev().map(|ns| ns / 1e9),
        p50_s: at(0.5)?,
        p90_s: at(0.9)?,
        p95_s: at(0.95)?,
        p99_s: at(0.99)?,
        p999_s: at(0.999)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_of_equals_and_of_one_who_has_all() {
        let stations = |turns: &[u64]| -> Vec<StationTally> {
            turns.iter().map(|&turns| StationTally { turns, ..StationTally::default() }).collect()
        };
        let equal = fairness(&stations(&[5, 5, 5, 5]));
        assert_eq!((equal.jain, equal.min, equal.max, equal.stddev), (Some(1.0), Some(1.0), Some(1.0), Some(0.0)));
        let one = fairness(&stations(&[8, 0, 0, 0]));
        assert_eq!((one.jain, one.starved, one.max), (Some(0.25), 3, Some(4.0)));
        assert_eq!(fairness(&stations(&[0, 0])).jain, None);
        assert_eq!(fairness(&[]).stations, 0);
    }
}
