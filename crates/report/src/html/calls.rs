//! Where the time of a call goes: a figure of its parts, and tables.

use super::chart::{Axis, Chart, Series, Shape, Unit};
use super::drawn;
use super::figure::Figure;
use super::table::scrolled;
use super::units::{UNKNOWN, count, duration, optional, percent, percentage};
use super::untrusted::Untrusted;
use crate::findings::Findings;
use crate::findings::calls::{CallPart, CallPhase, Calls};
use crate::shares::{self, Percentage};
use crate::tables;
use crate::text::calls::run_lengths;
use maud::{Markup, html};

/// The additive parts side by side, one group per phase of the target; None if not requested. A negative remainder cannot be drawn: only
/// the tables have it.
pub(super) fn figure(findings: &Findings) -> Option<Figure<'_>> {
    let calls = findings.run.as_ref()?.calls.as_deref()?;
    let phases: Vec<&CallPhase> = calls.phases.iter().filter(|phase| !phase.local).collect();
    let mut names: Vec<&str> = Vec::new();
    for part in phases.iter().flat_map(|phase| &phase.parts).filter(|part| part.adds) {
        if !names.contains(&part.part.as_str()) {
            names.push(&part.part);
        }
    }
    let length = |phase: &CallPhase, name: &str| {
        let part = phase.parts.iter().find(|part| part.part == name && part.adds)?;
        part.seconds.filter(|seconds| *seconds > 0.0)
    };
    let series = |(color, name): (usize, &&str)| Series {
        x: (0..phases.len()).map(|place| place as f64).collect(),
        y: phases.iter().map(|phase| length(phase, name)).collect(),
        ..Series::new((*name).to_owned(), Shape::Bars, color)
    };
    let series: Vec<Series<'_>> = names.iter().enumerate().map(series).collect();
    let highest = Series::highest(&series);
    let x = Axis::names(phases.iter().map(|phase| phase.call.clone()).collect());
    let chart = Chart { x, y: Axis::linear(Unit::Seconds, "time of a call", highest)?, series };
    let explanation =
        "Mean time of each part of a call, one group of bars per phase; the bars of a group add up to the whole call.";
    let words = phases.iter().map(|phase| format!("{} {}", phase.call, duration(phase.whole_s)));
    let summary = format!("A call takes: {}.", words.collect::<Vec<_>>().join(", "));
    Figure::of(("calls", "Where the time of a call goes"), explanation, summary, chart)
}

/// The tables; empty if not requested.
pub(super) fn section(findings: &Findings) -> Vec<Markup> {
    let Some(calls) = findings.run.as_ref().and_then(|run| run.calls.as_deref()) else { return Vec::new() };
    let phases = calls.phases.iter().map(phase);
    let beside_local = drawn::draw(tables::beside_local(calls));
    let tables = [requests(calls), counters(calls), missing(calls)].into_iter().flatten();
    phases.chain(beside_local).chain(tables).collect()
}

fn phase(phase: &CallPhase) -> Markup {
    let caption = format!("calls-{}", phase.level);
    html! {
        (scrolled(&caption, "", html! {
            (Untrusted(&phase.call)) @if phase.local { ", in a local directory" } ": " (count(phase.calls)) " calls of "
            (duration(phase.whole_s)) ", " (phase.outstanding) " outstanding. Response time "
            (optional(phase.response_s, duration)) ". The client was busy for " (percent(phase.client_busy)) " of the time"
            @if let Some(cores) = phase.server_cores_busy { "; " (format!("{cores:.2}")) " cores of the server were busy" }
            @if let Some(share) = phase.from_disk { "; " (percent(share)) " of the data came from disks" }
            @if let Some(rate) = phase.disk_reads_per_s { "; the disks of the server did " (format!("{rate:.1}")) " reads per second" }
            "."
        }, html! {
            thead { tr {
                th scope="col" { "Part" } th scope="col" { "A call" } th scope="col" { "Share" }
                @if let Some(above) = &phase.above { th scope="col" { "Over " (Untrusted(above)) } }
                th.text scope="col" { "Known" }
                th.text scope="col" { "How" }
            } }
            tbody { @for (part, share) in phase.parts.iter().zip(shown(phase)) { (row(phase, part, share)) } }
        }))
    }
}

/// The fraction of each part in the whole. Sums and additional parts have none.
fn shown(phase: &CallPhase) -> Vec<Option<Percentage>> {
    let adds = |part: &CallPart| part.seconds.filter(|_| part.adds);
    let of_whole = shares::of(&phase.parts.iter().filter_map(adds).collect::<Vec<_>>(), phase.whole_s);
    let mut of_whole = of_whole.into_iter();
    phase.parts.iter().map(|part| adds(part).and_then(|_| of_whole.next().flatten())).collect()
}

fn row(phase: &CallPhase, part: &CallPart, share: Option<Percentage>) -> Markup {
    html! {
        tr {
            th scope="row" { (Untrusted(&part.part)) }
            td { (optional(part.seconds, duration)) }
            td { (percentage(share)) }
            @if phase.above.is_some() { td { (part.over_above_s.map_or_else(|| UNKNOWN.to_owned(), signed)) } }
            td.text { (part.how.label()) }
            td.text.wrap { (Untrusted(&part.why)) }
        }
    }
}

/// A time that may be below zero.
fn signed(seconds: f64) -> String {
    let sign = if seconds < 0.0 { "−" } else { "+" };
    format!("{sign}{}", duration(seconds.abs()))
}

fn requests(calls: &Calls) -> Option<Markup> {
    let all = &calls.requests;
    (!all.is_empty()).then(|| {
        html! {
            (scrolled("calls-requests-caption", "", html! {
                "Requests and time per call, by the depth of the path. First: the first call on a new connection. Again: each \
                later call. Local: each later call in the local directory. Times are medians."
            }, html! {
                thead { tr {
                    th scope="col" { "Call" } th.text scope="col" { "Path" } th scope="col" { "Depth" } th scope="col" { "Requests, first" }
                    th scope="col" { "Again" } th scope="col" { "Time, first" } th scope="col" { "Again" } th scope="col" { "Local" }
                    th.text scope="col" { "Procedures of the first call" }
                } }
                tbody { @for call in all {
                    tr {
                        th scope="row" { (Untrusted(&call.call)) }
                        td.text { (Untrusted(&call.path)) } td { (call.depth) }
                        @for requests in [call.first, call.again] { td { (optional(requests, |requests| requests.to_string())) } }
                        @for time in [call.first_s, call.again_s, call.local_s] { td { (optional(time, duration)) } }
                        td.text { (Untrusted(&run_lengths(&call.procedures))) }
                    }
                } }
            }))
        }
    })
}

fn counters(calls: &Calls) -> Option<Markup> {
    let all = &calls.counters;
    (!all.is_empty()).then(|| {
        html! {
            (scrolled("calls-counters-caption", "", html! {
                "The server's own counters, over all phases including their preparation."
            }, html! {
                thead { tr { th scope="col" { "Counter" } th scope="col" { "Count" } th scope="col" { "Mean" } th scope="col" { "Waiting, mean" } } }
                tbody { @for counter in all {
                    tr {
                        th scope="row" { (Untrusted(&counter.name)) }
                        td { (count(counter.count)) }
                        td { (optional(counter.mean_s, duration)) }
                        td { (optional(counter.waiting_mean_s, duration)) }
                    }
                } }
            }))
        }
    })
}

fn missing(calls: &Calls) -> Option<Markup> {
    let all = &calls.missing;
    (!all.is_empty()).then(|| html! { p { "Missing:" } ul { @for why in all { li { (Untrusted(why)) } } } })
}
