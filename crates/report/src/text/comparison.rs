//! A comparison in the terminal: what to know before, then a table for each pair and load level.

mod compact;

use super::page::{Page, Role};
use super::table::Table;
use super::units::{NONE, TimeScale, in_table, significant, unit_label};
use super::{Section, Sections};
use crate::findings::comparison::{
    ComparedLevel, ComparedMetric, ComparedRow, ComparedUnit, ComparedVerdict, Comparison, Condition, Difference,
    Estimate, MAY_BE_HIDDEN,
};
use crate::findings::{Findings, Verdict, differing_clocks};
pub(super) use compact::draw as compact;
use std::fmt;

/// What follows from different loads or workloads.
const OTHER_LOAD: &str = "This alone may cause the differences; add --ignore-load to get verdicts nevertheless.";
/// What neutral verdicts mean.
const NEUTRAL: &str = "More, fewer: a capture does not show how much its clients requested, so a difference of throughput is neither \
                       better nor worse; add --ignore-load to get a verdict nevertheless.";

/// The part of a report that compares its sides. Fails only where the page does.
pub(super) fn draw(
    page: &mut Page<'_>,
    sides: &[Findings],
    comparison: &Comparison,
    sections: Sections,
) -> fmt::Result {
    before(page, sides, comparison)?;
    super::described::guarantees(page, (sides, &comparison.guarantees), sections == Sections::ALL)?;
    match sections == Sections::ALL {
        true => super::described::draw(page, sides)?,
        false => super::described::differences(page, sides)?,
    }
    if sections.contains(Section::Diagnosis) {
        super::diagnosis::draw(page, &comparison.diagnosis)?;
    }
    if sections.contains(Section::Ranking) {
        super::ranking::draw(page, sides, comparison)?;
    }
    let Some((baseline, others)) = sides.split_first() else { return Ok(()) };
    let differences = sections.contains(Section::Differences);
    for level in comparison.levels.iter().filter(|_| differences) {
        for (place, other) in others.iter().enumerate() {
            pair(page, level, baseline, other, place)?;
        }
    }
    if sections.contains(Section::Run) {
        super::run::tables_of(page, sides)?;
    }
    if sections.contains(Section::Clients) {
        super::drawn::draw(page, crate::tables::clients(sides))?;
    }
    if differences || sections.contains(Section::Ranking) {
        notes(page, comparison)?;
    }
    Ok(())
}

/// The compared sides, warnings, and the conditions.
pub(super) fn before(page: &mut Page<'_>, sides: &[Findings], comparison: &Comparison) -> fmt::Result {
    subjects(page, sides)?;
    // Different loads explain every other difference.
    let (loads, others): (Vec<&String>, Vec<&String>) =
        comparison.warnings.iter().partition(|warning| comparison.is_of_loads(warning));
    loads.iter().try_for_each(|warning| page.paragraph(Role::Bad, "! ", warning))?;
    for side in sides {
        verdicts(page, side)?;
    }
    others.iter().try_for_each(|warning| page.paragraph(Role::Bad, "! ", warning))?;
    conditions(page, &comparison.conditions)
}

fn subjects(page: &mut Page<'_>, sides: &[Findings]) -> fmt::Result {
    for (place, side) in sides.iter().enumerate() {
        let base = if place == 0 { " (the baseline)" } else { "" };
        let text = format!("{}{base}", side.name);
        page.paragraph(Role::Heading, &format!("{}: ", side.letter), &text)?;
        let mut about: Vec<String> = Vec::new();
        if let Some(run) = &side.run {
            about.extend((run.target != side.name).then(|| run.target.clone()));
            about.push(format!("workload {}", run.workload));
        }
        about.extend(side.facts().iter().cloned());
        if side.headline.is_from_intended() {
            about.push("response times from the intended start".to_owned());
        }
        if !about.is_empty() {
            page.paragraph(Role::Quiet, "   ", &about.join(", "))?;
        }
    }
    Ok(())
}

/// What speaks against a side's numbers: the first reason of each kind.
fn verdicts(page: &mut Page<'_>, side: &Findings) -> fmt::Result {
    for (judged, what) in [
        (Verdict::Invalid, "is INVALID (its numbers must not be used)"),
        (Verdict::Partial, "is PARTIAL (some of its numbers are incomplete or not reliable)"),
    ] {
        let reasons = side.validity.each_reason().filter(|(verdict, _)| *verdict == judged);
        let reasons: Vec<&str> = reasons.map(|(_, why)| why).collect();
        if let Some(why) = briefly(&reasons) {
            page.paragraph(Role::Bad, "! ", &format!("{} {what}: {why}", side.letter))?;
        }
    }
    Ok(())
}

/// The first of several reasons, and how many more there are. `None` where there is none.
fn briefly(reasons: &[&str]) -> Option<String> {
    let (first, others) = reasons.split_first()?;
    let more = match others.len() {
        0 => String::new(),
        1 => " (1 more reason; --json lists it)".to_owned(),
        many => format!(" ({many} more reasons; --json lists them)"),
    };
    Some(format!("{first}{more}"))
}

fn conditions(page: &mut Page<'_>, conditions: &[Condition]) -> fmt::Result {
    for condition in conditions {
        let (role, word) = match condition.outcome.as_str() {
            "failed" => (Role::Bad, "FAILED"),
            "passed" => (Role::Plain, "passed"),
            "undecided" => (Role::Heading, "UNDECIDED"),
            unknown => (Role::Bad, unknown),
        };
        page.blank()?;
        page.paragraph(role, "", &format!("--fail-if \"{}\": {word}", condition.text))?;
        for because in &condition.because {
            page.paragraph(Role::Plain, "   ", because)?;
        }
    }
    Ok(())
}

fn pair(
    page: &mut Page<'_>,
    level: &ComparedLevel,
    baseline: &Findings,
    other: &Findings,
    place: usize,
) -> fmt::Result {
    let runs = |at: usize| {
        let count = level.runs.get(at).copied().unwrap_or(0);
        let seconds = significant(level.seconds.get(at).copied().unwrap_or(0.0));
        if count == 1 { format!("{seconds} s") } else { format!("{count} runs, {seconds} s") }
    };
    page.heading(&format!(
        "{} against {}, {} ({}; {}), times {}:",
        other.letter,
        baseline.letter,
        level.level_name,
        runs(place + 1),
        runs(0),
        page.scale().words()
    ))?;
    page.blank()?;
    let mut table = Table::new().left(4);
    let change = format!("{} over {}", other.letter, baseline.letter);
    table.head(&["", &baseline.letter, &other.letter, &change, "Verdict"]);
    for row in shown_rows(&level.rows) {
        table.row(vec![row_name(row)]);
        for metric in row.metrics.iter().filter(|metric| is_shown(row, metric, place)) {
            line(&mut table, metric, place, page.scale());
        }
    }
    page.table(&table)?;
    let both = [baseline, other].map(|side| &side.letter);
    let invalid: Vec<&str> = both.into_iter().filter(|one| level.invalid.contains(one)).map(String::as_str).collect();
    if !invalid.is_empty() {
        let why = format!("Cannot tell: the numbers of {} at this level must not be used.", invalid.join(" and "));
        return page.paragraph(Role::Bad, "", &why);
    }
    if let Some(loads) = level.other_load(place + 1) {
        return page.paragraph(Role::Bad, "", &format!("Cannot tell: {loads}. {OTHER_LOAD}"));
    }
    let clocks = differing_clocks(baseline, other, place + 1);
    if let Some(clocks) = &clocks {
        page.paragraph(Role::Bad, "", &format!("No verdict on response times: {clocks}."))?;
    } else if let Some(sides) = level.sides_without_verdict(place + 1) {
        let why = format!("operations are {} {sides}, and may be the fastest or the slowest", level.lack());
        page.paragraph(Role::Bad, "", &format!("Cannot tell some differences: {why}."))?;
    }
    if let Some(why) = level.time_without_verdict(place + 1) {
        page.paragraph(Role::Bad, "", &format!("Cannot tell whether some rates differ: {why}."))?;
    }
    for (at, side) in [(0, baseline), (place + 1, other)] {
        if let Some(moved) = level.moved_words(at) {
            page.paragraph(
                Role::Bad,
                "",
                &format!("Cannot tell {moved}: the load generator of {} was late.", side.letter),
            )?;
        }
    }
    let metrics = level.rows.iter().flat_map(|row| &row.metrics);
    if metrics.filter_map(|metric| metric.differences.get(place)?.as_ref()).any(Difference::is_neutral) {
        page.paragraph(Role::Quiet, "", NEUTRAL)?;
    }
    if let Some((times, mix)) = level.times_without_verdict(place + 1) {
        let why = format!("Cannot tell {times} of all operations: the mix of operations differs ({mix}).");
        return page.paragraph(Role::Bad, "", &why);
    }
    // Longer runs would not show a difference of clocks that differ.
    if clocks.is_some() { Ok(()) } else { page.paragraph(Role::Quiet, "", &detectable(level, place)) }
}

/// All together, groups, and procedures; an operation of one procedure would say the same twice.
fn shown_rows(rows: &[ComparedRow]) -> impl Iterator<Item = &ComparedRow> {
    rows.iter().filter(|row| row.scope != "operation")
}

pub(super) fn row_name(row: &ComparedRow) -> String {
    match row.scope.as_str() {
        "group" => format!("Group {}", row.name),
        "procedure" => format!("{} {}", row.protocol, row.name),
        _ => "All operations".to_owned(),
    }
}

pub(super) fn is_shown(row: &ComparedRow, metric: &ComparedMetric, place: usize) -> bool {
    if metric.metric == "errors" {
        let any = |at: usize| metric.estimates.get(at).and_then(Option::as_ref).is_some_and(|e| e.value > 0.0);
        return any(0) || any(place + 1);
    }
    row.scope == "all" || metric.is_brief()
}

fn line(table: &mut Table, metric: &ComparedMetric, place: usize, scale: TimeScale) {
    let of = |at: usize| metric.estimates.get(at).and_then(Option::as_ref);
    let found = metric.differences.get(place).and_then(Option::as_ref);
    let role = match found.map(|found| (found.verdict, found.holm_significant)) {
        Some((ComparedVerdict::Worse, true)) => Role::Bad,
        _ => Role::Plain,
    };
    let cells = vec![
        format!("  {}", unit_label(&metric.metric)),
        estimate_of(metric.unit, of(0), scale),
        estimate_of(metric.unit, of(place + 1), scale),
        found.map_or_else(|| NONE.to_owned(), |found| change_of(metric.unit, found)),
        found.map_or_else(|| "cannot tell".to_owned(), verdict),
    ];
    table.row_as(role, cells);
}

/// `1.23 ±2.1 %`, times in the unit that the heading of the table names, or why there is no interval.
pub(super) fn estimate_of(unit: ComparedUnit, estimate: Option<&Estimate>, scale: TimeScale) -> String {
    let number = |value: f64| if unit == ComparedUnit::Seconds { scale.brief(value) } else { in_table(unit, value) };
    let Some(estimate) = estimate else { return NONE.to_owned() };
    let value = number(estimate.value);
    match (estimate.low.zip(estimate.high), &estimate.missing) {
        (Some((low, high)), _) if estimate.value > 0.0 => {
            let half = (estimate.value - low).max(high - estimate.value) / estimate.value;
            format!("{value} ±{} %", per_cent(half))
        }
        (Some((_, high)), _) => format!("{value} to {}", number(high)),
        (None, Some(missing)) => format!("{value} {missing}"),
        (None, None) => value,
    }
}

/// `+4.4 % (2.6 … 6.1)`: the difference over the baseline, with its interval; of shares in percentage points.
pub(crate) fn change_of(unit: ComparedUnit, found: &Difference) -> String {
    let shares = unit == ComparedUnit::Share;
    match (found.relative, found.relative_low.zip(found.relative_high)) {
        (Some(relative), Some((low, high))) if !shares => {
            format!("{} % ({} … {})", signed(relative), signed(low), signed(high))
        }
        _ if shares => format!("{} pt ({} … {})", signed(found.value), signed(found.low), signed(found.high)),
        // Of a baseline that may be nought there is no percentage.
        _ => {
            let [value, low, high] = [found.value, found.low, found.high].map(|value| in_table(unit, value));
            format!("{value} ({low} … {high})")
        }
    }
}

/// Two digits are all that a half-width is good for.
fn per_cent(share: f64) -> String {
    let value = share * 100.0;
    if value < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") }
}

pub(super) fn signed(share: f64) -> String {
    let text = per_cent(share.abs());
    let zero = text == "0.0";
    match share {
        _ if zero => text,
        share if share < 0.0 => format!("-{text}"),
        _ => format!("+{text}"),
    }
}

pub(super) fn verdict(found: &Difference) -> String {
    format!("{}{}", found.verdict.label(), if found.holm_significant { " *" } else { "" })
}

/// Numbers of all operations of which a report states the smallest detectable difference.
const DETECTABLE: [&str; 3] = ["throughput", "mean", "p99"];

/// What runs of this length could have shown of all operations together.
fn detectable(level: &ComparedLevel, place: usize) -> String {
    let least = DETECTABLE.map(|name| could_detect(&level.rows, place, name));
    if level.lacks_operations(place + 1) && least.iter().all(Option::is_none) {
        return MAY_BE_HIDDEN.to_owned();
    }
    detection("Runs", least)
}

/// The same of all pairs and levels whose differences have a verdict. `None` if there is no such pair.
pub(super) fn detectable_everywhere(comparison: &Comparison) -> Option<String> {
    let usable = comparison.levels.iter().filter(|level| level.invalid.is_empty());
    let pairs = usable.flat_map(|level| (0..level.runs.len().saturating_sub(1)).map(move |place| (level, place)));
    let is_judged = |level: &ComparedLevel, place| {
        level.other_load(place).is_none() && level.other_mix(place).is_none() && !level.lacks_operations(place)
    };
    let pairs: Vec<_> = pairs.filter(|(level, place)| is_judged(level, place + 1)).collect();
    if pairs.is_empty() {
        return None;
    }
    let largest = |name| {
        let each = pairs.iter().map(|(level, place)| could_detect(&level.rows, *place, name));
        each.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
    };
    let who = if pairs.len() > 1 { "For each pair and level, runs" } else { "Runs" };
    Some(detection(who, DETECTABLE.map(largest)))
}

fn could_detect(rows: &[ComparedRow], place: usize, name: &str) -> Option<f64> {
    let all = rows.iter().find(|row| row.scope == "all")?;
    let metric = all.metrics.iter().find(|metric| metric.metric == name)?;
    metric.differences.get(place)?.as_ref()?.detectable
}

fn detection(who: &str, least: [Option<f64>; 3]) -> String {
    let said: Vec<String> = DETECTABLE
        .into_iter()
        .zip(least)
        .filter_map(|(name, least)| Some(format!("{} % of {name}", per_cent(least?))))
        .collect();
    if said.is_empty() {
        return "The runs are too short to show a difference: make them longer.".to_owned();
    }
    format!(
        "{who} of this length detect a change for the worse in 9 of 10 cases if it is at least {}. They can miss smaller changes.",
        said.join(" or ")
    )
}

fn notes(page: &mut Page<'_>, comparison: &Comparison) -> fmt::Result {
    page.blank()?;
    let method = &comparison.method;
    let mut intervals = format!("± and (… …): {:.0} % intervals.", method.confidence * 100.0);
    // Of sides whose numbers must not be used nothing was tested.
    if method.tested > 0 {
        intervals.push_str(&format!(
            " {} differences were tested. Even without a real difference, about {:.0} of them would appear to differ by \
             chance. *: significant after Holm's correction for the number of tests.",
            method.tested, method.by_chance
        ));
    }
    page.paragraph(Role::Quiet, "", &intervals)?;
    method.notes.iter().try_for_each(|note| page.paragraph(Role::Quiet, "", note))
}
