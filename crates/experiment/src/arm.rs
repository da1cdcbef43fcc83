//! A side that is driven, what came of its runs, and their recording.

use std::sync::Arc;

use anyhow::Context;
use plimsoll_model::Names;
use plimsoll_report::collect::comparison::{Contestant, LevelRuns, LoadPoint};
use plimsoll_report::findings::Findings;
use plimsoll_workload::Workload;

use crate::drive::findings_of;
use crate::record::RecordTo;
use crate::{Chosen, Drive, LevelResult, LevelSpec, Recorded, RunSpec, Site, Told, again};

/// A side that is ready to be driven.
pub struct Arm<'a> {
    name: String,
    /// The server itself, where it is in this process: it ends with this.
    _chosen: Chosen,
    site: Site,
    steps: Vec<LevelSpec>,
    spec: RunSpec,
    workload: &'a Workload,
    recording: Option<Recorded<'a>>,
    /// Levels of each run, those of a round that was interrupted among them.
    ran: Vec<Vec<LevelResult>>,
    /// What there was to tell of its runs.
    remarks: Vec<String>,
}

impl<'a> Arm<'a> {
    /// One that has not been driven yet.
    #[must_use]
    pub fn new(
        name: String,
        (chosen, site): (Chosen, Site),
        steps: Vec<LevelSpec>,
        (spec, workload): (RunSpec, &'a Workload),
    ) -> Self {
        Self {
            name,
            _chosen: chosen,
            site,
            steps,
            spec,
            workload,
            recording: None,
            ran: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Begins its recording, if one is wanted.
    pub fn record(&mut self, to: &RecordTo) -> anyhow::Result<()> {
        self.recording = Recorded::begin(Some(to), &self.spec, self.workload)?;
        Ok(())
    }

    /// Runs its levels once more; `repeat` counts its runs from 0. What was measured before an error is kept.
    pub fn run(&mut self, drive: &Drive<'_>, names: &Arc<Names>, repeat: u32) -> anyhow::Result<()> {
        let drive = Drive { recording: self.recording.as_ref(), ..*drive };
        let levels = drive.levels(&self.site, names, again(&self.steps, repeat)).with_context(|| self.name.clone())?;
        let told: Vec<String> = levels.facts().into_iter().filter(|fact| !self.remarks.contains(fact)).collect();
        self.remarks.extend(told);
        self.ran.push(levels.ran);
        levels.besides
    }

    /// Removes its files.
    pub fn clean(&self, drive: &Drive<'_>, names: &Arc<Names>) -> anyhow::Result<()> {
        drive.levels(&self.site, names, Vec::new())?.besides
    }

    /// Ends its recording, where there is one: all that was run is in it. `error` is what ended the duel.
    pub fn keep(self, names: &Arc<Names>, stopped: bool, error: Option<&anyhow::Error>) -> anyhow::Result<()> {
        let Some(recording) = self.recording else { return Ok(()) };
        let levels: Vec<LevelResult> = self.ran.into_iter().flatten().collect();
        if let Some(error) = error.filter(|_| levels.is_empty()) {
            return recording.finish::<()>(true, Err(error));
        }
        let facts = [self.site.server.facts(), self.remarks].concat();
        let told = Told { spec: self.spec, workload: self.workload, levels, names: Arc::clone(names), facts };
        recording.finish(stopped || error.is_some(), Ok(&(told.findings(), ())))
    }

    /// Ends its recording before anything was run.
    pub fn give_up(&mut self, error: &anyhow::Error) {
        // What is told is why; that a recording of nothing has no end is not.
        let _ = self.recording.take().map(|recording| recording.finish::<()>(true, Err(error)));
    }

    /// What a comparison sees of it: its first so many runs.
    pub fn contestant(&self, names: &Names, runs: usize) -> Contestant {
        let whole = || self.ran.iter().take(runs);
        let levels = self.steps.iter().enumerate().map(|(at, step)| {
            let ran = || whole().filter_map(|levels| levels.get(at));
            let valid = ran().all(|level| level.validity().valid);
            let point = ran().next().map(|level| LoadPoint { valid, ..level.point() });
            LevelRuns { level: step.words.clone(), point, runs: ran().filter_map(LevelResult::measured).collect() }
        });
        let levels = levels.collect();
        let ran: Vec<&LevelResult> = whole().flatten().collect();
        let facts = [self.site.server.facts(), self.remarks.clone()].concat();
        let findings = findings_of((&self.spec, self.workload), &ran, names, facts, |run| run);
        Contestant { findings: Findings { name: self.name.clone(), ..findings }, levels }
    }
}
