//! Known latency: a server whose response times are known beforehand, driven at a rate, and the percentiles that are
//! reported, to one per cent. Under a virtual clock the engine's whole schedule is in that, and no machine's delays; with
//! `PLIMSOLL_EXACT=1`, on an idle machine of at least two cores, it goes over sockets and by the real clock too.

use std::time::Duration;

use plimsoll_stats::Statistics;
use plimsoll_testkit::servers::scripted::{Latency, Script, Stalls, stalled};
use plimsoll_workload::{Arrivals, Load};

use super::virtual_run::{Asks, Case, Found};

/// Iterations per second.
const RATE: f64 = 2_000.0;
/// What percentiles may be off.
const TOLERANCE: f64 = 0.01;
/// Measurements by the real clock before it is the generator's fault.
const ATTEMPTS: usize = 5;

/// A percentile of the response times, or of those from the intended start, in seconds.
fn percentile(statistics: &Statistics, q: f64, from_intended: bool) -> f64 {
    let (_, row) = statistics.operations().next().unwrap();
    let ns = if from_intended {
        row.from_intended().unwrap().percentile_ns(q * 100.0)
    } else {
        row.response().percentile_ns(q * 100.0)
    };
    ns.unwrap() as f64 / 1e9
}

fn case(name: &'static str, script: Script, depth: u32, seconds: u64) -> Case {
    let load = Load::Open { clients: 1, rate: RATE, arrivals: Arrivals::Constant };
    Case { name, script, drift: None, load, depth, seconds, asks: Asks::Attributes }
}

/// Requires what `wrong` finds nothing wrong with: at once under the virtual clock, in some attempts by the real one.
fn require(case: &Case, wrong: impl Fn(&Statistics) -> Option<String>) {
    if let Some(wrong) = wrong(&Found::new().statistics(case, case.script.seed)) {
        panic!("{}: {wrong}", case.name);
    }
    if std::env::var_os("PLIMSOLL_EXACT").is_some() {
        let attempts = (0..ATTEMPTS).map(|_| wrong(&Found::real_statistics(case, case.script.seed)));
        let said: Vec<String> = attempts.map_while(|wrong| wrong).collect();
        assert!(said.len() < ATTEMPTS, "{}, by the real clock: {said:?}", case.name);
        println!("{}, by the real clock: held in attempt {}", case.name, said.len() + 1);
    }
}

#[test]
fn constant_exponential_and_two_humps() {
    let ms = Duration::from_millis;
    for (name, latency) in [
        ("constant", Latency::Constant(ms(40))),
        ("exponential", Latency::Exponential { mean: ms(60) }),
        ("two humps", Latency::TwoHumps { low: ms(30), high: ms(120), share: 0.2 }),
    ] {
        require(&case(name, Script::parallel(latency), 2_000, 4), |statistics| {
            let off = [0.5, 0.9, 0.95, 0.99]
                .map(|q| percentile(statistics, q, true) / latency.quantile(q).as_secs_f64() - 1.0);
            let wrong = off.iter().any(|off| off.abs() > TOLERANCE);
            wrong.then(|| format!("p50, p90, p95, p99 are off by {off:?}"))
        });
    }
}

#[test]
fn a_stall_shows_in_the_time_from_the_intended_start_alone() {
    let latency = Duration::from_millis(2);
    let length = Duration::from_millis(1_400);
    let stalls = Stalls { first: Duration::from_secs(5), every: Duration::from_secs(10), length };
    let script = Script { stalls: Some(stalls), ..Script::parallel(Latency::Constant(latency)) };
    // The stall catches a hundred requests, one per slot: 0.5 % of all. A generator without a schedule would report only these, and
    // not the 2,700 that it did not send. (Lower percentiles hold the time that a
    // hundred slots take to make up for the stall as well; at the 99th it is a third of a percent.)
    let truth = stalled(latency, &stalls, 0.99).as_secs_f64();
    require(&case("a stall", script, 100, 10), |statistics| {
        let (asked, uncorrected) = (percentile(statistics, 0.99, true), percentile(statistics, 0.99, false));
        let wrong = (asked / truth - 1.0).abs() > TOLERANCE || asked < 20.0 * uncorrected;
        wrong
            .then(|| format!("p99 must be {truth} s from the intended start; it is {asked}, uncorrected {uncorrected}"))
    });
}
