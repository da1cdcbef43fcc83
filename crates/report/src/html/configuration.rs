//! How the measurement was made, so that it can be made again.

use super::summary;
use super::table::scrolled;
use super::units::{count, duration, instant, long_duration, optional};
use super::untrusted::Untrusted;
use crate::findings::{Findings, LoadLevel, Parameter, Run, outstanding, pace};
use maud::{Markup, html};

/// A table of facts: of the run, or of the capture's analysis.
pub(super) fn section(findings: &Findings) -> Markup {
    let source = &findings.source;
    html! {
        (scrolled("configuration-caption", "configuration", html! { "Subject and settings of the measurement." }, html! {
            thead { tr { th scope="col" { "What" } th.text scope="col" { "Value" } } }
            tbody {
                (fact("Tool", &html! { (Untrusted(&source.tool)) }))
                @if let Some(run) = &findings.run { (of_run(run, &findings.levels)) } @else { @for input in &source.inputs {
                    (fact("Input", &html! { bdi { @if input == "-" { "standard input" } @else { (Untrusted(input)) } } }))
                } }
                @if !source.filters.is_empty() { (fact("Filters", &html! { code { (Untrusted(&source.filter_words())) } })) }
                (fact("Measured", &summary::vantage(&source.vantage)))
                (fact("From", &instant(findings.span.first_ns)))
                (fact("To", &instant(findings.span.last_ns)))
                (fact("Length", &html! { (optional(findings.span.elapsed_s, long_duration)) }))
                @let is_run = findings.run.is_some();
                (fact(if is_run { "Maximum number of connections at the same time" } else { "Connections" }, &html! { (count(findings.connections)) }))
            }
        }))
    }
}

fn of_run(run: &Run, levels: &[LoadLevel]) -> Markup {
    html! {
        (fact("Target", &html! { bdi { (Untrusted(&run.target)) } }))
        (fact("Workload", &html! { (Untrusted(&run.workload)) ": " (Untrusted(&run.description)) }))
        @if !run.workload_sha256.is_empty() { (fact("Workload's SHA-256", &html! { code { (Untrusted(&run.workload_sha256)) } })) }
        @for Parameter { name, value, .. } in &run.parameters {
            (fact("Parameter", &html! { (Untrusted(name)) " = " (Untrusted(value)) }))
        }
        (fact("Seed", &html! { (run.seed) }))
        @if let Some(words) = outstanding(levels) { (fact("Load", &html! { (words) })) }
        @for words in pace(levels) { (fact("Load", &html! { (Untrusted(&words)) })) }
        (fact("Threads", &html! { (run.threads) }))
        (fact("Warm-up", &html! { (duration(run.warmup_s)) " before each level, not measured" }))
        @for agreed in &run.facts { (fact("Fact", &html! { (Untrusted(agreed)) })) }
    }
}

fn fact(what: &str, value: &Markup) -> Markup {
    html! { tr { th scope="row" { (what) } td.text { (value) } } }
}
