//! Requests that wait for a response now.

use std::collections::{BTreeMap, HashMap};

use plimsoll_model::{Endpoint, Transaction};

use super::second::SECOND_NS;

/// Servers with separate numbers, at most.
const MAX_SERVERS: usize = 1_000;

/// How many requests wait, and since when the oldest does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Requests.
    pub requests: u64,
    /// When the oldest was sent, ns since the Unix epoch.
    pub since_ns: i64,
}

impl Wait {
    fn add(sum: &mut Option<Wait>, other: Wait) {
        let before = sum.unwrap_or(Wait { requests: 0, ..other });
        let (requests, since_ns) = (before.requests + other.requests, before.since_ns.min(other.since_ns));
        *sum = Some(Wait { requests, since_ns });
    }
}

/// The requests that wait at an instant.
#[derive(Clone, Debug, Default)]
pub struct WaitingNow {
    /// By the second in which they were sent: their number, when the first was sent, and the rest of the second after each, ns.
    sent: BTreeMap<i64, (Wait, u64)>,
    by_server: HashMap<Endpoint, Wait>,
    /// Those of all servers without separate numbers.
    others: Option<Wait>,
}

impl WaitingNow {
    /// Adds a request. Counts the same transactions as the queue depth.
    pub fn add(&mut self, t: &Transaction) {
        let Some(sent_ns) = t.timeline.request_first.filter(|_| t.counted && !t.long_lived) else { return };
        let one = Wait { requests: 1, since_ns: sent_ns };
        let number = sent_ns.div_euclid(SECOND_NS);
        let rest_ns = SECOND_NS.abs_diff(sent_ns.rem_euclid(SECOND_NS));
        let sent = self.sent.entry(number).or_insert((Wait { requests: 0, ..one }, 0));
        let mut wait = Some(sent.0);
        Wait::add(&mut wait, one);
        *sent = (wait.unwrap_or(one), sent.1 + rest_ns);
        let is_known = self.by_server.contains_key(&t.server) || self.by_server.len() < MAX_SERVERS;
        let mut sum = if is_known { self.by_server.get(&t.server).copied() } else { self.others };
        Wait::add(&mut sum, one);
        match sum {
            Some(sum) if is_known => _ = self.by_server.insert(t.server, sum),
            sum => self.others = sum,
        }
    }

    /// Those that were sent before an instant at the end of a second, ns since the Unix epoch.
    pub fn before(&self, end_ns: i64) -> Option<Wait> {
        let mut sum = None;
        let earlier = self.sent.range(..end_ns.div_euclid(SECOND_NS));
        earlier.for_each(|(_, (wait, _))| Wait::add(&mut sum, *wait));
        sum
    }

    /// How long they waited in all in the second with this number, ns. It is over.
    pub(super) fn in_second(&self, number: i64) -> u64 {
        let earlier: u64 = self.sent.range(..number).map(|(_, (wait, _))| wait.requests).sum();
        let rest_ns = self.sent.get(&number).map_or(0, |(_, rest_ns)| *rest_ns);
        earlier.saturating_mul(SECOND_NS.unsigned_abs()).saturating_add(rest_ns)
    }

    /// Those of a server.
    pub fn of(&self, server: Endpoint) -> Option<Wait> {
        self.by_server.get(&server).copied()
    }

    /// All servers with requests that wait, in the order of their addresses.
    pub fn servers(&self) -> Vec<Endpoint> {
        let mut servers: Vec<Endpoint> = self.by_server.keys().copied().collect();
        servers.sort_unstable();
        servers
    }

    /// Those of the servers that `is_of` chooses, and of all servers without separate numbers.
    pub fn others(&self, is_of: impl Fn(Endpoint) -> bool) -> Option<Wait> {
        let mut sum = self.others;
        let chosen = self.by_server.iter().filter(|(server, _)| is_of(**server));
        chosen.for_each(|(_, wait)| Wait::add(&mut sum, *wait));
        sum
    }
}
