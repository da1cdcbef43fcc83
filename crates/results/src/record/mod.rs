//! `--record DIR`: stores a command's results for later reports, comparisons and queries.

mod machine;
mod synchronous;

use plimsoll_model::Validity;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use plimsoll_recording::folder::{
    FolderError, Manifest, Progress, RecordedLevel, Recording, RecordingWriter, SCHEMA, Sample,
};
use plimsoll_report::findings::{Findings, Run, Source};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::usage::Usage;

pub use machine::this_machine;
pub(crate) use synchronous::HOST_NAMES;
pub use synchronous::{SyncRecorder, about_of};

/// Transactions between two looks for intervals that are over.
pub const CHECK_INTERVAL: u32 = 8192;
/// Ends come nearly in order: an interval is over when they are so far beyond it.
pub const LATE_NS: i64 = 2_000_000_000;

/// The destination of a recording, and its selection of transactions.
#[derive(Clone, Debug)]
pub struct RecordTo {
    /// Its folder.
    pub folder: PathBuf,
    /// Which transactions get a row.
    pub rows: Rows,
    /// Whether it may replace an existing recording.
    pub overwrite: bool,
    /// The command that makes it, without secrets.
    pub command: Vec<String>,
}

/// Which transactions get a row in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// No transactions.
    None,
    /// One of 64, chosen by the seed.
    Sample,
    /// Every one.
    All,
}

/// The measurement, as stored in the manifest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Measurement {
    /// A workload on a server.
    Run {
        /// As in the report; the levels have the numbers of threads.
        run: Box<Run>,
        /// The workload itself.
        workload_text: String,
        /// All that was asked for; only the program that continues or repeats a run reads it.
        spec: Value,
        /// As in the report.
        source: Source,
    },
    /// Captures.
    Analyze {
        /// As in the report.
        source: Source,
        /// The captures.
        captures: Vec<Capture>,
        /// The job's place in a chain of jobs that analyse the files of one capture.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        link: Option<Link>,
    },
}

/// A job's place in a chain of jobs that analyse the files of one capture, each of which continues the previous one. Its statistics cover
/// all files so far, its intervals and rows only its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The chain: the `id` of its first job.
    pub chain: String,
    /// From 1.
    pub number: u32,
    /// The unique id of the job.
    pub id: String,
    /// The job before; null of the first.
    pub after: Option<String>,
}

impl Link {
    /// The place of a new job after another one.
    #[must_use]
    pub fn behind(other: Option<&Self>) -> Self {
        let id = format!("{:x}-{:x}", now_ns(), std::process::id());
        Self {
            chain: other.map_or_else(|| id.clone(), |other| other.chain.clone()),
            number: other.map_or(0, |other| other.number) + 1,
            id,
            after: other.map(|other| other.id.clone()),
        }
    }
}

/// A capture that was analysed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// Its name; "-" for standard input.
    name: String,
    /// Its size; null where it is no file.
    bytes: Option<u64>,
}

impl Capture {
    /// The value with this name.
    #[must_use]
    pub fn of(name: &std::path::Path) -> Self {
        let bytes = std::fs::metadata(name).ok().filter(std::fs::Metadata::is_file).map(|file| file.len());
        Self { name: name.display().to_string(), bytes }
    }

    /// Its size; `None` where it is no file.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// Whether it is a file, so that its name and size tell it from others.
    pub(crate) fn is_file(&self) -> bool {
        self.bytes.is_some()
    }
}

/// A recording that was begun, and which transactions it takes.
pub struct Recorder {
    /// Writes it.
    pub writer: RecordingWriter,
    /// Which transactions get a row.
    pub sample: Sample,
}

impl RecordTo {
    /// Begins the recording.
    ///
    /// # Errors
    /// There is one already, or the folder cannot be written to.
    pub fn begin(&self, measured: &Measurement, clock: &str, seed: u64) -> anyhow::Result<Recorder> {
        if cfg!(windows) {
            // A recording locks its folder, which Windows does not open.
            let why =
                "--record: cannot write recordings on Windows; record on Linux, or write a table with --transactions";
            return Err(Usage(why.to_owned()).into());
        }
        let sample = self.sample(seed);
        let manifest = Manifest {
            schema: SCHEMA.to_owned(),
            state: Progress::Running,
            tool: this_tool(),
            command: self.command.clone(),
            started_ns: now_ns(),
            ended_ns: None,
            machine: this_machine(),
            clock: clock.to_owned(),
            transactions: sample.policy(),
            validity: None,
            measured: serde_json::to_value(measured)?,
            levels: Vec::new(),
        };
        let writer = RecordingWriter::create(&self.folder, manifest, self.overwrite).map_err(|error| match error {
            FolderError::Taken { .. } | FolderError::NotEmpty { .. } | FolderError::Leftovers { .. } => {
                Usage(error.to_string()).into()
            }
            error => anyhow::Error::new(error).context("--record: cannot create the recording; name another folder"),
        });
        Ok(Recorder { writer: writer?, sample })
    }

    /// The same for a folder in it, for commands with several recordings.
    ///
    /// # Errors
    /// The folder is a recording: recordings cannot be nested.
    pub fn within(&self, name: &str) -> anyhow::Result<Self> {
        if Recording::is_in(&self.folder) {
            let shown = self.folder.display();
            return Err(Usage(format!("{shown} already contains a recording: name another folder")).into());
        }
        Ok(Self { folder: self.folder.join(name), ..self.clone() })
    }

    /// Continues the existing recording; its levels that `keeps` selects stay. `seen` is its manifest as it was before that choice.
    pub fn resume(
        &self,
        seed: u64,
        seen: &Manifest,
        keeps: impl Fn(&RecordedLevel) -> bool,
    ) -> anyhow::Result<Recorder> {
        let sample = self.sample(seed);
        let writer = RecordingWriter::resume(&self.folder, seen, keeps).map_err(|error| match error {
            FolderError::NotEmpty { .. } => Usage(error.to_string()).into(),
            error => anyhow::Error::new(error),
        });
        Ok(Recorder { writer: writer?, sample })
    }

    /// Which transactions get a row.
    pub fn sample(&self, seed: u64) -> Sample {
        match self.rows {
            Rows::None => Sample::NONE,
            Rows::Sample => Sample::seeded(seed),
            Rows::All => Sample::ALL,
        }
    }
}

impl Recorder {
    /// Ends the recording with the findings.
    pub fn finish(self, stopped: bool, findings: &Findings) -> anyhow::Result<()> {
        let progress = if stopped { Progress::Interrupted } else { Progress::Finished };
        Ok(self.writer.finish(progress, now_ns(), findings.validity.clone())?)
    }

    /// Ends the recording after an error. If it has no results, the recording that it was to replace returns to its place. (The user must
    /// see this error, so a second one is not reported.)
    pub fn give_up(self, error: &anyhow::Error) {
        let _ = if self.writer.can_restore() {
            self.writer.discard()
        } else {
            self.writer.finish(Progress::Interrupted, now_ns(), Validity::invalid(format!("{error:#}")))
        };
    }
}

/// This program and its version.
#[must_use]
pub fn this_tool() -> String {
    format!("plimsoll {}", env!("CARGO_PKG_VERSION"))
}

fn now_ns() -> i64 {
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(epoch.as_nanos()).unwrap_or(i64::MAX)
}
