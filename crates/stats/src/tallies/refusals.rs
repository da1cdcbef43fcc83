//! Requests that a server refuses after it had carried out such ones: since when, and of whom.
//!
//! Only a refusal costs something: it notes how many requests of the same client for the same operation the share had answered until then.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{Operation, Procedure, Protocol, Symbol, Transaction};
use serde::{Deserialize, Serialize};

use super::PlaceKey;
use super::paths::Paths;
use crate::state::Counter;

/// Maximum number of rows (place, operation, status): 100 KiB. Further ones are not counted.
const MAX_ROWS: usize = 512;
/// Paths held, and logons: 100 KiB each.
const MAX_PATHS: usize = 1024;
/// Of the requests since the first refusal at most this part succeeds.
const RARELY: f64 = 0.1;

/// Refusals with one status of requests of one client for one operation at one share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The client, server and share.
    pub place: PlaceKey,
    /// The protocol that numbers the status.
    pub protocol: Protocol,
    /// As on the wire.
    pub status: u32,
    /// The operation.
    pub operation: Operation,
    /// The account, if known and unique.
    pub user: Symbol,
    /// The path.
    pub path: Symbol,
    /// How many.
    pub count: u64,
    /// When the first was answered, ns.
    pub first_ns: i64,
    /// Requests of the same client for the same operation at the same share that succeeded before the first refusal; a lower bound if
    /// some were for names that do not exist.
    pub before: u64,
    /// Such requests that succeeded since then.
    pub later: u64,
    /// Of the refusals, those for paths for which the same client's requests had been carried out before and were not since.
    pub same_path: u64,
    /// Requests answered before the first refusal, refused ones too.
    answered: u64,
}

impl Refusal {
    /// Whether hardly any of these requests was carried out since.
    pub fn is_lasting(&self) -> bool {
        self.later as f64 <= RARELY * (self.later + self.count) as f64
    }

    fn key(&self) -> Key {
        let user = if self.operation == Operation::Session { self.user } else { Symbol::NONE };
        (self.place, self.protocol, self.status, self.operation, user)
    }
}

/// Of logons the account as well: each account that cannot log on is a row.
type Key = (PlaceKey, Protocol, u32, Operation, Symbol);
type PathKey = (IpAddr, Protocol, u32, Operation, Symbol, Symbol);

/// Refusals for one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PathRefusal {
    before: u64,
    count: u64,
    /// The requests in a row that were refused last, and the longest such row.
    last: InARow,
    longest: InARow,
}

/// Requests in a row that were refused with the same status: the client asked again, and nothing else came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InARow {
    /// How many.
    pub count: u64,
    /// When the first and the last were refused, ns.
    pub span_ns: (i64, i64),
}

impl InARow {
    fn first(at_ns: i64) -> Self {
        Self { count: 1, span_ns: (at_ns, at_ns) }
    }
}

impl PathRefusal {
    /// Another refusal, of a request that `repeats` one that was refused with the same status.
    fn again(&mut self, at_ns: i64, repeats: bool) {
        self.count += 1;
        if repeats {
            self.last.count += 1;
            self.last.span_ns.1 = self.last.span_ns.1.max(at_ns);
        } else {
            self.last = InARow::first(at_ns);
        }
        if self.last.count > self.longest.count {
            self.longest = self.last;
        }
    }
}

/// Session requests of one account (logons, mounts): successes, and refusals since the last success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Logon {
    place: PlaceKey,
    procedure: Procedure,
    user: Symbol,
    succeeded: u64,
    refused: u64,
    status: u32,
    first_ns: i64,
}

/// Refusals of requests for one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedPath {
    /// The client.
    pub client: IpAddr,
    /// The protocol that numbers the status.
    pub protocol: Protocol,
    /// As on the wire.
    pub status: u32,
    /// The operation.
    pub operation: Operation,
    /// The share.
    pub share: Symbol,
    /// The path.
    pub path: Symbol,
    /// How many.
    pub count: u64,
    /// Of these, the longest row of requests without another answer between them.
    pub in_a_row: InARow,
}

/// All rows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Refusals {
    numbers: HashMap<Key, usize, foldhash::fast::RandomState>,
    rows: Vec<Refusal>,
    paths: HashMap<PathKey, PathRefusal, foldhash::fast::RandomState>,
    logons: Vec<Logon>,
    /// Paths of other parts of the same data.
    others: Vec<RefusedPath>,
}

impl Refusals {
    /// Takes a refusal at a place that has answered `answered` requests for the operation, at most `absent` of them with "no such name".
    /// It `repeats` the same request of the client that was refused with the same status, and had no other answer since.
    #[cold]
    pub(super) fn record(
        &mut self,
        t: &Transaction,
        place: PlaceKey,
        (answered, absent): (u64, u64),
        paths: &Paths,
        repeats: bool,
    ) {
        let Some(status) = t.status else { return };
        let (protocol, operation) = (t.procedure.row().protocol, t.procedure.row().operation);
        let first_ns = t.timeline.response_last.unwrap_or(i64::MAX);
        let before = answered.saturating_sub(self.refused(&place, operation) + absent);
        self.add(Refusal {
            place,
            protocol,
            status,
            operation,
            user: t.user,
            path: t.path,
            count: 1,
            first_ns,
            before,
            later: 0,
            same_path: 0,
            answered,
        });
        if !t.path.is_some() {
            return;
        }
        let key = (place.client, protocol, status, operation, t.share, t.path);
        let is_same = |one: &PathKey| (one.0, one.3, one.4, one.5) == (key.0, key.3, key.4, key.5);
        let is_room = self.paths.len() < MAX_PATHS;
        match self.paths.get_mut(&key) {
            Some(path) => path.again(first_ns, repeats),
            None if is_room => {
                let refused: u64 =
                    self.paths.iter().filter(|(one, _)| is_same(one)).map(|(_, other)| other.count).sum();
                let before = paths.of_client(t, operation).unwrap_or(0).saturating_sub(refused + absent);
                let one = InARow::first(first_ns);
                self.paths.insert(key, PathRefusal { before, count: 1, last: one, longest: one });
            }
            None => {}
        }
    }

    /// Takes a session request (logon, mount). These have several steps, so successes are identified by their procedure.
    #[cold]
    pub(super) fn record_logon(&mut self, t: &Transaction, place: PlaceKey) {
        let is_it = |one: &Logon| (one.place, one.procedure, one.user) == (place, t.procedure, t.user);
        let number = self.logons.iter().position(is_it).unwrap_or(self.logons.len());
        if number == self.logons.len() && number < MAX_PATHS {
            let (procedure, user) = (t.procedure, t.user);
            self.logons.push(Logon { place, procedure, user, succeeded: 0, refused: 0, status: 0, first_ns: 0 });
        }
        let Some(logon) = self.logons.get_mut(number) else { return };
        match t.status {
            Some(0) => (logon.succeeded, logon.refused) = (logon.succeeded + 1, 0),
            Some(status) if t.outcome.is_error() => {
                if logon.refused == 0 {
                    (logon.status, logon.first_ns) = (status, t.timeline.response_last.unwrap_or(i64::MAX));
                }
                logon.refused += 1;
            }
            _ => {}
        }
    }

    /// Refusals so far, with any status.
    fn refused(&self, place: &PlaceKey, operation: Operation) -> u64 {
        let is_there = |row: &&Refusal| row.operation == operation && row.place == *place;
        self.rows.iter().filter(is_there).map(|row| row.count).sum()
    }

    fn add(&mut self, more: Refusal) {
        match self.numbers.get(&more.key()) {
            Some(&number) => {
                let row = &mut self.rows[number];
                let first = if more.first_ns < row.first_ns { &more } else { &*row };
                let (first_ns, before, answered) = (first.first_ns, first.before, first.answered);
                (row.first_ns, row.before, row.answered) = (first_ns, before, answered);
                row.count += more.count;
                row.same_path += more.same_path;
                row.later += more.later;
                row.user = if row.user == more.user { row.user } else { Symbol::NONE };
                row.path = if row.path == more.path { row.path } else { Symbol::NONE };
            }
            None if self.rows.len() < MAX_ROWS => {
                self.numbers.insert(more.key(), self.rows.len());
                self.rows.push(more);
            }
            None => {}
        }
    }

    /// Adds another part of the same data. Successes before the first refusal in one part count as later ones if the other part has an
    /// earlier refusal.
    pub(super) fn merge(&mut self, rows: Vec<Refusal>, paths: Vec<RefusedPath>) {
        rows.into_iter().for_each(|row| self.add(row));
        self.others.extend(paths);
        self.others.truncate(MAX_PATHS);
    }

    /// The paths, as many as are held.
    pub(super) fn refused_paths(&self) -> Vec<RefusedPath> {
        let own = self.paths.iter().map(|(&(client, protocol, status, operation, share, path), refused)| RefusedPath {
            client,
            protocol,
            status,
            operation,
            share,
            path,
            count: refused.count,
            in_a_row: refused.longest,
        });
        let mut all: Vec<RefusedPath> = own.chain(self.others.iter().copied()).collect();
        all.sort_by_key(|one| (one.client, one.share, one.path, one.operation as usize, one.status));
        all.truncate(MAX_PATHS);
        all
    }

    /// The rows, given how many requests for an operation a place has answered in all.
    pub(super) fn rows(&self, all: impl Fn(&PlaceKey, Operation) -> u64, paths: &Paths) -> Vec<Refusal> {
        let settle = |row: &Refusal| {
            let since = all(&row.place, row.operation).saturating_sub(row.answered);
            // Successes before the first refusal with this status do not count as later ones for this row.
            let others = self.rows.iter().filter(|one| (one.place, one.operation) == (row.place, row.operation));
            let refused: u64 = others.filter(|one| one.first_ns >= row.first_ns).map(|one| one.count).sum();
            // Of logons it is known, and read from a recording.
            let later = if row.operation == Operation::Session { 0 } else { since.saturating_sub(refused) };
            Refusal { later: row.later.max(later), same_path: row.same_path + self.same_path(row, paths), ..*row }
        };
        let logons = self.logons.iter().filter(|one| one.refused > 0).map(|one| Refusal {
            place: one.place,
            protocol: one.procedure.row().protocol,
            status: one.status,
            operation: one.procedure.row().operation,
            user: one.user,
            path: Symbol::NONE,
            count: one.refused,
            first_ns: one.first_ns,
            before: one.succeeded,
            later: 0,
            same_path: if one.succeeded > 0 { one.refused } else { 0 },
            answered: 0,
        });
        self.rows.iter().map(settle).chain(logons).collect()
    }

    fn same_path(&self, row: &Refusal, paths: &Paths) -> u64 {
        let is_of = |key: &PathKey| {
            (key.0, key.1, key.2, key.3, key.4)
                == (row.place.client, row.protocol, row.status, row.operation, row.place.share)
        };
        let of_row = self.paths.iter().filter(|(key, path)| is_of(key) && path.before > 0);
        of_row
            .filter(|(key, path)| {
                let all = paths.count((key.4, key.5, key.3)).unwrap_or(0);
                let later = all.saturating_sub(path.before + path.count);
                later as f64 <= RARELY * (later + path.count) as f64
            })
            .map(|(_, path)| path.count)
            .sum()
    }

    /// The state written with [`Refusals::rows`].
    pub(super) fn of(rows: Vec<Refusal>, others: Vec<RefusedPath>) -> Option<Self> {
        let mut all = Self { others, ..Self::default() };
        let is_sound = all.others.len() <= MAX_PATHS
            && all.others.iter().all(|one| one.count < 1 << 40)
            && rows.len() <= MAX_ROWS + MAX_PATHS
            && rows.iter().all(|row| row.count < 1 << 56);
        rows.iter().enumerate().for_each(|(number, row)| {
            all.numbers.entry(row.key()).or_insert(number);
        });
        // As they were written: an account may have several rows, of the steps of a logon.
        all.rows = rows;
        is_sound.then_some(all)
    }
}

crate::state::fields!("refusal"; Refusal {
    place, protocol, status, operation, user, path, count, first_ns, before, later, same_path, answered,
} if |row| Counter::all(&[row.count, row.before, row.later, row.same_path, row.answered]));
crate::state::fields!("refusals in a row"; InARow { count, span_ns } if |row| Counter::all(&[row.count]));
crate::state::fields!("refusals of a path"; RefusedPath {
    client, protocol, status, operation, share, path, count, in_a_row
});
