//! The ranking: the highest throughput of each server and curve, the numbers point by point, and the ranks.

use super::{cells, number};
use crate::findings::Findings;
use crate::findings::comparison::{ComparedVerdict, Comparison, Difference, Estimate};
use crate::findings::ranking::{Ranked, RankedCurve, RankedPoint, Ranking};
use crate::html::chart::{Axis, Chart, Series, Shape, Unit};
use crate::html::figure::Figure;
use crate::html::table::scrolled;
use crate::html::units::count;
use crate::html::untrusted::Untrusted;
use maud::{Markup, html};

/// The highest throughput of every side on every curve (Poo and Tan's figure 6); throughput and response time against load.
pub(super) fn figures<'a>(sides: &'a [Findings], comparison: &'a Comparison) -> Vec<Figure<'a>> {
    let Some(ranking) = &comparison.ranking else { return Vec::new() };
    let against_load = |id, title, explanation, of: fn(&RankedPoint) -> &Ranked, unit| {
        let chart = |curve: &'a RankedCurve| Some((name(curve), against_load(sides, curve, title, of, unit)?));
        Figure {
            id,
            title,
            explanation,
            summary: format!("{title}, one line per server; the numbers are in the tables below."),
            choose: "Curve",
            charts: ranking.curves.iter().filter_map(chart).collect(),
        }
        .if_any()
    };
    let throughput =
        "Operations answered per second at each load, with the 95 % interval. Loads with INVALID numbers are left out.";
    let mean = "Mean response time at each load, with the 95 % interval. Loads with INVALID numbers are left out.";
    let throughput = against_load(
        "ranked-throughput",
        "Throughput against load",
        throughput,
        |point| &point.throughput,
        Unit::PerSecond,
    );
    let mean = against_load("ranked-mean", "Response time against load", mean, |point| &point.mean, Unit::Seconds);
    [highest(sides, ranking), throughput, mean].into_iter().flatten().collect()
}

fn name(curve: &RankedCurve) -> String {
    curve.curve.clone().unwrap_or_else(|| "all levels".to_owned())
}

fn highest<'a>(sides: &[Findings], ranking: &Ranking) -> Option<Figure<'a>> {
    let curves = &ranking.curves;
    let series = |(place, side): (usize, &Findings)| {
        let value = |curve: &RankedCurve| Some(curve.highest.estimates.get(place)?.as_ref()?.value);
        Series {
            x: (0..curves.len()).map(|x| x as f64).collect(),
            y: curves.iter().map(value).collect(),
            ..Series::new(side.letter.clone(), Shape::Bars, place)
        }
    };
    let all: Vec<Series<'a>> = sides.iter().enumerate().map(series).collect();
    let most = Series::highest(&all);
    let said = |curve: &RankedCurve| {
        let of = |(side, one): (&Findings, &Option<Estimate>)| {
            Some(format!("{} {}/s", side.letter, count(one.as_ref()?.value.round().max(0.0) as u64)))
        };
        let each: Vec<String> = sides.iter().zip(&curve.highest.estimates).filter_map(of).collect();
        format!("{}: {}", name(curve), each.join(", "))
    };
    let summary = curves.iter().map(said).collect::<Vec<_>>().join("; ");
    let chart = Chart {
        x: Axis::names(curves.iter().map(name).collect()),
        y: Axis::linear(Unit::PerSecond, "operations", most)?,
        series: all,
    };
    let explanation = "The most operations per second that each server answered at any load. The table below gives the load \
    and the differences between servers.";
    Figure::of(("ranked-highest", "Highest throughput of each server"), explanation, summary, chart)
}

fn against_load<'a>(
    sides: &[Findings],
    curve: &RankedCurve,
    title: &str,
    of: fn(&RankedPoint) -> &Ranked,
    unit: Unit,
) -> Option<Chart<'a>> {
    let series = |(place, side): (usize, &Findings)| {
        let point = |point: &RankedPoint| Some((point.load, of(point).estimates.get(place)?.clone()?));
        let points: Vec<(f64, Estimate)> = curve.points.iter().filter(|point| point.used).filter_map(point).collect();
        Series {
            x: points.iter().map(|(load, _)| *load).collect(),
            y: points.iter().map(|(_, one)| Some(one.value)).collect(),
            // Without an interval the band is as thin as the line.
            low: points.iter().map(|(_, one)| one.low.unwrap_or(one.value)).collect(),
            high: points.iter().map(|(_, one)| one.high.unwrap_or(one.value)).collect(),
            between: "95 % interval".into(),
            ..Series::new(side.letter.clone(), Shape::Curve, place)
        }
    };
    let all: Vec<Series<'a>> = sides.iter().enumerate().map(series).collect();
    let most = all.iter().flat_map(|series| &series.high).copied().fold(0.0, f64::max);
    let load = curve.points.iter().map(|point| point.load).fold(0.0, f64::max);
    if curve.points.len() < 2 {
        return None;
    }
    Some(Chart { x: Axis::linear_right(Unit::Count, "load", load)?, y: Axis::linear(unit, title, most)?, series: all })
}

/// The places, the highest throughput, and every point.
pub(super) fn tables(sides: &[Findings], comparison: &Comparison) -> Vec<Markup> {
    let Some(ranking) = &comparison.ranking else { return Vec::new() };
    let stability = (!ranking.stability.is_empty()).then(|| stability(sides, ranking));
    [
        vec![overall(sides, ranking)],
        stability.into_iter().collect(),
        vec![maxima(sides, ranking), points(sides, ranking)],
    ]
    .concat()
}

/// The columns of every table: numbers, ranks, differences.
fn heads(sides: &[Findings]) -> Markup {
    html! {
        @for side in sides {
            th scope="col" { (Untrusted(&side.letter)) } th scope="col" { "Interval" } th scope="col" { "Place" }
        }
        @for (at, first) in sides.iter().enumerate() { @for second in sides.iter().skip(at + 1) {
            th scope="col" { (Untrusted(&second.letter)) " over " (Untrusted(&first.letter)) } th scope="col" { "Interval" }
            th.text scope="col" { "Verdict" }
        } }
    }
}

fn line(sides: &[Findings], ranked: &Ranked) -> Markup {
    html! {
        @for (estimate, place) in ranked.estimates.iter().zip(&ranked.places) {
            (number(estimate.as_ref(), ranked.unit))
            td.key { @match place { Some(place) => (place), None => "–" } }
        }
        @for (at, first) in sides.iter().enumerate() { @for second in sides.iter().skip(at + 1) {
            @let pair = ranked.pairs.iter().find(|pair| pair.baseline == first.letter && pair.other == second.letter);
            (cells(pair.map(|pair| as_placed(&pair.difference)).as_ref(), ranked.unit))
        } }
    }
}

/// A difference that is not significant among all pairs affects no rank, and has no verdict here; the others need no mark.
fn as_placed(difference: &Difference) -> Difference {
    let verdict = if difference.holm_significant { difference.verdict } else { ComparedVerdict::NotShown };
    Difference { verdict, holm_significant: false, ..difference.clone() }
}

fn framed(id: &str, caption: &Markup, first: &[&str], sides: &[Findings], body: &Markup) -> Markup {
    html! {
        (scrolled(id, "compared", html! { (caption) }, html! {
            thead { tr { @for head in first { th.text scope="col" { (head) } } (heads(sides)) } }
            (body)
        }))
    }
}

fn overall(sides: &[Findings], ranking: &Ranking) -> Markup {
    let caption = html! {
        "Ranking of the servers. Each number is the geometric mean over the load levels at which every server has a confidence interval ("
        (ranking.points) @if ranking.points == 1 { " level" } @else { " levels" } "). Servers without a significant difference share a place (Holm's correction for "
        (ranking.tested) " pairs)."
        @if ranking.not_used > 0 { " Load levels left out because the results of a server are INVALID: " (ranking.not_used) "." }
    };
    let body = html! { tbody { @for ranked in &ranking.overall {
        tr { th scope="row" { (ranked.words()) } (line(sides, ranked)) }
    } } };
    framed("ranking-caption", &caption, &["By"], sides, &body)
}

/// Poo and Tan's (1988) second ranking.
fn stability(sides: &[Findings], ranking: &Ranking) -> Markup {
    let caption = html! {
        "Stability of the servers over all load levels, including those with INVALID numbers. Failed requests: mean share over the load \
        levels. Outages: number per hour. Differences between clients: standard deviation of the clients' iterations divided by their \
        mean, if this is known for three or more load levels. Outages and differences between clients come only from levels at which \
        the load generator was on time."
    };
    let body = html! { tbody { @for ranked in &ranking.stability {
        tr { th scope="row" { (ranked.words()) } (line(sides, ranked)) }
    } } };
    framed("stability-caption", &caption, &["By"], sides, &body)
}

fn maxima(sides: &[Findings], ranking: &Ranking) -> Markup {
    let caption = html! { "Highest throughput of each server, and the load level at which it was reached." };
    let at = |curve: &RankedCurve| {
        let of = |(side, at): (&Findings, &Option<String>)| Some(format!("{} at {}", side.letter, at.as_ref()?));
        sides.iter().zip(&curve.highest_at).filter_map(of).collect::<Vec<_>>().join(", ")
    };
    let body = html! { tbody { @for curve in &ranking.curves {
        tr { th scope="row" { (Untrusted(&name(curve))) } td.text { (Untrusted(&at(curve))) } (line(sides, &curve.highest)) }
    } } };
    framed("highest-caption", &caption, &["Curve", "At"], sides, &body)
}

fn points(sides: &[Findings], ranking: &Ranking) -> Markup {
    let caption =
        html! { "Throughput and mean response time of each server at every load, and the server that is ahead." };
    let columns = 2 + 3 * sides.len() + 3 * (sides.len() * sides.len().saturating_sub(1) / 2);
    let body = html! { @for curve in &ranking.curves { tbody {
        tr.heading { th scope="rowgroup" colspan=(columns) { (Untrusted(&name(curve))) } }
        @for point in &curve.points { @for ranked in [Some(&point.throughput), point.bytes.as_ref(), Some(&point.mean)].into_iter().flatten() {
            tr {
                th scope="row" { (Untrusted(&point.load_name)) @if !point.used { " (not used)" } }
                td.text { (ranked.words()) }
                (line(sides, ranked))
            }
        } }
    } } };
    framed("points-caption", &caption, &["Load", "Number"], sides, &body)
}
