//! One level being written.

use std::path::{Path, PathBuf};

use plimsoll_model::{Names, Transaction};
use plimsoll_stats::{Interval, IntervalWidth, Intervals, SpansWriter};

use super::intervals::IntervalsFile;
use super::packed::Packer;
use super::parts::Parts;
use super::rows::{Rows, Unpacker};
use super::tables::{OPEN, Tables};
use super::{Finished, FolderError, RecordedLevel, Recording, packed, progress};
use crate::error::Cause;

/// How long intervals wait for the parts of other workers before they are written; a later part becomes a separate row.
const PATIENCE_NS: i64 = 5_000_000_000;

/// One level being written, in a folder of its own. Errors are kept, and told when the level is ended: what takes
/// transactions cannot stop.
pub struct LevelWriter {
    pub(super) number: u32,
    pub(super) folder: PathBuf,
    tables: Tables,
    exact: IntervalsFile,
    spans: Option<(SpansWriter, Packer)>,
    parts: Option<Parts>,
    unpacker: Unpacker,
    intervals: Intervals,
    newest_ns: i64,
    error: Option<Cause>,
}

/// What a finished level holds.
pub(super) struct Held {
    pub(super) interval_ns: i64,
    pub(super) unplaced: u64,
    pub(super) transactions: u64,
    pub(super) parts: u32,
}

impl LevelWriter {
    /// In `folder`, which is empty; `transactions` says whether some will have rows.
    pub(super) fn new(
        folder: &Path,
        number: u32,
        width: Option<IntervalWidth>,
        transactions: bool,
    ) -> Result<Self, FolderError> {
        Ok(Self {
            number,
            folder: folder.to_owned(),
            tables: Tables::create(folder, number, OPEN)?,
            exact: IntervalsFile::create(folder)?,
            spans: None,
            parts: transactions.then(|| Parts::new(folder)),
            unpacker: Unpacker::default(),
            intervals: width.map_or_else(Intervals::growing, Intervals::new),
            newest_ns: i64::MIN,
            error: None,
        })
    }

    /// Takes rows of the transactions table.
    pub fn transactions<'a>(&mut self, rows: impl IntoIterator<Item = &'a Transaction>, names: &Names) {
        let (Some(parts), None) = (&mut self.parts, &self.error) else { return };
        self.error = parts.put(&rows.into_iter().collect::<Vec<_>>(), names).err();
    }

    /// The same of those that come from another thread.
    pub fn rows(&mut self, rows: Rows, names: &Names) {
        let (Some(parts), None) = (&mut self.parts, &self.error) else { return };
        self.error = self.unpacker.for_each(rows, |some| parts.put(some, names)).err();
    }

    /// Takes finished intervals, or parts of them, of one of several workers.
    pub fn intervals(&mut self, finished: Vec<Interval>) {
        for interval in finished {
            self.newest_ns = self.newest_ns.max(interval.start_ns());
            self.intervals.add(interval);
        }
        self.write_intervals(self.newest_ns.saturating_sub(PATIENCE_NS));
    }

    fn write_intervals(&mut self, before_ns: i64) {
        let ended = self.intervals.drain_before(before_ns);
        self.write(ended.iter());
    }

    fn write<'a>(&mut self, mut ended: impl Iterator<Item = &'a Interval>) {
        if self.error.is_none() {
            let (tables, exact) = (&mut self.tables, &mut self.exact);
            self.error = ended.try_for_each(|interval| tables.put(interval).and_then(|()| exact.put(interval))).err();
        }
    }

    /// Takes the last intervals of a worker.
    pub fn rest(&mut self, rest: &Intervals) {
        self.intervals.merge(rest);
    }

    /// Puts what was measured so far in the place of what was written before, for the case that it is never finished. It has neither
    /// intervals nor rows.
    pub fn progress(&mut self, so_far: Result<Finished, Cause>) {
        if self.error.is_none() {
            self.error = so_far.and_then(|so_far| self.write_progress(so_far)).err();
        }
    }

    fn write_progress(&self, so_far: Finished) -> Result<(), Cause> {
        let folder = self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let level = RecordedLevel {
            number: self.number,
            folder,
            load_name: so_far.load_name,
            first_ns: so_far.span_ns.0,
            last_ns: so_far.span_ns.1,
            interval_ns: self.intervals.width().ns(),
            unplaced: 0,
            transactions: 0,
            parts: 0,
            about: so_far.about,
            about_apart: false,
        };
        progress::write(&self.folder, &level, &so_far.state)
    }

    /// Takes from when to when requests were outstanding, ns.
    pub fn spans(&mut self, spans: &[(i64, i64)]) {
        if self.error.is_none() {
            self.error = self.put_spans(spans).err();
        }
    }

    fn put_spans(&mut self, spans: &[(i64, i64)]) -> Result<(), Cause> {
        let (writer, file) = match &mut self.spans {
            Some(spans) => spans,
            none => {
                let path = self.folder.join(packed::SPANS);
                none.insert((SpansWriter::default(), Packer::create(&path, packed::SPANS_HEAD)?))
            }
        };
        Ok(file.put(&writer.bytes(spans))?)
    }

    /// Takes the rows of a level of another recording, as they are.
    pub fn adopt(&mut self, recording: &Recording, level: &RecordedLevel) {
        let (Some(parts), None) = (&mut self.parts, &self.error) else { return };
        let files = recording.transactions(level).map_err(Cause::from);
        self.error = files.and_then(|files| parts.adopt(&files, level.transactions)).err();
    }

    /// Writes the rest, with the state of the level's statistics and the data for merging parts; everything is on disk afterwards.
    pub(super) fn finish(mut self, (state, part): (&[u8], Option<&[u8]>), names: &Names) -> Result<Held, FolderError> {
        let left = std::mem::replace(&mut self.intervals, Intervals::growing());
        self.write(left.iter());
        let failed = |cause: Cause| FolderError::file(&self.folder, cause);
        if let Some(error) = self.error.take() {
            return Err(failed(error));
        }
        self.tables.finish().map_err(failed)?;
        Tables::complete(&self.folder).map_err(|error| failed(error.into()))?;
        self.exact.finish(&left).map_err(failed)?;
        if let Some(parts) = &mut self.parts {
            parts.finish(names).map_err(failed)?;
        }
        if let Some((_, file)) = self.spans.take() {
            file.finish().map_err(|error| failed(error.into()))?;
        }
        packed::write_statistics(&self.folder.join(packed::STATISTICS), state)?;
        if let Some(part) = part {
            packed::write_part(&self.folder.join(packed::PART), part)?;
        }
        progress::remove(&self.folder).map_err(failed)?;
        let (transactions, parts) = self.parts.as_ref().map_or((0, 0), |parts| (parts.rows, parts.parts));
        Ok(Held { interval_ns: left.width().ns(), unplaced: left.unplaced(), transactions, parts })
    }
}
