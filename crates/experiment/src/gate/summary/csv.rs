//! Every run as a line of CSV (RFC 4180).

use plimsoll_results::comparison::Condition;
use plimsoll_stats::comparison::Unit;

use super::GateSummary;

/// A heading, and a line per run and load level.
pub(super) fn runs(summary: &GateSummary<'_>) -> String {
    let fixed =
        ["round", "turn", "side", "target", "level_name", "started_ns", "seconds", "counted"].map(str::to_owned);
    // Two conditions on one number have one column.
    let columns: Vec<String> = summary.conditions.iter().map(column).collect();
    let first = |at: usize| columns.iter().position(|column| Some(column) == columns.get(at)) == Some(at);
    let kept = |cells: Vec<String>| (0..).zip(cells).filter(|(at, _)| first(*at)).map(|(_, cell)| cell).collect();
    let numbers: Vec<String> = kept(columns.clone());
    let mut text = line(fixed.into_iter().chain(numbers));
    for run in &summary.gate.runs {
        let (letter, target) = if run.side == 0 { ("A", summary.sides[0]) } else { ("B", summary.sides[1]) };
        let of_run = [
            run.round.map_or_else(String::new, |round| round.to_string()),
            run.turn.to_string(),
            letter.to_owned(),
            target.to_owned(),
            run.level_name.clone(),
            run.first_ns.to_string(),
            run.seconds.to_string(),
            run.counted.to_string(),
        ];
        let numbers = run.numbers.iter().map(|number| number.map_or_else(String::new, |number| number.to_string()));
        let numbers: Vec<String> = kept(numbers.collect());
        text.push_str(&line(of_run.into_iter().chain(numbers)));
    }
    text
}

/// The number of a condition with its unit.
fn column(condition: &Condition) -> String {
    let unit = match condition.metric.unit() {
        Unit::Seconds => "s",
        Unit::OperationsPerSecond => "per_s",
        Unit::BytesPerSecond => "bytes_per_s",
        Unit::Share => "share",
    };
    format!("{}.{}_{unit}", condition.name, condition.metric.label())
}

fn line(cells: impl Iterator<Item = String>) -> String {
    cells.map(|cell| quoted(&cell)).collect::<Vec<_>>().join(",") + "\r\n"
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\r', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}
