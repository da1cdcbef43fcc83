//! A running watch: packets go to the analysis, and the views follow.

mod silence;
mod whole;

use std::sync::Arc;

use plimsoll_analysis::{Checkpoints, DiagnosisSoFar, Running};
use plimsoll_observe::capture::interface::InterfaceCounts;
use plimsoll_observe::capture::{CaptureAnomalies, Captures, Downtimes, Hole, Next, StopReading};
use plimsoll_report::{Zone, duration};
use plimsoll_stats::live::{InterfaceState, LiveLosses, WaitingNow};

use crate::{Beside, CHECK_INTERVAL, Captured, LiveView, Metrics, OutputState, Pace, Silence, latest_ns};
pub use silence::FirstPacket;
use whole::WholeSince;

/// Steps back of the clock of a capture that are mentioned, at most.
const MAX_STEPS_SAID: u64 = 3;

/// The parts of a watch.
pub struct WatchParts {
    /// The analysis of the packets.
    pub running: Running,
    /// The recording, which is updated while the watch runs.
    pub checkpoints: Option<Checkpoints>,
    /// Ends the reading of packets.
    pub stop: StopReading,
    /// Counters of an interface.
    pub counts: Option<Arc<InterfaceCounts>>,
    /// The views.
    pub view: LiveView,
    /// The sums for Prometheus.
    pub metrics: Option<Metrics>,
    /// The diagnosis, for views that show it.
    pub diagnosis: Option<DiagnosisSoFar>,
    /// When the views are updated.
    pub pace: Pace,
    /// The files that are written meanwhile.
    pub outputs: Vec<OutputState>,
    /// The packets that the watch waits for.
    pub first_packet: FirstPacket,
}

/// How a watch ended. The terminal is as it was before.
pub struct Ended {
    /// The analysis, which has no report yet.
    pub running: Running,
    /// The recording, until the report ends it.
    pub checkpoints: Option<Checkpoints>,
    /// Why packets were no longer saved.
    pub unsaved: Option<String>,
}

struct RunningWatch {
    parts: WatchParts,
    /// Downtimes that a pipe or files tell; an interface tells them earlier.
    downtimes: Arc<Downtimes>,
    /// The requests without a response, and the end of the latest second at that time, ns since the Unix epoch.
    waiting: (WaitingNow, i64),
    whole: WholeSince,
    /// When the capture began, ns since the Unix epoch; `None` before its first packet.
    from_ns: Option<i64>,
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
}

impl WatchParts {
    /// Reads packets and updates the views until the end.
    ///
    /// # Errors
    /// The packets cannot be read.
    pub fn follow(self, captures: &mut Captures) -> anyhow::Result<Ended> {
        let mut running = RunningWatch {
            parts: self,
            downtimes: captures.downtimes(),
            waiting: (WaitingNow::default(), i64::MIN),
            whole: WholeSince::new(),
            from_ns: None,
            ended: false,
            drops: 0,
            anomalies: captures.anomalies(),
            steps: 0,
            unsaved: None,
        };
        let followed = running.follow(captures);
        let RunningWatch { parts: WatchParts { running, checkpoints, .. }, unsaved, .. } = running;
        if let Err(error) = followed {
            checkpoints.into_iter().for_each(Checkpoints::end);
            // This restores the recording that it was to replace.
            running.discard();
            return Err(error);
        }
        Ok(Ended { running, checkpoints, unsaved })
    }
}

impl RunningWatch {
    /// Reads packets and updates the views until the end.
    fn follow(&mut self, captures: &mut Captures) -> anyhow::Result<()> {
        // An interface is captured without packets, too. A pipe or a file is as long as its packets.
        let begun_ns = self.parts.counts.as_ref().map_or(i64::MAX, |_| silence::now_ns());
        loop {
            match captures.next_or_idle()? {
                Next::Frame(frame) => {
                    if self.parts.pace.is_due_before(frame.time_ns) {
                        self.look(self.anomalies);
                    }
                    self.parts.running.frame(&frame);
                    let time_ns = self.parts.running.time_ns();
                    self.from_ns = Captured::begin(self.from_ns, time_ns.map(|time_ns| time_ns.min(begun_ns)));
                    if let Some(back_ns) = self.parts.pace.frame(time_ns) {
                        self.went_back(back_ns);
                    }
                    if !self.parts.pace.is_due_after_frame() {
                        continue;
                    }
                }
                Next::Idle if self.parts.pace.is_due_when_idle() => {}
                Next::Idle => continue,
                Next::End => break,
            }
            if self.look(captures.anomalies()) || self.parts.pace.is_over() {
                self.parts.stop.ask();
            }
        }
        self.say_removed();
        self.parts.pace.end();
        self.ended = true;
        let mut is_over = self.look(captures.anomalies());
        // A screen stays open after the end of a file that had packets.
        let stays = self.parts.view.stays() && self.parts.running.frames() > 0;
        while stays && !is_over && !self.parts.stop.asked() && !self.parts.pace.is_over() {
            std::thread::sleep(CHECK_INTERVAL);
            is_over = self.look(captures.anomalies());
        }
        Ok(())
    }

    /// Says that the interface was removed, which ended the capture.
    fn say_removed(&mut self) {
        let Some(counts) = self.parts.counts.as_ref().filter(|counts| counts.is_gone()) else { return };
        let at = counts.down_since().map_or_else(String::new, |ns| format!(" at {}", Zone::shown().second(ns)));
        self.parts.view.say(format!("{} was removed: the capture ended{at}", counts.name()));
    }

    /// Finds the requests that wait for a response, once per second and for each reader of metrics.
    fn find_waiting(&mut self, now_ns: i64, wanted: bool) {
        let latest_ns = latest_ns(now_ns);
        if latest_ns == self.waiting.1 && !wanted {
            return;
        }
        self.waiting = (self.parts.running.waiting(self.whole.ns(), self.seen_until(now_ns)), latest_ns);
    }

    /// The time up to which packets were captured. While the interface is down, the wait of a request is unknown.
    fn seen_until(&self, now_ns: i64) -> i64 {
        let Some(counts) = &self.parts.counts else { return self.downtimes.seen_until(now_ns) };
        counts.down_since().map_or(now_ns, |down_ns| now_ns.min(down_ns))
    }

    /// The clock of the capture was set back.
    fn went_back(&mut self, back_ns: u64) {
        let Some(now_ns) = self.parts.pace.now_ns() else { return };
        if let (Some((recent, _)), _) = self.parts.running.live() {
            recent.back_to(now_ns);
        }
        self.whole.back_to(now_ns);
        self.waiting.1 = i64::MIN;
        // By the clock of now, the capture may have begun later.
        self.from_ns = Some(i64::MIN);
        self.steps += 1;
        // A capture with damaged times would fill the screen with the same message.
        let last = if self.steps == MAX_STEPS_SAID { " (Plimsoll does not mention further steps)" } else { "" };
        let text = format!(
            "the time of the packets went back by {}: the live numbers continue at {}{last}",
            duration(back_ns as f64 / 1e9),
            Zone::shown().second(now_ns),
        );
        self.parts.view.went_back(now_ns, (self.steps <= MAX_STEPS_SAID).then_some(text));
    }

    /// Updates the metrics, for a reader that waits for them.
    fn publish(&mut self, drops: u64, knows_waiting: bool) {
        let losses = self.losses(drops);
        let seen_ns = self.parts.pace.now_ns().map(|now_ns| self.seen_until(now_ns));
        let waiting = seen_ns.filter(|_| knows_waiting).map(|seen_ns| (&self.waiting.0, seen_ns));
        let (live, names) = self.parts.running.live();
        if let (Some(metrics), Some((_, Some(totals)))) = (&self.parts.metrics, live) {
            metrics.answer(totals, names, Some(losses), waiting, &self.parts.outputs);
        }
    }

    /// The silence of a pipe whose packets have stopped. Either the server or the pipe may be the cause.
    fn stopped(&self) -> Option<Silence> {
        let (last_ns, since) = self.parts.pace.last_packet_ns().zip(self.parts.pace.stands_still())?;
        self.parts.first_packet.stopped(last_ns, since)
    }

    /// The time that the capture covers, which may end within the latest second.
    fn captured(&self, now_ns: i64) -> Option<Captured> {
        let to_ns = self.anomalies.captured_until_ns.max(self.parts.pace.last_packet_ns());
        let to_ns = to_ns.filter(|_| self.ended);
        self.from_ns.map(|from_ns| Captured::between(from_ns, to_ns, latest_ns(now_ns)))
    }

    /// The times of which packets are missing, since the last call.
    fn find_holes(&mut self, now_ns: i64, drops: u64) -> Vec<Hole> {
        let more = drops - std::mem::replace(&mut self.drops, drops);
        let Some(counts) = &self.parts.counts else {
            // A pipe or a file does not state the time of a loss.
            let unknown = Hole { from_ns: now_ns, to_ns: now_ns, packets: Some(more) };
            let is_down = self.downtimes.seen_until(now_ns) < now_ns;
            let holes: Vec<_> = self.downtimes.take_holes(now_ns).into_iter().chain([unknown]).collect();
            self.whole.note(&holes, is_down);
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
        let reported = LiveLosses { reported: drops, ..LiveLosses::default() };
        self.parts.counts.as_ref().map_or(reported, |counts| LiveLosses {
            reported: 0,
            interface_unknown: counts.are_interface_drops_unknown(),
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
        let now_ns = self.parts.pace.now_ns();
        self.parts.running.time_ns().into_iter().for_each(|ns| self.downtimes.pass(ns));
        let holes = now_ns.map_or_else(Vec::new, |now_ns| self.find_holes(now_ns, drops));
        // Asked once: a reader that comes later gets numbers of the next time.
        let wanted = self.parts.metrics.as_ref().is_some_and(Metrics::is_wanted);
        if let Some(now_ns) = now_ns {
            self.find_waiting(now_ns, wanted);
        }
        let silence = self.stopped();
        if wanted {
            self.publish(drops, silence.is_none());
        }
        let Some(now_ns) = now_ns else { return self.look_without_packets(drops) };
        let seen_ns = self.seen_until(now_ns);
        if let (Some((recent, _)), _) = self.parts.running.live() {
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
        let going_on = (self.parts.counts.is_some().then_some(seen_ns), self.waiting.0.before(i64::MAX).is_some());
        let checkpoint =
            self.parts.checkpoints.as_mut().map_or(Ok(()), |it| it.look(&mut self.parts.running, anomalies, going_on));
        if let Err(error) = checkpoint {
            let failure = format!("--record: cannot write the numbers so far: {error:#}");
            OutputState::fail(&mut self.parts.outputs, "record", failure);
        }
        if let Some(error) = self.parts.counts.as_ref().and_then(|counts| counts.take_save_error()) {
            let failure = format!("--save: cannot write: {error}; packets are no longer saved");
            OutputState::fail(&mut self.parts.outputs, "save", failure);
            self.unsaved = Some(format!("--save: the folder lacks the last packets: {error}; free some space"));
        }
        if let Some(learned) = self.parts.counts.as_ref().and_then(|counts| counts.take_learned()) {
            self.parts.view.inform(learned);
        }
        let losses = self.losses(drops);
        if let Some(diagnosis) = &mut self.parts.diagnosis {
            diagnosis.look(&mut self.parts.running, (seen_ns, anomalies), self.ended);
        }
        let diagnosis = self.parts.diagnosis.as_ref().and_then(|diagnosis| diagnosis.text.as_deref());
        let (losses, outputs, ended) = (Some(losses), &self.parts.outputs[..], self.ended);
        let truncated = self.parts.running.truncated().saturating_sub(anomalies.shortened_by_tap);
        let (late, captured, silence) = (self.parts.pace.late(), self.captured(now_ns), silence.as_ref());
        let of_input = Beside { late, captured, silence, ended, ..Beside::default() };
        let beside = Beside { losses, diagnosis, outputs, truncated, ..of_input };
        let (live, names) = self.parts.running.live();
        live.is_some_and(|(recent, _)| self.parts.view.look(recent, names, now_ns, &beside))
    }

    /// Updates the views before the first packet: they say that there is none. Returns whether the user ended the watch.
    fn look_without_packets(&mut self, drops: u64) -> bool {
        let (losses, silence) = (self.losses(drops), self.parts.first_packet.silence());
        let beside = Beside { losses: Some(losses), silence: Some(&silence), ended: self.ended, ..Beside::default() };
        let (live, names) = self.parts.running.live();
        live.is_some_and(|(recent, _)| self.parts.view.look(recent, names, silence::now_ns(), &beside))
    }
}
