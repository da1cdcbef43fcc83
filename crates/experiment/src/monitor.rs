//! An observer of a running experiment, which may end it.

use plimsoll_drive::engine::Watch;
use plimsoll_workload::fileset::JobProgress;

use super::level::LevelResult;

/// The visible progress of a piece of work.
pub enum Activity<'a> {
    /// A load level, which [`Monitor::watch`] tells of.
    Level,
    /// Progress of work on files.
    Files(&'a dyn Fn() -> JobProgress),
}

/// An observer of a running experiment, which may end it. The library itself prints nothing: the implementation shows progress.
pub trait Monitor: Sync {
    /// From now on a request to stop does not end the process, which would lose measurements.
    ///
    /// # Errors
    /// The system does not allow it.
    fn catch(&self) -> anyhow::Result<()>;
    /// Progress of the work before and during measurements, and whether it should end.
    fn watch(&self) -> &Watch;
    /// The same for the final work: the first request to stop does not end it.
    fn cleaning(&self) -> &Watch;
    /// A load level is over.
    fn level_over(&self, _level: &LevelResult) {}
    /// Does `work` under the name `what`, and shows its progress.
    fn show(&self, what: &str, shown: Activity<'_>, work: &mut (dyn FnMut() + Send));
}

impl dyn Monitor + '_ {
    /// Whether the experiment should end.
    pub fn stopped(&self) -> bool {
        self.watch().stopped()
    }

    /// Whether the experiment should end without cleaning up.
    pub fn abandoned(&self) -> bool {
        self.cleaning().abandoned()
    }

    /// Runs a load level under the name `what`.
    pub(crate) fn during<T: Send>(&self, what: &str, work: impl FnOnce(&Watch) -> T + Send) -> T {
        let watch = self.watch();
        self.shown(what, Activity::Level, || work(watch))
    }

    /// The same for work on files before (or, otherwise, after) all levels, whose progress is `progress`.
    pub(crate) fn during_files<T: Send>(
        &self,
        what: &str,
        before: bool,
        work: impl FnOnce(&Watch) -> T + Send,
        progress: impl Fn() -> JobProgress,
    ) -> T {
        let watch = if before { self.watch() } else { self.cleaning() };
        self.shown(what, Activity::Files(&progress), || work(watch))
    }

    fn shown<T: Send>(&self, what: &str, shown: Activity<'_>, work: impl FnOnce() -> T + Send) -> T {
        let (mut work, mut result) = (Some(work), None);
        self.show(what, shown, &mut || result = work.take().map(|work| work()).or(result.take()));
        // The observer may not skip the work.
        match (result, work) {
            (Some(result), _) => result,
            (None, Some(work)) => work(),
            (None, None) => unreachable!("the work was done, but its result is missing"),
        }
    }
}
