//! Small writes that each wait for stable storage.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use plimsoll_model::{Operation, Symbol};
use plimsoll_stats::Tallies;
use plimsoll_stats::tallies::{Cell, MIN_COMPARED, SLOW_MEAN};

use super::super::counts::plural;
use super::{Evidence, Found, Kind, percent};
use crate::findings::Rule;
use crate::text::{duration, size};

/// Minimum number of writes that wait for stable storage.
const LEAST: u64 = 50;
/// Maximum mean size of these writes, bytes, so that they wait for storage rather than for their transfer.
const SMALL_BYTES: f64 = 32_768.0;
/// Minimum mean time of these writes without a round trip, ns: a short processor load causes as much.
const EACH_NS: f64 = 2_000_000.0;
/// Minimum fraction of these writes, without their round trips, in all time waited.
const SHARE: f64 = 0.25;
/// From this part of their time on, the round trip is said.
const TRIP_SHARE: f64 = 0.1;
/// A client or share with at least this fraction of the writes is named.
const NEARLY_ALL: f64 = 0.9;
/// Size of the writes that they are compared with, bytes.
const LARGE: u64 = 65_536;

/// The writes; no statement if they are slow only on one share: then its storage is the cause.
pub(super) fn writes(evidence: &Evidence<'_>) -> Option<Found> {
    let tallies = evidence.tallies?;
    let mut all = Cell::default();
    tallies.durable().for_each(|(_, cell)| all.add(cell));
    let each = all.payload as f64 / all.count.max(1) as f64;
    let share = all.waited_ns as f64 / evidence.waited_ns();
    // A write waits for the network as every request does: this time is not the storage's.
    let trips_ns = trips_ns(evidence, tallies).min(all.waited_ns as f64);
    let storage_ns = all.waited_ns as f64 - trips_ns;
    let (storage_share, mean_trip_ns) = (storage_ns / evidence.waited_ns(), trips_ns / all.count.max(1) as f64);
    let is_small = all.count >= LEAST && each > 0.0 && each <= SMALL_BYTES && all.mean_ns() - mean_trip_ns >= EACH_NS;
    if !is_small || storage_share < SHARE || storage_ns < evidence.least_ns() || is_of_one_share(tallies) {
        return None;
    }
    let writes = tallies.sum(|_| true);
    let write = writes.iter().find(|(one, _)| *one == Operation::Write).map_or(Cell::default(), |(_, cell)| *cell);
    let others = write.without(&all);
    let compared = match others.count >= MIN_COMPARED {
        true => format!(" (other writes: {})", duration(others.mean_ns() / 1e9)),
        false => String::new(),
    };
    let trip = match mean_trip_ns >= TRIP_SHARE * all.mean_ns() {
        true => format!(" The network round trip to the server took {} of this time.", duration(mean_trip_ns / 1e9)),
        false => String::new(),
    };
    let text = format!(
        "Each small write waits for stable storage: {writes}{whose} ask the server to store their data before it answers (NFS \
        FILE_SYNC or DATA_SYNC, SMB write-through). On average, each of them carried {bytes} and took {mean}{compared}.{trip} \
        Together, they account for {share} of all time waited. With unstable writes and one flush at the end, clients would wait for \
        the storage only once. The same data would fit into {requests} of {size}.",
        writes = plural(all.count, "write request"),
        bytes = size(each.round() as u64),
        whose = whose(evidence, tallies, &all),
        mean = duration(all.mean_ns() / 1e9),
        share = percent(share),
        requests = plural(all.payload.div_ceil(LARGE), "request"),
        size = size(LARGE),
    );
    let excess = if others.count >= MIN_COMPARED { 1.0 - (others.mean_ns() / all.mean_ns()).min(1.0) } else { 1.0 };
    let found = Found::new(Kind::Mechanism, Rule::DurableWrites, Some(share), text);
    let explains = storage_share.min(share * excess);
    Some(found.explaining(explains).look(Operation::Write.label(), "path"))
}

/// The time of these writes that one round trip each to the server took, ns: the shortest of the client, otherwise of all clients.
fn trips_ns(evidence: &Evidence<'_>, tallies: &Tallies) -> f64 {
    let paths = evidence.coverage.client_paths.iter();
    let trips: HashMap<IpAddr, u64> =
        paths.filter_map(|path| Some((path.client, path.round_trips[0].least_ns?))).collect();
    let shortest_ns = evidence.coverage.network.to_server_ns.unwrap_or(0);
    let trip_ns = |ip: IpAddr| trips.get(&ip).copied().unwrap_or(shortest_ns) as f64;
    tallies.durable().map(|(key, cell)| cell.count as f64 * trip_ns(key.client)).sum()
}

/// Whether such writes take much longer on one share than on the others.
fn is_of_one_share(tallies: &Tallies) -> bool {
    let shares: BTreeSet<Symbol> = tallies.durable().map(|(key, _)| key.share).collect();
    shares.iter().any(|share| {
        let (mut mine, mut others) = (Cell::default(), Cell::default());
        tallies.durable().for_each(|(key, cell)| if key.share == *share { &mut mine } else { &mut others }.add(cell));
        let are_known = mine.count >= MIN_COMPARED && others.count >= MIN_COMPARED;
        are_known && mine.mean_ns() >= SLOW_MEAN * others.mean_ns()
    })
}

/// The client and the share with nearly all of them.
fn whose(evidence: &Evidence<'_>, tallies: &Tallies, all: &Cell) -> String {
    let is_most = |count: u64| count as f64 >= NEARLY_ALL * all.count as f64;
    let clients: BTreeSet<IpAddr> = tallies.durable().map(|(key, _)| key.client).collect();
    let of_client =
        |ip: IpAddr| tallies.durable().filter(|(key, _)| key.client == ip).map(|(_, cell)| cell.count).sum();
    let shares: BTreeSet<Symbol> = tallies.durable().map(|(key, _)| key.share).collect();
    let of_share =
        |one: Symbol| tallies.durable().filter(|(key, _)| key.share == one).map(|(_, cell)| cell.count).sum();
    let client = clients.into_iter().find(|&ip| is_most(of_client(ip)));
    let share = shares.into_iter().find(|&one| is_most(of_share(one))).and_then(|share| evidence.names.text(share));
    let client = client.map_or_else(String::new, |ip| format!(" by client {ip}"));
    let share = share.map_or_else(String::new, |share| format!(" on share {share}"));
    format!("{client}{share}")
}
