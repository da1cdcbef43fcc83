//! The key figures of a report.

use super::super::answer;
use super::super::traffic::plural;
use super::super::units::{bytes, count, data, duration, optional, per_second, percent, percent_of};
use super::{Totals, has_unread, highest, totals};
use crate::findings::{Findings, LoadLevel, Times, Unseen};
use maud::{Markup, html};

pub(super) fn tiles(findings: &Findings) -> Markup {
    let totals = totals(findings);
    html! {
        dl.tiles {
            @if let Some(own) = answer::tiles(findings) { (own) }
            @else if findings.levels.is_empty() { (traffic(findings, &totals)) } @else { (peak(highest(&findings.levels), &totals)) }
            (errors(findings, &totals))
            (unanswered(findings, &totals))
            @if findings.run.is_none() { (missing(&findings.unseen)) }
        }
    }
}

/// Errors: a lower bound where it is not known of each request whether it is one.
fn errors(findings: &Findings, totals: &Totals) -> Markup {
    let name = if findings.run.is_some() { "Requests with an error" } else { "Errors" };
    let mut parts = format!("{} refused, {} failed", count(totals.refused), count(totals.failed));
    if has_unread(findings) {
        parts.push_str(" of those that could be read");
    }
    if totals.status_unknown > 0 {
        parts.push_str(&format!("; {} unknown", count(totals.status_unknown)));
    }
    let is_bound = has_unread(findings) || totals.status_unknown > 0;
    tile(name, &at_least(totals.errors(), is_bound), &parts)
}

fn unanswered(findings: &Findings, totals: &Totals) -> Markup {
    let share = percent_of(totals.unanswered, totals.requests);
    let read = if has_unread(findings) { " that could be read" } else { "" };
    tile("Unanswered", &at_least(totals.unanswered, has_unread(findings)), &format!("{share} of requests{read}"))
}

/// A number; of a lower bound, 0 says nothing.
fn at_least(number: u64, is_bound: bool) -> String {
    match number {
        0 if is_bound => "unknown".to_owned(),
        _ if is_bound => format!("≥ {}", count(number)),
        _ => count(number),
    }
}

/// The key figures of a run: its highest throughput, and the response times there.
fn peak(level: Option<&LoadLevel>, totals: &Totals) -> Markup {
    let requests = format!("{} over all levels", plural(totals.requests, "request"));
    let Some(level) = level else {
        return tile("Highest throughput", "unknown", &format!("no valid level; {requests}"));
    };
    let time = |pick: fn(&Times) -> f64| optional(level.headline_time().as_ref().map(pick), duration);
    let data = level.read_bytes_per_s + level.write_bytes_per_s;
    let slowest = level.maximum_s().map_or_else(
        || "unknown".to_owned(),
        |(s, at_least)| if at_least { format!("≥ {}", duration(s)) } else { duration(s) },
    );
    html! {
        (tile("Highest throughput", &per_second(level.operations_per_s), &format!("operations; {requests}")))
        (tile("Data at that load", &format!("{}/s", bytes(data)), &format!("{}/s read, {}/s written", bytes(level.read_bytes_per_s), bytes(level.write_bytes_per_s))))
        (tile("p50 at that load", &time(|t| t.p50_s), &format!("mean {}", time(|t| t.mean_s))))
        (tile("p99 at that load", &time(|t| t.p99_s), &format!("max {slowest}")))
    }
}

/// The key figures of a capture.
fn traffic(findings: &Findings, totals: &Totals) -> Markup {
    let elapsed = findings.measured_s();
    let average = optional(elapsed, |s| per_second(totals.answered as f64 / s));
    let answered = if totals.answered < totals.requests { "answered " } else { "" };
    let waiting = match totals.long_lived {
        0 => String::new(),
        1 => "; 1 more waits by design".to_owned(),
        more => format!("; {} more wait by design", count(more)),
    };
    html! {
        (tile("Operations", &count(totals.requests), &format!("{average} {answered}on average{waiting}")))
        (moved(findings, "Data read", "Read", elapsed))
        (moved(findings, "Data written", "Write", elapsed))
    }
}

/// File data of a group, and the operations with an unknown amount.
fn moved(findings: &Findings, name: &str, group: &str, elapsed: Option<f64>) -> Markup {
    let row = findings.groups.iter().find(|row| row.group == group);
    let none = if has_unread(findings) { None } else { Some(0) };
    let (sum, unknown) = row.map_or((none, 0), |row| (row.payload_bytes, row.payload_unknown));
    let bound = if unknown > 0 { "≥ " } else { "" };
    let rate = match sum {
        Some(sum) => optional(elapsed, |s| format!("{bound}{}/s", bytes(sum as f64 / s))),
        None => "unknown".to_owned(),
    };
    let cut = format!("{} operations have unknown lengths", count(unknown));
    let note = match (sum, unknown) {
        (None, 0) if row.is_none() => "some requests could not be read".to_owned(),
        (_, 0) => format!("{} in all", data(sum, unknown)),
        (None, _) => cut,
        (Some(_), _) => format!("{} in all; {cut}", data(sum, unknown)),
    };
    tile(name, &rate, &note)
}

/// The share of the operations that the numbers do not contain: as in the sentence about it, a lower bound may be the estimate.
fn missing(unseen: &Unseen) -> Markup {
    let share = optional(unseen.share_missing, percent);
    let (Some(low), Some(high)) = (unseen.share_missing_low, unseen.share_missing_high) else {
        return tile("Missing", &share, "cannot be estimated");
    };
    let (low, high) = (percent(low), percent(high));
    let bound = if share == low && low != high && unseen.missing > 0 { "≥ " } else { "" };
    tile("Missing", &format!("{bound}{share}"), &format!("of operations; 95 % interval {low} to {high}"))
}

pub(in crate::html) fn tile(name: &str, value: &str, note: &str) -> Markup {
    html! { div { dt { (name) } dd { strong { (value) } small { (note) } } } }
}
