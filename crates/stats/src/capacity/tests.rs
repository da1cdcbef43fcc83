//! Searches for known capacities.

use plimsoll_testkit::Random;

use super::*;

const BOUNDS: Bounds = Bounds { start: 10.0, most: 1e6, grain: Grain::Any, resolution: 0.015, runs: 1_000 };

/// Searches to the end; returns the answer and the number of runs.
fn found(bounds: Bounds, mut holds: impl FnMut(f64) -> bool) -> (Answer, u32) {
    let mut search = Search::new(bounds);
    loop {
        match search.next() {
            Next::Over(answer) => return (answer, search.runs()),
            Next::Run { load, .. } => search.saw(holds(load)),
        }
    }
}

#[test]
fn a_sharp_capacity_is_found_to_the_resolution_in_few_runs() {
    for capacity in [0.7, 10.0, 937.0, 4321.0, 55_555.0] {
        let (answer, runs) = found(BOUNDS, |load| load <= capacity);
        let Answer::Between { held, broken } = answer else { panic!("{answer:?}") };
        assert!(held <= capacity && broken > capacity && broken / held <= 1.0151, "{capacity}: {answer:?}");
        assert!(runs <= 2 * CONFIRMATIONS + 22, "{capacity}: {runs}");
    }
}

#[test]
fn whole_loads_are_found_exactly() {
    for capacity in [1.0, 2.0, 7.0, 63.0, 64.0, 65.0] {
        let (answer, _) = found(Bounds { grain: Grain::Whole(1), ..BOUNDS }, |load| load <= capacity);
        assert_eq!(answer, Answer::Between { held: capacity, broken: capacity + 1.0 });
    }
}

#[test]
fn no_load_below_the_least_is_tried() {
    let bounds = |start| Bounds { start, grain: Grain::Whole(4), ..BOUNDS };
    for (start, capacity) in [(4.0, 3.0), (64.0, 3.0), (64.0, 0.0)] {
        let mut least = f64::INFINITY;
        let holds = |load: f64| {
            least = least.min(load);
            load <= capacity
        };
        let (answer, _) = found(bounds(start), holds);
        assert_eq!((answer, least), (Answer::Nothing(4.0), 4.0), "from {start}");
    }
    assert_eq!(found(bounds(1.0), |load| load <= 5.0).0, Answer::Between { held: 5.0, broken: 6.0 });
    // A load that held at first does not hold later, whatever its size.
    let mut runs = 0;
    let fickle = |load: f64| {
        runs += 1;
        assert!(load >= 4.0, "{load}");
        runs <= 2
    };
    assert_eq!(found(bounds(4.0), fickle).0, Answer::Nothing(4.0));
}

#[test]
fn what_always_holds_and_what_never_does_are_said() {
    assert_eq!(found(BOUNDS, |_| true).0, Answer::AtLeast(1e6, Limit::Most));
    assert!(matches!(found(BOUNDS, |_| false).0, Answer::Nothing(_)));
    assert_eq!(found(Bounds { grain: Grain::Whole(1), ..BOUNDS }, |_| false).0, Answer::Nothing(1.0));
    let few = found(Bounds { runs: 5, ..BOUNDS }, |load| load <= 500.0);
    assert_eq!(few, (Answer::Undecided { held: Some(160.0), broken: None }, 5));
}

#[test]
fn a_lower_end_is_confirmed_with_the_last_runs() {
    // 10 to 320 hold, which takes six runs: six are left, and 320 is sure in the end.
    let bounds = Bounds { runs: 12, ..BOUNDS };
    assert_eq!(found(bounds, |load| load <= 500.0), (Answer::AtLeast(320.0, Limit::Runs), 12));
    // Between the ends, while neither is confirmed.
    let (answer, runs) = found(Bounds { runs: 15, ..BOUNDS }, |load| load <= 500.0);
    let Answer::AtLeast(held, Limit::Runs) = answer else { panic!("{answer:?}") };
    assert!((320.0..=500.0).contains(&held) && runs == 15, "{answer:?}");
    // Where enough are allowed, nothing is reserved.
    assert!(matches!(found(BOUNDS, |load| load <= 500.0).0, Answer::Between { .. }));
    // A lower end that finally does not hold is not accepted.
    let mut runs = 0;
    let fickle = |_| {
        runs += 1;
        runs <= 6
    };
    assert!(matches!(found(bounds, fickle).0, Answer::Undecided { .. }));
}

#[test]
fn what_the_generator_cannot_make_leaves_a_lower_end() {
    // The server meets any load, and the generator's limit is this.
    for (grain, able) in [(Grain::Any, 700.0), (Grain::Whole(1), 700.0), (Grain::Any, 11.0)] {
        let mut search = Search::new(Bounds { grain, ..BOUNDS });
        let answer = loop {
            match search.next() {
                Next::Over(answer) => break answer,
                Next::Run { load, .. } if load <= able => search.saw(true),
                Next::Run { .. } => assert!(search.could_not()),
            }
        };
        let Answer::AtLeast(held, Limit::Generator) = answer else { panic!("{answer:?}") };
        assert!(held <= able && held * 2.0 > able && search.carried() == Some(held), "{answer:?}");
    }
    // Nothing is known to hold.
    assert!(!Search::new(BOUNDS).could_not());
    // A load that held once cannot be generated again, nor half of it: the search ends.
    let mut search = Search::new(Bounds { grain: Grain::Whole(1), most: 40.0, ..BOUNDS });
    search.saw(true);
    while search.could_not() {}
    assert_eq!(search.carried(), None);
}

/// Every second run at the highest load misses, perhaps because of the load generator.
#[test]
fn runs_in_doubt_confirm_no_lower_end() {
    let mut search = Search::new(Bounds { most: 10.0, runs: 100, ..BOUNDS });
    let mut number = 0;
    let answer = loop {
        match search.next() {
            Next::Over(answer) => break answer,
            Next::Run { load, .. } => {
                number += 1;
                if load == 10.0 && number % 2 == 0 {
                    search.doubt();
                } else {
                    search.saw(true);
                }
            }
        }
    };
    // Each attempt at 10 needs more runs than the one before, until none are left.
    assert!(matches!(answer, Answer::Undecided { broken: None, .. }), "{answer:?}");
    // Before the first run that holds, nothing is moved, and one more run is needed.
    let mut search = Search::new(Bounds { most: 10.0, ..BOUNDS });
    search.saw(true);
    assert!(!search.doubt() && search.is_confirming());
    let runs = (1..).find(|_| {
        search.saw(true);
        search.carried().is_some()
    });
    assert_eq!(runs, Some(CONFIRMATIONS + 1));
    // Before the confirmation it does not count.
    let mut search = Search::new(Bounds { grain: Grain::Whole(1), ..BOUNDS });
    assert!(!search.doubt() && search.runs() == 0);
}

#[test]
fn noise_widens_the_interval_and_it_holds_the_capacity_all_the_same() {
    // Relative distance from the capacity at which a run still has the wrong result once in four.
    for steepness in [0.001, 0.005, 0.02] {
        let (mut missed, mut undecided, mut width) = (0, 0, 0.0);
        for seed in 0..400 {
            let mut random = Random::new(seed);
            let holds = |load: f64| random.uniform() < 1.0 / (1.0 + 3_f64.powf((load / 1000.0 - 1.0) / steepness));
            match found(BOUNDS, holds).0 {
                Answer::Between { held, broken } => {
                    missed += u32::from(held > 1000.0 || broken < 1000.0);
                    width += broken / held - 1.0;
                }
                _ => undecided += 1,
            }
        }
        assert!(missed <= 14 && undecided == 0, "{steepness}: {missed} missed, {undecided} undecided");
        assert!(width / 400.0 < 0.02 + 8.0 * steepness, "{steepness}: {}", width / 400.0);
    }
}
