//! The first sections of a comparison page: verdicts on the differences.

mod charts;
mod compact;
mod procedures;
mod ranking;

use super::table::scrolled;
use super::units::{bytes, duration, percent};
use super::untrusted::Untrusted;
use super::{Section, summary};
use crate::findings::Findings;
use crate::findings::comparison::{
    ComparedLevel, ComparedMetric, ComparedRow, ComparedUnit, ComparedVerdict, Comparison, Difference, Estimate,
};
pub use compact::compact;
use maud::{Markup, html};

/// Verdicts on the differences.
pub(super) fn sections<'a>(sides: &'a [Findings], comparison: &'a Comparison) -> Vec<Section<'a>> {
    let levels = comparison.levels.iter().enumerate();
    vec![
        Section::new("diagnosis", "Diagnosis").text(super::diagnosis::diagnosis(&comparison.diagnosis)),
        Section::new("summary", "Summary").text([summary(sides, comparison)]),
        Section::new("guarantees", "Server guarantees")
            .text(super::described::guarantees(sides, &comparison.guarantees)),
        Section::new("ranking", "Ranking by load")
            .figures(ranking::figures(sides, comparison))
            .text(ranking::tables(sides, comparison)),
        Section::new("differences", "Differences")
            .figures(charts::figures(sides, comparison))
            .figures(procedures::figures(sides, comparison))
            .text(levels.map(|(i, level)| table(sides, comparison, level, i))),
    ]
}

/// Number of differences of all levels with each verdict.
#[derive(Default)]
struct Verdicts {
    better: usize,
    worse: usize,
    /// Throughputs of captures.
    neutral: usize,
    not_shown: usize,
    unknown: usize,
}

fn verdicts(comparison: &Comparison) -> Verdicts {
    let metrics = comparison.levels.iter().flat_map(|level| &level.rows).flat_map(|row| &row.metrics);
    let mut sums = Verdicts::default();
    for difference in metrics.flat_map(|metric| metric.differences.iter().flatten()) {
        match difference.verdict {
            ComparedVerdict::Better => sums.better += 1,
            ComparedVerdict::Worse => sums.worse += 1,
            ComparedVerdict::More | ComparedVerdict::Fewer => sums.neutral += 1,
            ComparedVerdict::NotShown => sums.not_shown += 1,
            ComparedVerdict::CannotTell => sums.unknown += 1,
        }
    }
    sums
}

fn summary(sides: &[Findings], comparison: &Comparison) -> Markup {
    let Verdicts { better, worse, neutral, not_shown, unknown } = verdicts(comparison);
    html! {
        (notices(sides))
        p.story {
            @for (place, other) in sides.iter().enumerate().skip(1) { (sentence(comparison, other, place - 1)) }
            @if comparison.method.tested > 0 {
                "Of " (comparison.method.tested) " tested numbers, " (worse) " are worse and " (better) " better; " (not_shown)
                " show no difference. Even without a real difference, about " (format!("{:.0}", comparison.method.by_chance))
                " would appear to differ by chance. "
                @if neutral > 0 {
                    "Throughputs that differ, but are neither better nor worse, because a capture does not show how much its clients \
                     requested: " (neutral) ". "
                }
            }
            @if unknown > 0 { "Numbers that cannot be compared, because those of one side are INVALID, lack operations or come from a late load generator, or because the loads, the workloads, the mixes of operations or the places of measurement (capture, client) differ: " (unknown) "." }
        }
        (before(comparison))
    }
}

/// The reasons against the numbers of each side.
fn notices(sides: &[Findings]) -> Markup {
    html! { @for side in sides {
        (summary::notice(
            &side.validity,
            &format!("The numbers of {} must not be used.", side.letter),
            &format!("Some numbers of {} are incomplete or not reliable.", side.letter),
        ))
    } }
}

/// Warnings about the differences, and the conditions.
fn before(comparison: &Comparison) -> Markup {
    html! {
        (conditions(comparison))
        @if !comparison.warnings.is_empty() {
            div.notice {
                h3 { "Warnings" }
                ul { @for warning in &comparison.warnings { li { (Untrusted(warning)) } } }
            }
        }
    }
}

/// The conditions, and whether each failed.
fn conditions(comparison: &Comparison) -> Markup {
    html! {
        @for condition in &comparison.conditions {
            div.notice.bad[condition.outcome == "failed"] {
                p { code { "--fail-if \"" (Untrusted(&condition.text)) "\"" } ": " strong { (Untrusted(&condition.outcome)) } }
                ul { @for because in &condition.because { li { (Untrusted(because)) } } }
            }
        }
    }
}

/// A sentence about all operations together, at the last level.
fn sentence(comparison: &Comparison, other: &Findings, place: usize) -> Markup {
    let level = comparison.levels.last();
    let all = level.and_then(|level| level.rows.iter().find(|row| row.scope == "all"));
    let metrics = all.into_iter().flat_map(|row| &row.metrics).filter(|metric| metric.is_brief());
    let told: Vec<(&ComparedMetric, &Difference)> =
        metrics.filter_map(|metric| Some((metric, metric.differences.get(place)?.as_ref()?))).collect();
    html! {
        @if let (Some(level), false) = (level, told.is_empty()) {
            strong { (Untrusted(&other.letter)) } " against the baseline, all operations together, at " (Untrusted(&level.level_name)) ": "
            @if !level.invalid.is_empty() && told.iter().any(|(_, difference)| difference.verdict == ComparedVerdict::CannotTell) {
                "not comparable, because the numbers of " (Untrusted(&level.invalid.join(" and "))) " must not be used. "
            } @else {
            @for (i, (metric, difference)) in told.iter().enumerate() {
                @if i > 0 { ", " }
                (metric_name(&metric.metric)) " " strong { (change(difference, metric.unit).0) } " (" (verdict(difference)) ")"
            }
            ". "
            }
        }
    }
}

fn table(sides: &[Findings], comparison: &Comparison, level: &ComparedLevel, number: usize) -> Markup {
    let id = format!("level-{number}-caption");
    html! {
        (scrolled(&id, "compared", html! {
            (Untrusted(&level.level_name)) ": every number with its "
            (percent_of(comparison.method.confidence)) " interval, and the differences from the baseline (pt: percentage points)."
            @if comparison.method.tested > 0 { " *: significant after Holm's correction for the number of tests." }
        }, html! {
            thead { tr {
                th scope="col" { "What" } th.text scope="col" { "Number" }
                @for side in sides { th scope="col" { (Untrusted(&side.letter)) } th scope="col" { "Interval" } }
                @for other in sides.iter().skip(1) {
                    th scope="col" { (Untrusted(&other.letter)) " − baseline" } th scope="col" { "Interval" } th.text scope="col" { "Verdict" }
                }
            } }
            tbody { @for row in &level.rows { @for metric in shown(row) { (line(row, metric)) } } }
        }))
    }
}

fn shown(row: &ComparedRow) -> impl Iterator<Item = &ComparedMetric> {
    row.metrics.iter().filter(|metric| row.scope == "all" || metric.is_brief())
}

fn line(row: &ComparedRow, metric: &ComparedMetric) -> Markup {
    html! {
        tr {
            th scope="row" { @if !row.protocol.is_empty() { (Untrusted(&row.protocol)) " " } (Untrusted(&row.name)) }
            td.text { (metric_name(&metric.metric)) }
            @for estimate in &metric.estimates { (number(estimate.as_ref(), metric.unit)) }
            @for difference in &metric.differences { (cells(difference.as_ref(), metric.unit)) }
        }
    }
}

fn number(estimate: Option<&Estimate>, unit: ComparedUnit) -> Markup {
    html! {
        @match estimate {
            None => { td { "–" } td { "–" } },
            Some(estimate) => {
                td.key { (show(estimate.value, unit)) }
                td {
                    @match (estimate.low, estimate.high) {
                        (Some(low), Some(high)) => { (show(low, unit)) " – " (show(high, unit)) },
                        _ => small { (Untrusted(estimate.missing.as_deref().unwrap_or("–"))) },
                    }
                }
            },
        }
    }
}

fn cells(difference: Option<&Difference>, unit: ComparedUnit) -> Markup {
    html! {
        @match difference {
            None => { td { "–" } td { "–" } td.text { "cannot tell" } },
            Some(difference) => {
                @let (by, interval) = change(difference, unit);
                td.key { (by) }
                td { (interval) }
                td.text { (verdict(difference)) @if difference.holm_significant { " *" } }
            },
        }
    }
}

fn verdict(difference: &Difference) -> Markup {
    html! {
        @match difference.verdict {
            ComparedVerdict::Better => span.better { "better" },
            ComparedVerdict::Worse => span.worse { "worse" },
            other => (other.label()),
        }
    }
}

pub(super) fn configuration(sides: &[Findings], comparison: &Comparison) -> Markup {
    html! {
        (scrolled("configuration-caption", "configuration", html! { "Sides of the comparison and their settings." }, html! {
            thead { tr { th scope="col" { "What" } th.text scope="col" { "Value" } } }
            tbody {
                @for side in sides {
                    tr { th scope="row" { (Untrusted(&side.letter)) } td.text { bdi { (Untrusted(&side.name)) } " (" (side.kind.words()) ")" } }
                    @if let Some(run) = &side.run {
                        tr { th scope="row" { "Target" } td.text { bdi { (Untrusted(&run.target)) } } }
                        tr { th scope="row" { "Workload" } td.text { (Untrusted(&run.workload)) } }
                    }
                    @for fact in side.facts() { tr { th scope="row" { "Fact" } td.text { (Untrusted(fact)) } } }
                }
                @for note in &comparison.method.notes { tr { th scope="row" { "Method" } td.text { (Untrusted(note)) } } }
            }
        }))
    }
}

fn metric_name(metric: &str) -> Markup {
    html! {
        @match metric {
            "bytes" => "file data",
            "mean" => "mean response time",
            other => (Untrusted(other)),
        }
    }
}

pub(super) fn show(value: f64, unit: ComparedUnit) -> String {
    match unit {
        ComparedUnit::Seconds => duration(value),
        ComparedUnit::PerSecond => format!("{}/s", three_digits(value)),
        ComparedUnit::BytesPerSecond => format!("{}/s", bytes(value)),
        ComparedUnit::PerHour => format!("{}/h", three_digits(value)),
        ComparedUnit::Share => percent(value),
    }
}

fn three_digits(value: f64) -> String {
    match value.abs() {
        size if size < 9.995 => format!("{value:.2}"),
        size if size < 99.95 => format!("{value:.1}"),
        _ => super::units::count(value.round().max(0.0) as u64),
    }
}

/// A difference and its interval: of shares in percentage points; otherwise in per cent of the baseline, or in the number's own unit
/// where the baseline may be zero.
fn change(found: &Difference, unit: ComparedUnit) -> (String, String) {
    let own = [found.value, found.low, found.high];
    if unit == ComparedUnit::Share {
        return with_interval(|share| signed(share, "pt"), own);
    }
    match (found.relative, found.relative_low.zip(found.relative_high)) {
        (Some(relative), Some((low, high))) => with_interval(|share| signed(share, "%"), [relative, low, high]),
        _ => with_interval(|value| format!("{}{}", sign(value), show(value.abs(), unit)), own),
    }
}

fn with_interval(show: impl Fn(f64) -> String, [value, low, high]: [f64; 3]) -> (String, String) {
    (show(value), format!("{} to {}", show(low), show(high)))
}

fn signed(share: f64, unit: &str) -> String {
    format!("{}{:.1} {unit}", sign(share), share.abs() * 100.0)
}

fn sign(number: f64) -> &'static str {
    if number < 0.0 { "−" } else { "+" }
}

fn percent_of(confidence: f64) -> String {
    format!("{:.0} %", confidence * 100.0)
}
