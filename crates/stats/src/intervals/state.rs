//! Serialises intervals one by one, because a long run has too many to hold in memory.

use plimsoll_model::Procedure;

use super::{Interval, IntervalRow, IntervalWidth, Intervals};
use crate::state::{Counter, MOST, Reader, State, StateError, Writer, fields};

impl Interval {
    /// An interval, or a part of one, as bytes; never none.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(self)
    }
}

impl Intervals {
    /// What intervals are besides what happened in them, as bytes: it comes after the last.
    pub fn end_to_bytes(&self) -> Vec<u8> {
        to_bytes(&End { width: self.width, growing: self.growing, unplaced: self.unplaced })
    }
}

fn to_bytes(what: &impl State) -> Vec<u8> {
    let mut out = Writer::default();
    what.put(&mut out);
    out.bytes
}

/// Intervals being read back: in bounded memory, for any input.
#[derive(Clone, Debug)]
pub struct IntervalsReader {
    read: Intervals,
    operations: u128,
}

impl Default for IntervalsReader {
    fn default() -> Self {
        Self { read: Intervals::new(IntervalWidth::NARROW), operations: 0 }
    }
}

impl IntervalsReader {
    /// Reads the output of [`Interval::to_bytes`]. Parts of one interval may come in any order.
    ///
    /// # Errors
    /// If the bytes are invalid, or the sums overflow together with the previous ones.
    pub fn interval(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let interval: Interval = Reader::new(bytes).last()?;
        self.operations += interval.rows().map(|(_, row)| u128::from(row.count)).sum::<u128>();
        if self.operations >= u128::from(MOST) {
            return Err(StateError {
                what: "interval with an operation count that keeps the total within its limit",
                left: bytes.len(),
            });
        }
        self.read.add(interval);
        Ok(())
    }

    /// Reads the output of [`Intervals::end_to_bytes`]: the intervals are complete.
    ///
    /// # Errors
    /// If the bytes are invalid.
    pub fn end(self, bytes: &[u8]) -> Result<Intervals, StateError> {
        let end: End = Reader::new(bytes).last()?;
        let mut read = self.read;
        read.at_least(end.width);
        (read.growing, read.unplaced) = (end.growing, end.unplaced);
        Ok(read)
    }
}

struct End {
    width: IntervalWidth,
    growing: bool,
    unplaced: u64,
}

fields!("end of intervals"; End { width, growing, unplaced } if |end| Counter::all(&[end.unplaced]));

impl State for IntervalWidth {
    fn put(&self, out: &mut Writer) {
        self.ns().put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let ns = i64::take(from)?;
        IntervalWidth::from_ns(ns).ok_or_else(|| from.no("width of an interval"))
    }
}

fields!("row of an interval"; IntervalRow { count, errors, unanswered, payload_bytes, payload_unknown, response, histogram } if |row| {
    Counter::all(&[row.count])
        && [row.errors, row.unanswered, row.payload_unknown, row.response.count()].iter().all(|&part| part <= row.count)
        && row.histogram.count() == row.response.count()
});

impl State for Interval {
    fn put(&self, out: &mut Writer) {
        self.width.put(out);
        self.number.put(out);
        self.rows.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let (width, number) = (IntervalWidth::take(from)?, i64::take(from)?);
        let rows = Vec::<(Procedure, IntervalRow)>::take(from)?;
        let interval = Interval { number, width, rows };
        let exists = Interval::at(interval.start_ns(), width).number == number;
        let has_rows = !interval.rows.is_empty() && interval.rows.is_sorted_by(|a, b| a.0 < b.0);
        if exists && has_rows { Ok(interval) } else { Err(from.no("interval")) }
    }
}

#[cfg(test)]
mod tests;
