//! Requests without a response: because the server ended the connection, or because it does not respond to them.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use plimsoll_model::{ClientPath, Endpoint, Operation, Restart, Unfinished, WaitEnd};

use super::super::counts::plural;
use super::{Evidence, Found, Kind, clients, percent};
use crate::findings::Rule;
use crate::instant;
use crate::text::duration;

/// Minimum number of connections that a server ended: one or two may be chance.
const LEAST: u64 = 3;
/// Minimum fraction of these among the connections of the clients.
const PART: f64 = 0.1;
/// From this part of the connections on, what they have in common is said.
const NEARLY_ALL: f64 = 0.75;
/// Minimum time without a response, ns: of what has no answer by then, users and programs give up.
pub(super) const LONG_NS: i64 = 10_000_000_000;
/// If the server answered other requests so long afterwards, it was not silent, ns.
pub(super) const AFTER_NS: i64 = 1_000_000_000;

/// A server that ends connections while requests wait.
pub(super) fn cut_off(evidence: &Evidence<'_>) -> Option<Found> {
    let mut servers: HashMap<Endpoint, Vec<&Unfinished>> = HashMap::new();
    // Where the capture was blind, it may lack the responses.
    let seen = ended_by(evidence, WaitEnd::Server)?.into_iter().filter(|one| was_seen(evidence, one));
    seen.for_each(|one| servers.entry(one.server).or_default().push(one));
    // One restart ends all connections, and has its own sentence.
    servers.retain(|_, cuts| cuts.len() as u64 >= LEAST && !is_one_restart(evidence, cuts));
    let (server, cuts) = servers.into_iter().max_by_key(|(server, cuts)| (cuts.len(), *server))?;
    let concerned: BTreeSet<IpAddr> = cuts.iter().map(|one| one.client).collect();
    let is_of = |path: &&ClientPath| concerned.contains(&path.client);
    let connections: u64 = evidence.coverage.client_paths.iter().filter(is_of).map(|path| path.connections).sum();
    let part = cuts.len() as f64 / (connections as f64).max(cuts.len() as f64);
    if part < PART {
        return None;
    }
    let (first, last) = (cuts.iter().map(|one| one.end_ns).min()?, cuts.iter().map(|one| one.end_ns).max()?);
    let requests = counted(evidence, cuts.iter().map(|one| one.requests).sum(), "request");
    let text = format!(
        "Between {first} and {last}, server {server} ended {connections} of {clients} while requests were outstanding: {requests} got \
        no response.{in_common} Response times do not show this. The server's process may have crashed, or another device (a firewall) \
        may have ended the connections: check the server's logs at these times.",
        connections = counted(evidence, cuts.len() as u64, "connection"),
        clients = clients::named(evidence, &concerned),
        first = instant::second(first),
        last = instant::second(last),
        in_common = in_common(evidence, &cuts),
    );
    let without = format!("Server {server} ended connections and did not respond to {requests}");
    let operation = cuts.last()?.procedure.row().operation.label();
    let found = Found::new(Kind::Trouble, Rule::CutOff, None, text).explaining(part).unanswered(&without);
    let found = found.look(operation, "path");
    let found = match concerned.first() {
        Some(client) if concerned.len() == 1 => found.only("--client", client.to_string()),
        _ => found,
    };
    Some(found.inferred())
}

/// The connections with such an end; `None` where requests may be left out, or responses.
pub(super) fn ended_by<'e>(evidence: &Evidence<'e>, end: WaitEnd) -> Option<Vec<&'e Unfinished>> {
    let coverage = evidence.coverage;
    let is_whole = evidence.findings.source.filters.is_empty() && coverage.one_sided == 0;
    is_whole.then(|| coverage.unfinished.iter().filter(|one| one.end == end).collect())
}

/// `4 requests`, or `at least 4 requests` if the list of connections is full: further ones are not in it.
pub(super) fn counted(evidence: &Evidence<'_>, count: u64, what: &str) -> String {
    let at_least = if evidence.coverage.has_more_unfinished() { "at least " } else { "" };
    format!("{at_least}{}", plural(count, what))
}

/// How long the requests of a connection waited, at least, s. Requests between the first and the last waited at least as long as the last
/// one.
pub(super) fn waited_s(one: &Unfinished) -> f64 {
    let [first_s, last_s] = [one.first_ns, one.last_ns].map(|sent_ns| one.end_ns.abs_diff(sent_ns) as f64 / 1e9);
    first_s + one.requests.saturating_sub(1) as f64 * last_s
}

/// `72 %`, or `at least 72 %` if the wait of these connections is a lower bound.
pub(super) fn part(evidence: &Evidence<'_>, connections: &[&Unfinished], share: f64) -> String {
    let is_bound = evidence.coverage.has_more_unfinished() || connections.iter().any(|one| one.requests > 2);
    match percent(share) {
        said if !is_bound || share >= 1.0 || said.starts_with("more than") => said,
        // The part may be larger by an unknown amount.
        said if said.starts_with("less than") => "at least a small part".to_owned(),
        said => format!("at least {said}"),
    }
}

/// Whether the capture saw the whole wait.
pub(super) fn was_seen(evidence: &Evidence<'_>, one: &Unfinished) -> bool {
    !evidence.coverage.may_be_blind((one.first_ns, one.end_ns))
}

/// Whether all of them were ended by one restart of the server.
fn is_one_restart(evidence: &Evidence<'_>, cuts: &[&Unfinished]) -> bool {
    evidence.coverage.restarts.iter().any(|restart: &Restart| {
        let (from, to) = restart.closed_ns;
        restart.connections >= 2
            && cuts.iter().all(|one| one.server == restart.server && (from..=to).contains(&one.end_ns))
    })
}

/// What the last request of nearly all these connections has in common: the file, or the procedure. Nothing is known of all if further
/// ones are not listed.
pub(super) fn in_common(evidence: &Evidence<'_>, cuts: &[&Unfinished]) -> String {
    if evidence.coverage.has_more_unfinished() {
        return String::new();
    }
    let all = cuts.len();
    let is_most = |count: usize| count as f64 >= NEARLY_ALL * all as f64;
    let said = |count: usize, what: String| match (all, count) {
        (1, _) => format!(" The last request was {what}."),
        (_, count) if count == all => format!(" On each of these connections, the last request was {what}."),
        (_, count) => format!(" On {count} of these connections, the last request was {what}."),
    };
    let on_path = |like: &Unfinished| {
        cuts.iter()
            .filter(|one| (one.share, one.path, one.procedure) == (like.share, like.path, like.procedure))
            .count()
    };
    let most = cuts.iter().max_by_key(|one| on_path(one));
    let path = most.and_then(|one| evidence.names.text(one.path).map(|path| (one, path)));
    if let Some((one, path)) = path.filter(|(one, path)| !path.is_empty() && is_most(on_path(one))) {
        let on = evidence.names.text(one.share).map_or_else(String::new, |share| format!(" on share {share}"));
        return said(on_path(one), format!("{} for {path}{on}", one.procedure.row().name));
    }
    let with = |like: &Unfinished| cuts.iter().filter(|one| one.procedure == like.procedure).count();
    match cuts.iter().max_by_key(|one| with(one)) {
        Some(one) if is_most(with(one)) => said(with(one), one.procedure.row().name.to_owned()),
        _ => String::new(),
    }
}

/// Requests to which a server does not respond, though it responds to others.
pub(super) fn no_response(evidence: &Evidence<'_>, all_s: f64) -> Option<Found> {
    let ends = [WaitEnd::Client, WaitEnd::Capture].into_iter().filter_map(|end| ended_by(evidence, end));
    let is_long = |one: &&Unfinished| one.end_ns.saturating_sub(one.first_ns) >= LONG_NS && is_for_data(one, false);
    let answered_meanwhile = |one: &&Unfinished| {
        let during_ns = one.first_ns.saturating_add(AFTER_NS)..=one.end_ns;
        one.responded_ns.is_some_and(|ns| during_ns.contains(&ns))
    };
    let seen = ends.flatten().filter(|one| was_seen(evidence, one));
    let hung: Vec<&Unfinished> = seen.filter(is_long).filter(answered_meanwhile).collect();
    let first = hung.iter().min_by_key(|one| one.first_ns)?;
    let wait_s = hung.iter().map(|one| waited_s(one)).sum::<f64>();
    let share = wait_s / (wait_s + all_s);
    let longest = hung.iter().map(|one| one.end_ns.abs_diff(one.first_ns)).max()?;
    let concerned: BTreeSet<IpAddr> = hung.iter().map(|one| one.client).collect();
    let count = hung.iter().map(|one| one.requests).sum();
    // It begins a sentence.
    let requests = counted(evidence, count, "request").replacen("at least", "At least", 1);
    let (up_to, which) = if count == 1 { ("", "The request") } else { ("up to ", "The first of these requests") };
    let on = match hung.len() as u64 {
        1 => String::new(),
        connections => format!(" on {}", counted(evidence, connections, "connection")),
    };
    let text = format!(
        "{requests} of {clients}{on} got no response for {up_to}{longest}. {which} was sent at {first}. The server responded to \
        other requests during this time.{in_common} Response times do not include this wait; if \
        they did, it would be {share} of all time waited.",
        clients = clients::named(evidence, &concerned),
        longest = duration(longest as f64 / 1e9),
        first = instant::second(first.first_ns),
        in_common = in_common(evidence, &hung),
        share = part(evidence, &hung, share),
    );
    let without = format!(
        "{requests} got no response for up to {}, although the server responded to others",
        duration(longest as f64 / 1e9)
    );
    let found = Found::new(Kind::Trouble, Rule::NoResponse, None, text).explaining(share);
    let found = found.unanswered(&without);
    Some(found.look(first.procedure.row().operation.label(), "path").inferred())
}

/// Whether the server should respond at once: pipes, locks and notifications may wait for something. Requests that set up a session may
/// wait for another server, so they count only with `or_session`: if the server responds to no client.
pub(super) fn is_for_data(one: &Unfinished, or_session: bool) -> bool {
    const WAITING: [Operation; 3] = [Operation::Control, Operation::Lock, Operation::Notify];
    let operation = one.procedure.row().operation;
    !WAITING.contains(&operation) && (or_session || operation != Operation::Session)
}
