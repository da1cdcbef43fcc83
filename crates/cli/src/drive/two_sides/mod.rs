//! Two sides that are driven in turns, by `duel` and `gate`.

mod arm_flags;

use std::path::Path;
use std::sync::Arc;

use plimsoll_experiment::{Arm, IntervalMode, Monitor, Runner, rounds};
use plimsoll_model::Names;
use plimsoll_report::findings::letter;
use plimsoll_workload::Workload;

use crate::about::AboutFlags;
use crate::drive::run::{LoadFlags, SetFlags, timeout_ns};
use crate::exit::first_error;
use crate::record::RecordFlags;
use arm_flags::ArmFlags;
use plimsoll_console::output_file::Files;

/// The load on both sides, as flags.
#[derive(Debug, clap::Args)]
pub(crate) struct DriveFlags {
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
}

/// Two sides as they are written: a target and, in the same argument, its own options.
pub(crate) struct Sides([ArmFlags; 2]);

/// Two sides that are ready to be driven.
pub(crate) struct TwoSides<'a> {
    runner: Runner<'a>,
    pub(crate) arms: Vec<Arm<'a>>,
    pub(crate) names: Arc<Names>,
    remove_files: bool,
}

impl Sides {
    /// Parses both.
    pub(crate) fn read([a, b]: [&str; 2]) -> anyhow::Result<Self> {
        Ok(Self([ArmFlags::read(a, "A")?, ArmFlags::read(b, "B")?]))
    }
}

impl DriveFlags {
    /// The files that are read and written.
    pub(crate) fn files(&self, Sides(sides): &Sides, workload: &str) -> Files {
        let inputs = sides.iter().flat_map(ArmFlags::files).chain(self.about.files());
        let mut files = Files::reading(inputs.chain([Path::new(workload)]));
        files.fills("--record", self.record.folder());
        files
    }

    /// The workload of this name, with its parameters.
    pub(crate) fn workload(&self, name: &str) -> anyhow::Result<Workload> {
        Ok(self.parameters.workload(name)?)
    }

    /// Connects to both servers and begins the recordings, for at most `rounds` rounds.
    pub(crate) fn ready<'a>(
        &'a self,
        Sides(sides): &Sides,
        (name, workload): (&str, &'a Workload),
        monitor: &'a dyn Monitor,
        rounds: u32,
    ) -> anyhow::Result<TwoSides<'a>> {
        let file_set = self.load.file_set.as_deref();
        let runner = Runner {
            interval_mode: IntervalMode::Retained,
            file_set,
            ..Runner::new(workload, monitor, timeout_ns(&self.load))
        };
        let mut names = Names::default();
        let mut arms = Vec::new();
        for (place, side) in (0..).zip(sides) {
            arms.push(side.ready(&runner, (self, name), (place, rounds), &mut names)?);
        }
        record(&mut arms, &self.record)?;
        Ok(TwoSides { runner, arms, names: Arc::new(names), remove_files: self.remove_files })
    }
}

impl TwoSides<'_> {
    /// Runs rounds until `over` says so, and removes the files where that is wanted. Returns the number of complete rounds, and what
    /// failed.
    pub(crate) fn drive(
        &mut self,
        mut over: impl FnMut(u32, &[Arm<'_>], &Names) -> anyhow::Result<bool>,
    ) -> (u32, [anyhow::Result<()>; 2]) {
        let Self { runner, arms, names, remove_files } = self;
        let (whole, ended) = rounds(runner, arms, names, |round, arms| over(round, arms, names));
        let cleaned = if *remove_files { clean(runner, arms, names) } else { Ok(()) };
        (whole, [ended, cleaned])
    }

    /// Ends the recordings: whatever the result, the recorded stages are complete and usable.
    pub(crate) fn keep(self, [ended, cleaned]: [anyhow::Result<()>; 2]) -> anyhow::Result<()> {
        let stopped = self.runner.monitor.stopped();
        let kept = self.arms.into_iter().map(|arm| arm.keep(&self.names, stopped, ended.as_ref().err()));
        let kept = first_error(kept.collect::<Vec<_>>());
        first_error([ended, cleaned, kept])
    }
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

/// Removes the files of both: of no level, all that is left is that.
fn clean(runner: &Runner<'_>, arms: &[Arm<'_>], names: &Arc<Names>) -> anyhow::Result<()> {
    let runner = Runner { remove_files: true, ..*runner };
    first_error(arms.iter().map(|arm| arm.clean(&runner, names)).collect::<Vec<_>>())
}
