//! `plimsoll watch`: shows the response times of a server live.

mod arguments;
mod input;

use std::sync::atomic::Ordering::SeqCst;
use std::time::Instant;

use plimsoll_analysis::{Checkpoints, DiagnosisSoFar, Running};
use plimsoll_observe::capture::interface::{Interface, InterfaceCounts};
use plimsoll_observe::capture::{DISORDER_MAX_NS, StopReading};
use plimsoll_report::findings::Source;
use plimsoll_stats::live::{Recent, Totals};

use crate::analyze::NOTHING_READ;
use crate::exit::Done;
use crate::flags::analysis::{Analysis, end};
use crate::flags::chain::ChainFlags;
use crate::interrupt;
use crate::shell;
pub(crate) use arguments::Arguments;
use input::Opened;
use plimsoll_live::watch::{Ended, FirstPacket, WatchParts};
use plimsoll_live::{Lines, LiveView, OutputState, Pace, Screen};

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let Arguments { sources, duration, lines, interval, publish, capture, analysis: flags } = arguments;
    let (stop, quiet) = (StopReading::default(), flags.output.quiet);
    let outputs = OutputState::wanted([("save", capture.save.is_some()), ("record", flags.record.folder().is_some())]);
    // No thread answers yet.
    let mut listening = publish.wanted().listen()?;
    // Before any thread, because opening an interface drops capabilities, and threads that already run would keep them.
    let opened = Opened::new(&sources, &capture)?;
    let interrupted = interrupt::stop_and_note({
        let stop = stop.clone();
        move || stop.ask()
    })?;
    let mut analysis = Analysis::open(flags, &sources, &ChainFlags::default())?;
    let first_packet = FirstPacket::new(
        opened.interface().map(Interface::label),
        &sources,
        (&capture.port, capture.filter.as_deref()),
    );
    if let Some(name) = opened.interface().map(Interface::label) {
        analysis.job.source.inputs = vec![Source::interface(name)];
        if !quiet {
            shell::note(&format!("plimsoll: capturing {name}; Ctrl-C ends the capture and prints the report"));
        }
    }
    let unlinked = opened.interface().filter(|interface| !interface.has_link()).map(Interface::label);
    let unlinked = unlinked.map(|name| format!("the system reports no link on {name}: check the cable"));
    let input = analysis.job.source.inputs.join(", ");
    let filters = analysis.job.source.filters.clone();
    let title = title(&input, &filters, quiet);
    let browser = listening.browser(&title)?;
    let metrics = listening.metrics(&input, &filters, quiet)?;
    let keys = analysis.keys()?;
    let counts = opened.counts();
    // From here on: a pipe may be silent before its first byte.
    let begun = Instant::now();
    duration.and_then(|duration| begun.checked_add(duration)).into_iter().for_each(|over| stop.ask_at(over));
    let captures = opened.captures(&sources, &stop).map_err(|error| match interrupted.load(SeqCst) {
        true => anyhow::Error::from(NOTHING_READ),
        false => error,
    });
    let mut captures = captures?.as_they_come();
    // The report on standard output would appear in the middle of the screen.
    let screen = (analysis.output.prints() && !lines).then(|| Screen::open(&title, &listening.addresses)).flatten();
    let live = (Recent::new(), metrics.is_some().then(Totals::default));
    let diagnosis = (screen.is_some() || browser.is_some()).then(|| DiagnosisSoFar::new(&analysis.job.source));
    let Analysis { job, output, .. } = analysis;
    let mut running = job.begin(&sources, keys, Some(Box::new(live)), false)?;
    running.report_services(counts.as_deref().and_then(InterfaceCounts::services));
    let checkpoints = Checkpoints::begin(&mut running)?;
    let pace = Pace::new(duration.map(|duration| duration.saturating_sub(begun.elapsed())), DISORDER_MAX_NS);
    let pace = if counts.is_some() { pace.of_one_clock() } else { pace };
    let mut view = LiveView::new(screen, Lines::new(interval, quiet), browser);
    unlinked.into_iter().for_each(|text| view.inform(text));
    let watch =
        WatchParts { running, checkpoints, stop, counts, view, metrics, diagnosis, pace, outputs, first_packet };
    let Ended { running, checkpoints, unsaved } = watch.follow(&mut captures)?;
    checkpoints.into_iter().for_each(Checkpoints::end);
    if running.frames() == 0 {
        return Err(without_packets(running, interrupted.load(SeqCst), capture.filter.as_deref()));
    }
    end(running, &captures, output, unsaved)
}

/// Why there is no report. A recording without packets would only be in the way of the next watch.
fn without_packets(running: Running, interrupted: bool, filter: Option<&str>) -> anyhow::Error {
    running.discard();
    if interrupted {
        return NOTHING_READ.into();
    }
    if let Some(filter) = filter {
        return anyhow::anyhow!("no packets that match --filter '{filter}': check the expression (`man pcap-filter`)");
    }
    anyhow::anyhow!(
        "no packets of a file server: check the input; for a network interface, also check the ports (--port)"
    )
}

/// The input and the filters, for the head of a view: numbers of a part look like those of a server with little load.
fn title(input: &str, filters: &[String], quiet: bool) -> String {
    if filters.is_empty() {
        return input.to_owned();
    }
    let filters = filters.join(" ");
    if !quiet {
        shell::note(&format!("plimsoll: all numbers cover only the requests of these filters: {filters}"));
    }
    format!("{input}, only {filters}")
}
