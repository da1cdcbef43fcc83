//! Response times by decade: Swartz's (1997) bars, for every group and every operation.

use super::chart::{Axis, Chart, Series, Shape, Unit};
use super::figure::Figure;
use super::operations::short_name;
use super::table::scrolled;
use super::units::{count, duration, percentage};
use super::untrusted::Untrusted;
use crate::findings::Findings;
use crate::findings::{Bucket, OperationRow};
use crate::shares;
use crate::sides::{group, groups, label, response_time};
use maud::{Markup, html};

/// Percentile curves, cumulative distributions and decades of the groups.
pub(super) fn figures<'a>(sides: &'a [Findings]) -> Vec<Figure<'a>> {
    [percentiles(sides), cumulative(sides), by_decade(sides)].into_iter().flatten().collect()
}

/// One table with a line a group and a line an operation. `id` is unique in the page.
pub(super) fn table(id: &str, groups: &[OperationRow], operations: &[OperationRow]) -> Option<Markup> {
    let decades = decades(groups.iter().chain(operations))?;
    let from = OperationRow::headline_words(groups.iter().chain(operations));
    let caption = "in powers of ten: count and share of each row's times. Each column counts the times from a tenth of the \
    limit in its heading up to this limit. The first column also counts all shorter times.";
    Some(html! {
        (scrolled(&format!("{id}-caption"), "decades", html! { "Response times" (from) " " (caption) }, html! {
            thead { tr {
                th scope="col" { "Group or operation" }
                th scope="col" { "Times" }
                @for decade in &decades { th scope="col" { "below " (edge(*decade)) } }
            } }
            tbody {
                tr.heading { th scope="rowgroup" colspan=(decades.len() + 2) { "Groups" } }
                @for row in groups { (line(&row.group, row, false, &decades)) }
            }
            tbody {
                tr.heading { th scope="rowgroup" colspan=(decades.len() + 2) { "Operations" } }
                @for row in operations {
                    @let sub = row.parent.is_some();
                    @let name = if sub { short_name(row).to_owned() } else { format!("{} {}", row.protocol, row.procedure) };
                    (line(&name, row, sub, &decades))
                }
            }
        }))
    })
}

/// One chart with a series a group, or, of several sides, a chart a group with a series a side.
fn by_group<'a>(
    sides: &'a [Findings],
    wanted: impl Fn(&OperationRow) -> bool,
    series: impl Fn(&OperationRow, String, usize) -> Series<'a>,
    chart: impl Fn(Vec<Series<'a>>) -> Option<Chart<'a>>,
) -> Vec<(String, Chart<'a>)> {
    let names = groups(sides, &wanted);
    let row = |side: &'a Findings, name: &str| group(side, name).filter(|row| wanted(row));
    if let [only] = sides {
        let rows = names.iter().filter_map(|name| row(only, name)).enumerate();
        return chart(rows.map(|(i, row)| series(row, row.group.clone(), i)).collect())
            .map(|chart| (String::new(), chart))
            .into_iter()
            .collect();
    }
    let of_group = |name: &&str| {
        let rows = sides.iter().enumerate().filter_map(|(i, side)| Some((i, side, row(side, name)?)));
        let all = rows.map(|(i, side, row)| series(row, label(sides, side, ""), i)).collect();
        Some(((*name).to_owned(), chart(all)?))
    };
    names.iter().filter_map(of_group).collect()
}

/// Response time by percentile, on an axis on which every step is ten times rarer.
fn percentiles<'a>(sides: &'a [Findings]) -> Option<Figure<'a>> {
    let series = |row: &OperationRow, name, color| {
        let (x, (y, labels)) =
            rarities(row).map(|(u, percentile, s)| (u, (Some(s).filter(|s| *s > 0.0), at_most(percentile)))).unzip();
        Series { x, y, labels, ..Series::new(name, Shape::Curve, color) }
    };
    let chart = |all: Vec<Series<'a>>| {
        let rarest = all.iter().flat_map(|series| &series.x).copied().fold(1.0, f64::max);
        let times = all.iter().flat_map(|series| series.y.iter().flatten()).copied();
        let y = Axis::log(Unit::Seconds, response_time(sides), times)?;
        Some(Chart { x: Axis::rarity("share of operations that took at most this time", rarest), y, series: all })
    };
    Figure {
        id: "percentiles",
        title: "Response time by percentile",
        explanation: "Response time within which 50 %, 90 %, 99 %, 99.9 % of each group's operations ended. From 90 % on, each step \
        to the right leaves a tenth as many slower operations. Both axes are logarithmic.",
        summary: in_words(sides, "99th percentiles", |row| Some(row.headline_time()?.p99_s)),
        choose: "Operations of",
        charts: by_group(sides, |row| !row.percentiles.is_empty(), series, chart),
    }
    .if_any()
}

/// Share of the operations that took at most a time.
fn cumulative<'a>(sides: &'a [Findings]) -> Option<Figure<'a>> {
    let series = |row: &OperationRow, name, color| {
        let points = || row.percentiles.iter().filter(|point| point.value_s > 0.0);
        Series {
            x: points().map(|point| point.value_s).collect(),
            y: points().map(|point| Some(point.percentile)).collect(),
            ..Series::new(name, Shape::Curve, color)
        }
    };
    let chart = |all: Vec<Series<'a>>| {
        let times = all.iter().flat_map(|series| &series.x).copied();
        let x = Axis::log(Unit::Seconds, response_time(sides), times)?;
        Some(Chart { x, y: Axis::percent("answered within"), series: all })
    };
    Figure {
        id: "cumulative",
        title: "Cumulative distribution",
        explanation: "Share of each group's operations that took at most a given time. A steep rise means many similar responses, for \
        example from a cache; a flat stretch separates two kinds of responses.",
        summary: in_words(sides, "Medians", |row| Some(row.headline_time()?.p50_s)),
        choose: "Operations of",
        charts: by_group(sides, |row| !row.percentiles.is_empty(), series, chart),
    }
    .if_any()
}

/// Share of each group's response times in each decade.
fn by_decade<'a>(sides: &'a [Findings]) -> Option<Figure<'a>> {
    let wanted = |row: &OperationRow| row.distribution.iter().any(|bucket| bucket.count > 0);
    let used = decades(sides.iter().flat_map(|side| &side.groups).filter(|row| wanted(row)))?;
    let series = |row: &OperationRow, name, color| {
        let total = total(row) as f64;
        let buckets = || row.distribution.iter().filter(|b| b.count > 0).filter_map(|b| Some((exponent(b)?, b.count)));
        let place = |decade| used.iter().position(|other| *other == decade).unwrap_or(0) as f64;
        Series {
            x: buckets().map(|(decade, _)| place(decade)).collect(),
            y: buckets().map(|(_, n)| Some(n as f64 / total * 100.0)).collect(),
            counts: buckets().map(|(_, n)| n).collect(),
            ..Series::new(name, Shape::Bars, color)
        }
    };
    let names: Vec<String> = used.iter().map(|decade| format!("below {}", edge(*decade))).collect();
    let chart = |all| Some(Chart { x: Axis::names(names.clone()), y: Axis::percent(""), series: all });
    Figure {
        id: "decades",
        title: "Response times in powers of ten",
        explanation: "Share of each group's response times between one power of ten and the next.",
        summary: "Share of each group's response times in powers of ten; the numbers are in the table below.".into(),
        choose: "Operations of",
        charts: by_group(sides, wanted, series, chart),
    }
    .if_any()
}

/// A number of every group in words, for readers who cannot see the picture.
fn in_words(sides: &[Findings], what: &str, pick: fn(&OperationRow) -> Option<f64>) -> String {
    let of = |side: &Findings| {
        let rows = side
            .groups
            .iter()
            .filter_map(|row| Some(format!("{} {}", label(sides, side, &row.group), duration(pick(row)?))));
        rows.collect::<Vec<_>>()
    };
    format!("{what} of {}: {}.", response_time(sides), sides.iter().flat_map(of).collect::<Vec<_>>().join("; "))
}

/// Rarity (0 at 0 %, 1 at 90 %, 2 at 99 %), percentile and response time. The slowest of n stands where one in n is.
fn rarities(row: &OperationRow) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
    let rarest = row.headline_time().map_or(1.0, |t| (t.count as f64).log10()).max(0.0);
    let mut highest = 0.0_f64;
    row.percentiles.iter().map(move |point| {
        let rarity = if point.percentile < 100.0 { -(1.0 - point.percentile / 100.0).log10() } else { rarest };
        highest = highest.max(rarity.min(rarest));
        (highest, point.percentile, point.value_s)
    })
}

fn at_most(percentile: f64) -> String {
    format!("{percentile} % took up to")
}

/// The exponent of a bucket's upper edge: buckets are decades, so an edge is a power of ten.
fn exponent(bucket: &Bucket) -> Option<i32> {
    let exponent = bucket.below_s.log10().round();
    // Outside a picosecond to thirty thousand years it is no time that anybody measured.
    (exponent.is_finite() && (-12.0..=12.0).contains(&exponent)).then_some(exponent as i32)
}

/// Exponents of all decades in use, without holes, rising.
fn decades<'a>(rows: impl Iterator<Item = &'a OperationRow>) -> Option<Vec<i32>> {
    let used: Vec<i32> = rows.flat_map(|row| &row.distribution).filter_map(exponent).collect();
    Some((*used.iter().min()?..=*used.iter().max()?).collect())
}

/// All times of a row.
fn total(row: &OperationRow) -> u64 {
    row.distribution.iter().fold(0_u64, |sum, bucket| sum.saturating_add(bucket.count))
}

/// The text of a decade's edge: `1 ms`, `10 µs`.
fn edge(exponent: i32) -> String {
    // An edge is a round number: "1.00 ms" would objective digits that mean nothing.
    duration(10_f64.powi(exponent)).replace(".00", "").replace(".0", "")
}

fn line(name: &str, row: &OperationRow, sub: bool, decades: &[i32]) -> Markup {
    let total = total(row);
    let shares = shares::of_counts(row.distribution.iter().map(|bucket| bucket.count), total);
    let in_decade = |decade: i32| {
        let found = row.distribution.iter().zip(&shares).find(|(bucket, _)| exponent(bucket) == Some(decade));
        found.map_or((0, None), |(bucket, share)| (bucket.count, *share))
    };
    html! {
        @if total > 0 {
            tr.sub[sub] {
                th scope="row" { (Untrusted(name)) }
                td { (count(total)) }
                @for decade in decades {
                    @let (n, share) = in_decade(*decade);
                    @if n == 0 {
                        td.nought { "0" }
                    } @else {
                        td.bar style=(format!("--w:{:.1}%", n as f64 / total as f64 * 100.0)) {
                            (count(n)) " " small { (percentage(share)) }
                        }
                    }
                }
            }
        }
    }
}
