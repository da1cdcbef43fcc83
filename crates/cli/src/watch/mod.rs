//! `plimsoll watch`: shows the response times of a server live.

mod arguments;
mod input;
mod silence;
mod whole;

use std::sync::Arc;

use plimsoll_analysis::{Checkpoints, DiagnosisSoFar, Running};
use plimsoll_observe::capture::interface::{Interface, InterfaceCounts};
use plimsoll_observe::capture::{CaptureAnomalies, Captures, DISORDER_MAX_NS, Downtimes, Hole, Next, StopReading};
use plimsoll_report::findings::Source;
use plimsoll_report::{Zone, duration};
use plimsoll_stats::live::{InterfaceState, LiveLosses, Recent, Totals, WaitingNow};

use crate::exit::Done;
use crate::flags::analysis::{Analysis, end};
use crate::flags::chain::ChainFlags;
use crate::interrupt;
use crate::shell;
pub(crate) use arguments::Arguments;
use input::Opened;
use plimsoll_live::{Beside, Lines, LiveView, Metrics, OutputState, Pace, Screen, latest_ns};
use silence::FirstPacket;
use whole::WholeSince;

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let Arguments { sources, duration, lines, interval, publish, capture, analysis: flags } = arguments;
    let (stop, quiet) = (StopReading::default(), flags.output.quiet);
    let outputs = OutputState::wanted([("save", capture.save.is_some()), ("record", flags.record.folder().is_some())]);
    // No thread answers yet.
    let mut listening = publish.wanted().listen()?;
    // Before any thread, because opening an interface drops capabilities, and threads that already run would keep them.
    let opened = Opened::new(&sources, &capture)?;
    interrupt::stop_then_end({
        let stop = stop.clone();
        move || stop.ask()
    })?;
    let mut analysis = Analysis::open(flags, &sources, &ChainFlags::default())?;
    let first_packet = FirstPacket::new(opened.interface().map(Interface::name), &sources, &capture);
    if let Some(interface) = opened.interface() {
        analysis.job.source.inputs = vec![Source::interface(interface.name())];
        if !quiet {
            shell::note(&format!(
                "plimsoll: capturing {}; Ctrl-C ends the capture and prints the report",
                interface.name()
            ));
        }
    }
    let input = analysis.job.source.inputs.join(", ");
    let filters = analysis.job.source.filters.clone();
    let title = title(&input, &filters, quiet);
    let browser = listening.browser(&title)?;
    let metrics = listening.metrics(&input, &filters, quiet)?;
    let keys = analysis.keys()?;
    let counts = opened.counts();
    let mut captures = opened.captures(&sources, &stop)?.as_they_come();
    // The report on standard output would appear in the middle of the screen.
    let screen = (analysis.output.prints() && !lines).then(|| Screen::open(&title)).flatten();
    let live = (Recent::new(), metrics.is_some().then(Totals::default));
    let diagnosis = (screen.is_some() || browser.is_some()).then(|| DiagnosisSoFar::new(&analysis.job.source));
    let Analysis { job, output, .. } = analysis;
    let mut running = job.begin(&sources, keys, Some(Box::new(live)), false)?;
    running.report_services(counts.as_deref().and_then(InterfaceCounts::services));
    let checkpoints = Checkpoints::begin(&mut running)?;
    let view = LiveView::new(screen, Lines::new(interval, quiet), browser);
    let pace = Pace::new(duration, DISORDER_MAX_NS);
    let pace = if counts.is_some() { pace.of_one_clock() } else { pace };
    let waiting = (WaitingNow::default(), i64::MIN);
    let (ended, drops, anomalies, steps) = (false, 0, captures.anomalies(), 0);
    let mut watching = Watching {
        running,
        checkpoints,
        stop,
        counts,
        downtimes: captures.downtimes(),
        view,
        metrics,
        diagnosis,
        pace,
        waiting,
        whole: WholeSince::new(),
        ended,
        drops,
        anomalies,
        steps,
        unsaved: None,
        outputs,
        first_packet,
    };
    watching.follow(&mut captures)?;
    let Watching { running, checkpoints, view, unsaved, .. } = watching;
    // Restores the terminal before anything is printed.
    drop(view);
    anyhow::ensure!(
        running.frames() > 0,
        "no packets of a file server: check the input; for a network interface, also check the ports (--port)"
    );
    checkpoints.into_iter().for_each(Checkpoints::end);
    end(running, &captures, output, unsaved)
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

/// Steps back of the clock of a capture that are mentioned, at most.
const MAX_STEPS_SAID: u64 = 3;

/// A running watch.
struct Watching {
    running: Running,
    checkpoints: Option<Checkpoints>,
    stop: StopReading,
    counts: Option<Arc<InterfaceCounts>>,
    /// Downtimes that a pipe or files tell; an interface tells them earlier.
    downtimes: Arc<Downtimes>,
    view: LiveView,
    metrics: Option<Metrics>,
    diagnosis: Option<DiagnosisSoFar>,
    pace: Pace,
    /// The requests without a response, and the end of the latest second at that time, ns since the Unix epoch.
    waiting: (WaitingNow, i64),
    whole: WholeSince,
    /// The input has ended.
    ended: bool,
    /// Number of lost packets that were already counted.
    drops: u64,
    /// The anomalies at the last update.
    anomalies: CaptureAnomalies,
    /// How often the clock of the capture was set back.
    steps: u64,
    /// Why packets are no longer saved.
    unsaved: Option<String>,
    outputs: Vec<OutputState>,
    first_packet: FirstPacket,
}

impl Watching {
    /// Reads packets and updates the views until the end.
    fn follow(&mut self, captures: &mut Captures) -> anyhow::Result<()> {
        loop {
            match captures.next_or_idle()? {
                Next::Frame(frame) => {
                    if self.pace.is_due_before(frame.time_ns) {
                        self.look(self.anomalies);
                    }
                    self.running.frame(&frame);
                    if let Some(back_ns) = self.pace.frame(self.running.time_ns()) {
                        self.went_back(back_ns);
                    }
                    if !self.pace.is_due_after_frame() {
                        continue;
                    }
                }
                Next::Idle if self.pace.is_due_when_idle() => {}
                Next::Idle => continue,
                Next::End => break,
            }
            if self.look(captures.anomalies()) || self.pace.is_over() {
                self.stop.ask();
            }
        }
        self.say_removed();
        self.pace.end();
        self.ended = true;
        let mut is_over = self.look(captures.anomalies());
        // A screen stays open after the end of a file that had packets.
        let stays = self.view.stays() && self.running.frames() > 0;
        while stays && !is_over && !self.stop.asked() {
            std::thread::sleep(plimsoll_live::LOOK);
            is_over = self.look(captures.anomalies());
        }
        Ok(())
    }

    /// Says that the interface was removed, which ended the capture.
    fn say_removed(&mut self) {
        let Some(counts) = self.counts.as_ref().filter(|counts| counts.is_gone()) else { return };
        let at = counts.down_since().map_or_else(String::new, |ns| format!(" at {}", Zone::shown().second(ns)));
        self.view.say(format!("{} was removed: the capture ended{at}", counts.name()));
    }

    /// Finds the requests that wait for a response, once per second and for each reader of metrics.
    fn find_waiting(&mut self, now_ns: i64) {
        let latest_ns = latest_ns(now_ns);
        if latest_ns == self.waiting.1 && !self.metrics.as_ref().is_some_and(Metrics::is_wanted) {
            return;
        }
        self.waiting = (self.running.waiting(self.whole.ns(), self.seen_until(now_ns)), latest_ns);
    }

    /// The time up to which packets were captured. While the interface is down, the wait of a request is unknown.
    fn seen_until(&self, now_ns: i64) -> i64 {
        let Some(counts) = &self.counts else { return self.downtimes.seen_until(now_ns) };
        counts.down_since().map_or(now_ns, |down_ns| now_ns.min(down_ns))
    }

    /// The clock of the capture was set back.
    fn went_back(&mut self, back_ns: u64) {
        let Some(now_ns) = self.pace.now_ns() else { return };
        if let (Some((recent, _)), _) = self.running.live() {
            recent.back_to(now_ns);
        }
        self.whole.back_to(now_ns);
        self.waiting.1 = i64::MIN;
        self.steps += 1;
        // A capture with damaged times would fill the screen with the same message.
        let last = if self.steps == MAX_STEPS_SAID { " (Plimsoll does not mention further steps)" } else { "" };
        let text = format!(
            "the time of the packets went back by {}: the live numbers continue at {}{last}",
            duration(back_ns as f64 / 1e9),
            Zone::shown().second(now_ns),
        );
        self.view.went_back(now_ns, (self.steps <= MAX_STEPS_SAID).then_some(text));
    }

    /// Updates the metrics if a reader waits for them.
    fn publish(&mut self, drops: u64) {
        let losses = self.losses(drops);
        let seen_ns = self.pace.now_ns().map(|now_ns| self.seen_until(now_ns));
        let waiting = seen_ns.map(|seen_ns| (&self.waiting.0, seen_ns));
        let (live, names) = self.running.live();
        if let (Some(metrics), Some((_, Some(totals)))) = (&self.metrics, live) {
            metrics.look(totals, names, Some(losses), waiting, &self.outputs);
        }
    }

    /// The times of which packets are missing, since the last call.
    fn find_holes(&mut self, now_ns: i64, drops: u64) -> Vec<Hole> {
        let more = drops - std::mem::replace(&mut self.drops, drops);
        let Some(counts) = &self.counts else {
            self.whole.note_stated(self.anomalies.downtime, now_ns);
            // A pipe or a file does not state the time of a loss.
            let unknown = Hole { from_ns: now_ns, to_ns: now_ns, packets: Some(more) };
            let holes: Vec<_> = self.downtimes.take_holes(now_ns).into_iter().chain([unknown]).collect();
            self.whole.note(&holes, false);
            return holes;
        };
        // Asked first: the interface reports the last hole of a downtime before the downtime's end.
        let is_down = counts.down_since().is_some();
        let mut holes = counts.take_holes();
        // After a step back of the clock, a hole may have times that are still to come.
        let latest_ns = silence::now_ns();
        for hole in &mut holes {
            hole.to_ns = hole.to_ns.min(latest_ns);
            hole.from_ns = hole.from_ns.min(hole.to_ns);
        }
        self.whole.note(&holes, is_down);
        holes
    }

    /// Losses of the capture so far; for a pipe or files, the losses that they report.
    fn losses(&self, drops: u64) -> LiveLosses {
        self.counts.as_ref().map_or(LiveLosses { kernel: drops, ..LiveLosses::default() }, |counts| LiveLosses {
            kernel: counts.kernel_drops(),
            freezes: counts.freezes(),
            interface: counts.interface_drops(),
            downs: counts.downs(),
            state: counts.down_since().map_or(InterfaceState::Up, InterfaceState::DownSince),
        })
    }

    /// Updates the views. Returns whether the user ended the watch.
    fn look(&mut self, anomalies: CaptureAnomalies) -> bool {
        self.anomalies = anomalies;
        let drops = anomalies.reported_drops;
        let now_ns = self.pace.now_ns();
        self.running.time_ns().into_iter().for_each(|ns| self.downtimes.pass(ns));
        let holes = now_ns.map_or_else(Vec::new, |now_ns| self.find_holes(now_ns, drops));
        if let Some(now_ns) = now_ns {
            self.find_waiting(now_ns);
        }
        self.publish(drops);
        let Some(now_ns) = now_ns else { return self.look_without_packets(drops) };
        let seen_ns = self.seen_until(now_ns);
        if let (Some((recent, _)), _) = self.running.live() {
            recent.advance(now_ns);
            for Hole { from_ns, to_ns, packets } in holes {
                match packets {
                    Some(packets) => recent.lose((from_ns, to_ns), packets),
                    None => recent.miss((from_ns, to_ns)),
                }
            }
            recent.wait(&self.waiting.0, latest_ns(now_ns));
        }
        // Only the packets tell when a file ends.
        let going_on = (self.counts.is_some().then_some(seen_ns), self.waiting.0.before(i64::MAX).is_some());
        let checkpoint = self.checkpoints.as_mut().map_or(Ok(()), |it| it.look(&mut self.running, anomalies, going_on));
        if let Err(error) = checkpoint {
            let failure = format!("--record: cannot write the numbers so far: {error:#}");
            OutputState::fail(&mut self.outputs, "record", failure);
        }
        if let Some(error) = self.counts.as_ref().and_then(|counts| counts.take_save_error()) {
            let failure = format!("--save: cannot write: {error}; packets are no longer saved");
            OutputState::fail(&mut self.outputs, "save", failure);
            self.unsaved = Some(format!("--save: the folder lacks the last packets: {error}; free some space"));
        }
        if let Some(learned) = self.counts.as_ref().and_then(|counts| counts.take_learned()) {
            self.view.inform(learned);
        }
        let losses = self.losses(drops);
        if let Some(diagnosis) = &mut self.diagnosis {
            diagnosis.look(&mut self.running, (seen_ns, anomalies), self.ended);
        }
        let diagnosis = self.diagnosis.as_ref().and_then(|diagnosis| diagnosis.text.as_deref());
        let (losses, outputs, ended) = (Some(losses), &self.outputs[..], self.ended);
        let beside = Beside { losses, diagnosis, outputs, ended, ..Beside::default() };
        let (live, names) = self.running.live();
        live.is_some_and(|(recent, _)| self.view.look(recent, names, now_ns, &beside))
    }

    /// Updates the views before the first packet: they say that there is none. Returns whether the user ended the watch.
    fn look_without_packets(&mut self, drops: u64) -> bool {
        let (losses, silence) = (self.losses(drops), self.first_packet.silence());
        let beside = Beside { losses: Some(losses), silence: Some(&silence), ended: self.ended, ..Beside::default() };
        let (live, names) = self.running.live();
        live.is_some_and(|(recent, _)| self.view.look(recent, names, silence::now_ns(), &beside))
    }
}
