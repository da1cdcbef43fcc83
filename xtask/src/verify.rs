//! `cargo xtask verify`: every proof that takes too long for `check`, and a dated table of what each found.
//!
//! The table is `docs/verified.md`; the README points to it. It is written when every proof has ended, passed or not.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{Outcome, process, workspace};

/// Where the table goes.
const TABLE: &str = "docs/verified.md";

/// A proof: what it shows, and how it is run.
struct Proof {
    claim: &'static str,
    /// Arguments of cargo.
    arguments: &'static [&'static str],
    /// What it prints in lines that begin with one of these are its figures.
    figures: &'static [&'static str],
}

const PROOFS: [Proof; 10] = [
    Proof {
        claim: "A/A: of 200 pairs of runs of the same server, no number is called different in more than 5 %",
        arguments: &program("verdicts::the_same_is_seldom_called_different"),
        figures: &["A/A ", "  "],
    },
    Proof {
        claim: "A/B: a difference of 5 % in the mean is found in at least 90 % of 200 pairs",
        arguments: &program("verdicts::five_per_cent_in_the_mean_are_found"),
        figures: &["A/B, ", "  "],
    },
    Proof {
        claim: "capacity: the interval holds the true capacity in all but one of 20 searches",
        arguments: &program("verdicts::capacity::"),
        figures: &["capacity "],
    },
    Proof {
        claim: "known latency: percentiles within 1 % of the closed form, under the virtual clock and by the real one",
        arguments: &program("verdicts::latency::"),
        figures: &["constant", "exponential", "two humps", "a stall"],
    },
    Proof {
        claim: "NetBench's load file: all 458,344 operations end as the file says, on every kind of target",
        arguments: &program("replay::"),
        figures: &["SKIPPED"],
    },
    Proof {
        claim: "page: of a million operations it is below 3 MB, and follows three clicks and three keys within 200 ms each",
        arguments: &program("million"),
        figures: &["page ", "milliseconds", "SKIPPED"],
    },
    Proof {
        claim: "gate: of 1,000 gates of a server with itself at most 5 % fail, under three kinds of noise",
        arguments: &[
            "test",
            "--profile",
            "quick",
            "--workspace",
            "--lib",
            "--",
            "gate::simulation",
            "choice_of_the_prior",
            "--nocapture",
        ],
        figures: &["g  ", "0.5", "1  ", "2  ", "4  ", "8  ", "16 ", "noise", "Normal", "Outliers", "Drift"],
    },
    Proof {
        claim: "bisect: of 10 searches for a commit that is 10 % slower none blames another; each finds it or says it cannot tell",
        arguments: &program("bisect::"),
        figures: &["bisect: "],
    },
    Proof {
        claim: "history: of 200 histories without a change at most 5 % show one; a change of 5 % is found in 90 %",
        arguments: &["test", "--profile", "quick", "--workspace", "--lib", "--", "changes::simulation", "--nocapture"],
        figures: &["noise", "Normal", "Skewed", "HeavyTailed", "Alike", "Drift"],
    },
    Proof {
        claim: "lossy captures: no wrong pair in 1,000 seeded runs; the estimated share of missing operations is right",
        arguments: &["xtask", "loss"],
        figures: &["capture", "nfs", "smb", "total"],
    },
];

/// A test of the test programs, by its name. All proofs share one build, without optimisation at link time: none measures the speed of Plimsoll.
const fn program(name: &'static str) -> [&'static str; 9] {
    ["test", "--profile", "quick", "--workspace", "--test", "all", name, "--", "--nocapture"]
}

/// What came of a proof.
struct Found {
    outcome: Outcome,
    minutes: f64,
    figures: String,
}

/// Runs all proofs, or those whose claim begins with one of the words given, and writes the table where all were run.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let is_wanted = |proof: &&Proof| arguments.iter().any(|word| proof.claim.starts_with(word.as_str()));
    let wanted: Vec<&Proof> = PROOFS.iter().filter(|proof| arguments.is_empty() || is_wanted(proof)).collect();
    if wanted.is_empty() {
        let claims: Vec<&str> = PROOFS.iter().filter_map(|proof| proof.claim.split(':').next()).collect();
        return Err(format!("{}: no such proof; there are: {}", arguments.join(" "), claims.join(", ")));
    }
    let found: Vec<(&Proof, Found)> = wanted.into_iter().map(|proof| (proof, prove(proof))).collect();
    let table = table(&found)?;
    println!("\n{table}");
    if arguments.is_empty() {
        fs::write(workspace::root().join(TABLE), table).map_err(|error| format!("{TABLE}: {error}"))?;
    }
    let failed = found.iter().filter(|(_, found)| found.outcome.is_err()).count();
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} proofs failed", found.len())) }
}

fn prove(proof: &Proof) -> Found {
    println!("\n== {}", proof.claim);
    let begun = Instant::now();
    let mut figures = String::new();
    let outcome = watch(process::cargo(proof.arguments), |line| {
        if proof.figures.iter().any(|start| line.starts_with(start)) {
            figures.push_str(line);
            figures.push('\n');
        }
    });
    Found { outcome, minutes: begun.elapsed().as_secs_f64() / 60.0, figures }
}

/// Runs a command, shows what it prints, and gives each line to `take`.
fn watch(mut command: Command, mut take: impl FnMut(&str)) -> Outcome {
    process::show(&command);
    command.env("PLIMSOLL_EXACT", "1").stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cargo: {error}"))?;
    for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(|out| out.split(b'\n')) {
        let line = line.map_err(|error| format!("cargo: {error}"))?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        take(&line);
    }
    let status = child.wait().map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(status.to_string()) }
}

fn table(found: &[(&Proof, Found)]) -> Result<String, String> {
    let said = |program: &str, arguments: &[&str]| {
        process::output(Command::new(program).args(arguments).current_dir(workspace::root()))
            .map(|said| said.trim().to_owned())
    };
    let (date, commit) = (said("date", &["--utc", "+%Y-%m-%d"])?, said("git", &["rev-parse", "--short", "HEAD"])?);
    let mut page = format!(
        "# What was verified\n\nWritten by `cargo xtask verify` on {date} at commit {commit}; run it again to see for yourself.\n\n\
         | claim | outcome | minutes | command |\n| --- | --- | --- | --- |\n"
    );
    for (proof, found) in found {
        let outcome = if found.outcome.is_ok() { "holds" } else { "**does not hold**" };
        let command = proof.arguments.join(" ");
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| {} | {outcome} | {:.1} | `cargo {command}` |", proof.claim, found.minutes);
    }
    page.push_str("\nTests are run with `PLIMSOLL_EXACT=1`.\n\n## Figures\n");
    for (proof, found) in found.iter().filter(|(_, found)| !found.figures.is_empty()) {
        let _ = write!(page, "\n{}:\n\n```text\n{}```\n", proof.claim, found.figures);
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_that_failed_is_said_to_have_failed() {
        let found = |outcome| Found { outcome, minutes: 1.0, figures: "capacity M/M/1: 0 of 20 missed\n".to_owned() };
        let page = table(&[(&PROOFS[0], found(Ok(()))), (&PROOFS[2], found(Err("it".to_owned())))]).unwrap();
        assert!(page.contains("| holds |") && page.contains("| **does not hold** |"), "{page}");
        assert!(page.contains("```text\ncapacity M/M/1"), "{page}");
    }

    #[test]
    fn a_command_that_fails_is_a_proof_that_failed() {
        let mut lines = Vec::new();
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo $PLIMSOLL_EXACT; exit 3"]);
        assert!(watch(command, |line| lines.push(line.to_owned())).is_err());
        assert_eq!(lines, ["one", "1"]);
    }
}
