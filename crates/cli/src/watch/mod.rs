//! `plimsoll watch`: what a server does while it does it.

mod input;
mod lines;
mod pace;
mod screen;
pub(crate) mod terminal;
mod view;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_observe::Observer;
use plimsoll_observe::capture::interface::InterfaceCounts;
use plimsoll_observe::capture::{Captures, Next, StopReading};
use plimsoll_report::findings::Source;
use plimsoll_stats::live::Recent;

use crate::analysis::{Analysis, AnalysisFlags, Sinks};
use crate::drive::parse_size;
use crate::exit::{Done, Usage};
use crate::interrupt;
use crate::shell;
use input::Opened;
use lines::Lines;
use pace::Pace;
use screen::Screen;

const EXAMPLES: &str = "Examples:
  plimsoll watch eth0
  plimsoll watch eth0 --duration 10m --save packets --html report.html
  plimsoll watch lo --port 4450 --interval 10s
  ssh server tcpdump -i eth0 -U -w - port 2049 | plimsoll watch -

An interface needs CAP_NET_RAW. `plimsoll analyze packets/*` reads what --save stored.";

/// Captures a network interface, or reads a capture while it is written, and shows the file server's response times
/// while it works: in a terminal a screen that follows keys, otherwise one line per interval. At the end (q, Ctrl-C,
/// --duration) it prints the report that `plimsoll analyze` prints.
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
    /// Print lines even in a terminal
    #[arg(long)]
    lines: bool,
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
    let Arguments { sources, duration, lines, interval, capture, analysis: flags } = arguments;
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
    // A report on standard output would stand in the middle of the screen.
    let screen = (analysis.output.prints() && !lines).then(|| Screen::open(&analysis.source)).flatten();
    let (observer, running) = analysis.begin(&sources, keys, Some(Box::new(Recent::new())))?;
    let shown = match screen {
        Some(screen) => Shown::Screen(Box::new(screen)),
        None => Shown::Lines(Lines::new(interval, quiet)),
    };
    let mut watching = Watching { observer, stop, counts, shown, pace: Pace::new(duration), drops: 0 };
    watching.follow(&mut captures)?;
    let Watching { observer, shown, pace, .. } = watching;
    // The terminal is as it was before anything is printed.
    drop(shown);
    anyhow::ensure!(pace.now_ns().is_some(), "no packets of a file server: check the interface and the ports (--port)");
    running.end(observer.finish(), &captures)
}

/// What shows what happens.
enum Shown {
    Screen(Box<Screen>),
    Lines(Lines),
}

/// A watch at work.
struct Watching {
    observer: Observer<Sinks>,
    stop: StopReading,
    counts: Option<Arc<InterfaceCounts>>,
    shown: Shown,
    pace: Pace,
    /// Packets lost so far, as far as they were counted.
    drops: u64,
}

impl Watching {
    /// Takes packets as they come, and shows what happens, until the end.
    fn follow(&mut self, captures: &mut Captures) -> anyhow::Result<()> {
        loop {
            match captures.next_or_idle()? {
                Next::Frame(frame) => {
                    self.pace.frame(frame.time_ns);
                    self.observer.frame(&frame);
                    if !self.pace.is_due_after_frame() {
                        continue;
                    }
                }
                Next::Idle if self.pace.is_due() => {}
                Next::Idle => continue,
                Next::End => break,
            }
            if self.look(captures.anomalies().reported_drops) || self.pace.is_over() {
                self.stop.ask();
            }
        }
        self.pace.end();
        if let Shown::Screen(screen) = &mut self.shown {
            // Of a capture that was read to its end there may be more to see.
            screen.view.ended = true;
            while !self.stop.asked() && !self.look(captures.anomalies().reported_drops) {
                std::thread::sleep(pace::LOOK);
            }
        }
        Ok(())
    }

    /// Shows the latest seconds. Returns whether the user ended the watch.
    fn look(&mut self, drops: u64) -> bool {
        let Some(now_ns) = self.pace.now_ns() else { return false };
        if let Some(recent) = &mut self.observer.sink().0.sink.1 {
            recent.lose(now_ns, drops - std::mem::replace(&mut self.drops, drops));
            recent.advance(now_ns);
        }
        let failed = self.counts.as_ref().and_then(|counts| counts.take_save_error());
        let failed = failed.map(|error| format!("--save: cannot write: {error}; packets are no longer saved"));
        match &mut self.shown {
            Shown::Screen(screen) => {
                screen.view.message = failed.or(screen.view.message.take());
                screen.look(&mut self.observer, now_ns, self.counts.as_deref())
            }
            Shown::Lines(lines) => {
                failed.iter().for_each(|failed| shell::note(&format!("plimsoll: {failed}")));
                self.observer.sink().0.sink.1.iter().for_each(|recent| lines.show(recent, now_ns));
                false
            }
        }
    }
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
