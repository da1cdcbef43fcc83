//! `plimsoll analyze`: a packet capture becomes response times.

use std::path::PathBuf;

use plimsoll_observe::capture::{Captures, Input, StopReading, capture_files};

use plimsoll_analysis::Chain;

use crate::exit::{Done, Interrupted, Usage};
use crate::flags::analysis::{Analysis, AnalysisFlags, end};
use crate::flags::chain::ChainFlags;
use crate::shell;
use crate::{interrupt, memory};
use plimsoll_results::Tables;

/// Why there is no report.
pub(crate) const NOTHING_READ: Interrupted = Interrupted("the first packet: no report");

const EXAMPLES: &str = "Examples:
  plimsoll analyze trace.pcapng
  plimsoll analyze trace.pcapng --by client,operation --html report.html
  plimsoll analyze trace.pcapng --path '*.docx' --slower-than 100ms --by user
  tcpdump -i eth0 -U -w - port 445 | plimsoll analyze -";

/// Reads packet captures (pcap, pcapng, snoop, NetXRay, NetMon; also compressed with gzip or zstd) and reports response
/// times. Also reads transactions tables (Parquet, CSV) and recordings.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Captures, or a folder of captures; - reads standard input. Several captures are read in the order of their first
    /// timestamps. Also accepted: transactions tables (written with --transactions), and recordings made with
    /// `--record-transactions all`
    #[arg(required = true, value_name = "CAPTURE")]
    captures: Vec<PathBuf>,
    /// Maximum number of threads [default: 1]. With 2, one thread reads and decompresses the captures while the other analyzes
    /// them; with 3 or more, a third thread writes the files of --transactions and --record and collects the data of --html.
    /// The number of threads does not change the results
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    #[command(flatten)]
    chain: ChainFlags,
    #[command(flatten)]
    analysis: AnalysisFlags,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let Arguments { captures: inputs, threads, chain, analysis: flags } = arguments;
    let (stop, quiet) = (StopReading::default(), flags.output.quiet);
    catch(&stop, quiet)?;
    let mut analysis = Analysis::open(flags, &inputs, &chain)?;
    if let Some(tables) = Tables::open(&inputs)? {
        return analyze_tables(tables, analysis, threads);
    }
    let files = capture_files(&inputs)?;
    let keys = analysis.keys()?;
    let carried = analysis.job.chain.as_mut().map(Chain::carried).unwrap_or_default();
    let opened = Captures::open_behind(files.iter().map(Input::of).collect(), carried, stop.clone());
    let mut captures = opened.map_err(|error| match stop.asked() {
        true => anyhow::Error::from(NOTHING_READ),
        false => error.into(),
    })?;
    let threads = threads.map_or(1, usize::from);
    let Analysis { job, output, .. } = analysis;
    let mut running = job.begin(&files, keys, None, threads >= 3)?;
    memory::settle_down();
    let read = running.read(&mut captures, threads, quiet);
    if !matches!(read, Ok(true)) {
        // This restores the recording that it was to replace.
        running.discard();
        read?;
        if captures.interrupted() {
            return Err(NOTHING_READ.into());
        }
        anyhow::bail!(captures.anomalies().no_packets());
    }
    end(running, &captures, output, None)
}

/// Analyses transactions tables, and recordings that hold all transactions.
fn analyze_tables(tables: Tables, analysis: Analysis, threads: Option<u16>) -> anyhow::Result<Done> {
    let Analysis { flags, job, output } = analysis;
    if flags.transactions.is_some() || flags.record.to().is_some() || flags.keys.given() || threads.is_some() {
        let why = "--transactions, --record, --threads and session keys apply to captures only, but the input is a transactions \
            table or a recording: remove these options";
        return Err(Usage(why.to_owned()).into());
    }
    let (findings, drill) = job.of_tables(tables)?;
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
                "plimsoll: interrupted; reporting the packets read so far (press Ctrl-C again to exit \
            without a report)",
            );
        }
    })
}
