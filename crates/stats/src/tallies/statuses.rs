//! How long clients waited for answers that were errors, by status.

use std::net::IpAddr;

use plimsoll_model::{Operation, Outcome, Protocol, StatusFamily, Symbol, Transaction};
use serde::{Deserialize, Serialize};

use super::cell;
use crate::state::Counter;

use StatusFamily::{Dos, Errno, Nfs, Nt};

/// Statuses that say that there is no such name.
const ABSENT: [(StatusFamily, u32); 7] = [
    (Nt, 0xC000_000F), // NO_SUCH_FILE
    (Nt, 0xC000_0034), // OBJECT_NAME_NOT_FOUND
    (Nt, 0xC000_003A), // OBJECT_PATH_NOT_FOUND
    (Dos, 0x0002_0001),
    (Dos, 0x0003_0001),
    (Nfs, 2), // NOENT
    (Errno, 2),
];

/// The status of an ended session or a removed share, NETWORK_NAME_DELETED; and the requests that end the use of a share or a session.
const NAME_DELETED: u32 = 0xC000_00C9;
const ENDING: [&str; 3] = ["TREE_DISCONNECT", "LOGOFF", "LOGOFF_ANDX"];

/// Whether a client only ends the use of what it does not have: the server refused the TREE_CONNECT before, or ended the session. The
/// answer says nothing new, and nobody waits for it.
pub(super) fn is_aftermath(t: &Transaction, status: u32) -> bool {
    let row = t.procedure.row();
    StatusFamily::of(row.protocol, status) == Some(Nt) && status == NAME_DELETED && ENDING.contains(&row.name)
}

/// Maximum number of rows (operation, status); further ones are in `others`.
const MAX_ROWS: usize = 256;

/// Whether a request asked for a name that is not there.
pub(super) fn is_absent(t: &Transaction) -> bool {
    let Some(status) = t.status else { return false };
    StatusFamily::of(t.procedure.row().protocol, status).is_some_and(|family| ABSENT.contains(&(family, status)))
}

/// Answers to requests for one operation with one error status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorRow {
    /// The protocol that numbers the status.
    pub protocol: Protocol,
    /// As on the wire.
    pub status: u32,
    /// How the requests ended.
    pub outcome: Outcome,
    /// The operation.
    pub operation: Operation,
    /// How many.
    pub count: u64,
    /// How long clients waited for them, ns: of several answers in one message once.
    pub waited_ns: u64,
    /// When the first was answered, ns.
    pub first_ns: i64,
    /// Number of requests that the client repeated later for the same path.
    pub repeated: u64,
    /// Sum of the pauses before these repetitions, ns: no response time includes them.
    pub paused_ns: u64,
    /// The client, if only one got it.
    pub client: Option<IpAddr>,
    /// The share, if it is known and only one.
    pub share: Symbol,
    /// The path, if it is known and only one.
    pub path: Symbol,
}

/// Errors by status and operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    rows: Vec<ErrorRow>,
    others: u64,
}

impl Errors {
    #[cold]
    pub(super) fn record(&mut self, t: &Transaction, waited_ns: u64) {
        let Some(status) = t.status.filter(|&status| !is_aftermath(t, status)) else { return };
        let row = t.procedure.row();
        self.add(ErrorRow {
            protocol: row.protocol,
            status,
            outcome: t.outcome,
            operation: row.operation,
            count: 1,
            waited_ns: waited_ns.min(1 << 55),
            first_ns: t.timeline.response_last.unwrap_or(i64::MAX),
            repeated: 0,
            paused_ns: 0,
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
                row.repeated += more.repeated;
                row.paused_ns = cell::sum(row.paused_ns, more.paused_ns);
                row.client = row.client.filter(|_| row.client == more.client);
                let is_same = row.share == more.share;
                row.path = if is_same && row.path == more.path { row.path } else { Symbol::NONE };
                row.share = if is_same { row.share } else { Symbol::NONE };
            }
            None if self.rows.len() < MAX_ROWS => self.rows.push(more),
            None => self.others += more.count,
        }
    }

    /// A request came again that had got an error.
    pub(super) fn repeated(&mut self, t: &Transaction, status: u32, pause_ns: u64) {
        let row = t.procedure.row();
        let is_it =
            |one: &&mut ErrorRow| (one.protocol, one.status, one.operation) == (row.protocol, status, row.operation);
        if let Some(one) = self.rows.iter_mut().find(is_it) {
            one.repeated += 1;
            one.paused_ns = cell::sum(one.paused_ns, pause_ns);
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

crate::state::fields!("error"; ErrorRow {
    protocol, status, outcome, operation, count, waited_ns, first_ns, repeated, paused_ns, client, share, path,
} if |row| Counter::all(&[row.count, row.waited_ns, row.repeated, row.paused_ns]));
crate::state::fields!("errors"; Errors { rows, others } if |errors| {
    errors.rows.len() <= MAX_ROWS && Counter::all(&[errors.others])
});
