//! A load generator that has its processor to itself, and one that has not: the first one's numbers stand, the second one's do not. The
//! real client and engine on the scripted server, in memory under a virtual clock.

use std::time::Duration;

use plimsoll_drive::engine::Plan;
use plimsoll_drive::network::memory::Delays;
use plimsoll_model::{Validity, Verdict};
use plimsoll_testkit::servers::scripted::{Latency, Script};
use plimsoll_workload::{Arrivals, Load, Pause, Phases};

use super::outliers::Found;
use crate::level::LevelResult;

/// Duration of a call: less than a processor's wake-up latency.
const CALL: Duration = Duration::from_micros(60);
/// An idle processor, ns.
const QUIET: Delays = Delays { waking_ns: 50_000, taken_ns: (0, 0) };
/// Other work has 85 % of the processor, in slices of 8.5 ms.
const STARVED: Delays = Delays { waking_ns: 50_000, taken_ns: (10_000_000, 8_500_000) };

/// A closed loop, a rate, and users.
const LOADS: [Load; 3] = [
    Load::Closed { clients: 2, think: Pause::None },
    Load::Open { clients: 2, rate: 1_000.0, arrivals: Arrivals::Constant },
    Load::Partly { users: 20, every_ns: 20_000_000, arrivals: Arrivals::Poisson },
];

fn level(found: &Found, load: Load, delays: Delays, measured_ns: u64) -> LevelResult {
    let phases = Phases { warmup_ns: 50_000_000, measured_ns: Some(measured_ns), ..Phases::default() };
    let plan = Plan { phases, level: 0, threads: 1, depth: 4, ..Plan::new(load) };
    // How busy this machine is says nothing of a run under a virtual clock.
    found.driven(&Script::parallel(Latency::Constant(CALL)), &plan, ("some load", delays), 512).without_busy_client()
}

fn verdict(found: &Found, load: Load, delays: Delays) -> Validity {
    level(found, load, delays, 300_000_000).validity().clone()
}

#[test]
fn a_generator_on_an_idle_processor_is_valid_however_fast_the_server_is() {
    let found = Found::new();
    for load in LOADS {
        assert_eq!(verdict(&found, load, QUIET), Validity::default(), "{load:?}");
    }
}

#[test]
fn a_generator_without_its_processor_is_not() {
    let found = Found::new();
    for load in LOADS {
        let validity = verdict(&found, load, STARVED);
        assert_eq!(validity.verdict, Verdict::Invalid, "{load:?}: {validity:?}");
        let said = validity.reasons.join("; ");
        let expected = if load.asked_rate().is_none() {
            "throughput would be up to"
        } else {
            "mean from the intended start would be"
        };
        assert!(said.starts_with("the load generator was late") && said.contains(expected), "{load:?}: {said}");
    }
}

/// The run was killed: what its latest checkpoint holds is judged as a level that ended, and is as sure of its numbers.
#[test]
fn a_checkpoint_knows_how_late_the_generator_was_and_how_sure_its_numbers_are() {
    let found = Found::new();
    let until = |delays| {
        let phases = Phases { warmup_ns: 50_000_000, measured_ns: Some(3_500_000_000), ..Phases::default() };
        let plan = Plan { phases, level: 0, threads: 1, ..Plan::new(LOADS[0]) };
        let script = Script::parallel(Latency::Constant(CALL * 10));
        found.driven_until(&script, &plan, ("some load", delays), 2).without_busy_client()
    };
    let late = until(STARVED);
    assert_eq!(late.validity().verdict, Verdict::Invalid, "{:?}", late.validity());
    assert!(late.validity().reasons[0].starts_with("the load generator was late"), "{:?}", late.validity());
    let quiet = until(QUIET);
    assert_eq!(quiet.validity().verdict, Verdict::Partial, "it was not finished: {:?}", quiet.validity());
    assert!(quiet.facts().generator.late_requests.is_some(), "{:?}", quiet.facts().generator);
    let facts = quiet.facts();
    let interval = facts.operations_per_s_interval.unwrap();
    let rate = quiet.answered().requests as f64 / quiet.seconds();
    assert!(interval.low <= rate && rate <= interval.high, "{interval:?} {rate}");
    assert!(facts.response_mean_interval.is_some() && (2.9..3.2).contains(&quiet.seconds()), "{}", quiet.seconds());
}

/// Other work has the processor for 4 ms once in half a second: a closed loop of 10,000 per second loses less than a hundredth, and its
/// slowest request takes about that long.
#[test]
fn a_moment_without_it_costs_the_slowest_request() {
    let found = Found::new();
    let moment = Delays { taken_ns: (500_000_000, 4_000_000), ..QUIET };
    let ran = level(&found, LOADS[0], moment, 1_000_000_000);
    assert_eq!(*ran.validity(), Validity::default());
    let moved: Vec<&str> = ran.facts().generator.moved.iter().map(|moved| moved.number.as_str()).collect();
    assert_eq!(moved, ["max"]);
    assert!(
        plimsoll_results::cautions(ran.recorded()).iter().any(|said| said.contains("max would be")),
        "{:?}",
        plimsoll_results::cautions(ran.recorded())
    );
}
