//! The network paths to clients, summed over their connections.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{ClientPath, Network};
use serde::{Deserialize, Serialize};

use super::acknowledgements::{Acknowledgements, CLASSES, time_of};
use super::largest::Largest;
use super::moments::Moments;
use super::stuck;

/// Clients with a path: 4 MiB. Connections of more are counted.
const CLIENTS_MAX: usize = 4_096;

/// Maximum number of a client's connections whose acknowledgement times are stored: 1 KiB.
const MOMENTS_MAX: usize = 32;
/// Connections of a client with segments that were stuck.
const STUCK_MAX: usize = 8;

/// Sums over the connections of a client, by direction.
#[derive(Debug, Serialize, Deserialize)]
struct Sums {
    /// How many times fall into each class.
    #[serde(with = "plimsoll_model::wide::pair")]
    classes: [[u32; CLASSES]; 2],
    largest: [Largest; 2],
    /// When segments were acknowledged, per connection, for at most [`MOMENTS_MAX`] connections.
    moments: [Vec<Moments>; 2],
    /// Segments that were stuck.
    stuck: [Vec<stuck::Found>; 2],
}

impl Sums {
    fn new() -> Self {
        Self {
            classes: [[0; CLASSES]; 2],
            largest: Default::default(),
            moments: Default::default(),
            stuck: Default::default(),
        }
    }

    /// The largest segment that was acknowledged since the first one was stuck, if the path carried anything while one was: a path that
    /// carried nothing was interrupted.
    fn largest_since_stuck(&self, at: usize) -> Option<u32> {
        let spans = || self.stuck[at].iter().filter_map(|one| Some((one.span_ns?, one.was_peer_there)));
        let carries = |((from_ns, to_ns), was_peer_there): ((i64, i64), bool)| {
            was_peer_there || self.moments[at].iter().any(|moments| moments.has_within(from_ns, to_ns))
        };
        let since_ns = spans().map(|(span_ns, _)| span_ns.0).min()?;
        spans().any(carries).then(|| self.largest[at].since(since_ns))
    }
}

/// Adds an element, unless there are `most` already.
fn push<T>(all: &mut Vec<T>, one: T, most: usize) {
    if all.len() < most {
        all.push(one);
    }
}

/// Paths by client.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ClientPaths {
    by_client: HashMap<IpAddr, Box<(ClientPath, Sums)>>,
    beyond: u64,
}

impl ClientPaths {
    /// Adds a connection of a client: the acknowledgements of requests, and those of responses.
    pub(super) fn add(
        &mut self,
        client: IpAddr,
        network: &Network,
        acknowledgements: [&Acknowledgements; 2],
        stuck: [stuck::Found; 2],
    ) {
        if self.by_client.len() >= CLIENTS_MAX && !self.by_client.contains_key(&client) {
            self.beyond += 1;
            return;
        }
        let new = || Box::new((ClientPath::new(client), Sums::new()));
        let (path, sums) = &mut **self.by_client.entry(client).or_insert_with(new);
        path.connections += 1;
        path.handshakes += network.handshakes;
        path.late_handshakes += network.late_handshakes;
        path.late_handshake_ns = path.late_handshake_ns.saturating_add(network.late_handshake_ns);
        for (at, seen) in acknowledgements.into_iter().enumerate() {
            let handshake_ns = [network.to_server_ns, network.to_client_ns][at];
            let all = [path.round_trips[at].least_ns, seen.least_ns, handshake_ns];
            path.round_trips[at].least_ns = all.into_iter().flatten().min();
            path.paces[at].add(&seen.pace);
            let classes = sums.classes[at].iter_mut().zip(seen.classes.iter().flat_map(|classes| &classes.0));
            classes.for_each(|(sum, &count)| *sum = sum.saturating_add(u32::from(count)));
            path.data_segments[at] += network.data_segments[at];
            path.resent_segments[at] += network.resent_segments[at];
            path.reordered_segments[at] += network.reordered_segments[at];
            path.zero_window_ns[at] = path.zero_window_ns[at].saturating_add(network.zero_window_ns[at]);
            path.small_window_ns[at] = path.small_window_ns[at].saturating_add(network.small_window_ns[at]);
            path.stuck[at].add(&stuck[at].stuck);
            if at == 0 {
                path.unanswered.add(&stuck[at].unanswered);
                let from_ns = [path.unanswered_from_ns, stuck[at].unanswered_from_ns];
                path.unanswered_from_ns = from_ns.into_iter().flatten().min();
            }
            sums.largest[at].add(&seen.largest);
            push(&mut sums.moments[at], seen.moments, MOMENTS_MAX);
            if stuck[at].span_ns.is_some() {
                push(&mut sums.stuck[at], stuck[at], STUCK_MAX);
            }
        }
    }

    /// All paths, by address; and how many connections have none.
    pub(crate) fn finish(self) -> (Vec<ClientPath>, u64) {
        let whole = |(mut path, sums): (ClientPath, Sums)| {
            for (round_trip, counts) in path.round_trips.iter_mut().zip(&sums.classes) {
                round_trip.count = counts.iter().copied().map(u64::from).sum();
                round_trip.median_ns = median(counts, round_trip.count);
            }
            path.largest_acknowledged = sums.largest.map(|largest| largest.of_all());
            path.largest_since_stuck = [0, 1].map(|at| sums.largest_since_stuck(at).unwrap_or(0));
            path
        };
        let mut paths: Vec<ClientPath> = self.by_client.into_values().map(|one| whole(*one)).collect();
        paths.sort_by_key(|path| path.client);
        (paths, self.beyond)
    }
}

/// The median, ns.
fn median(counts: &[u32; CLASSES], all: u64) -> Option<u64> {
    let mut passed = 0;
    let reaches = |&(_, &count): &(usize, &u32)| {
        passed += u64::from(count);
        2 * passed >= all
    };
    let class = counts.iter().enumerate().find(reaches).filter(|_| all > 0);
    class.map(|(class, _)| time_of(class))
}
