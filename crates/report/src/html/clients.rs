//! Differences between clients.

use super::chart::{Axis, Chart, Series, Shape, Unit};
use super::figure::Figure;
use super::untrusted::Untrusted;
use crate::findings::{Findings, LoadLevel};
use crate::text::{sentence, unjudged};
use maud::{Markup, html};

/// A sentence for each outlier, and for levels that cannot be judged; None without any.
pub(super) fn section(findings: &Findings) -> Option<Markup> {
    let of = |level: &'_ LoadLevel| -> Vec<String> {
        level.facts.spread.outliers.iter().map(sentence).chain(unjudged(level)).collect()
    };
    let odd: Vec<(&LoadLevel, String)> =
        findings.levels.iter().flat_map(|level| of(level).into_iter().map(move |said| (level, said))).collect();
    (!odd.is_empty()).then(|| {
        html! { ul.odd { @for (level, said) in &odd { li { "At " (Untrusted(&level.words())) ": " (Untrusted(said)) } } } }
    })
}

/// Response times over their mean at each level, and errors of each client.
pub(super) fn figures<'a>(findings: &'a Findings) -> Vec<Figure<'a>> {
    [spread(findings), errors(findings)].into_iter().flatten().collect()
}

fn spread<'a>(findings: &'a Findings) -> Option<Figure<'a>> {
    let several: Vec<(&LoadLevel, [f64; 3])> = findings
        .levels
        .iter()
        .filter_map(|level| {
            Some((level, [level.facts.spread.min?, level.facts.spread.max?, level.facts.spread.stddev?]))
        })
        .collect();
    let most = several.iter().map(|(_, [_, max, deviation])| max.max(1.0 + deviation)).fold(1.0, f64::max);
    let range = |name: &str, color, ends: fn(&[f64; 3]) -> (f64, f64)| Series {
        x: (0..several.len()).map(|place| place as f64).collect(),
        y: several.iter().map(|_| Some(1.0)).collect(),
        low: several.iter().map(|(_, numbers)| ends(numbers).0.max(0.0)).collect(),
        high: several.iter().map(|(_, numbers)| ends(numbers).1).collect(),
        between: name.to_owned(),
        labels: several.iter().map(|(level, _)| level.words()).collect(),
        ..Series::new(name, Shape::Range, color)
    };
    let series = vec![
        range("Smallest to largest", 0, |[min, max, _]| (*min, *max)),
        range("Mean ± standard deviation", 1, |[_, _, deviation]| (1.0 - deviation, 1.0 + deviation)),
    ];
    let said = |(level, [min, max, _]): &(&LoadLevel, [f64; 3])| format!("{} {min:.2} to {max:.2}", level.words());
    let summary = format!(
        "Mean response time of each client, divided by the mean of all clients: {}.",
        several.iter().map(said).collect::<Vec<_>>().join("; ")
    );
    let x = Axis::names(several.iter().map(|(level, _)| level.words()).collect());
    let chart = Chart { x, y: Axis::linear(Unit::Ratio, "response time / mean of all clients", most)?, series };
    let explanation = "Mean response time of each client divided by the mean of all: the smallest, the largest, and the \
    standard deviation. A wide range means that some clients wait longer than others.";
    Figure::of(("client-spread", "Response times of clients"), explanation, summary, chart)
}

/// Errors of each client over all levels; nothing where there were none.
fn errors<'a>(findings: &'a Findings) -> Option<Figure<'a>> {
    let mut sums: Vec<(u32, u64)> = Vec::new();
    for one in findings.levels.iter().flat_map(|level| &level.facts.spread.clients) {
        match sums.iter_mut().find(|(client, _)| *client == one.client) {
            Some((_, errors)) => *errors += one.errors,
            None => sums.push((one.client, one.errors)),
        }
    }
    if sums.iter().all(|(_, errors)| *errors == 0) {
        return None;
    }
    sums.sort_unstable();
    let most = sums.iter().map(|(_, errors)| *errors as f64).fold(0.0, f64::max);
    let series = Series {
        x: (0..sums.len()).map(|place| place as f64).collect(),
        y: sums.iter().map(|(_, errors)| Some(*errors as f64)).collect(),
        ..Series::new("Errors", Shape::Bars, 0)
    };
    let chart = Chart {
        x: Axis::names(sums.iter().map(|(client, _)| format!("client {client}")).collect()),
        y: Axis::linear(Unit::Count, "errors", most)?,
        series: vec![series],
    };
    let erring = sums.iter().filter(|(_, errors)| *errors > 0);
    let said: Vec<String> = erring.map(|(client, errors)| format!("client {client} {errors}")).collect();
    let summary = format!("Errors by client: {}.", said.join(", "));
    let explanation = "Failed operations of every client, over all load levels.";
    Figure::of(("client-errors", "Errors of clients"), explanation, summary, chart)
}
