//! Silences, requests without an answer and short reads, a line a load level.

use maud::{Markup, html};

use super::units::{UNKNOWN, count, duration, optional};
use super::untrusted::Untrusted;
use crate::findings::{Findings, Place};

/// The table; nothing where somebody else made the load.
pub(super) fn section(findings: &Findings) -> Vec<Markup> {
    findings.places().map(table).collect()
}

fn table(place: Place<'_>) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby={ "silence-caption" (place.id()) } {
            table {
                caption id={ "silence-caption" (place.id()) } {
                    @if place.local { "In a local directory, without the server. " }
                    "Times without an answer while a request was outstanding or due, requests without an answer, and reads that \
                     returned fewer bytes than asked for, or none."
                }
                thead { tr {
                    th scope="col" { "Level" } th scope="col" { "Slowest" } th scope="col" { "Longest silence" }
                    th scope="col" { "Outages" } th scope="col" { "Without an answer" } th scope="col" { "Unanswered" }
                    th scope="col" { "Short reads" } th scope="col" { "Empty reads" }
                } }
                tbody { @for stage in place.stages {
                    tr {
                        th scope="row" { (Untrusted(&stage.words())) }
                        td { @match stage.maximum_s() {
                            Some((s, at_least)) => { @if at_least { "≥ " } (duration(s)) }
                            None => (UNKNOWN),
                        } }
                        td { (optional(stage.silence.longest_s, duration)) }
                        td { (count(stage.silence.outages)) }
                        td { (duration(stage.silence.without_answer_s)) }
                        td { (count(stage.unanswered)) }
                        td { (count(stage.short_reads.short)) }
                        td { (count(stage.short_reads.empty)) }
                    }
                } }
            }
        }
    }
}
