//! Every load level by itself, folded up: what Swartz's Appendix A has of a data point.

use super::distribution;
use super::operations::{groups, operations};
use super::summary::reasons;
use super::units::{bits, bytes, count, long_duration, optional, per_second};
use super::untrusted::Untrusted;
use crate::findings::{Findings, Stage, Verdict};
use maud::{Markup, html};

/// One part a level. Nothing where one level is all that there is, which then has the page to itself, and nothing of the
/// trials of a search, which are no data points.
pub(super) fn section(findings: &Findings) -> Vec<Markup> {
    let searched = findings.run.as_ref().is_some_and(|run| run.capacity.is_some());
    match findings.stages.as_slice() {
        [] | [_] => Vec::new(),
        _ if searched => Vec::new(),
        stages => stages.iter().map(level).collect(),
    }
}

fn level(stage: &Stage) -> Markup {
    let id = |table: &str| format!("level-{}-{table}", stage.number);
    let data = stage.read_bytes_per_s + stage.write_bytes_per_s;
    html! {
        details {
            summary { (Untrusted(&stage.words())) @if stage.facts.validity.verdict != Verdict::Valid { " (" (stage.facts.validity.verdict.label()) ")" } }
            @if stage.facts.validity.verdict != Verdict::Valid {
                div.notice.bad[!stage.facts.validity.valid] { (reasons(&stage.facts.validity)) }
            }
            p {
                (count(stage.count)) " requests, of which " (count(stage.errors)) " were refused or failed and "
                (count(stage.unanswered)) " had no response, in " (optional(stage.span.elapsed_s, long_duration)) ": "
                (per_second(stage.operations_per_s)) ", " (bytes(data)) "/s, " (bits(data * 8.0)) "/s of file data."
            }
            @if let Some(table) = groups(&id("groups"), &stage.groups) { (table) }
            @if let Some(table) = operations(&id("operations"), &stage.operations) { (table) }
            @if let Some(table) = distribution::table(&id("decades"), &stage.groups, &stage.operations) { (table) }
        }
    }
}
