//! Who starts what when, to the nanosecond.

use plimsoll_drive::engine::{Load, Pause, Plan};

use crate::memory::{MS, START, all, over, phases, steady};
use crate::toy::{Do, Toys};

fn closed(stations: u32, think: Pause) -> Plan {
    Plan { phases: phases(10, 100, 50), stage: Some(3), ..Plan::new(Load::Closed { stations, think }) }
}

#[test]
fn in_a_closed_loop_the_next_turn_starts_when_the_last_is_over() {
    let toys = Toys::new(&[Do::Null, Do::TurnOver]);
    let ran = over(&closed(1, Pause::None), &toys, |_| steady(3 * MS));
    let times: Vec<i64> = all(&ran).iter().filter_map(|t| t.timeline.intended).map(|at| at - START).collect();
    assert_eq!(times, (0..37).map(|n| n * 3 * MS).collect::<Vec<_>>());
    assert_eq!(ran.measured, (START + 10 * MS, START + 110 * MS));
    // Intended at 12, 15 … 108: 33; over at 12, 15 … 108: 33.
    let tally = &ran.stations[0];
    assert_eq!((tally.actions, tally.turns, tally.error_count()), (33, 33, 0));
    assert_eq!(tally.response_sum_ns, 33 * 3 * MS as u64);
    let staged = all(&ran).iter().filter(|t| t.stage == Some(3)).count();
    assert_eq!(staged, 33);
    assert!(all(&ran).iter().all(|t| t.timeline.response_time() == Some(3 * MS)));
}
