//! What `analyze` and `watch` do with packets: the same flags, outputs and report.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_model::Anomaly;
use plimsoll_observe::capture::Captures;
use plimsoll_observe::decrypt::SessionKeys;
use plimsoll_observe::filter::Filtered;
use plimsoll_observe::names::HostsFile;
use plimsoll_observe::{Observed, Observer, status_name};
use plimsoll_recording::Batched;
use plimsoll_report::findings::{About, DrillDown, Findings, Source};
use plimsoll_stats::cube::Cube;
use plimsoll_stats::io::Limits;
use plimsoll_stats::live::{Recent, Totals};
use plimsoll_stats::{Dimension, Dimensions, Headline, MAX_DIMENSIONS, Options, Statistics};

use crate::about::AboutFlags;
use crate::chain::{Chain, ChainFlags, Valve};
use crate::exit::{Done, Usage, first_error};
use crate::filter::Filter;
use crate::keys::Keys;
use crate::output::{OpenOutput, Output, finish_table};
use crate::record::RecordFlags;
use plimsoll_console::output_file::{Files, OutputFile};
use plimsoll_observe::output_thread::OutputThread;
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
    /// Number of slowest operations to list; the list of unanswered operations has the same limit
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

/// The sinks of transactions. A watch also has sinks for the last minutes, and for metrics.
pub(crate) type Sinks = Filtered<((Statistics, Valve<OutputThread<Outputs>>), Option<Box<Live>>)>;
/// The sinks for the page, the table and the recording.
type Outputs = ((Option<Cube>, Option<Batched>), Option<SyncRecorder>);
/// The additional sinks of a watch.
pub(crate) type Live = (Recent, Option<Totals>);

/// An analysis whose outputs are open.
pub(crate) struct Analysis {
    pub(crate) flags: AnalysisFlags,
    pub(crate) hosts: HostsFile,
    pub(crate) source: Source,
    pub(crate) output: OpenOutput,
    table: Option<(Batched, OutputFile)>,
    chain: Option<Chain>,
}

/// An analysis at work, beside its observer.
pub(crate) struct Running {
    filter: Filter,
    hosts: HostsFile,
    source: Source,
    output: OpenOutput,
    table: Option<OutputFile>,
    chain: Option<Chain>,
}

impl Analysis {
    /// Opens the outputs, none of which may be one of the inputs.
    pub(crate) fn open(mut flags: AnalysisFlags, inputs: &[PathBuf], chain: &ChainFlags) -> anyhow::Result<Self> {
        let hosts = flags.filter.resolve()?;
        let read = inputs.iter().map(PathBuf::as_path).chain(flags.keys.files()).chain(chain.files());
        let mut files = Files::reading(read.chain(flags.filter.files()).chain(flags.about.files()));
        files.fills("--record", flags.record.folder());
        let about = flags.about.read()?;
        let output = flags.output.open(&mut files)?;
        let table = flags.transactions.as_deref().map(|path| crate::output::table(path, &mut files)).transpose()?;
        let table = table.map(|(table, file)| (Batched::new(table), file));
        let source = source(inputs, &flags.filter, about);
        let chain = Chain::open(chain, flags.counted(), &mut files)?;
        if chain.is_some() && (flags.keys.given() || flags.output.has_page()) {
            let why = "--html and session keys cannot be used with --hand-over-from and --hand-over-to; \
                for a page, use `plimsoll merge --html` with the recordings of all jobs";
            return Err(Usage(why.to_owned()).into());
        }
        Ok(Self { flags, hosts, source, output, table, chain })
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
        let Self { flags, hosts, mut source, output, table, mut chain } = self;
        let AnalysisFlags { by, slowest, filter, record, .. } = &flags;
        let options = Options {
            slowest: *slowest,
            by: *by,
            tallies: true,
            io: flags.has_io().then_some(Limits::CAPTURE),
            ..Options::default()
        };
        let before = chain.as_mut().and_then(Chain::take_from);
        if let (Some(chain), before) = (&mut chain, &before) {
            let earlier = before.iter().flat_map(|before| &before.inputs).cloned();
            source.inputs = earlier.chain(source.inputs).collect();
            chain.covers(&source.inputs);
        }
        // A page alone has room for it.
        let cube = flags.output.has_page().then(|| Cube::new(Headline::Response));
        let (table, table_file) = table.unzip();
        let recording = begin_recording(record, inputs, &source, chain.as_ref())?;
        let has_outputs = cube.is_some() || table.is_some() || recording.is_some();
        let outputs = OutputThread::new(((cube, table), recording), other_thread && has_outputs);
        let sinks = |statistics| filter.before(((statistics, Valve::open(outputs)), live));
        let observer = match before {
            Some(before) => {
                let sinks = sinks(before.statistics).of_state(before.filter);
                Observer::of_state(&before.observer, sinks).context("--hand-over-from")?
            }
            None => Observer::new(sinks(Statistics::new(options))).with_session_keys(keys),
        };
        let running = Running { filter: flags.filter, hosts, source, output, table: table_file, chain };
        Ok((observer, running))
    }
}

impl Analysis {
    /// The job's place in a chain of jobs.
    pub(crate) fn chain(&mut self) -> Option<&mut Chain> {
        self.chain.as_mut()
    }
}

impl AnalysisFlags {
    /// Whether anything is written that shows how files are read and written.
    fn has_io(&self) -> bool {
        self.output.has_io() || self.record.to().is_some()
    }

    /// Flags that determine which transactions count, in words: the same for all jobs of a chain.
    fn counted(&self) -> String {
        let by = self.by.iter().flat_map(|by| by.as_slice()).map(|dimension| dimension.label()).collect::<Vec<_>>();
        let by = (!by.is_empty()).then(|| format!("--by {}", by.join(",")));
        let io = self.has_io().then(|| "with --record or --json".to_owned());
        let slowest = format!("--slowest {}", self.slowest);
        [Some(slowest), by, io].into_iter().flatten().chain(self.filter.describe()).collect::<Vec<_>>().join(" ")
    }
}

impl Running {
    /// The job's place in a chain of jobs.
    pub(crate) fn chain(&mut self) -> Option<&mut Chain> {
        self.chain.as_mut()
    }

    /// All packets have been read: writes the report to each destination.
    pub(crate) fn end(self, observed: Observed<Sinks>, captures: &Captures) -> anyhow::Result<Done> {
        let Self { filter, hosts, source, output, table: table_file, chain } = self;
        let Observed { sink: filtered, names, mut coverage } = observed;
        let anomalies = chain.as_ref().map_or_else(|| captures.anomalies(), |chain| chain.anomalies(captures));
        anomalies.add_to(&mut coverage.anomalies);
        coverage.anomalies.add_many(Anomaly::ReadingInterrupted, u64::from(captures.interrupted()));
        filter.check(coverage.first_ns, coverage.last_ns)?;
        filtered.narrow(&mut coverage);
        let span_ns = (coverage.first_ns, coverage.last_ns);
        let ((statistics, outputs), _) = filtered.sink;
        let ((cube, table), recording) = outputs.sink.finish(&names);
        let table = table.zip(table_file).map_or(Ok(()), |(table, file)| finish_table(table.finish(&names), file));
        let drill = cube.map(|cube| DrillDown::collect(&cube, &names, &source, status_name));
        let findings = Findings::collect(&statistics, &coverage, &names, source, status_name);
        let named = RefCell::new(BTreeMap::new());
        let findings = findings.with_host_names(|ip| {
            let name = hosts.name(ip).or_else(|| names.hosts.name(ip))?;
            named.borrow_mut().insert(ip, name.to_owned());
            Some(name)
        });
        let end = |recording: SyncRecorder| recording.end((&statistics, &coverage), span_ns, &names, named.take());
        let recording = recording.map(end).transpose();
        let recording =
            recording.and_then(|recorder| recorder.map_or(Ok(()), |one| one.finish(captures.interrupted(), &findings)));
        // If one output fails, the others are written even so.
        let done = Done::with(&findings.validity, output.prints());
        first_error([output.write_with(&findings.into(), drill.as_ref()), table, recording])?;
        chain.map_or(Ok(()), Chain::finish)?;
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
fn begin_recording(
    flags: &RecordFlags,
    inputs: &[PathBuf],
    source: &Source,
    chain: Option<&Chain>,
) -> anyhow::Result<Option<SyncRecorder>> {
    let captures = inputs.iter().map(|path| Capture::of(Path::new(path))).collect();
    let measured =
        Measurement::Analyze { source: source.clone(), captures, link: chain.map(|chain| chain.link.clone()) };
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
