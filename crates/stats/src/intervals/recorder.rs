//! The sink that fills intervals: the current interval is stored as plain counters.

use plimsoll_model::{Names, Outcome, Procedure, Sink, Transaction};

use super::{Interval, IntervalRow, Intervals};
use crate::fine::{OCTAVE, OCTAVES, cell_of};
use crate::{FineHistogram, Headline};

/// Number of consecutive operations of another interval after which that interval is opened instead. Ends come nearly in order: around
/// the boundary of two intervals, a few of both alternate.
const PATIENCE: u32 = 16;

/// Fills [`Intervals`], at about 10 ns per operation.
///
/// One interval is open: a table of counters per procedure, 4 KiB per octave of response times. Operations of other intervals are added
/// to these one by one. After enough consecutive ones the open interval is closed: its counters become its histograms and are reused.
#[derive(Clone, Debug)]
pub struct IntervalRecorder {
    closed: Intervals,
    open: Span,
    rows: Vec<Option<Box<Counters>>>,
    elsewhere: u32,
    headline: Headline,
    write_raw_async: Procedure,
}

/// The time of the open interval, ns: its start and its length.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    start_ns: i64,
    /// 0 where none is open.
    width_ns: u64,
}

impl Span {
    #[inline]
    fn holds(self, ns: i64) -> bool {
        ns >= self.start_ns && ns.abs_diff(self.start_ns) < self.width_ns
    }
}

/// A procedure in the open interval.
#[derive(Clone, Debug, Default)]
struct Counters {
    used: bool,
    row: IntervalRow,
    times: u32,
    octaves: Vec<Option<Box<[u32; OCTAVE]>>>,
}

impl IntervalRecorder {
    /// Into these; they may hold something already.
    pub fn new(into: Intervals) -> Self {
        Self {
            closed: into,
            open: Span::default(),
            rows: std::iter::repeat_with(|| None).take(Procedure::COUNT).collect(),
            elsewhere: 0,
            headline: Headline::Response,
            write_raw_async: Procedure::write_raw_async(),
        }
    }

    /// The same of the response times that lead.
    #[must_use]
    pub fn of(self, headline: Headline) -> Self {
        Self { headline, ..self }
    }

    /// Takes one transaction.
    #[inline]
    pub fn record(&mut self, t: &Transaction) {
        if t.long_lived || !t.counted || t.outcome == Outcome::NeverSent {
            return;
        }
        let Some(ns) = t.timeline.response_last.or(t.timeline.request_first) else {
            self.closed.unplace();
            return;
        };
        let taken = Taken::from(t, self.write_raw_async, self.headline);
        if !self.open.holds(ns) {
            self.elsewhere += 1;
            if self.elsewhere < PATIENCE && self.open.width_ns > 0 {
                return self.record_elsewhere(ns, t.procedure, &taken);
            }
            self.open_at(ns);
        }
        self.elsewhere = 0;
        let counters = self.rows[t.procedure.index()].get_or_insert_with(Box::default);
        counters.used = true;
        taken.count_in(&mut counters.row);
        if let Some(ns) = taken.response_ns {
            counters.time(ns);
        }
    }

    /// One by one into an interval that is not open.
    #[cold]
    fn record_elsewhere(&mut self, ns: i64, procedure: Procedure, taken: &Taken) {
        let row = self.closed.row_at(ns, procedure);
        let before = row.histogram.len();
        taken.count_in(row);
        if let Some(ns) = taken.response_ns {
            row.histogram.record(ns);
        }
        let cells = row.histogram.len() - before;
        self.closed.grew(cells);
    }

    #[cold]
    fn open_at(&mut self, ns: i64) {
        self.close();
        let interval = Interval::at(ns, self.closed.width());
        self.open = Span { start_ns: interval.start_ns(), width_ns: interval.width().ns().unsigned_abs() };
    }

    /// The open interval joins the closed ones.
    fn close(&mut self) {
        if self.open.width_ns == 0 {
            return;
        }
        let mut interval = Interval::at(self.open.start_ns, self.closed.width());
        self.open = Span::default();
        for (procedure, counters) in Procedure::all().zip(&mut self.rows) {
            let Some(counters) = counters.as_mut().filter(|counters| counters.used) else { continue };
            interval.row_mut(procedure).merge(&counters.take());
        }
        self.closed.add(interval);
    }

    /// Takes out the intervals that ended at or before an instant (ns since the Unix epoch), in time order. Later operations of such an
    /// interval form another part of it. (Of [`Intervals::growing`] none, until it has grown.)
    pub fn drain_before(&mut self, ns: i64) -> Vec<Interval> {
        if self.open.width_ns > 0 && !self.open.holds(ns) && self.open.start_ns < ns {
            self.close();
        }
        self.closed.drain_before(ns)
    }

    /// The intervals that are left.
    pub fn finish(mut self) -> Intervals {
        self.close();
        self.closed
    }
}

impl Sink for IntervalRecorder {
    #[inline]
    fn transaction(&mut self, transaction: &Transaction, _names: &Names) {
        self.record(transaction);
    }
}

/// A transaction's contribution to its row.
struct Taken {
    one_way: bool,
    error: bool,
    unanswered: bool,
    payload_bytes: u64,
    payload_unknown: bool,
    response_ns: Option<u64>,
}

impl Taken {
    #[inline]
    fn from(t: &Transaction, write_raw_async: Procedure, headline: Headline) -> Self {
        let one_way = t.procedure == write_raw_async;
        let response_ns = headline.of(&t.timeline).and_then(|ns| u64::try_from(ns).ok());
        Self {
            one_way,
            error: !one_way && t.outcome.is_error(),
            unanswered: !one_way && t.outcome == Outcome::Unanswered,
            payload_bytes: t.moved_bytes().unwrap_or(0),
            payload_unknown: t.has_unknown_payload(),
            response_ns: response_ns.filter(|_| !one_way),
        }
    }

    /// All but the histogram, which is counters while the interval is open.
    #[inline]
    fn count_in(&self, row: &mut IntervalRow) {
        row.count += u64::from(!self.one_way);
        row.errors += u64::from(self.error);
        row.unanswered += u64::from(self.unanswered);
        row.payload_bytes = row.payload_bytes.saturating_add(self.payload_bytes);
        row.payload_unknown += u64::from(self.payload_unknown);
        if let Some(ns) = self.response_ns {
            row.response.record(ns);
        }
    }
}

impl Counters {
    #[inline]
    fn time(&mut self, ns: u64) {
        let cell = usize::from(cell_of(ns));
        if let Some(Some(octave)) = self.octaves.get_mut(cell / OCTAVE) {
            octave[cell % OCTAVE] += 1;
        } else {
            self.time_in_new_octave(cell);
        }
        // No counter can pass 32 bits before all together do.
        self.times += 1;
        if self.times == u32::MAX {
            self.spill();
        }
    }

    #[cold]
    fn time_in_new_octave(&mut self, cell: usize) {
        if self.octaves.is_empty() {
            self.octaves = std::iter::repeat_with(|| None).take(OCTAVES).collect();
        }
        if let Some(octave) = self.octaves.get_mut(cell / OCTAVE) {
            octave.get_or_insert_with(|| Box::new([0; OCTAVE]))[cell % OCTAVE] += 1;
        }
    }

    /// Counters become a histogram.
    #[cold]
    fn spill(&mut self) {
        let mut spilt = FineHistogram::default();
        for (number, octave) in self.octaves.iter_mut().enumerate() {
            if let Some(octave) = octave {
                spilt.take_octave(number, octave);
            }
        }
        self.row.histogram.merge(&spilt);
        self.times = 0;
    }

    /// Takes the counts and resets them.
    fn take(&mut self) -> IntervalRow {
        self.spill();
        self.used = false;
        std::mem::take(&mut self.row)
    }
}
