//! A search for a capacity whose levels several processes drive together, each its part of the load.
//!
//! The parts do not talk to each other: they read each other's recordings, in folders beside their own. After each level the first part
//! merges the recordings of all, chooses the next load with the code of a search in one process, and adds the level with its start to its
//! manifest. The other parts wait for that (docs/decisions/0034-parts.md).

use std::time::{Duration, Instant};

use anyhow::Context;
use plimsoll_client::clock::Clock;
use plimsoll_workload::Workload;

use crate::capacity::CapacitySearch;
use crate::capacity::spec::SearchSpec;
use crate::level::LevelResult;
use crate::level_spec::LevelSpec;
use crate::monitor::Monitor;
use crate::parts::options::PartOptions;
use crate::parts::{self, PartBeside};
use crate::run_recording::RunRecording;
use crate::run_spec::RunSpec;

/// Between two looks at the recordings of the other parts.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// The same run, with the search and its first level if this process drives one part of it.
///
/// # Errors
/// The search has no first level.
pub fn searching(
    spec: RunSpec,
    search: &SearchSpec,
    part: &PartOptions,
    workload: &Workload,
) -> anyhow::Result<RunSpec> {
    if !search.has_parts() {
        return Ok(spec);
    }
    let first = CapacitySearch::new(search)?.next(&[])?.context("the search has no load")?;
    let spec = RunSpec { clock_bound_ns: part.clock_bound_ns(), ..spec };
    Ok(spec.searching(first, search, workload))
}

/// The search, as one part makes it.
pub(crate) struct JointSearch<'a> {
    recording: &'a RunRecording<'a>,
    monitor: &'a dyn Monitor,
    spec: &'a SearchSpec,
    search: CapacitySearch<'a>,
    /// The levels so far, of all parts; only the first part has them.
    merged: Vec<LevelResult>,
    /// The level that was begun last.
    last: Option<LevelSpec>,
    /// From the choice of a load to its start.
    gap: Duration,
}

impl<'a> JointSearch<'a> {
    /// The search of the part that has this recording.
    ///
    /// # Errors
    /// The search is not valid.
    pub(crate) fn new(
        recording: &'a RunRecording<'a>,
        spec: &'a SearchSpec,
        gap: Duration,
        monitor: &'a dyn Monitor,
    ) -> anyhow::Result<Self> {
        let search = CapacitySearch::new(spec)?;
        Ok(Self { recording, monitor, spec, search, merged: Vec::new(), last: None, gap })
    }

    /// The next level of all parts; `None` if the search is over.
    ///
    /// # Errors
    /// Another part did not measure the last level, or ended: no level follows from the others alone.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<LevelSpec>> {
        let next = match self.last.take() {
            // The recording has this one already.
            None => self.search.next(&[])?,
            Some(_) if self.monitor.stopped() => None,
            Some(last) => {
                let is_first = last.plan.part.is_none_or(|part| part.is_first());
                let next = if is_first { self.choose(&last) } else { self.follow(&last) };
                let next = next.context("the search ended")?;
                next.as_ref().map_or(Ok(()), |next| self.recording.announce(next))?;
                next
            }
        };
        self.last.clone_from(&next);
        Ok(next)
    }

    /// Chooses a level, from the recordings of all parts.
    fn choose(&mut self, last: &LevelSpec) -> anyhow::Result<Option<LevelSpec>> {
        let number = last.plan.level;
        let all = last.plan.part.map_or(1, |part| part.parts()) as usize;
        let folders = self.wait(self.patience(last), |parts| {
            let ended = parts.iter().filter(|part| part.has_ended_level(number)).count();
            (ended >= all).then(|| parts.iter().map(|part| part.folder.clone()).collect::<Vec<_>>())
        })?;
        let folders = match folders {
            Some(folders) => folders,
            None if self.monitor.stopped() => return Ok(None),
            // The merge says which part is missing.
            None => self.parts()?.into_iter().map(|part| part.folder).collect(),
        };
        self.merged.push(parts::merge_level(&folders, last)?);
        let Some(mut next) = self.search.next(&self.merged)? else { return Ok(None) };
        let gap_ns = i64::try_from(self.gap.as_nanos()).unwrap_or(i64::MAX);
        next.plan.start_at_ns = Some(Clock::new().now().saturating_add(gap_ns));
        Ok(Some(next))
    }

    /// Waits for the choice of the first part.
    fn follow(&self, last: &LevelSpec) -> anyhow::Result<Option<LevelSpec>> {
        let number = last.plan.level as usize + 1;
        // It may have ended the level later, and waits for other parts before it merges.
        let patience = self.patience(last) * 2;
        let chosen = self.wait(patience, |parts| {
            let first = parts.iter().find(|part| part.is_first())?;
            match first.levels.get(number) {
                Some(level) => Some(Ok(Some(level.clone()))),
                None => first.ended().map(|ended| ended.map(|()| None)),
            }
        })?;
        match chosen {
            Some(chosen) => {
                let with_part = |mut level: LevelSpec| {
                    level.plan.part = last.plan.part;
                    level
                };
                Ok(chosen?.map(with_part))
            }
            None if self.monitor.stopped() => Ok(None),
            None => anyhow::bail!(
                "part 1 chose no next load within {} after the level with {}. Possible causes: part 1 was killed; its recording is not in \
                the same folder as {}; it needs more time to merge the results of the parts (use a longer --level-gap)",
                plimsoll_report::duration(patience.as_secs_f64()),
                last.load_name,
                self.recording.folder().display()
            ),
        }
    }

    /// The recordings of all parts, as far as they exist.
    fn parts(&self) -> anyhow::Result<Vec<PartBeside>> {
        parts::beside(self.recording.folder(), self.spec)
    }

    /// Time for other parts to end a level after this one.
    fn patience(&self, last: &LevelSpec) -> Duration {
        Duration::from_nanos(last.plan.phases.drain_ns).saturating_add(self.gap)
    }

    /// Looks at the recordings of all parts until `found` has a value, for this long.
    fn wait<T>(&self, patience: Duration, found: impl Fn(&[PartBeside]) -> Option<T>) -> anyhow::Result<Option<T>> {
        let begun = Instant::now();
        loop {
            if let Some(found) = found(&self.parts()?) {
                return Ok(Some(found));
            }
            if self.monitor.stopped() || begun.elapsed() > patience {
                return Ok(None);
            }
            std::thread::sleep(CHECK_INTERVAL);
        }
    }
}
