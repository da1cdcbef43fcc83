//! A job that turns packets or tables into findings: its sinks, its outputs that hold transactions, and its place in a chain of jobs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_console::output_file::OutputFile;
use plimsoll_model::{Names, Sink, Transaction};
use plimsoll_observe::decrypt::SessionKeys;
use plimsoll_observe::filter::Filtered;
use plimsoll_observe::names::HostsFile;
use plimsoll_observe::output_thread::OutputThread;
use plimsoll_observe::{Observed, Observer, status_name};
use plimsoll_recording::Batched;
use plimsoll_report::findings::{About, DrillDown, Findings, Source};
use plimsoll_report::safe::for_shell;
use plimsoll_results::Tables;
use plimsoll_results::record::{Capture, Measurement, RecordTo, SyncRecorder};
use plimsoll_stats::cube::Cube;
use plimsoll_stats::io::Limits;
use plimsoll_stats::live::{Recent, Totals};
use plimsoll_stats::{Dimensions, Headline, Options, SharedStatistics, Statistics};

use crate::chain::Chain;
use crate::filter::Filter;
use crate::running::{Report, Running};

/// What an analysis is to find out.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Keys of the groups.
    pub by: Option<Dimensions>,
    /// Number of slowest operations.
    pub slowest: usize,
    /// How files are read and written.
    pub io: bool,
    /// The data of a page's drill-down.
    pub page: bool,
    /// The transactions that count.
    pub filter: Filter,
    /// A recording.
    pub record: Option<RecordTo>,
}

impl Wanted {
    /// What determines which transactions count, in words: the same for all jobs of a chain.
    pub fn describe(&self) -> String {
        let by = self.by.iter().flat_map(|by| by.as_slice()).map(|dimension| dimension.label()).collect::<Vec<_>>();
        let by = (!by.is_empty()).then(|| format!("--by {}", by.join(",")));
        let io = self.io.then(|| "with --record or --json".to_owned());
        let slowest = format!("--slowest {}", self.slowest);
        let filters = self.filter.describe();
        // Names of hosts decide what a filter means.
        let hosts = self.filter.hosts.as_ref().filter(|_| !filters.is_empty());
        let hosts = hosts.map(|file| format!("--hosts {}", for_shell(&file.display().to_string())));
        [Some(slowest), by, io, hosts].into_iter().flatten().chain(filters).collect::<Vec<_>>().join(" ")
    }
}

/// Where the packets go.
pub(crate) type JobObserver = Observer<Filtered<Sinks>>;
/// The sinks for the page, the table and the recording.
type Outputs = ((Option<Cube>, Option<Batched>), Option<SyncRecorder>);
/// The additional sinks of a watch.
pub type Live = (Recent, Option<Totals>);

/// The sinks of transactions.
pub(crate) struct Sinks {
    pub(crate) statistics: SharedStatistics,
    pub(crate) outputs: OutputThread<Outputs>,
    /// The outputs get no more: the remaining packets are for those of the next job.
    pub(crate) outputs_closed: bool,
    /// In a watch: for the last minutes, and for metrics.
    pub(crate) live: Option<Box<Live>>,
}

impl Sink for Sinks {
    fn begin(&mut self, start_ns: i64) {
        self.statistics.begin(start_ns);
        self.outputs.begin(start_ns);
        self.live.begin(start_ns);
    }

    #[inline]
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        self.statistics.transaction(transaction, names);
        if !self.outputs_closed {
            self.outputs.transaction(transaction, names);
        }
        self.live.transaction(transaction, names);
    }
}

/// A job whose outputs are open.
pub struct Job {
    /// What it is to find out.
    pub wanted: Wanted,
    /// Names of hosts.
    pub hosts: HostsFile,
    /// Its input.
    pub source: Source,
    /// The table of transactions, and its file.
    pub table: Option<(Batched, OutputFile)>,
    /// Its place in a chain of jobs.
    pub chain: Option<Chain>,
}

/// A finished job.
pub struct Analyzed {
    /// Its findings.
    pub findings: Findings,
    /// The data of a page's drill-down.
    pub drill: Option<DrillDown>,
    /// Whether the table of transactions was written.
    pub table: anyhow::Result<()>,
    /// Whether the recording was written.
    pub recording: anyhow::Result<()>,
    /// Its place in a chain of jobs, to be finished after all outputs.
    pub chain: Option<Chain>,
}

impl Job {
    /// Begins: takes frames from now on. With `live`, that takes transactions too. Outputs that hold transactions may be filled
    /// in another thread.
    ///
    /// # Errors
    /// The state of the previous job is not usable, or a recording cannot be written.
    pub fn begin(
        self,
        inputs: &[PathBuf],
        keys: SessionKeys,
        live: Option<Box<Live>>,
        other_thread: bool,
    ) -> anyhow::Result<Running> {
        let Self { wanted, hosts, mut source, table, mut chain } = self;
        let Wanted { by, slowest, filter, record, io, page } = wanted;
        let options = Options { slowest, by, tallies: true, io: io.then_some(Limits::CAPTURE), ..Options::default() };
        let before = chain.as_mut().and_then(Chain::take_from);
        if let (Some(chain), before) = (&mut chain, &before) {
            let earlier = before.iter().flat_map(|before| &before.inputs).cloned();
            source.inputs = earlier.chain(source.inputs).collect();
            chain.covers(&source.inputs);
        }
        // A page alone has room for it.
        let cube = page.then(|| Cube::new(Headline::Response));
        let (table, table_file) = table.unzip();
        let recording = begin_recording(record.as_ref(), inputs, &source, chain.as_ref())?;
        let has_outputs = cube.is_some() || table.is_some() || recording.is_some();
        let outputs = OutputThread::new(((cube, table), recording), other_thread && has_outputs);
        let sinks = |statistics| {
            let statistics = SharedStatistics::new(statistics);
            filter.before(Sinks { statistics, outputs, outputs_closed: false, live })
        };
        let observer = match before {
            Some(before) => {
                let sinks = sinks(before.statistics).of_state(before.filter);
                Observer::of_state(&before.observer, sinks).context("--hand-over-from")?
            }
            None => Observer::new(sinks(Statistics::new(options))).with_session_keys(keys),
        };
        Ok(Running { observer, chain, report: Report { filter, hosts, source, table: table_file } })
    }

    /// Analyses transactions tables.
    ///
    /// # Errors
    /// A time of the filter is not one of the tables, or a table cannot be read.
    pub fn of_tables(self, tables: Tables) -> anyhow::Result<(Findings, Option<DrillDown>)> {
        let Self { wanted: Wanted { by, slowest, io, page, filter, .. }, hosts, source, .. } = self;
        let source = Source { vantage: tables.vantage().to_owned(), ..source };
        let (headline, facts) = (tables.headline(), tables.facts());
        let io = io.then_some(Limits::CAPTURE);
        let statistics = Statistics::new(Options { slowest, by, headline, tallies: true, io });
        let cube = page.then(|| Cube::new(headline));
        let Observed { sink, names, coverage } = filter.read(tables, (statistics, cube))?;
        let (statistics, cube) = sink.sink;
        let drill = cube.map(|cube| DrillDown::collect(&cube, &names, &source, status_name));
        let findings = Findings::collect(&statistics, &coverage, &names, source, status_name).of_a_table(facts);
        Ok((findings.with_host_names(|ip| hosts.name(ip)), drill))
    }

    /// Describes the input. `options` decide what inputs and filters mean.
    pub fn source(inputs: &[PathBuf], filter: &Filter, options: Vec<String>, about: About) -> Source {
        Source {
            tool: format!("plimsoll {}", env!("CARGO_PKG_VERSION")),
            inputs: inputs.iter().map(|path| path.display().to_string()).collect(),
            filters: filter.describe(),
            options,
            vantage: "wire".to_owned(),
            about,
        }
    }
}

/// Puts the names of hosts into findings. Returns the names that they show.
pub(crate) fn name_hosts(findings: Findings, hosts: &HostsFile, names: &Names) -> (Findings, BTreeMap<IpAddr, String>) {
    let named = RefCell::new(BTreeMap::new());
    let findings = findings.with_host_names(|ip| {
        let name = hosts.name(ip).or_else(|| names.hosts.name(ip))?;
        named.borrow_mut().insert(ip, name.to_owned());
        Some(name)
    });
    (findings, named.into_inner())
}

/// Begins a recording, if one is wanted.
fn begin_recording(
    to: Option<&RecordTo>,
    inputs: &[PathBuf],
    source: &Source,
    chain: Option<&Chain>,
) -> anyhow::Result<Option<SyncRecorder>> {
    let captures = inputs.iter().map(|path| Capture::of(Path::new(path))).collect();
    let measured =
        Measurement::Analyze { source: source.clone(), captures, link: chain.map(|chain| chain.link.clone()) };
    let Some(to) = to else { return Ok(None) };
    SyncRecorder::begin(to.begin(&measured, "the clock of the capture", 1)?).map(Some)
}
