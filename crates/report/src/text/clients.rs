//! Outliers among clients and sizes.

use std::fmt;

use super::page::{Page, Role};
use super::table::Table;
use super::units::{NONE, TimeScale, significant, time};
use crate::findings::{Findings, LoadLevel, OutlierClient, OutlierKind, SizeCurve};

/// Maximum number of sizes or levels side by side in one table.
const COLUMNS: usize = 6;

/// A line a level with several clients, and a sentence for each client that stands out.
pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let several: Vec<&LoadLevel> = findings.levels.iter().filter(|level| level.facts.spread.stddev.is_some()).collect();
    if !several.is_empty() {
        spread(page, &several)?;
    }
    matrix(page, findings)?;
    findings.sizes.iter().try_for_each(|curve| sizes(page, curve))
}

fn spread(page: &mut Page<'_>, levels: &[&LoadLevel]) -> fmt::Result {
    let scale = page.scale();
    page.heading(&format!(
        "Spread between clients (mean time of an action {}; std dev, min and max are divided by the mean):",
        scale.words()
    ))?;
    page.blank()?;
    let mut table = Table::new();
    table.head(&["Level", "Mean", "Std dev", "Min", "Max", "With errors", "Stand out"]);
    for level in levels {
        let number = |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), |value| format!("{value:.2}"));
        let spread = &level.facts.spread;
        let role = if spread.outlier_clients > 0 { Role::Bad } else { Role::Plain };
        table.row_as(
            role,
            vec![
                level.words(),
                spread.mean_s.map_or_else(|| NONE.to_owned(), |mean| scale.brief(mean)),
                number(spread.stddev),
                number(spread.min),
                number(spread.max),
                spread.clients_with_errors.to_string(),
                spread.outlier_clients.to_string(),
            ],
        );
    }
    page.table(&table)?;
    for level in levels {
        for odd in &level.facts.spread.outliers {
            page.paragraph(Role::Bad, "  ", &format!("At {}: {}", level.words(), sentence(odd)))?;
        }
        if let Some(said) = unjudged(level) {
            page.paragraph(Role::Quiet, "  ", &format!("At {}: {said}", level.words()))?;
        }
    }
    Ok(())
}

/// A statement that the clients cannot be judged.
pub(crate) fn unjudged(level: &LoadLevel) -> Option<String> {
    let count = level.facts.spread.unjudged_clients;
    (count > 0).then(|| {
        format!(
            "{count} of {} clients were not judged, because their threads ran fewer than four clients each. Clients of different threads \
            cannot be compared: the threads' run-queue delays or wake-up lags differ or are unknown. Use --threads 1, or pin each \
            thread to a separate CPU.",
            level.facts.clients
        )
    })
}

/// A sentence about an outlier.
pub(crate) fn sentence(odd: &OutlierClient) -> String {
    let OutlierClient { client, how, mean_s, usual_s, errors, attempts, .. } = odd;
    match how {
        OutlierKind::Lossy => format!(
            "client {client} has far more errors than the other clients: {errors} of its {attempts} operations failed."
        ),
        OutlierKind::Slower | OutlierKind::Quicker => {
            let shown = |seconds: &Option<f64>| seconds.map_or_else(|| NONE.to_owned(), time);
            let (own, usual, how) = (shown(mean_s), shown(usual_s), how.label());
            format!(
                "client {client} is served {how} than the other clients: its actions take {own} on average; the median of all clients is {usual}."
            )
        }
    }
}

/// Mean response time of each size at each load, where both were varied.
fn matrix(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let varied = |level: &LoadLevel| level.facts.varied.as_ref().map(|varied| varied.value.clone());
    let (mut values, mut loads): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
    for level in &findings.levels {
        let Some(value) = varied(level) else { continue };
        if !values.contains(&value) {
            values.push(value);
        }
        if !loads.contains(&level.facts.load_name.as_str()) {
            loads.push(&level.facts.load_name);
        }
    }
    if loads.len() < 2 || !(2..=COLUMNS).contains(&values.len()) {
        return Ok(());
    }
    let at = |load: &str, value: &String| {
        let level = findings
            .levels
            .iter()
            .find(|level| level.facts.load_name == load && varied(level).as_ref() == Some(value))?;
        level.facts.validity.valid.then_some(level.headline_time()?.mean_s)
    };
    let all = loads.iter().flat_map(|load| values.iter().filter_map(|value| at(load, value)));
    let scale = TimeScale::of(all);
    let name =
        findings.levels.iter().find_map(|level| Some(level.facts.varied.as_ref()?.name.as_str())).unwrap_or_default();
    page.heading(&format!("Mean response time for each value of {name}, at each load ({}):", scale.words()))?;
    page.blank()?;
    let mut table = Table::new();
    let mut head = vec!["Level"];
    head.extend(values.iter().map(String::as_str));
    table.head(&head);
    for load in &loads {
        let mut cells = vec![(*load).to_owned()];
        cells.extend(values.iter().map(|value| scale.show_maybe(at(load, value))));
        table.row(cells);
    }
    page.table(&table)
}

/// Sizes that stand out; and how many do not.
fn sizes(page: &mut Page<'_>, curve: &SizeCurve) -> fmt::Result {
    page.heading(&format!(
        "Values of {} that stand out from the neighbouring sizes, at {}:",
        curve.parameter, curve.load_name
    ))?;
    page.blank()?;
    let odd: Vec<_> = curve.points.iter().filter(|point| point.outlier.is_some()).collect();
    let mut table = Table::new().left(4);
    table.head(&["Size", "Mean", "Expected", "Times", "How"]);
    for point in &odd {
        let expected = point.expected_s.map_or_else(|| NONE.to_owned(), time);
        let times = point
            .expected_s
            .filter(|expected| *expected > 0.0)
            .map_or_else(|| NONE.to_owned(), |expected| significant(point.mean_s / expected));
        let how = point.outlier.clone().unwrap_or_default();
        table.row_as(Role::Bad, vec![point.value.clone(), time(point.mean_s), expected, times, how]);
    }
    if !odd.is_empty() {
        page.table(&table)?;
    }
    let judged = curve.points.iter().filter(|point| point.expected_s.is_some()).count();
    let note = format!(
        "Sizes that stand out: {} of {judged} judged. Not judged, because they have too few neighbouring sizes: {}. Expected times are \
        interpolated from the neighbouring sizes.",
        odd.len(),
        curve.points.len() - judged
    );
    page.paragraph(Role::Quiet, "", &note)
}
