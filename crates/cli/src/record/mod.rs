//! `--record DIR`: what a command found is kept, to be reported, compared and queried later.

mod feed;
mod inline;
mod machine;

use plimsoll_model::Validity;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::ValueEnum;
use plimsoll_recording::folder::{FolderError, Manifest, Progress, Recording, RecordingWriter, SCHEMA, Sample, Stage};
use plimsoll_report::findings::{Findings, Run, Source};
use serde::{Deserialize, Serialize};

use crate::exit::Usage;
use crate::run::Planned;
use crate::secrecy;

pub(crate) use feed::{Describe, Feed, SoFar, Taker};
pub(crate) use inline::Inline;

/// Transactions between two looks for intervals that are over.
const LOOK: u32 = 8192;
/// Ends come nearly in order: an interval is over when they are so far beyond it.
const LATE_NS: i64 = 2_000_000_000;

/// A recording, as flags.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct RecordFlags {
    /// Keep everything in a folder: for `plimsoll report DIR`, and for SQL (docs/recordings.md)
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Which transactions get a row in the recording. Its statistics and histograms are of all of them in any case
    #[arg(long, value_name = "WHICH", requires = "record", default_value = "sample")]
    record_transactions: Which,
    /// Replace the recording that is in the folder already
    #[arg(long, requires = "record")]
    overwrite: bool,
}

/// Which transactions get a row.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Which {
    /// Not one
    None,
    /// One of 64, chosen by the seed
    Sample,
    /// Every one
    All,
}

/// What was measured, as the manifest keeps it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Measured {
    /// A workload on a server.
    Run {
        /// As in the report; threads are those of the stages.
        run: Box<Run>,
        /// The workload itself.
        workload_text: String,
        /// The levels that were to be run; empty in recordings that are older than `--continue`.
        #[serde(default)]
        levels: Vec<Planned>,
        /// As in the report.
        source: Source,
    },
    /// Captures.
    Analyze {
        /// As in the report.
        source: Source,
        /// The captures.
        captures: Vec<Capture>,
    },
}

/// A capture that was analysed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Capture {
    /// Its name; "-" for standard input.
    name: String,
    /// Its size; null where it is no file.
    bytes: Option<u64>,
}

impl Capture {
    pub(crate) fn of(name: &std::path::Path) -> Self {
        let bytes = std::fs::metadata(name).ok().filter(std::fs::Metadata::is_file).map(|file| file.len());
        Self { name: name.display().to_string(), bytes }
    }
}

/// A recording that was begun, and which transactions it takes.
pub(crate) struct Recorder {
    pub(crate) writer: RecordingWriter,
    pub(crate) sample: Sample,
}

impl RecordFlags {
    /// Begins the recording, if one is wanted.
    pub(crate) fn begin(&self, measured: &Measured, clock: &str, seed: u64) -> anyhow::Result<Option<Recorder>> {
        let Some(folder) = &self.record else { return Ok(None) };
        let sample = self.sample(seed);
        let manifest = Manifest {
            schema: SCHEMA.to_owned(),
            state: Progress::Running,
            tool: format!("plimsoll {}", env!("CARGO_PKG_VERSION")),
            command: secrecy::command_line(secrecy::given().iter().cloned()),
            started_ns: now_ns(),
            ended_ns: None,
            machine: machine::this(),
            clock: clock.to_owned(),
            transactions: sample.told(),
            validity: None,
            measured: serde_json::to_value(measured)?,
            stages: Vec::new(),
        };
        let writer = RecordingWriter::create(folder, manifest, self.overwrite).map_err(|error| match error {
            FolderError::Taken { .. } | FolderError::NotEmpty { .. } => Usage(error.to_string()).into(),
            error => anyhow::Error::new(error),
        });
        Ok(Some(Recorder { writer: writer?, sample }))
    }

    /// The same of a folder in it, for what has several recordings.
    ///
    /// # Errors
    /// The folder is a recording: two do not lie in each other.
    pub(crate) fn within(&self, name: &str) -> anyhow::Result<Self> {
        let Some(folder) = &self.record else { return Ok(self.clone()) };
        if Recording::is_in(folder) {
            return Err(Usage(format!("{} holds a recording already: name another folder", folder.display())).into());
        }
        Ok(Self { record: Some(folder.join(name)), ..self.clone() })
    }

    /// The recording's folder, if one is wanted.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.record.as_deref()
    }

    /// Goes on with the recording that is there; of its stages those stay that `keeps` keeps.
    pub(crate) fn resume(&self, seed: u64, keeps: impl Fn(&Stage) -> bool) -> anyhow::Result<Option<Recorder>> {
        let Some(folder) = &self.record else { return Ok(None) };
        let sample = self.sample(seed);
        let writer = RecordingWriter::resume(folder, keeps)?;
        Ok(Some(Recorder { writer, sample }))
    }

    /// Which transactions get a row.
    pub(crate) fn sample(&self, seed: u64) -> Sample {
        match self.record_transactions {
            Which::None => Sample::NONE,
            Which::Sample => Sample::seeded(seed),
            Which::All => Sample::ALL,
        }
    }
}

impl Recorder {
    /// It is over, and this is what was found.
    pub(crate) fn finish(self, stopped: bool, findings: &Findings) -> anyhow::Result<()> {
        let progress = if stopped { Progress::Interrupted } else { Progress::Finished };
        Ok(self.writer.finish(progress, now_ns(), findings.validity.clone())?)
    }

    /// It is over, for something went wrong. (That is what people have to hear of, so a second error is not told.)
    pub(crate) fn give_up(self, error: &anyhow::Error) {
        let _ = self.writer.finish(Progress::Interrupted, now_ns(), Validity::invalid(format!("{error:#}")));
    }
}

fn now_ns() -> i64 {
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(epoch.as_nanos()).unwrap_or(i64::MAX)
}
