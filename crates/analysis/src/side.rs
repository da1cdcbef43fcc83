//! A capture as one side of a comparison, or as a point of one.

use std::path::Path;

use anyhow::Context;
use plimsoll_observe::capture::{Captures, Input};
use plimsoll_observe::filter::Filtered;
use plimsoll_observe::{BoxedObserver, Observed, status_name};
use plimsoll_report::collect::TableFacts;
use plimsoll_report::collect::comparison::{Contestant, LevelRuns, LoadPoint, MeasuredRun};
use plimsoll_report::findings::{Findings, Source};
use plimsoll_results::Tables;
use plimsoll_results::comparison::points::CurvePoint;
use plimsoll_results::comparison::{ComparedSide, WHOLE_CAPTURE};
use plimsoll_stats::{IntervalRecorder, Intervals, Options, Statistics};

use plimsoll_observe::decrypt::SessionKeys;

use crate::filter::Filter;
use plimsoll_console::progress::Bar;

/// How captures and tables are read.
pub struct SideReader<'a> {
    /// The transactions that count.
    pub filter: &'a Filter,
    /// The options that decide what captures and filters mean, as flags.
    pub options: &'a [String],
    /// Reads the keys of SMB 3 sessions.
    pub keys: &'a dyn Fn() -> anyhow::Result<SessionKeys>,
    /// Without progress.
    pub quiet: bool,
}

/// A capture or a table, as read.
struct Whole {
    name: String,
    observed: Observed<Filtered<(IntervalRecorder, Statistics)>>,
    vantage: &'static str,
    table: Option<Table>,
}

/// The facts about a table that are not in its rows.
struct Table {
    facts: TableFacts,
    level_name: String,
    point: Option<LoadPoint>,
    unfinished: Option<String>,
}

impl Table {
    fn of(tables: &Tables) -> Self {
        let (facts, level_name) = (tables.facts(), tables.level_name());
        Self { facts, level_name, point: tables.point(), unfinished: tables.unfinished() }
    }
}

impl SideReader<'_> {
    /// A side of the comparison, with the findings of `analyze`.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn side(&self, path: &Path) -> anyhow::Result<ComparedSide> {
        let whole = self.whole(path, Options { tallies: true, ..Options::default() })?;
        let (recorder, statistics) = whole.observed.sink.sink;
        let coverage = whole.observed.coverage;
        let span_ns = (coverage.first_ns.unwrap_or(0), coverage.last_ns.unwrap_or(0));
        let source = Source {
            tool: format!("plimsoll {}", env!("CARGO_PKG_VERSION")),
            inputs: vec![whole.name],
            filters: self.filter.describe(),
            options: self.options.to_vec(),
            vantage: whole.vantage.to_owned(),
            about: Default::default(),
        };
        let findings = Findings::collect(&statistics, &coverage, &whole.observed.names, source, status_name);
        let (findings, level_name, point, unfinished) = match whole.table {
            Some(Table { facts, level_name, point, unfinished }) => {
                (findings.of_a_table(facts), level_name, point, unfinished)
            }
            None => (findings, WHOLE_CAPTURE.to_owned(), None, None),
        };
        let runs = vec![MeasuredRun { span_ns, intervals: recorder.finish() }];
        let levels = vec![LevelRuns { level_name, point, runs, findings: None }];
        Ok(ComparedSide { contestant: Contestant { findings, levels }, unfinished })
    }

    /// A point of a curve.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn point(&self, path: &Path) -> anyhow::Result<CurvePoint> {
        // Names of different captures are of different sets: nothing with names is kept.
        let Whole { observed, vantage, table, .. } = self.whole(path, Options { slowest: 0, ..Options::default() })?;
        let (recorder, statistics) = observed.sink.sink;
        let (coverage, names) = (observed.coverage, observed.names);
        let source = Source { filters: self.filter.describe(), ..Source::default() };
        let findings = Findings::collect(&statistics, &coverage, &names, source, status_name);
        let findings = match table {
            Some(table) => findings.of_a_table(table.facts),
            None => findings,
        };
        Ok(CurvePoint {
            statistics,
            intervals: recorder.finish(),
            span_ns: (coverage.first_ns.unwrap_or(0), coverage.last_ns.unwrap_or(0)),
            connections: coverage.connections,
            findings,
            vantage,
        })
    }

    /// Reads a capture or a table through the filter.
    fn whole(&self, path: &Path, options: Options) -> anyhow::Result<Whole> {
        match Tables::open(&[path.to_owned()])? {
            Some(tables) => self.table(path, tables, options),
            None => self.capture(path, options),
        }
    }

    fn table(&self, path: &Path, tables: Tables, options: Options) -> anyhow::Result<Whole> {
        let (vantage, headline, table) = (tables.vantage(), tables.headline(), Table::of(&tables));
        let statistics = Statistics::new(Options { headline, ..options });
        let recorder = IntervalRecorder::new(Intervals::growing()).of(headline);
        let observed = self.filter.read(tables, (recorder, statistics))?;
        Ok(Whole { name: path.display().to_string(), observed, vantage, table: Some(table) })
    }

    fn capture(&self, path: &Path, options: Options) -> anyhow::Result<Whole> {
        let name = path.display().to_string();
        let mut captures = Captures::open(vec![Input::File(path.to_owned())])?;
        let sinks = (IntervalRecorder::new(Intervals::growing()), Statistics::new(options));
        let mut sink = self.filter.before(sinks);
        let mut observer = BoxedObserver::new(Box::new(&mut sink)).with_session_keys((self.keys)()?);
        let mut packets = false;
        let mut bar = Bar::new(self.quiet);
        while let Some(frame) = captures.next().with_context(|| name.clone())? {
            packets = true;
            observer.frame(&frame);
            bar.frame(|| {
                let progress = captures.progress();
                (progress.bytes_read, progress.bytes_total)
            });
        }
        bar.finish();
        let anomalies = captures.anomalies();
        anyhow::ensure!(packets, "{name}: {}", anomalies.no_packets());
        if let Some(ns) = anomalies.captured_until_ns {
            observer.captured_until(ns);
        }
        let (names, mut coverage) = observer.finish();
        anomalies.add_to(&mut coverage);
        self.filter.check(coverage.first_ns, coverage.last_ns).with_context(|| name.clone())?;
        sink.narrow(&mut coverage);
        let observed = Observed { sink, names, coverage };
        Ok(Whole { name, observed, vantage: "wire", table: None })
    }
}
