//! How many requests were outstanding at once, and at each load level.

use super::chart::{Axis, Chart, Series, Shape, Unit};
use super::figure::Figure;
use super::table::scrolled;
use super::units::{UNKNOWN, count, optional, percentage};
use super::untrusted::Untrusted;
use crate::findings::{DepthShare, Findings, QueueDepth};
use crate::shares::{self, Percentage};
use crate::sides::label;
use maud::{Markup, html};

/// Maximum number of load levels with charts; beyond it there are only tables.
const CHARTS: usize = 64;

/// How many requests were outstanding at once: of one side also at each of its load levels.
pub(super) fn figure<'a>(sides: &'a [Findings]) -> Option<Figure<'a>> {
    let whole: Vec<(String, &QueueDepth)> =
        sides.iter().map(|side| (label(sides, side, ""), &side.queue_depth)).collect();
    let mut charts: Vec<(String, Chart<'a>)> =
        chart(&whole).map(|chart| ("all together".to_owned(), chart)).into_iter().collect();
    if let [only] = sides
        && only.levels.len() > 1
    {
        let levels = only.levels.iter().take(CHARTS);
        charts.extend(levels.filter_map(|level| Some((level.words(), chart(&[(String::new(), &level.queue_depth)])?))));
    }
    let mean = |(name, depth): &(String, &QueueDepth)| Some(format!("{name} mean {:.2}", depth.mean?));
    let means: Vec<String> = whole.iter().filter_map(mean).map(|said| said.trim_start().to_owned()).collect();
    Figure {
        id: "depth",
        title: "Queue depth",
        explanation: "At arrival: share of the requests that found this number of other requests outstanding. Over time: share of the \
        time with this number of requests outstanding.",
        summary: format!("Requests outstanding at once: {}.", means.join("; ")),
        choose: "At",
        charts,
    }
    .if_any()
}

/// Two series per depth.
fn chart<'a>(depths: &[(String, &QueueDepth)]) -> Option<Chart<'a>> {
    let names: Vec<(u64, u64)> = ranges(depths.iter().map(|(_, depth)| *depth));
    let place = |range: &DepthShare| names.iter().position(|name| *name == (range.from, range.to)).unwrap_or(0) as f64;
    let mut series = Vec::new();
    for (of, depth) in depths {
        for (name, list) in [("At arrival", &depth.at_arrival), ("Over time", &depth.over_time)] {
            let color = series.len();
            let name = if of.is_empty() { name.to_owned() } else { format!("{name}, {of}") };
            series.push(Series {
                x: list.iter().map(place).collect(),
                y: list.iter().map(|range| Some(range.share * 100.0)).collect(),
                counts: list.iter().filter_map(|range| range.count).collect(),
                ..Series::new(name, Shape::Bars, color)
            });
        }
    }
    let highest = Series::highest(&series);
    let x = Axis { name: "requests outstanding".into(), ..Axis::names(names.into_iter().map(range_text).collect()) };
    Some(Chart { x, y: Axis::linear(Unit::Percent, "", highest)?, series })
}

/// All ranges of depths in use, rising.
fn ranges<'f>(all: impl Iterator<Item = &'f QueueDepth>) -> Vec<(u64, u64)> {
    let of = |depth: &'f QueueDepth| depth.at_arrival.iter().chain(&depth.over_time);
    let mut ranges: Vec<(u64, u64)> = all.flat_map(of).map(|range| (range.from, range.to)).collect();
    ranges.sort_unstable();
    ranges.dedup();
    ranges
}

/// How many requests were outstanding at once, all together and at each load level.
pub(super) fn tables(findings: &Findings) -> Option<Markup> {
    let mut depths: Vec<(String, &QueueDepth)> = vec![(String::new(), &findings.queue_depth)];
    if findings.levels.len() > 1 {
        depths = vec![("All load levels".to_owned(), &findings.queue_depth)];
        depths.extend(findings.levels.iter().map(|level| (level.words(), &level.queue_depth)));
    }
    depths.retain(|(_, depth)| !ranges(std::iter::once(*depth)).is_empty());
    (!depths.is_empty()).then(|| {
        html! {
            (summary(&findings.queue_depth))
            (scrolled("depth-caption", "depth", html! {
                "Requests outstanding at once. Arrivals: requests that found this number of other requests outstanding. Share of \
                time: part of the time with this number of requests outstanding."
            }, html! {
                thead { tr {
                    th scope="col" { "Outstanding" } th scope="col" { "Arrivals" }
                    th scope="col" { "Share of arrivals" } th scope="col" { "Share of time" }
                } }
                @for (name, depth) in &depths { (body(name, depth)) }
            }))
        }
    })
}

fn summary(depth: &QueueDepth) -> Markup {
    html! {
        p {
            "Mean depth over time " strong { (optional(depth.mean, |n| format!("{n:.2}"))) } ", highest "
            strong { (optional(depth.max, count)) } ". Long-lived requests are not counted."
            @if depth.entered_late > 0 { " Requests that stayed outstanding while about 32,768 others ended: "
                (count(depth.entered_late)) ". The depth counts these requests only for the last part of the time for which they were \
                outstanding." }
        }
    }
}

fn body(name: &str, depth: &QueueDepth) -> Markup {
    let shown = |list: &[DepthShare]| -> Vec<(DepthShare, Option<Percentage>)> {
        let shares: Vec<f64> = list.iter().map(|range| range.share).collect();
        list.iter().copied().zip(shares::of(&shares, 1.0)).collect()
    };
    let [arrivals, time] = [&depth.at_arrival, &depth.over_time].map(|list| shown(list));
    let find = |list: &[(DepthShare, Option<Percentage>)], range: (u64, u64)| {
        list.iter().find(|(r, _)| (r.from, r.to) == range).copied()
    };
    html! {
        tbody {
            @if !name.is_empty() {
                tr.heading { th scope="rowgroup" colspan="4" {
                    (Untrusted(name)) ": mean over time " (optional(depth.mean, |n| format!("{n:.2}"))) ", highest " (optional(depth.max, count))
                } }
            }
            @for range in ranges(std::iter::once(depth)) {
                @let arrivals = find(&arrivals, range);
                tr {
                    th scope="row" { (range_text(range)) }
                    td { (optional(arrivals.and_then(|(r, _)| r.count), count)) }
                    (bar(arrivals))
                    (bar(find(&time, range)))
                }
            }
        }
    }
}

fn range_text((from, to): (u64, u64)) -> String {
    if from == to { count(from) } else { format!("{} – {}", count(from), count(to)) }
}

fn bar(of: Option<(DepthShare, Option<Percentage>)>) -> Markup {
    html! {
        @match of {
            None => td { (UNKNOWN) },
            Some((range, shown)) => td.bar style=(format!("--w:{:.1}%", range.share * 100.0)) { (percentage(shown)) },
        }
    }
}
