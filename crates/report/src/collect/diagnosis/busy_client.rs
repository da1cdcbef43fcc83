//! A client that makes nearly all of the load.

use std::collections::BTreeMap;
use std::net::IpAddr;

use plimsoll_stats::Tallies;
use plimsoll_stats::tallies::{ByOperation, MIN_COMPARED};

use super::super::counts::{plural, thousands};
use super::{Evidence, Found, Kind, clients, percent};
use crate::findings::Rule;
use crate::instant;

/// Minimum fraction of a busy client's requests among all requests.
const REQUESTS: f64 = 0.75;
/// Minimum fraction of its waiting in all time waited.
const WAITING: f64 = 0.75;
/// Minimum rate while it is active, requests per second: a program, not a person.
const PER_SECOND: f64 = 100.0;
/// Minimum rate, as a multiple of any other client's.
const TIMES: f64 = 10.0;
/// Minimum fraction of its active time with an outstanding request.
const OUTSTANDING: f64 = 0.5;
/// The same for a client with at least [`NEARLY_ALL`] of all requests: what a program asks without end may be answered at once.
const OUTSTANDING_ALONE: f64 = 0.2;
/// Fraction of all requests.
const NEARLY_ALL: f64 = 0.9;
/// Maximum number of requests that cannot be read, as a fraction of its requests: with more, the percentages are not known.
const UNREAD: f64 = 0.01;
/// It began later than the capture if the first of its responses came after this part of the time.
const LATER: f64 = 0.05;

/// Requests of a client, and the time of its first and last response.
type Client = (ByOperation, (i64, i64));

pub(super) fn busy_client(evidence: &Evidence<'_>) -> Option<Found> {
    // The sentence compares with all other clients.
    let has_all = |tallies: &&Tallies| evidence.has_all_requests() && tallies.has_all_places();
    let mut all: BTreeMap<IpAddr, Client> = BTreeMap::new();
    for place in evidence.tallies.filter(has_all)?.places() {
        let (sum, span_ns) = all.entry(place.key.client).or_insert((ByOperation::default(), (i64::MAX, i64::MIN)));
        *sum = ByOperation::sum([&*sum, &place.operations]);
        *span_ns = (span_ns.0.min(place.span_ns.0), span_ns.1.max(place.span_ns.1));
    }
    let (ip, (mine, span_ns)) = all.iter().max_by_key(|(_, (sum, _))| sum.total().count)?;
    let (own, whole) = (mine.total(), ByOperation::sum(all.values().map(|(sum, _)| sum)).total());
    let others = whole.without(&own);
    if clients::unread_requests(evidence).is_none_or(|count| count as f64 > UNREAD * own.count as f64) {
        return None;
    }
    let (requests, waiting) =
        (own.count as f64 / whole.count as f64, own.waited_ns as f64 / whole.waited_ns.max(1) as f64);
    let rate = per_second(&all[ip]);
    let most = all.iter().filter(|(other, _)| *other != ip).map(|(_, client)| per_second(client)).fold(0.0, f64::max);
    let active_ns = span_ns.1.saturating_sub(span_ns.0).max(1) as f64;
    let outstanding = if requests < NEARLY_ALL { OUTSTANDING } else { OUTSTANDING_ALONE };
    let is_busy = rate >= PER_SECOND && rate >= TIMES * most && own.waited_ns as f64 >= outstanding * active_ns;
    if requests < REQUESTS || waiting < WAITING || others.count < MIN_COMPARED || !is_busy {
        return None;
    }
    let mut operations: Vec<(&'static str, u64)> = mine.iter().map(|(one, cell)| (one.label(), cell.count)).collect();
    operations.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let named: Vec<String> = operations
        .iter()
        .filter(|&&(_, count)| 10 * count >= own.count)
        .map(|(label, count)| format!("{label} {}", percent(*count as f64 / own.count as f64)))
        .collect();
    let asks = named.join(", ");
    let text = format!(
        "Client {ip} causes most of the load: it sent {requests} requests ({share} of all requests) at {rate} requests per \
        second{since}. Most frequent operations: {asks}. {others} at most {most} requests per second. The requests of client {ip} \
        account for {waited} of all time waited. Check which program runs on this client, e.g. an indexer, a backup or a search.",
        share = percent(requests),
        requests = thousands(own.count),
        rate = thousands(rate.round() as u64),
        since = since(evidence, span_ns.0),
        others = match clients::all(evidence).len() {
            _ if clients::has_unread(evidence) => "Each other client whose requests are known sends".to_owned(),
            2 => "The other client sends".to_owned(),
            count => format!("Each of the {} sends", plural(count as u64 - 1, "other client")),
        },
        most = thousands(most.round() as u64),
        waited = percent(waiting),
    );
    let found = Found::new(Kind::Habit, Rule::BusyClient, Some(waiting), text);
    Some(found.look(operations.first()?.0, "path").only("--client", ip.to_string()))
}

/// Requests per second while it is active: one is answered at its beginning.
fn per_second((sum, (first_ns, last_ns)): &Client) -> f64 {
    let active_s = last_ns.saturating_sub(*first_ns) as f64 / 1e9;
    if active_s > 0.0 { sum.total().count.saturating_sub(1) as f64 / active_s } else { 0.0 }
}

/// The start of its activity, if other clients were active before.
fn since(evidence: &Evidence<'_>, first_ns: i64) -> String {
    let begun_ns = evidence.coverage.first_ns.map(|begin_ns| first_ns.saturating_sub(begin_ns));
    let is_later = begun_ns.zip(evidence.elapsed_ns()).is_some_and(|(ns, elapsed_ns)| ns as f64 >= LATER * elapsed_ns);
    if is_later { format!(" from {} on", instant::second(first_ns)) } else { String::new() }
}
