//! Few requests that are a large part of all time waited.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use plimsoll_model::Operation;
use plimsoll_stats::tallies::{Long, PathRow};

use super::super::counts::plural;
use super::evidence::measured_s;
use super::{Evidence, Found, Kind, NAMED, clients, percent};
use crate::findings::{Findings, Rule, Slow};
use crate::instant;
use crate::text::duration;

/// Minimum fraction of all time waited, for few slow requests together.
const FEW_SHARE: f64 = 0.25;
/// Maximum fraction of few slow requests among the requests for the same operation.
const FEW_AMONG: f64 = 0.2;
/// Minimum time of each of them, relative to the slowest one.
const FEW_ALIKE: f64 = 0.5;

/// Minimum time of the slowest request, s: users do not notice a shorter single request (R. B. Miller, 1968).
const FEW_NOTICEABLE_S: f64 = 0.1;

/// Minimum number of slow requests of several operations.
const SEVERAL_LEAST: usize = 5;
/// Maximum fraction of slow requests of several operations among all requests.
const SEVERAL_AMONG: f64 = 0.02;
/// Minimum number of a client's slow requests, and maximum difference of its intervals from their median, for regular intervals.
const REGULAR_LEAST: usize = 3;
const REGULAR_NEAR: f64 = 0.2;

/// A request is a transfer if sending and receiving take at least this fraction of its time.
const TRANSFER: f64 = 0.75;
/// A transfer at this rate or faster is not slow for its size, bytes per second.
const FAIR_BYTES_PER_S: f64 = 10e6;
/// A cause with at most this multiple of the explained waiting explains all of it.
pub(super) const ALMOST: f64 = 1.05;

/// Few requests that made clients wait long, of one procedure.
pub(super) struct Few<'f> {
    pub(super) alike: Vec<&'f Slow>,
    /// Their part of all time waited.
    pub(super) share: f64,
    /// Whether they are all slow requests.
    are_all: bool,
}

impl Few<'_> {
    /// Whether each ended with an error status of which clients waited for the answers at least as long as for these.
    pub(super) fn are_errors(&self, findings: &Findings, share: f64) -> bool {
        let is_error = |one: &&Slow| {
            let rows = findings.operations.iter().filter(|row| row.procedure == one.procedure);
            rows.flat_map(|row| &row.statuses).any(|status| status.error && Some(&status.name) == one.status.as_ref())
        };
        self.share <= ALMOST * share && self.alike.iter().all(is_error)
    }

    /// Whether all of them are transfers of the client that a filter selects.
    pub(super) fn are_transfers_of(&self, only: Option<&(&'static str, String)>) -> bool {
        let Some((_, client)) = only.filter(|(flag, _)| *flag == "--client") else { return false };
        let is_its =
            |one: &&Slow| one.client.rsplit_once(':').is_some_and(|(ip, _)| ip.trim_matches(['[', ']']) == client);
        self.alike.iter().all(|one| is_its(one) && is_transfer(one))
    }
}

/// The few slow requests, where there are some.
pub(super) fn few_slow(findings: &Findings, waited_s: f64) -> Option<Few<'_>> {
    let row_of = |slow: &Slow| {
        findings.operations.iter().find(|row| row.protocol == slow.protocol && row.procedure == slow.procedure)
    };
    // Clients wait for the first member of a compound; the others have the same response time.
    let is_waited_for =
        |slow: &&Slow| row_of(slow).is_some_and(|row| row.waited_s * ALMOST >= slow.headline_s(findings.headline));
    let slowest = findings.slowest.iter().find(is_waited_for);
    let measured_s = measured_s(findings);
    let slowest = slowest.filter(|one| one.headline_s(findings.headline) >= FEW_NOTICEABLE_S.max(measured_s))?;
    let row = row_of(slowest)?;
    let limit_s = measured_s.max(FEW_ALIKE * slowest.headline_s(findings.headline));
    let alike: Vec<&Slow> = findings
        .slowest
        .iter()
        .filter(|one| one.protocol == slowest.protocol && one.procedure == slowest.procedure)
        .filter(|one| one.headline_s(findings.headline) >= limit_s)
        .collect();
    let sum_s = alike.iter().map(|one| one.headline_s(findings.headline)).sum::<f64>();
    let share = sum_s / waited_s;
    if !(FEW_SHARE..=1.0).contains(&share)
        || sum_s > ALMOST * row.waited_s
        || alike.len() as f64 > FEW_AMONG * row.count as f64
    {
        return None;
    }
    // The list is bounded: only where something quicker is in it are all of these.
    let all = findings.slowest.iter().any(|one| one.headline_s(findings.headline) < limit_s);
    Some(Few { alike, share, are_all: all })
}

pub(super) fn sentence(evidence: &Evidence<'_>, few: &Few<'_>) -> Option<Found> {
    let findings = evidence.findings;
    if few.alike.iter().all(|one| is_large(evidence, one)) {
        return None;
    }
    let (alike, share) = (&few.alike, few.share);
    let times = || alike.iter().map(|one| one.headline_s(findings.headline));
    let (least, most) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    let mean = times().sum::<f64>() / alike.len() as f64;
    let took = match (alike.len(), most <= 1.05 * least) {
        (1, _) => duration(most),
        (_, true) => format!("{} each on average", duration(mean)),
        (_, false) => format!("{} to {}", duration(least), duration(most)),
    };
    let text = format!(
        "{at_least}{requests} took {took}: {share} of all time waited. {where_and_when}.{part}",
        at_least = if few.are_all { "" } else { "At least " },
        requests = plural(alike.len() as u64, &format!("{} request", alike.first()?.procedure)),
        share = percent(share),
        where_and_when = where_and_when(evidence, alike),
        part = part_of(evidence, alike).unwrap_or_default(),
    );
    Some(Found::new(Kind::Symptom, Rule::FewSlowRequests, Some(share), text))
}

/// Few slow requests of several operations: their operation is not the reason.
pub(super) fn several(evidence: &Evidence<'_>) -> Option<Found> {
    let tallies = evidence.tallies?;
    let (noted, waited_ns) = (tallies.long().noted(), evidence.waited_ns());
    let most_ns = noted.iter().map(|one| one.waited_ns).max()? as f64;
    let measured_ns = evidence.measured_ns();
    let least_ns = measured_ns.max(FEW_ALIKE * most_ns);
    let alike: Vec<&Long> = noted.iter().filter(|one| one.waited_ns as f64 >= least_ns).collect();
    let sum_ns: f64 = alike.iter().map(|one| one.waited_ns as f64).sum();
    let (share, all) = (sum_ns / waited_ns, tallies.sum(|_| true).total().count);
    let mut operations: BTreeMap<Operation, u64> = BTreeMap::new();
    alike.iter().for_each(|one| *operations.entry(one.operation).or_default() += 1);
    let are_noticeable = most_ns >= measured_ns.max(FEW_NOTICEABLE_S * 1e9) && sum_ns >= evidence.least_ns();
    if !are_noticeable
        || !(FEW_SHARE..=1.0).contains(&share)
        || operations.len() < 2
        || alike.len() < SEVERAL_LEAST
        || alike.len() as f64 > SEVERAL_AMONG * all as f64
        || least_ns < tallies.long().least_ns() as f64
    {
        return None;
    }
    let mut named: Vec<(Operation, u64)> = operations.into_iter().collect();
    named.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let kinds = named.len();
    let named: Vec<String> =
        named.iter().take(NAMED).map(|(operation, count)| format!("{} {count}", operation.label())).collect();
    let times = || alike.iter().map(|one| one.waited_ns as f64 / 1e9);
    let begins = || alike.iter().map(|one| one.span_ns.0);
    let text = format!(
        "{count} requests for {kinds} operations ({named}) took {least} to {most}: {share} of all time waited. They came from {whose}: the \
        first began at {first}, the last at {last}.{regular}",
        count = alike.len(),
        named = named.join(", "),
        least = duration(times().fold(f64::INFINITY, f64::min)),
        most = duration(times().fold(0.0, f64::max)),
        share = percent(share),
        whose = clients::named(evidence, &alike.iter().map(|one| one.client).collect()),
        first = instant::second(begins().min()?),
        last = instant::second(begins().max()?),
        regular = regular(&alike).unwrap_or_default(),
    );
    let slow = alike.first()?.operation.label();
    Some(Found::new(Kind::Symptom, Rule::FewSlowRequests, Some(share), text).look(slow, "client"))
}

/// The interval between the slow requests of each client, if there is one.
fn regular(alike: &[&Long]) -> Option<String> {
    let mut of_clients: BTreeMap<IpAddr, Vec<i64>> = BTreeMap::new();
    alike.iter().for_each(|one| of_clients.entry(one.client).or_default().push(one.span_ns.0));
    let mut intervals: Vec<u64> = Vec::new();
    for begins in of_clients.values_mut() {
        if begins.len() < REGULAR_LEAST {
            return None;
        }
        begins.sort_unstable();
        intervals.extend(begins.windows(2).map(|pair| pair[1].abs_diff(pair[0])));
    }
    intervals.sort_unstable();
    let median_ns = *intervals.get(intervals.len() / 2)?;
    let is_near = |ns: &u64| ns.abs_diff(median_ns) as f64 <= REGULAR_NEAR * median_ns as f64;
    intervals.iter().all(is_near).then(|| {
        format!(
            " Each of these clients had such a slow request about every {interval}, independently of the operation. Look for something \
            that the server must look up again for each client or user when it expires, e.g. a user's groups in a directory service.",
            interval = duration(median_ns as f64 / 1e9)
        )
    })
}

/// Whether a request only takes as long as its data needs at a normal rate: the mean size of such requests for its file.
fn is_large(evidence: &Evidence<'_>, slow: &Slow) -> bool {
    let took_s = slow.headline_s(evidence.findings.headline);
    let fair_s = payload_of(evidence, slow).unwrap_or(0.0) / FAIR_BYTES_PER_S;
    is_transfer(slow) && took_s - fair_s < FEW_NOTICEABLE_S
}

/// Whether most of its time was sending and receiving.
fn is_transfer(slow: &Slow) -> bool {
    slow.service_time_s.is_some_and(|service_s| service_s <= (1.0 - TRANSFER) * slow.response_time_s)
}

/// How many bytes a request carries: the mean of such requests for its path.
fn payload_of(evidence: &Evidence<'_>, slow: &Slow) -> Option<f64> {
    let is_its = |row: &&PathRow| {
        let names = [row.share, row.path].map(|one| evidence.names.text(one));
        names == [slow.share.as_deref(), slow.path.as_deref()] && row.cell.payload > 0
    };
    let rows = evidence.tallies.filter(|_| slow.path.is_some())?.paths().rows().iter().filter(is_its);
    rows.map(|row| row.cell.payload as f64 / row.cell.count.max(1) as f64).max_by(f64::total_cmp)
}

/// Statuses, the time of the first, and how many clients.
fn where_and_when(evidence: &Evidence<'_>, alike: &[&Slow]) -> String {
    let statuses: BTreeSet<&str> =
        alike.iter().filter_map(|one| one.status.as_deref()).filter(|status| !is_success(status)).collect();
    let clients: BTreeSet<&str> =
        alike.iter().filter_map(|one| one.client.rsplit_once(':').map(|(ip, _)| ip)).collect();
    let connections: BTreeSet<&str> = alike.iter().map(|one| one.client.as_str()).collect();
    let paths: BTreeSet<&str> = alike.iter().filter_map(|one| one.path.as_deref()).collect();
    let first = alike.iter().map(|one| one.at_ns).min().unwrap_or_default();
    let which = if alike.len() == 1 { "It" } else { "The first" };
    let mut parts = vec![format!("{which} began at {}", instant::second(first))];
    match statuses.len() {
        0 => {}
        1..=NAMED => parts.push(format!("status {}", statuses.into_iter().collect::<Vec<_>>().join(", "))),
        _ => parts.push(format!("{} statuses", statuses.len())),
    }
    let connections = plural(connections.len() as u64, "connection");
    // A load generator is one host of many clients.
    let ips: Option<BTreeSet<IpAddr>> = clients.iter().map(|ip| ip.trim_matches(['[', ']']).parse().ok()).collect();
    let all = ips.and_then(|ips| clients::all_of(evidence, &ips));
    parts.push(match evidence.findings.run.is_none() {
        true => match clients.first().filter(|_| clients.len() == 1) {
            Some(client) => format!("client {client} on {connections}"),
            None => format!("{} on {connections}", all.unwrap_or_else(|| plural(clients.len() as u64, "client"))),
        },
        false => connections,
    });
    if paths.len() > 1 {
        parts.push(format!("{} paths", paths.len()));
    } else {
        parts.extend(paths.into_iter().map(|path| format!("path {path}")));
    }
    parts.join("; ")
}

/// A status that explains nothing.
fn is_success(status: &str) -> bool {
    status == "STATUS_SUCCESS" || status.ends_with("_OK")
}

/// The main part of their time. From the intended start the parts do not add up to it.
fn part_of(evidence: &Evidence<'_>, alike: &[&Slow]) -> Option<String> {
    if evidence.is_from_intended() { None } else { service_of(alike).or_else(|| transfer_of(evidence, alike)) }
}

/// Whether almost all of their time was service time.
fn service_of(alike: &[&Slow]) -> Option<String> {
    let service: Option<f64> = alike.iter().map(|one| one.service_time_s).sum();
    let response: f64 = alike.iter().map(|one| one.response_time_s).sum();
    match service {
        Some(service) if service >= 0.95 * response => {
            Some(format!(" Service time was {} of the time that {} took.", percent(service / response), these(alike)))
        }
        _ => None,
    }
}

fn these(alike: &[&Slow]) -> &'static str {
    if alike.len() == 1 { "this request" } else { "these requests" }
}

/// Whether most of their time was sending or receiving, with the rate.
fn transfer_of(evidence: &Evidence<'_>, alike: &[&Slow]) -> Option<String> {
    let service_s = alike.iter().map(|one| one.service_time_s).sum::<Option<f64>>()?;
    let response_s: f64 = alike.iter().map(|one| one.response_time_s).sum();
    let transfer_s = (response_s - service_s).max(0.0);
    let payload = alike.iter().map(|one| payload_of(evidence, one)).sum::<Option<f64>>()?;
    (transfer_s >= TRANSFER * response_s).then(|| {
        format!(
            " Sending and receiving (at about {rate:.1} Mbit/s) were {share} of the time that {these} took: the network path or the \
            client is slow, or the server accepts data slowly.",
            share = percent(transfer_s / response_s),
            these = these(alike),
            rate = payload * 8.0 / transfer_s / 1e6
        )
    })
}
