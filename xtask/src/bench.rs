//! `cargo xtask bench`: every bench of every crate, then Plimsoll beside other programs on the same captures.
//!
//! What is measured, and what it was when last looked at: docs/performance.md.

pub(crate) mod binary;
mod comparison;
mod inputs;
mod measured;
mod programs;
pub(crate) mod walk;

use crate::{Outcome, process, workspace};

/// Rounds of the comparison where none are asked for: a median wants three.
const DEFAULT_ROUNDS: usize = 3;

/// Builds the release binary, runs every bench and then the comparison; arguments that are not ours go to the bench
/// programs.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let wanted = Wanted::parse(arguments)?;
    if wanted.stages {
        process::run(&mut process::cargo(&["build", "--release", "--workspace"]))?;
        stages(&wanted.rest)?;
    }
    if wanted.comparison { comparison::run(wanted.rounds) } else { Ok(()) }
}

fn stages(arguments: &[String]) -> Outcome {
    for package in workspace::packages()? {
        // By name: unit tests would otherwise run as benches too and refuse the arguments.
        for bench in &package.benches {
            let mut command = process::cargo(&["bench", "--package", &package.name, "--bench", bench]);
            if !arguments.is_empty() {
                command.arg("--").args(arguments);
            }
            process::run(&mut command)?;
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    stages: bool,
    comparison: bool,
    rounds: usize,
    rest: Vec<String>,
}

impl Wanted {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut wanted = Wanted { stages: true, comparison: true, rounds: DEFAULT_ROUNDS, rest: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--stages" => wanted.comparison = false,
                "--comparison" => wanted.stages = false,
                "--rounds" => {
                    let number = arguments.next().and_then(|number| number.parse().ok()).filter(|&rounds| rounds > 0);
                    wanted.rounds = number.ok_or("--rounds wants a number above 0")?;
                }
                other => wanted.rest.push(other.to_owned()),
            }
        }
        if wanted.stages || wanted.comparison {
            Ok(wanted)
        } else {
            Err("--stages and --comparison leave nothing out of each other: name one".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Wanted, String> {
        Wanted::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_not_ours_goes_to_the_bench_programs() {
        let wanted = parse("--stages stream --sample-count 9").unwrap();
        assert!(wanted.stages && !wanted.comparison);
        assert_eq!(wanted.rest, ["stream", "--sample-count", "9"]);
    }

    #[test]
    fn rounds_are_a_number_and_one_part_remains() {
        assert_eq!(parse("--rounds 5").unwrap().rounds, 5);
        assert_eq!(parse("").unwrap().rounds, 3);
        for bad in ["--rounds", "--rounds 0", "--rounds x", "--stages --comparison"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
