//! The `plimsoll` command: a subcommand a file, arguments in, exit code out.

mod analyze;
mod batched;
mod breakdown;
mod capacity;
mod compare;
mod demo;
mod duel;
mod exit;
mod filter;
mod interrupt;
mod keys;
mod output;
mod output_file;
mod progress;
mod record;
mod report;
mod run;
mod secrecy;
mod serve;
mod server_side;
mod sweep;
mod title;
mod when;
mod workloads;

use clap::{Parser, Subcommand};

/// Response time beside throughput, for every operation of a file server.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Turn a packet capture of SMB or NFS traffic into response times.
    Analyze(analyze::Arguments),
    /// Break down the time of a call: client, network, server, disk.
    Breakdown(Box<breakdown::Arguments>),
    /// Find the highest load at which a server meets a service-level objective.
    Capacity(Box<capacity::Arguments>),
    /// Compare recordings or captures, and say which differences are significant.
    Compare(compare::Arguments),
    /// Try Plimsoll: both protocols under growing load, on embedded servers, in half a minute.
    Demo(demo::Arguments),
    /// Drive two servers alternately with the same workload, and say which differences are significant.
    Duel(Box<duel::Arguments>),
    /// Drive an SMB or NFS server with a workload, and report response times.
    Run(Box<run::Arguments>),
    /// Print the report of a recording again.
    Report(report::Arguments),
    /// Run an in-memory SMB or NFS server for testing.
    Serve(serve::Arguments),
    /// Drive a server at one load after the other, and show the load curve: maximum, knee, response times.
    Sweep(Box<sweep::Arguments>),
    /// List and explain the built-in workloads.
    Workloads(workloads::Arguments),
}

fn main() -> std::process::ExitCode {
    let Arguments { command } = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return exit::no_command(&error),
    };
    exit::code(title::hide_secrets().and_then(|()| dispatch(command)))
}

fn dispatch(command: Command) -> anyhow::Result<exit::Done> {
    match command {
        Command::Analyze(arguments) => analyze::run(arguments),
        Command::Breakdown(arguments) => breakdown::run(*arguments),
        Command::Capacity(arguments) => capacity::run(*arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Demo(arguments) => demo::run(arguments),
        Command::Duel(arguments) => duel::run(*arguments),
        Command::Run(arguments) => run::run(*arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Serve(arguments) => serve::run(arguments),
        Command::Sweep(arguments) => sweep::run(*arguments),
        Command::Workloads(arguments) => workloads::run(arguments),
    }
}
