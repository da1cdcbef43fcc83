//! The first screen of a comparison: the sides, the conditions, the diagnosis, and the numbers of all operations with the largest
//! differences of groups and procedures.

use super::super::comparison::{before, change_of, detectable_everywhere, is_shown, row_name, verdict};
use super::super::described;
use super::super::page::{Page, Role};
use super::super::table::Table;
use super::super::units::{NONE, TimeScale, in_table, unit_label};
use super::{Block, LINES, Look, TABLES, drawn, foot, statements};
use crate::findings::comparison::{
    ComparedLevel, ComparedMetric, ComparedRow, ComparedUnit, ComparedVerdict, Comparison, Difference, Estimate,
};
use crate::findings::{Findings, Rule};
use crate::safe;
use std::fmt;

/// Numbers of all operations on a first screen.
const ALL: [&str; 5] = ["throughput", "mean", "p50", "p99", "errors"];
/// Maximum width of a row's name.
const NAME: usize = 30;
/// Lines of a head at most; warnings beyond are in the whole report.
const HEAD: usize = 14;

/// INVALID levels with a reason on a first screen.
const INVALID: usize = 3;
/// Maximum width of such a reason.
const REASON: usize = 160;

/// A number of a level, against the baseline.
struct Line<'c> {
    words: &'c str,
    place: usize,
    row: &'c ComparedRow,
    metric: &'c ComparedMetric,
}

impl<'c> Line<'c> {
    fn difference(&self) -> Option<&'c Difference> {
        self.metric.differences.get(self.place)?.as_ref()
    }

    /// How large a difference that was shown is; none where none was.
    fn size(&self) -> Option<f64> {
        let found = self.difference()?;
        let shown = matches!(found.verdict, ComparedVerdict::Better | ComparedVerdict::Worse);
        shown.then(|| found.relative.unwrap_or(found.value).abs() + if found.holm_significant { 1e6 } else { 0.0 })
    }
}

pub(super) fn blocks(sides: &[Findings], comparison: &Comparison, look: Look<'_>) -> Vec<Block> {
    let mut head = drawn(look, |page| before(page, sides, comparison));
    head.extend(drawn(look, |page| described::guarantees(page, (sides, &comparison.guarantees), false)));
    head.extend(drawn(look, |page| described::differences(page, sides)));
    if head.len() > HEAD {
        let left_out = head.len() - (HEAD - 1);
        head.truncate(HEAD - 1);
        head.push(format!("({left_out} more lines: --full)"));
    }
    let foot = drawn(look, |page| foot(page, &comparison.diagnosis));
    let room = LINES.saturating_sub(head.len() + foot.len() + 2);
    let diagnosis = statements(&comparison.diagnosis, look, room.saturating_sub(TABLES));
    let room = room.saturating_sub(diagnosis.len() + usize::from(!diagnosis.is_empty()));
    let invalid = drawn(look, |page| invalid_levels(page, sides, comparison));
    let room = room.saturating_sub(invalid.len() + usize::from(!invalid.is_empty()));
    let detectable = drawn(look, |page| detectable(page, sides, comparison));
    let room = room.saturating_sub(detectable.len());
    let mut table = drawn(look, |page| table(page, sides, comparison, room));
    if !table.is_empty() {
        table.extend(detectable);
    }
    vec![head, diagnosis, table, invalid, foot]
}

/// The INVALID levels of sides that are valid as a whole, as the single runs of a search may be. The head has the reasons of other sides.
fn invalid_levels(page: &mut Page<'_>, sides: &[Findings], comparison: &Comparison) -> fmt::Result {
    let of = |level: &ComparedLevel, side: &Findings| {
        let is_it = side.validity.valid && level.invalid.contains(&side.letter);
        let reason = is_it.then(|| reason_at(side, &level.level_name))?;
        Some(format!("At {}: the numbers of {} are INVALID{reason}", level.level_name, side.letter))
    };
    let all: Vec<String> =
        comparison.levels.iter().flat_map(|level| sides.iter().filter_map(move |side| of(level, side))).collect();
    for text in all.iter().take(INVALID) {
        page.paragraph(Role::Bad, "! ", text)?;
    }
    match all.len().saturating_sub(INVALID) {
        0 => Ok(()),
        1 => page.paragraph(Role::Bad, "! ", "1 more load level is INVALID: --full"),
        more => page.paragraph(Role::Bad, "! ", &format!("{more} more load levels are INVALID: --full")),
    }
}

/// The first reason why a side's numbers at a level must not be used.
fn reason_at(side: &Findings, words: &str) -> String {
    let levels = side.levels.iter().filter(|level| level.words() == words);
    let reason = levels.filter_map(|level| level.facts.validity.invalidating().first()).next();
    reason.map_or_else(String::new, |reason| format!(": {}", safe::fit_middle(reason, REASON)))
}

fn table(page: &mut Page<'_>, sides: &[Findings], comparison: &Comparison, room: usize) -> fmt::Result {
    let lines = choose(comparison, room.saturating_sub(3));
    if lines.is_empty() {
        return Ok(());
    }
    let scale = page.scale();
    page.heading(&format!("Compared with {} (times {}):", letter(sides, 0), scale.words()))?;
    let mut table = Table::new().left(4);
    let two = sides.len() == 2;
    let change = if two { format!("{} over {}", letter(sides, 1), letter(sides, 0)) } else { "Change".to_owned() };
    let other = if two { letter(sides, 1) } else { "Other" };
    table.head(&["", letter(sides, 0), other, &change, "Verdict"]);
    let (mut of, several) = (None, comparison.levels.len() > 1 || !two);
    for line in &lines {
        let this = (line.words, line.place);
        if several && of != Some(this) {
            table.row(vec![format!("{}, {}", letter(sides, line.place + 1), line.words)]);
        }
        of = Some(this);
        let estimate = |at: usize| shown(line.metric, line.metric.estimates.get(at).and_then(Option::as_ref), scale);
        let found = line.difference();
        let role = match line.size() {
            Some(_) if found.is_some_and(|found| found.verdict == ComparedVerdict::Worse) => Role::Bad,
            _ => Role::Plain,
        };
        table.row_as(
            role,
            vec![
                safe::fit_middle(&format!("{} {}", row_name(line.row), unit_label(&line.metric.metric)), NAME),
                estimate(0),
                estimate(line.place + 1),
                found.map_or_else(|| NONE.to_owned(), |found| change_of(line.metric.unit, found)),
                found.map_or_else(|| "cannot tell".to_owned(), verdict),
            ],
        );
    }
    page.table(&table)?;
    let level = comparison.method.confidence * 100.0;
    page.paragraph(
        Role::Quiet,
        "",
        &format!("(… …): {level:.0} % interval. *: significant after Holm's correction for the number of tests."),
    )
}

/// What "none shown" excludes, unless the diagnosis says it.
fn detectable(page: &mut Page<'_>, sides: &[Findings], comparison: &Comparison) -> fmt::Result {
    // Longer runs would not show a difference of clocks that differ.
    if sides.iter().any(Findings::is_of_client) && !sides.iter().all(Findings::is_of_client) {
        return Ok(());
    }
    let one_pair = comparison.levels.iter().all(|level| level.runs.len() == 2);
    let mut rules = comparison.diagnosis.statements.iter().map(|statement| statement.rule);
    if one_pair && rules.any(|rule| rule == Rule::NoDifference) {
        return Ok(());
    }
    detectable_everywhere(comparison).map_or(Ok(()), |sentence| page.paragraph(Role::Quiet, "", &sentence))
}

fn letter(sides: &[Findings], place: usize) -> &str {
    sides.get(place).map_or("", |side| &side.letter)
}

fn shown(metric: &ComparedMetric, estimate: Option<&Estimate>, scale: TimeScale) -> String {
    let Some(Estimate { value, .. }) = estimate else { return NONE.to_owned() };
    if metric.unit == ComparedUnit::Seconds { scale.show(*value) } else { in_table(metric.unit, *value) }
}

/// All operations at each level, then the largest differences that were shown of the rest; in the order of the levels.
fn choose(comparison: &Comparison, room: usize) -> Vec<Line<'_>> {
    let mut all: Vec<(bool, Line<'_>)> = Vec::new();
    for level in &comparison.levels {
        let others = level.runs.len().saturating_sub(1);
        for place in 0..others {
            for row in level.rows.iter().filter(|row| row.scope != "operation") {
                for metric in row.metrics.iter().filter(|metric| is_shown(row, metric, place)) {
                    let first = row.scope == "all" && ALL.contains(&metric.metric.as_str());
                    all.push((first, Line { words: &level.level_name, place, row, metric }));
                }
            }
        }
    }
    let pairs = comparison.levels.iter().map(|level| level.runs.len().saturating_sub(1)).sum::<usize>();
    let heads = if pairs > 1 { pairs } else { 0 };
    let mut order: Vec<usize> = (0..all.len()).filter(|&at| all[at].0 || all[at].1.size().is_some()).collect();
    let rank = |at: &usize| all[*at].1.size().unwrap_or(0.0);
    order.sort_by(|a, b| all[*b].0.cmp(&all[*a].0).then(rank(b).total_cmp(&rank(a))));
    order.truncate(room.saturating_sub(heads));
    let mut place = 0;
    all.retain(|_| {
        place += 1;
        order.contains(&(place - 1))
    });
    all.into_iter().map(|(_, line)| line).collect()
}
