//! A capture as one side of a comparison.

use std::path::Path;

use anyhow::Context;
use plimsoll_observe::capture::{Captures, Input};
use plimsoll_observe::{Observed, Observer, status_name};
use plimsoll_report::collect::comparison::{Contestant, LevelRuns, MeasuredRun};
use plimsoll_report::findings::{Findings, Source};
use plimsoll_results::comparison::{ComparedSide, WHOLE_CAPTURE};
use plimsoll_stats::{IntervalRecorder, Intervals, Options, Statistics};

use crate::filter::{Filter, Filtered};
use crate::keys::Keys;
use crate::progress::Bar;
use crate::tables::Tables;

/// Reads a capture through `filter`, and returns its side of the comparison and the findings of `analyze`.
pub(super) fn read(path: &Path, filter: &Filter, keys: &Keys, quiet: bool) -> anyhow::Result<ComparedSide> {
    let name = path.display().to_string();
    let mut captures = Captures::open(vec![Input::File(path.to_owned())])?;
    let sinks =
        (IntervalRecorder::new(Intervals::growing()), Statistics::new(Options { tallies: true, ..Options::default() }));
    let mut observer = Observer::new(filter.before(sinks)).with_session_keys(keys.read()?);
    let mut packets = false;
    let mut bar = Bar::new(quiet);
    while let Some(frame) = captures.next().with_context(|| name.clone())? {
        packets = true;
        observer.frame(&frame);
        bar.frame(|| {
            let progress = captures.progress();
            (progress.bytes_read, progress.bytes_total)
        });
    }
    bar.finish();
    anyhow::ensure!(packets, "{name}: the capture contains no packets: check the capture command");
    let mut observed = observer.finish();
    captures.anomalies().add_to(&mut observed.coverage.anomalies);
    filter.check(observed.coverage.first_ns, observed.coverage.last_ns).with_context(|| name.clone())?;
    observed.sink.narrow(&mut observed.coverage);
    Ok(side(name, observed, filter, "wire"))
}

/// Reads a transactions table, or a recording of all transactions, of which `filter` leaves something.
pub(super) fn read_table(path: &Path, tables: Tables, filter: &Filter) -> anyhow::Result<ComparedSide> {
    let (vantage, leads) = (tables.vantage(), tables.headline());
    let statistics = Statistics::new(Options { headline: leads, tallies: true, ..Options::default() });
    let observed = tables.read(filter, (IntervalRecorder::new(Intervals::growing()).of(leads), statistics))?;
    let mut side = side(path.display().to_string(), observed, filter, vantage);
    side.contestant.findings = side.contestant.findings.of_a_table();
    Ok(side)
}

/// One side, as read.
fn side(
    name: String,
    observed: Observed<Filtered<(IntervalRecorder, Statistics)>>,
    filter: &Filter,
    vantage: &str,
) -> ComparedSide {
    let span_ns = (observed.coverage.first_ns.unwrap_or(0), observed.coverage.last_ns.unwrap_or(0));
    let (recorder, statistics) = observed.sink.sink;
    let intervals = recorder.finish();
    let source = Source {
        tool: format!("plimsoll {}", env!("CARGO_PKG_VERSION")),
        inputs: vec![name],
        filters: filter.describe(),
        vantage: vantage.to_owned(),
        about: Default::default(),
    };
    let findings = Findings::collect(&statistics, &observed.coverage, &observed.names, source, status_name);
    let runs = vec![MeasuredRun { span_ns, intervals }];
    let levels = vec![LevelRuns { level: WHOLE_CAPTURE.to_owned(), point: None, runs }];
    ComparedSide { contestant: Contestant { findings, levels }, unfinished: None }
}
