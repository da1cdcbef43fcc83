//! `plimsoll duel`: two servers, or two ways to ask one, turn by turn.

use plimsoll_experiment::RUNS;
use plimsoll_report::collect::comparison::{Contestant, Order};

use crate::compare::{self, Conditions};
use crate::drive::two_sides::{DriveFlags, Sides};
use crate::exit::Done;
use crate::flags::output::ComparisonOutput;
use plimsoll_live::RunMonitor;

const EXAMPLES: &str = "Examples:
  plimsoll duel smb://user@old/data smb://user@new/data
  plimsoll duel \"nfs://nas/x --depth 1\" \"nfs://nas/x --depth 4\" --ignore-load";

/// Drives two servers alternately (A B B A, repeated) and compares them. The order cancels slow drift of the servers,
/// and the intervals include the variation between runs. --record DIR writes the runs to DIR/A and DIR/B
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Side A, the baseline: a target. Options that apply only to this side follow the target in the same argument, e.g.
    /// "smb://u@old/data --dialect 2.1"
    #[arg(value_name = "A")]
    a: String,
    /// Side B: a target. Options that apply only to this side follow the target in the same argument, e.g. "smb://u@new/data --depth 4"
    #[arg(value_name = "B")]
    b: String,
    /// Workload: a name from `plimsoll workloads list`, or a workload file
    #[arg(default_value = "mixed")]
    workload: String,
    /// Number of rounds; each round has four runs (A B B A)
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    #[command(flatten)]
    drive: DriveFlags,
    #[command(flatten)]
    conditions: Conditions,
    #[command(flatten)]
    output: ComparisonOutput,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let Arguments { a, b, workload: name, rounds, drive, conditions, output } = arguments;
    let sides = Sides::read([&a, &b])?;
    let terminal = RunMonitor::new(output.quiet);
    let output = output.open(&mut drive.files(&sides, &name)?)?;
    let workload = drive.workload(&name)?;
    let mut both = drive.ready(&sides, (&name, &workload), &terminal, rounds)?;
    let (whole, came) = both.drive(|round, _, _| Ok(round >= rounds));
    let runs = RUNS.saturating_mul(whole) as usize;
    let contestants: Vec<Contestant> = both.arms.iter().map(|arm| arm.contestant(&both.names, runs)).collect();
    let kept = both.keep(came);
    if whole == 0 {
        kept?;
        return Ok(conditions.without_rounds());
    }
    let compared = compare::finish(contestants, (Order::InPairs, Vec::new()), &conditions, output);
    kept?;
    compared
}
