//! Checkpoints of the recording of a watch, for readers before its end.
//!
//! A checkpoint is the recording that `analyze` would write if the capture ended now. The watch passes copies of its state to a thread.
//! This thread ends its copy of the observer, and writes the results.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;
use plimsoll_observe::capture::CaptureAnomalies;
use plimsoll_observe::filter::FilterState;
use plimsoll_observe::names::HostsFile;
use plimsoll_observe::{BoxedObserver, status_name};
use plimsoll_recording::folder::{CheckpointWriter, Finished};
use plimsoll_report::findings::{Findings, Source};
use plimsoll_results::record::about_of;
use plimsoll_stats::{IntervalRecorder, Intervals, Statistics};

use crate::filter::Filter;
use crate::job::{JobObserver, name_hosts};
use crate::running::{Report, Running};

/// Shortest time between two checkpoints.
const EVERY: Duration = Duration::from_secs(5);
/// The time until the next checkpoint is at least this multiple of the time that the last one took.
const SPARE: u32 = 20;

/// The checkpoints of a watch.
pub struct Checkpoints {
    due: Instant,
    /// Frames at the last checkpoint, and until when the capture had gone on.
    frames: u64,
    until_ns: Option<i64>,
    /// When the checkpoint began that is being written.
    begun: Option<Instant>,
    snapshots: SyncSender<Snapshot>,
    written: Receiver<anyhow::Result<()>>,
    thread: JoinHandle<()>,
}

/// A copy of the state of a watch.
struct Snapshot {
    observer: Vec<u8>,
    filter: FilterState,
    statistics: Statistics,
    intervals: (Intervals, IntervalRecorder),
    anomalies: CaptureAnomalies,
    until_ns: Option<i64>,
}

impl Checkpoints {
    /// Begins, if there is a recording. With session keys there are no checkpoints, because the observer's state contains keys.
    ///
    /// # Errors
    /// There is no thread.
    pub fn begin(running: &mut Running) -> anyhow::Result<Option<Self>> {
        let Running { observer, report: Report { filter, hosts, source, .. }, .. } = running;
        if observer.state().is_err() {
            return Ok(None);
        }
        let (sinks, _) = observer.sink();
        let recorder = sinks.sink.outputs.here().and_then(|(_, recorder)| recorder.as_mut());
        let Some(writer) = recorder.map(|recorder| recorder.checkpoints()) else { return Ok(None) };
        let mut worker = Worker { writer, filter: filter.clone(), hosts: hosts.clone(), source: source.clone() };
        let (snapshots, waiting) = sync_channel::<Snapshot>(1);
        let (ended, written) = sync_channel(1);
        let work = move || {
            for snapshot in waiting {
                let result = worker.write(snapshot);
                let failed = result.is_err();
                // The watch reports an error once; the end of the recording reports its own.
                if ended.send(result).is_err() || failed {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("checkpoints".to_owned()).spawn(work);
        let thread = thread.context("a thread that writes checkpoints")?;
        let due = Instant::now() + EVERY;
        Ok(Some(Self { due, frames: 0, until_ns: None, begun: None, snapshots, written, thread }))
    }

    /// Begins a checkpoint if one is due and there are new packets, or requests that wait longer than in the last one. `until_ns`: until
    /// when the capture went on, if that is known; `waits`: whether requests wait.
    ///
    /// # Errors
    /// The last one could not be written. There will be no further ones.
    pub fn look(
        &mut self,
        running: &mut Running,
        anomalies: CaptureAnomalies,
        (until_ns, waits): (Option<i64>, bool),
    ) -> anyhow::Result<()> {
        let now = Instant::now();
        if let (Ok(result), Some(begun)) = (self.written.try_recv(), self.begun) {
            result?;
            self.due = now + EVERY.max(SPARE * (now - begun));
            self.begun = None;
        }
        let is_new = running.frames() > self.frames || waits && until_ns > self.until_ns;
        if self.begun.is_none() && now >= self.due && is_new {
            (self.frames, self.until_ns) = (running.frames(), until_ns);
            if let Some(snapshot) = snapshot(&mut running.observer, anomalies, until_ns) {
                self.begun = self.snapshots.try_send(snapshot).is_ok().then_some(now);
            }
        }
        Ok(())
    }

    /// Waits for the last checkpoint: from now on nothing is written.
    pub fn end(self) {
        let Self { snapshots, written, thread, .. } = self;
        drop((snapshots, written));
        // A panic has been printed already.
        let _ = thread.join();
    }
}

fn snapshot(observer: &mut JobObserver, anomalies: CaptureAnomalies, until_ns: Option<i64>) -> Option<Snapshot> {
    let state = observer.state().ok()?;
    let (sinks, _) = observer.sink();
    let filter = sinks.state();
    let (_, recorder) = sinks.sink.outputs.here()?;
    let intervals = recorder.as_ref()?.so_far()?;
    let statistics = sinks.sink.statistics.settled().clone();
    Some(Snapshot { observer: state, filter, statistics, intervals, anomalies, until_ns })
}

/// The thread's data.
struct Worker {
    writer: CheckpointWriter,
    filter: Filter,
    hosts: HostsFile,
    source: Source,
}

impl Worker {
    fn write(&mut self, snapshot: Snapshot) -> anyhow::Result<()> {
        let Snapshot { observer, filter, statistics, intervals: (mut intervals, recorder), anomalies, until_ns } =
            snapshot;
        let mut filtered = self.filter.before((statistics, recorder)).of_state(filter);
        let mut observer = BoxedObserver::of_state(&observer, Box::new(&mut filtered))?;
        until_ns.into_iter().for_each(|ns| observer.captured_until(ns));
        let (names, mut coverage) = observer.finish();
        anomalies.add_to(&mut coverage);
        filtered.narrow(&mut coverage);
        let (statistics, recorder) = filtered.sink;
        intervals.merge(&recorder.finish());
        let findings = Findings::collect(&statistics, &coverage, &names, self.source.clone(), status_name);
        let (_, host_names) = name_hosts(findings, &self.hosts, &names);
        let so_far = Finished {
            load_name: None,
            span_ns: (coverage.first_ns, coverage.last_ns),
            state: statistics.to_bytes(&coverage, &names),
            about: about_of(&host_names),
            part: None,
        };
        Ok(self.writer.write(so_far, &intervals)?)
    }
}
