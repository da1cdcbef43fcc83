//! Several far clients, while others are near: one network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Client, FAR_TIMES, cost_s, round_trips};
use crate::collect::counts::plural;
use crate::collect::diagnosis::network::{ROUND_TRIP_S, ROUND_TRIP_TIME};
use crate::collect::diagnosis::{Evidence, Found, Kind, NAMED};
use crate::findings::Rule;
use crate::text::duration;

/// Clients of a group.
const LEAST: usize = 2;
/// Lengths of prefixes that are usual for networks, longest first.
const PREFIXES: [[u32; 2]; 2] = [[24, 16], [64, 48]];

/// The group, if there is a clear gap between its round trips and those of the other clients.
pub(super) fn far_group(evidence: &Evidence<'_>, waited_s: f64) -> Option<Found> {
    let tallies = evidence.tallies?;
    let trips = round_trips(evidence, tallies);
    let factor = |at: usize| trips[at - 1].0 / trips[at].0.max(f64::MIN_POSITIVE);
    let split = (1..trips.len()).max_by(|&a, &b| factor(a).total_cmp(&factor(b)))?;
    let (far, near) = trips.split_at(split);
    let (most_s, least_s, usual_s) = (far.first()?.0, far.last()?.0, near.first()?.0);
    if far.len() < LEAST || least_s < ROUND_TRIP_S || least_s < FAR_TIMES * usual_s {
        return None;
    }
    let clients = far.iter().map(|&(trip_s, path)| (trip_s, Client::of(evidence, tallies, path.client)));
    let (mut requests, mut time_s, mut sum_s, mut hidden) = (0, 0.0, 0.0, 0.0);
    for (trip_s, client) in clients {
        let client = client?;
        let (hidden_s, whole_s) = cost_s(&client, trip_s);
        (requests, time_s) = (requests + client.requests, time_s + client.time_s);
        (sum_s, hidden) = (sum_s + whole_s, hidden + hidden_s);
    }
    if sum_s < ROUND_TRIP_TIME * time_s || sum_s * 1e9 < evidence.least_ns() {
        return None;
    }
    let [far_ips, near_ips] = [far, near].map(|all| all.iter().map(|(_, path)| path.client).collect::<Vec<IpAddr>>());
    let text = format!(
        "{clients} are far away: their shortest round trips to the capture point take {least} to {most}. {others} {usual}. \
        Round trips delayed the {requests} of the far clients by about {added} in all. Response times do not include this delay, \
        because they are measured at the capture point.",
        clients = named(&far_ips, &near_ips),
        least = duration(least_s),
        most = duration(most_s),
        others = match near.len() {
            1 => "For the other client, this time is".to_owned(),
            count => format!("For the {count} other clients, these times are at most"),
        },
        usual = duration(usual_s),
        requests = plural(requests, "request"),
        added = duration(hidden),
    );
    let explains = (sum_s / (waited_s + hidden)).min(1.0);
    Some(Found::new(Kind::Mechanism, Rule::FarClient, None, text).explaining(explains).inferred())
}

/// The network that contains exactly these clients, or their addresses.
fn named(far: &[IpAddr], near: &[IpAddr]) -> String {
    let networks = (0..2).filter_map(|at| {
        let network = far.first().map(|ip| network(*ip, at))?;
        let is_in = |ip: &IpAddr| self::network(*ip, at) == network;
        (far.iter().all(is_in) && !near.iter().any(is_in)).then_some(network)
    });
    if let Some((ip, prefix)) = networks.into_iter().next() {
        return format!("The {} of network {ip}/{prefix}", plural(far.len() as u64, "client"));
    }
    let mut names: Vec<String> = far.iter().take(NAMED).map(IpAddr::to_string).collect();
    if far.len() > NAMED {
        names.push(format!("{} more", far.len() - NAMED));
    }
    format!("{} ({})", plural(far.len() as u64, "client"), names.join(", "))
}

/// The network of an address, and the length of its prefix.
fn network(ip: IpAddr, at: usize) -> (IpAddr, u32) {
    match ip {
        IpAddr::V4(ip) => {
            let prefix = PREFIXES[0][at];
            (Ipv4Addr::from_bits(ip.to_bits() >> (32 - prefix) << (32 - prefix)).into(), prefix)
        }
        IpAddr::V6(ip) => {
            let prefix = PREFIXES[1][at];
            (Ipv6Addr::from_bits(ip.to_bits() >> (128 - prefix) << (128 - prefix)).into(), prefix)
        }
    }
}
