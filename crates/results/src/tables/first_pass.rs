//! The first pass over all rows of tables: what they show together.

use std::collections::HashSet;
use std::path::PathBuf;

use plimsoll_model::{Endpoint, Names, Sink, Transaction, Vantage};

use crate::Usage;

/// Maximum number of distinct connections; above it the count is a lower bound.
const MOST_CONNECTIONS: usize = 1 << 20;

/// Some rows together.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) count: u64,
    pub(super) span: Option<(i64, i64)>,
    /// Numbers of connections, in captures with both ends: each capture of several counts its connections from 0.
    pub(super) connections: HashSet<(u32, Option<[Endpoint; 2]>)>,
}

/// Result of the first pass.
#[derive(Default)]
pub(super) struct FirstPass {
    pub(super) all: Rows,
    /// The rows of measured phases.
    pub(super) measured: Rows,
    /// Whether a row has an intended start.
    pub(super) is_intended: bool,
    /// The lowest and the highest number of a load level.
    levels: Option<(u32, u32)>,
    has_wire: bool,
    has_client: bool,
}

impl FirstPass {
    /// Whose clock all times are from.
    pub(super) fn vantage(&self) -> Vantage {
        if self.has_client { Vantage::Client } else { Vantage::Wire }
    }

    /// Whether only the rows of the measured phase count: a run also has rows of its preparation, its warm-up and its drain.
    pub(super) fn is_of_a_phase(&self) -> bool {
        self.has_client && self.measured.count > 0
    }

    /// Refuses rows whose numbers have no meaning together.
    pub(super) fn check(&self, inputs: &[PathBuf]) -> Result<(), Usage> {
        let shown = || inputs.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        if self.has_wire && self.has_client {
            return Err(Usage(format!(
                "{}: some rows have times of a capture, others those of a client, which are longer (column vantage); analyze the rows of \
                captures and of runs separately",
                shown()
            )));
        }
        match self.levels.filter(|(lowest, highest)| self.has_client && lowest != highest) {
            Some((lowest, highest)) => Err(Usage(format!(
                "{}: the rows are of several load levels, from {lowest} to {highest} (column level); analyze the rows of one level, such \
                as DIR/level-0000/transactions-*.parquet of a recording (--record DIR --record-transactions all)",
                shown()
            ))),
            None => Ok(()),
        }
    }
}

impl Rows {
    fn add(&mut self, t: &Transaction) {
        self.count += 1;
        for at in t.timeline.request_first.into_iter().chain(t.timeline.response_last) {
            let (first, last) = self.span.unwrap_or((at, at));
            self.span = Some((first.min(at), last.max(at)));
        }
        if self.connections.len() < MOST_CONNECTIONS {
            // The server of a callback is the client of the connection. A connection of a run may have several ports, one after the other.
            let ends = [t.client.min(t.server), t.client.max(t.server)];
            self.connections.insert((t.connection, (t.vantage == Vantage::Wire).then_some(ends)));
        }
    }
}

impl Sink for FirstPass {
    fn transaction(&mut self, t: &Transaction, _names: &Names) {
        self.all.add(t);
        if let Some(level) = t.level {
            self.measured.add(t);
            let (lowest, highest) = self.levels.unwrap_or((level, level));
            self.levels = Some((lowest.min(level), highest.max(level)));
        }
        self.is_intended |= t.timeline.intended.is_some();
        match t.vantage {
            Vantage::Wire => self.has_wire = true,
            Vantage::Client => self.has_client = true,
        }
    }
}

/// Passes the rows of the measured phase on, or all.
pub(super) struct Phase<'s, S> {
    pub(super) sink: &'s mut S,
    pub(super) measured_only: bool,
}

impl<S: Sink> Sink for Phase<'_, S> {
    fn transaction(&mut self, t: &Transaction, names: &Names) {
        if t.level.is_some() || !self.measured_only {
            self.sink.transaction(t, names);
        }
    }
}
