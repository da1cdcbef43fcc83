//! All load levels of all sides in one table: the compact presentation that Swartz 1997 wished for.

use super::{NEUTRAL, before, notes};
use crate::findings::Findings;
use crate::findings::comparison::{ComparedLevel, ComparedMetric, ComparedVerdict, Comparison, Difference, Estimate};
use crate::text::page::{Page, Role};
use crate::text::table::Table;
use crate::text::units::{NONE, TimeScale, significant};
use std::fmt;

/// All of it as one table: a line for each load level of each side. Fails only where the page does.
pub(crate) fn draw(page: &mut Page<'_>, sides: &[Findings], comparison: &Comparison) -> fmt::Result {
    before(page, sides, comparison)?;
    // A part of a group stands in the JSON and on the page, for which a line of a terminal is too short.
    let groups: Vec<&str> = comparison.groups().into_iter().filter(|group| !group.contains('.')).collect();
    let scale = TimeScale::of(means(comparison, &groups));
    page.heading(&format!("All load levels (mean response time of each group {}):", scale.words()))?;
    page.blank()?;
    let mut table = Table::new().left(1);
    // Heads stand over the numbers, not over their marks.
    let heads = ["op/s", "MB/s", "Mbit/s"].into_iter().chain(groups.iter().copied()).map(|head| format!("{head}   "));
    let heads: Vec<String> = ["Level".to_owned(), String::new()].into_iter().chain(heads).collect();
    table.head(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    for level in &comparison.levels {
        for (place, side) in sides.iter().enumerate() {
            let name = if place == 0 { level.level_name.clone() } else { String::new() };
            let cells = [vec![name, side.letter.clone()], numbers(level, place, &groups, scale)];
            table.row(cells.concat());
        }
    }
    page.table(&table)?;
    let marks = "+ better than the baseline, - worse, = none shown (the 95 % interval includes zero), ? cannot tell.";
    page.paragraph(Role::Quiet, "", marks)?;
    if comparison.has_neutral() {
        page.paragraph(Role::Quiet, "", &format!("> more than the baseline, < fewer. {NEUTRAL}"))?;
    }
    notes(page, comparison)
}

fn means(comparison: &Comparison, groups: &[&str]) -> Vec<f64> {
    let of = |level: &ComparedLevel| -> Vec<f64> {
        let metrics = groups.iter().filter_map(|group| level.number(Some(group), "mean"));
        metrics.flat_map(|metric| metric.estimates.iter().flatten()).map(|estimate| estimate.value).collect()
    };
    comparison.levels.iter().flat_map(of).collect()
}

/// A side's numbers at a level, each with its mark.
fn numbers(level: &ComparedLevel, place: usize, groups: &[&str], scale: TimeScale) -> Vec<String> {
    let rate = |times: f64| move |value: f64| significant(value * times);
    let data = level.number(None, "bytes");
    let mut cells = vec![
        cell(level.number(None, "throughput"), place, rate(1.0)),
        cell(data, place, rate(1e-6)),
        cell(data, place, rate(8e-6)),
    ];
    cells.extend(groups.iter().map(|group| cell(level.number(Some(group), "mean"), place, |mean| scale.show(mean))));
    cells
}

fn cell(metric: Option<&ComparedMetric>, place: usize, show: impl Fn(f64) -> String) -> String {
    let Some(metric) = metric else { return format!("{NONE}   ") };
    let of = |place: usize| metric.estimates.get(place).and_then(Option::as_ref);
    let number = |estimate: &Estimate| show(estimate.value);
    let value = of(place).map_or_else(|| NONE.to_owned(), number);
    // The baseline has no difference, and a missing value neither.
    let mark = match place.checked_sub(1) {
        Some(other) if of(0).is_some() && of(place).is_some() => mark(metric.differences.get(other)),
        _ => "  ",
    };
    format!("{value} {mark}")
}

fn mark(difference: Option<&Option<Difference>>) -> &'static str {
    let Some(Some(difference)) = difference else { return "? " };
    match (difference.verdict, difference.holm_significant) {
        (ComparedVerdict::Better, true) => "+*",
        (ComparedVerdict::Better, false) => "+ ",
        (ComparedVerdict::Worse, true) => "-*",
        (ComparedVerdict::Worse, false) => "- ",
        (ComparedVerdict::More, true) => ">*",
        (ComparedVerdict::More, false) => "> ",
        (ComparedVerdict::Fewer, true) => "<*",
        (ComparedVerdict::Fewer, false) => "< ",
        (ComparedVerdict::NotShown, _) => "= ",
        (ComparedVerdict::CannotTell, _) => "? ",
    }
}
