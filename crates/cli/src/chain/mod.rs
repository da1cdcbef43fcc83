//! A capture in several files, each analysed by a separate job that continues the previous one.
//!
//! A file contains the data for the next job: the state of the observer and of the statistics, and the last packets, which are not
//! processed before the first packets of the next file are known (docs/decisions/0036-hand-over.md).

mod file;

use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_model::{Names, Sink, Transaction};
use plimsoll_observe::Observer;
use plimsoll_observe::capture::{CaptureAnomalies, Captures, Carried};
use plimsoll_results::record::Link;

pub(crate) use file::HandOver;

use crate::analysis::Sinks;
use crate::exit::Usage;
use plimsoll_console::output_file::{Files, OutputFile, Readers};

/// The files between jobs, as flags.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Capture in several files")]
pub(crate) struct ChainFlags {
    /// Continue the analysis of the previous capture file, from the FILE that its --hand-over-to wrote. The report then covers all files so
    /// far; --record and --transactions cover only this file
    #[arg(long, value_name = "FILE")]
    hand_over_from: Option<PathBuf>,
    /// Write open connections and all numbers so far to FILE, for the analysis of the next capture file. FILE contains packet data, so only
    /// its owner may read it
    #[arg(long, value_name = "FILE")]
    hand_over_to: Option<PathBuf>,
}

impl ChainFlags {
    /// Files that are read.
    pub(crate) fn files(&self) -> Option<&Path> {
        self.hand_over_from.as_deref()
    }

    fn given(&self) -> bool {
        self.hand_over_from.is_some() || self.hand_over_to.is_some()
    }
}

/// A job in a chain of jobs.
pub(crate) struct Chain {
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
    pub(crate) fn open(flags: &ChainFlags, asked: String, files: &mut Files) -> anyhow::Result<Option<Self>> {
        if !flags.given() {
            return Ok(None);
        }
        let from = flags.hand_over_from.as_deref().map(|path| read(path, &asked)).transpose()?;
        let to = flags.hand_over_to.as_deref();
        let to = to.map(|path| files.open("--hand-over-to", path, Readers::Owner)).transpose()?;
        let link = Link::behind(from.as_ref().map(|from| &from.link));
        let before = from.as_ref().map(|from| from.anomalies).unwrap_or_default();
        Ok(Some(Self { asked, link, from, to, before, inputs: Vec::new(), ready: None }))
    }

    /// The data of the previous job, without its packets.
    pub(crate) fn take_from(&mut self) -> Option<HandOver> {
        self.from.take()
    }

    /// The packets that it handed over.
    pub(crate) fn carried(&mut self) -> Carried {
        self.from.as_mut().map(|from| std::mem::take(&mut from.carried)).unwrap_or_default()
    }

    /// Whether there is a next job, which processes the last packets.
    pub(crate) fn has_next(&self) -> bool {
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
    pub(crate) fn prepare(
        &mut self,
        observer: &mut Observer<Sinks>,
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
        let ((statistics, own), _) = &mut sinks.sink;
        own.close();
        self.ready = Some(HandOver {
            asked: self.asked.clone(),
            link: self.link.clone(),
            inputs: self.inputs.clone(),
            anomalies: self.anomalies(captures),
            filter,
            statistics: statistics.clone(),
            observer: state,
            carried,
        });
        Ok(())
    }

    /// Writes the file after all other outputs of the job, so that its existence shows that they are complete.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        match (self.to, self.ready) {
            (Some(to), Some(ready)) => to.write(|out| ready.write(out)),
            _ => Ok(()),
        }
    }
}

fn read(path: &Path, asked: &str) -> anyhow::Result<HandOver> {
    let shown = format!("--hand-over-from {}", path.display());
    let from = HandOver::read(path).with_context(|| shown.clone())?;
    if from.asked != asked {
        let why = format!(
            "{shown}: it was written with other options ({}); use the same options for all files of the capture",
            from.asked
        );
        return Err(Usage(why).into());
    }
    Ok(from)
}

/// A sink that can be closed.
pub(crate) struct Valve<S> {
    closed: bool,
    pub(crate) sink: S,
}

impl<S> Valve<S> {
    pub(crate) fn open(sink: S) -> Self {
        Self { closed: false, sink }
    }

    fn close(&mut self) {
        self.closed = true;
    }
}

impl<S: Sink> Sink for Valve<S> {
    fn begin(&mut self, start_ns: i64) {
        self.sink.begin(start_ns);
    }

    #[inline]
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        if !self.closed {
            self.sink.transaction(transaction, names);
        }
    }
}
