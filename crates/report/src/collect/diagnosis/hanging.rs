//! A server that sends no response any more.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use plimsoll_model::{Endpoint, Unfinished, WaitEnd};

use super::unfinished::{AFTER_NS, LONG_NS, counted, ended_by, in_common, is_for_data, part, waited_s, was_seen};
use super::{CAUSE_SHARE, Evidence, Found, Kind, clients};
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
}

/// The server whose clients waited longest for responses that never came, while it sent none to anybody.
pub(super) fn hanging(evidence: &Evidence<'_>, all_s: f64) -> Option<Found> {
    let hang = hangs(evidence)?.into_iter().max_by(|a, b| a.waited_s().total_cmp(&b.waited_s()))?;
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

/// By server: the requests without a response, if the server did not respond to later ones either.
fn hangs<'e>(evidence: &Evidence<'e>) -> Option<Vec<Hang<'e>>> {
    let ends = [WaitEnd::Client, WaitEnd::Capture].into_iter().map(|end| ended_by(evidence, end));
    let all = ends.collect::<Option<Vec<_>>>()?.into_iter().flatten();
    let mut servers: HashMap<Endpoint, Vec<&Unfinished>> = HashMap::new();
    all.filter(|one| is_for_data(one, true)).for_each(|one| servers.entry(one.server).or_default().push(one));
    let hang = |(server, mut requests): (Endpoint, Vec<&'e Unfinished>)| {
        let last_response_ns = evidence.coverage.last_response_ns(server)?;
        requests.retain(|one| last_response_ns.is_none_or(|last_ns| one.first_ns.saturating_add(AFTER_NS) > last_ns));
        // Where the capture was blind, there may be later responses.
        requests.retain(|one| was_seen(evidence, one));
        (!requests.is_empty()).then_some(Hang { server, requests, last_response_ns })
    };
    Some(servers.into_iter().filter_map(hang).collect())
}

/// Whether no request that got a response waited as long; a wait of [`LONG_NS`] is never usual.
fn is_unusual(evidence: &Evidence<'_>, longest_ns: u64) -> bool {
    let noted = evidence.tallies.map(|tallies| tallies.long().noted()).unwrap_or_default();
    longest_ns >= LONG_NS.unsigned_abs() || noted.iter().all(|one| one.waited_ns < longest_ns)
}
