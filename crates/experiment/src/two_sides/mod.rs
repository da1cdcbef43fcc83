//! Two sides that are driven in turns, until a duel or a gate is over.

mod arm;
pub(crate) mod rounds;

use std::sync::Arc;

use plimsoll_model::Names;
use plimsoll_report::findings::letter;
use plimsoll_results::all_of;
use plimsoll_results::record::RecordTo;

use self::rounds::rounds;
use crate::runner::Runner;

pub use self::rounds::RUNS;
pub use arm::Arm;

/// Two sides that are ready to be driven.
pub struct TwoSides<'a> {
    runner: Runner<'a>,
    /// The sides.
    pub arms: Vec<Arm<'a>>,
    /// Names of both.
    pub names: Arc<Names>,
    remove_files: bool,
}

impl<'a> TwoSides<'a> {
    /// Begins their recordings in `to`, if they are wanted.
    ///
    /// # Errors
    /// One cannot be written.
    pub fn begin(
        runner: Runner<'a>,
        (mut arms, names): (Vec<Arm<'a>>, Names),
        to: Option<&RecordTo>,
        remove_files: bool,
    ) -> anyhow::Result<Self> {
        record(&mut arms, to)?;
        Ok(Self { runner, arms, names: Arc::new(names), remove_files })
    }

    /// Runs rounds until `over` says so, and removes the files where that is wanted. Returns the number of complete rounds, and what
    /// failed.
    pub fn drive(
        &mut self,
        mut over: impl FnMut(u32, &[Arm<'_>], &Names) -> anyhow::Result<bool>,
    ) -> (u32, [anyhow::Result<()>; 2]) {
        let Self { runner, arms, names, remove_files } = self;
        let (whole, ended) = rounds(runner, arms, names, |round, arms| over(round, arms, names));
        let cleaned = if *remove_files { clean(runner, arms, names) } else { Ok(()) };
        (whole, [ended, cleaned])
    }

    /// Ends the recordings: whatever the result, the recorded levels are complete and usable.
    ///
    /// # Errors
    /// What failed before, or a recording cannot be completed.
    pub fn keep(self, [ended, cleaned]: [anyhow::Result<()>; 2]) -> anyhow::Result<()> {
        let stopped = self.runner.monitor.stopped();
        let kept = self.arms.into_iter().map(|arm| arm.keep(&self.names, stopped, ended.as_ref().err()));
        let kept = all_of(kept.collect::<Vec<_>>());
        all_of([ended, cleaned, kept])
    }
}

/// Starts one recording per side.
fn record(arms: &mut [Arm<'_>], to: Option<&RecordTo>) -> anyhow::Result<()> {
    let Some(to) = to else { return Ok(()) };
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
    all_of(arms.iter().map(|arm| arm.clean(&runner, names)).collect::<Vec<_>>())
}
