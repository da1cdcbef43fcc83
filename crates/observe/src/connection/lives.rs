//! Opening and closing times of connections: a server that closes all of them at once restarts.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{Coverage, Endpoint, Restart};
use serde::{Deserialize, Serialize};

/// Maximum number of remembered connections: 400 KiB. Beyond it, whether a connection outlived the rest is unknown.
const LIVES_MAX: usize = 4_096;
/// A server that stops closes its connections within this time, ns.
const TOGETHER_NS: i64 = 10_000_000_000;
/// Data this long after the last close show that a connection continues, ns.
const GOES_ON_NS: i64 = 1_000_000_000;

/// A connection of a client to a server.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Life {
    pub(super) server: Endpoint,
    pub(super) client: IpAddr,
    /// The SYN, where it was captured.
    pub(super) begin_ns: Option<i64>,
    /// The last data.
    pub(super) last_ns: Option<i64>,
    /// The server closed it, and before the client did.
    pub(super) closed_ns: Option<i64>,
}

/// The opening and closing times of all connections.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Lives {
    all: Vec<Life>,
    beyond: u64,
}

impl Lives {
    pub(super) fn add(&mut self, life: Life) {
        if self.all.len() < LIVES_MAX {
            self.all.push(life);
        } else {
            self.beyond += 1;
        }
    }

    /// Each new connection: its client, and when.
    pub(crate) fn begins(&self) -> Vec<(IpAddr, i64)> {
        self.all.iter().filter_map(|life| Some((life.client, life.begin_ns?))).collect()
    }

    /// Servers that restarted.
    pub(crate) fn restarts(self) -> Vec<Restart> {
        if self.beyond > 0 {
            return Vec::new();
        }
        let mut servers: HashMap<Endpoint, Vec<Life>> = HashMap::new();
        self.all.into_iter().for_each(|life| servers.entry(life.server).or_default().push(life));
        let mut restarts: Vec<Restart> = servers.values().flat_map(|lives| of_server(lives)).collect();
        restarts.sort_by_key(|restart| (restart.closed_ns, restart.server));
        restarts.truncate(Coverage::RESTARTS);
        restarts
    }
}

fn of_server(lives: &[Life]) -> Vec<Restart> {
    let mut closed: Vec<(i64, &Life)> = lives.iter().filter_map(|life| Some((life.closed_ns?, life))).collect();
    // One that was opened and closed in the same tick of the clock, or in disorder, tells nothing.
    closed.retain(|(closed_ns, life)| life.begin_ns.is_none_or(|begin_ns| begin_ns < *closed_ns));
    closed.sort_by_key(|(closed_ns, _)| *closed_ns);
    let mut restarts = Vec::new();
    while let Some(&(from_ns, first)) = closed.first() {
        // One that was opened after the first close is of the new server.
        let began_before = |life: &Life| life.begin_ns.is_none_or(|begin_ns| begin_ns < from_ns);
        let is_in = |one: &(i64, &Life)| one.0.saturating_sub(from_ns) <= TOGETHER_NS && began_before(one.1);
        let (members, rest): (Vec<_>, Vec<_>) = closed.into_iter().partition(is_in);
        closed = rest;
        let to_ns = members.iter().map(|one| one.0).max().unwrap_or(from_ns);
        // A client may send on a connection that the server has closed, and learns of it then.
        let is_open = |life: &Life| life.closed_ns.is_none_or(|closed_ns| closed_ns > to_ns);
        let goes_on = |life: &Life| life.last_ns.is_some_and(|last_ns| last_ns > to_ns.saturating_add(GOES_ON_NS));
        let has_survivor = lives.iter().any(|life| began_before(life) && is_open(life) && goes_on(life));
        if !has_survivor {
            restarts.extend(restart(first.server, (from_ns, to_ns), &members, lives));
        }
    }
    restarts
}

/// The restart, if clients connected again.
fn restart(server: Endpoint, closed_ns: (i64, i64), members: &[(i64, &Life)], lives: &[Life]) -> Option<Restart> {
    let mut clients: HashMap<IpAddr, i64> = HashMap::new();
    for &(closed_ns, life) in members {
        let one = clients.entry(life.client).or_insert(closed_ns);
        *one = closed_ns.max(*one);
    }
    let back = |(client, since_ns): (&IpAddr, &i64)| {
        let of_client = lives.iter().filter(|life| life.client == *client);
        let next_ns = of_client.filter_map(|life| life.begin_ns).filter(|begin_ns| begin_ns > since_ns).min()?;
        Some(next_ns.abs_diff(*since_ns))
    };
    let times: Vec<u64> = clients.iter().filter_map(back).collect();
    Some(Restart {
        server,
        closed_ns,
        connections: members.len() as u64,
        clients: clients.len() as u64,
        back: times.len() as u64,
        back_after_ns: (*times.iter().min()?, *times.iter().max()?),
        away_ns: times.iter().fold(0, |sum, ns| sum.saturating_add(*ns)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Connections of clients, from an instant to the last data and the close by the server, ms.
    fn restarts(lives: &[(u8, i64, i64, Option<i64>)]) -> Vec<Restart> {
        let mut all = Lives::default();
        for &(client, begin_ms, last_ms, closed_ms) in lives {
            all.add(Life {
                server: Endpoint { ip: [10, 0, 1, 1].into(), port: 2049 },
                client: [10, 0, 0, client].into(),
                begin_ns: Some(begin_ms * MS),
                last_ns: Some(last_ms * MS),
                closed_ns: closed_ms.map(|ms| ms * MS),
            });
        }
        all.restarts()
    }

    #[test]
    fn a_server_restarts_that_closes_all_its_connections_and_is_connected_to_again() {
        let all =
            [(1, 0, 8_990, Some(5_000)), (2, 10, 4_800, Some(5_004)), (1, 7_000, 9_000, None), (2, 8_004, 9_000, None)];
        let found = restarts(&all);
        assert_eq!(found.len(), 1);
        let one = found[0];
        assert_eq!((one.closed_ns.0 / MS, one.connections, one.clients, one.back), (5_000, 2, 2, 2));
        assert_eq!((one.back_after_ns, one.away_ns), ((2_000_000_000, 3_000_000_000), 5_000_000_000));
    }

    #[test]
    fn a_server_does_not_restart_that_closes_some_connections_or_is_not_connected_to_again() {
        let survivor = [(1, 0, 4_990, Some(5_000)), (2, 10, 9_000, None), (1, 7_000, 9_000, None)];
        assert_eq!(restarts(&survivor), []);
        assert_eq!(restarts(&[(1, 0, 4_990, Some(5_000)), (2, 10, 4_800, Some(5_004))]), [], "the end");
        assert_eq!(restarts(&[(1, 0, 4_990, None), (1, 7_000, 9_000, None)]), [], "the client closed it");
    }

    #[test]
    fn a_connection_that_is_closed_in_the_instant_of_its_begin_or_before_it_is_none_of_a_restart() {
        assert_eq!(restarts(&[(1, 5_000, 5_000, Some(5_000)), (1, 7_000, 9_000, None)]), []);
        assert_eq!(restarts(&[(1, 5_000, 5_000, Some(4_000)), (2, 10, 9_000, None)]), []);
    }
}
