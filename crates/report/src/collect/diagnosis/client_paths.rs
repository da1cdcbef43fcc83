//! The network path to a client: one that is far away, or narrow.

pub(super) mod distance;
mod far_group;

use std::net::IpAddr;

use plimsoll_model::{ClientPath, Operation};
use plimsoll_stats::Tallies;

use super::super::client_paths::PARTS_LEAST;
use super::super::counts::plural;
use super::network::{ROUND_TRIP_S, ROUND_TRIP_TIME};
use super::{Evidence, Found, Kind, NAMED, clients, percent};
use crate::findings::Rule;
use crate::text::{duration, size};

/// Minimum round trip of a far client, as a multiple of the median of the other clients'.
const FAR_TIMES: f64 = 5.0;
/// Minimum round trip of a client with many small requests or requests for missing names, s: it could avoid most round trips.
const AVOIDABLE_TRIP_S: f64 = 0.001;
/// A procedure with at least this fraction of a far client's requests is named.
const MOST_REQUESTS: f64 = 0.5;
/// Maximum mean size of reads and writes that are named, bytes.
const SMALL_BYTES: f64 = 4_096.0;
/// Data that TCP sends before it knows the path, bytes: ten segments.
const FIRST_WINDOW: f64 = 14_600.0;
/// Maximum spread of the rate of a narrow path, which passes data evenly: the standard deviation of its binary logarithm. (Half of it is
/// then within a factor of 1.4 either way: acknowledgements of one or of two segments differ as much.)
const EVEN_SPREAD: f64 = 0.7;
/// Maximum rate of a narrow path, bytes per second: parts of 100 µs cannot show a faster path (117 Mbit/s).
const NARROW_BYTES_PER_S: f64 = 15e6;
/// Maximum fraction of retransmitted segments on a narrow path.
const LOSSY: f64 = 0.05;
/// Minimum fraction of transfers in all time waited, for a narrow path.
const NARROW_SHARE: f64 = 0.1;
/// From this part of the transfers on data were on the way to the receiver.
const MOSTLY_ON_THE_WAY: f64 = 0.9;
/// From this part of a path's time on that no response time contains, it is said.
const HIDDEN: f64 = 0.5;
/// Data waits on the path if the typical round trip is at least this multiple of the shortest.
const QUEUED_TIMES: f64 = 1.5;

/// Waits of a client.
struct Client {
    requests: u64,
    /// In all, and between the first and the last byte of requests and of responses, s.
    waited_s: f64,
    transfer_s: f64,
    /// File data of a request on average, bytes.
    payload: f64,
    /// From its first answer to its last, and a response time before it, s.
    time_s: f64,
}

impl Client {
    fn of(evidence: &Evidence<'_>, tallies: &Tallies, ip: IpAddr) -> Option<Self> {
        let cell = tallies.sum(|key| key.client == ip).total();
        let spans = || tallies.places().iter().filter(|place| place.key.client == ip).map(|place| place.span_ns);
        let (first, last) = (spans().map(|span| span.0).min()?, spans().map(|span| span.1).max()?);
        let waited_s = cell.waited_ns as f64 / 1e9;
        let mean_s = cell.mean_ns() / 1e9;
        let lasted_s = last.saturating_sub(first).max(0) as f64 / 1e9 + mean_s;
        Some(Self {
            requests: cell.count,
            waited_s,
            payload: cell.payload as f64 / cell.count.max(1) as f64,
            transfer_s: cell.service_share().map_or(0.0, |share| (1.0 - share) * waited_s),
            time_s: lasted_s.min(evidence.elapsed_ns().map_or(lasted_s, |ns| ns / 1e9)),
        })
    }

    /// Requests outstanding on average, 1 at least.
    fn outstanding(&self) -> f64 {
        if self.time_s > 0.0 { (self.waited_s / self.time_s).max(1.0) } else { 1.0 }
    }
}

/// Results of the rules; a client with a narrow path is not also called far.
pub(super) fn client_paths(evidence: &Evidence<'_>, waited_s: f64) -> Vec<Found> {
    // The rules need the time of sending and receiving.
    if !evidence.findings.source.filters.is_empty() || evidence.is_from_intended() {
        return Vec::new();
    }
    let narrow = narrow(evidence, waited_s);
    let names: Vec<IpAddr> = narrow.iter().flat_map(|(_, clients)| clients.iter().copied()).collect();
    let group = far_group::far_group(evidence, waited_s);
    let far = far(evidence, waited_s).filter(|(_, client)| !names.contains(client) && group.is_none());
    narrow.into_iter().map(|(found, _)| found).chain(group).chain(far.map(|(found, _)| found)).collect()
}

/// The shortest round trip from the capture to each client, s, longest first.
fn round_trips<'e>(evidence: &Evidence<'e>, tallies: &Tallies) -> Vec<(f64, &'e ClientPath)> {
    let clients = tallies.places().iter().map(|place| place.key.client);
    let clients: std::collections::HashSet<IpAddr> = clients.collect();
    let paths = evidence.coverage.client_paths.iter().filter(|path| clients.contains(&path.client));
    let mut trips: Vec<(f64, &ClientPath)> =
        paths.filter_map(|path| Some((path.round_trips[1].least_ns? as f64 / 1e9, path))).collect();
    trips.sort_by(|a, b| b.0.total_cmp(&a.0));
    trips
}

/// Cost of a client's round trips, s: the time outside of response times, and the total including transfers.
fn cost_s(client: &Client, trip_s: f64) -> (f64, f64) {
    let hidden_s = (client.requests as f64 * trip_s / client.outstanding()).min(client.time_s);
    // More data than TCP's first window (RFC 6928) need a further round trip for each doubling; the mean gives no fewer.
    let rounds = client.requests as f64 * (1.0 + client.payload / FIRST_WINDOW).log2();
    (hidden_s, hidden_s + client.transfer_s.min(rounds * trip_s))
}

/// One client is far from the capture point, and the others are not.
fn far(evidence: &Evidence<'_>, waited_s: f64) -> Option<(Found, IpAddr)> {
    let tallies = evidence.tallies?;
    let trips = round_trips(evidence, tallies);
    let costs = trips.iter().filter_map(|&(trip_s, path)| {
        let others: Vec<f64> =
            trips.iter().filter(|other| other.1.client != path.client).map(|&(trip_s, _)| trip_s).collect();
        // Longest first.
        let usual_s = *others.get(others.len().checked_sub(1)? / 2)?;
        let client = Client::of(evidence, tallies, path.client)?;
        let (hidden_s, cost_s) = cost_s(&client, trip_s);
        // A shorter round trip matters to a client that waits for it again and again, which it could avoid.
        let is_avoidable = || trip_s >= AVOIDABLE_TRIP_S && !asks_for(tallies, path.client).is_empty();
        let is_far = trip_s >= FAR_TIMES * usual_s && (trip_s >= ROUND_TRIP_S || is_avoidable());
        let is_noticeable = cost_s >= ROUND_TRIP_TIME * client.time_s && cost_s * 1e9 >= evidence.least_ns();
        (is_far && is_noticeable).then_some((cost_s, hidden_s, trip_s, usual_s, others.len(), path.client, client))
    });
    let (cost_s, hidden_s, trip_s, usual_s, others, ip, client) = costs.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let others = match others {
        1 => "For the other client, this time is".to_owned(),
        _ => format!("For the {others} other clients, the median is"),
    };
    let transfers = match client.transfer_s >= 0.1 * cost_s {
        true => {
            format!(" The client spent {} on sending requests and receiving responses.", duration(client.transfer_s))
        }
        false => String::new(),
    };
    let text = format!(
        "Client {ip} is far away: its shortest round trip to the capture point takes {trip}. {others} {usual}. Round trips delayed \
        its {requests} by about {added} in all: {active} of the time in which this client was active. Response times do not include \
        this delay, because they are measured at the capture point.{transfers}{asks}",
        trip = duration(trip_s),
        usual = duration(usual_s),
        requests = plural(client.requests, "request"),
        added = duration(hidden_s),
        active = percent(hidden_s / client.time_s),
        asks = asks_for(tallies, ip),
    );
    let explains = cost_s / (waited_s + hidden_s);
    Some((Found::new(Kind::Mechanism, Rule::FarClient, None, text).explaining(explains.min(1.0)).inferred(), ip))
}

/// The purpose of most of a client's requests, if it could avoid them: missing names, or small pieces of files.
fn asks_for(tallies: &Tallies, ip: IpAddr) -> String {
    let sum = tallies.sum(|key| key.client == ip);
    let (all, absent) = (sum.total().count as f64, tallies.absent_at(|key| key.client == ip));
    let small = [Operation::Read, Operation::Write].into_iter().filter_map(|operation| {
        let cell = sum.only(|one| one == operation).total();
        let each = cell.payload as f64 / cell.count.max(1) as f64;
        let is_small = cell.count as f64 >= MOST_REQUESTS * all && each > 0.0 && each <= SMALL_BYTES;
        is_small.then(|| {
            format!(
                " Of its requests, {share} are {operation}s of {size} on average.",
                share = percent(cell.count as f64 / all),
                operation = operation.label(),
                size = size(each.round() as u64)
            )
        })
    });
    match absent as f64 >= MOST_REQUESTS * all {
        true => format!(" Of its requests, {} are for names that do not exist.", percent(absent as f64 / all)),
        false => small.into_iter().next().unwrap_or_default(),
    }
}

/// Whether a direction of a path passes data evenly and slowly, and neither many losses nor the windows of its ends are the reason.
pub(super) fn is_narrow(path: &ClientPath, at: usize) -> bool {
    let pace = &path.paces[at];
    let is_slow = pace.bytes_per_s().is_some_and(|bytes_per_s| bytes_per_s <= NARROW_BYTES_PER_S);
    let is_even = pace.count >= PARTS_LEAST && pace.spread().is_some_and(|spread| spread <= EVEN_SPREAD);
    let is_lossy = path.resent_segments[at] as f64 > LOSSY * path.data_segments[at] as f64;
    let windows_ns = path.zero_window_ns[at].saturating_add(path.small_window_ns[at]);
    is_slow && is_even && !is_lossy && 2 * windows_ns < pace.ns
}

/// A client whose path takes data evenly and slowly.
struct Narrow {
    client: IpAddr,
    bytes_per_s: f64,
    /// Time during which it passed data.
    cost_s: f64,
    /// The fraction of this time that no response time includes, because the capture point is before the path.
    hidden_s: f64,
    /// Data waited on the way to their receiver, so that it is the path and not the sender.
    is_path: bool,
    trip_s: Option<f64>,
    /// The shortest time to an acknowledgement and the median, s.
    delay_s: Option<[f64; 2]>,
}

impl Narrow {
    fn of(evidence: &Evidence<'_>, path: &ClientPath, at: usize) -> Option<Self> {
        let (pace, trip) = (&path.paces[at], &path.round_trips[at]);
        let bytes_per_s = pace.bytes_per_s().filter(|_| is_narrow(path, at))?;
        let client = Client::of(evidence, evidence.tallies?, path.client)?;
        let is_queued = trip
            .least_ns
            .zip(trip.median_ns)
            .is_some_and(|(least, median)| median as f64 >= QUEUED_TIMES * least as f64);
        let is_on_the_way = pace.on_the_way as f64 >= MOSTLY_ON_THE_WAY * pace.count as f64;
        let (pace_s, is_path) = (pace.ns as f64 / 1e9, is_on_the_way && is_queued);
        // A response ends for the capture when its last byte passes; on a path behind it that is known, the byte waits longer.
        let is_behind = at == 1 && is_path;
        let hidden_s = if is_behind { (pace_s.min(client.time_s) - client.transfer_s).max(0.0) } else { 0.0 };
        let cost_s = pace_s.min(client.transfer_s) + hidden_s;
        let handshake = path.round_trips.iter().map(|one| Some(one.least_ns? as f64 / 1e9)).sum();
        let delay_s =
            trip.least_ns.zip(trip.median_ns).map(|(least, median)| [least, median].map(|ns| ns as f64 / 1e9));
        Some(Self { client: path.client, bytes_per_s, cost_s, hidden_s, is_path, trip_s: handshake, delay_s })
    }
}

/// Clients that wait for the bytes of large requests or responses, among clients with the most waiting.
fn narrow(evidence: &Evidence<'_>, waited_s: f64) -> Option<(Found, Vec<IpAddr>)> {
    let of = |at: usize| -> (usize, f64, Vec<Narrow>) {
        let paths = evidence.coverage.client_paths.iter();
        let mut all: Vec<Narrow> = paths.filter_map(|path| Narrow::of(evidence, path, at)).collect();
        all.sort_by(|a, b| b.cost_s.total_cmp(&a.cost_s));
        (at, all.iter().map(|one| one.cost_s).sum(), all)
    };
    let (at, cost_s, all) = [of(0), of(1)].into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let hidden_s: f64 = all.iter().map(|one| one.hidden_s).sum();
    let share = cost_s / (waited_s + hidden_s);
    let first = all.first()?;
    if !(NARROW_SHARE..=1.0).contains(&share) || cost_s * 1e9 < evidence.least_ns() {
        return None;
    }
    let named: Vec<String> = all
        .iter()
        .take(NAMED)
        .map(|one| format!("{} ({:.1} Mbit/s)", one.client, one.bytes_per_s * 8.0 / 1e6))
        .collect();
    let more = if all.len() > NAMED { format!(" and {} more", all.len() - NAMED) } else { String::new() };
    // The data are those of writes, or of reads.
    let operation = [Operation::Write, Operation::Read][at].label();
    let look = |found: Found| match &all[..] {
        [one] => found.look(operation, "path").only("--client", one.client.to_string()),
        _ => found.look(operation, "client"),
    };
    let whose = clients::all_of(evidence, &all.iter().map(|one| one.client).collect());
    let whose = whose.unwrap_or_else(|| if all.len() == 1 { "client" } else { "clients" }.to_owned());
    let whose = format!("{whose} {}{more}", named.join(", "));
    if hidden_s >= HIDDEN * cost_s {
        let text = behind_capture(first, &whose, (cost_s, hidden_s));
        let found = look(Found::new(Kind::Mechanism, Rule::NarrowPath, None, text).explaining(share).inferred());
        return Some((found, all.into_iter().map(|one| one.client).collect()));
    }
    let (what, doing, sender) = match at {
        0 => ("from", "Sending requests", "the client"),
        _ => ("to", "Receiving responses", "the server"),
    };
    let trip = match first.trip_s {
        Some(trip_s) if all.len() == 1 => format!(", although a round trip takes only {}", duration(trip_s)),
        _ => String::new(),
    };
    let why = match all.iter().all(|one| one.is_path) {
        true => "The network path is the bottleneck.".to_owned(),
        false => format!("The bottleneck is the network path or {sender}."),
    };
    // Only the time until the end of a response is time waited.
    let in_responses_s = cost_s - hidden_s;
    let waited_share = in_responses_s / waited_s;
    let behind = match hidden_s > 0.0 {
        true => format!(" Data were on the path for another {}, behind the capture point.", duration(hidden_s)),
        false => String::new(),
    };
    let text = format!(
        "Data move slowly {what} {whose}: large messages arrive at a low, even rate{trip}. {doing} took {time}: {waited} of all time \
        waited.{behind} {why}",
        time = duration(in_responses_s),
        waited = percent(waited_share),
    );
    let found = Found::new(Kind::Mechanism, Rule::NarrowPath, Some(waited_share), text).explaining(share);
    Some((look(found.inferred()), all.into_iter().map(|one| one.client).collect()))
}

/// The sentence about a path behind the capture point: most of its time, which is `cost_s`, is in no response time.
fn behind_capture(first: &Narrow, whose: &str, (cost_s, hidden_s): (f64, f64)) -> String {
    let delay = first.delay_s.map_or_else(String::new, |[least, median]| {
        format!(
            " Client {client} took {median} (median) to acknowledge data; its shortest time was {least}.",
            client = first.client,
            median = duration(median),
            least = duration(least),
        )
    });
    format!(
        "Data move slowly from the capture point to {whose}: they arrive at an even rate, and acknowledgements come late.{delay} Data \
        were on this network path for {time} in all. Response times are measured at the capture point, so they include only \
        {in_responses} of this time. The bottleneck is the network path or the client, not the server.",
        time = duration(cost_s),
        in_responses = duration(cost_s - hidden_s),
    )
}
