//! Statistics as bytes, and back.

use plimsoll_model::{Coverage, Names, Procedure};

use super::{Statistics, Table};
use crate::state::{Reader, State, StateError, Writer};
use crate::{Accumulator, MAX_SERIES_BINS};

impl Statistics {
    /// Statistics and coverage as bytes.
    pub fn to_bytes(&self, coverage: &Coverage, names: &Names) -> Vec<u8> {
        let mut out = Writer::default();
        self.put(&mut out);
        coverage.put(&mut out);
        out.with_names(names)
    }

    /// Reads the output of [`Statistics::to_bytes`]; adds its names to `names`.
    ///
    /// # Errors
    /// If the bytes are invalid, or there is no room for the names.
    pub fn from_bytes(bytes: &[u8], names: &mut Names) -> Result<(Self, Coverage), StateError> {
        Reader::with_names(bytes, names)?.last()
    }
}

impl State for Table {
    fn put(&self, out: &mut Writer) {
        self.iter().count().put(out);
        self.iter().for_each(|(procedure, row)| {
            procedure.put(out);
            row.put(out);
        });
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let mut table = Self::new();
        for (procedure, row) in Vec::<(Procedure, Accumulator)>::take(from)? {
            let place = table.0.get_mut(procedure.index()).filter(|place| place.is_none());
            *place.ok_or_else(|| from.no("procedure of its own"))? = Some(Box::new(row));
        }
        Ok(table)
    }
}

impl State for Statistics {
    fn put(&self, out: &mut Writer) {
        self.operations.put(out);
        self.long_lived.put(out);
        self.members.put(out);
        self.slowest.put(out);
        self.unanswered.put(out);
        self.depth.put(out);
        self.series.put(out);
        self.heat.put(out);
        self.channels.put(out);
        self.breakdown.put(out);
        self.tallies.put(out);
        self.io.put(out);
        self.headline.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let statistics = Self {
            operations: State::take(from)?,
            long_lived: State::take(from)?,
            members: State::take(from)?,
            slowest: State::take(from)?,
            unanswered: State::take(from)?,
            depth: State::take(from)?,
            sender: None,
            series: State::take(from)?,
            heat: State::take(from)?,
            channels: State::take(from)?,
            breakdown: State::take(from)?,
            tallies: State::take(from)?,
            io: State::take(from)?,
            headline: State::take(from)?,
            write_raw_async: Procedure::write_raw_async(),
        };
        if statistics.series.limit() == MAX_SERIES_BINS { Ok(statistics) } else { Err(from.no("series")) }
    }
}

#[cfg(test)]
mod tests;
