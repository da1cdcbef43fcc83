//! `cargo xtask verify`: runs every proof that takes too long for `check`, and writes a page with the result, time and commit of each.
//!
//! The page is `docs/verified.md`. A proof that has ended, passed or not, replaces its section there, so proofs can be run one by one.

mod page;
mod proofs;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{Outcome, process, workspace};
use page::{Found, PAGE};
use proofs::{PROOFS, Proof};

/// Runs all proofs, or those whose claim begins with one of the words given. Each writes its section as soon as it has ended.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let is_wanted = |proof: &&Proof| arguments.iter().any(|word| proof.claim.starts_with(word.as_str()));
    let wanted: Vec<&Proof> = PROOFS.iter().filter(|proof| arguments.is_empty() || is_wanted(proof)).collect();
    if wanted.is_empty() {
        let claims: Vec<&str> = PROOFS.iter().filter_map(|proof| proof.claim.split(':').next()).collect();
        return Err(format!("{}: no such proof; there are: {}", arguments.join(" "), claims.join(", ")));
    }
    let mut failed = 0;
    for proof in &wanted {
        let commit = commit()?;
        let found = prove(proof);
        failed += u32::from(found.outcome.is_err());
        let section = page::section(proof, &found, &commit)?;
        println!("\n{section}");
        let path = workspace::root().join(PAGE);
        // A page that is not there has no sections.
        let old = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, page::page(&old, proof.claim, &section)).map_err(|error| format!("{PAGE}: {error}"))?;
    }
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} proofs failed", wanted.len())) }
}

/// The commit that is verified; one with changes that are in no commit is called so.
fn commit() -> Result<String, String> {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        process::output(git.args(arguments).current_dir(workspace::root())).map(|said| said.trim().to_owned())
    };
    let changed = !git(&["status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs"])?.is_empty();
    Ok(format!("{}{}", git(&["rev-parse", "--short", "HEAD"])?, if changed { " with changes" } else { "" }))
}

fn prove(proof: &Proof) -> Found {
    println!("\n== {}", proof.claim);
    if let Err(error) = has(proof) {
        return Found { outcome: Err(error), minutes: 0.0, figures: String::new() };
    }
    let begun = Instant::now();
    let mut figures = String::new();
    let root = format!("{}/", workspace::root().display());
    let outcome = watch(process::cargo(proof.arguments), |line| {
        if proof.figures.iter().any(|start| line.starts_with(start)) {
            // The workspace lies elsewhere on other machines.
            figures.push_str(&line.replace(&root, ""));
            figures.push('\n');
        }
    });
    Found { outcome, minutes: begun.elapsed().as_secs_f64() / 60.0, figures }
}

/// Whether this machine can run a proof.
fn has(proof: &Proof) -> Outcome {
    let (programs, packages) = proof.needs;
    match programs.iter().find(|program| process::find(program).is_none()) {
        Some(program) => Err(format!("needs {program} (Debian: {packages})")),
        None => Ok(()),
    }
}

/// Runs a command, prints its output, and passes each line to `take`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_is_a_proof_that_failed() {
        let mut lines = Vec::new();
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo $PLIMSOLL_EXACT; exit 3"]);
        assert!(watch(command, |line| lines.push(line.to_owned())).is_err());
        assert_eq!(lines, ["one", "1"]);
    }
}
