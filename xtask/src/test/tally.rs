//! Counts over all test programs, from what they print.

use std::collections::BTreeMap;
use std::fmt;

/// Counts over all test programs.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    passed: u64,
    failed: u64,
    /// Tests that are ignored because they are proofs of `cargo xtask verify`.
    long_proofs: u64,
    /// Tests that are ignored for another reason.
    ignored: u64,
    /// Reasons, by program and test: those tests count as passed in their programs' lines.
    skipped: BTreeMap<String, String>,
    failures: Vec<Failure>,
    /// Tests that failed beside others, and passed alone. They count as passed.
    passed_alone: Vec<Failure>,
}

/// A test that failed.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    /// The job's name.
    program: String,
    pub(super) test: String,
    /// Where it stopped, and the first line of what it said.
    message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}{}", self.program, self.test, self.message)
    }
}

/// How the line of a test goes on that only `cargo xtask verify` runs.
const LONG_PROOF: &str = " ... ignored, long proof: ";
/// Longer messages are shown with the output of their program alone.
const MESSAGE_MAX: usize = 400;

impl Tally {
    /// The line that ends the output.
    pub(crate) fn line(&self) -> String {
        let skipped = self.skipped.len() as u64;
        let passed = self.passed.saturating_sub(skipped);
        let (failed, skipped) = (self.failed, self.ignored + skipped);
        let alone = match self.passed_alone.len() {
            0 => String::new(),
            count => format!(" ({count} of them only when repeated alone)"),
        };
        format!("{passed} passed{alone}, {failed} failed, {skipped} skipped, {} long proofs not run", self.long_proofs)
    }

    /// Prints what was skipped and what failed.
    pub(crate) fn print(&self) {
        println!();
        for (test, reason) in &self.skipped {
            println!("skipped {test}: {reason}");
        }
        for test in &self.failures {
            println!("failed {test}");
        }
        for test in &self.passed_alone {
            println!("failed beside other tests, and passed when repeated alone: {test}");
        }
    }

    /// How many tests failed.
    pub(super) fn failures(&self) -> usize {
        self.failures.len()
    }

    /// Failed tests whose lines were not found.
    pub(super) fn unnamed(&self) -> u64 {
        self.failed.saturating_sub(self.failures.len() as u64)
    }

    /// The tests of a job that failed, by its name.
    pub(super) fn failures_of(&self, program: &str) -> Vec<Failure> {
        self.failures.iter().filter(|failure| failure.program == program).cloned().collect()
    }

    /// All failed tests of a job passed when each was repeated alone.
    pub(super) fn have_passed_alone(&mut self, program: &str) {
        let of_program: Vec<Failure> = self.failures.extract_if(.., |failure| failure.program == program).collect();
        let count = of_program.len() as u64;
        (self.passed, self.failed) = (self.passed + count, self.failed.saturating_sub(count));
        self.passed_alone.extend(of_program);
    }

    /// Reads what a test program printed: a line for each test, then the output of tests, then its result. Tests may print such lines too.
    pub(crate) fn read(&mut self, program: &str, said: &str) {
        let tests = said.lines().take_while(|line| !matches!(*line, "successes:" | "failures:"));
        let long_proofs = tests.clone().filter(|line| line.contains(LONG_PROOF)).count() as u64;
        let failed = tests.filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
        let failure =
            |name: &str| Failure { program: program.to_owned(), test: name.to_owned(), message: message(said, name) };
        self.failures.extend(failed.map(failure));
        let mut test = "";
        for line in said.lines() {
            if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
                test = name;
            } else if let Some(reason) = line.strip_prefix("SKIPPED: ") {
                self.skipped.entry(format!("{program}: {test}")).or_insert_with(|| reason.trim().to_owned());
            }
        }
        if let Some(result) = said.lines().rev().find_map(|line| line.strip_prefix("test result: ")) {
            self.passed += count(result, " passed");
            self.failed += count(result, " failed");
            self.long_proofs += long_proofs;
            self.ignored += count(result, " ignored").saturating_sub(long_proofs);
        }
    }

    /// Tests that skipped although what they need is here.
    pub(crate) fn needless(&self, is_here: impl Fn(&str) -> bool) -> Vec<String> {
        let needless = self.skipped.iter().filter(|(_, reason)| {
            let needed = reason.strip_prefix("needs ").and_then(|needs| needs.split_whitespace().next());
            needed.is_some_and(|name| is_here(name.trim_end_matches([',', ':', ';'])))
        });
        needless.map(|(test, _)| test.clone()).collect()
    }
}

/// Where a test stopped, and the first line of its message: what a log that was cut must still hold.
fn message(said: &str, test: &str) -> String {
    let heading = format!("---- {test} stdout ----");
    let block = said.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.starts_with("---- "));
    let mut panicked = block.skip_while(|line| !line.contains("panicked at "));
    let Some((_, place)) = panicked.next().and_then(|line| line.split_once("panicked at ")) else {
        return String::new();
    };
    let message: String = panicked.next().unwrap_or_default().chars().take(MESSAGE_MAX).collect();
    format!(" at {place} {message}")
}

/// The number that stands before a word in a program's result line.
fn count(result: &str, word: &str) -> u64 {
    let before = result.split(';').find_map(|part| part.strip_suffix(word));
    before.and_then(|text| text.rsplit(' ').next()).and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_PROGRAMS: [&str; 2] = [
        "\
test watch::hour ... ignored, long proof: cargo xtask verify \"watch hour\"
test later ... ignored, not now
test result: ok. 12 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 4.57s
",
        "\
test table::rows ... FAILED

successes:

---- a_test_of_tests stdout ----
test nothing ... FAILED

failures:

---- table::rows stdout ----
said before
thread 'table::rows' (12) panicked at tests/all/table.rs:9:5:
3 rows instead of 4
more
test result: FAILED. 70 passed; 80 failed; 90 ignored; 0 measured; 0 filtered out; finished in 0.10s
---- wire::against_tshark stdout ----
SKIPPED: needs tshark
SKIPPED: needs tshark, again
---- table::pandas stdout ----
SKIPPED: needs Python with pandas
test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
",
    ];

    fn tally() -> Tally {
        let mut tally = Tally::default();
        for (program, said) in ["one", "two"].into_iter().zip(TWO_PROGRAMS) {
            tally.read(program, said);
        }
        tally
    }

    #[test]
    fn counts_are_summed_and_a_skipped_test_is_not_a_passed_one() {
        assert_eq!(tally().line(), "13 passed, 2 failed, 3 skipped, 1 long proofs not run");
        let failures: Vec<String> = tally().failures.iter().map(ToString::to_string).collect();
        assert_eq!(failures, ["two: table::rows at tests/all/table.rs:9:5: 3 rows instead of 4"]);
        assert_eq!(Tally::default().line(), "0 passed, 0 failed, 0 skipped, 0 long proofs not run");
    }

    #[test]
    fn a_skip_is_needless_where_the_program_is_here() {
        assert_eq!(tally().needless(|_| false), Vec::<String>::new());
        assert_eq!(tally().needless(|name| name == "tshark"), ["two: wire::against_tshark"]);
    }
}
