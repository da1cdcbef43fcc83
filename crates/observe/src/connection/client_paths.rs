//! The network paths to clients, summed over their connections.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{ClientPath, Network, Stuck};

use super::acknowledgements::{Acknowledgements, CLASSES, time_of};

/// Clients with a path: 4 MiB. Connections of more are counted.
const CLIENTS_MAX: usize = 4_096;

/// How many times fall into each class, of all connections of a client.
type Sums = [[u32; CLASSES]; 2];

/// Paths by client.
#[derive(Debug, Default)]
pub(crate) struct ClientPaths {
    by_client: HashMap<IpAddr, Box<(ClientPath, Sums)>>,
    beyond: u64,
}

impl ClientPaths {
    /// Adds a connection of a client; its acknowledgements are those of requests, and those of responses.
    pub(super) fn add(
        &mut self,
        client: IpAddr,
        network: &Network,
        acknowledgements: [&Acknowledgements; 2],
        stuck: [Stuck; 2],
    ) {
        if self.by_client.len() >= CLIENTS_MAX && !self.by_client.contains_key(&client) {
            self.beyond += 1;
            return;
        }
        let new = || Box::new((ClientPath::new(client), [[0; CLASSES]; 2]));
        let (path, sums) = &mut **self.by_client.entry(client).or_insert_with(new);
        path.connections += 1;
        path.handshakes += network.handshakes;
        for (at, seen) in acknowledgements.into_iter().enumerate() {
            let handshake_ns = [network.to_server_ns, network.to_client_ns][at];
            let all = [path.round_trips[at].least_ns, seen.least_ns, handshake_ns];
            path.round_trips[at].least_ns = all.into_iter().flatten().min();
            path.paces[at].add(&seen.pace);
            let classes = sums[at].iter_mut().zip(seen.classes);
            classes.for_each(|(sum, count)| *sum = sum.saturating_add(u32::from(count)));
            path.data_segments[at] += network.data_segments[at];
            path.resent_segments[at] += network.resent_segments[at];
            path.zero_window_ns[at] = path.zero_window_ns[at].saturating_add(network.zero_window_ns[at]);
            path.small_window_ns[at] = path.small_window_ns[at].saturating_add(network.small_window_ns[at]);
            path.stuck[at].add(&stuck[at]);
            path.largest_acknowledged[at] = path.largest_acknowledged[at].max(seen.largest_acknowledged);
        }
    }

    /// All paths, by address; and how many connections have none.
    pub(crate) fn finish(self) -> (Vec<ClientPath>, u64) {
        let whole = |(mut path, sums): (ClientPath, Sums)| {
            for (round_trip, counts) in path.round_trips.iter_mut().zip(sums) {
                round_trip.count = counts.iter().copied().map(u64::from).sum();
                round_trip.median_ns = median(&counts, round_trip.count);
            }
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
