//! The ranking: for each number one table per curve, the highest throughput, and the ranks.

use super::comparison::{change_of, estimate_of};
use super::page::{Page, Role};
use super::table::Table;
use super::units::{NONE, TimeScale, significant};
use crate::findings::Findings;
use crate::findings::comparison::{ComparedUnit, Comparison};
use crate::findings::ranking::{Ranked, RankedBy, RankedCurve, Ranking};
use std::fmt;

/// Text if no side is ahead.
const NOBODY: &str = "none shown";

/// Nothing where there is no ranking.
pub(super) fn draw(page: &mut Page<'_>, sides: &[Findings], comparison: &Comparison) -> fmt::Result {
    let Some(ranking) = &comparison.ranking else { return Ok(()) };
    for curve in &ranking.curves {
        let of = curve.curve.as_deref().map_or_else(String::new, |name| format!(", {name}"));
        let unit = page.scale().words();
        let (rate, time) = match ranking.by {
            RankedBy::Iterations => ("Iterations (iterations/s)", "Mean time of an iteration"),
            RankedBy::Operations => ("Throughput (op/s)", "Mean response time"),
        };
        points(page, &format!("{rate}{of}:"), sides, curve, |point| Some(&point.throughput))?;
        if curve.points.iter().any(|point| point.bytes.is_some()) {
            points(page, &format!("File data (MB/s){of}:"), sides, curve, |point| point.bytes.as_ref())?;
        }
        points(page, &format!("{time}, {unit}{of}:"), sides, curve, |point| Some(&point.mean))?;
    }
    let what = match ranking.by {
        RankedBy::Iterations => "Most iterations (iterations/s):",
        RankedBy::Operations => "Highest throughput (op/s):",
    };
    highest(page, what, sides, &ranking.curves)?;
    places(page, sides, ranking)?;
    stability(page, sides, ranking)
}

/// Columns of the sides, then the difference of two, then the leader.
fn head(sides: &[Findings], name: &str) -> Vec<String> {
    let mut cells = vec![name.to_owned()];
    cells.extend(sides.iter().map(|side| side.letter.clone()));
    if let [a, b] = sides {
        cells.push(format!("{} over {}", b.letter, a.letter));
    }
    cells.push("Ahead".to_owned());
    cells
}

fn points(
    page: &mut Page<'_>,
    title: &str,
    sides: &[Findings],
    curve: &RankedCurve,
    of: fn(&crate::findings::ranking::RankedPoint) -> Option<&Ranked>,
) -> fmt::Result {
    page.heading(title)?;
    page.blank()?;
    let head = head(sides, "Level");
    let mut table = Table::new().left(head.len() - 1);
    table.head(&head.iter().map(String::as_str).collect::<Vec<_>>());
    for point in &curve.points {
        let Some(ranked) = of(point) else { continue };
        let mut cells = vec![if point.used { point.load_name.clone() } else { format!("{} !", point.load_name) }];
        cells.extend(ranked.estimates.iter().map(|one| estimate_of(ranked.unit, one.as_ref(), page.scale())));
        cells.extend(difference(sides, ranked));
        cells.push(if point.used { ahead(sides, ranked) } else { "INVALID".to_owned() });
        table.row_as(if point.used { Role::Plain } else { Role::Bad }, cells);
    }
    page.table(&table)
}

/// With two sides, their ratio; with more, there are too many pairs for a line.
fn difference(sides: &[Findings], ranked: &Ranked) -> Option<String> {
    (sides.len() == 2).then(|| {
        let pair = ranked.pairs.first();
        pair.map_or_else(|| NONE.to_owned(), |pair| change_of(ranked.unit, &pair.difference))
    })
}

/// `B`; of more than two, everybody in order: `B, then A = C`.
fn ahead(sides: &[Findings], ranked: &Ranked) -> String {
    let mut placed: Vec<(u64, &str)> =
        ranked.places.iter().zip(sides).filter_map(|(place, side)| Some(((*place)?, side.letter.as_str()))).collect();
    placed.sort_by_key(|(place, _)| *place);
    if placed.len() < 2 {
        return "cannot tell".to_owned();
    }
    if placed.iter().all(|(place, _)| *place == 1) {
        return NOBODY.to_owned();
    }
    if let (Some(winner), 2) = (ranked.winner(), sides.len()) {
        return sides.get(winner).map_or_else(String::new, |side| side.letter.clone());
    }
    let groups = placed.chunk_by(|a, b| a.0 == b.0);
    let alike = |group: &[(u64, &str)]| group.iter().map(|(_, letter)| *letter).collect::<Vec<_>>().join(" = ");
    groups.map(alike).collect::<Vec<_>>().join(", then ")
}

fn highest(page: &mut Page<'_>, what: &str, sides: &[Findings], curves: &[RankedCurve]) -> fmt::Result {
    page.heading(what)?;
    page.blank()?;
    let head = head(sides, "Curve");
    let mut table = Table::new().left(head.len() - 1);
    table.head(&head.iter().map(String::as_str).collect::<Vec<_>>());
    for curve in curves {
        let mut cells = vec![curve.curve.clone().unwrap_or_else(|| "all".to_owned())];
        cells.extend(
            curve.highest.estimates.iter().map(|one| estimate_of(curve.highest.unit, one.as_ref(), page.scale())),
        );
        cells.extend(difference(sides, &curve.highest));
        cells.push(ahead(sides, &curve.highest));
        table.row(cells);
    }
    page.table(&table)?;
    curves.iter().try_for_each(|curve| page.paragraph(Role::Quiet, "  ", &where_highest(sides, curve)))
}

/// The load at which each was highest, and the data moved there.
fn where_highest(sides: &[Findings], curve: &RankedCurve) -> String {
    let of = |place: usize, side: &Findings| {
        let at = curve.highest_at.get(place)?.as_ref()?;
        let bytes = curve.highest_bytes.get(place).and_then(Option::as_ref);
        let data = bytes.map_or_else(String::new, |bytes| format!(" ({} MB/s)", significant(bytes.value / 1e6)));
        Some(format!("{} at {at}{data}", side.letter))
    };
    let all: Vec<String> = sides.iter().enumerate().filter_map(|(place, side)| of(place, side)).collect();
    let name = curve.curve.as_deref().map_or_else(String::new, |name| format!("{name}: "));
    format!("{name}{}", all.join(", "))
}

fn places(page: &mut Page<'_>, sides: &[Findings], ranking: &Ranking) -> fmt::Result {
    let title = "Ranking of the servers (geometric means over the load levels at which every server has a confidence interval):";
    ranked_list(page, title, sides, (&ranking.overall, ranking.points + ranking.not_used))?;
    let left_out = match ranking.not_used {
        0 => String::new(),
        count => format!(" Load levels left out (marked !), because the results of a server are INVALID: {count}."),
    };
    let note = format!(
        "Servers without a significant difference share a place (Holm's correction for {} pairs).{left_out}",
        ranking.tested
    );
    page.paragraph(Role::Quiet, "", &note)
}

/// Poo and Tan's (1988) second ranking; nothing without own load.
fn stability(page: &mut Page<'_>, sides: &[Findings], ranking: &Ranking) -> fmt::Result {
    if ranking.stability.is_empty() {
        return Ok(());
    }
    let title = "Stability of the servers (over all load levels, including those with INVALID numbers):";
    ranked_list(page, title, sides, (&ranking.stability, ranking.points + ranking.not_used))?;
    page.paragraph(
        Role::Quiet,
        "",
        "Failed requests: mean share over the load levels. Outages: silences of at least 1 s and at least 10 times the median response \
        time of the slowest operation. Differences between clients: standard deviation of the clients' iterations divided by their \
        mean, if this is known for three or more load levels. Outages and differences between clients come only from levels at which \
        the load generator was on time.",
    )
}

/// Each number with the servers in order of their places; `levels` is how many there are in all.
fn ranked_list(page: &mut Page<'_>, title: &str, sides: &[Findings], (list, levels): (&[Ranked], u64)) -> fmt::Result {
    page.heading(title)?;
    page.blank()?;
    let mut table = Table::new().left(4);
    table.head(&["Place", "Server", "Value", "", "Name"]);
    for ranked in list {
        // All are in one column: each says its own unit.
        let unit = match ranked.unit {
            ComparedUnit::Seconds => format!(" {}", page.scale().words()),
            ComparedUnit::PerSecond if ranked.metric == "iterations" => " (iterations/s)".to_owned(),
            ComparedUnit::PerSecond => " (op/s)".to_owned(),
            ComparedUnit::PerHour => " (per hour)".to_owned(),
            ComparedUnit::Share => String::new(),
            ComparedUnit::BytesPerSecond => " (MB/s)".to_owned(),
        };
        let word = format!("by {}{unit}", ranked.words());
        let points = ranked.estimates.iter().flatten().find_map(|one| one.of).unwrap_or(0);
        table.row(vec![format!("{word}, {points} of {levels} load levels:")]);
        order(sides, ranked, page.scale()).into_iter().for_each(|cells| table.row(cells));
    }
    page.table(&table)?;
    for ranked in list.iter().filter(|ranked| !ranked.pairs.is_empty()) {
        let said: Vec<String> = ranked
            .pairs
            .iter()
            .map(|pair| format!("{} over {} {}", pair.other, pair.baseline, change_of(ranked.unit, &pair.difference)))
            .collect();
        page.paragraph(Role::Plain, "", &format!("{}: {}", ranked.metric, said.join("; ")))?;
    }
    Ok(())
}

/// A line for each server, the first place first.
fn order(sides: &[Findings], ranked: &Ranked, scale: TimeScale) -> Vec<Vec<String>> {
    let place = |at: &usize| ranked.places.get(*at).copied().flatten();
    let mut order: Vec<usize> = (0..sides.len()).collect();
    order.sort_by_key(|at| (place(at).unwrap_or(u64::MAX), *at));
    let line = |at: usize| {
        let (side, estimate) = (sides.get(at)?, ranked.estimates.get(at)?);
        Some(vec![
            place(&at).map_or_else(|| NONE.to_owned(), |place| format!("  {place}")),
            side.letter.clone(),
            estimate_of(ranked.unit, estimate.as_ref(), scale),
            String::new(),
            side.target().unwrap_or(&side.name).to_owned(),
        ])
    };
    order.into_iter().filter_map(line).collect()
}
