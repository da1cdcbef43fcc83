//! A recording of one level, written by the thread that makes the transactions: no times are measured there.

use std::collections::BTreeMap;
use std::net::IpAddr;

use plimsoll_model::{Coverage, Names, Sink, Transaction};
use plimsoll_recording::folder::{CheckpointWriter, Finished, LevelWriter, Sample};
use plimsoll_stats::{IntervalRecorder, Intervals, Statistics};
use serde_json::{Value, json};

use super::{CHECK_INTERVAL, LATE_NS, Recorder};

/// Where a level has the names of hosts that its report shows, by address.
pub(crate) const HOST_NAMES: &str = "host_names";

/// The manifest entry of a level of an analysis, whose report shows these host names.
pub fn about_of(host_names: &BTreeMap<IpAddr, String>) -> Value {
    if host_names.is_empty() { Value::Null } else { json!({ HOST_NAMES: host_names }) }
}

/// The level of an analysis.
pub struct SyncRecorder {
    recorder: Recorder,
    level: LevelWriter,
    sample: Sample,
    intervals: IntervalRecorder,
    /// With checkpoints: the intervals that were written. More than `MAX_CELLS` become wider ones, so memory is bounded.
    ended: Option<Intervals>,
    since: u32,
}

impl SyncRecorder {
    /// Begins it.
    pub fn begin(recorder: Recorder) -> anyhow::Result<Self> {
        let level = match recorder.writer.begin(0, None) {
            Ok(level) => level,
            Err(error) => {
                // The user must see this error, so a second one is not reported.
                let _ = recorder.writer.discard();
                return Err(error.into());
            }
        };
        let (sample, intervals) = (recorder.sample, IntervalRecorder::new(Intervals::growing()));
        Ok(Self { recorder, level, sample, intervals, ended: None, since: 0 })
    }

    /// Begins to collect what checkpoints need.
    pub fn checkpoints(&mut self) -> CheckpointWriter {
        self.ended = Some(Intervals::growing());
        self.recorder.writer.checkpoints()
    }

    /// A copy of the intervals so far, with checkpoints: those that were written, and the recorder of the others.
    pub fn so_far(&self) -> Option<(Intervals, IntervalRecorder)> {
        Some((self.ended.clone()?, self.intervals.clone()))
    }

    /// The analysis failed, or there are no transactions: removes the recording unless it has results so far. (The user must see why, so a
    /// second error is not reported.)
    pub fn discard(self) {
        let Self { recorder, level, .. } = self;
        drop(level);
        let _ = recorder.writer.discard();
    }

    /// Ends the recording: all transactions of `span_ns` have come; the report shows these host names.
    ///
    /// # Errors
    /// It could not be written: it is removed, as by [`SyncRecorder::discard`].
    pub fn end(
        mut self,
        (of, coverage): (&Statistics, &Coverage),
        span_ns: (Option<i64>, Option<i64>),
        names: &Names,
        host_names: BTreeMap<IpAddr, String>,
    ) -> anyhow::Result<Recorder> {
        self.level.rest(&self.intervals.finish());
        let state = of.to_bytes(coverage, names);
        let finished = Finished { load_name: None, span_ns, state, about: about_of(&host_names), part: None };
        let Self { mut recorder, level, .. } = self;
        if let Err(error) = recorder.writer.end(level, finished, names) {
            let _ = recorder.writer.discard();
            return Err(error.into());
        }
        Ok(recorder)
    }
}

impl Sink for SyncRecorder {
    fn transaction(&mut self, t: &Transaction, names: &Names) {
        self.intervals.record(t);
        if self.sample.keeps(t) {
            self.level.transactions([t], names);
        }
        self.since += 1;
        if self.since >= CHECK_INTERVAL {
            self.since = 0;
            if let Some(end) = t.timeline.response_last {
                let ended = self.intervals.drain_before(end.saturating_sub(LATE_NS));
                if let Some(all) = &mut self.ended {
                    ended.iter().for_each(|interval| all.add(interval.clone()));
                }
                self.level.intervals(ended);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use plimsoll_report::findings::Source;
    use plimsoll_stats::Options;
    use plimsoll_testkit::servers::Scratch;

    use super::*;
    use crate::record::{Measurement, RecordTo, Rows};

    /// As on a full disk: files of the new level cannot be written when it ends.
    #[test]
    fn a_recording_that_cannot_be_ended_leaves_the_one_that_it_was_to_replace() {
        let scratch = Scratch::new("synchronous-failed");
        let folder = scratch.path().join("R");
        let to = RecordTo { folder: folder.clone(), rows: Rows::None, overwrite: true, command: Vec::new() };
        let measured = Measurement::Analyze { source: Source::default(), captures: Vec::new(), link: None };
        let begin = || SyncRecorder::begin(to.begin(&measured, "clock", 0).unwrap()).unwrap();
        let (statistics, coverage) = (Statistics::new(Options::default()), Coverage::default());
        let end = |recorder: SyncRecorder| {
            recorder.end((&statistics, &coverage), (None, None), &Names::default(), BTreeMap::new()).map(drop)
        };
        let fails = || {
            let failing = begin();
            fs::remove_dir_all(folder.join("level-0000.partial")).unwrap();
            assert!(end(failing).is_err());
        };
        fails();
        assert!(!folder.exists(), "there was none");
        end(begin()).unwrap();
        let manifest = || fs::read(folder.join("manifest.json")).unwrap();
        let before = manifest();
        fails();
        assert_eq!(manifest(), before);
        assert!(folder.join("level-0000/statistics.zst").exists() && !folder.join("replaced").exists());
        // A run that fails before its first level ends.
        let failed = || to.begin(&measured, "clock", 0).unwrap();
        failed().give_up(&anyhow::anyhow!("no client could connect"));
        assert_eq!(manifest(), before);
        assert!(folder.join("level-0000/statistics.zst").exists() && !folder.join("replaced").exists());
        fs::remove_dir_all(&folder).unwrap();
        failed().give_up(&anyhow::anyhow!("no client could connect"));
        assert!(String::from_utf8(manifest()).unwrap().contains("no client could connect"), "there was none");
    }
}
