//! Hosts that wait for a DNS server: clients before they connect, servers while they set up a connection.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use plimsoll_model::{NameLookup, Operation};
use plimsoll_stats::tallies::Long;

use super::super::counts::plural;
use super::{CAUSE_SHARE, Evidence, Found, Kind, NAMED, percent};
use crate::findings::Rule;
use crate::text::duration;

/// Maximum time from the answer until a client that waited for a name connects, ns.
const CONNECTS_NS: i64 = 1_000_000_000;
/// Maximum time from the last question without an answer until the client connects, ns: it finds the server in another way. Resolvers
/// wait 5 s for each answer.
const GIVES_UP_NS: i64 = 10_000_000_000;
/// A request to set up a connection waits for a name if that is this part of its time.
const MOSTLY: f64 = 0.5;

/// Waits of a host.
#[derive(Default)]
struct Waits<'e> {
    lookups: Vec<&'e NameLookup>,
    /// Connections that were opened later, or requests that were answered later.
    times: u64,
    /// Their total delay, ns.
    waited_ns: Vec<u64>,
}

/// The host that waited longest for names.
pub(super) fn waits(evidence: &Evidence<'_>, waited_s: f64) -> Option<Found> {
    let coverage = evidence.coverage;
    // An answer that was not captured must not be taken for one that was not sent.
    let is_whole = coverage.packets.missing_bytes == 0 && coverage.packets.dropped_at_least == 0;
    if !evidence.findings.source.filters.is_empty() || !is_whole || coverage.one_sided > 0 {
        return None;
    }
    let askers: BTreeSet<IpAddr> = coverage.name_lookups.iter().map(|one| one.asker).collect();
    let of_asker = |ip: IpAddr| coverage.name_lookups.iter().filter(move |one| one.asker == ip);
    let clients = askers.iter().map(|&ip| (ip, false, before_connections(of_asker(ip))));
    let servers = askers.iter().map(|&ip| (ip, true, during_set_up(evidence, ip)));
    let (asker, is_server, waits) = clients.chain(servers).max_by_key(|(.., waits)| waits.sum_ns())?;
    let sum_s = waits.sum_ns() as f64 / 1e9;
    let share = if is_server { sum_s / waited_s } else { sum_s / (waited_s + sum_s) };
    if !(CAUSE_SHARE..=1.0).contains(&share) || sum_s * 1e9 < evidence.least_ns() {
        return None;
    }
    let whose = format!("{} {asker}", if is_server { "File server" } else { "Client" });
    let each = waits.waited_ns.iter().max().map_or(0.0, |ns| *ns as f64 / 1e9);
    let what = match is_server {
        true => format!("{} to set up connections waited for an answer", plural(waits.times, "request")),
        false => {
            format!("The client waited for an answer before {} to file servers", plural(waits.times, "connection"))
        }
    };
    let of_all = match is_server {
        true => format!("These waits are {} of all time waited.", percent(share)),
        false => "Response times do not include this wait.".to_owned(),
    };
    let text = format!(
        "{late}. {whose} asks this DNS server{names}. {what}: {time} in all, at most {longest} each. {of_all} Check the DNS servers \
        in the configuration of {asker}, and whether {asker} can reach them.",
        late = name_servers(evidence, &waits),
        names = names(evidence, &waits),
        time = duration(sum_s),
        longest = duration(each),
    );
    let found = Found::new(Kind::Explanation, Rule::NameService, is_server.then_some(share), text);
    Some(found.explaining(share).look(Operation::Session.label(), "client").inferred())
}

/// Connections that a client opened when it had learnt a name, or given up.
fn before_connections<'e>(lookups: impl Iterator<Item = &'e NameLookup>) -> Waits<'e> {
    let mut connections: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    let mut waits = Waits::default();
    for one in lookups {
        let Some(connected_ns) = one.connected_ns else { continue };
        let (end_ns, within_ns) = match one.answered_ns {
            Some(at_ns) => (at_ns, CONNECTS_NS),
            None => (one.last_ns, GIVES_UP_NS),
        };
        if (0..=within_ns).contains(&connected_ns.saturating_sub(end_ns)) {
            let until_ns = one.answered_ns.unwrap_or(connected_ns);
            let span = connections.entry(connected_ns).or_insert((one.first_ns, until_ns));
            *span = (span.0.min(one.first_ns), span.1.max(until_ns));
            waits.lookups.push(one);
        }
    }
    waits.times = connections.len() as u64;
    waits.waited_ns = connections.values().map(|(from_ns, to_ns)| to_ns.abs_diff(*from_ns)).collect();
    waits
}

/// Requests that set up connections, and were not answered before a name that their server asked for.
fn during_set_up<'e>(evidence: &Evidence<'e>, server: IpAddr) -> Waits<'e> {
    let mut waits = Waits::default();
    let Some(tallies) = evidence.tallies else { return waits };
    // A request to another server did not wait for a name that this server asked for.
    let is_of = |one: &&Long| one.operation == Operation::Session && one.server == server;
    for long in tallies.long().noted().iter().filter(is_of) {
        let (from_ns, to_ns) = long.span_ns;
        // Where no answer came, the server gives up at an unknown time behind its last question.
        let end = |one: &NameLookup| one.answered_ns.or_else(|| (one.last_ns >= from_ns).then_some(to_ns));
        let is_during = |one: &&NameLookup| {
            one.asker == server && one.first_ns <= to_ns && end(one).is_some_and(|end_ns| end_ns > from_ns)
        };
        let during: Vec<&NameLookup> = evidence.coverage.name_lookups.iter().filter(is_during).collect();
        let begin_ns = during.iter().map(|one| one.first_ns.max(from_ns)).min().unwrap_or(to_ns);
        let end_ns = during.iter().filter_map(|one| end(one)).max().unwrap_or(to_ns).min(to_ns);
        let waited_ns = u64::try_from(end_ns.saturating_sub(begin_ns)).unwrap_or(0);
        if waited_ns as f64 >= MOSTLY * to_ns.abs_diff(from_ns) as f64 && !during.is_empty() {
            waits.times += 1;
            waits.waited_ns.push(waited_ns);
            waits.lookups.extend(during);
        }
    }
    waits
}

/// How the DNS server answers that was asked first most often.
fn name_servers(evidence: &Evidence<'_>, waits: &Waits<'_>) -> String {
    let mut asked: BTreeMap<IpAddr, u64> = BTreeMap::new();
    waits.lookups.iter().for_each(|one| *asked.entry(one.server).or_default() += 1);
    let Some((server, _)) = asked.into_iter().max_by_key(|&(ip, count)| (count, std::cmp::Reverse(ip))) else {
        return String::new();
    };
    let counted = evidence.coverage.name_servers.iter().find(|one| one.server == server);
    let of_it = || waits.lookups.iter().filter(|one| one.server == server);
    match counted {
        Some(one) if one.answers == 0 => {
            format!("DNS server {server} does not answer: {} got no response", plural(one.questions, "DNS request"))
        }
        _ if of_it().all(|one| one.is_answered_by_first) => format!("DNS server {server} answers late"),
        Some(one) => format!(
            "DNS server {server} answers late or not at all: {responses} to {questions}",
            responses = plural(one.answers, "response"),
            questions = plural(one.questions, "DNS request")
        ),
        None => format!("DNS server {server} answers late or not at all"),
    }
}

/// ` for the name files.example`, where there are few.
fn names(evidence: &Evidence<'_>, waits: &Waits<'_>) -> String {
    let names: Option<BTreeSet<&str>> = waits.lookups.iter().map(|one| evidence.names.text(one.name)).collect();
    match names.map(|names| names.into_iter().collect::<Vec<_>>()) {
        Some(names) if names.len() == 1 => format!(" for the name {}", names[0]),
        Some(names) if names.len() <= NAMED => format!(" for the names {}", names.join(", ")),
        _ => String::new(),
    }
}

impl Waits<'_> {
    fn sum_ns(&self) -> u64 {
        self.waited_ns.iter().fold(0, |sum, ns| sum.saturating_add(*ns))
    }
}
