//! A status that begins: the server refuses requests that it had carried out for the same clients.

use std::collections::BTreeSet;
use std::net::IpAddr;

use plimsoll_model::{Operation, Symbol};
use plimsoll_stats::tallies::Refusal;

use super::super::counts::{plural, thousands};
use super::{Evidence, NAMED, clients};
use crate::instant;

/// Minimum number of a client's successful requests for an operation at a share before the first refusal.
const BEFORE_LEAST: u64 = 20;
/// Minimum number of refusals since, for one client; with fewer it may be a program that reaches a protected directory at its end.
const ONE_CLIENT: u64 = 20;
/// Minimum number of refusals since, for several clients.
const SEVERAL_CLIENTS: u64 = 10;
/// Minimum number of refusals for paths that had been accessed before, or of logons of accounts that had logged on.
const SAME_PATH: u64 = 5;
/// Minimum fraction of refused requests at which clients cannot work.
const MUCH: f64 = 0.05;

/// Refusals that began while clients worked.
pub(super) struct Began {
    clients: BTreeSet<IpAddr>,
    /// The accounts, as far as they are known.
    users: BTreeSet<Symbol>,
    before: u64,
    operations: Vec<Operation>,
    count: u64,
    /// Requests carried out since.
    later: u64,
    first_ns: i64,
}

impl Began {
    /// Of refusals with statuses of one meaning.
    pub(super) fn of<'r>(refusals: impl Iterator<Item = &'r Refusal>) -> Option<Self> {
        let began: Vec<&Refusal> = refusals.filter(|row| row.is_lasting() && row.before > 0).collect();
        // Of one client many requests, or the same as before; of several clients together.
        let is_alone = |row: &&&Refusal| {
            // One protected file does not concern other files.
            let is_one_file = row.path.is_some();
            row.same_path >= SAME_PATH || row.before >= BEFORE_LEAST && row.count >= ONE_CLIENT && !is_one_file
        };
        let alone: Vec<&Refusal> = began.iter().filter(is_alone).copied().collect();
        let rows = if Self::are_enough(&began) { began } else { alone };
        Some(Self {
            clients: rows.iter().map(|row| row.place.client).collect(),
            users: rows.iter().map(|row| row.user).collect(),
            operations: rows.iter().map(|row| row.operation).collect(),
            before: rows.iter().map(|row| row.before).sum(),
            count: rows.iter().map(|row| row.count).sum(),
            later: rows.iter().map(|row| row.later).sum(),
            first_ns: rows.iter().map(|row| row.first_ns).min()?,
        })
    }

    /// Whether several clients show it together.
    fn are_enough(rows: &[&Refusal]) -> bool {
        let clients: BTreeSet<IpAddr> = rows.iter().map(|row| row.place.client).collect();
        let sum = |of: fn(&Refusal) -> u64| rows.iter().map(|row| of(row)).sum::<u64>();
        clients.len() > 1 && sum(|row| row.before) >= BEFORE_LEAST && sum(|row| row.count) >= SEVERAL_CLIENTS
    }

    /// Whether it is a large part of all that these clients ask for.
    pub(super) fn is_much(&self, evidence: &Evidence<'_>) -> bool {
        let all =
            evidence.tallies.map_or(0, |tallies| tallies.sum(|key| self.clients.contains(&key.client)).total().count);
        self.count as f64 >= MUCH * all as f64
    }

    /// Since when, and whose.
    pub(super) fn sentence(&self, evidence: &Evidence<'_>, changed: Option<&str>) -> String {
        let whose = clients::named(evidence, &self.clients);
        let users: Option<Vec<&str>> = self.users.iter().map(|user| evidence.names.text(*user)).collect();
        let user = match users.as_deref() {
            Some([user]) => format!(", user {user}"),
            Some([..]) if self.users.len() <= NAMED => format!(", users {}", users.unwrap_or_default().join(", ")),
            _ => String::new(),
        };
        // Of each operation names that do not exist are counted for all clients together.
        let absent = evidence.tallies.map(|tallies| tallies.absent());
        let has_absent = |one: &Operation| {
            absent.is_some_and(|absent| absent.iter().any(|(operation, cell)| operation == *one && cell.count > 0))
        };
        let at_least = if self.operations.iter().any(has_absent) { "at least " } else { "" };
        let since = match self.later {
            0 => "all".to_owned(),
            later => format!("all but {}", thousands(later)),
        };
        let changed =
            changed.map_or_else(String::new, |changed| format!(" Check what changed at that time: {changed}."));
        format!(
            " At first, the server carried out {at_least}{requests} from {whose}{user}. From {start} on, it refused {since} such \
            requests.{changed}",
            requests = plural(self.before, "such request"),
            start = instant::second(self.first_ns)
        )
    }
}
