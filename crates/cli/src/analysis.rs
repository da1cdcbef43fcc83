//! What `analyze` and `watch` do with packets: the same flags, outputs and report.

use std::path::{Path, PathBuf};

use plimsoll_model::Anomaly;
use plimsoll_observe::capture::Captures;
use plimsoll_observe::decrypt::SessionKeys;
use plimsoll_observe::filter::Filtered;
use plimsoll_observe::names::HostsFile;
use plimsoll_observe::{Observed, Observer, status_name};
use plimsoll_recording::Batched;
use plimsoll_report::findings::{About, DrillDown, Findings, Source};
use plimsoll_stats::cube::Cube;
use plimsoll_stats::live::{Recent, Totals};
use plimsoll_stats::{Dimension, Dimensions, Headline, MAX_DIMENSIONS, Options, Statistics};

use crate::about::AboutFlags;
use crate::exit::{Done, first_error};
use crate::filter::Filter;
use crate::keys::Keys;
use crate::output::{OpenOutput, Output, finish_table};
use crate::output_file::{Files, OutputFile};
use crate::output_thread::OutputThread;
use crate::record::RecordFlags;
use plimsoll_results::record::{Capture, Measurement, SyncRecorder};

/// What to find out, and where it goes, as flags.
#[derive(Debug, clap::Args)]
pub(crate) struct AnalysisFlags {
    #[command(flatten)]
    pub(crate) keys: Keys,
    /// Group the numbers by up to three keys, e.g. client,operation. Keys: client, server, share, user, path,
    /// connection, operation, status, protocol, second, minute, hour
    #[arg(long, value_name = "KEY[,KEY]", value_parser = parse_dimensions)]
    pub(crate) by: Option<Dimensions>,
    /// Number of the slowest operations, and of the unanswered operations, to list
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub(crate) slowest: usize,
    /// Write one row per transaction to FILE.parquet or FILE.csv
    #[arg(long, value_name = "FILE")]
    pub(crate) transactions: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) filter: Filter,
    #[command(flatten)]
    pub(crate) about: AboutFlags,
    #[command(flatten)]
    pub(crate) record: RecordFlags,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Where transactions go. A watch also keeps those of the last minutes, and sums for a program that collects metrics.
pub(crate) type Sinks = Filtered<((Statistics, OutputThread<Outputs>), Option<Box<Live>>)>;
/// What the page, the table and the recording hold.
type Outputs = ((Option<Cube>, Option<Batched>), Option<SyncRecorder>);
/// What a watch keeps.
pub(crate) type Live = (Recent, Option<Totals>);

/// An analysis whose outputs are open.
pub(crate) struct Analysis {
    pub(crate) flags: AnalysisFlags,
    pub(crate) hosts: HostsFile,
    pub(crate) source: Source,
    pub(crate) output: OpenOutput,
    table: Option<(Batched, OutputFile)>,
}

/// An analysis at work, beside its observer.
pub(crate) struct Running {
    filter: Filter,
    hosts: HostsFile,
    source: Source,
    output: OpenOutput,
    table: Option<OutputFile>,
}

impl Analysis {
    /// Opens the outputs, none of which may be one of the inputs.
    pub(crate) fn open(mut flags: AnalysisFlags, inputs: &[PathBuf]) -> anyhow::Result<Self> {
        let hosts = flags.filter.resolve()?;
        let read = inputs.iter().map(PathBuf::as_path).chain(flags.keys.files());
        let mut files = Files::reading(read.chain(flags.filter.files()).chain(flags.about.files()));
        files.fills("--record", flags.record.folder());
        let about = flags.about.read()?;
        let output = flags.output.open(&mut files)?;
        let table = flags.transactions.as_deref().map(|path| crate::output::table(path, &mut files)).transpose()?;
        let table = table.map(|(table, file)| (Batched::new(table), file));
        let source = source(inputs, &flags.filter, about);
        Ok(Self { flags, hosts, source, output, table })
    }

    /// Keys of sessions, read.
    pub(crate) fn keys(&self) -> anyhow::Result<SessionKeys> {
        self.flags.keys.read()
    }

    /// Begins: the observer takes frames from now on. With `live`, that takes transactions too. Outputs that hold transactions may be filled
    /// in another thread.
    pub(crate) fn begin(
        self,
        inputs: &[PathBuf],
        keys: SessionKeys,
        live: Option<Box<Live>>,
        other_thread: bool,
    ) -> anyhow::Result<(Observer<Sinks>, Running)> {
        let Self { flags, hosts, source, output, table } = self;
        let AnalysisFlags { by, slowest, filter, record, .. } = &flags;
        let io = flags.output.has_io() || flags.record.to().is_some();
        let statistics =
            Statistics::new(Options { slowest: *slowest, by: *by, tallies: true, io, ..Options::default() });
        // A page alone has room for it.
        let cube = flags.output.has_page().then(|| Cube::new(Headline::Response));
        let (table, table_file) = table.unzip();
        let recording = begin_recording(record, inputs, &source)?;
        let has_outputs = cube.is_some() || table.is_some() || recording.is_some();
        let outputs = OutputThread::new(((cube, table), recording), other_thread && has_outputs);
        let sinks = filter.before(((statistics, outputs), live));
        let observer = Observer::new(sinks).with_session_keys(keys);
        let running = Running { filter: flags.filter, hosts, source, output, table: table_file };
        Ok((observer, running))
    }
}

impl Running {
    /// All packets have been read: writes the report to each destination.
    pub(crate) fn end(self, observed: Observed<Sinks>, captures: &Captures) -> anyhow::Result<Done> {
        let Self { filter, hosts, source, output, table: table_file } = self;
        let Observed { sink: filtered, names, mut coverage } = observed;
        captures.anomalies().add_to(&mut coverage.anomalies);
        coverage.anomalies.add_many(Anomaly::ReadingInterrupted, u64::from(captures.interrupted()));
        filter.check(coverage.first_ns, coverage.last_ns)?;
        filtered.narrow(&mut coverage);
        let span_ns = (coverage.first_ns, coverage.last_ns);
        let ((statistics, outputs), _) = filtered.sink;
        let ((cube, table), recording) = outputs.finish(&names);
        let table = table.zip(table_file).map_or(Ok(()), |(table, file)| finish_table(table.finish(&names), file));
        let recording = recording.map(|recording| recording.end((&statistics, &coverage), span_ns, &names)).transpose();
        let drill = cube.map(|cube| DrillDown::collect(&cube, &names, &source, status_name));
        let findings = Findings::collect(&statistics, &coverage, &names, source, status_name);
        let findings = findings.with_host_names(|ip| hosts.name(ip).or_else(|| names.hosts.name(ip)));
        let recording =
            recording.and_then(|recorder| recorder.map_or(Ok(()), |one| one.finish(captures.interrupted(), &findings)));
        // Where one place takes nothing, the others get theirs all the same.
        let done = Done::with(&findings.validity, output.prints());
        first_error([output.write_with(&findings.into(), drill.as_ref()), table, recording])?;
        Ok(done)
    }
}

/// Describes the input.
fn source(inputs: &[PathBuf], filter: &Filter, about: About) -> Source {
    Source {
        tool: format!("plimsoll {}", env!("CARGO_PKG_VERSION")),
        inputs: inputs.iter().map(|path| path.display().to_string()).collect(),
        filters: filter.describe(),
        vantage: "wire".to_owned(),
        about,
    }
}

/// Begins a recording, if one is wanted.
fn begin_recording(flags: &RecordFlags, inputs: &[PathBuf], source: &Source) -> anyhow::Result<Option<SyncRecorder>> {
    let captures = inputs.iter().map(|path| Capture::of(Path::new(path))).collect();
    let measured = Measurement::Analyze { source: source.clone(), captures };
    let Some(to) = flags.to() else { return Ok(None) };
    SyncRecorder::begin(to.begin(&measured, "the clock of the capture", 1)?).map(Some)
}

fn parse_dimensions(text: &str) -> Result<Dimensions, String> {
    let labels = || Dimension::ALL.iter().map(|dimension| dimension.label()).collect::<Vec<_>>().join(", ");
    let known = |label: &str| {
        let found = Dimension::ALL.iter().find(|dimension| dimension.label() == label.trim());
        found.copied().ok_or_else(|| format!("{label}: expected one of {}", labels()))
    };
    let wanted = text.split(',').map(known).collect::<Result<Vec<_>, _>>()?;
    Dimensions::new(&wanted).ok_or_else(|| format!("{text}: expected 1 to {MAX_DIMENSIONS} different keys"))
}
