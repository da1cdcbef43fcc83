//! All load levels of all sides on one sheet: Swartz's (1997) figures 2 and 3 with a line a server, and a table of every point.

use super::charts::Across;
use super::{before, notices, show};
use crate::findings::comparison::{ComparedLevel, ComparedMetric, ComparedVerdict, Comparison, Difference};
use crate::findings::{Findings, Report};
use crate::html::chart::Unit;
use crate::html::figure::Figure;
use crate::html::picture::COLORS;
use crate::html::table::scrolled;
use crate::html::units::{UNKNOWN, bits};
use crate::html::untrusted::Untrusted;
use crate::html::{Section, document};
use maud::{Markup, html};

/// The drawn groups: those of Swartz's (1997) Table 1.
const DRAWN: [(&str, &str, &str); 4] = [
    ("points-read", "Read", "Mean response time, Read"),
    ("points-write", "Write", "Mean response time, Write"),
    ("points-open", "Open/Close", "Mean response time, Open/Close"),
    ("points-other", "Other", "Mean response time, Other"),
];
const EXPLANATION: &str = "Each side at each load level; the band is the confidence interval.";

/// A comparison as one HTML page that is one sheet of paper, where it has a few sides and up to some ten load levels.
///
/// # Errors
///
/// Something cannot be serialised: a number is one that JSON has no text for.
pub fn compact(report: &Report) -> Result<String, serde_json::Error> {
    let Report { sides, comparison: Some(comparison), .. } = report else { return super::super::page(report) };
    let points = Section::new("points", "Against load").figures(figures(sides, comparison));
    let summary = [notices(sides), before(comparison), table(sides, comparison)];
    let sections = vec![points, Section::new("summary", "All points").text(summary)];
    document(report, "File servers on one page", sections, None)
}

fn figures<'a>(sides: &'a [Findings], comparison: &'a Comparison) -> Vec<Figure<'a>> {
    let of_all = |id, title, metric, unit, times| Across {
        id,
        title,
        explanation: EXPLANATION,
        group: None,
        metric,
        unit,
        times,
    };
    let data = of_all("points-data", "Throughput, data", "bytes", Unit::BitsPerSecond, 8.0);
    let rates = of_all("points-operations", "Throughput, operations", "throughput", Unit::PerSecond, 1.0);
    let of_group = |(id, group, title)| Across {
        id,
        title,
        explanation: EXPLANATION,
        group: Some(group),
        metric: "mean",
        unit: Unit::Seconds,
        times: 1.0,
    };
    let moved = comparison.moves_data().then_some(data);
    let all = moved.into_iter().chain([rates]).chain(DRAWN.into_iter().map(of_group));
    all.filter_map(|one| one.figure(sides, comparison)).collect()
}

fn table(sides: &[Findings], comparison: &Comparison) -> Markup {
    let groups = comparison.groups();
    let several = sides.len();
    html! {
        (scrolled("points-caption", "points", html! {
            "Every load level of every side: throughput, and the mean response time of each group. The difference \
            from the first side stands beside each number: ▲ better, ▼ worse, = none shown, ? cannot tell."
            @if comparison.has_neutral() {
                " △ more, ▽ fewer: neither better nor worse, because a capture does not show how much its clients requested."
            }
            @if comparison.method.tested > 0 {
                " About " (format!("{:.0}", comparison.method.by_chance)) " of " (comparison.method.tested)
                " tested numbers would appear to differ by chance, even without a real difference. *: significant after \
                 Holm's correction for the number of tests."
            }
        }, html! {
            thead { tr {
                th scope="col" { "Level" } th.text scope="col" { "Of" } th scope="col" { "Operations" } th scope="col" { "Data" }
                th scope="col" { "Data, in bits" } @for group in &groups { th scope="col" { (own_name(group)) } }
            } }
            @for level in &comparison.levels {
                tbody { @for (place, side) in sides.iter().enumerate() {
                    tr {
                        @if place == 0 { th scope="rowgroup" rowspan=(several) { (Untrusted(&level.level_name)) } }
                        th.text scope="row" { i class={ "swatch s" (place % COLORS) } {} (Untrusted(&side.letter)) }
                        (cells(level, place, &groups))
                    }
                } }
            }
        }))
    }
}

/// A subgroup's name without its group's, behind which it stands.
fn own_name(group: &str) -> &str {
    group.split_once('.').map_or(group, |(_, own)| own)
}

fn cells(level: &ComparedLevel, place: usize, groups: &[&str]) -> Markup {
    let data = level.number(None, "bytes");
    html! {
        (cell(level.number(None, "throughput"), place))
        (cell(data, place))
        td { (value(data, place).map_or_else(|| UNKNOWN.to_owned(), |bytes| format!("{}/s", bits(bytes * 8.0)))) }
        @for group in groups { (cell(level.number(Some(group), "mean"), place)) }
    }
}

fn value(metric: Option<&ComparedMetric>, place: usize) -> Option<f64> {
    Some(metric?.estimates.get(place)?.as_ref()?.value)
}

fn cell(metric: Option<&ComparedMetric>, place: usize) -> Markup {
    html! {
        td {
            @match (metric, value(metric, place)) {
                (Some(metric), Some(number)) => {
                    (show(number, metric.unit))
                    // The baseline differs from nothing.
                    @if let (Some(other), true) = (place.checked_sub(1), value(Some(metric), 0).is_some()) {
                        " " (mark(metric.differences.get(other).and_then(Option::as_ref)))
                    }
                },
                _ => (UNKNOWN),
            }
        }
    }
}

fn mark(difference: Option<&Difference>) -> Markup {
    let Some(difference) = difference else { return html! { small { "?" } } };
    let by = difference.relative.map_or_else(String::new, |share| format!("{:.0} %", share.abs() * 100.0));
    let remains = if difference.holm_significant { "*" } else { "" };
    html! {
        @match difference.verdict {
            ComparedVerdict::Better => small.better { "▲" (by) (remains) },
            ComparedVerdict::Worse => small.worse { "▼" (by) (remains) },
            ComparedVerdict::More => small { "△" (by) (remains) },
            ComparedVerdict::Fewer => small { "▽" (by) (remains) },
            ComparedVerdict::NotShown => small { "=" },
            ComparedVerdict::CannotTell => small { "?" },
        }
    }
}
