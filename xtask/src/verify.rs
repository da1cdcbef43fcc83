//! `cargo xtask verify`: runs every proof that takes too long for `check`, and writes a page with the result, time and commit of each.
//!
//! The page is `docs/verified.md`. A proof that has ended, passed or not, replaces its section there, so proofs can be run one by one.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{Outcome, process, workspace};

/// Where the sections go.
const PAGE: &str = "docs/verified.md";
const BEGINNING: &str = "\
# What was verified

Each section is written by `cargo xtask verify` when its proof has ended. A section may name a commit that the history lacks (e3c96759):
after such a proof the commit was rebased, and got another hash.
";

/// A proof: its claim, and its command.
struct Proof {
    claim: &'static str,
    /// Arguments of cargo.
    arguments: &'static [&'static str],
    /// Programs that it needs, and their Debian packages.
    needs: Option<(&'static [&'static str], &'static str)>,
    /// Prefixes of the output lines with its figures.
    figures: &'static [&'static str],
}

const PROOFS: &[Proof] = &[
    Proof {
        claim: "A/A: of 200 pairs of runs of the same server, no number is called different in more than 5 %",
        arguments: &program("verdicts::the_same_is_seldom_called_different"),
        needs: None,
        figures: &["A/A ", "  "],
    },
    Proof {
        claim: "A/B: a difference of 5 % in the mean is found in at least 90 % of 200 pairs",
        arguments: &program("verdicts::five_per_cent_in_the_mean_are_found"),
        needs: None,
        figures: &["A/B, ", "  "],
    },
    Proof {
        claim: "capacity: the interval holds the true capacity in all but one of 20 searches",
        arguments: &program("verdicts::capacity::"),
        needs: None,
        figures: &["capacity "],
    },
    Proof {
        claim: "known latency: percentiles within 1 % of the closed form, under the virtual clock and by the real one",
        arguments: &program("verdicts::latency::"),
        needs: None,
        figures: &["constant", "exponential", "two humps", "a stall"],
    },
    Proof {
        claim: "NetBench's load file: all 458,344 operations end as the file says, on every kind of target",
        arguments: &program("replay::"),
        needs: None,
        figures: &["SKIPPED"],
    },
    Proof {
        claim: "all captures: an anonymized copy of each capture, and any number of threads, give the same results",
        arguments: &CAPTURES,
        needs: None,
        figures: &["SKIPPED"],
    },
    Proof {
        claim: "resets: a connection is reset after each number of bytes of an iteration; every client comes back, each reset is counted",
        arguments: &program("reset_at_any_byte"),
        needs: None,
        figures: &["SKIPPED"],
    },
    Proof {
        claim: "page: of a million operations it is below 3 MB, and follows three clicks and three keys within 200 ms each",
        arguments: &program("million"),
        needs: None,
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
        needs: None,
        figures: &["g  ", "0.5", "1  ", "2  ", "4  ", "8  ", "16 ", "noise", "Normal", "Outliers", "Drift"],
    },
    Proof {
        claim: "bisect: of 10 searches for a commit that is 10 % slower none blames another; each finds it or says it cannot tell",
        arguments: &program("bisect::"),
        needs: None,
        figures: &["bisect: "],
    },
    Proof {
        claim: "history: of 200 histories without a change at most 5 % show one; a change of 5 % is found in 90 %",
        arguments: &["test", "--profile", "quick", "--workspace", "--lib", "--", "changes::simulation", "--nocapture"],
        needs: None,
        figures: &["noise", "Normal", "Skewed", "HeavyTailed", "Alike", "Drift"],
    },
    Proof {
        claim: "MPI: in 50 runs of 4 ranks in time namespaces, starts are within 200 µs and the printed bound; ranks drive one load",
        arguments: &["test", "--manifest-path", "mpi/Cargo.toml", "--target-dir", "target/mpi", "--", "--nocapture"],
        needs: Some((&["mpirun", "mpicc"], "libopenmpi-dev openmpi-bin libclang-dev")),
        figures: &["MPI clocks", "SKIPPED"],
    },
    Proof {
        claim: "slurm: 4 tasks of a real Slurm drive one load; of a killed task the merge says so by name",
        arguments: &["xtask", "launchers", "slurm"],
        needs: Some((&["srun", "slurmctld", "slurmd", "munged"], "slurmctld slurmd slurm-client munge")),
        figures: &["launcher "],
    },
    Proof {
        claim: "parallel: 4 jobs of GNU parallel drive one load",
        arguments: &["xtask", "launchers", "parallel"],
        needs: Some((&["parallel"], "parallel")),
        figures: &["launcher "],
    },
    Proof {
        claim: "simulation: a million users of simulated servers in 64 parts, merged; 64,000 in parts are those of one process, bit for bit",
        arguments: &[
            "test",
            "--profile",
            "quick",
            "-p",
            "plimsoll-experiment",
            "--lib",
            "--",
            "million::",
            "--nocapture",
            "--test-threads=1",
        ],
        needs: None,
        figures: &["simulation, "],
    },
    Proof {
        claim: "distributions: 4 processes that drive parts of a load measure the response times that one process measures",
        arguments: &program("parts_agree::"),
        needs: None,
        figures: &["distributions, "],
    },
    Proof {
        claim: "many: of 100 million transactions, DuckDB, DataFusion and Spark give the same answers; time and memory of each",
        arguments: &program("queries_of_many::"),
        needs: None,
        figures: &["many: ", "SKIPPED"],
    },
    Proof {
        claim: "rows: every table, figure and method of five documents has a command that gives its counterpart, or a reason why not",
        // Whether there is a figure, and not how large it is: the build of any other test will do.
        arguments: &["test", "--workspace", "--test", "all", "rows::every_row", "--", "--nocapture"],
        figures: &["works", "partly", "missing", "fails", "SKIPPED", "rows: "],
        needs: None,
    },
    Proof {
        claim: "directory leases: a client never gives a listing from its cache after the server broke the lease (Samba 4.22 or later)",
        arguments: &program("leases::"),
        needs: Some((&["smbd"], "samba")),
        figures: &["test ", "SKIPPED"],
    },
    Proof {
        claim: "another Ganesha: each workload for NFS runs on 3, 4.0, 4.1 and 4.2 without an error; tcpdump sees what the client reports",
        arguments: &program("run::every_workload_on_another_ganesha"),
        needs: Some((&["tcpdump", "tshark", "rpcbind"], "tcpdump tshark rpcbind")),
        figures: &["Ganesha ", "SKIPPED"],
    },
    Proof {
        claim: "packages: each platform's packages are installed, run and removed; its reports are alike; a fresh clone makes the same bits",
        arguments: &["xtask", "package", "--reproduce"],
        needs: None,
        figures: &["== ", "  ", "demo: ", "a fresh clone", "SKIPPED"],
    },
    Proof {
        claim: "lossy captures: no wrong pair in 1,000 seeded runs; the estimated share of missing operations is right",
        arguments: &["xtask", "loss"],
        needs: None,
        figures: &["capture", "nfs", "smb", "total"],
    },
    Proof {
        claim: "watch losses: 30 pauses of 0.1 to 2 s: dropped packets are shown exactly, in their seconds; the share of missing operations is right",
        arguments: &program("watch_loss::"),
        needs: Some((&["tcpdump"], "tcpdump")),
        figures: &["pause ", "SKIPPED"],
    },
    Proof {
        claim: "watch twins: of 20 seeded runs the report is that of analyze on the saved packets, byte for byte but for the input's name",
        arguments: &program("twins"),
        needs: Some((&["ip"], "iproute2")),
        figures: &["twins ", "SKIPPED"],
    },
    Proof {
        claim: "watch hour: a page that is open for an hour has flat memory, and gets at most 30 kB per second",
        arguments: &program("watch_hour::"),
        needs: Some((&["chromium", "ip"], "chromium iproute2")),
        figures: &["minute ", "page ", "SKIPPED"],
    },
    Proof {
        claim: "watch delay: from the packet to terminal and browser p99 is at most 1.5 s",
        arguments: &program("watch_delay::"),
        needs: Some((&["tmux", "ip"], "tmux iproute2")),
        figures: &["delay ", "SKIPPED"],
    },
    Proof {
        claim: "watch selection: a click on the page of five busy minutes is drawn within 200 ms",
        arguments: &program("selections_are_drawn_at_once"),
        needs: Some((&["chromium"], "chromium")),
        figures: &["selection: ", "SKIPPED"],
    },
    Proof {
        claim: "watch capacity: at 200,000 packets per second for 10 minutes none is dropped, each takes at most 0.8 µs, memory is flat",
        arguments: &program("watch_capacity::"),
        needs: Some((&["ip"], "iproute2")),
        figures: &["capacity ", "SKIPPED"],
    },
    Proof {
        claim: "watch cost: throughput of a server with and without a watch on its machine, A B B A",
        arguments: &program("watch_cost::"),
        needs: Some((&["ip"], "iproute2")),
        figures: &["cost ", "SKIPPED"],
    },
];

/// A test of the test programs, by its name. All proofs share one build, without optimisation at link time.
/// Some of them are proofs alone, and no test: those are ignored unless they are asked for. A proof of speed measures the program that
/// `PLIMSOLL_BINARY` names.
const fn program(name: &'static str) -> [&'static str; 10] {
    ["test", "--profile", "quick", "--workspace", "--test", "all", name, "--", "--include-ignored", "--nocapture"]
}

/// Two modules of them.
const CAPTURES: [&str; 11] = [
    "test",
    "--profile",
    "quick",
    "--workspace",
    "--test",
    "all",
    "--",
    "anonymize::",
    "threads::",
    "--include-ignored",
    "--nocapture",
];

/// The result of a proof.
struct Found {
    outcome: Outcome,
    minutes: f64,
    figures: String,
}

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
        let section = section(proof, &found, &commit)?;
        println!("\n{section}");
        let path = workspace::root().join(PAGE);
        // A page that is not there has no sections.
        let old = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, page(&old, proof.claim, &section)).map_err(|error| format!("{PAGE}: {error}"))?;
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
    let Some((programs, packages)) = proof.needs else { return Ok(()) };
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

/// The result of a proof, for the page.
fn section(proof: &Proof, found: &Found, commit: &str) -> Result<String, String> {
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
fn page(old: &str, claim: &str, new: &str) -> String {
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

    #[test]
    fn a_command_that_fails_is_a_proof_that_failed() {
        let mut lines = Vec::new();
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo $PLIMSOLL_EXACT; exit 3"]);
        assert!(watch(command, |line| lines.push(line.to_owned())).is_err());
        assert_eq!(lines, ["one", "1"]);
    }
}
