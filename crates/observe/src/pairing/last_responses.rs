//! When each server last sent a response, whether or not it could be read and has a request: only of all of them is the absence of a later
//! one a fact.

use std::collections::BTreeMap;

use plimsoll_model::{Coverage, Endpoint};
use serde::{Deserialize, Serialize};

/// Connections of which the server is remembered.
const RECENT: usize = 64;

/// The last response of each server.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct LastResponses {
    numbers: BTreeMap<Endpoint, usize>,
    /// When each server sent its last response, ns, by the numbers of the servers.
    last_ns: Vec<i64>,
    /// There are more servers than [`Coverage::LAST_RESPONSES`].
    are_too_many: bool,
    /// The connections seen last, each with its direction of responses and the number of its server.
    #[serde(skip)]
    recent: Vec<Option<(u32, usize, usize)>>,
}

impl LastResponses {
    /// Takes a response that `server` sent in `direction` of a connection.
    #[inline]
    pub(crate) fn record(&mut self, connection: u32, direction: usize, server: Endpoint, ns: i64) {
        let recent = self.recent.get(connection as usize % RECENT).copied().flatten();
        match recent.filter(|(of, from, _)| (*of, *from) == (connection, direction)) {
            Some((.., number)) => self.last_ns[number] = self.last_ns[number].max(ns),
            None => self.find(connection, direction, server, ns),
        }
    }

    #[cold]
    fn find(&mut self, connection: u32, direction: usize, server: Endpoint, ns: i64) {
        if self.are_too_many {
            return;
        }
        let next = self.last_ns.len();
        let number = *self.numbers.entry(server).or_insert(next);
        if number == next {
            self.last_ns.push(ns);
        }
        self.last_ns[number] = self.last_ns[number].max(ns);
        if self.last_ns.len() > Coverage::LAST_RESPONSES {
            *self = Self { are_too_many: true, ..Self::default() };
            return;
        }
        self.recent.resize(RECENT, None);
        self.recent[connection as usize % RECENT] = Some((connection, direction, number));
    }

    /// When a server last sent a response so far, ns; `None` if it sent none, or there are too many servers.
    pub(crate) fn of(&self, server: &Endpoint) -> Option<i64> {
        self.numbers.get(server).map(|number| self.last_ns[*number])
    }

    /// All servers with a response, in the order of their addresses; `None` if there are too many.
    pub(crate) fn all(&self) -> Option<Vec<(Endpoint, i64)>> {
        let rows = self.numbers.iter().map(|(server, number)| (*server, self.last_ns[*number]));
        (!self.are_too_many).then(|| rows.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(number: u16) -> Endpoint {
        Endpoint { ip: [10, 0, 0, 1].into(), port: number }
    }

    #[test]
    fn the_latest_response_of_each_server_stays() {
        let mut last = LastResponses::default();
        // Connections 1 and 65 have one place.
        for (connection, direction, number, ns) in [(1, 0, 1, 500), (2, 0, 2, 700), (1, 0, 1, 400), (65, 0, 1, 450)] {
            last.record(connection, direction, server(number), ns);
        }
        assert_eq!(last.all().unwrap(), [(server(1), 500), (server(2), 700)]);
        assert_eq!([1, 3].map(|number| last.of(&server(number))), [Some(500), None]);
        // While it is unknown which end is the server, both are.
        last.record(1, 1, server(3), 900);
        assert_eq!(last.all().unwrap()[2], (server(3), 900));
    }

    #[test]
    fn of_too_many_servers_none_is_known() {
        for servers in [999, 1_000, 1_001, 3_000] {
            let mut last = LastResponses::default();
            (0..5_000).for_each(|n| last.record(n, 0, server((n % servers) as u16), i64::from(n)));
            assert_eq!(last.all().map(|all| all.len()), (servers <= 1_000).then_some(servers as usize));
        }
    }
}
