//! A run that is repeated from its recording, as `run --from` repeats it, in memory under a virtual clock.

use plimsoll_model::Names;
use plimsoll_results::record::Rows;
use plimsoll_testkit::servers::Scratch;

use super::parts::{CLIENTS, LOADS, TIMES};
use super::sameness::{differences, same, states};
use super::simulated::Simulated;
use crate::run_spec::RunSpec;

/// The manifest of a recording determines all results of the run.
#[test]
fn a_run_that_is_repeated_from_its_recording_has_the_same_statistics() {
    let simulated = Simulated::new("random-read", CLIENTS, Rows::All, &[]);
    for load in LOADS {
        let scratch = Scratch::new("repetition");
        let [first, again, other] = ["first", "again", "other"].map(|name| scratch.path().join(name));
        let mut spec = simulated.spec(load, TIMES, None);
        spec.variants[0].levels[0].plan.depth = 3;
        simulated.record(&spec, &first, |_, _| ());
        let (mut repeated, _) = RunSpec::read(&first).unwrap();
        assert_eq!(spec.differs(&repeated), None, "{load}");
        simulated.record(&repeated, &again, |_, _| ());
        same(&first, &again, &load.to_string());
        repeated.variants[0].levels[0].plan.seed += 1;
        simulated.record(&repeated, &other, |_, _| ());
        let mut names = Names::default();
        let [one, another] = [&first, &other].map(|folder| states(folder, &mut names).swap_remove(0));
        assert_ne!(differences(&one, &another), [""; 0], "{load}: the seed decides");
    }
}
