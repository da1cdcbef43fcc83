//! `plimsoll analyze`: a packet capture becomes response times.

use std::path::{Path, PathBuf};

use plimsoll_model::Anomaly;
use plimsoll_observe::capture::{Captures, Input, StopReading};
use plimsoll_observe::decrypt::SessionKeys;
use plimsoll_observe::{Observed, Observer, status_name};
use plimsoll_report::findings::{About, DrillDown, Findings, Source};
use plimsoll_stats::cube::Cube;
use plimsoll_stats::{Dimension, Dimensions, Headline, MAX_DIMENSIONS, Options, Statistics};

use crate::about::AboutFlags;
use crate::batched::Batched;
use crate::exit::{Done, Usage, first_error};
use crate::filter::{Filter, Filtered};
use crate::hosts::Hosts;
use crate::interrupt;
use crate::keys::Keys;
use crate::output::{OpenOutput, Output, finish_table};
use crate::output_file::Files;
use crate::progress::Bar;
use crate::record::RecordFlags;
use crate::shell;
use crate::tables::Tables;
use plimsoll_results::record::{Capture, Measurement, SyncRecorder};

const EXAMPLES: &str = "Examples:
  plimsoll analyze trace.pcapng
  plimsoll analyze trace.pcapng --by client,operation --html report.html
  plimsoll analyze trace.pcapng --client 10.0.0.0/8 --path '*.docx' --slower-than 100ms --by user,path
  tcpdump -i eth0 -U -w - port 445 | plimsoll analyze -";

/// Reads packet captures (pcap, pcapng, snoop, NetXRay, NetMon; also compressed with gzip or zstd) and reports response
/// times. Also reads transactions tables (Parquet, CSV) and recordings.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Captures; - reads standard input. Several captures are read in the order of their first timestamps. Transactions
    /// tables (written with --transactions) and recordings made with --record-transactions all are accepted too
    #[arg(required = true, value_name = "CAPTURE")]
    captures: Vec<PathBuf>,
    #[command(flatten)]
    keys: Keys,
    /// Group the numbers by up to three keys, e.g. client,operation. Keys: client, server, share, user, path,
    /// connection, operation, status, protocol, second, minute, hour
    #[arg(long, value_name = "KEY[,KEY]", value_parser = parse_dimensions)]
    by: Option<Dimensions>,
    /// Number of the slowest operations, and of the unanswered operations, to list
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    slowest: usize,
    /// Write one row per transaction to FILE.parquet or FILE.csv
    #[arg(long, value_name = "FILE")]
    transactions: Option<PathBuf>,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    about: AboutFlags,
    #[command(flatten)]
    record: RecordFlags,
    #[command(flatten)]
    output: Output,
}

type Sinks = Filtered<(((Statistics, Option<Cube>), Option<Batched>), Option<SyncRecorder>)>;

/// Runs the subcommand.
pub(crate) fn run(mut arguments: Arguments) -> anyhow::Result<Done> {
    let stop = StopReading::default();
    catch(&stop, arguments.output.quiet)?;
    let hosts = arguments.filter.resolve()?;
    let inputs = arguments
        .captures
        .iter()
        .map(PathBuf::as_path)
        .chain(arguments.keys.files())
        .chain(arguments.filter.files())
        .chain(arguments.about.files());
    let mut files = Files::reading(inputs);
    files.fills("--record", arguments.record.folder());
    let about = arguments.about.read()?;
    let output = arguments.output.open(&mut files)?;
    let table = arguments.transactions.as_deref().map(|path| crate::output::table(path, &mut files)).transpose()?;
    let (table, table_file) = table.unzip();
    if let Some(tables) = Tables::open(&arguments.captures)? {
        return analyze_tables(tables, (&arguments, &hosts), about, output);
    }
    let keys = arguments.keys.read()?;
    let inputs = arguments.captures.iter().map(|path| input(path)).collect();
    let opened = Captures::open_until(inputs, stop.clone());
    let mut captures = opened.map_err(|error| match stop.asked() {
        true => anyhow::anyhow!("interrupted before the first packet: no report"),
        false => error.into(),
    })?;
    let table = table.map(Batched::new);
    let source = source(&arguments, about);
    let recording = record(&arguments, &source)?;
    let observed = observe(&mut captures, (table, recording), keys, &arguments)?;
    let Observed { sink: filtered, names, mut coverage } = observed;
    captures.anomalies().add_to(&mut coverage.anomalies);
    coverage.anomalies.add_many(Anomaly::ReadingInterrupted, u64::from(captures.interrupted()));
    arguments.filter.check(coverage.first_ns, coverage.last_ns)?;
    filtered.narrow(&mut coverage);
    let span_ns = (coverage.first_ns, coverage.last_ns);
    let (((statistics, cube), table), recording) = filtered.sink;
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

/// Analyses transactions tables, and recordings that hold all transactions.
fn analyze_tables(
    tables: Tables,
    (arguments, hosts): (&Arguments, &Hosts),
    about: About,
    output: OpenOutput,
) -> anyhow::Result<Done> {
    if arguments.transactions.is_some() || arguments.record.to().is_some() || arguments.keys.given() {
        let why = "--transactions, --record and session keys apply to captures only, but the input is a transactions \
            table or a recording: remove these options";
        return Err(Usage(why.to_owned()).into());
    }
    let source = Source { vantage: tables.vantage().to_owned(), ..source(arguments, about) };
    let (by, headline) = (arguments.by, tables.headline());
    let statistics = Statistics::new(Options { slowest: arguments.slowest, by, headline, tallies: true });
    let cube = arguments.output.has_page().then(|| Cube::new(headline));
    let Observed { sink, names, coverage } = tables.read(&arguments.filter, (statistics, cube))?;
    let (statistics, cube) = sink.sink;
    let drill = cube.map(|cube| DrillDown::collect(&cube, &names, &source, status_name));
    let findings = Findings::collect(&statistics, &coverage, &names, source, status_name).of_a_table();
    let findings = findings.with_host_names(|ip| hosts.name(ip));
    let done = Done::with(&findings.validity, output.prints());
    output.write_with(&findings.into(), drill.as_ref())?;
    Ok(done)
}

/// Ctrl-C stops reading; the report then covers the packets read so far.
fn catch(stop: &StopReading, quiet: bool) -> anyhow::Result<()> {
    let stop = stop.clone();
    interrupt::stop_then_end(move || {
        stop.ask();
        if !quiet {
            shell::note(
                "plimsoll: interrupted: reporting the packets read so far (press Ctrl-C again to exit \
            without a report)",
            );
        }
    })
}

/// Describes the input.
fn source(arguments: &Arguments, about: About) -> Source {
    Source {
        tool: format!("plimsoll {}", env!("CARGO_PKG_VERSION")),
        inputs: arguments.captures.iter().map(|path| path.display().to_string()).collect(),
        filters: arguments.filter.describe(),
        vantage: "wire".to_owned(),
        about,
    }
}

/// Begins a recording, if one is wanted.
fn record(arguments: &Arguments, source: &Source) -> anyhow::Result<Option<SyncRecorder>> {
    let captures = arguments.captures.iter().map(|path| Capture::of(path)).collect();
    let measured = Measurement::Analyze { source: source.clone(), captures };
    let Some(to) = arguments.record.to() else { return Ok(None) };
    SyncRecorder::begin(to.begin(&measured, "the clock of the capture", 1)?).map(Some)
}

/// Gives every frame to an observer.
fn observe(
    captures: &mut Captures,
    (table, recording): (Option<Batched>, Option<SyncRecorder>),
    keys: SessionKeys,
    arguments: &Arguments,
) -> anyhow::Result<Observed<Sinks>> {
    let statistics =
        Statistics::new(Options { slowest: arguments.slowest, by: arguments.by, tallies: true, ..Options::default() });
    // A page alone has room for it.
    let cube = arguments.output.has_page().then(|| Cube::new(Headline::Response));
    let sinks = arguments.filter.before((((statistics, cube), table), recording));
    let mut observer = Observer::new(sinks).with_session_keys(keys);
    let mut packets = false;
    let mut bar = Bar::new(arguments.output.quiet);
    while let Some(frame) = captures.next()? {
        packets = true;
        observer.frame(&frame);
        bar.frame(|| {
            let progress = captures.progress();
            (progress.bytes_read, progress.bytes_total)
        });
    }
    bar.finish();
    let why = match captures.interrupted() {
        true => "interrupted before the first packet: no report",
        false => "the capture contains no packets: check the capture command",
    };
    anyhow::ensure!(packets, why);
    Ok(observer.finish())
}

fn input(path: &Path) -> Input {
    if path == Path::new("-") { Input::Stdin } else { Input::File(path.to_owned()) }
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
