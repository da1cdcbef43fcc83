//! Plimsoll's own build, test and bench commands: `cargo xtask COMMAND`. One file a command.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool for a terminal")]

mod bench;
mod check;
mod fuzz;
mod kerberos;
mod launchers;
mod licences;
mod loss;
mod newcomer;
mod outcome;
mod package;
mod pictures;
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

pub(crate) use outcome::Outcome;

/// Plimsoll's own build, test and bench commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run everything that CI runs: format, tidy, licences, clippy, the separate workspaces, documentation, packages, tests
    Check,
    /// Install the programs that tests use, then run all tests or a selection; the last line has the counts
    Test(test::Arguments),
    /// Check which crates depend on which, and the rules for source files
    Tidy,
    /// Count hard-to-read phrases in help texts, messages and documents, or draw some of these texts at random
    Words(words::Arguments),
    /// Run all benches; compare plimsoll with tshark, nfstrace and a loop over a memory map; measure the client's CPU time
    /// per operation
    Bench(bench::Arguments),
    /// Check how many requests plimsoll still pairs with their responses in captures with lost or truncated packets
    Loss {
        /// SMB2 capture to damage [default: target/bench/smb2-ops.pcap]
        capture: Option<PathBuf>,
    },
    /// Check the verdicts of runs on a quiet machine, and of runs whose processor a real-time thread occupies; needs root
    /// and two processors
    Starved {
        /// Number of runs per load, on the quiet machine and beside the real-time thread
        #[arg(long, default_value_t = 20)]
        runs: u32,
    },
    /// Loop over a memory map of a capture; `bench` runs this command as a separate process
    #[command(hide = true)]
    Walk {
        /// Capture to read
        capture: PathBuf,
    },
    /// Fuzz all targets or a selection, with the stable compiler
    Fuzz(fuzz::Arguments),
    /// Lint and test the SMB client's Kerberos feature, which no other command compiles
    Kerberos,
    /// Drive parts of a run under real launchers: Slurm (on this machine alone, as root) and GNU parallel
    Launchers {
        /// Launchers to try: slurm, parallel [default: all]
        names: Vec<String>,
    },
    /// Record captures of real servers and clients
    #[command(subcommand)]
    Record(record::What),
    /// Run the proofs that take too long for `check`, all or a selection; each writes its section of docs/verified.md
    Verify {
        /// Select the proofs whose claim begins with one of these words [default: all proofs]
        proofs: Vec<String>,
    },
    /// Run the README's commands in a minimal Debian that this command creates; needs root
    Newcomer {
        /// Shell commands to run instead, one per argument
        commands: Vec<String>,
    },
    /// Write the packages for users to dist/, then install and run each package
    Package(package::Arguments),
    /// Make the pictures of the documents again, with their table of dates, commits and verdicts; needs root, Samba,
    /// NFS-Ganesha and Chromium, and takes about 12 minutes on a machine that does nothing else
    Pictures(pictures::Arguments),
    /// Install the programs that tests and benches use (root on Debian), or list the missing ones
    Setup,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Check => check::run(),
        Command::Test(arguments) => test::run(&arguments),
        Command::Tidy => tidy::run(),
        Command::Words(arguments) => words::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Loss { capture } => loss::run(capture.as_deref()),
        Command::Starved { runs } => starved::run(runs),
        Command::Walk { capture } => bench::walk::run(&capture),
        Command::Fuzz(arguments) => fuzz::run(arguments),
        Command::Kerberos => kerberos::run(),
        Command::Launchers { names } => launchers::run(&names),
        Command::Record(what) => record::run(what),
        Command::Verify { proofs } => verify::run(&proofs),
        Command::Newcomer { commands } => newcomer::run(&commands),
        Command::Package(arguments) => package::run(&arguments),
        Command::Pictures(arguments) => pictures::run(&arguments),
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

/// Arguments of one command, for tests: `line` begins with the command's name.
#[cfg(test)]
fn parsed<A: clap::Args>(line: &str) -> Result<A, clap::Error> {
    #[derive(Parser)]
    struct Line<A: clap::Args> {
        #[command(flatten)]
        arguments: A,
    }
    Line::try_parse_from(line.split_whitespace()).map(|line| line.arguments)
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
