//! Load levels: the curve as a table, whether the generator kept up, and what did not succeed.

use super::units::{bits, bytes, count, duration, optional, per_second, percent};
use super::untrusted::Untrusted;
use crate::findings::{Findings, Place, Stage, Times};
use crate::text::{UNATTRIBUTABLE, unattributable};
use maud::{Markup, html};

/// The load levels as a table; nothing where somebody else made the load.
pub(super) fn section(findings: &Findings) -> Vec<Markup> {
    findings.places().map(levels).collect()
}

fn levels(place: Place<'_>) -> Markup {
    let stages = place.stages;
    let slowest = stages.iter().filter_map(|stage| stage.headline_time()).map(|t| t.p99_s).fold(0.0, f64::max);
    let headline = stages.first().map_or_else(Default::default, |stage| stage.headline);
    let words = headline.words();
    let beside = if headline.is_from_intended() { "99 in 100 below, uncorrected" } else { "99, from intended" };
    let other = |stage: &Stage| {
        if stage.headline.is_from_intended() { stage.uncorrected_time() } else { stage.response_time_from_intended }
    };
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby={ "levels-caption" (place.id()) } {
            table {
                caption id={ "levels-caption" (place.id()) } {
                    "Throughput and response time" (words) " at each load level" (place.words()) ", all operations together. A time from the \
                     intended start charges a late start to the server."
                }
                thead { tr {
                    th scope="col" { "Level" } th scope="col" { "Operations" } th scope="col" { "Data" } th scope="col" { "Data, in bits" } th scope="col" { "Mean" }
                    th scope="col" { "Median" } th scope="col" { "95 in 100 below" } th scope="col" { "99 in 100 below" }
                    th scope="col" { (beside) } th scope="col" { "Errors" } th.wide scope="col" { "Median to 99th percentile" }
                } }
                tbody { @for stage in stages {
                    @let show = |pick: fn(&Times) -> f64| optional(stage.headline_time().as_ref().map(pick), duration);
                    tr {
                        th scope="row" { (Untrusted(&stage.words())) @if !stage.validity.valid { " (invalid)" } }
                        td { (per_second(stage.operations_per_s)) }
                        @let data = stage.read_bytes_per_s + stage.write_bytes_per_s;
                        td { (bytes(data)) "/s" } td { (bits(data * 8.0)) "/s" }
                        td { (show(|t| t.mean_s)) } td { (show(|t| t.p50_s)) } td { (show(|t| t.p95_s)) } td { (show(|t| t.p99_s)) }
                        td { (optional(other(stage).map(|t| t.p99_s), duration)) }
                        td { (count(stage.failed())) }
                        td.wide { @if let Some(t) = stage.headline_time() { (super::summary::range_bar(t.p50_s, t.p99_s, slowest)) } }
                    }
                } }
            }
        }
    }
}

/// Whether the generator kept up at each level; nothing where somebody else made the load.
pub(super) fn generators(findings: &Findings) -> Vec<Markup> {
    findings.places().map(generator).collect()
}

fn generator(place: Place<'_>) -> Markup {
    let stages = place.stages;
    let number = |value: Option<f64>| optional(value, |value| format!("{value:.3}"));
    let spares = stages.iter().any(|stage| stage.generator.spared > 0);
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby={ "generator-caption" (place.id()) } {
            table {
                caption id={ "generator-caption" (place.id()) } {
                    "Whether the load generator kept up" (place.words()) ", and how " @if place.local { "the directory" } @else { "the server" }
                    " shared itself among the stations (turns of each, over their mean)."
                }
                thead { tr {
                    th scope="col" { "Level" } th scope="col" { "Processor" } th scope="col" { "Processor, an operation" }
                    th scope="col" { "Polling besides" }
                    th scope="col" { "Schedule lag, median" } th scope="col" { "Schedule lag, 99 in 100 below" }
                    th scope="col" { "Wake-up, median" } th scope="col" { "Never sent" }
                    @if spares { th scope="col" { "Spared by leases" } } th scope="col" { "Starved" }
                    th scope="col" { "Jain's index" } th scope="col" { "Least" } th scope="col" { "Most" }
                } }
                tbody { @for stage in stages {
                    @let generator = &stage.generator;
                    tr {
                        th scope="row" { (Untrusted(&stage.words())) }
                        td { (percent(generator.cpu_share)) }
                        td { (optional(generator.cpu_per_operation_s, duration)) }
                        td { (optional(generator.polling_share, percent)) }
                        td { (optional(generator.schedule_lag.map(|t| t.p50_s), duration)) }
                        td { (optional(generator.schedule_lag.map(|t| t.p99_s), duration)) }
                        td { (optional(generator.wake_up_lag.map(|t| t.p50_s), duration)) }
                        td { (count(generator.never_sent)) }
                        @if spares { td { (count(generator.spared)) } }
                        td { (count(stage.fairness.starved)) " of " (count(stage.fairness.stations)) }
                        @let mark = if unattributable(stage) { "*" } else { "" };
                        td { (number(stage.fairness.jain)) (mark) } td { (number(stage.fairness.min)) (mark) }
                        td { (number(stage.fairness.max)) (mark) }
                    }
                } }
            }
        }
        @if stages.iter().any(unattributable) { p.note { "* " (UNATTRIBUTABLE) } }
    }
}

/// What the server said of itself at each level; nothing where nobody asked it.
pub(super) fn server_side(findings: &Findings) -> Option<Markup> {
    let source = findings.remote_stages().find_map(|stage| stage.server.as_ref()).map(|server| &server.source)?;
    let rate = |value: Option<f64>| optional(value, |value| format!("{}/s", bytes(value)));
    Some(html! {
        div.scroll tabindex="0" role="region" aria-labelledby="server-caption" {
            table {
                caption #server-caption { "What the server said of itself. From " (Untrusted(source)) "." }
                thead { tr {
                    th scope="col" { "Level" } th scope="col" { "Cores busy" } th scope="col" { "Processor, an operation" }
                    th scope="col" { "Disk, read" } th scope="col" { "Disk, written" } th scope="col" { "Received" } th scope="col" { "Sent" }
                } }
                tbody { @for stage in findings.remote_stages() { @if let Some(server) = &stage.server {
                    tr {
                        th scope="row" { (Untrusted(&stage.words())) @if let Some(why) = &server.why_missing { " (" (Untrusted(why)) ")" } }
                        td { (optional(server.cores_busy, |cores| format!("{cores:.2}"))) }
                        td { (optional(server.cpu_per_operation_s, duration)) }
                        td { (rate(server.disk_read_bytes_per_s)) } td { (rate(server.disk_write_bytes_per_s)) }
                        td { (rate(server.received_bytes_per_s)) } td { (rate(server.sent_bytes_per_s)) }
                    }
                } } }
            }
        }
    })
}

/// Actions that did not succeed, by level; nothing where all did.
pub(super) fn failures(findings: &Findings) -> Option<Markup> {
    let stages = &findings.stages;
    stages.iter().any(|stage| !stage.failures.is_empty()).then(|| {
        html! {
            div.scroll tabindex="0" role="region" aria-labelledby="failures-caption" {
                table {
                    caption #failures-caption { "What did not succeed." }
                    thead { tr { th scope="col" { "Level" } th scope="col" { "What happened" } th scope="col" { "How often" } } }
                    tbody { @for stage in stages { @for failure in &stage.failures {
                        tr {
                            th scope="row" { (Untrusted(&stage.words())) }
                            td { (Untrusted(&failure.cause)) }
                            td { (count(failure.count)) }
                        }
                    } } }
                }
            }
        }
    })
}
