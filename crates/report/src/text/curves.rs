//! What several load levels tell together.

use std::fmt;

use super::page::{Page, Role};
use super::table::Table;
use super::units::{NONE, TimeScale, significant, time};
use crate::findings::{CurveMaximum, Findings, Interval, LoadCurve, LoadLevel};

/// A table and three numbers a curve; nothing where there is one load only.
pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    findings.curves.iter().try_for_each(|curve| draw_one(page, findings, curve))
}

fn draw_one(page: &mut Page<'_>, findings: &Findings, curve: &LoadCurve) -> fmt::Result {
    let of = curve.curve.as_deref().map_or_else(String::new, |name| format!(" of {name}"));
    let levels: Vec<&LoadLevel> = curve.points.iter().filter_map(|point| level(findings, point.level)).collect();
    groups(page, &format!("Load curve{of}"), &levels)?;
    page.paragraph(Role::Plain, "Highest:  ", &highest(curve, findings))?;
    page.paragraph(Role::Plain, "Knee:     ", &knee(curve))?;
    let overall = curve.overall_response_time_s.map_or_else(|| NONE.to_owned(), time);
    let overall = format!(
        "{overall} (area under the curve of response time against throughput, divided by the highest throughput)"
    );
    page.paragraph(Role::Plain, "Overall:  ", &overall)
}

fn level(findings: &Findings, number: u32) -> Option<&LoadLevel> {
    findings.levels.iter().find(|level| level.number == number)
}

/// How sure the numbers are, data a second, and the mean response time of each group.
fn groups(page: &mut Page<'_>, title: &str, levels: &[&LoadLevel]) -> fmt::Result {
    let mut names: Vec<&str> = Vec::new();
    for row in levels.iter().flat_map(|level| &level.groups).filter(|row| !row.group.contains('.')) {
        if row.headline_time().is_some() && !names.contains(&row.group.as_str()) {
            names.push(&row.group);
        }
    }
    let mean = |level: &LoadLevel, name: &str| {
        level.groups.iter().find(|row| row.group == name).and_then(|row| Some(row.headline_time()?.mean_s))
    };
    let all = levels.iter().flat_map(|level| names.iter().filter_map(|name| mean(level, name)));
    let scale = TimeScale::of(all);
    let from = levels.first().map_or("", |level| level.headline.words());
    page.heading(&format!("{title} (mean response time{from} of each group {}):", scale.words()))?;
    page.blank()?;
    let mut table = Table::new();
    let mut head = vec!["Level", "op/s ±", "Mean ±", "Mbit/s"];
    head.extend(&names);
    table.head(&head);
    for level in levels {
        let data = level.read_bytes_per_s + level.write_bytes_per_s;
        let mean_s = level.headline_time().map(|times| times.mean_s);
        let mut cells = vec![
            level.facts.load_name.clone(),
            sureness(Some(level.operations_per_s), level.facts.operations_per_s_interval),
            sureness(mean_s, level.facts.response_mean_interval),
            if data > 0.0 { significant(data * 8.0 / 1e6) } else { NONE.to_owned() },
        ];
        cells.extend(names.iter().map(|name| scale.show_maybe(mean(level, name))));
        table.row_as(if level.facts.validity.valid { Role::Plain } else { Role::Bad }, cells);
    }
    page.table(&table)?;
    page.paragraph(
        Role::Quiet,
        "",
        "±: half of the 95 % interval, estimated from the differences between parts of the measured phase.",
    )
}

/// Half an interval, over the number.
fn sureness(value: Option<f64>, interval: Option<Interval>) -> String {
    match (value, interval) {
        (Some(value), Some(Interval { low, high })) if value > 0.0 => {
            format!("{:.1} %", (high - low) / 2.0 / value * 100.0)
        }
        _ => NONE.to_owned(),
    }
}

fn highest(curve: &LoadCurve, findings: &Findings) -> String {
    let Some(CurveMaximum { level: number, operations_per_s, interval, not_shown_lower, .. }) = &curve.maximum else {
        return "unknown: no load level of this curve is valid".to_owned();
    };
    let load = |number: &u32| level(findings, *number).map_or_else(String::new, |level| level.facts.load_name.clone());
    let interval = interval
        .map_or_else(String::new, |Interval { low, high }| format!(" ({} to {})", significant(low), significant(high)));
    let others: Vec<String> = not_shown_lower.iter().map(load).collect();
    let others = if others.is_empty() {
        String::new()
    } else {
        format!("; throughput at {} is not significantly lower", others.join(", "))
    };
    format!("{} op/s{interval} at {}{others}", significant(*operations_per_s), load(number))
}

fn knee(curve: &LoadCurve) -> String {
    let law = curve.law.map_or_else(String::new, |law| {
        format!(
            "; fit of the Universal Scalability Law: λ {lambda} op/s, contention σ {sigma}, coherency κ {kappa}; standard deviation \
            of the points from the fit {deviation:.1} %",
            lambda = significant(law.lambda_per_s),
            sigma = significant(law.sigma),
            kappa = significant(law.kappa),
            deviation = law.deviation * 100.0
        )
    });
    let found = match (curve.knee.load, curve.knee.interval, &curve.knee.missing) {
        (Some(load), Some(Interval { low, high }), _) => {
            format!("at {load:.1} {} ({low:.1} to {high:.1})", curve.load)
        }
        (.., Some(why)) => format!("not identifiable: {why}"),
        _ => "not identifiable".to_owned(),
    };
    format!("{found}{law}")
}
