//! Answers that mean trouble.

mod grace;
mod meanings;
mod retries;
mod sense;
mod subject;

use std::net::IpAddr;

use plimsoll_model::{Operation, Protocol, StatusFamily, Symbol};
use plimsoll_stats::tallies::{ErrorRow, Refusal};

use super::super::counts::{plural, thousands};
use super::began::Began;
use super::{CAUSE_SHARE, Evidence, Found, Kind, NAMED, operations, percent};
use crate::findings::{Findings, OperationRow, Rule};
use crate::instant;
use crate::text::duration;
use meanings::{GRACE, LOCKED, MEANINGS, Meaning, When};
pub(super) use retries::retries;

/// Minimum number of refusals, for statuses that are normal one at a time.
const MANY: u64 = 20;
/// Minimum fraction of these refusals among the requests for the same operation.
const MANY_SHARE: f64 = 0.01;
/// Minimum number of answers, for statuses that are always problems.
const FEW: u64 = 5;
/// Minimum fraction of these answers among the requests for the same operation.
const FEW_SHARE: f64 = 0.1;
/// Refused logons and mounts: minimum number for one client, or minimum fraction of all.
const AGAIN: u64 = 5;
const AGAIN_SHARE: f64 = 0.05;
/// Minimum number of refusals caused by people (for one client `MANY`: a program that retries),
const STORM: u64 = 50;
/// Minimum fraction of these refusals among the requests for the same operation.
const STORM_SHARE: f64 = 0.1;
/// Maximum mean time between a refusal and the next such request for the same path, s, for a program that waits and tries again.
const RETRY_S: f64 = 10.0;

/// Why a failed request of SMB1 has no status.
const UNPROCESSED: &str =
    " An earlier command of the same message failed, so the server did not process the rest of the message.";

/// Sums over the answers with one meaning.
#[derive(Default)]
struct Sum<'r> {
    rows: Vec<&'r ErrorRow>,
    count: u64,
    waited_ns: f64,
    repeated: u64,
    paused_ns: f64,
}

/// Statuses that are problems, one sentence per meaning; without locks if another sentence covers them.
pub(super) fn trouble(evidence: &Evidence<'_>, are_locks_told: bool) -> Vec<Found> {
    let refusals = evidence.tallies.map(|tallies| tallies.refusals()).unwrap_or_default();
    let is_left = |meaning: &&Meaning| !are_locks_told || meaning.statuses != LOCKED;
    MEANINGS.iter().filter(is_left).filter_map(|meaning| of_meaning(evidence, meaning, &refusals)).collect()
}

fn of_meaning(evidence: &Evidence<'_>, meaning: &Meaning, refusals: &[Refusal]) -> Option<Found> {
    let tallies = evidence.tallies?;
    let is_of = |protocol: Protocol, status: u32| {
        StatusFamily::of(protocol, status).is_some_and(|family| meaning.statuses.contains(&(family, status)))
    };
    let mut sum = Sum::default();
    for row in tallies.errors().rows().iter().filter(|row| is_of(row.protocol, row.status)) {
        sum.count += row.count;
        sum.waited_ns += row.waited_ns as f64;
        sum.repeated += row.repeated;
        sum.paused_ns += row.paused_ns as f64;
        sum.rows.push(row);
    }
    sum.rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    let row = sum.rows.first()?;
    let all = operations::by_operation(&evidence.findings.operations);
    let share = sum.waited_ns / evidence.waited_ns().max(1.0);
    let waits = share >= CAUSE_SHARE;
    let least = if only_client(&sum).is_some() { MANY } else { STORM };
    let is_enough = |&(count, among): &(u64, f64)| match meaning.when {
        When::Once => true,
        When::Many if meaning.kind == Kind::Trouble && count >= FEW && among >= FEW_SHARE => true,
        When::Many => count >= MANY && among >= MANY_SHARE,
        When::Again => count >= AGAIN && (only_client(&sum).is_some() || among >= AGAIN_SHARE),
        When::Storm => count >= least && among >= STORM_SHARE,
    };
    let parts = parts(&sum, &all);
    let is_many = parts.iter().any(is_enough);
    let is_much = parts.iter().any(|part| is_enough(part) && part.1 >= FEW_SHARE);
    let began = Began::of(refusals.iter().filter(|row| is_of(row.protocol, row.status)))
        .filter(|_| meaning.kind == Kind::Trouble);
    let is_grace = meaning.statuses == GRACE;
    // In a grace period a few clients that repeat a request wait as long as many.
    let is_awaited = is_grace && are_retries(evidence, &sum);
    if !is_many && !waits && !is_awaited && began.is_none() {
        return None;
    }
    let period = if is_grace { grace::period(evidence, &sum.rows, refusals) } else { None };
    let is_told_since_when = began.is_some() || period.is_some();
    let text = format!(
        "{} got {}: {}.{}{}{}{}{}{}",
        requests(&sum),
        names(evidence, &sum),
        sense::of(evidence, meaning, &sum),
        if waits { waited(&sum, share) } else { String::new() },
        period.unwrap_or_default(),
        pauses(evidence, &sum),
        began.as_ref().map_or_else(String::new, |began| began.sentence(evidence, meaning.changed)),
        whom(evidence, &sum, is_told_since_when),
        subject::of(evidence, meaning, &sum),
    );
    // Response times already contain the clients' waits; a few errors among many explain little.
    let is_trouble = is_much || began.as_ref().is_some_and(|began| began.is_much(evidence));
    let kind = match meaning.kind {
        Kind::Trouble if is_trouble => Kind::Trouble,
        Kind::Remark if !waits => Kind::Remark,
        _ => Kind::Explanation,
    };
    let met = sum.count as f64 / all.iter().map(|one| one.count).sum::<u64>().max(1) as f64;
    let unseen = beside_responses(evidence, &sum, (kind == Kind::Trouble).then_some(met));
    let rule = if is_grace { Rule::Grace } else { Rule::ErrorStatuses };
    let found = Found::new(kind, rule, waits.then_some(share), text).explaining(share.max(unseen));
    Some(found.look(row.operation.label(), "client"))
}

/// How long clients waited for these responses.
fn waited(sum: &Sum<'_>, share: f64) -> String {
    format!(
        " Clients waited {time} for these responses: {share} of all time waited.",
        time = seconds(sum.waited_ns),
        share = percent(share)
    )
}

/// The part that it explains beside the waiting for these responses: the pauses before clients try again. Of two problems, the one that a
/// larger part of the requests `met` comes first, even if no client waits for either.
fn beside_responses(evidence: &Evidence<'_>, sum: &Sum<'_>, met: Option<f64>) -> f64 {
    let paused = sum.paused_ns / (sum.paused_ns + evidence.waited_ns()).max(1.0);
    match met {
        Some(met) => met.max(paused),
        None if are_retries(evidence, sum) => paused,
        None => 0.0,
    }
}

/// Whether programs repeat the requests soon, so that users wait. A repetition minutes later may be another attempt of theirs.
fn are_retries(evidence: &Evidence<'_>, sum: &Sum<'_>) -> bool {
    let is_soon = sum.paused_ns <= RETRY_S * 1e9 * sum.repeated as f64;
    sum.repeated >= FEW && is_soon && sum.paused_ns >= evidence.least_ns()
}

/// How long clients waited before they tried again: no response time has that.
fn pauses(evidence: &Evidence<'_>, sum: &Sum<'_>) -> String {
    if sum.repeated == 0 || sum.paused_ns < evidence.least_ns() {
        return String::new();
    }
    format!(
        " Clients repeated {retried} of these requests for the same file or folder, {pause} later on average. Response times and \
        percentages of all time waited do not include these pauses ({pauses} in all).",
        retried = thousands(sum.repeated),
        pause = seconds(sum.paused_ns / sum.repeated as f64),
        pauses = seconds(sum.paused_ns),
    )
}

/// By operation: how many of its requests got these answers, and which part of its requests that is; then the same for all these
/// operations together. An operation with few of these answers is left out, unless it has the most.
fn parts(sum: &Sum<'_>, all: &[operations::Operation<'_>]) -> Vec<(u64, f64)> {
    let counts = by_operation(sum);
    let asked = |operation: Operation| all.iter().find(|one| one.label == operation.label()).map_or(0, |one| one.count);
    let part = |count: u64, asked: u64| (count, count as f64 / asked.max(1) as f64);
    let most = counts.first().map_or(0, |&(_, count)| count);
    let own = counts.iter().filter(|&&(_, count)| count >= FEW || count == most);
    let own = own.map(|&(operation, count)| part(count, asked(operation)));
    let whole = part(sum.count, counts.iter().map(|&(operation, _)| asked(operation)).sum());
    own.chain([whole]).collect()
}

/// How many of these answers the requests for each operation got, most first.
fn by_operation(sum: &Sum<'_>) -> Vec<(Operation, u64)> {
    let mut operations: Vec<(Operation, u64)> = Vec::new();
    for row in &sum.rows {
        match operations.iter_mut().find(|(operation, _)| *operation == row.operation) {
            Some((_, count)) => *count += row.count,
            None => operations.push((row.operation, row.count)),
        }
    }
    operations.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    operations
}

/// `12 write requests`, or of several operations `12 requests (write 10, flush 2)`.
fn requests(sum: &Sum<'_>) -> String {
    let operations = by_operation(sum);
    if let [(operation, count)] = operations[..] {
        return plural(count, &format!("{} request", operation.label()));
    }
    let named: Vec<String> =
        operations.iter().take(NAMED).map(|(operation, count)| format!("{} {count}", operation.label())).collect();
    format!("{} ({})", plural(sum.count, "request"), named.join(", "))
}

fn names(evidence: &Evidence<'_>, sum: &Sum<'_>) -> String {
    let mut names: Vec<String> = Vec::new();
    for row in &sum.rows {
        let known = (evidence.status_name)(row.protocol, row.status);
        let name = known.map_or_else(|| format!("{:#x}", row.status), str::to_owned);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.truncate(NAMED);
    names.join(", ")
}

/// The client of all these refusals, if it is only one.
fn only_client(sum: &Sum<'_>) -> Option<IpAddr> {
    let client = sum.rows.first()?.client;
    client.filter(|_| sum.rows.iter().all(|row| row.client == client))
}

/// The client, the share and the path, if only one is concerned, and when it began.
fn whom(evidence: &Evidence<'_>, sum: &Sum<'_>, is_told_since_when: bool) -> String {
    let only = |of: fn(&ErrorRow) -> Symbol| {
        let first = of(sum.rows.first()?);
        evidence.names.text(first).filter(|_| sum.rows.iter().all(|row| of(row) == first))
    };
    let mut parts: Vec<String> = Vec::new();
    if let Some(client) = only_client(sum).filter(|_| !is_told_since_when) {
        parts.push(format!("from client {client}"));
    }
    match (only(|row| row.path), only(|row| row.share)) {
        (Some(path), Some(share)) => parts.push(format!("for {path} on share {share}")),
        (Some(path), None) => parts.push(format!("for {path}")),
        (None, Some(share)) => parts.push(format!("to share {share}")),
        (None, None) => {}
    }
    let mut text = match (sum.count, parts.is_empty()) {
        (_, true) => String::new(),
        (1, _) => format!(" The request was {}.", parts.join(", ")),
        (count, _) => format!(" All {} requests were {}.", thousands(count), parts.join(", ")),
    };
    let first_ns = sum.rows.iter().map(|row| row.first_ns).min();
    if let Some(at) = first_ns.filter(|&at| at < i64::MAX && !is_told_since_when) {
        text.push_str(&format!(" The first: {}.", instant::second(at)));
    }
    text
}

fn seconds(ns: f64) -> String {
    duration(ns / 1e9)
}

/// Requests that trouble kept from being carried out.
pub(super) fn failures(findings: &Findings) -> Option<Found> {
    let rows = || findings.operations.iter().filter(|row| row.parent.is_none());
    let failed: u64 = rows().map(|row| row.failed).sum();
    if failed == 0 {
        return None;
    }
    let mut causes: Vec<(&str, u64)> = Vec::new();
    for status in rows().flat_map(|row| &row.statuses).filter(|status| status.outcome == "failed") {
        match causes.iter_mut().find(|(name, _)| *name == status.name) {
            Some((_, count)) => *count += status.count,
            None => causes.push((&status.name, status.count)),
        }
    }
    causes.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
    let named: Vec<String> = causes.iter().take(NAMED).map(|(name, count)| format!("{name} {count}")).collect();
    let named = if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
    let text = format!("{} failed{named}.{}", plural(failed, "request"), without_status(rows()));
    Some(Found::new(Kind::Remark, Rule::Failures, None, text))
}

/// The failed requests that have no status, and why.
fn without_status<'f>(rows: impl Iterator<Item = &'f OperationRow>) -> String {
    let mut rows: Vec<&OperationRow> = rows.filter(|row| row.failed_without_status() > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.failed_without_status()));
    let named = |row: &&OperationRow| format!("{} {}", row.procedure, thousands(row.failed_without_status()));
    let named: Vec<String> = rows.iter().take(NAMED).map(named).collect();
    let more = match rows.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    // An error of RPC is no status either.
    let why = if rows.iter().all(|row| row.protocol == "SMB1") { UNPROCESSED } else { "" };
    match rows.is_empty() {
        true => String::new(),
        false => format!(" Without a status: {}{more}.{why}", named.join(", ")),
    }
}
