//! A client whose requests take longer because it is far away: no fault of the server.

use std::net::IpAddr;

use plimsoll_model::ClientPath;
use plimsoll_stats::tallies::Excess;

use super::{FAR_TIMES, FIRST_WINDOW, round_trips};
use crate::collect::diagnosis::network::ROUND_TRIP_S;
use crate::collect::diagnosis::places::times;
use crate::collect::diagnosis::{Evidence, Found, Kind};
use crate::findings::Rule;
use crate::text::duration;

/// Round trips vary: the difference may be this many times the shortest round trip, at most.
const VARIES: f64 = 1.5;
/// This part of the difference needs no explanation.
const SLIGHT: f64 = 0.1;

/// The shortest round trips of a path: between the capture and the server, and between both ends, s.
fn trips(path: &ClientPath) -> Option<[f64; 2]> {
    let [to_server, to_client] = path.round_trips.map(|trip| trip.least_ns.map(|ns| ns as f64 / 1e9));
    Some([to_server?, to_server? + to_client?])
}

/// States that a client is far away, if that explains why its requests take longer than those of others.
pub(in crate::collect::diagnosis) fn explained(evidence: &Evidence<'_>, ip: IpAddr, excess: &Excess) -> Option<Found> {
    if evidence.is_from_intended() {
        return None;
    }
    let tallies = evidence.tallies?;
    let paths = round_trips(evidence, tallies).into_iter().map(|(_, path)| path).filter(|path| path.handshakes > 0);
    let paths: Vec<([f64; 2], IpAddr)> = paths.filter_map(|path| Some((trips(path)?, path.client))).collect();
    let (own, _) = paths.iter().find(|(_, client)| *client == ip)?;
    let mut others: Vec<[f64; 2]> = paths.iter().filter(|(_, client)| *client != ip).map(|&(trips, _)| trips).collect();
    others.sort_by(|a, b| a[1].total_cmp(&b[1]));
    let usual = others.get(others.len() / 2)?;
    let (trip_s, usual_s) = (own[1], usual[1]);
    let sum = tallies.sum(|key| key.client == ip);
    let (_, cell) = sum.iter().find(|(operation, _)| *operation == excess.operation)?;
    // Service time has the round trip from the capture to the server. Sending and receiving have one from end to end for each doubling of
    // TCP's first window (RFC 6928).
    let rounds = (1.0 + cell.payload as f64 / cell.count.max(1) as f64 / FIRST_WINDOW).log2();
    let longer_s = (excess.mean_ns - excess.others_ns) / 1e9;
    let service_s = longer_s * excess.service_share?;
    let is_far = trip_s >= ROUND_TRIP_S && trip_s >= FAR_TIMES * usual_s;
    let is_path = service_s <= VARIES * (own[0] - usual[0]).max(0.0) + SLIGHT * longer_s
        && longer_s - service_s <= VARIES * rounds * (trip_s - usual_s) + SLIGHT * longer_s;
    if !is_far || !is_path {
        return None;
    }
    let text = format!(
        "Client {ip} is far away: its shortest round trip to the server takes {trip}. {others} {usual}. This distance explains why \
        the operation {operation} took {mean} on average for this client, {times} as long as for the other clients ({others_mean}). \
        The server is not slow for this client.",
        trip = duration(trip_s),
        others = if others.len() == 1 {
            "For the other client, this time is"
        } else {
            "For the other clients, the median is"
        },
        usual = duration(usual_s),
        operation = excess.operation.label(),
        mean = duration(excess.mean_ns / 1e9),
        times = times(excess.times()),
        others_mean = duration(excess.others_ns / 1e9),
    );
    Some(Found::new(Kind::Remark, Rule::FarClient, None, text).inferred())
}
