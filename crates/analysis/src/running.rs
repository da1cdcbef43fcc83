//! A job that takes packets, and its end.
//!
//! The way of a packet is generic over its sinks. All calls of it are in this crate, because each crate that calls it compiles it again.

use std::sync::Arc;

use plimsoll_console::memory;
use plimsoll_console::output_file::OutputFile;
use plimsoll_console::progress::Bar;
use plimsoll_model::{Anomaly, Names, Reason};
use plimsoll_observe::capture::{Captures, Carried, Frame, Progress, read_in_thread};
use plimsoll_observe::names::HostsFile;
use plimsoll_observe::{NamedServices, Observed, status_name};
use plimsoll_recording::{RecordingError, Written};
use plimsoll_report::findings::{DrillDown, Findings, Source};
use plimsoll_results::record::SyncRecorder;
use plimsoll_stats::live::WaitingNow;

use crate::chain::Chain;
use crate::filter::Filter;
use crate::job::{Analyzed, JobObserver, Live, Sinks, name_hosts};

/// A job that takes packets.
pub struct Running {
    pub(crate) observer: JobObserver,
    pub(crate) chain: Option<Chain>,
    pub(crate) report: Report,
}

/// What the report of a job needs beside the packets.
pub(crate) struct Report {
    pub(crate) filter: Filter,
    pub(crate) hosts: HostsFile,
    pub(crate) source: Source,
    pub(crate) table: Option<OutputFile>,
}

impl Running {
    /// Takes all packets of captures. Returns whether there were any.
    ///
    /// # Errors
    /// A capture cannot be read, or the state for the next job cannot be stored.
    pub fn read(&mut self, captures: &mut Captures, threads: usize, quiet: bool) -> anyhow::Result<bool> {
        let Self { observer, chain, .. } = self;
        let mut packets = false;
        let mut bar = Bar::new(quiet);
        let mut carried = chain.as_ref().filter(|chain| chain.has_next()).map(|_| Carried::default());
        // Another thread may help with the statistics.
        let work = (threads > 1).then(|| observer.sink().0.sink.statistics.share());
        let mut take = |frame: &Frame<'_>| match &mut carried {
            Some(carried) => carried.pass(frame, |frame| observer.frame(frame)),
            None => observer.frame(frame),
        };
        if let Some(work) = work {
            let work = || work.some();
            read_in_thread(captures, work, |batch| {
                packets = true;
                for frame in batch.frames() {
                    take(&frame);
                    bar.frame(|| position(batch.progress()));
                }
            })?;
        } else {
            while let Some(frame) = captures.next()? {
                packets = true;
                take(&frame);
                bar.frame(|| position(captures.progress()));
            }
        }
        bar.finish();
        if let (true, Some(chain), Some(carried)) = (packets, chain, carried) {
            chain.prepare(observer, carried.clone(), captures)?;
            // The report includes them as well.
            carried.frames().for_each(|frame| observer.frame(&frame));
        }
        Ok(packets)
    }

    /// Takes the next packet of a watch.
    pub fn frame(&mut self, frame: &Frame<'_>) {
        self.observer.frame(frame);
    }

    /// Number of packets so far.
    pub fn frames(&self) -> u64 {
        self.observer.frames()
    }

    /// The time of the latest packet, ns since the Unix epoch, without packets whose time is damaged.
    pub fn time_ns(&self) -> Option<i64> {
        self.observer.time_ns()
    }

    /// Reports the services that the traffic names, from now on.
    pub fn report_services(&mut self, services: Option<Arc<NamedServices>>) {
        self.observer.report_services(services);
    }

    /// The requests that wait for a response at `seen_ns`, of those that count. Packets from before `since_ns` may be missing.
    pub fn waiting(&mut self, since_ns: i64, seen_ns: i64) -> WaitingNow {
        let mut waiting = WaitingNow::default();
        self.observer.waiting((since_ns, seen_ns), |sinks, names, transaction| {
            if sinks.wants(transaction, seen_ns, names) {
                waiting.add(transaction);
            }
        });
        waiting
    }

    /// The last minutes and the totals of a watch, and the names in them.
    pub fn live(&mut self) -> (Option<&mut Live>, &Names) {
        let (sinks, names) = self.observer.sink();
        (sinks.sink.live.as_deref_mut(), names)
    }

    /// There are no numbers: removes the recording that was begun.
    pub fn discard(self) {
        let Observed { sink: filtered, names, .. } = self.observer.finish();
        recording_of(filtered.sink, &names).into_iter().for_each(SyncRecorder::discard);
    }

    /// Number of packets so far of which the capture has only the beginning.
    pub fn truncated(&self) -> u64 {
        self.observer.truncated()
    }

    /// All packets have been read: collects the findings and completes the outputs that hold transactions. `unsaved` is why the saved
    /// packets are incomplete: the recording states it as the report does.
    ///
    /// # Errors
    /// A time of the filter is not one of the capture.
    pub fn end(self, captures: &Captures, unsaved: Option<&str>) -> anyhow::Result<Analyzed> {
        let Self { mut observer, chain, report: Report { filter, hosts, source, table: table_file } } = self;
        let anomalies = chain.as_ref().map_or_else(|| captures.anomalies(), |chain| chain.anomalies(captures));
        if let Some(ns) = anomalies.captured_until_ns {
            observer.captured_until(ns);
        }
        let Observed { sink: filtered, names, mut coverage } = observer.finish();
        // The report needs neither the connections nor the code that read the packets.
        memory::give_back();
        anomalies.add_to(&mut coverage);
        coverage.anomalies.add_many(Anomaly::ReadingInterrupted, u64::from(captures.interrupted()));
        if let Err(refused) = filter.check(coverage.first_ns, coverage.last_ns) {
            recording_of(filtered.sink, &names).into_iter().for_each(SyncRecorder::discard);
            return Err(refused.into());
        }
        filtered.narrow(&mut coverage);
        let span_ns = (coverage.first_ns, coverage.last_ns);
        let Sinks { mut statistics, outputs, .. } = filtered.sink;
        let statistics = statistics.settled();
        let ((cube, table), recording) = outputs.finish(&names);
        let table = table.zip(table_file).map_or(Ok(()), |(table, file)| finish_table(table.finish(&names), file));
        let drill = cube.map(|cube| DrillDown::collect(&cube, &names, &source, status_name));
        let findings = Findings::collect(statistics, &coverage, &names, source, status_name);
        let (findings, named) = name_hosts(findings, &hosts, &names);
        let findings = match unsaved {
            Some(why) => findings.and([Reason::partial(format!("{why}."))]),
            None => findings,
        };
        let end = |recording: SyncRecorder| recording.end((statistics, &coverage), span_ns, &names, named);
        let recording = recording.map(end).transpose();
        let recording =
            recording.and_then(|recorder| recorder.map_or(Ok(()), |one| one.finish(captures.interrupted(), &findings)));
        Ok(Analyzed { findings, drill, table, recording, chain })
    }
}

/// The recording of a job that has no results.
fn recording_of(sinks: Sinks, names: &Names) -> Option<SyncRecorder> {
    sinks.outputs.finish(names).1
}

fn position(progress: Progress) -> (u64, Option<u64>) {
    (progress.bytes_read, progress.bytes_total)
}

/// A table that all rows went to gets its name.
pub fn finish_table(written: Result<Written, RecordingError>, file: OutputFile) -> anyhow::Result<()> {
    match written {
        Ok(_) => file.finish(),
        Err(error) => Err(file.failed(error)),
    }
}
