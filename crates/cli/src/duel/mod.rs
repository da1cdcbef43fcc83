//! `plimsoll duel`: two servers, or two ways to ask one, turn by turn.

mod arm_flags;

use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use plimsoll_experiment::{Arm, IntervalMode, Monitor, Runner};
use plimsoll_model::Names;
use plimsoll_report::collect::comparison::{Contestant, Order};
use plimsoll_report::findings::letter;

use crate::about::AboutFlags;
use crate::compare::{self, Conditions};
use crate::exit::{Done, first_error};
use crate::output::ComparisonOutput;
use crate::output_file::Files;
use crate::record::RecordFlags;
use crate::run::{LoadFlags, SetFlags, Terminal, timeout_ns};
use arm_flags::ArmFlags;

const EXAMPLES: &str = "Examples:
  plimsoll duel smb://user@old/data smb://user@new/data
  plimsoll duel \"nfs://server/export --depth 1\" \"nfs://server/export --depth 4\" random-read";

/// Drives two servers alternately (A B B A, repeated) and compares them. The order cancels slow drift, and the
/// intervals include the variation between runs. --record DIR writes the runs to DIR/A and DIR/B
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Side A, the baseline: a target and, in the same argument, its own options, e.g. "smb://u@old/data --dialect 2.1"
    #[arg(value_name = "A")]
    a: String,
    /// Side B: a target and, in the same argument, its own options, e.g. "smb://u@new/data --depth 4"
    #[arg(value_name = "B")]
    b: String,
    /// Workload: a name from `plimsoll workloads list`, or a workload file
    #[arg(default_value = "mixed")]
    workload: String,
    /// Number of rounds; each round has four runs (A B B A)
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    #[command(flatten)]
    load: LoadFlags,
    #[command(flatten)]
    parameters: SetFlags,
    /// Delete the workload's files at the end, also after Ctrl-C [default: leave them for the next run]
    #[arg(long, help_heading = "Output")]
    remove_files: bool,
    #[command(flatten)]
    about: AboutFlags,
    #[command(flatten)]
    record: RecordFlags,
    #[command(flatten)]
    conditions: Conditions,
    #[command(flatten)]
    output: ComparisonOutput,
}

/// Order of the sides in a round; slow drift affects both equally.
const TURNS: [usize; 4] = [0, 1, 1, 0];
/// Runs of each side in a round.
const RUNS: u32 = 2;

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let sides = [ArmFlags::read(&arguments.a, "A")?, ArmFlags::read(&arguments.b, "B")?];
    let inputs = sides.iter().flat_map(ArmFlags::files).chain(arguments.about.files());
    let mut files = Files::reading(inputs.chain([Path::new(&arguments.workload)]));
    files.fills("--record", arguments.record.folder());
    let output = arguments.output.open(&mut files)?;
    let workload = arguments.parameters.workload(&arguments.workload)?;
    let terminal = Terminal::new(arguments.output.quiet);
    let monitor: &dyn Monitor = &terminal;
    let timeout_ns = timeout_ns(&arguments.load);
    let file_set = arguments.load.file_set.as_deref();
    let runner =
        Runner { interval_mode: IntervalMode::Retained, file_set, ..Runner::new(&workload, monitor, timeout_ns) };
    let mut names = Names::default();
    let mut arms = Vec::new();
    for (place, side) in sides.iter().enumerate() {
        arms.push(side.ready(&runner, &arguments, place as u64, &mut names)?);
    }
    let names = Arc::new(names);
    record(&mut arms, &arguments.record)?;
    let (whole, ended) = rounds(&runner, &mut arms, &names, arguments.rounds);
    let cleaned = if arguments.remove_files { clean(&runner, &arms, &names) } else { Ok(()) };
    let runs = RUNS.saturating_mul(whole) as usize;
    let contestants: Vec<Contestant> = arms.iter().map(|arm| arm.contestant(&names, runs)).collect();
    // Whatever became of the duel: what was recorded of it gets its end, and is of use.
    let kept = arms.into_iter().map(|arm| arm.keep(&names, monitor.stopped(), ended.as_ref().err()));
    let kept = first_error(kept.collect::<Vec<_>>());
    if whole == 0 {
        first_error([ended, cleaned, kept])?;
        bail!("interrupted before the first round (four runs) was complete: no comparison");
    }
    let compared = compare::finish(contestants, (Order::InPairs, Vec::new()), &arguments.conditions, output);
    first_error([ended, cleaned, kept])?;
    compared
}

/// Starts one recording per side, if --record is given.
fn record(arms: &mut [Arm<'_>], flags: &RecordFlags) -> anyhow::Result<()> {
    let Some(to) = flags.to() else { return Ok(()) };
    for place in 0..arms.len() {
        let begun = to.within(&letter(place)).and_then(|to| arms.get_mut(place).map_or(Ok(()), |arm| arm.record(&to)));
        if let Err(error) = begun {
            arms.iter_mut().for_each(|arm| arm.give_up(&error));
            return Err(error);
        }
    }
    Ok(())
}

/// Runs the rounds; returns the number of complete rounds and the error of an incomplete one.
fn rounds(runner: &Runner<'_>, arms: &mut [Arm<'_>], names: &Arc<Names>, rounds: u32) -> (u32, anyhow::Result<()>) {
    for round in 0..rounds {
        for (turn, who) in (0..).zip(TURNS) {
            let Some(arm) = arms.get_mut(who) else { continue };
            // The two neighbours of a pair get the same draws.
            let ran = arm.run(runner, names, RUNS * round + turn / RUNS);
            if ran.is_err() || runner.monitor.stopped() {
                return (round, ran);
            }
        }
    }
    (rounds, Ok(()))
}

/// Removes the files of both: of no level, all that is left is that.
fn clean(runner: &Runner<'_>, arms: &[Arm<'_>], names: &Arc<Names>) -> anyhow::Result<()> {
    let runner = Runner { remove_files: true, ..*runner };
    first_error(arms.iter().map(|arm| arm.clean(&runner, names)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_of_each_and_drift_meets_both_alike() {
        for pair in TURNS.chunks(2) {
            assert!(pair.contains(&0) && pair.contains(&1));
        }
        let places = |who| TURNS.iter().enumerate().filter(|(_, turn)| **turn == who).map(|(at, _)| at).sum::<usize>();
        assert_eq!(places(0), places(1));
    }
}
