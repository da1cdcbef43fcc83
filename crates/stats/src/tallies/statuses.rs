//! How long clients waited for answers that were errors, by status.

use std::net::IpAddr;

use plimsoll_model::{Operation, Outcome, Protocol, Symbol, Transaction};

use crate::state::Counter;

/// Statuses of operations held; what is beyond is in `others`.
const MAX_ROWS: usize = 256;

/// Answers to requests for one operation with one error status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorRow {
    /// The protocol that numbers the status.
    pub protocol: Protocol,
    /// As on the wire.
    pub status: u32,
    /// How the requests ended.
    pub outcome: Outcome,
    /// What they asked for.
    pub operation: Operation,
    /// How many.
    pub count: u64,
    /// How long clients waited for them, ns: of several answers in one message once.
    pub waited_ns: u64,
    /// When the first was answered, ns.
    pub first_ns: i64,
    /// The client, if only one got it.
    pub client: Option<IpAddr>,
    /// The share, if it is known and only one.
    pub share: Symbol,
    /// The path, if it is known and only one.
    pub path: Symbol,
}

/// Errors by status and operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    rows: Vec<ErrorRow>,
    others: u64,
}

impl Errors {
    #[cold]
    pub(super) fn record(&mut self, t: &Transaction, waited_ns: u64) {
        let Some(status) = t.status else { return };
        let row = t.procedure.row();
        self.add(ErrorRow {
            protocol: row.protocol,
            status,
            outcome: t.outcome,
            operation: row.operation,
            count: 1,
            waited_ns: waited_ns.min(1 << 55),
            first_ns: t.timeline.response_last.unwrap_or(i64::MAX),
            client: Some(t.client.ip),
            share: t.share,
            path: t.path,
        });
    }

    fn add(&mut self, more: ErrorRow) {
        let key = |row: &ErrorRow| (row.protocol, row.status, row.outcome, row.operation);
        match self.rows.iter().position(|row| key(row) == key(&more)) {
            Some(at) => {
                let row = &mut self.rows[at];
                row.count += more.count;
                row.waited_ns = row.waited_ns.saturating_add(more.waited_ns).min(1 << 55);
                row.first_ns = row.first_ns.min(more.first_ns);
                row.client = row.client.filter(|_| row.client == more.client);
                let is_same = row.share == more.share;
                row.path = if is_same && row.path == more.path { row.path } else { Symbol::NONE };
                row.share = if is_same { row.share } else { Symbol::NONE };
            }
            None if self.rows.len() < MAX_ROWS => self.rows.push(more),
            None => self.others += more.count,
        }
    }

    pub(super) fn merge(&mut self, other: &Errors) {
        other.rows.iter().for_each(|row| self.add(*row));
        self.others += other.others;
    }

    /// Each status of each operation.
    pub fn rows(&self) -> &[ErrorRow] {
        &self.rows
    }
}

crate::state::fields!("error", ErrorRow {
    protocol, status, outcome, operation, count, waited_ns, first_ns, client, share, path,
} if |row| Counter::all(&[row.count, row.waited_ns]));
crate::state::fields!("errors", Errors { rows, others } if |errors| {
    errors.rows.len() <= MAX_ROWS && Counter::all(&[errors.others])
});
