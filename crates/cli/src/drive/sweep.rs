//! `plimsoll sweep`: a load curve. It is `plimsoll run` at several loads, or with several values of a parameter.

use crate::drive::run;
use crate::exit::{Done, Usage};

const EXAMPLES: &str = "Examples:
  plimsoll sweep mixed --target smb://user@server/share --levels 1..64*2
  plimsoll sweep blocks-read --target nfs://server/export --vary block=4KiB,1MiB";

/// Runs a workload at several loads, or with several values of a parameter, and shows the load curve. To resume
/// an interrupted sweep that was recorded with --record DIR, repeat the command with --continue.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[group(skip)]
pub(crate) struct Arguments {
    #[command(flatten)]
    run: run::Arguments,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    if arguments.run.levels()? < 2 {
        let single = "sweep: the load curve would have a single level; give several, e.g. --levels 1,2,4,8 or --levels 1..4, or \
            several values, e.g. --vary block=4KiB,64KiB (for a single level, or a recording with one, use plimsoll run)";
        return Err(Usage(single.to_owned()).into());
    }
    run::run(arguments.run)
}
