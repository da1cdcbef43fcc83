//! `cargo xtask test`: set up, then every test, and one line at the end that says how many.
//!
//! A test that cannot run on this machine prints a line `SKIPPED: needs NAME …` and returns. Where CI has NAME (a
//! program, or a path beginning with `../` from the workspace's root), such a skip is a failure. A test that only `cargo xtask verify` runs
//! is `#[ignore = "long proof: …"]`, and counted apart. CI repeats up to three failed tests alone, and names those that then pass.

mod programs;
mod repeat;
mod tally;

use std::sync::Mutex;

use programs::{Job, Program};
use tally::Tally;

use crate::{Outcome, process, setup, workspace};

/// Tests of a package that run in sequence, in separate jobs beside everything else: many take `crate::alone()`, and threads in one
/// program with the others would wait for that lock.
struct Serial {
    package: &'static str,
    /// The modules of all these jobs.
    modules: &'static [&'static str],
    /// The tests of the first job; the second has the rest.
    first: &'static [&'static str],
}

const SERIAL: [Serial; 1] = [Serial {
    package: "plimsoll",
    modules: &["run::", "faults::"],
    first: &["run::", "faults::killed::", "faults::leases::", "faults::refusals::", "faults::scale::"],
}];
/// Threads for the other tests of such a program: they start servers and runs too, and wait most of the time.
const THREADS_OF_REST: &str = "6";
const ONE_AT_A_TIME: [&str; 2] = ["--test-threads", "1"];
/// Test programs at a time. Many tests wait for a server or a clock.
const PROGRAMS_AT_A_TIME: usize = 3;

/// Which tests.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Arguments {
    /// Package to test; may be repeated [default: all]
    #[arg(short, long = "package")]
    pub(crate) packages: Vec<String>,
    /// Feature to build with; may be repeated
    #[arg(short = 'F', long)]
    pub(crate) features: Vec<String>,
    /// Run only the unit tests of libraries
    #[arg(long)]
    pub(crate) lib: bool,
    /// Run only this integration test program (`all` in most crates); may be repeated
    #[arg(long = "test")]
    pub(crate) tests: Vec<String>,
    /// Build with the release profile
    #[arg(long)]
    pub(crate) release: bool,
    /// Run only tests whose names contain one of these texts
    pub(crate) filters: Vec<String>,
    /// Arguments for the test programs, after `--`
    #[arg(last = true)]
    pub(crate) for_programs: Vec<String>,
}

/// Runs every test, or those asked for, and prints the counts last.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let (tally, outcome) = tests(arguments);
    println!("{}", tally.line());
    outcome
}

/// Runs every test and tells how it went, but leaves the line of counts to the caller.
pub(crate) fn tests(arguments: &Arguments) -> (Tally, Outcome) {
    let built = setup::run().and_then(|()| programs::build(arguments));
    let (tally, outcome) = match built {
        Ok(programs) => {
            let print = |said: &str| println!("{said}");
            let (mut tally, broken) = watch(jobs(&programs, arguments), print);
            let outcome = repeat::alone(&mut tally, broken, in_ci(), print);
            (tally, outcome)
        }
        Err(error) => (Tally::default(), Err(error)),
    };
    tally.print();
    let needless = if in_ci() { tally.needless(is_here) } else { Vec::new() };
    let outcome = match outcome {
        Ok(()) if !needless.is_empty() => {
            Err(format!("skipped although this machine has what they need: {}", needless.join(", ")))
        }
        outcome => outcome,
    };
    (tally, outcome)
}

/// Whether a machine checks this, rather than a person.
fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|ci| !matches!(ci.as_str(), "" | "0" | "false"))
}

fn is_here(needed: &str) -> bool {
    if needed.starts_with("../") { workspace::root().join(needed).exists() } else { process::find(needed).is_some() }
}

/// The jobs in their starting order: sequential tests first, because they take longest.
fn jobs(programs: &[Program], arguments: &Arguments) -> Vec<Job> {
    let (mut serial, mut others) = (Vec::new(), Vec::new());
    for program in programs {
        let job = |which: Vec<&str>| Job::new(program, which, &arguments.for_programs);
        match SERIAL.iter().find(|serial| program.is_all_of(serial.package) && arguments.filters.is_empty()) {
            Some(Serial { modules, first, .. }) => {
                serial.push(job([first, &ONE_AT_A_TIME[..]].concat()));
                serial.push(job([modules, &without(first)[..], &ONE_AT_A_TIME].concat()));
                others.insert(0, job([&without(modules)[..], &["--test-threads", THREADS_OF_REST]].concat()));
            }
            None => others.push(job(arguments.filters.iter().map(String::as_str).collect())),
        }
    }
    serial.into_iter().chain(others).collect()
}

/// Arguments that leave modules out.
fn without(modules: &[&'static str]) -> Vec<&'static str> {
    modules.iter().flat_map(|module| ["--skip", module]).collect()
}

/// A job that failed.
struct Broken {
    job: Job,
    error: String,
    /// Whether all its tests ended, so that the failed ones are known.
    has_result: bool,
}

/// Runs jobs in parallel, prints the output of each after its end, and counts results.
fn watch(jobs: Vec<Job>, print: impl Fn(&str) + Sync) -> (Tally, Vec<Broken>) {
    let ended_jobs = Mutex::new((Tally::default(), Vec::new()));
    let waiting = Mutex::new(jobs.into_iter());
    let next = || waiting.lock().ok()?.next();
    std::thread::scope(|scope| {
        for _ in 0..PROGRAMS_AT_A_TIME {
            scope.spawn(|| {
                while let Some(job) = next() {
                    let ended = job.run();
                    let Ok(mut all) = ended_jobs.lock() else { return };
                    print(&ended.shown(&job));
                    all.0.read(&job.to_string(), &ended.said);
                    let has_result = ended.has_result();
                    all.1.extend(ended.outcome.err().map(|error| Broken { job, error, has_result }));
                }
            });
        }
    });
    ended_jobs.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(package: &str, target: &str) -> Program {
        Program::of_shell(package, target)
    }

    #[test]
    fn tests_that_want_to_be_alone_are_run_once_and_first() {
        let programs = [program("plimsoll-wire", "all"), program("plimsoll", "plimsoll"), program("plimsoll", "all")];
        let shown = |arguments: &Arguments| -> Vec<String> {
            jobs(&programs, arguments).iter().map(ToString::to_string).collect()
        };
        let expected = [
            "plimsoll all run:: faults::killed:: faults::leases:: faults::refusals:: faults::scale:: --test-threads 1",
            "plimsoll all run:: faults:: --skip run:: --skip faults::killed:: --skip faults::leases:: --skip \
             faults::refusals:: --skip faults::scale:: --test-threads 1",
            "plimsoll all --skip run:: --skip faults:: --test-threads 6",
            "plimsoll-wire all",
            "plimsoll plimsoll",
        ];
        assert_eq!(shown(&Arguments::default()), expected);
        let some = Arguments { filters: vec!["golden".to_owned()], ..Arguments::default() };
        assert_eq!(shown(&some).first().map(String::as_str), Some("plimsoll-wire all golden"));
    }

    #[test]
    fn every_job_is_run_and_each_failure_is_named() {
        // A failure that a test makes must not look like one of the tests.
        let quietly = |_: &str| {};
        let said = |line: &str| Job::of_shell("crate", line);
        let fine = "echo 'test result: ok. 2 passed; 0 failed; 0 ignored'";
        let broken = "echo 'test a ... FAILED'; echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored'; exit 101";
        let (tally, failed) = watch(vec![said(fine), said(broken), said(fine)], quietly);
        assert_eq!(tally.line(), "5 passed, 1 failed, 0 skipped, 0 long proofs not run");
        assert!(failed.len() == 1 && failed[0].error.contains("101") && failed[0].has_result);
        let (tally, failed) = watch(vec![said(fine), said("kill -ABRT $$")], quietly);
        assert_eq!(tally.line(), "2 passed, 0 failed, 0 skipped, 0 long proofs not run");
        assert!(failed.len() == 1 && !failed[0].has_result, "no result line");
        let (_, failed) = watch(vec![said("true")], quietly);
        assert_eq!(failed.len(), 1, "a program that ends without a result has tested nothing");
    }
}
