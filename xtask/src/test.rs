//! `cargo xtask test`: set up, then every test, and one line at the end that says how many.
//!
//! A test that cannot run on this machine prints a line `SKIPPED: needs NAME …` and returns. Where CI has NAME (a
//! program, or a path beginning with `../` from the workspace's root), such a skip is a failure.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::{Outcome, process, setup, workspace};

/// Runs every test and prints the counts last.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let (tally, outcome) = tests(arguments);
    println!("{}", tally.line());
    outcome
}

/// Runs every test and tells how it went, but leaves the line of counts to the caller.
pub(crate) fn tests(arguments: &[String]) -> (Tally, Outcome) {
    let mut tally = Tally::default();
    let outcome = setup::run().and_then(|()| watch(command(arguments), &mut tally));
    for (test, reason) in &tally.skipped {
        println!("skipped {test}: {reason}");
    }
    let needless = if in_ci() { tally.needless(is_here) } else { Vec::new() };
    let outcome = match outcome {
        Ok(()) if tally.failed > 0 => Err(format!("{} tests failed", tally.failed)),
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

fn command(arguments: &[String]) -> Command {
    // Arguments may hold a `--` of their own; what comes after it is for the test programs.
    let split = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let (for_cargo, for_tests) = arguments.split_at(split);
    let some = for_cargo.iter().any(|argument| argument.starts_with("-p") || argument.starts_with("--package"));
    let what = if some { &["test", "--no-fail-fast"][..] } else { &["test", "--workspace", "--no-fail-fast"] };
    let mut command = process::cargo(what);
    // Output of tests that passed holds the reasons of those that skipped.
    command.args(for_cargo).args(["--", "--show-output"]).args(for_tests.iter().skip(1));
    if let Some(python) = setup::python() {
        command.env("PLIMSOLL_PYTHON", python);
    }
    if in_ci() {
        // Tests fail rather than skip where the machine could have run them.
        command.env("PLIMSOLL_CI", "1");
    }
    command
}

/// Runs a command, forwards its standard output and counts in it.
fn watch(mut command: Command, tally: &mut Tally) -> Outcome {
    process::show(&command);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| format!("cargo test: {error}"))?;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.map_err(|error| format!("cargo test: {error}"))?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            tally.read(&line);
        }
    }
    let status = child.wait().map_err(|error| format!("cargo test: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo test: {status}")) }
}

/// Counts over all test programs.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    programs: usize,
    passed: u64,
    failed: u64,
    ignored: u64,
    /// Reasons, by number of the program and name of the test: that test counts as passed in the program's line.
    skipped: BTreeMap<String, String>,
    test: String,
}

impl Tally {
    /// The line that ends the output.
    pub(crate) fn line(&self) -> String {
        let skipped = self.skipped.len() as u64;
        let passed = self.passed.saturating_sub(skipped);
        format!("{passed} passed, {} failed, {} skipped", self.failed, self.ignored + skipped)
    }

    /// Reads a line of a test program's output.
    fn read(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            name.clone_into(&mut self.test);
        } else if let Some(reason) = line.strip_prefix("SKIPPED: ") {
            let test = format!("{}#{}", self.test, self.programs);
            self.skipped.entry(test).or_insert_with(|| reason.trim().to_owned());
        } else if let Some(result) = line.strip_prefix("test result: ") {
            self.programs += 1;
            self.passed += count(result, " passed");
            self.failed += count(result, " failed");
            self.ignored += count(result, " ignored");
        }
    }

    /// Tests that skipped although what they need is here.
    fn needless(&self, is_here: impl Fn(&str) -> bool) -> Vec<String> {
        let needless = self.skipped.iter().filter(|(_, reason)| {
            let needed = reason.strip_prefix("needs ").and_then(|needs| needs.split_whitespace().next());
            needed.is_some_and(|name| is_here(name.trim_end_matches([',', ':', ';'])))
        });
        needless.map(|(test, _)| test.clone()).collect()
    }
}

/// The number that stands before a word in a program's result line.
fn count(result: &str, word: &str) -> u64 {
    let before = result.split(';').find_map(|part| part.strip_suffix(word));
    before.and_then(|text| text.rsplit(' ').next()).and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(output: &str) -> Tally {
        let mut tally = Tally::default();
        output.lines().for_each(|line| tally.read(line));
        tally
    }

    const TWO_PROGRAMS: &str = "\
test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 4.57s
---- wire::against_tshark stdout ----
SKIPPED: needs tshark
SKIPPED: needs tshark, again
---- table::pandas stdout ----
SKIPPED: needs Python with pandas
test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
";

    #[test]
    fn counts_are_summed_and_a_skipped_test_is_not_a_passed_one() {
        assert_eq!(tally(TWO_PROGRAMS).line(), "13 passed, 2 failed, 3 skipped");
        assert_eq!(tally("").line(), "0 passed, 0 failed, 0 skipped");
    }

    #[test]
    fn a_skip_is_needless_where_the_program_is_here() {
        let tally = tally(TWO_PROGRAMS);
        assert_eq!(tally.needless(|_| false), Vec::<String>::new());
        assert_eq!(tally.needless(|name| name == "tshark"), ["wire::against_tshark#1"]);
    }
}
