//! `cargo xtask bench`: every bench of every crate, then Plimsoll beside other programs on the same captures, then what an
//! operation costs its clients beside other clients of the same servers.
//!
//! What is measured, and what it was when last looked at: docs/performance.md.

pub(crate) mod binary;
mod comparison;
mod cost;
mod inputs;
mod measured;
mod programs;
pub(crate) mod walk;

use crate::{Outcome, process, workspace};

/// Rounds of the comparison where none are asked for: a median wants three.
const DEFAULT_ROUNDS: usize = 3;

/// Builds the release binary, runs every bench, then the comparison, then the cost of operations; arguments that are not
/// ours go to the bench programs.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let wanted = Wanted::parse(arguments)?;
    if wanted.part(Part::Stages) {
        process::run(&mut process::cargo(&["build", "--release", "--workspace"]))?;
        stages(&wanted.rest)?;
    }
    if wanted.part(Part::Comparison) {
        comparison::run(wanted.rounds)?;
    }
    match cost::missing() {
        _ if !wanted.part(Part::Cost) => Ok(()),
        None => cost::run(wanted.rounds),
        Some(missing) if wanted.only.is_none() => {
            println!("the cost of operations is not measured: {missing}");
            Ok(())
        }
        Some(missing) => Err(missing),
    }
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

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Stages,
    Comparison,
    Cost,
}

#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    /// This part alone; `None` for all.
    only: Option<Part>,
    rounds: usize,
    rest: Vec<String>,
}

impl Wanted {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut wanted = Wanted { only: None, rounds: DEFAULT_ROUNDS, rest: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--stages" => wanted.name(Part::Stages)?,
                "--comparison" => wanted.name(Part::Comparison)?,
                "--cost" => wanted.name(Part::Cost)?,
                "--rounds" => {
                    let number = arguments.next().and_then(|number| number.parse().ok()).filter(|&rounds| rounds > 0);
                    wanted.rounds = number.ok_or("--rounds wants a number above 0")?;
                }
                other => wanted.rest.push(other.to_owned()),
            }
        }
        Ok(wanted)
    }

    fn name(&mut self, part: Part) -> Result<(), String> {
        match self.only.replace(part) {
            Some(other) if other != part => {
                Err("--stages, --comparison and --cost each leave the others out: name one".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn part(&self, part: Part) -> bool {
        self.only.is_none_or(|only| only == part)
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
        assert!(wanted.part(Part::Stages) && !wanted.part(Part::Comparison) && !wanted.part(Part::Cost));
        assert_eq!(wanted.rest, ["stream", "--sample-count", "9"]);
    }

    #[test]
    fn rounds_are_a_number_and_one_part_remains() {
        assert_eq!(parse("--rounds 5").unwrap().rounds, 5);
        assert_eq!(parse("").unwrap().rounds, 3);
        assert!([Part::Stages, Part::Comparison, Part::Cost].iter().all(|&part| parse("").unwrap().part(part)));
        assert_eq!(parse("--cost --rounds 2").unwrap().only, Some(Part::Cost));
        for bad in ["--rounds", "--rounds 0", "--rounds x", "--stages --comparison", "--cost --stages"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
