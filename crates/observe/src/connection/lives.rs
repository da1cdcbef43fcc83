//! Opening and closing times of connections: a server that closes all of them at once restarts.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use plimsoll_model::{Coverage, Endpoint, Resets, Restart};
use serde::{Deserialize, Serialize};

/// Maximum number of remembered connections: 400 KiB. Beyond it, whether a connection outlived the rest is unknown.
const LIVES_MAX: usize = 4_096;
/// A server that stops closes its connections within this time, ns.
const TOGETHER_NS: i64 = 10_000_000_000;
/// Data this long after the last close show that a connection continues, ns.
const GOES_ON_NS: i64 = 1_000_000_000;

/// A program that connects for one short job may end each connection with a reset: those that lasted for less do not count, ns.
const LASTED_NS: i64 = 1_000_000_000;
/// A connection is in use if it had data this long before its end, ns.
const IN_USE_NS: i64 = 2_000_000_000;
/// Servers close connections after minutes without use. One with a request this long before its close was closed for another reason, ns.
const IDLE_NS: i64 = 30_000_000_000;
/// A client that needs its connection connects again within this time, ns.
const BACK_NS: i64 = 10_000_000_000;
/// Servers start within this time, ns. A client that connects later had no use for the server before, unless a request of it waited.
const STARTED_NS: u64 = 900_000_000_000;

/// A connection of a client to a server.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Life {
    pub(super) server: Endpoint,
    pub(super) client: IpAddr,
    /// The SYN, where it was captured.
    pub(super) begin_ns: Option<i64>,
    /// The last data.
    pub(super) last_ns: Option<i64>,
    /// The last request or response, other than those that only keep the connection or a lease; or the last data, where requests cannot be
    /// read.
    pub(super) used_ns: Option<i64>,
    /// The server closed it, and before the client did.
    pub(super) closed_ns: Option<i64>,
    /// It ended with a reset, not with a FIN: whether that has the client's address, and when.
    pub(super) reset: Option<(bool, i64)>,
    /// A request waited for its response when one end closed the connection.
    pub(super) waited: bool,
    /// The last request ended the use of a share or a session.
    pub(super) logged_off: bool,
}

impl Life {
    /// When the reset came, if the connection had lasted and was in use.
    fn reset_ns(&self) -> Option<i64> {
        let (_, reset_ns) = self.reset?;
        let lasted = |begin_ns: i64| reset_ns.saturating_sub(begin_ns) >= LASTED_NS;
        let is_used = |last_ns: i64| reset_ns.saturating_sub(last_ns) <= IN_USE_NS;
        let was_used = self.begin_ns.is_some_and(lasted) && self.last_ns.is_some_and(is_used);
        // Some clients end each connection with a reset once they have logged off.
        (was_used && (self.waited || !self.logged_off)).then_some(reset_ns)
    }

    /// Whether the client still needed the connection when the server closed it.
    fn was_needed(&self, closed_ns: i64) -> bool {
        let is_used = |used_ns: i64| closed_ns.saturating_sub(used_ns) <= IDLE_NS;
        self.waited || (self.used_ns.is_some_and(is_used) && !self.logged_off)
    }
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

    /// Clients whose connections were reset while they were in use, and which connected again; those with most first.
    pub(crate) fn resets(&self) -> Vec<Resets> {
        if self.beyond > 0 {
            return Vec::new();
        }
        let mut clients: BTreeMap<(Endpoint, IpAddr), Vec<&Life>> = BTreeMap::new();
        self.all.iter().for_each(|life| clients.entry((life.server, life.client)).or_default().push(life));
        let mut all: Vec<Resets> =
            clients.iter().filter_map(|(&(server, client), lives)| of_client(server, client, lives)).collect();
        let mut servers: BTreeMap<Endpoint, u64> = BTreeMap::new();
        clients.keys().for_each(|(server, _)| *servers.entry(*server).or_default() += 1);
        let mut reset: BTreeMap<Endpoint, u64> = BTreeMap::new();
        all.iter().for_each(|one| *reset.entry(one.server).or_default() += 1);
        for one in &mut all {
            (one.others, one.others_reset) = (servers[&one.server] - 1, reset[&one.server] - 1);
        }
        all.sort_by_key(|one| (std::cmp::Reverse(one.count), one.client, one.server));
        all.truncate(Coverage::RESETS);
        all
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

/// The resets of a client's connections to a server, without those of other clients.
fn of_client(server: Endpoint, client: IpAddr, lives: &[&Life]) -> Option<Resets> {
    let back = |life: &&Life| {
        let reset_ns = life.reset_ns()?;
        let begins = lives.iter().filter_map(|other| other.begin_ns).filter(|&begin_ns| begin_ns > reset_ns);
        let next_ns = begins.min().filter(|next_ns| next_ns.saturating_sub(reset_ns) <= BACK_NS)?;
        Some((reset_ns, next_ns.abs_diff(reset_ns), life.reset?.0))
    };
    let resets: Vec<(i64, u64, bool)> = lives.iter().filter_map(back).collect();
    let times = || resets.iter().map(|(reset_ns, ..)| *reset_ns);
    Some(Resets {
        server,
        client,
        count: resets.len() as u64,
        from_client: resets.iter().filter(|(.., from_client)| *from_client).count() as u64,
        span_ns: (times().min()?, times().max()?),
        back_after_ns: resets.iter().map(|(_, after_ns, _)| *after_ns).max()?,
        others: 0,
        others_reset: 0,
    })
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
        let is_idle = !members.iter().any(|(closed_ns, life)| life.was_needed(*closed_ns));
        if !has_survivor && !is_idle {
            restarts.extend(restart(first.server, (from_ns, to_ns), &members, lives));
        }
    }
    restarts
}

/// The restart, if clients connected again.
fn restart(server: Endpoint, closed_ns: (i64, i64), members: &[(i64, &Life)], lives: &[Life]) -> Option<Restart> {
    let mut clients: HashMap<IpAddr, (i64, bool)> = HashMap::new();
    for &(closed_ns, life) in members {
        let (since_ns, waited) = clients.entry(life.client).or_insert((closed_ns, false));
        *since_ns = closed_ns.max(*since_ns);
        *waited |= life.waited;
    }
    let back = |(client, (since_ns, waited)): (&IpAddr, &(i64, bool))| {
        let of_client = lives.iter().filter(|life| life.client == *client);
        let next_ns = of_client.filter_map(|life| life.begin_ns).filter(|begin_ns| begin_ns > since_ns).min()?;
        Some(next_ns.abs_diff(*since_ns)).filter(|away_ns| *waited || *away_ns <= STARTED_NS)
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
                used_ns: Some(last_ms * MS),
                closed_ns: closed_ms.map(|ms| ms * MS),
                reset: None,
                waited: false,
                logged_off: false,
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

    #[test]
    fn a_server_that_closes_idle_connections_does_not_restart() {
        let idle = [(1, 0, 1_000, Some(900_000)), (1, 1, 1_000, Some(900_001))];
        let later = (1, 903_000, 904_000, None);
        assert_eq!(restarts(&[idle[0], idle[1], later]), []);
        let used = (2, 2, 899_000, Some(900_002));
        let found = restarts(&[idle[0], idle[1], used, later]);
        assert_eq!((found.len(), found[0].connections), (1, 3), "one was in use");
        let much_later = (1, 1_900_000, 1_901_000, None);
        assert_eq!(restarts(&[idle[0], used, much_later]), [], "it needed no server before");
    }

    /// A connection of the client 10.0.0.1 with these properties.
    fn life(last_s: i64, waited: bool, logged_off: bool) -> Life {
        let (server, client) = (Endpoint { ip: [10, 0, 1, 1].into(), port: 445 }, [10, 0, 0, 1].into());
        let (begin_ns, last_ns, closed_ns, reset) = (Some(0), Some(last_s * 1_000 * MS), None, None);
        Life { server, client, begin_ns, last_ns, used_ns: last_ns, closed_ns, reset, waited, logged_off }
    }

    #[test]
    fn a_client_whose_request_waited_may_come_back_late() {
        let found = |waited: bool| {
            let mut all = Lives::default();
            (0..2).for_each(|_| all.add(Life { closed_ns: Some(900_000 * MS), ..life(899, waited, false) }));
            all.add(Life { begin_ns: Some(2_100_000 * MS), ..life(2_101, false, false) });
            all.restarts().iter().map(|one| one.back_after_ns.0 / 1_000_000_000).collect::<Vec<u64>>()
        };
        assert_eq!((found(true), found(false)), (vec![1_200], vec![]));
    }

    #[test]
    fn a_reset_while_a_request_waits_counts_also_after_the_last_request() {
        let reset = |waited: bool| Life { reset: Some((true, 10_500 * MS)), ..life(10, waited, true) };
        assert_eq!((reset(true).reset_ns(), reset(false).reset_ns()), (Some(10_500 * MS), None));
    }

    #[test]
    fn a_connection_is_needed_in_which_a_request_waits_and_not_after_the_last_request() {
        let needed = |life: Life| life.was_needed(600_000 * MS);
        assert!(needed(life(590, false, false)) && needed(life(1, true, false)));
        assert!(!needed(life(590, false, true)) && !needed(life(1, false, false)));
    }

    /// Resets of connections of clients, from an instant to the last data and the reset, ms.
    fn resets(lives: &[(u8, i64, i64, Option<i64>)]) -> Vec<Resets> {
        let mut all = Lives::default();
        for &(client, begin_ms, last_ms, reset_ms) in lives {
            all.add(Life {
                server: Endpoint { ip: [10, 0, 1, 1].into(), port: 445 },
                client: [10, 0, 0, client].into(),
                begin_ns: Some(begin_ms * MS),
                last_ns: Some(last_ms * MS),
                used_ns: None,
                closed_ns: None,
                reset: reset_ms.map(|ms| (true, ms * MS)),
                waited: false,
                logged_off: false,
            });
        }
        all.resets()
    }

    #[test]
    fn connections_that_are_reset_in_use_and_made_again_are_counted_by_client() {
        let lives = [
            (1, 0, 6_990, Some(7_000)),
            (1, 7_020, 13_990, Some(14_000)),
            (1, 14_090, 20_000, None),
            (2, 0, 20_000, None),
            (3, 0, 20_000, Some(20_000)),
        ];
        let found = resets(&lives);
        assert_eq!(found.len(), 1, "a reset connection that the client does not open again does not count");
        let one = found[0];
        assert_eq!((one.client, one.count, one.from_client), ([10, 0, 0, 1].into(), 2, 2));
        assert_eq!((one.span_ns, one.back_after_ns), ((7_000 * MS, 14_000 * MS), 90 * MS as u64));
        assert_eq!((one.others, one.others_reset), (2, 0));
    }

    #[test]
    fn idle_and_short_connections_are_not_reset_in_use() {
        assert_eq!(resets(&[(1, 0, 100, Some(900)), (1, 1_000, 2_000, None)]), [], "short");
        assert_eq!(resets(&[(1, 0, 5_000, Some(9_000)), (1, 9_100, 9_900, None)]), [], "idle");
        assert_eq!(resets(&[(1, 0, 5_000, Some(5_100)), (1, 30_000, 39_900, None)]), [], "much later");
    }
}
