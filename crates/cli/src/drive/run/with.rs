//! `--with`: workloads that run at the same time as the run's own.

use plimsoll_experiment::Companion;

/// Workloads that run at the same time, as flags.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct WithFlags {
    /// Run another workload at the same time: its name, its load (clients, users, rate, depth, every, think, arrivals) and its
    /// parameters, e.g. stream-read,clients=2; may be repeated. Each of the --repeat rounds [default: 5] runs every workload alone, and
    /// all workloads together; the report shows how much each workload slows the others
    #[arg(
        long, value_name = "WORKLOAD[,NAME=VALUE…]", value_parser = str::parse::<Companion>,
        conflicts_with_all = ["levels", "vary", "stop_above", "part", "start_at", "go_on"]
    )]
    pub(super) with: Vec<Companion>,
}
