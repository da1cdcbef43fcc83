//! `cargo xtask check`: all that CI runs. Every step runs even after one failed: quick ones first, then the tests and the packages.

use std::time::Instant;

use crate::{Outcome, licences, package, process, setup, test, tidy, workspace};

/// Runs every step; the last line is the tests' counts.
pub(crate) fn run() -> Outcome {
    let (mut failed, mut took) = (Vec::new(), Vec::new());
    for (name, step) in STEPS {
        println!("\n== {name}");
        let begun = Instant::now();
        if let Err(message) = step() {
            eprintln!("{message}");
            failed.push(name);
        }
        took.push((name, begun.elapsed()));
    }
    println!("\n== tests");
    let begun = Instant::now();
    let (tally, outcome) = test::tests(&test::Arguments::default());
    took.push(("tests", begun.elapsed()));
    println!("\n== packages");
    let begun = Instant::now();
    // Packs a program that the tests have built.
    let packages = package::check();
    took.push(("packages", begun.elapsed()));
    for (name, outcome) in [("packages", packages), ("tests", outcome)] {
        if let Err(message) = outcome {
            println!("{message}");
            failed.push(name);
        }
    }
    for (name, took) in took {
        println!("{:>7.1} s  {name}", took.as_secs_f64());
    }
    let failed = failed.join(", ");
    if !failed.is_empty() {
        println!("failed: {failed}");
    }
    println!("{}", tally.line());
    if failed.is_empty() { Ok(()) } else { Err(String::new()) }
}

type Step = (&'static str, fn() -> Outcome);

const STEPS: [Step; 7] = [
    ("format", format),
    ("tidy", tidy::run),
    ("licences", licences::run),
    ("clippy", clippy),
    ("workspaces apart", apart),
    ("documentation", document),
    ("programs that tests use", setup::run),
];

/// Separate workspaces that use our crates: no other step checks that they compile. (libFuzzer needs a C++ compiler, but this check does
/// not need libFuzzer.)
const APART: [(&str, &[&str]); 2] = [("benches/cost/Cargo.toml", &[]), ("fuzz/Cargo.toml", &["--no-default-features"])];

fn format() -> Outcome {
    process::run(&mut process::cargo(&["fmt", "--all", "--check"]))
}

fn clippy() -> Outcome {
    process::run(&mut process::cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

/// Needs an MPI library.
const MPI: [&str; 6] = ["clippy", "--all-targets", "--manifest-path", "mpi/Cargo.toml", "--target-dir", "target/mpi"];

fn apart() -> Outcome {
    match process::find("mpicc") {
        Some(_) => process::run(process::cargo(&MPI).args(["--", "-D", "warnings"]))?,
        None => println!("SKIPPED: needs mpicc (mpi/ is not compiled)"),
    }
    APART.iter().try_for_each(|(manifest, features)| {
        let mut check = process::cargo(&["check", "--all-targets", "--manifest-path", manifest]);
        check.args(*features);
        // Where the rest is built; their lock files name the versions that ours names, so that what both use is built once.
        process::run(check.arg("--target-dir").arg(workspace::target()))
    })
}

fn document() -> Outcome {
    let arguments = ["doc", "--workspace", "--no-deps", "--document-private-items"];
    process::run(process::cargo(&arguments).env("RUSTDOCFLAGS", "-D warnings"))
}
