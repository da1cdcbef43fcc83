//! A side that is driven, what came of its runs, and their recording.

use plimsoll_model::{Reason, Validity};
use std::sync::Arc;

use anyhow::Context;
use plimsoll_model::Names;
use plimsoll_report::collect::comparison::{Contestant, LevelRuns, LoadPoint};
use plimsoll_report::findings::comparison::Subject;
use plimsoll_workload::Workload;

use crate::record::RecordTo;
use crate::{Beginning, Chosen, Drive, LevelResult, LevelSpec, Recorded, Site, Told, again};

/// A side that is ready to be driven.
pub struct Arm<'a> {
    name: String,
    /// The server itself, where it is in this process.
    chosen: Chosen,
    site: Site,
    steps: Vec<LevelSpec>,
    beginning: Beginning<'a>,
    recording: Option<Recorded<'a>>,
    /// Levels of each run, those of a round that was interrupted among them.
    ran: Vec<Vec<LevelResult>>,
    /// What there was to tell of its runs.
    remarks: Vec<String>,
}

impl<'a> Arm<'a> {
    /// One that has not been driven yet.
    #[must_use]
    pub fn new(name: String, chosen: Chosen, site: Site, steps: Vec<LevelSpec>, beginning: Beginning<'a>) -> Self {
        Self { name, chosen, site, steps, beginning, recording: None, ran: Vec::new(), remarks: Vec::new() }
    }

    /// Begins its recording, if one is wanted.
    pub fn record(&mut self, to: &RecordTo) -> anyhow::Result<()> {
        self.recording = Recorded::begin(Some(to), self.beginning.clone())?;
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
        let told = Told { beginning: self.beginning, levels, names: Arc::clone(names), facts };
        recording.finish(stopped || error.is_some(), Ok(&(told.findings(), ())))
    }

    /// Ends its recording before anything was run.
    pub fn give_up(&mut self, error: &anyhow::Error) {
        // What is told is why; that a recording of nothing has no end is not.
        let _ = self.recording.take().map(|recording| recording.finish::<()>(true, Err(error)));
    }

    /// What a comparison sees of it: its first so many runs.
    pub fn contestant(&self, workload: &Workload, runs: usize) -> Contestant {
        let whole = || self.ran.iter().take(runs);
        let levels = self.steps.iter().enumerate().map(|(at, step)| {
            let ran = || whole().filter_map(|levels| levels.get(at));
            let valid = ran().all(|level| level.validity().valid);
            let point = ran().next().map(|level| LoadPoint { valid, ..level.point() });
            LevelRuns { level: step.words.clone(), point, runs: ran().filter_map(LevelResult::measured).collect() }
        });
        let mut reasons: Vec<Reason> = Vec::new();
        for level in whole().flatten() {
            let sentence = |(verdict, reason): (_, &str)| Reason {
                verdict,
                text: format!("At {}: {}.", level.words(), reason.trim_end_matches('.')),
            };
            reasons.extend(level.validity().each_reason().map(sentence));
        }
        reasons.sort_by(|a, b| a.text.cmp(&b.text));
        reasons.dedup();
        let about = Subject {
            name: self.name.clone(),
            kind: "run".to_owned(),
            target: Some(self.chosen.shown.clone()),
            workload: Some(workload.name().to_owned()),
            workload_sha256: Some(workload.digest().to_owned()),
            facts: [self.site.server.facts(), self.remarks.clone()].concat(),
            validity: Validity::of(reasons),
            headline: whole().flatten().next().map(|level| level.statistics().headline().into()).unwrap_or_default(),
            ..Subject::default()
        };
        Contestant { about, levels: levels.collect() }
    }
}
