//! A server that sends no response any more.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use plimsoll_model::{Endpoint, Unfinished, WaitEnd};

use super::unfinished::{AFTER_NS, LONG_NS, counted, in_common, is_for_data, part, waited_s, was_seen};
use super::{CAUSE_SHARE, Evidence, Found, Kind, NAMED, clients};
use crate::findings::Rule;
use crate::instant;
use crate::text::duration;

/// Minimum time without a response, ns: captures end while requests wait, and a disk needs a second or two to start.
const LEAST_NS: u64 = 2_000_000_000;

/// The requests that a server left without a response, and its last response before them.
struct Hang<'e> {
    server: Endpoint,
    requests: Vec<&'e Unfinished>,
    last_response_ns: Option<i64>,
}

impl Hang<'_> {
    fn longest_ns(&self) -> u64 {
        self.requests.iter().map(|one| one.end_ns.abs_diff(one.first_ns)).max().unwrap_or(0)
    }

    fn waited_s(&self) -> f64 {
        self.requests.iter().map(|one| waited_s(one)).sum()
    }

    /// Whether packets of the server acknowledge all of the requests.
    fn is_acknowledged(&self) -> bool {
        self.requests.iter().all(|one| one.is_acknowledged)
    }

    /// Whether this server sent no response at all, although another one did.
    fn is_beside_others(&self, evidence: &Evidence<'_>) -> bool {
        let others = evidence.coverage.last_responses.as_ref();
        self.last_response_ns.is_none() && others.is_some_and(|others| !others.is_empty())
    }

    /// Whether the capture may have only one direction of a connection of this server.
    fn may_be_one_sided(&self, evidence: &Evidence<'_>) -> bool {
        let (count, named) = (evidence.coverage.one_sided, &evidence.coverage.one_sided_named);
        count > named.len() as u64 || named.iter().any(|one| [one.from, one.to].contains(&self.server))
    }
}

/// The server whose clients waited longest for responses that never came, while it sent none to anybody.
pub(super) fn hanging(evidence: &Evidence<'_>, all_s: f64) -> Option<Found> {
    let hangs = hangs(evidence).into_iter().filter(|hang| !hang.is_beside_others(evidence));
    // The responses may have come on a connection of which they were not captured.
    let hangs = hangs.filter(|_| evidence.coverage.one_sided == 0);
    let hang = hangs.max_by(|a, b| a.waited_s().total_cmp(&b.waited_s()))?;
    let (longest, wait_s) = (hang.longest_ns(), hang.waited_s());
    let share = wait_s / (wait_s + all_s);
    if longest < LEAST_NS || !is_unusual(evidence, longest) || share < CAUSE_SHARE {
        return None;
    }
    let first = hang.requests.iter().min_by_key(|one| one.first_ns)?;
    let concerned: BTreeSet<IpAddr> = hang.requests.iter().map(|one| one.client).collect();
    let requests = counted(evidence, hang.requests.iter().map(|one| one.requests).sum(), "request");
    let longest = duration(longest as f64 / 1e9);
    let text = format!(
        "Server {server} does not respond: {requests} of {clients} got no response for up to {longest}. The first of them was \
        sent at {first}{last_response}.{in_common} Response times do not include this wait; if they did, it would be {share} of all \
        time waited. Check whether the server's process hangs, or waits for its disks.",
        server = hang.server,
        clients = clients::named(evidence, &concerned),
        first = instant::second(first.first_ns),
        last_response = match hang.last_response_ns {
            Some(ns) if evidence.coverage.may_be_blind((ns, first.first_ns)) => String::new(),
            Some(ns) => format!("; the last response of this server came at {}", instant::second(ns)),
            None => "; the capture has no response of this server at all".to_owned(),
        },
        in_common = in_common(evidence, &hang.requests),
        share = part(evidence, &hang.requests, share),
    );
    let without = format!("Server {} did not respond to {requests} for up to {longest}", hang.server);
    let found = Found::new(Kind::Trouble, Rule::NoResponse, None, text).explaining(share).unanswered(&without);
    Some(found.look(first.procedure.row().operation.label(), "path").inferred())
}

/// Servers without any response beside others that responded, however small their part of the waiting is. A packet of the server must
/// acknowledge the requests: otherwise the capture may lack what this server sends, and the sentence says so. `is_unanswered`: another
/// sentence says that packets of servers did not come.
pub(super) fn silent(evidence: &Evidence<'_>, all_s: f64, is_unanswered: bool) -> Vec<Found> {
    let hangs = hangs(evidence).into_iter().filter(|hang| hang.is_beside_others(evidence));
    let mut silent: Vec<Hang<'_>> = hangs.filter(|hang| !hang.may_be_one_sided(evidence)).collect();
    for hang in &mut silent {
        if hang.requests.iter().any(|one| one.is_acknowledged) {
            hang.requests.retain(|one| one.is_acknowledged);
        }
    }
    let is_long = |longest_ns: u64| longest_ns >= LEAST_NS && is_unusual(evidence, longest_ns);
    silent.retain(|hang| is_long(hang.longest_ns()) && (hang.is_acknowledged() || !is_unanswered));
    silent.sort_by_key(|hang| (!hang.is_acknowledged(), Reverse(hang.longest_ns()), hang.server));
    silent.iter().take(NAMED).filter_map(|hang| one_silent(evidence, hang, all_s)).collect()
}

fn one_silent(evidence: &Evidence<'_>, hang: &Hang<'_>, all_s: f64) -> Option<Found> {
    let first = hang.requests.iter().min_by_key(|one| one.first_ns)?;
    let concerned: BTreeSet<IpAddr> = hang.requests.iter().map(|one| one.client).collect();
    let requests = counted(evidence, hang.requests.iter().map(|one| one.requests).sum(), "request");
    let (server, longest) = (hang.server, duration(hang.longest_ns() as f64 / 1e9));
    let (clients, first_at) = (clients::named(evidence, &concerned), instant::second(first.first_ns));
    let in_common = in_common(evidence, &hang.requests);
    let (kind, text, without) = match hang.is_acknowledged() {
        true => (
            Kind::Trouble,
            format!(
                "Server {server} does not respond, although other servers do: {requests} of {clients} got no response for up to {longest}. \
                Its system acknowledged these requests. The first of them was sent at {first_at}; the capture has no response of this \
                server at all.{in_common} Response times do not include this wait. Check whether the server's process hangs, or waits for \
                its disks."
            ),
            format!("Server {server} did not respond to {requests} for up to {longest}"),
        ),
        false => (
            Kind::Remark,
            format!(
                "The capture has no response of server {server} at all, although it has responses of other servers: {requests} of \
                {clients} got none for up to {longest}. The first of them was sent at {first_at}. The capture does not have \
                acknowledgements of all of these requests: they may not have arrived, or the capture lacks packets of this \
                server.{in_common} Check whether the capture has both directions of this server's connections."
            ),
            format!(
                "The capture has no response of server {server} to {requests}, and perhaps lacks packets of this server"
            ),
        ),
    };
    let share = hang.waited_s() / (hang.waited_s() + all_s);
    let found = Found::new(kind, Rule::NoResponse, None, text).explaining(share).unanswered(&without);
    Some(found.look(first.procedure.row().operation.label(), "path").inferred())
}

/// By server: the requests without a response, if the server did not respond to later ones either.
fn hangs<'e>(evidence: &Evidence<'e>) -> Vec<Hang<'e>> {
    // With a filter, other requests may have been answered.
    let is_whole = evidence.findings.source.filters.is_empty();
    let is_end = |one: &&Unfinished| is_whole && matches!(one.end, WaitEnd::Client | WaitEnd::Capture);
    let all = evidence.coverage.unfinished.iter().filter(is_end);
    let mut servers: BTreeMap<Endpoint, Vec<&Unfinished>> = BTreeMap::new();
    all.filter(|one| is_for_data(one, true)).for_each(|one| servers.entry(one.server).or_default().push(one));
    let hang = |(server, mut requests): (Endpoint, Vec<&'e Unfinished>)| {
        let last_response_ns = evidence.coverage.last_response_ns(server)?;
        requests.retain(|one| last_response_ns.is_none_or(|last_ns| one.first_ns.saturating_add(AFTER_NS) > last_ns));
        // Where the capture was blind, there may be later responses.
        requests.retain(|one| was_seen(evidence, one));
        (!requests.is_empty()).then_some(Hang { server, requests, last_response_ns })
    };
    servers.into_iter().filter_map(hang).collect()
}

/// Whether no request that got a response waited as long; a wait of [`LONG_NS`] is never usual.
fn is_unusual(evidence: &Evidence<'_>, longest_ns: u64) -> bool {
    let noted = evidence.tallies.map(|tallies| tallies.long().noted()).unwrap_or_default();
    longest_ns >= LONG_NS.unsigned_abs() || noted.iter().all(|one| one.waited_ns < longest_ns)
}
