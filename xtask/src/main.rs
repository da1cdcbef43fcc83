//! Plimsoll's own build, test and bench commands: `cargo xtask COMMAND`. One file a command.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool for a terminal")]

mod bench;
mod check;
mod fuzz;
mod kerberos;
mod licences;
mod loss;
mod newcomer;
mod process;
mod record;
mod setup;
mod starved;
mod test;
mod tidy;
mod verify;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask COMMAND

  check             all that CI runs: format, tidy, licences, clippy, workspaces apart (benches/cost, fuzz), documentation,
                    tests
  test [ARG]...     set up, then every test; arguments go to `cargo test`
  tidy              the walls between the crates and the rules of the sources
  bench [--stages | --comparison | --cost] [--rounds N] [ARG]...
                    every bench (arguments go to the bench programs); tshark, nfstrace and a loop over a memory
                    map beside plimsoll, in N rounds (3); what an operation costs its client
  loss [SMB2.pcap]  what captures that lost packets still show (target/bench/smb2-ops.pcap)
  starved [--runs N]
                    verdicts of runs on a quiet machine, and of runs beside a real-time thread on the generator's processor (20
                    each; root, two processors)
  fuzz [--seconds N] [TARGET]...
                    every fuzz target (or those named), N seconds each (60)
  kerberos          lint and test the SMB client's Kerberos logons, a feature that nothing else compiles
  record WHAT ...   captures of real servers and clients: netbench, smb2, smb2-ops, nfs, replicate
  verify [PROOF]... the proofs that take too long for check, all or those named; all: docs/verified.md is written anew
  newcomer [COMMAND]...
                    the README's commands, or those given, on a bare Debian made for it
  setup             install what tests and benches use, or say what is missing
";

/// What a command says when it did not work.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", [].as_slice()),
    };
    let outcome = match command {
        "check" => check::run(),
        "test" => test::run(rest),
        "tidy" => tidy::run(),
        "bench" => bench::run(rest),
        "loss" => loss::run(rest),
        "starved" => starved::run(rest),
        // For `bench`, which runs it as a process of its own.
        "walk" => bench::walk::run(rest),
        "fuzz" => fuzz::run(rest),
        "kerberos" => kerberos::run(),
        "record" => record::run(rest),
        "newcomer" => newcomer::run(rest),
        "verify" => verify::run(rest),
        "setup" => setup::run(),
        "help" | "-h" | "--help" => {
            print!("{USAGE}");
            Ok(())
        }
        other => {
            eprintln!("no command {other:?}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            if !message.is_empty() {
                eprintln!("cargo xtask {command}: {message}");
            }
            ExitCode::FAILURE
        }
    }
}
