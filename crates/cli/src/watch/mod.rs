//! `plimsoll watch`: what a server does while it does it.

mod input;
mod lines;
mod pace;

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_observe::capture::{Next, StopReading};
use plimsoll_report::findings::Source;
use plimsoll_stats::live::Recent;

use crate::analysis::{Analysis, AnalysisFlags};
use crate::drive::parse_size;
use crate::exit::{Done, Usage};
use crate::interrupt;
use crate::shell;
use input::Opened;
use lines::Lines;
use pace::Pace;

const EXAMPLES: &str = "Examples:
  plimsoll watch eth0
  plimsoll watch eth0 --duration 10m --save packets --html report.html
  plimsoll watch lo --port 4450 --interval 10s
  ssh server tcpdump -i eth0 -U -w - port 2049 | plimsoll watch -

An interface needs CAP_NET_RAW. `plimsoll analyze packets/*` reads what --save stored.";

/// Captures a network interface, or reads a capture while it is written, and shows the file server's response times
/// while it works. At the end (Ctrl-C, --duration) it prints the report that `plimsoll analyze` prints.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Network interface, e.g. eth0; - reads a capture from standard input. Also capture files: a name with a slash
    /// (./eth0) is always a file
    #[arg(required = true, value_name = "INTERFACE|-|FILE")]
    sources: Vec<PathBuf>,
    /// End after this time, e.g. 10m [default: at Ctrl-C, or at the end of the input]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    duration: Option<Duration>,
    /// Time covered by each line, in whole seconds
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = parse_seconds)]
    interval: u64,
    #[command(flatten)]
    capture: CaptureFlags,
    #[command(flatten)]
    analysis: AnalysisFlags,
}

/// How an interface is captured, as flags.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Capture")]
struct CaptureFlags {
    /// Also capture this port of a file server (always captured: 445, 139, 2049 and 111); may be repeated
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Vec<u16>,
    /// Memory for packets that were captured and not yet analysed
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = parse_size)]
    buffer: u64,
    /// Save the captured packets as pcapng files in this folder, which must be empty or new
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Most bytes of all saved files together; the oldest file is deleted first
    #[arg(long, value_name = "BYTES", default_value = "1GiB", value_parser = parse_size, requires = "save")]
    save_size: u64,
    /// Delete saved packets that are older than this, a file at a time [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, requires = "save")]
    save_time: Option<Duration>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let Arguments { sources, duration, interval, capture, analysis: flags } = arguments;
    let (stop, quiet) = (StopReading::default(), flags.output.quiet);
    // First: opening an interface gives up rights, which threads that run by then would keep.
    let opened = Opened::new(&sources, &capture)?;
    interrupt::stop_then_end({
        let stop = stop.clone();
        move || stop.ask()
    })?;
    let mut analysis = Analysis::open(flags, &sources)?;
    if let Opened::Interface(interface) = &opened {
        analysis.source.inputs = vec![Source::interface(interface.name())];
        if !quiet {
            shell::note(&format!(
                "plimsoll: capturing {}; Ctrl-C ends the capture and prints the report",
                interface.name()
            ));
        }
    }
    let keys = analysis.keys()?;
    let counts = opened.counts();
    let mut captures = opened.captures(&sources, &stop)?.as_they_come();
    let (mut observer, running) = analysis.begin(&sources, keys, Some(Box::new(Recent::new())))?;
    let mut pace = Pace::new(duration);
    let mut lines = Lines::new(interval, quiet);
    let mut told = 0;
    let mut packets = false;
    loop {
        match captures.next_or_idle()? {
            Next::Frame(frame) => {
                packets = true;
                pace.frame(frame.time_ns);
                observer.frame(&frame);
                if !pace.is_due_after_frame() {
                    continue;
                }
            }
            Next::Idle if pace.is_due() => {}
            Next::Idle => continue,
            Next::End => break,
        }
        if pace.is_over() {
            stop.ask();
        }
        let drops = captures.anomalies().reported_drops;
        if let (Some(now_ns), (sinks, _)) = (pace.now_ns(), observer.sink())
            && let Some(recent) = &mut sinks.sink.1
        {
            recent.lose(now_ns, drops - std::mem::replace(&mut told, drops));
            recent.advance(now_ns);
            lines.show(recent, now_ns);
        }
        if let Some(error) = counts.as_ref().and_then(|counts| counts.take_save_error()) {
            shell::note(&format!("plimsoll: --save: cannot write: {error}; packets are no longer saved"));
        }
    }
    anyhow::ensure!(packets, "no packets of a file server: check the interface and the ports (--port)");
    running.end(observer.finish(), &captures)
}

fn parse_seconds(text: &str) -> Result<u64, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let whole = duration.subsec_nanos() == 0 && (1..=60).contains(&duration.as_secs());
    if whole { Ok(duration.as_secs()) } else { Err("expected 1s to 60s in whole seconds".to_owned()) }
}

/// Refuses what applies to interfaces alone.
fn only_for_interfaces(flags: &CaptureFlags) -> Result<(), Usage> {
    if flags.save.is_some() || !flags.port.is_empty() {
        let why =
            "--save and --port apply to a network interface only; save a pipe with `| tee FILE | plimsoll watch -`";
        return Err(Usage(why.to_owned()));
    }
    Ok(())
}
