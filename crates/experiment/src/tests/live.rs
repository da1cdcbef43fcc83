//! Looking on changes no number, and sees the numbers that a recording has.

use std::sync::Mutex;
use std::time::Duration;

use plimsoll_drive::engine::Plan;
use plimsoll_drive::network::memory::Delays;
use plimsoll_stats::Times;
use plimsoll_stats::live::{Recent, Totals};
use plimsoll_testkit::servers::scripted::{Draw, Script};
use plimsoll_workload::{Arrivals, Load, Pause, Phases};

use super::outliers::{Found, jitter};
use crate::LevelResult;
use crate::live::LiveFeed;

/// A report's numbers for each procedure.
fn numbers(level: &LevelResult) -> Vec<(String, u64, u64, Times, Option<Times>)> {
    let row = |(procedure, row): (plimsoll_model::Procedure, &plimsoll_stats::Accumulator)| {
        let response = row.response().into_owned();
        (procedure.name().to_owned(), row.count(), row.errors(), response, row.from_intended().cloned())
    };
    let mut rows: Vec<_> = level.statistics().operations().map(row).collect();
    rows.sort_by(|one, other| one.0.cmp(&other.0));
    rows
}

#[test]
fn looking_on_changes_no_number_and_shows_the_seconds_of_the_recording() {
    let found = Found::new();
    let script = Script { draw: Draw::Independent, ..Script::parallel(jitter(Duration::from_millis(3))) };
    let closed = Load::Closed { clients: 8, think: Pause::None };
    let open = Load::Open { rate: 900.0, clients: 8, arrivals: Arrivals::Poisson };
    for load in [closed, open] {
        let phases = Phases { warmup_ns: 500_000_000, measured_ns: Some(4_000_000_000), ..Phases::default() };
        let plan = Plan { phases, level: 3, threads: 1, ..Plan::new(load) };
        let alone = found.driven(&script, &plan, ("", Delays::default()), 512);
        let (live, seen) = (LiveFeed::new(true), Mutex::new((Recent::new(), Totals::default())));
        let take = |ns: i64| {
            let (recent, totals) = &mut *seen.lock().unwrap();
            live.take(ns, recent, Some(totals));
        };
        let watched = found.watched(&script, &plan, &live, || take(i64::MIN));
        assert_eq!(numbers(&watched), numbers(&alone), "{load:?}");
        let intervals = |level: &LevelResult| level.measured().unwrap().intervals;
        assert!(intervals(&watched) == intervals(&alone), "{load:?}: other numbers by time");
        assert_eq!(watched.recorded().span_ns, alone.recorded().span_ns);
        assert!(live.generator().is_some(), "{load:?}: checkpoints came");
        take(i64::MAX);
        let (recent, totals) = seen.into_inner().unwrap();
        let (from, to) = watched.recorded().span_ns;
        let intervals = intervals(&watched);
        let mut whole = 0;
        for second in
            recent.seconds().filter(|second| second.start_ns() > from && second.start_ns() + 1_000_000_000 < to)
        {
            let mut expected = plimsoll_stats::IntervalRow::default();
            let is_in = |ns: i64| (second.start_ns()..second.start_ns() + 1_000_000_000).contains(&ns);
            intervals
                .iter()
                .filter(|interval| is_in(interval.start_ns()))
                .for_each(|interval| expected.merge(&interval.total()));
            assert_eq!(second.total(), expected, "{load:?}");
            whole += 1;
        }
        assert!(whole >= 2, "{whole} seconds");
        let all: u64 = totals.by().next().unwrap().1.rows().iter().map(|(_, stats)| stats.count).sum();
        assert!(all >= watched.answered().requests);
        let of_schedule = |by: &plimsoll_stats::Breakdown| by.rows().iter().map(|(_, stats)| stats.count).sum::<u64>();
        let scheduled = totals.from_intended(plimsoll_stats::Dimension::Server).map(of_schedule);
        assert_eq!(scheduled, matches!(load, Load::Open { .. }).then_some(all), "{load:?}");
    }
}
