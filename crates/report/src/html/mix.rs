//! Operation mix: fractions of requests, waiting, and data by operation.

use super::chart::{Axis, Chart, Series, Shape, Unit};
use super::figure::Figure;
use super::units::percentage;
use crate::findings::Findings;
use crate::findings::OperationRow;
use crate::shares;
use crate::sides::label;

/// Operations named in the chart; the least frequent others share one bar.
const NAMED: usize = 12;
const OTHERS: &str = "all others";

/// The base of a fraction.
struct Measure {
    name: &'static str,
    of: fn(&OperationRow) -> f64,
}

const MEASURES: [Measure; 3] = [
    Measure { name: "Requests", of: |row| row.count as f64 },
    // Waiting in sum: what all users together waited for these.
    Measure { name: "Time waited", of: |row| row.headline_time().map_or(0.0, |t| t.mean_s * t.count as f64) },
    Measure { name: "File data", of: |row| row.payload_bytes.unwrap_or(0) as f64 },
];

/// Shares of operations in requests, in time waited and in data moved.
pub(super) fn figure<'a>(sides: &'a [Findings]) -> Option<Figure<'a>> {
    let names = names(sides);
    let place = |row: &OperationRow| {
        names.iter().position(|name| *name == row.operation).or_else(|| names.iter().position(|name| name == OTHERS))
    };
    let series = |side: &'a Findings, measure: &Measure, name: String, color: usize| {
        let mut sums = vec![0.0; names.len()];
        for row in counted(side) {
            if let Some(sum) = place(row).and_then(|place| sums.get_mut(place)) {
                *sum += (measure.of)(row);
            }
        }
        let all: f64 = sums.iter().sum();
        let share = |sum: &f64| (all > 0.0).then(|| sum / all * 100.0).filter(|share| *share > 0.0);
        Series {
            x: (0..sums.len()).map(|place| place as f64).collect(),
            y: sums.iter().map(share).collect(),
            ..Series::new(name, Shape::Bars, color)
        }
    };
    let chart = |series: Vec<Series<'a>>| {
        let highest = Series::highest(&series);
        Some(Chart { x: Axis::names(names.clone()), y: Axis::linear(Unit::Percent, "", highest)?, series })
    };
    let charts = if let [only] = sides {
        let all =
            MEASURES.iter().enumerate().map(|(i, measure)| series(only, measure, measure.name.into(), i)).collect();
        chart(all).map(|chart| (String::new(), chart)).into_iter().collect()
    } else {
        let of = |measure: &Measure| {
            sides.iter().enumerate().map(|(i, side)| series(side, measure, label(sides, side, ""), i)).collect()
        };
        MEASURES.iter().filter_map(|measure| Some((measure.name.to_owned(), chart(of(measure))?))).collect()
    };
    Figure {
        id: "mix",
        title: "Operation mix",
        explanation: "Share of each operation in all requests, in the sum of response times, and in the file data. Each \
        member of an SMB2 compound or AndX chain has the response time of the whole message, so the sum of response times counts the \
        message once per member.",
        summary: words(sides),
        choose: "Shares of",
        charts,
    }
    .if_any()
}

/// Every request once: subcommands are in their command's row.
fn counted(side: &Findings) -> impl Iterator<Item = &OperationRow> {
    side.operations.iter().filter(|row| row.is_counted_once())
}

/// Operations by count, most frequent first.
fn names(sides: &[Findings]) -> Vec<String> {
    let mut counts: Vec<(&str, u64)> = Vec::new();
    for row in sides.iter().flat_map(counted) {
        match counts.iter_mut().find(|(name, _)| *name == row.operation) {
            Some((_, count)) => *count = count.saturating_add(row.count),
            None => counts.push((&row.operation, row.count)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let more = counts.len() > NAMED;
    let mut names: Vec<String> = counts.into_iter().take(NAMED).map(|(name, _)| name.to_owned()).collect();
    names.extend(more.then(|| OTHERS.to_owned()));
    names
}

fn words(sides: &[Findings]) -> String {
    let of = |side: &Findings| {
        let total: u64 = counted(side).fold(0, |sum, row| sum.saturating_add(row.count));
        let mut rows: Vec<_> =
            counted(side).zip(shares::of_counts(counted(side).map(|row| row.count), total)).collect();
        rows.sort_by_key(|(row, _)| std::cmp::Reverse(row.count));
        let text = |(row, share): &(&OperationRow, _)| format!("{} {}", row.procedure, percentage(*share));
        label(sides, side, &rows.iter().take(5).map(text).collect::<Vec<_>>().join(", "))
    };
    format!("Most frequent: {}.", sides.iter().map(of).collect::<Vec<_>>().join("; "))
}
