//! Fairness between clients: all clients of each load level, as in figure 11 of Poo and Tan (1988).

use super::chart::{Axis, Chart, Series, Shape, Unit};
use super::figure::Figure;
use crate::findings::{ClientRow, Findings, LoadLevel};
use crate::sides::label;
use crate::tables::is_shared;

/// A level in words, and its clients at each side.
struct Level<'a> {
    words: String,
    sides: Vec<(String, &'a LoadLevel)>,
}

/// Iterations and response times of every client over the mean of all, a chart per level and number; none where no level has several
/// clients.
pub(super) fn figure<'a>(sides: &[Findings]) -> Option<Figure<'a>> {
    let levels = levels(sides);
    let charts = levels.iter().flat_map(|level| {
        let of = |what: &str, pick: fn(&ClientRow) -> Option<f64>| {
            Some((format!("{}, {what}", level.words), chart(level, &format!("{what} / mean of all clients"), pick)?))
        };
        [of("iterations", |one| one.iterations_ratio), of("response time", |one| one.mean_ratio)].into_iter().flatten()
    });
    Figure {
        id: "each-client",
        title: "Clients compared with their mean",
        explanation: "Iterations, or the mean response time, of every client divided by the mean of all clients of the level. With \
            a fair server all are near 1. The table of clients has the numbers.",
        summary: summary(&levels),
        choose: "At",
        charts: charts.collect(),
    }
    .if_any()
}

/// The levels with several clients; the same level of several sides is one.
fn levels(sides: &[Findings]) -> Vec<Level<'_>> {
    let mut levels: Vec<Level<'_>> = Vec::new();
    for side in sides {
        for one in side.levels.iter().filter(|level| is_shared(level)) {
            let words = one.words();
            let own = (label(sides, side, ""), one);
            match levels.iter_mut().find(|level| level.words == words) {
                Some(level) => level.sides.push(own),
                None => levels.push(Level { words, sides: vec![own] }),
            }
        }
    }
    levels
}

fn chart<'a>(level: &Level<'_>, what: &str, pick: fn(&ClientRow) -> Option<f64>) -> Option<Chart<'a>> {
    let most = level.sides.iter().map(|(_, one)| one.facts.spread.clients.len()).max()?;
    let series = |(color, (name, one)): (usize, &(String, &LoadLevel))| {
        let clients = &one.facts.spread.clients;
        Series {
            x: clients.iter().map(|one| f64::from(one.client) - 1.0).collect(),
            y: clients.iter().map(pick).collect(),
            ..Series::new(name.clone(), Shape::Bars, color)
        }
    };
    let all: Vec<Series<'a>> = level.sides.iter().enumerate().map(series).collect();
    let highest = Series::highest(&all).max(1.0);
    let names = (1..=most).map(|client| client.to_string()).collect();
    let x = Axis { name: "client".to_owned(), ..Axis::names(names) };
    Some(Chart { x, y: Axis::linear(Unit::Ratio, what, highest)?, series: all })
}

fn summary(levels: &[Level<'_>]) -> String {
    let range = |(name, level): &(String, &LoadLevel)| {
        let ratios = || level.facts.spread.clients.iter().filter_map(|one| one.iterations_ratio);
        let (least, most) = (ratios().reduce(f64::min)?, ratios().reduce(f64::max)?);
        Some(format!("{name} {least:.2} to {most:.2}"))
    };
    let of = |level: &Level<'_>| {
        let ranges: Vec<String> = level.sides.iter().filter_map(range).collect();
        format!("{}: {}", level.words, ranges.join(", "))
    };
    let all: Vec<String> = levels.iter().map(of).collect();
    format!("Iterations of each client, divided by the mean of all clients: {}.", all.join("; "))
}
