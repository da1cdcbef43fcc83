//! Where the time of a call goes, as tables.

use super::units::{UNKNOWN, count, duration, optional, percent};
use super::untrusted::Untrusted;
use crate::findings::Findings;
use crate::findings::calls::{CallPart, CallPhase, Calls};
use crate::text::calls::run_lengths;
use maud::{Markup, html};

/// The tables; nothing where nobody asked.
pub(super) fn section(findings: &Findings) -> Vec<Markup> {
    let Some(calls) = findings.run.as_ref().and_then(|run| run.calls.as_deref()) else { return Vec::new() };
    let phases = calls.phases.iter().map(phase);
    let tables = [beside_local(calls), requests(calls), counters(calls)].into_iter().flatten();
    phases.chain(tables).chain(missing(calls)).collect()
}

fn phase(phase: &CallPhase) -> Markup {
    let caption = format!("calls-{}", phase.stage);
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby=(caption) {
            table {
                caption id=(caption) {
                    (Untrusted(&phase.call)) @if phase.local { ", in a local directory" } ": " (count(phase.calls)) " calls of "
                    (duration(phase.whole_s)) ", " (phase.outstanding) " outstanding. Response time "
                    (optional(phase.response_s, duration)) ". The client computed " (percent(phase.client_busy)) " of the time"
                    @if let Some(cores) = phase.server_cores_busy { "; of the server " (format!("{cores:.2}")) " cores were busy" }
                    @if let Some(share) = phase.from_disk { "; " (percent(share)) " of the data came from disks" }
                    "."
                }
                thead { tr {
                    th scope="col" { "Part" } th scope="col" { "A call" } th scope="col" { "Share" } th scope="col" { "Known" }
                    th scope="col" { "How" }
                } }
                tbody { @for part in &phase.parts { (row(part, phase.whole_s)) } }
            }
        }
    }
}

fn row(part: &CallPart, whole_s: f64) -> Markup {
    // Sums of others, and what stands beside them, are no shares of the whole.
    let share = part.seconds.filter(|_| part.adds && whole_s > 0.0).map(|seconds| seconds / whole_s);
    let shown = |share: f64| if share < 0.0 { format!("−{}", percent(-share)) } else { percent(share) };
    html! {
        tr {
            th scope="row" { (Untrusted(&part.part)) }
            td { (optional(part.seconds, duration)) }
            td { (optional(share, shown)) }
            td { (Untrusted(&part.how)) }
            td { (Untrusted(&part.why)) }
        }
    }
}

fn beside_local(calls: &Calls) -> Option<Markup> {
    let all = &calls.beside_local;
    (!all.is_empty()).then(|| {
        html! {
            div.scroll tabindex="0" role="region" aria-labelledby="calls-local-caption" {
                table {
                    caption #calls-local-caption { "Mean response times on the target and in a local directory." }
                    thead { tr {
                        th scope="col" { "Call" } th scope="col" { "Remote" } th scope="col" { "Local" }
                        th scope="col" { "Difference" } th scope="col" { "Times" }
                    } }
                    tbody { @for call in all {
                        tr {
                            th scope="row" { (Untrusted(&call.call)) }
                            td { (duration(call.remote_s)) } td { (duration(call.local_s)) }
                            td { (duration(call.remote_s - call.local_s)) }
                            td { @if call.local_s > 0.0 { (format!("{:.1}", call.remote_s / call.local_s)) } @else { (UNKNOWN) } }
                        }
                    } }
                }
            }
        }
    })
}

fn requests(calls: &Calls) -> Option<Markup> {
    let all = &calls.requests;
    (!all.is_empty()).then(|| {
        html! {
            div.scroll tabindex="0" role="region" aria-labelledby="calls-requests-caption" {
                table {
                    caption #calls-requests-caption {
                        "Requests that a call takes, by the depth of its path: the first by a connection that knows nothing yet, and \
                         each later one."
                    }
                    thead { tr {
                        th scope="col" { "Call" } th scope="col" { "Path" } th scope="col" { "Depth" } th scope="col" { "First" }
                        th scope="col" { "Again" } th scope="col" { "Procedures of the first" }
                    } }
                    tbody { @for call in all {
                        tr {
                            th scope="row" { (Untrusted(&call.call)) }
                            td { (Untrusted(&call.path)) } td { (call.depth) } td { (call.first) } td { (call.again) }
                            td { (Untrusted(&run_lengths(&call.procedures))) }
                        }
                    } }
                }
            }
        }
    })
}

fn counters(calls: &Calls) -> Option<Markup> {
    let all = &calls.counters;
    (!all.is_empty()).then(|| {
        html! {
            div.scroll tabindex="0" role="region" aria-labelledby="calls-counters-caption" {
                table {
                    caption #calls-counters-caption { "The server's own counters, over all phases with what prepares them." }
                    thead { tr { th scope="col" { "Counter" } th scope="col" { "Count" } th scope="col" { "Mean" } } }
                    tbody { @for counter in all {
                        tr {
                            th scope="row" { (Untrusted(&counter.name)) }
                            td { (count(counter.count)) }
                            td { (optional(counter.mean_s, duration)) }
                        }
                    } }
                }
            }
        }
    })
}

fn missing(calls: &Calls) -> Option<Markup> {
    let all = &calls.missing;
    (!all.is_empty()).then(|| html! { p { "Missing:" } ul { @for why in all { li { (Untrusted(why)) } } } })
}
