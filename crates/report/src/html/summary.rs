//! The first screen: the main results for a reader in a hurry, and whether they are valid.

mod tiles;

use super::answer;
use super::table::scrolled;
use super::traffic::plural;
use super::units::{count, duration, long_duration, optional, percent_of, percentage, rate_number};
use super::untrusted::Untrusted;
use crate::collect::missing;
use crate::findings::{Findings, LoadLevel, OperationRow, Source, Validity, Verdict};
use crate::shares;
use maud::{Markup, html};
pub(super) use tiles::tile;
use tiles::tiles;

/// How many input files the header names.
const INPUTS_NAMED: usize = 4;

/// Requests by result, over all operations.
#[derive(Default)]
pub(super) struct Totals {
    pub(super) requests: u64,
    pub(super) answered: u64,
    pub(super) unanswered: u64,
    pub(super) refused: u64,
    pub(super) status_unknown: u64,
    pub(super) failed: u64,
    /// Requests that wait by design, which no other field includes.
    pub(super) long_lived: u64,
    /// Number of these without a captured answer.
    pub(super) long_lived_unanswered: u64,
}

impl Totals {
    fn errors(&self) -> u64 {
        self.refused.saturating_add(self.failed)
    }
}

/// Every operation once: subcommands are in their command's row.
pub(super) fn totals(findings: &Findings) -> Totals {
    let mut sum = Totals::default();
    for row in findings.operations.iter().filter(|row| row.is_counted_once()) {
        sum.requests = sum.requests.saturating_add(row.count);
        sum.answered = sum.answered.saturating_add(row.answered);
        sum.unanswered = sum.unanswered.saturating_add(row.unanswered);
        sum.refused = sum.refused.saturating_add(row.refused);
        sum.status_unknown = sum.status_unknown.saturating_add(row.status_unknown);
        sum.failed = sum.failed.saturating_add(row.failed);
    }
    for row in findings.long_lived.iter().filter(|row| row.is_counted_once()) {
        sum.long_lived = sum.long_lived.saturating_add(row.count);
        sum.long_lived_unanswered = sum.long_lived_unanswered.saturating_add(row.unanswered);
    }
    sum
}

/// Whether the numbers may be used, at a glance.
pub(super) fn stamp(validity: &Validity) -> Markup {
    html! {
        @match validity.verdict {
            Verdict::Valid => p.stamp.valid { "Valid" },
            Verdict::Partial => p.stamp.partial { "Partial" },
            Verdict::Invalid => p.stamp.invalid { "Invalid" },
        }
    }
}

/// What speaks against the numbers, if anything does.
pub(super) fn notice(validity: &Validity, invalid: &str, partial: &str) -> Markup {
    html! {
        @if validity.verdict != Verdict::Valid {
            div.notice.bad[!validity.valid] role="alert" {
                p { strong { @if validity.valid { (partial) } @else { (invalid) } } }
                (reasons(validity))
            }
        }
    }
}

/// What speaks against the numbers, each with its own verdict.
pub(super) fn reasons(validity: &Validity) -> Markup {
    let label = |verdict| if verdict == Verdict::Invalid { "Invalid: " } else { "Partial: " };
    html! { ul { @for (verdict, reason) in validity.each_reason() { li { (label(verdict)) (Untrusted(reason)) } } } }
}

/// The input files' names; "-" is standard input.
pub(super) fn inputs(source: &Source) -> Markup {
    html! {
        @for (i, input) in source.inputs.iter().take(INPUTS_NAMED).enumerate() {
            @if i > 0 { ", " }
            @if input == "-" { "standard input" } @else { bdi { (Untrusted(input)) } }
        }
        @if source.inputs.len() > INPUTS_NAMED {
            " and " (source.inputs.len() - INPUTS_NAMED) " more"
        }
    }
}

/// Where the clock stood, in words.
pub(super) fn vantage(vantage: &str) -> Markup {
    html! {
        @match vantage {
            "wire" => "in the network",
            "client" => "in the client",
            other => (Untrusted(other)),
        }
    }
}

/// Validity, the story in sentences, the key figures, the main groups, the warnings.
pub(super) fn section(findings: &Findings) -> Markup {
    let invalid = match findings.name_reliable() {
        true => "Use only the numbers that are named as reliable here; all others must not be used.",
        false => "These numbers must not be used.",
    };
    html! {
        (notice(&findings.validity, invalid, "Some numbers are incomplete or not reliable."))
        (story(findings))
        @if findings.headline.is_from_intended() {
            p.note {
                "The load follows a schedule. Response times count from the intended start of each operation, so they include the delay of \
                a late start. The table of load levels also has uncorrected response times, which count from the first byte of the request."
            }
        }
        (tiles(findings))
        // Calls are one kind of operation in each level: the levels say how long they took.
        @if findings.run.as_ref().is_none_or(|run| run.calls.is_none()) { (by_group(findings)) }
        @if !findings.warnings.is_empty() {
            div.notice {
                h3 { "Warnings" }
                ul { @for warning in &findings.warnings { li { (Untrusted(warning)) } } }
            }
        }
    }
}

fn story(findings: &Findings) -> Markup {
    let totals = totals(findings);
    let elapsed = optional(findings.span.elapsed_s, long_duration);
    if let Some(run) = &findings.run {
        return html! { p.story {
            @match answer::lead(findings) { Some(lead) => (lead), None => { (answer::measured(findings, run)) (carried(&findings.levels)) } }
            (answer::outcomes(findings, &totals))
        } };
    }
    html! {
        p.story {
            "In " strong { (elapsed) }
            @if findings.span.between_files_s > 0.0 { " (the capture files cover " (optional(findings.span.covered_s(), long_duration)) ")" }
            ", "
            @let seen = totals.requests.saturating_add(totals.long_lived);
            strong { (count(seen)) @if seen == 1 { " request" } @else { " requests" } }
            " to file servers" @if seen == 1 { " was " } @else { " were " } "seen on "
            (count(findings.connections)) @if findings.connections == 1 { " connection" } @else { " connections" }
            @if totals.long_lived > 0 { "; " (count(totals.long_lived)) @if totals.long_lived == 1 { " of them waits" } @else { " of them wait" } " by design (see the table of long-lived requests)" }
            ". "
            (busiest(findings))
            @if totals.status_unknown > 0 {
                "The status of " (count(totals.status_unknown)) @if totals.status_unknown == 1 { " request" } @else { " \
                requests" } " is not known. "
            }
            (errors(findings, &totals))
            @if totals.unanswered > 0 { (plural(totals.unanswered, "request")) " had no captured response. " }
            @if totals.long_lived_unanswered > 0 { (plural(totals.long_lived_unanswered, "long-lived request")) " had no captured response. " }
            (missing::headline(findings))
        }
    }
}

/// How many of the requests that are in the numbers failed.
fn errors(findings: &Findings, totals: &Totals) -> Markup {
    let read = if has_unread(findings) { " that could be read" } else { "" };
    let others = totals.long_lived > 0;
    let of = match others {
        true => format!("{} other requests{read}", count(totals.requests)),
        false => format!("requests{read}"),
    };
    let rest = if others || totals.status_unknown > 0 { "other " } else { "" };
    html! {
        @if totals.errors() == 0 {
            "None of the " (rest) "requests" (read) " was refused, and none failed. "
        } @else {
            "Refused: " (count(totals.refused)) " (" (percent_of(totals.refused, totals.requests)) " of the " (of) "), failed: "
            (count(totals.failed)) " (" (percent_of(totals.failed, totals.requests)) " of the " (of) "). "
        }
    }
}

/// Whether the capture has messages that could not be read: of numbers without them, 0 is unknown.
fn has_unread(findings: &Findings) -> bool {
    findings.unseen.encrypted > 0 || findings.unseen.compressed > 0 || findings.rpc_tls.is_some()
}

/// What most of the traffic of a capture was, and its response times.
fn busiest(findings: &Findings) -> Markup {
    html! {
        @let rows = findings.groups.iter().zip(shares::of_rows(&findings.groups)).filter(|(row, _)| is_leading(row));
        @if let Some((busiest, share)) = rows.max_by_key(|(row, _)| row.count) {
            @if let Some(times) = busiest.headline_time() {
                @if busiest.share > 0.5 { "Most were " } @else { "The most frequent were " }
                em { (group_words(&busiest.group)) } " (" (percentage(share)) "): p50 "
                strong { (duration(times.p50_s)) } ", p99 " strong { (duration(times.p99_s)) } ". "
            }
        }
    }
}

/// The level with the most operations per second, of those that may be used.
fn highest(levels: &[LoadLevel]) -> Option<&LoadLevel> {
    let usable = levels.iter().filter(|level| level.facts.validity.valid);
    usable.max_by(|a, b| a.operations_per_s.total_cmp(&b.operations_per_s))
}

/// The maximum throughput, and the response times there.
fn carried(levels: &[LoadLevel]) -> Markup {
    html! {
        @if let Some(level) = highest(levels) {
            @if levels.iter().all(|level| level.facts.validity.valid) { "The highest throughput was " } @else {
                "Of the valid load levels, the highest throughput was "
            }
            strong { (rate_number(level.operations_per_s)) " op/s" } ", at "
            em { (Untrusted(&level.words())) }
            @if let Some(times) = level.headline_time() {
                ": p50 " strong { (duration(times.p50_s)) } ", p99 " strong { (duration(times.p99_s)) }
            }
            ". "
        } @else {
            "No load level is valid, so the highest throughput is unknown. "
        }
    }
}

/// Groups that are no part of another.
fn leading(findings: &Findings) -> Vec<&OperationRow> {
    findings.groups.iter().filter(|row| is_leading(row)).collect()
}

fn is_leading(row: &OperationRow) -> bool {
    !row.group.contains('.')
}

fn group_words(group: &str) -> Markup {
    html! {
        @match group {
            "Read" => "reads",
            "Write" => "writes",
            "Open/Close" => "opens and closes",
            "Other" => "other operations (attributes, directories, locks)",
            "Session" => "session requests",
            "Compound" => "NFSv4 compounds whose main operation was not captured",
            "Unknown" => "requests with an unknown subcommand",
            other => (Untrusted(other)),
        }
    }
}

/// Response times are not collapsed into one number: a mix of reads and renames has no median that says anything.
fn by_group(findings: &Findings) -> Markup {
    let rows: Vec<_> = leading(findings).into_iter().filter_map(|row| Some((row, row.headline_time()?))).collect();
    let slowest = rows.iter().map(|(_, times)| times.p99_s).fold(0.0_f64, f64::max);
    html! {
        @if !rows.is_empty() {
            (scrolled("summary-groups-caption", "by-group", html! {
                "Response time" (findings.headline.words()) " by operation group" @if findings.remote_levels().count() > 1 { ", all load levels together" }
            }, html! {
                thead { tr {
                    th scope="col" { "Group" } th scope="col" { "Requests" } th scope="col" { "p50" }
                    th scope="col" { "Mean" } th scope="col" { "p95" } th scope="col" { "p99" }
                    th.wide scope="col" { "p50 to p99" }
                } }
                tbody { @for (row, times) in rows {
                    tr {
                        th scope="row" { (Untrusted(&row.group)) }
                        td { (count(row.count)) } td { (duration(times.p50_s)) } td { (duration(times.mean_s)) }
                        td { (duration(times.p95_s)) } td { (duration(times.p99_s)) }
                        td.wide { (range_bar(times.p50_s, times.p99_s, slowest)) }
                    }
                } }
            }))
        }
    }
}

/// p50 and p99 on one linear scale from zero: lengths may be compared across rows.
pub(super) fn range_bar(p50: f64, p99: f64, full: f64) -> Markup {
    let at = |s: f64| if full > 0.0 { (s / full * 100.0).clamp(0.0, 100.0) } else { 0.0 };
    html! {
        span.range aria-hidden="true" {
            span style=(format!("left:{:.2}%;width:{:.2}%", at(p50), (at(p99) - at(p50)).max(0.6))) {}
            i style=(format!("left:{:.2}%", at(p50))) {}
        }
    }
}
