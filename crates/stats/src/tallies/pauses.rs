//! Requests after a pause, in which no client sent this operation to the share: storage that sleeps when idle is slow to wake up.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{Operation, Symbol, Transaction};
use serde::{Deserialize, Serialize};

use super::{ByOperation, Cell};
use crate::state::Counter;

/// The shortest pause, as the power of two of its nanoseconds: 134 ms.
const FIRST_SHIFT: u32 = 27;
/// Pauses are classified by powers of two; the last class has all longer ones: from 73 minutes on.
const BINS: usize = 16;
/// Maximum number of shares: 40 KiB each. The data of further shares is not counted.
const MAX_SHARES: usize = 128;
/// Rows: 1 KiB each.
const MAX_ROWS: usize = 1024;

/// A share of a server; without a name, all that have none.
type Share = (IpAddr, Symbol);

/// When a share was last asked for an operation.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Busy {
    is_known: bool,
    /// The last answer, ns.
    end_ns: i64,
    /// The first request after the last pause, and its answer, ns: requests sent between them count as after the pause as well.
    first_ns: (i64, i64),
    pause_ns: u64,
}

/// Requests of one share for one operation, by the pause before them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PauseRow {
    server: IpAddr,
    share: Symbol,
    operation: Operation,
    cells: Box<[Cell; BINS]>,
    /// The shortest pause of each bin, ns.
    least_ns: [u64; BINS],
    pauses: [u64; BINS],
}

/// Requests after a pause, and other requests for the same operation at the same share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AfterPause {
    /// The server.
    pub server: IpAddr,
    /// Its share, where known.
    pub share: Symbol,
    /// The operation.
    pub operation: Operation,
    /// The shortest pause, ns.
    pub least_ns: u64,
    /// Number of these pauses: after one of them, several requests may come at once.
    pub pauses: u64,
    /// The requests after pauses of this length.
    pub after: Cell,
    /// The other requests.
    pub others: Cell,
}

/// All shares.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Pauses {
    shares: HashMap<Share, u32>,
    busy: Vec<[Busy; Operation::ALL.len()]>,
    rows: Vec<PauseRow>,
}

impl Pauses {
    /// The number of a share, for [`Pauses::record`].
    pub(super) fn number(&mut self, share: Share) -> Option<u32> {
        if let Some(&number) = self.shares.get(&share) {
            return Some(number);
        }
        let number = u32::try_from(self.busy.len()).ok().filter(|_| self.busy.len() < MAX_SHARES)?;
        self.busy.push([Busy::default(); Operation::ALL.len()]);
        self.shares.insert(share, number);
        Some(number)
    }

    /// Takes a request of a share, in the order of answers.
    #[inline]
    pub(super) fn record(&mut self, number: u32, t: &Transaction, cell: &Cell) {
        let operation = t.procedure.row().operation;
        let Some(busy) = self.busy.get_mut(number as usize) else { return };
        let busy = &mut busy[operation as usize];
        let Some((began_ns, end_ns)) = t.timeline.request_first.zip(t.timeline.response_last) else { return };
        let is_first = began_ns > busy.end_ns.saturating_add(1 << FIRST_SHIFT) && busy.is_known;
        if is_first {
            busy.pause_ns = began_ns.abs_diff(busy.end_ns);
            busy.first_ns = (began_ns, end_ns);
        }
        let pause_ns = busy.pause_ns;
        let is_after = is_first || (busy.first_ns.0..busy.first_ns.1).contains(&began_ns);
        busy.end_ns = if busy.is_known { busy.end_ns.max(end_ns) } else { end_ns };
        busy.is_known = true;
        if is_after {
            self.note((t.server.ip, t.share), operation, (pause_ns, is_first), cell);
        }
    }

    #[cold]
    fn note(&mut self, (server, share): Share, operation: Operation, (pause_ns, is_first): (u64, bool), cell: &Cell) {
        let Some(row) = self.row(server, share, operation) else { return };
        let bin = (pause_ns.max(1).ilog2().saturating_sub(FIRST_SHIFT) as usize).min(BINS - 1);
        row.cells[bin].add(cell);
        row.least_ns[bin] = row.least_ns[bin].min(pause_ns);
        row.pauses[bin] += u64::from(is_first);
    }

    fn row(&mut self, server: IpAddr, share: Symbol, operation: Operation) -> Option<&mut PauseRow> {
        let is_it = |row: &PauseRow| (row.server, row.share, row.operation) == (server, share, operation);
        let at = match self.rows.iter().position(is_it) {
            Some(at) => at,
            None if self.rows.len() < MAX_ROWS => {
                let (cells, least_ns, pauses) = (Box::default(), [u64::MAX; BINS], [0; BINS]);
                self.rows.push(PauseRow { server, share, operation, cells, least_ns, pauses });
                self.rows.len() - 1
            }
            None => return None,
        };
        self.rows.get_mut(at)
    }

    /// Adds another part of the same data.
    pub(super) fn merge(&mut self, other: &Pauses) {
        for theirs in &other.rows {
            let Some(mine) = self.row(theirs.server, theirs.share, theirs.operation) else { continue };
            mine.cells.iter_mut().zip(theirs.cells.iter()).for_each(|(mine, theirs)| mine.add(theirs));
            mine.least_ns.iter_mut().zip(theirs.least_ns).for_each(|(mine, theirs)| *mine = (*mine).min(theirs));
            mine.pauses.iter_mut().zip(theirs.pauses).for_each(|(mine, theirs)| *mine += theirs);
        }
    }

    pub(super) fn rows(&self) -> &[PauseRow] {
        &self.rows
    }

    pub(super) fn of(rows: Vec<PauseRow>) -> Option<Self> {
        (rows.len() <= MAX_ROWS).then(|| Self { rows, ..Self::default() })
    }

    /// For each row the minimum pause after which requests differ most from the others, if they take longer; `all` returns all requests
    /// of a share.
    pub(super) fn slow(&self, all: impl Fn(IpAddr, Symbol) -> ByOperation) -> Vec<AfterPause> {
        self.rows.iter().filter_map(|row| row.split(&all(row.server, row.share))).collect()
    }
}

impl PauseRow {
    fn split(&self, all: &ByOperation) -> Option<AfterPause> {
        let whole = all.0.get(self.operation as usize)?;
        let splits = (0..BINS).filter_map(|from| {
            let mut after = Cell::default();
            self.cells[from..].iter().for_each(|cell| after.add(cell));
            let others = whole.without(&after);
            let least_ns = *self.least_ns[from..].iter().min()?;
            let pauses = self.pauses[from..].iter().sum();
            // What lies between the two means of the logarithms (Fisher 1958).
            let (n, m) = (after.count as f64, others.count as f64);
            let apart = (after.typical_ns() / others.typical_ns()).log2();
            let between = n * m / (n + m).max(1.0) * apart * apart;
            let Self { server, share, operation, .. } = *self;
            let split = AfterPause { server, share, operation, least_ns, pauses, after, others };
            (n > 0.0 && m > 0.0 && apart > 0.0).then_some((between, split))
        });
        // Of equal ones the longest pause: its bin is the first that has any.
        splits.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, split)| split)
    }
}

crate::state::fields!("requests after pauses"; PauseRow { server, share, operation, cells, least_ns, pauses } if |row| {
    Counter::all(&row.pauses)
});

#[cfg(test)]
mod tests {
    use plimsoll_model::{Procedure, Protocol};
    use plimsoll_testkit::transaction;

    use super::*;

    const MS: i64 = 1_000_000;

    /// Requests to one share: (start, duration), ms.
    fn split(requests: &[(i64, i64)]) -> Option<AfterPause> {
        let (mut pauses, mut all) = (Pauses::default(), ByOperation::default());
        for &(from_ms, took_ms) in requests {
            let t = transaction(Procedure::of(Protocol::Smb2, 8), (from_ms + took_ms) * MS, took_ms * MS);
            let measured = crate::accumulator::Sample::of(&t, false, crate::Headline::ALL[0]);
            let cell = Cell::of(&t, &measured, (took_ms * MS) as u64, 1);
            all.0[Operation::Read as usize].add(&cell);
            let number = pauses.number((t.server.ip, t.share)).unwrap();
            pauses.record(number, &t, &cell);
        }
        pauses.slow(|_, _| all.clone()).first().copied()
    }

    #[test]
    fn requests_after_long_pauses_are_told_from_those_after_short_ones() {
        let mut requests = Vec::new();
        for block in 0..6 {
            let at = 1_000_000 + block * 20_000;
            // After 14 s, with one that came meanwhile; after 1 s; after none.
            requests.extend([(at, 2_000), (at + 500, 1_600), (at + 3_200, 1), (at + 3_202, 1), (at + 4_300, 1)]);
        }
        let split = split(&requests).unwrap();
        assert_eq!((split.after.count, split.others.count), (10, 20), "the first has no known pause");
        assert_eq!(split.pauses, 5, "two requests came after each");
        assert_eq!(split.least_ns / 1_000_000, 15_699);
        assert_eq!(split.after.mean_ns(), 1_800e6);
    }

    #[test]
    fn without_pauses_or_without_a_difference_there_is_no_row() {
        let steady: Vec<(i64, i64)> = (0..50).map(|at| (at * 10, 5)).collect();
        assert_eq!(split(&steady), None);
        let rare: Vec<(i64, i64)> = (0..50).map(|at| (at * 1_000, 5)).collect();
        assert!(split(&rare).is_none_or(|split| split.after.mean_ns() == split.others.mean_ns()));
    }
}
