//! The page with the results: a section for each proof.

use std::fmt::Write as _;
use std::process::Command;

use super::proofs::{PROOFS, Proof};
use crate::{Outcome, process, workspace};

/// Where the sections go.
pub(super) const PAGE: &str = "docs/verified.md";
const BEGINNING: &str = "\
# What was verified

Each section is written by `cargo xtask verify` when its proof has ended. A section may name a commit that the history lacks (e3c96759):
after such a proof the commit was rebased, and got another hash.

*Excused listings* are no errors of the client: NFS-Ganesha fails a listing of a directory if another client removes an entry meanwhile. A
run may have at most two such listings plus 2 % of its listings, and two outside the measured phase. A proof prints their number.
";

/// The result of a proof.
pub(super) struct Found {
    pub(super) outcome: Outcome,
    pub(super) minutes: f64,
    pub(super) figures: String,
}

/// The result of a proof, for the page.
pub(super) fn section(proof: &Proof, found: &Found, commit: &str) -> Result<String, String> {
    let date = process::output(Command::new("date").args(["--utc", "+%Y-%m-%d"]))?;
    let outcome = if found.outcome.is_ok() { "Holds" } else { "**Does not hold**" };
    let (minutes, command) = (found.minutes, proof.arguments.join(" "));
    let program = std::env::var("PLIMSOLL_BINARY").map(|path| measured(&path)).unwrap_or_default();
    let mut section = format!(
        "{outcome}: {}, commit {commit}, {minutes:.1} minutes, `PLIMSOLL_EXACT=1 {program}cargo {command}`.\n",
        date.trim()
    );
    if !found.figures.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(section, "\n```text\n{}```\n", found.figures);
    }
    Ok(section)
}

/// How the page names the program that was measured: relative to the workspace, whose place differs between machines.
fn measured(path: &str) -> String {
    let root = format!("{}/", workspace::root().display());
    path.strip_prefix(&root).map_or_else(
        || "PLIMSOLL_BINARY=another-program ".to_owned(),
        |inside| format!("PLIMSOLL_BINARY=$PWD/{inside} "),
    )
}

/// The page with a new section for a claim. Sections are in the order of the proofs.
pub(super) fn page(old: &str, claim: &str, new: &str) -> String {
    let mut page = BEGINNING.to_owned();
    for proof in PROOFS {
        let heading = format!("\n## {}\n\n", proof.claim);
        let kept = old.split_once(&heading).map(|(_, rest)| rest.split("\n## ").next().unwrap_or(rest));
        let section = if proof.claim == claim { Some(new) } else { kept };
        page = page + &heading + section.unwrap_or("Not run yet.\n");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_that_has_ended_replaces_its_section() {
        let found = |outcome| Found { outcome, minutes: 1.0, figures: "capacity M/M/1: 0 of 20 missed\n".to_owned() };
        let [first, _, third, ..] = PROOFS else { panic!("fewer than three") };
        let one = page("", first.claim, &section(first, &found(Ok(())), "abc").unwrap());
        let both = page(&one, third.claim, &section(third, &found(Err("it".to_owned())), "def").unwrap());
        assert!(both.contains("\nHolds: 20") && both.contains("\n**Does not hold**: 20"), "{both}");
        assert!(both.contains("commit abc") && both.contains("commit def") && both.contains("```text\ncapacity M/M/1"));
        assert_eq!(both.matches("Not run yet.").count(), PROOFS.len() - 2);
        let again = page(&both, first.claim, &section(first, &found(Err("it".to_owned())), "123").unwrap());
        assert_eq!((again.matches("Does not hold").count(), again.matches("abc").count()), (2, 0), "{again}");
        assert_eq!(again.matches("\n## ").count(), PROOFS.len());
    }

    #[test]
    fn the_program_that_is_measured_has_a_place_in_the_workspace() {
        let release = format!("{}/target/release/plimsoll", workspace::root().display());
        assert_eq!(measured(&release), "PLIMSOLL_BINARY=$PWD/target/release/plimsoll ");
        assert_eq!(measured("/elsewhere/plimsoll"), "PLIMSOLL_BINARY=another-program ");
    }
}
