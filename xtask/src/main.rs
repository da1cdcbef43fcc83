//! Plimsoll's own build, test and bench commands: `cargo xtask COMMAND`. One file a command.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool for a terminal")]

mod bench;
mod check;
mod fuzz;
mod kerberos;
mod licences;
mod loss;
mod newcomer;
mod package;
mod process;
mod record;
mod setup;
mod starved;
mod test;
mod tidy;
mod verify;
mod words;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Plimsoll's own build, test and bench commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run all that CI runs: format, tidy, licences, clippy, workspaces apart, documentation, tests
    Check,
    /// Install what tests use, then run every test, or some; the last line is the counts
    Test(test::Arguments),
    /// Check the walls between the crates and the rules of the sources
    Tidy,
    /// Count the patterns of hard language in help texts, messages and documents
    Words,
    /// Run every bench; tshark, nfstrace and a loop over a memory map beside plimsoll; what an operation costs its client
    Bench(bench::Arguments),
    /// Show what captures that lost packets still show
    Loss {
        /// SMB2 capture to damage (default: target/bench/smb2-ops.pcap)
        capture: Option<PathBuf>,
    },
    /// Give the verdicts of runs on a quiet machine, and of runs beside a real-time thread on the generator's processor (root, two
    /// processors)
    Starved {
        /// Runs of each kind
        #[arg(long, default_value_t = 20)]
        runs: u32,
    },
    /// Loop over a memory map of a capture: `bench` runs it as a process of its own
    #[command(hide = true)]
    Walk {
        /// The capture
        capture: PathBuf,
    },
    /// Fuzz every target, or some, on the stable compiler
    Fuzz(fuzz::Arguments),
    /// Lint and test the SMB client's Kerberos logons, a feature that nothing else compiles
    Kerberos,
    /// Record captures of real servers and clients
    #[command(subcommand)]
    Record(record::What),
    /// Run the proofs that take too long for check; all of them: docs/verified.md is written anew
    Verify {
        /// Words that a claim begins with (default: all claims)
        proofs: Vec<String>,
    },
    /// Run the README's commands on a bare Debian made for it
    Newcomer {
        /// Commands to run instead, each a line for the shell
        commands: Vec<String>,
    },
    /// Make the packages that users install into dist/, and install and run each
    Package(package::Arguments),
    /// Install what tests and benches use, or say what is missing
    Setup,
}

/// What a command says when it did not work.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Check => check::run(),
        Command::Test(arguments) => test::run(&arguments),
        Command::Tidy => tidy::run(),
        Command::Words => words::run(),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Loss { capture } => loss::run(capture.as_deref()),
        Command::Starved { runs } => starved::run(runs),
        Command::Walk { capture } => bench::walk::run(&capture),
        Command::Fuzz(arguments) => fuzz::run(arguments),
        Command::Kerberos => kerberos::run(),
        Command::Record(what) => record::run(what),
        Command::Verify { proofs } => verify::run(&proofs),
        Command::Newcomer { commands } => newcomer::run(&commands),
        Command::Package(arguments) => package::run(&arguments),
        Command::Setup => setup::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            if !message.is_empty() {
                let command = std::env::args().nth(1).unwrap_or_default();
                eprintln!("cargo xtask {command}: {message}");
            }
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_arguments_are_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_has_a_help() {
        for command in Arguments::command().get_subcommands() {
            let shown = Arguments::try_parse_from(["xtask", command.get_name(), "--help"]).unwrap_err();
            assert_eq!(shown.kind(), clap::error::ErrorKind::DisplayHelp, "{}", command.get_name());
            assert!(command.get_about().is_some(), "{}", command.get_name());
        }
    }
}
