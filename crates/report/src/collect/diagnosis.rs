//! The diagnosis of a capture: rules over its findings, each with a threshold. MEASUREMENT.md, "Diagnosis", has them.

use std::collections::BTreeSet;

use super::validity::plural;
use crate::findings::{Confidence, Diagnosis, Findings, OperationRow, Rule, Slow, Statement, Verdict};
use crate::instant;
use crate::text::duration;
use plimsoll_stats::Waiting;

/// Few slow requests: together this part of all waiting at least,
const FEW_SHARE: f64 = 0.25;
/// at most this part of the requests for the same operation,
const FEW_AMONG: f64 = 0.2;
/// and each took at least this part of the slowest one's time.
const FEW_ALIKE: f64 = 0.5;
/// A burst: this part of all waiting in one bin of the series,
const BURST_SHARE: f64 = 0.25;
/// that is at most this part of the time.
const BURST_TIME: f64 = 0.1;
/// Retransmission: this part of all waiting.
const RESENT_SHARE: f64 = 0.05;
/// A key of `--by`: this part of all waiting, and twice its part of the requests.
const KEY_SHARE: f64 = 0.3;
/// An operation that leads alone has this part of all waiting.
const OPERATION_SHARE: f64 = 0.5;
/// Causes named in a sentence.
const NAMED: usize = 3;

/// What one operation made clients wait.
struct Operation<'f> {
    label: &'f str,
    count: u64,
    waited_s: f64,
}

/// The diagnosis of a capture; empty where the numbers must not be used. `waiting` is that of all operations.
pub(super) fn diagnose(findings: &Findings, waiting: Waiting) -> Diagnosis {
    let waited_s: f64 = findings.operations.iter().filter(|row| row.parent.is_none()).map(|row| row.waited_s).sum();
    let operations = by_operation(&findings.operations);
    let Some(first) = operations.first().filter(|_| waited_s > 0.0 && findings.validity.verdict != Verdict::Invalid)
    else {
        return Diagnosis::default();
    };
    let lead = first.waited_s / waited_s;
    let found = [
        few_slow(findings, waited_s),
        burst(findings),
        key(findings, waited_s),
        retransmission(findings, waited_s),
        failures(findings),
    ];
    let mut found: Vec<Statement> = found.into_iter().flatten().collect();
    // Sentences about more of the waiting come first; those about something else, last.
    found.sort_by(|a, b| b.share.unwrap_or(0.0).total_cmp(&a.share.unwrap_or(0.0)));
    if found.is_empty() && lead < OPERATION_SHARE {
        found.push(nothing());
    }
    let mut statements = vec![operation(findings, waited_s, first, lead)];
    statements.append(&mut found);
    statements.extend(service_time(waiting));
    // Sums of binary fractions have digits that say nothing.
    let whole_ns = (waited_s * 1e9).round() / 1e9;
    Diagnosis { waited_s: Some(whole_ns), statements, next: next(findings, first.label) }
}

/// Operations by how long clients waited for them. A command with subcommands counts as its subcommands; what has none of them, as itself.
fn by_operation(rows: &[OperationRow]) -> Vec<Operation<'_>> {
    let mut all: Vec<Operation<'_>> = Vec::new();
    for row in rows {
        let children = || rows.iter().filter(|child| is_child(child, row));
        let waited_s = (row.waited_s - children().map(|child| child.waited_s).sum::<f64>()).max(0.0);
        let count = row.count.saturating_sub(children().map(|child| child.count).sum());
        match all.iter_mut().find(|one| one.label == row.operation) {
            Some(one) => (one.count, one.waited_s) = (one.count + count, one.waited_s + waited_s),
            None => all.push(Operation { label: &row.operation, count, waited_s }),
        }
    }
    all.sort_by(|a, b| b.waited_s.total_cmp(&a.waited_s));
    all
}

fn is_child(child: &OperationRow, row: &OperationRow) -> bool {
    child.protocol == row.protocol && child.parent.as_ref().is_some_and(|parent| *parent == row.procedure)
}

fn operation(findings: &Findings, waited_s: f64, first: &Operation<'_>, lead: f64) -> Statement {
    let requests: u64 = findings.operations.iter().filter(|row| row.parent.is_none()).map(|row| row.count).sum();
    let mean = if first.count > 0 { first.waited_s / first.count as f64 } else { 0.0 };
    let text = format!(
        "Clients waited {} for {}: {} of it for the operation {} ({}, {} each on average).",
        duration(waited_s),
        plural(requests, "request"),
        percent(lead),
        first.label,
        plural(first.count, "request"),
        duration(mean),
    );
    Statement { rule: Rule::Operation, text, share: Some(lead), confidence: Confidence::Measured }
}

/// Few requests that made clients wait long, of one procedure.
fn few_slow(findings: &Findings, waited_s: f64) -> Option<Statement> {
    let slowest = findings.slowest.first()?;
    let limit_s = FEW_ALIKE * slowest.headline_s(findings.headline);
    let alike: Vec<&Slow> = findings
        .slowest
        .iter()
        .filter(|one| one.protocol == slowest.protocol && one.procedure == slowest.procedure)
        .filter(|one| one.headline_s(findings.headline) >= limit_s)
        .collect();
    let row = findings
        .operations
        .iter()
        .find(|row| row.protocol == slowest.protocol && row.procedure == slowest.procedure)?;
    let times: Vec<f64> = alike.iter().map(|one| one.headline_s(findings.headline)).collect();
    let share = times.iter().sum::<f64>() / waited_s;
    if !(FEW_SHARE..=1.0).contains(&share) || alike.len() as f64 > FEW_AMONG * row.count as f64 {
        return None;
    }
    // The list is bounded: only where something quicker is in it are all of these.
    let all = findings.slowest.iter().any(|one| one.headline_s(findings.headline) < limit_s);
    let (least, most) = (times.iter().copied().fold(f64::INFINITY, f64::min), times[0]);
    let each = most <= 1.05 * least;
    let text = format!(
        "{}{} took {}{}: {} of all waiting. {}.{}",
        if all { "" } else { "At least " },
        plural(alike.len() as u64, &format!("{} request", slowest.procedure)),
        if each { duration(most) } else { format!("{} to {}", duration(least), duration(most)) },
        if each && alike.len() > 1 { " each" } else { "" },
        percent(share),
        where_and_when(&alike),
        service_of(&alike),
    );
    Some(Statement { rule: Rule::FewSlowRequests, text, share: Some(share), confidence: Confidence::Measured })
}

/// Statuses, the time of the first, and how many clients.
fn where_and_when(alike: &[&Slow]) -> String {
    let statuses: BTreeSet<&str> =
        alike.iter().filter_map(|one| one.status.as_deref()).filter(|status| !is_success(status)).collect();
    let clients: BTreeSet<&str> =
        alike.iter().filter_map(|one| one.client.rsplit_once(':').map(|(ip, _)| ip)).collect();
    let connections: BTreeSet<&str> = alike.iter().map(|one| one.client.as_str()).collect();
    let paths: BTreeSet<&str> = alike.iter().filter_map(|one| one.path.as_deref()).collect();
    let first = alike.iter().map(|one| one.at_ns).min().unwrap_or_default();
    let mut parts = vec![format!("The first began at {}", instant::utc_second(first))];
    match statuses.len() {
        0 => {}
        1..=NAMED => parts.push(format!("status {}", statuses.into_iter().collect::<Vec<_>>().join(", "))),
        _ => parts.push(format!("{} statuses", statuses.len())),
    }
    parts.push(format!(
        "{} on {}",
        plural(clients.len() as u64, "client"),
        plural(connections.len() as u64, "connection")
    ));
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
fn service_of(alike: &[&Slow]) -> String {
    let service: Option<f64> = alike.iter().map(|one| one.service_time_s).sum();
    let response: f64 = alike.iter().map(|one| one.response_time_s).sum();
    match service {
        Some(service) if service >= 0.95 * response => {
            format!(" {} of their time was service time.", percent(service / response))
        }
        _ => String::new(),
    }
}

/// A short time in which clients waited much.
fn burst(findings: &Findings) -> Option<Statement> {
    let series = &findings.series;
    let waited: Vec<f64> = series
        .operations
        .iter()
        .zip(&series.response_mean_s)
        .map(|(count, mean)| *count as f64 * mean.unwrap_or(0.0))
        .collect();
    let sum: f64 = waited.iter().sum();
    let (bin, most) = waited.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (share, time) = (most / sum, 1.0 / waited.len() as f64);
    // One slow request is none.
    let slowest_s = findings.slowest.first().map_or(0.0, |one| one.headline_s(findings.headline));
    if sum <= 0.0 || share < BURST_SHARE || time > BURST_TIME || slowest_s > most / 2.0 {
        return None;
    }
    let at = series.start_ns.checked_add((bin as f64 * series.bin_s * 1e9) as i64)?;
    let text = format!(
        "About {} of the waiting ended within {} from {}.",
        percent(share),
        duration(series.bin_s),
        instant::utc_second(at)
    );
    Some(Statement { rule: Rule::Burst, text, share: Some(share), confidence: Confidence::Measured })
}

/// A client, share or the like for which clients waited more than for others.
fn key(findings: &Findings, waited_s: f64) -> Option<Statement> {
    let breakdown = findings.breakdown.as_ref().filter(|breakdown| breakdown.rows.len() > 1)?;
    let most = breakdown.rows.iter().max_by(|a, b| a.row.waited_s.total_cmp(&b.row.waited_s))?;
    let share = most.row.waited_s / waited_s;
    if share < KEY_SHARE || share < 2.0 * most.row.share {
        return None;
    }
    let text = format!(
        "{} {}: {} of the waiting with {} of the requests.",
        breakdown.by,
        most.key,
        percent(share),
        percent(most.row.share)
    );
    Some(Statement { rule: Rule::Key, text, share: Some(share), confidence: Confidence::Measured })
}

/// Waiting for bytes that were sent again.
fn retransmission(findings: &Findings, waited_s: f64) -> Option<Statement> {
    let (wait_s, operations) = findings.resent.wait_s.zip(findings.resent.operations)?;
    let share = wait_s / waited_s;
    if !(RESENT_SHARE..=1.0).contains(&share) {
        return None;
    }
    let text = format!(
        "{} of the waiting, {} in {}, was for bytes that TCP had to send again: the network loses packets.",
        percent(share),
        duration(wait_s),
        plural(operations, "request")
    );
    Some(Statement { rule: Rule::Retransmission, text, share: Some(share), confidence: Confidence::Inferred })
}

/// Requests that trouble kept from being carried out.
fn failures(findings: &Findings) -> Option<Statement> {
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
    let text = format!("{} failed{named}.", plural(failed, "request"));
    Some(Statement { rule: Rule::Failures, text, share: None, confidence: Confidence::Measured })
}

/// The server, or what lies before it, against sending and receiving.
fn service_time(waiting: Waiting) -> Option<Statement> {
    let share = waiting.service_share()?;
    let text = format!(
        "{} of the waiting was service time (from the last byte of the request to the first of the response): the server, and the network \
         between it and the capture. {} was sending and receiving.",
        percent(share),
        percent(1.0 - share)
    );
    Some(Statement { rule: Rule::ServiceTime, text, share: Some(share), confidence: Confidence::Measured })
}

fn nothing() -> Statement {
    let text =
        "Nothing stands out: no few slow requests, no burst, no retransmission and no failure is a large part of it."
            .to_owned();
    Statement { rule: Rule::Nothing, text, share: None, confidence: Confidence::Measured }
}

/// The command that shows the operation by client; by path where that is known already.
fn next(findings: &Findings, operation: &str) -> Option<String> {
    let inputs = &findings.source.inputs;
    if inputs.is_empty() || inputs.iter().any(|input| input == "-") {
        return None;
    }
    let filtered = findings.source.filters.iter().any(|filter| filter.contains("--operation"));
    let by =
        if findings.breakdown.as_ref().is_some_and(|breakdown| breakdown.by == "client") { "path" } else { "client" };
    let files: Vec<String> = inputs.iter().map(|input| quoted(input)).collect();
    let filters =
        if filtered { findings.source.filters.join(" ") } else { format!("--operation {}", quoted(operation)) };
    Some(format!("plimsoll analyze {} {filters} --by {by}", files.join(" ")))
}

/// As a shell takes it.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/-+=:@,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p >= 99.95 => "100 %".to_owned(),
        p if (10.0..99.0).contains(&p) => format!("{p:.0} %"),
        p => format!("{p:.1} %"),
    }
}

#[cfg(test)]
mod tests;
