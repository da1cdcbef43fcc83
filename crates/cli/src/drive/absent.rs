//! Elsewhere than on Linux, and in builds without the feature `load`, no subcommand drives a server, and each of these says so.

use std::ffi::OsString;

use crate::exit::{Done, Usage};

pub(crate) const HAS_KERBEROS: bool = false;

/// No command takes a server.
pub(crate) fn is_target(_word: &str) -> bool {
    false
}

const ABOUT: &str = "Available only on Linux, in builds with the feature `load`";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    #[command(about = ABOUT, disable_help_flag = true)]
    Breakdown(Anything),
    #[command(about = ABOUT, disable_help_flag = true)]
    Capacity(Anything),
    #[command(about = ABOUT, disable_help_flag = true)]
    Demo(Anything),
    #[command(about = ABOUT, disable_help_flag = true)]
    Duel(Anything),
    #[command(about = ABOUT, disable_help_flag = true)]
    Gate(Anything),
    #[command(about = ABOUT, disable_help_flag = true)]
    Merge(Anything),
    #[command(about = ABOUT, disable_help_flag = true)]
    Run(Anything),
    #[command(about = ABOUT, disable_help_flag = true)]
    Serve(Anything),
    #[command(about = ABOUT, disable_help_flag = true)]
    Sweep(Anything),
    #[command(about = ABOUT, disable_help_flag = true)]
    Workloads(Anything),
}

/// Whatever was asked for.
#[derive(Debug, clap::Args)]
pub(crate) struct Anything {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _words: Vec<OsString>,
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<Done> {
        let name = match self {
            Command::Breakdown(_) => "breakdown",
            Command::Capacity(_) => "capacity",
            Command::Demo(_) => "demo",
            Command::Duel(_) => "duel",
            Command::Gate(_) => "gate",
            Command::Merge(_) => "merge",
            Command::Run(_) => "run",
            Command::Serve(_) => "serve",
            Command::Sweep(_) => "sweep",
            Command::Workloads(_) => "workloads",
        };
        let why = format!(
            "{name}: needs Linux, and a build with the feature `load`; this build has only the commands for captures and \
            recordings (e.g. analyze, compare, history and report)"
        );
        Err(Usage(why).into())
    }
}
