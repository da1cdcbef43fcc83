//! The diagnosis of a comparison: the differences with their intervals, or that none is significant.

use super::measured;
use crate::findings::comparison::{
    ComparedLevel, ComparedMetric, ComparedRow, ComparedUnit, ComparedVerdict, Difference, MAY_BE_HIDDEN,
};
use crate::findings::ranking::Ranking;
use crate::findings::{Diagnosis, Findings, Rule, Statement, Verdict, differing_clocks, letter};

/// Numbers of all operations that a sentence may name.
const NUMBERS: [&str; 4] = ["throughput", "mean", "p99", "errors"];
/// Maximum number of significant differences of other numbers in a sentence, if they contradict it.
const CONTRARY: usize = 2;
/// Maximum number of levels with separate sentences; beyond it the sentence has their number.
const LEVELS: usize = 2;

pub(in super::super) fn diagnose(sides: &[Findings], levels: &[ComparedLevel], ranking: Option<&Ranking>) -> Diagnosis {
    let usable = |level: &&ComparedLevel| level.invalid.is_empty();
    if sides.len() < 2 || !levels.iter().any(|level| usable(&level)) {
        return Diagnosis::default();
    }
    let mut statements: Vec<Statement> = ranking.into_iter().flat_map(overall).collect();
    for place in 1..sides.len() {
        let (of, unlike): (Vec<&ComparedLevel>, Vec<&ComparedLevel>) =
            levels.iter().filter(usable).partition(|level| level.other_load(place).is_none());
        statements.extend(unlike.iter().take(1).filter_map(|level| loads(level, place)));
        if of.is_empty() {
            continue;
        }
        statements.extend(clocks(sides, place));
        let shown: Vec<Statement> = of.iter().filter_map(|level| all_operations(level, place, of.len())).collect();
        let left_out = shown.len().saturating_sub(LEVELS);
        let none = shown.is_empty();
        statements.extend(shown.into_iter().take(LEVELS));
        if left_out > 0 {
            let differ = if left_out == 1 { "level differs" } else { "levels differ" };
            let text = format!("{left_out} more {differ}: see --section differences.");
            statements.push(measured(Rule::Difference, text));
        }
        statements.extend(of.iter().filter_map(|level| mix(level, place, of.len())).take(LEVELS));
        if clocks(sides, place).is_none() {
            statements.extend(of.iter().filter_map(|level| lossy(level, place, of.len())).take(LEVELS));
        }
        statements.extend(of.iter().filter_map(|level| not_covered(level, place, of.len())).take(LEVELS));
        statements.extend(largest(&of, place));
        let neutral: Vec<Statement> =
            of.iter().filter_map(|level| neutral(level, place, of.len())).take(LEVELS).collect();
        if none && statements.is_empty() {
            statements.push(nothing(&of, place, !neutral.is_empty()));
        }
        statements.extend(neutral);
        statements.extend(of.iter().find_map(|level| late(level, place, of.len())));
    }
    let partial = sides.iter().any(|side| side.validity.verdict != Verdict::Valid);
    let usable_levels = levels.iter().filter(usable).count();
    if partial && usable_levels < levels.len() {
        let text = format!(
            "{left_out} of {all} load levels cannot be compared: at these levels the numbers of at least one side are INVALID.",
            left_out = levels.len() - usable_levels,
            all = levels.len(),
        );
        statements.push(measured(Rule::Difference, text));
    }
    Diagnosis { waited_s: None, statements, next: None }
}

/// The leader over all points.
fn overall(ranking: &Ranking) -> Vec<Statement> {
    let pair = |metric: &str| {
        let ranked = ranking.overall.iter().find(|ranked| ranked.metric == metric)?;
        let first = ranked.pairs.first().filter(|_| ranked.pairs.len() == 1)?;
        let said = differs(&first.difference, ComparedUnit::PerSecond)?;
        Some((first, said))
    };
    let said: Vec<(String, String)> = ranking
        .overall
        .iter()
        .filter_map(|ranked| {
            let (pair, said) = pair(&ranked.metric)?;
            Some((format!("{} against {}", pair.other, pair.baseline), format!("{} {said}", ranked.words())))
        })
        .collect();
    let Some((who, _)) = said.first() else { return Vec::new() };
    let all: Vec<&str> = said.iter().map(|(_, words)| words.as_str()).collect();
    vec![measured(Rule::Difference, format!("{who} over {} loads: {}.", ranking.points, all.join(", ")))]
}

/// The significant difference of all operations together at a level.
fn all_operations(level: &ComparedLevel, place: usize, levels: usize) -> Option<Statement> {
    let all = level.rows.iter().find(|row| row.scope == "all")?;
    let usual: Vec<(&ComparedMetric, &Difference)> =
        NUMBERS.iter().filter_map(|name| shown(all, name, place)).collect();
    // A significant number that none of these agrees with leads: without it the sentence would contradict the table.
    let contrary = all
        .metrics
        .iter()
        .filter(|metric| !NUMBERS.contains(&metric.metric.as_str()))
        .filter_map(|metric| shown(all, &metric.metric, place))
        .filter(|(_, found)| found.holm_significant && usual.iter().all(|(_, other)| other.verdict != found.verdict));
    let shown: Vec<(&ComparedMetric, &Difference)> = contrary.take(CONTRARY).chain(usual.iter().copied()).collect();
    let (_, first) = shown.first()?;
    let word =
        if shown.iter().all(|(_, found)| found.verdict == first.verdict) { first.verdict.label() } else { "different" };
    let numbers: Vec<String> = shown
        .iter()
        .filter_map(|(metric, found)| Some(format!("{} {}", name(&metric.metric), differs(found, metric.unit)?)))
        .collect();
    let at = if levels > 1 { format!(" at {}", level.level_name) } else { String::new() };
    let text = format!("{} is {word} than {}{at}: {}.", letter(place), letter(0), numbers.join(", "));
    let text = if word == "different" { text.replace("different than", "different from") } else { text };
    Some(measured(Rule::Difference, text))
}

/// Why different clocks say nothing of the response times.
fn clocks(sides: &[Findings], place: usize) -> Option<Statement> {
    let clocks = differing_clocks(sides.first()?, sides.get(place)?, place)?;
    Some(measured(Rule::Difference, format!("{clocks}, so no difference of response times is called better or worse.")))
}

/// Why different loads say nothing of the servers.
fn loads(level: &ComparedLevel, place: usize) -> Option<Statement> {
    let text = format!("{}, so no difference is called better or worse.", level.other_load(place)?);
    Some(measured(Rule::Difference, text))
}

/// Why the times of all operations together have no verdict, where the requests of the sides are not alike.
fn mix(level: &ComparedLevel, place: usize, levels: usize) -> Option<Statement> {
    let (times, mix) = level.times_without_verdict(place)?;
    let mut single = level.rows.iter().filter(|row| row.scope == "procedure");
    let is_shown = |row: &ComparedRow| row.metrics.iter().any(|metric| shown(row, &metric.metric, place).is_some());
    let none = if single.any(is_shown) { "" } else { " No single operation was shown to differ." };
    let text = format!(
        "The mix of operations differs between {other} and {baseline}{at} ({mix}), so there is no verdict on {times} of all operations \
         together.{none}",
        other = letter(place),
        baseline = letter(0),
        at = if levels > 1 { format!(" at {}", level.level_name) } else { String::new() },
    );
    Some(measured(Rule::Difference, text))
}

/// Why numbers have no verdict where captures lack operations.
fn lossy(level: &ComparedLevel, place: usize, levels: usize) -> Option<Statement> {
    let sides = level.sides_without_verdict(place)?;
    let at = if levels > 1 { format!(" at {}", level.level_name) } else { String::new() };
    let text = format!(
        "Operations are {} {sides}{at}. These operations may be the fastest or the slowest, so some numbers have no verdict.",
        level.lack()
    );
    Some(measured(Rule::Difference, text))
}

/// Why rates have no verdict where capture files do not cover all of the time.
fn not_covered(level: &ComparedLevel, place: usize, levels: usize) -> Option<Statement> {
    let why = level.time_without_verdict(place)?;
    let at = if levels > 1 { format!(" at {}", level.level_name) } else { String::new() };
    let text = format!(
        "No verdict on some rates{at}: {why}. If nobody captured in this time, it may be the only reason for the \
         difference."
    );
    Some(measured(Rule::Difference, text))
}

/// The throughputs that are neither better nor worse, because the load of a side is unknown.
fn neutral(level: &ComparedLevel, place: usize, levels: usize) -> Option<Statement> {
    let all = level.rows.iter().find(|row| row.scope == "all")?;
    let found = all.metrics.iter().filter_map(|metric| Some((metric, difference(metric, place)?)));
    let numbers: Vec<String> = found
        .filter(|(_, found)| found.is_neutral())
        .filter_map(|(metric, found)| {
            let name = if metric.metric == "throughput" { "op/s" } else { name(&metric.metric) };
            Some(format!("{name} {}", differs(found, metric.unit)?))
        })
        .collect();
    let at = if levels > 1 { format!(" at {}", level.level_name) } else { String::new() };
    let text = format!(
        "{} and {} differ in throughput{at}: {}. That is neither better nor worse, because a capture does not show how much its clients \
         requested.",
        letter(place),
        letter(0),
        numbers.join(", ")
    );
    (!numbers.is_empty()).then(|| measured(Rule::Difference, text))
}

/// Numbers without a verdict because of the load generator.
fn late(level: &ComparedLevel, place: usize, levels: usize) -> Option<Statement> {
    let of = |at: usize| Some(format!("{} of {}", level.moved_words(at)?, letter(at)));
    let sides: Vec<String> = [0, place].into_iter().filter_map(of).collect();
    let at = if levels > 1 { format!(" at {}", level.level_name) } else { String::new() };
    let text = format!("Not compared, because the load generator was late{at}: {}.", sides.join("; "));
    (!sides.is_empty()).then(|| measured(Rule::Difference, text))
}

/// The procedure whose mean differs most, where that is more than chance among all differences.
fn largest(levels: &[&ComparedLevel], place: usize) -> Option<Statement> {
    let procedures = levels.iter().flat_map(|level| level.rows.iter().map(move |row| (*level, row)));
    let found = procedures
        .filter(|(_, row)| row.scope == "procedure")
        .filter_map(|(level, row)| Some((level, row, shown(row, "mean", place)?.1)))
        .filter(|(_, _, found)| found.holm_significant && found.relative.is_some());
    let (level, row, found) = found.max_by(|a, b| size(a.2).total_cmp(&size(b.2)))?;
    let text = format!(
        "The operation that differs most is {protocol} {operation}: mean response time {difference}{at}.",
        protocol = row.protocol,
        operation = row.name,
        difference = differs(found, ComparedUnit::Seconds)?,
        at = if levels.len() > 1 { format!(" at {}", level.level_name) } else { String::new() },
    );
    Some(measured(Rule::Difference, text))
}

fn size(found: &Difference) -> f64 {
    found.relative.unwrap_or(0.0).abs()
}

/// No significant difference does not mean that there is none: states the size that would have been found.
fn nothing(levels: &[&ComparedLevel], place: usize, neutral: bool) -> Statement {
    let all = |level: &&ComparedLevel| level.rows.iter().find(|row| row.scope == "all").cloned();
    let detectable = |name: &str| {
        let rows = levels.iter().filter_map(all);
        let of = |row: ComparedRow| {
            let metric = row.metrics.iter().find(|metric| metric.metric == name)?;
            difference(metric, place)?.detectable
        };
        let worst: Option<Vec<f64>> = rows.map(of).collect();
        worst?.into_iter().reduce(f64::max)
    };
    let could: Vec<String> = [("throughput", "throughput"), ("mean", "mean response time")]
        .into_iter()
        .filter_map(|(metric, name)| Some(format!("{:.1} % of {name}", detectable(metric)? * 100.0)))
        .collect();
    let could = match could.as_slice() {
        [] if levels.iter().any(|level| level.lacks_operations(place)) => format!(" {MAY_BE_HIDDEN}"),
        [] => " The runs are too short to show a difference: make them longer.".to_owned(),
        some => {
            format!(
                " Runs of this length detect a change for the worse in 9 of 10 cases if it is at least {}. They can miss smaller \
                changes.",
                some.join(" or ")
            )
        }
    };
    let text = format!(
        "No difference{except} was shown between {other} and {baseline}.{could}",
        except = if neutral { " except in throughput" } else { "" },
        other = letter(place),
        baseline = letter(0),
    );
    measured(Rule::NoDifference, text)
}

/// A number and its difference, where one was shown.
fn shown<'r>(row: &'r ComparedRow, name: &str, place: usize) -> Option<(&'r ComparedMetric, &'r Difference)> {
    let metric = row.metrics.iter().find(|metric| metric.metric == name)?;
    let found = difference(metric, place)?;
    matches!(found.verdict, ComparedVerdict::Better | ComparedVerdict::Worse).then_some((metric, found))
}

/// A number's difference of the side at `place` from the baseline, which has place 0.
fn difference(metric: &ComparedMetric, place: usize) -> Option<&Difference> {
    metric.differences.get(place.checked_sub(1)?)?.as_ref()
}

/// `+20 % (18 … 22)`.
fn differs(found: &Difference, unit: ComparedUnit) -> Option<String> {
    Some(crate::text::change(unit, found)).filter(|words| !words.is_empty())
}

fn name(metric: &str) -> &str {
    match metric {
        "mean" => "mean response time",
        "bytes" => "MB/s",
        other => other,
    }
}
