//! Delays by the network: closed windows, delayed acknowledgements, the round trip.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use plimsoll_model::{SmallWindow, Symbol};

use super::super::counts::plural;
use super::{Evidence, Found, Kind, percent};
use crate::findings::{DepthShare, OperationRow, Rule};
use crate::text::{duration, size};

/// Minimum fraction of all time waited, for closed windows and delayed acknowledgements.
const HELD_SHARE: f64 = 0.05;
/// Minimum number of closed windows or delayed acknowledgements.
const HELD_LEAST: u64 = 5;
/// With at least this mean duration, s, closed windows need not be frequent: a receiver that reads all the time opens its window sooner.
const CLOSED_S: f64 = 0.2;
/// Minimum fraction of a client's time with a closed window, for a client that causes all of its waiting.
const CLOSED_TIME: f64 = 0.5;
/// Minimum fraction of all time waited, for the round trip or a delay of each request.
const ROUND_TRIP_SHARE: f64 = 0.5;
/// Minimum round trip, s: within a building or a town it is shorter, and cannot be improved.
pub(super) const ROUND_TRIP_S: f64 = 0.005;
/// Minimum fraction of the clients' time in round trips: a client that pauses between requests hardly notices them.
pub(super) const ROUND_TRIP_TIME: f64 = 0.25;
/// Maximum mean number of outstanding requests of clients that send one request after the other.
const ONE_AT_A_TIME: f64 = 1.5;
/// A window that is full for at least this many round trips is not too small.
const FULL_TRIPS: f64 = 4.0;
/// Operations and requests of each that all have the same delay.
const DELAY_OPERATIONS: usize = 3;
const DELAY_REQUESTS: u64 = 20;
/// Minimum fraction of requests that meet no other one, for "one at a time".
const ALONE_SHARE: f64 = 0.9;
/// A purpose of at least this fraction of the requests is named.
const MOSTLY: f64 = 0.5;
/// A connection with at least this fraction of the closed windows is the slow reader.
const NEARLY_ALL: f64 = 0.9;

/// Results of the rules. They describe all traffic, so they apply only without a filter on the waiting.
pub(super) fn network(evidence: &Evidence<'_>, waited_s: f64) -> Vec<Found> {
    if !evidence.findings.source.filters.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for requests in [true, false] {
        let closed = zero_window(evidence, waited_s, requests);
        // A slow reader has a small window before it is closed.
        found.extend(small_window(evidence, waited_s, requests).filter(|_| closed.is_none()));
        found.extend(closed);
        found.extend(delayed_ack(evidence, waited_s, requests));
    }
    let round_trip = round_trip(evidence, waited_s);
    let delay = fixed_delay(evidence, waited_s).filter(|_| round_trip.is_none());
    found.into_iter().chain(round_trip).chain(delay).chain(far_client(evidence)).collect()
}

fn zero_window(evidence: &Evidence<'_>, waited_s: f64, requests: bool) -> Option<Found> {
    let at = usize::from(!requests);
    let network = &evidence.coverage.network;
    let (count, held_s) = (network.zero_windows[at], network.zero_window_ns[at] as f64 / 1e9);
    let share = held_s / waited_s;
    let is_long = held_s >= CLOSED_S * count as f64;
    if count < HELD_LEAST && !is_long || share < HELD_SHARE || held_s * 1e9 < evidence.least_ns() {
        return None;
    }
    let (receiver, sender) = if requests { ("The server reads", "clients") } else { ("Clients read", "the server") };
    let slowest =
        network.slow_reader.filter(|_| !requests).map(|(ip, closed_ns)| (ip, closed_ns as f64 / 1e9 / held_s));
    // A client with nearly all of it is the slow reader.
    let (reader, caused) = match slowest {
        Some((ip, part)) if part >= NEARLY_ALL => (format!("Client {ip} reads"), String::new()),
        Some((ip, part)) => (receiver.to_owned(), format!(" Client {ip} caused {} of this time.", percent(part))),
        None => (receiver.to_owned(), String::new()),
    };
    // A response may be under way behind a closed window, and its end is not captured.
    let said = (share <= 1.0).then_some(share);
    let behind = reader_of_all(evidence).filter(|_| !requests);
    let text = format!(
        "{reader} too slowly: a TCP receive window of 0 stopped {sender} {times}, for at least {time} in all, which is \
        {share}.{caused}{also}",
        times = times(count),
        time = duration(held_s),
        share = match said {
            Some(share) => format!("{} of all time waited", percent(share)),
            None => format!("longer than all response times together ({})", duration(waited_s)),
        },
        also = behind.filter(|(client, _)| is_mostly_service(evidence, *client)).map_or_else(String::new, |(_, waited)| format!(
            " Responses that the server had not begun to send were delayed too, and this delay is part of their service times. All requests of this client account for {} of all time waited.",
            percent(waited)
        )),
    );
    let explains = behind.map_or(share, |(_, waited)| share.max(waited)).min(1.0);
    Some(Found::new(Kind::Explanation, Rule::ZeroWindow, said, text).explaining(explains).inferred())
}

/// Whether at least half of a client's waiting is service time.
fn is_mostly_service(evidence: &Evidence<'_>, client: IpAddr) -> bool {
    let sum = evidence.tallies.map(|tallies| tallies.sum(|key| key.client == client).total());
    sum.and_then(|sum| sum.service_share()).is_some_and(|share| share >= MOSTLY)
}

/// A client whose window was closed for most of its time: whatever it waits for, it waits for itself. Also returns the share of its
/// requests in all time waited.
pub(super) fn reader_of_all(evidence: &Evidence<'_>) -> Option<(IpAddr, f64)> {
    let network = &evidence.coverage.network;
    let (reader, closed_ns) = network.slow_reader.filter(|_| evidence.findings.source.filters.is_empty())?;
    let tallies = evidence.tallies?;
    let spans = tallies.places().iter().filter(|place| place.key.client == reader).map(|place| place.span_ns);
    let (first_ns, last_ns) = spans.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))?;
    let is_nearly_all = closed_ns as f64 >= NEARLY_ALL * network.zero_window_ns[1] as f64;
    let is_most = closed_ns as f64 >= CLOSED_TIME * last_ns.abs_diff(first_ns) as f64;
    let waited_ns = tallies.sum(|key| key.client == reader).total().waited_ns as f64;
    (is_nearly_all && is_most && network.zero_windows[1] >= HELD_LEAST)
        .then(|| (reader, waited_ns / evidence.waited_ns()))
}

fn small_window(evidence: &Evidence<'_>, waited_s: f64, requests: bool) -> Option<Found> {
    let at = usize::from(!requests);
    let network = &evidence.coverage.network;
    let (count, held_s) = (network.small_windows[at], network.small_window_ns[at] as f64 / 1e9);
    let share = held_s / waited_s;
    if count < HELD_LEAST || !(HELD_SHARE..=1.0).contains(&share) || held_s * 1e9 < evidence.least_ns() {
        return None;
    }
    let most = network.smallest_window[at]?;
    let wait_s = most.wait_ns as f64 / 1e9 / most.waits as f64;
    let (receiver, sender) = match requests {
        true => ("the server", "clients"),
        false => ("clients", "the server"),
    };
    if let Some(found) = full_window(evidence, &most, (count, held_s, share)).filter(|_| !requests) {
        return Some(found);
    }
    let part = most.wait_ns as f64 / 1e9 / held_s;
    let part = if part >= NEARLY_ALL { String::new() } else { format!(" ({} of this wait)", percent(part)) };
    let window = size(u64::from(most.bytes));
    let text = format!(
        "The TCP receive windows of {receiver} are too small: {sender} filled them {times} and waited {time} in all for \
        acknowledgements, {share} of all time waited. For client {client}{part}, a window of {window} and a mean wait of {mean} \
        allow at most {rate}/s. Increase the TCP receive buffer of {receiver}.",
        times = times(count),
        time = duration(held_s),
        share = percent(share),
        client = most.client,
        mean = duration(wait_s),
        rate = size((f64::from(most.bytes) / wait_s) as u64),
    );
    Some(Found::new(Kind::Explanation, Rule::SmallWindow, Some(share), text).inferred())
}

/// A window that was full for much longer than a round trip, so that a larger one would not help: its client reads slowly, or data wait
/// on the path.
fn full_window(evidence: &Evidence<'_>, most: &SmallWindow, (count, held_s, share): (u64, f64, f64)) -> Option<Found> {
    let path = evidence.coverage.client_paths.iter().find(|path| path.client == most.client)?;
    let trip_s = path.round_trips.iter().map(|trip| Some(trip.least_ns? as f64 / 1e9)).sum::<Option<f64>>()?;
    let wait_s = most.wait_ns as f64 / 1e9 / most.waits as f64;
    if wait_s < FULL_TRIPS * trip_s || most.wait_ns as f64 / 1e9 < NEARLY_ALL * held_s {
        return None;
    }
    let text = format!(
        "The server filled the TCP receive window of client {client} ({window}) {times}, but the client never announced a window of 0. \
        The full window stopped the server for {time} in all, {share} of all time waited. Each stop lasted {stop} on average, but \
        a round trip takes only {round_trip}: the client reads too slowly, or its network path has little bandwidth. A larger buffer \
        would not help.",
        client = most.client,
        window = size(u64::from(most.bytes)),
        times = times(count),
        time = duration(held_s),
        share = percent(share),
        stop = duration(wait_s),
        round_trip = duration(trip_s),
    );
    Some(Found::new(Kind::Explanation, Rule::SmallWindow, Some(share), text).inferred())
}

fn delayed_ack(evidence: &Evidence<'_>, waited_s: f64, requests: bool) -> Option<Found> {
    let at = usize::from(!requests);
    let network = &evidence.coverage.network;
    let (count, held_s) = (network.delayed_acks[at], network.delayed_ack_ns[at] as f64 / 1e9);
    let share = held_s / waited_s;
    if count < HELD_LEAST || !(HELD_SHARE..=1.0).contains(&share) || held_s * 1e9 < evidence.least_ns() {
        return None;
    }
    let (what, sender, receiver) =
        if requests { ("requests", "clients", "the server") } else { ("responses", "the server", "clients") };
    let text = format!(
        "The last segment of {what} waited {times} for a delayed acknowledgement, {mean} each time on average: in total {share} of \
        all time waited. Nagle's algorithm delays this segment: set TCP_NODELAY on {sender}, or enable quick acknowledgements on \
        {receiver}.",
        times = times(count),
        mean = duration(held_s / count as f64),
        share = percent(share),
    );
    Some(Found::new(Kind::Explanation, Rule::DelayedAcknowledgement, Some(share), text).inferred())
}

/// The round trip between the capture and the server is in each response time.
fn round_trip(evidence: &Evidence<'_>, waited_s: f64) -> Option<Found> {
    let network = &evidence.coverage.network;
    let round_trip_s = network.to_server_ns? as f64 / 1e9;
    let requests = evidence.tallies?.sum(|_| true).total().count;
    let share = requests as f64 * round_trip_s / waited_s;
    let is_large = round_trip_s >= ROUND_TRIP_S && (ROUND_TRIP_SHARE..=1.0).contains(&share);
    if !is_large || !is_noticeable_one_by_one(evidence, 0.0, round_trip_s) {
        return None;
    }
    let text = format!(
        "The network round trip from the capture point to the server takes {round_trip} (measured in {handshakes}). Round trips \
        account for at least {share} of all time waited, because each of the {requests} waits for one round trip.{most}{chain}",
        round_trip = duration(round_trip_s),
        handshakes = plural(network.handshakes, "handshake"),
        share = percent(share),
        requests = plural(requests, "request"),
        most = most_asked(evidence),
        chain = chain(evidence, waited_s, requests as f64 * round_trip_s),
    );
    Some(Found::new(Kind::Mechanism, Rule::RoundTrip, Some(share), text).inferred())
}

/// The purpose of most of the requests: an operation, and its path if it is only one.
fn most_asked(evidence: &Evidence<'_>) -> String {
    let Some(tallies) = evidence.tallies else { return String::new() };
    let all = tallies.sum(|_| true);
    let requests = all.total().count as f64;
    let Some((operation, cell)) = all.iter().max_by_key(|(_, cell)| cell.count) else { return String::new() };
    let part = cell.count as f64 / requests;
    if part < MOSTLY {
        return String::new();
    }
    let mut by_path: HashMap<(Symbol, Symbol), u64> = HashMap::new();
    let rows = tallies.paths().rows().iter().filter(|row| row.operation == operation && row.path.is_some());
    rows.for_each(|row| *by_path.entry((row.share, row.path)).or_default() += row.cell.count);
    let most = by_path.into_iter().max_by_key(|&(key, count)| (count, key));
    let named = most.filter(|&(_, count)| tallies.paths().are_all() && count as f64 >= MOSTLY * cell.count as f64);
    let text = |symbol: Symbol| evidence.names.text(symbol);
    let path = named
        .and_then(|((share, path), _)| Some(format!(", most of them for {} on share {}", text(path)?, text(share)?)));
    format!(
        " Of these requests, {share} are for the operation {operation}{path}.",
        share = percent(part),
        operation = operation.label(),
        path = path.unwrap_or_default()
    )
}

/// Whether clients send one request after the other on each connection, `beyond_s` passes outside of each response time, and round trips
/// are a large part of the clients' time.
fn is_noticeable_one_by_one(evidence: &Evidence<'_>, beyond_s: f64, round_trip_s: f64) -> bool {
    let Some((tallies, elapsed_ns)) = evidence.tallies.zip(evidence.elapsed_ns()) else { return false };
    let mut clients: HashMap<IpAddr, (u64, f64, (i64, i64))> = HashMap::new();
    for place in tallies.places() {
        let total = place.operations.total();
        let one = clients.entry(place.key.client).or_insert((0, 0.0, place.span_ns));
        (one.0, one.1) = (one.0 + total.count, one.1 + total.waited_ns as f64);
        one.2 = (one.2.0.min(place.span_ns.0), one.2.1.max(place.span_ns.1));
    }
    let connections: HashMap<IpAddr, u64> =
        evidence.coverage.client_paths.iter().map(|path| (path.client, path.connections)).collect();
    let (mut requests, mut busy_ns, mut time_ns, mut connections_ns) = (0, 0.0, 0.0, 0.0);
    for (client, (count, waited_ns, (first, last))) in clients {
        requests += count;
        busy_ns += waited_ns + count as f64 * beyond_s * 1e9;
        // Its first answer came a response time after it began.
        let its_ns = (last.saturating_sub(first) as f64 + waited_ns / count.max(1) as f64).min(elapsed_ns);
        time_ns += its_ns;
        connections_ns += its_ns * connections.get(&client).map_or(1, |&count| count.max(1)) as f64;
    }
    busy_ns <= ONE_AT_A_TIME * connections_ns && requests as f64 * round_trip_s * 1e9 >= ROUND_TRIP_TIME * time_ns
}

/// Whether nearly all requests arrive while no other is outstanding.
pub(super) fn are_one_at_a_time(evidence: &Evidence<'_>) -> bool {
    let is_alone = |range: &DepthShare| range.to == 0 && range.share >= ALONE_SHARE;
    evidence.findings.queue_depth.at_arrival.iter().any(is_alone)
}

/// The effect of a faster network, if clients send one request at a time.
fn chain(evidence: &Evidence<'_>, waited_s: f64, trips_s: f64) -> String {
    if !are_one_at_a_time(evidence) {
        return String::new();
    }
    let requests = evidence.tallies.map_or(0, |tallies| tallies.sum(|_| true).total().count) as f64;
    let quicker = waited_s - trips_s + requests * 0.0001;
    format!(
        " Clients send the requests one at a time: with a round trip of 100 µs, all requests together would take {quicker} instead \
        of {now}.",
        quicker = duration(quicker),
        now = duration(waited_s)
    )
}

/// Every request takes at least a fixed delay, whatever it asks for, although the network is faster.
fn fixed_delay(evidence: &Evidence<'_>, waited_s: f64) -> Option<Found> {
    let round_trip_s = evidence.coverage.network.to_server_ns.map_or(0.0, |ns| ns as f64 / 1e9);
    let times = shortest_service(&evidence.findings.operations);
    let (least, most) =
        (times.iter().copied().fold(f64::INFINITY, f64::min), times.iter().copied().fold(0.0, f64::max));
    let requests = evidence.tallies?.sum(|_| true).total().count;
    let share = requests as f64 * least / waited_s;
    let is_same = times.len() >= DELAY_OPERATIONS && most <= 2.0 * least && least >= ROUND_TRIP_S;
    if !is_same || round_trip_s > least / 2.0 || !(ROUND_TRIP_SHARE..=1.0).contains(&share) {
        return None;
    }
    let handshake = match evidence.coverage.network.to_server_ns {
        Some(_) => format!(", although the network round trip is {}", duration(round_trip_s)),
        None => String::new(),
    };
    let text = format!(
        "Each request is delayed by {delay}: for each of {operations} operations, even the fastest request took at least this \
        long{handshake}. These delays account for {share} of all time waited. Possible causes: the server, a file-system filter on \
        the server (e.g. a virus scanner), a proxy or the network.",
        delay = duration(least),
        operations = times.len(),
        share = percent(share),
    );
    Some(Found::new(Kind::Mechanism, Rule::FixedDelay, Some(share), text).inferred())
}

/// The shortest service time of each operation with enough requests, s. Members of compounds have the time of their message, so they show
/// nothing of their own operation: clients do not wait for them.
fn shortest_service(rows: &[OperationRow]) -> Vec<f64> {
    let mut operations: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.parent.is_none() && is_waited_for(row)) {
        let Some(times) = row.service_time else { continue };
        let (count, least_s) = operations.entry(&row.operation).or_insert((0, f64::INFINITY));
        (*count, *least_s) = (count.saturating_add(row.count), least_s.min(times.min_s));
    }
    operations.into_values().filter(|&(count, _)| count >= DELAY_REQUESTS).map(|(_, least_s)| least_s).collect()
}

/// Whether clients wait for most of these requests themselves, and not for an earlier member of a compound.
fn is_waited_for(row: &OperationRow) -> bool {
    let whole_s = row.headline_time().map_or(0.0, |times| times.count as f64 * times.mean_s);
    row.waited_s >= MOSTLY * whole_s
}

/// The capture was taken at the server, and clients wait for a round trip that is in no response time.
fn far_client(evidence: &Evidence<'_>) -> Option<Found> {
    let network = &evidence.coverage.network;
    let (to_server, to_client) = (network.to_server_ns? as f64 / 1e9, network.to_client_ns? as f64 / 1e9);
    let cell = evidence.tallies?.sum(|_| true).total();
    let mean_s = cell.mean_ns() / 1e9;
    if to_client < ROUND_TRIP_S || to_client < 2.0 * mean_s || to_client < 10.0 * to_server {
        return None;
    }
    if !is_noticeable_one_by_one(evidence, to_client, to_client) {
        return None;
    }
    let text = format!(
        "Clients wait longer than the response times show, because the capture was taken near the server. The round trip to the \
        nearest client adds {round_trip} per request (measured in {handshakes}).",
        round_trip = duration(to_client),
        handshakes = plural(network.handshakes, "handshake"),
    );
    let added = to_client / (to_client + mean_s);
    Some(Found::new(Kind::Mechanism, Rule::RoundTrip, None, text).explaining(added).inferred())
}

fn times(count: u64) -> String {
    plural(count, "time")
}
