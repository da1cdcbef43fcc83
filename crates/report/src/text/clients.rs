//! Outliers among clients and sizes.

use std::fmt;

use super::page::{Page, Role};
use super::table::Table;
use super::units::{NONE, TimeScale, significant, time};
use crate::findings::{Findings, OutlierClient, OutlierKind, SizeCurve, Stage};

/// Maximum number of sizes or levels side by side in one table.
const COLUMNS: usize = 6;

/// A line a level with several clients, and a sentence for each client that stands out.
pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let several: Vec<&Stage> = findings.stages.iter().filter(|stage| stage.facts.spread.stddev.is_some()).collect();
    if !several.is_empty() {
        spread(page, &several)?;
    }
    matrix(page, findings)?;
    findings.sizes.iter().try_for_each(|curve| sizes(page, curve))
}

fn spread(page: &mut Page<'_>, stages: &[&Stage]) -> fmt::Result {
    let scale = page.scale();
    page.heading(&format!(
        "Spread between clients (mean time of an action {}; std dev, min and max are divided by the mean):",
        scale.words()
    ))?;
    page.blank()?;
    let mut table = Table::new();
    table.head(&["Level", "Mean", "Std dev", "Min", "Max", "With errors", "Stand out"]);
    for stage in stages {
        let number = |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), |value| format!("{value:.2}"));
        let spread = &stage.facts.spread;
        let role = if spread.outlier_clients > 0 { Role::Bad } else { Role::Plain };
        table.row_as(
            role,
            vec![
                stage.words(),
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
    for stage in stages {
        for odd in &stage.facts.spread.outliers {
            page.paragraph(Role::Bad, "  ", &format!("At {}: {}", stage.words(), sentence(odd)))?;
        }
        if let Some(said) = unjudged(stage) {
            page.paragraph(Role::Quiet, "  ", &format!("At {}: {said}", stage.words()))?;
        }
    }
    Ok(())
}

/// A statement that the clients cannot be judged.
pub(crate) fn unjudged(stage: &Stage) -> Option<String> {
    let count = stage.facts.spread.unjudged_clients;
    (count > 0).then(|| {
        format!(
            "{count} of {} clients were not judged, because their threads ran fewer than four clients each. Clients of different threads \
            cannot be compared: the threads' run-queue delays or wake-up lags differ or are unknown. Use --threads 1, or pin each \
            thread to a separate CPU.",
            stage.facts.clients
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
    let varied = |stage: &Stage| stage.facts.varied.as_ref().map(|varied| varied.value.clone());
    let (mut values, mut levels): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
    for stage in &findings.stages {
        let Some(value) = varied(stage) else { continue };
        if !values.contains(&value) {
            values.push(value);
        }
        if !levels.contains(&stage.facts.level.as_str()) {
            levels.push(&stage.facts.level);
        }
    }
    if levels.len() < 2 || !(2..=COLUMNS).contains(&values.len()) {
        return Ok(());
    }
    let at = |level: &str, value: &String| {
        let stage =
            findings.stages.iter().find(|stage| stage.facts.level == level && varied(stage).as_ref() == Some(value))?;
        stage.facts.validity.valid.then_some(stage.headline_time()?.mean_s)
    };
    let all = levels.iter().flat_map(|level| values.iter().filter_map(|value| at(level, value)));
    let scale = TimeScale::of(all);
    let name =
        findings.stages.iter().find_map(|stage| Some(stage.facts.varied.as_ref()?.name.as_str())).unwrap_or_default();
    page.heading(&format!("Mean response time for each value of {name}, at each load ({}):", scale.words()))?;
    page.blank()?;
    let mut table = Table::new();
    let mut head = vec!["Level"];
    head.extend(values.iter().map(String::as_str));
    table.head(&head);
    for level in &levels {
        let mut cells = vec![(*level).to_owned()];
        cells.extend(values.iter().map(|value| scale.show_maybe(at(level, value))));
        table.row(cells);
    }
    page.table(&table)
}

/// Sizes that stand out; and how many do not.
fn sizes(page: &mut Page<'_>, curve: &SizeCurve) -> fmt::Result {
    page.heading(&format!(
        "Values of {} that stand out from the neighbouring sizes, at {}:",
        curve.parameter, curve.level
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
