//! When each server last sent a response: of every transaction, because only then the absence of a later one is a fact.

use std::collections::BTreeMap;

use plimsoll_model::{Endpoint, Transaction};
use serde::{Deserialize, Serialize};

use crate::state::{Reader, State, StateError, Writer};

/// Maximum number of servers: 100 KiB. With more, no last response is known.
const MAX_SERVERS: usize = 1_000;
/// Connections of which the server is remembered.
const RECENT: usize = 64;

/// The last response of each server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct LastResponses {
    numbers: BTreeMap<Endpoint, usize>,
    /// When each server sent its last response, ns, by the numbers of the servers.
    last_ns: Vec<i64>,
    /// There are more servers than [`MAX_SERVERS`].
    are_too_many: bool,
    /// The connections seen last, each with the number of its server.
    #[serde(skip)]
    recent: Vec<Option<(u32, usize)>>,
}

impl LastResponses {
    /// Takes a transaction of any kind.
    #[inline]
    pub(super) fn record(&mut self, t: &Transaction) {
        let times = &t.timeline;
        let Some(ns) = times.response_last.max(times.response_first).max(times.interim) else { return };
        let recent = self.recent.get(t.connection as usize % RECENT).copied().flatten();
        match recent.filter(|(connection, _)| *connection == t.connection) {
            Some((_, number)) => self.last_ns[number] = self.last_ns[number].max(ns),
            None => self.find(t, ns),
        }
    }

    #[cold]
    fn find(&mut self, t: &Transaction, ns: i64) {
        let Some(number) = self.add(t.server, ns) else { return };
        self.recent.resize(RECENT, None);
        self.recent[t.connection as usize % RECENT] = Some((t.connection, number));
    }

    /// Adds a response of a server. Returns the number of the server.
    fn add(&mut self, server: Endpoint, ns: i64) -> Option<usize> {
        if self.are_too_many {
            return None;
        }
        let next = self.last_ns.len();
        let number = *self.numbers.entry(server).or_insert(next);
        if number == next {
            self.last_ns.push(ns);
        }
        self.last_ns[number] = self.last_ns[number].max(ns);
        if self.last_ns.len() > MAX_SERVERS {
            // Nothing is left that depends on the order of the servers or of the parts.
            *self = Self { are_too_many: true, ..Self::default() };
            return None;
        }
        Some(number)
    }

    /// Adds another part of the same data.
    pub(super) fn merge(&mut self, other: &Self) {
        if other.are_too_many {
            *self = Self { are_too_many: true, ..Self::default() };
        }
        for (server, ns) in other.rows() {
            self.add(server, ns);
        }
    }

    fn rows(&self) -> impl Iterator<Item = (Endpoint, i64)> {
        self.numbers.iter().map(|(server, number)| (*server, self.last_ns[*number]))
    }

    /// All servers with a response; `None` with more servers than [`MAX_SERVERS`].
    pub(super) fn all(&self) -> Option<BTreeMap<Endpoint, i64>> {
        (!self.are_too_many).then(|| self.rows().collect())
    }
}

impl State for LastResponses {
    fn put(&self, out: &mut Writer) {
        let rows: Vec<(Endpoint, i64)> = self.rows().collect();
        (self.are_too_many, rows).put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let (are_too_many, rows) = <(bool, Vec<(Endpoint, i64)>)>::take(from)?;
        let count = rows.len();
        let mut taken = Self::default();
        rows.into_iter().for_each(|(server, ns)| _ = taken.add(server, ns));
        taken.are_too_many |= are_too_many;
        let is_sound = taken.last_ns.len() == count && (count == 0 || !are_too_many);
        if is_sound { Ok(taken) } else { Err(from.no("last responses of servers")) }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Procedure, Protocol};

    use super::*;
    use crate::state::to_bytes;

    /// A response of one of many servers, over the connection of this number.
    fn response(server: u32, connection: u32, ns: i64) -> Transaction {
        let mut t = plimsoll_testkit::transaction(Procedure::of(Protocol::Smb2, 8), ns, 1_000);
        (t.connection, t.server) = (connection, endpoint(server));
        t
    }

    fn endpoint(server: u32) -> Endpoint {
        Endpoint { ip: std::net::Ipv4Addr::from(0x0a00_0000 + server).into(), port: 445 }
    }

    fn of(all: impl IntoIterator<Item = Transaction>) -> LastResponses {
        let mut last = LastResponses::default();
        all.into_iter().for_each(|t| last.record(&t));
        last
    }

    #[test]
    fn each_kind_of_response_counts_and_the_latest_stays() {
        let times = |last: &LastResponses| last.all().unwrap().into_iter().collect::<Vec<_>>();
        let mut last = of([response(1, 1, 500), response(2, 2, 700), response(1, 1, 400), response(1, 65, 450)]);
        assert_eq!(times(&last), [(endpoint(1), 500), (endpoint(2), 700)]);
        let mut pending = response(1, 1, 900);
        (pending.timeline.response_first, pending.timeline.response_last) = (None, None);
        last.record(&pending);
        assert_eq!(times(&last)[0].1, 500, "no response");
        pending.timeline.interim = Some(800);
        (pending.counted, pending.long_lived) = (false, true);
        last.record(&pending);
        assert_eq!(times(&last)[0].1, 800);
    }

    #[test]
    fn parts_are_the_whole_in_any_order() {
        for servers in [3, 999, 1_000, 1_001, 1_500] {
            let all = |part: u32| {
                (0..3_000).filter(move |n| n % 3 == part).map(move |n| response(n % servers, n, i64::from(n)))
            };
            let whole = of((0..3_000).map(|n| response(n % servers, n, i64::from(n))));
            assert_eq!(whole.all().map(|all| all.len()), (servers <= 1_000).then_some(servers as usize));
            for order in [[0, 1, 2], [2, 0, 1]] {
                let mut merged = LastResponses::default();
                order.iter().for_each(|&part| merged.merge(&of(all(part))));
                assert!(to_bytes(&merged) == to_bytes(&whole), "{servers} servers");
            }
            let again: LastResponses = Reader::new(&to_bytes(&whole)).last().unwrap();
            assert_eq!(again.all(), whole.all());
        }
    }
}
