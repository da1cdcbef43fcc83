//! A gate in words: a line per condition, after the verdict.

use crate::gate::{Basis, GateResult, Question, Seen, Unit, shown};
use plimsoll_report::safe;
use plimsoll_results::comparison::{Judgement, Outcome, Threshold};
use plimsoll_stats::comparison::independent::FEWEST_IN_ALL;
use plimsoll_stats::comparison::{Metric, fewest_of_a_sequence, repeats};

use super::GateSummary;

/// Decimals of numbers, and of percentages.
const DIGITS: usize = 3;
const DIGITS_OF_SHARES: usize = 2;

/// `2 of 3 conditions`.
fn counted(some: usize, all: usize) -> String {
    format!("{some} of {all} condition{}", if all == 1 { "" } else { "s" })
}

/// `7 rounds`.
pub(super) fn rounds(count: usize) -> String {
    format!("{count} round{}", if count == 1 { "" } else { "s" })
}

/// The verdict of the gate, in one line.
pub(super) fn headline(summary: &GateSummary<'_>) -> String {
    let questions = &summary.gate.questions;
    let of = |outcome: Outcome| questions.iter().filter(|question| question.outcome == outcome).count();
    let (all, failed, undecided) = (questions.len(), of(Outcome::Failed), of(Outcome::Undecided));
    let verdict = match summary.gate.outcome() {
        Outcome::Passed => format!("PASSED: {}", counted(all, all)),
        Outcome::Failed if undecided == 0 => format!("FAILED: {}", counted(failed, all)),
        Outcome::Failed => format!("FAILED: {}, {undecided} undecided", counted(failed, all)),
        Outcome::Undecided => format!("UNDECIDED: {}", counted(undecided, all)),
    };
    format!("{verdict}, {}", length(summary))
}

/// How long it took.
fn length(summary: &GateSummary<'_>) -> String {
    let gate = summary.gate;
    let Basis::Rounds { all, uncounted } = gate.basis else {
        let both = |side: usize| gate.runs.iter().filter(|run| run.side == side).count();
        return format!("from recorded runs: {} of the baseline, {} of the candidate", both(0), both(1));
    };
    let left_out = left_out(uncounted).map(|words| format!(" ({words})")).unwrap_or_default();
    let recorded = if gate.judged_again { " (recorded earlier)" } else { "" };
    format!("after {}{left_out} in {}{recorded}", rounds(all), shown(gate.took))
}

/// Rounds that do not count, and why.
fn left_out(uncounted: usize) -> Option<String> {
    (uncounted > 0)
        .then(|| format!("{uncounted} not counted, because a run was INVALID or its load generator was at fault"))
}

/// The conditions that failed or are undecided, for the one line on standard error. If the text of the decisions was printed, undecided
/// conditions are only named, because their reasons are in that text.
#[must_use]
pub fn judgement(gate: &GateResult, printed: bool) -> Judgement {
    let words = |question: &Question| match question.outcome {
        Outcome::Undecided if printed => format!("{}: undecided", subject(question)),
        _ => line(question),
    };
    let mut judgement = gate.judgement(words);
    if let Some(last) = judgement.undecided.last_mut() {
        let why = if printed { "the reasons are in the decisions above".to_owned() } else { why_ended(gate) };
        // The reason of the last condition may be why the gate ended.
        if !last.contains(&why) {
            last.push_str(&format!(" ({why})"));
        }
    }
    judgement
}

/// Why the gate ended, with the rounds that do not count.
pub(super) fn why_ended(gate: &GateResult) -> String {
    let left_out = match gate.basis {
        Basis::Rounds { all, uncounted } => left_out(uncounted).map(|words| format!("of {}, {words}", rounds(all))),
        Basis::Apart => None,
    };
    left_out.map_or_else(|| gate.why.clone(), |words| format!("{}; {words}", gate.why))
}

/// Why it ended before all was decided; `None` where all was.
pub(super) fn ended(summary: &GateSummary<'_>) -> Option<String> {
    let open = summary.gate.questions.iter().any(|question| question.outcome == Outcome::Undecided);
    let early = if summary.gate.basis == Basis::Apart { "Undecided" } else { "The gate ended early" };
    open.then(|| format!("{early}: {}", summary.gate.why))
}

/// A condition, its state, and its outcome.
pub(in super::super) fn line(question: &Question) -> String {
    let limit = question.condition.text.split_once(['<', '>']).map_or("", |(_, limit)| limit.trim());
    format!("{}: {}, limit {limit}: {}", subject(question), difference(question), outcome(question))
}

/// The subject of a condition.
pub(super) fn subject(question: &Question) -> String {
    format!("{}.{} at {}", question.condition.name, question.condition.metric.label(), question.level_name)
}

/// `+1.20 % against the baseline (95 % interval -0.50 to +2.90 %)`
pub(super) fn difference(question: &Question) -> String {
    let Some(known) = question.known else {
        let fewest = repeats::FEWEST;
        let needs = match (question.seen, question.condition.threshold) {
            (Seen::Rounds(_), _) => rounds(fewest_of_a_sequence(1.0 - question.confidence)),
            (Seen::Apart(_, unit), Threshold::Value(_)) => format!("{fewest} {} of the candidate", units(unit)),
            (Seen::Apart(_, unit), _) => format!("{FEWEST_IN_ALL} {} in total, at least 1 of each side", units(unit)),
        };
        return format!("no interval (needs {needs})");
    };
    let condition = &question.condition;
    let is_share = matches!(condition.threshold, Threshold::Relative(_)) || condition.metric == Metric::Errors;
    let digits = if is_share { DIGITS_OF_SHARES } else { DIGITS };
    // Both have one unit and, if that tells them apart, the same digits.
    let (numbers, unit) = condition.numbers(&[known.value, known.low, known.high], digits);
    let [value, low, high] = numbers.as_slice() else { return "no interval".to_owned() };
    let against = if matches!(condition.threshold, Threshold::Value(_)) { "" } else { " against the baseline" };
    format!("{value} {unit}{against} ({} % interval {low} to {high} {unit})", confidence(question))
}

/// The interval's confidence in per cent: 95, or more where several conditions share the 5 %.
fn confidence(question: &Question) -> String {
    let percent = format!("{:.1}", 100.0 * question.confidence);
    percent.strip_suffix(".0").map(str::to_owned).unwrap_or(percent)
}

/// `passed after 7 rounds`
pub(super) fn outcome(question: &Question) -> String {
    let from = match question.seen {
        Seen::Rounds(count) => format!("after {}", rounds(count)),
        Seen::Apart([baseline, candidate], unit) => format!("from {baseline} and {candidate} {}", units(unit)),
    };
    let after = format!("{} {from}", question.outcome.label());
    match question.why_unknown() {
        Some(why) => format!("{after}: {why}"),
        None => after,
    }
}

fn units(unit: Unit) -> &'static str {
    match unit {
        Unit::Run => "runs",
        Unit::Recording => "recordings",
    }
}

/// The printed text.
pub(super) fn text(summary: &GateSummary<'_>, columns: usize) -> String {
    let [baseline, candidate] = summary.sides;
    let about = [
        format!("A, the baseline: {baseline}"),
        format!("B, the candidate: {candidate}"),
        format!("Workload: {}", summary.workload),
    ];
    let warnings = summary.warnings.iter().map(|warning| format!("! {warning}"));
    let lines = std::iter::once(headline(summary)).chain(summary.gate.questions.iter().map(line));
    let lines = lines.chain(ended(summary)).chain(about).chain(warnings);
    lines.flat_map(|line| wrapped(&safe::for_terminal(&line), columns)).map(|line| line + "\n").collect()
}

/// Wraps lines at `columns` if possible; lines after the first are indented.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("   {word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}
