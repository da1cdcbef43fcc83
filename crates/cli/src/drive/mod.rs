//! Subcommands that drive servers. They need Linux; `absent.rs` takes their place elsewhere.

mod breakdown;
mod capacity;
mod demo;
mod duel;
mod gate;
mod merge;
mod run;
mod serve;
mod server_side;
mod sweep;
mod two_sides;
mod workloads;

use plimsoll_client::smb2::auth::Authentication;
use plimsoll_client::target::Target;

use crate::exit::Done;
pub(crate) use serve::parse_size;

/// Kerberos logons are built in.
pub(crate) const HAS_KERBEROS: bool = Authentication::HAS_KERBEROS;

/// Whether a word names a server.
pub(crate) fn is_target(word: &str) -> bool {
    Target::parse(word).is_ok()
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Show how much of a call's time is spent in the client, the network, the server and the disk.
    Breakdown(Box<breakdown::Arguments>),
    /// Find the highest load at which a server meets a service-level objective.
    Capacity(Box<capacity::Arguments>),
    /// Try Plimsoll in half a minute: drive embedded SMB and NFS servers with increasing load.
    Demo(demo::Arguments),
    /// Drive two servers alternately with the same workload, and show which differences are significant.
    Duel(Box<duel::Arguments>),
    /// Drive two servers alternately until every --fail-if condition has passed or failed, for continuous integration.
    Gate(Box<gate::Arguments>),
    /// Merge the recordings of the parts of a run (`run --part`) or of captures into one recording, report and verdict.
    Merge(merge::Arguments),
    /// Drive an SMB or NFS server with a workload, and report response times.
    Run(Box<run::Arguments>),
    /// Run an in-memory SMB or NFS server for testing.
    Serve(serve::Arguments),
    /// Drive a server at several load levels, and show the load curve (maximum, knee, response times).
    Sweep(Box<sweep::Arguments>),
    /// List and explain the built-in workloads.
    Workloads(workloads::Arguments),
}

impl Command {
    /// Runs the subcommand.
    pub(crate) fn run(self) -> anyhow::Result<Done> {
        match self {
            Command::Breakdown(arguments) => breakdown::run(*arguments),
            Command::Capacity(arguments) => capacity::run(*arguments),
            Command::Demo(arguments) => demo::run(arguments),
            Command::Duel(arguments) => duel::run(*arguments),
            Command::Gate(arguments) => gate::run(*arguments),
            Command::Merge(arguments) => merge::run(arguments),
            Command::Run(arguments) => run::run(*arguments),
            Command::Serve(arguments) => serve::run(arguments),
            Command::Sweep(arguments) => sweep::run(*arguments),
            Command::Workloads(arguments) => workloads::run(arguments),
        }
    }
}
