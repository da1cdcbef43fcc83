//! A capture in several files, each analysed by a separate job that continues the previous one.
//!
//! A file contains the data for the next job: the state of the observer and of the statistics, and the last packets, which are not
//! processed before the first packets of the next file are known (docs/decisions/0036-hand-over.md).

mod file;

use std::path::Path;

use anyhow::Context;
use plimsoll_observe::capture::{CaptureAnomalies, Captures, Carried};
use plimsoll_results::record::Link;

use file::HandOver;

use plimsoll_results::Usage;

use crate::job::JobObserver;
use plimsoll_console::output_file::{Files, OutputFile, Readers};

/// The files between jobs.
#[derive(Clone, Copy, Debug)]
pub struct ChainOptions<'a> {
    /// That of the previous job.
    pub from: Option<&'a Path>,
    /// That for the next job.
    pub to: Option<&'a Path>,
    /// This build: files of another one cannot be read.
    pub build: &'static str,
}

/// A job in a chain of jobs.
pub struct Chain {
    build: &'static str,
    /// Flags that determine which transactions count: the same in all jobs.
    asked: String,
    /// This job's place.
    pub(crate) link: Link,
    from: Option<HandOver>,
    to: Option<OutputFile>,
    /// Damage in the previous files.
    before: CaptureAnomalies,
    inputs: Vec<String>,
    ready: Option<HandOver>,
}

impl Chain {
    /// Reads the file of the previous job, and opens the file for the next one; `None` without either. `asked` are the flags that
    /// determine which transactions count, in words.
    ///
    /// # Errors
    /// The previous file is none, damaged, of another build or of other options, or the next one cannot be written.
    pub fn open(options: ChainOptions<'_>, asked: String, files: &mut Files) -> anyhow::Result<Option<Self>> {
        let ChainOptions { from, to, build } = options;
        if from.is_none() && to.is_none() {
            return Ok(None);
        }
        let from = from.map(|path| read(path, build, &asked)).transpose()?;
        let to = to.map(|path| files.open("--hand-over-to", path, Readers::Owner)).transpose()?;
        let link = Link::behind(from.as_ref().map(|from| &from.link));
        let before = from.as_ref().map(|from| from.anomalies).unwrap_or_default();
        Ok(Some(Self { build, asked, link, from, to, before, inputs: Vec::new(), ready: None }))
    }

    /// The data of the previous job, without its packets.
    pub(crate) fn take_from(&mut self) -> Option<HandOver> {
        self.from.take()
    }

    /// The packets that it handed over.
    pub fn carried(&mut self) -> Carried {
        self.from.as_mut().map(|from| std::mem::take(&mut from.carried)).unwrap_or_default()
    }

    /// Whether there is a next job, which processes the last packets.
    pub fn has_next(&self) -> bool {
        self.to.is_some()
    }

    /// The report is of these files.
    pub(crate) fn covers(&mut self, inputs: &[String]) {
        self.inputs = inputs.to_vec();
    }

    /// Damage in all files so far.
    pub(crate) fn anomalies(&self, captures: &Captures) -> CaptureAnomalies {
        captures.anomalies().behind(&self.before)
    }

    /// All packets except the carried ones have been processed: stores the data for the next job. From now on transactions only go to the
    /// report.
    ///
    /// # Errors
    /// Reading was interrupted, or the state cannot be stored.
    pub(crate) fn prepare(
        &mut self,
        observer: &mut JobObserver,
        carried: Carried,
        captures: &Captures,
    ) -> anyhow::Result<()> {
        if self.to.is_none() {
            return Ok(());
        }
        anyhow::ensure!(!captures.interrupted(), "interrupted: --hand-over-to is not written");
        let state = observer.state().context("--hand-over-to")?;
        let (sinks, _) = observer.sink();
        let filter = sinks.state();
        sinks.sink.outputs_closed = true;
        self.ready = Some(HandOver {
            asked: self.asked.clone(),
            link: self.link.clone(),
            inputs: self.inputs.clone(),
            anomalies: self.anomalies(captures),
            filter,
            statistics: sinks.sink.statistics.settled().clone(),
            observer: state,
            carried,
        });
        Ok(())
    }

    /// Writes the file after all other outputs of the job, so that its existence shows that they are complete.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(self) -> anyhow::Result<()> {
        match (self.to, self.ready) {
            (Some(to), Some(ready)) => to.write(|out| ready.write(out, self.build)),
            _ => Ok(()),
        }
    }
}

fn read(path: &Path, build: &str, asked: &str) -> anyhow::Result<HandOver> {
    let shown = format!("--hand-over-from {}", path.display());
    let from = HandOver::read(path, build).with_context(|| shown.clone())?;
    if from.asked != asked {
        let why = format!(
            "{shown}: this file was written with other options ({}); use the same options for all files of the capture",
            from.asked
        );
        return Err(Usage(why).into());
    }
    Ok(from)
}
