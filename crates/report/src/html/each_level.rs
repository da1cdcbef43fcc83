//! Every load level by itself, folded up: what Swartz's Appendix A has of a data point.

use super::distribution;
use super::operations::{groups, operations};
use super::summary::reasons;
use super::units::{bits, bytes, count, long_duration, optional, per_second};
use super::untrusted::Untrusted;
use crate::findings::{Findings, LoadLevel, Verdict};
use maud::{Markup, html};

/// One part a level. Nothing where one level is all that there is, which then has the page to itself, and nothing of the
/// trials of a search, which are no data points.
pub(super) fn section(findings: &Findings) -> Vec<Markup> {
    let searched = findings.run.as_ref().is_some_and(|run| run.capacity.is_some());
    match findings.levels.as_slice() {
        [] | [_] => Vec::new(),
        _ if searched => Vec::new(),
        levels => levels.iter().map(level).collect(),
    }
}

fn level(level: &LoadLevel) -> Markup {
    let id = |table: &str| format!("level-{}-{table}", level.number);
    let data = level.read_bytes_per_s + level.write_bytes_per_s;
    html! {
        details {
            summary { (Untrusted(&level.words())) @if level.facts.validity.verdict != Verdict::Valid { " (" (level.facts.validity.verdict.label()) ")" } }
            @if level.facts.validity.verdict != Verdict::Valid {
                div.notice.bad[!level.facts.validity.valid] { (reasons(&level.facts.validity)) }
            }
            p {
                (count(level.count)) " requests, of which " (count(level.errors)) " were refused or failed and "
                (count(level.unanswered)) " had no response, in " (optional(level.span.elapsed_s, long_duration)) ": "
                (per_second(level.operations_per_s)) ", " (bytes(data)) "/s, " (bits(data * 8.0)) "/s of file data."
            }
            @if let Some(table) = groups(&id("groups"), &level.groups) { (table) }
            @if let Some(table) = operations(&id("operations"), &level.operations) { (table) }
            @if let Some(table) = distribution::table(&id("decades"), &level.groups, &level.operations) { (table) }
        }
    }
}
