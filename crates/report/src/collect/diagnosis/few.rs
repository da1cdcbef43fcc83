//! Few requests that are a large part of all time waited.

use std::collections::BTreeSet;
use std::net::IpAddr;

use plimsoll_stats::tallies::PathRow;

use super::super::counts::plural;
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
const FEW_FELT_S: f64 = 0.1;

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
    let slowest = slowest.filter(|one| one.headline_s(findings.headline) >= FEW_FELT_S)?;
    let row = row_of(slowest)?;
    let limit_s = FEW_ALIKE * slowest.headline_s(findings.headline);
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

/// The sentence.
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
        part = service_of(alike).or_else(|| transfer_of(evidence, alike)).unwrap_or_default(),
    );
    Some(Found::new(Kind::Symptom, Rule::FewSlowRequests, Some(share), text))
}

/// Whether a request only takes as long as its data needs at a normal rate: the mean size of such requests for its file.
fn is_large(evidence: &Evidence<'_>, slow: &Slow) -> bool {
    let took_s = slow.headline_s(evidence.findings.headline);
    let fair_s = payload_of(evidence, slow).unwrap_or(0.0) / FAIR_BYTES_PER_S;
    is_transfer(slow) && took_s - fair_s < FEW_FELT_S
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
            " Sending and receiving were {share} of the time that {these} took, at about {rate:.1} Mbit/s: the network path or the \
            client is slow, or the server accepts data slowly.",
            share = percent(transfer_s / response_s),
            these = these(alike),
            rate = payload * 8.0 / transfer_s / 1e6
        )
    })
}
