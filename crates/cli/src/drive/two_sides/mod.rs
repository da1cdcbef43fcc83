//! Two sides that are driven in turns, by `duel` and `gate`.

mod arm_flags;

use std::path::Path;

use plimsoll_experiment::{IntervalMode, Monitor, Runner, TwoSides};
use plimsoll_model::Names;
use plimsoll_workload::Workload;

use crate::drive::run::{LoadFlags, SetFlags};
use crate::flags::about::AboutFlags;
use crate::flags::record::RecordFlags;
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

impl Sides {
    /// Parses both.
    pub(crate) fn read([a, b]: [&str; 2]) -> anyhow::Result<Self> {
        Ok(Self([ArmFlags::read(a, "A")?, ArmFlags::read(b, "B")?]))
    }
}

impl DriveFlags {
    /// The files that are read and written.
    pub(crate) fn files(&self, Sides(sides): &Sides, workload: &str) -> anyhow::Result<Files> {
        let inputs = sides.iter().flat_map(ArmFlags::files).chain(self.about.files());
        let mut files = Files::reading(inputs.chain([Path::new(workload)]));
        files.fills("--record", self.record.folder())?;
        Ok(files)
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
            ..Runner::new(workload, monitor, self.load.options().timeout_ns())
        };
        let mut names = Names::default();
        let mut arms = Vec::new();
        for side in sides {
            arms.push(side.ready(&runner, (self, name), rounds, &mut names)?);
        }
        TwoSides::begin(runner, (arms, names), self.record.to().as_ref(), self.remove_files)
    }
}
