//! Failed tests, repeated alone: on two cores, beside others, a test may fail because nothing ran in time. Its name stays in the output: it
//! depends on the machine's speed, and must be mended. A test that fails alone, too, has failed.

use super::Broken;
use super::tally::Tally;
use crate::Outcome;

/// More failures than this have another cause than bad luck, so none is repeated.
const REPEATED_MAX: usize = 3;

/// Repeats the failed tests of all jobs that failed. Ok if each of them passed alone.
pub(super) fn alone(tally: &mut Tally, broken: Vec<Broken>, repeats: bool, print: impl Fn(&str)) -> Outcome {
    let repeats = repeats && tally.failures() <= REPEATED_MAX;
    let mut failed = Vec::new();
    for Broken { job, error, has_result } in broken {
        let name = job.to_string();
        let failures = tally.failures_of(&name);
        let passes = |test: &str| {
            let job = job.alone(test);
            let ended = job.run();
            print(&ended.shown(&job));
            ended.outcome.is_ok()
                && ended.said.contains("test result: ok. 1 passed")
                && !ended.said.contains("SKIPPED: ")
        };
        // A program that crashed has tests that did not run, whatever else it said.
        if repeats && has_result && !failures.is_empty() && failures.iter().all(|failure| passes(&failure.test)) {
            tally.have_passed_alone(&name);
        } else {
            failed.push(format!("{name}: {error}"));
        }
    }
    if tally.unnamed() > 0 {
        failed.push(format!("{} failed tests have no line in the output", tally.unnamed()));
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::super::programs::Job;
    use super::super::watch;
    use super::*;

    /// A shell that says what a test program says, and, for its test `late` alone, what the script of this name says.
    fn job(name: &str, beside: &str, alone: &str) -> Job {
        let folder = std::env::temp_dir().join(format!("plimsoll-repeat-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("late"), alone).unwrap();
        Job::of_shell(name, beside).within(&folder)
    }

    const FAILS: &str = "echo 'test late ... FAILED'; echo 'test result: FAILED. 7 passed; 1 failed'; exit 101";
    const PASSES: &str = "echo 'test result: ok. 1 passed; 0 failed'";

    fn counts(jobs: Vec<Job>, repeats: bool) -> (String, bool) {
        let (mut tally, broken) = watch(jobs, |_| {});
        let outcome = alone(&mut tally, broken, repeats, |_| {});
        (tally.line(), outcome.is_ok())
    }

    #[test]
    fn a_test_that_passes_alone_is_passed_and_said() {
        let jobs = |alone: &str| vec![job("one", FAILS, alone)];
        let all = "8 passed (1 of them only when repeated alone), 0 failed, 0 skipped, 0 long proofs not run";
        assert_eq!(counts(jobs(PASSES), true), (all.to_owned(), true));
        let failed = ("7 passed, 1 failed, 0 skipped, 0 long proofs not run".to_owned(), false);
        assert_eq!(counts(jobs(PASSES), false), failed, "outside CI");
        for alone in ["exit 101", "echo 'test result: ok. 0 passed; 0 failed'", "echo 'SKIPPED: needs it'; exit 0"] {
            assert_eq!(counts(jobs(alone), true), failed, "{alone}");
        }
    }

    #[test]
    fn many_failures_and_crashes_are_not_repeated() {
        let jobs = ["a", "b", "c", "d"].map(|name| job(name, FAILS, PASSES));
        let all = "28 passed, 4 failed, 0 skipped, 0 long proofs not run";
        assert_eq!(counts(jobs.into(), true), (all.to_owned(), false));
        let unnamed = "echo 'test late ... FAILED'; echo 'test result: FAILED. 6 passed; 2 failed'; exit 101";
        assert!(!counts(vec![job("unnamed", unnamed, PASSES)], true).1);
        let crashed = job("crashed", "echo 'test late ... FAILED'; kill -ABRT $$", PASSES);
        assert!(!counts(vec![crashed], true).1);
    }
}
