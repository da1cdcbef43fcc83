//! Setting up connections is slow: negotiation, logon, mount.

use std::collections::BTreeSet;
use std::net::IpAddr;

use plimsoll_model::Operation;
use plimsoll_stats::tallies::Place;

use super::super::counts::plural;
use super::few::Few;
use super::operations::SLOW_NS;
use super::places::times;
use super::{CAUSE_SHARE, Evidence, Found, Kind, NAMED, clients, percent};
use crate::findings::{Findings, OperationRow, Rule};
use crate::text::duration;

/// Minimum mean time of requests that set up a connection, s: users do not notice a shorter single request (R. B. Miller, 1968).
const SLOW_S: f64 = 0.1;
/// Minimum mean time of these requests, as a multiple of all other requests'.
const SLOW_TIMES: f64 = 10.0;
/// Minimum number of other requests.
const OTHERS_LEAST: u64 = 20;
/// Minimum number of slow requests if only one kind is slow: one slow request of each of two kinds is not chance, of a single kind it may
/// be.
const ALONE_LEAST: u64 = 3;
/// Procedures of sessions that set nothing up.
const NOT_SET_UP: [&str; 10] = [
    "SEQUENCE",
    "CB_SEQUENCE",
    "RENEW",
    "LOGOFF",
    "LOGOFF_ANDX",
    "TREE_DISCONNECT",
    "UMNT",
    "UMNTALL",
    "DESTROY_SESSION",
    "DESTROY_CLIENTID",
];

/// Negotiating, logging on or mounting is slow, and the rest is not.
pub(super) fn slow(evidence: &Evidence<'_>, waited_s: f64) -> Option<Found> {
    let findings = evidence.findings;
    let (others, others_s) = findings
        .operations
        .iter()
        .filter(|row| row.parent.is_none() && !is_of_session(row))
        .filter_map(|row| row.headline_time())
        .fold((0, 0.0), |sum, times| (sum.0 + times.count, sum.1 + times.count as f64 * times.mean_s));
    let usual_s = others_s / others.max(1) as f64;
    let is_slow = |row: &&OperationRow| {
        row.headline_time().is_some_and(|times| times.mean_s >= SLOW_S && times.mean_s >= SLOW_TIMES * usual_s)
    };
    let mut slow: Vec<&OperationRow> =
        findings.operations.iter().filter(|row| is_set_up(row)).filter(is_slow).collect();
    slow.sort_by(|a, b| b.waited_s.total_cmp(&a.waited_s));
    let (first, sum_s) = (slow.first()?, slow.iter().map(|row| row.waited_s).sum::<f64>());
    let count: u64 = slow.iter().map(|row| row.count).sum();
    let share = sum_s / waited_s;
    // Another operation that is slow as well, and of which clients wait longer, is the cause.
    let is_slower = |row: &OperationRow| {
        let is_slow =
            row.headline_time().is_some_and(|times| times.count >= OTHERS_LEAST && times.mean_s * 1e9 >= SLOW_NS);
        row.parent.is_none() && !is_of_session(row) && is_slow && row.waited_s > sum_s
    };
    let are_others_quick =
        others >= OTHERS_LEAST && usual_s * 1e9 < SLOW_NS && !findings.operations.iter().any(is_slower);
    let is_cause = share >= CAUSE_SHARE && sum_s * 1e9 >= evidence.least_ns();
    if !are_others_quick || !is_cause || slow.len() == 1 && first.count < ALONE_LEAST {
        return None;
    }
    let named: Vec<String> = slow
        .iter()
        .take(NAMED)
        .filter_map(|row| {
            let mean_s = row.headline_time()?.mean_s;
            Some(format!("{} ({}, {} on average)", row.procedure, plural(row.count, "request"), duration(mean_s)))
        })
        .collect();
    let text = format!(
        "Only connection set-up is slow{whose}: {requests}. On average, a set-up request takes {times} as long as any other request \
        ({usual}). Set-up requests account for {share} of all time waited. {advice}",
        whose = whose(evidence),
        requests = named.join(", "),
        times = times(sum_s / count.max(1) as f64 / usual_s.max(f64::MIN_POSITIVE)),
        usual = duration(usual_s),
        share = percent(share),
        advice = who_answers(&slow),
    );
    let found = Found::new(Kind::Mechanism, Rule::SlowSetUp, Some(share), text);
    let excess = (sum_s - count as f64 * usual_s).max(0.0) / waited_s;
    Some(found.explaining(excess).look(Operation::Session.label(), "client").inferred())
}

/// Whether the few slow requests are of these.
pub(super) fn are(findings: &Findings, few: &Few<'_>) -> bool {
    few.alike.iter().all(|one| {
        let mut rows = findings.operations.iter().filter(|row| row.protocol == one.protocol);
        rows.any(|row| row.procedure == one.procedure && is_set_up(row))
    })
}

fn is_of_session(row: &OperationRow) -> bool {
    [Operation::Session.label(), Operation::Null.label()].contains(&row.operation.as_str())
}

fn is_set_up(row: &OperationRow) -> bool {
    // An ECHO keeps a connection up.
    let is_null = row.operation == Operation::Null.label() && !row.procedure.contains("NULL");
    row.parent.is_none() && is_of_session(row) && !is_null && !NOT_SET_UP.contains(&row.procedure.as_str())
}

/// The clients, if all are affected, or few while others are not slow. A mean would hide the slow requests of a client that also ends
/// sessions, because the operation is the same.
fn whose(evidence: &Evidence<'_>) -> String {
    let Some(tallies) = evidence.tallies else { return String::new() };
    let long = tallies.long();
    if long.least_ns() as f64 > SLOW_S * 1e9 {
        return String::new();
    }
    let is_of_session = |operation: Operation| [Operation::Session, Operation::Null].contains(&operation);
    let noted = long.noted().iter().filter(|one| one.waited_ns as f64 >= SLOW_S * 1e9 && is_of_session(one.operation));
    let slow: BTreeSet<IpAddr> = noted.map(|one| one.client).collect();
    let connects = |place: &&Place| place.operations.only(is_of_session).total().count > 0;
    let mut others = tallies.places().iter().filter(connects).map(|place| place.key.client);
    let has_quick = others.any(|client| !slow.contains(&client));
    if let Some(all) = clients::all_of(evidence, &slow) {
        return format!(" for {all}");
    }
    if slow.is_empty() || slow.len() > NAMED || !has_quick {
        return String::new();
    }
    let named: Vec<String> = slow.iter().map(IpAddr::to_string).collect();
    format!(" for {} {}", if named.len() == 1 { "client" } else { "clients" }, named.join(", "))
}

/// The services that a server asks while it sets up a connection.
fn who_answers(slow: &[&OperationRow]) -> &'static str {
    let is_any = |part: &str| slow.iter().any(|row| row.procedure.contains(part));
    let is_smb = is_any("NEGOTIATE") || is_any("SESSION_SETUP") || is_any("TREE_CONNECT");
    match (is_smb, is_any("NEGOTIATE") || is_any("NULL") || is_any("MNT")) {
        (true, true) => {
            "The server may wait for a name service (DNS), a domain controller or ID mapping (SIDs to UIDs)."
        }
        (true, false) => {
            "The server may wait for a domain controller, another account database or ID mapping (SIDs to UIDs)."
        }
        (false, true) => "The server may wait for a name service (DNS, netgroups) when it looks up the client's name.",
        (false, false) => {
            "The server may wait for a name service, or for the storage on which it keeps its list of clients."
        }
    }
}
