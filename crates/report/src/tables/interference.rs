//! Workloads alone, and at the same time as others.

use super::{Cell, Column, Note, Row, Table, Weight, prefix};
use crate::findings::comparison::ComparedVerdict;
use crate::findings::{Findings, InterferedNumber, Interference, Interval};
use crate::text::{in_table, unit_label};

/// A line a number of each workload; none where only one ran.
pub(crate) fn interference(sides: &[Findings]) -> Option<Table> {
    let rows: Vec<Row> = sides
        .iter()
        .flat_map(|side| {
            let of = move |one: &Interference| {
                let name = format!("{}{}", prefix(sides, side), one.workload);
                one.numbers.iter().map(|number| row(&name, number)).collect::<Vec<_>>()
            };
            side.interference.iter().flat_map(of)
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        id: "interference".to_owned(),
        title: "Interference: each workload alone, and at the same time as the others".to_owned(),
        scaled: None,
        caption: "Alone: the workload without the others. Beside: at the same time as the others. Both are means over the rounds. Change: \
        from alone to beside, with its 95 % interval, and whether it is significant (5 % level, Holm's correction for all numbers). \
        Response times cover all operations together."
            .to_owned(),
        columns: columns![words "Number", "Alone", "Beside", "Change", "95 % interval", words "Verdict"],
        rows,
        notes: notes(sides),
    })
}

fn row(workload: &str, number: &InterferedNumber) -> Row {
    let show = |value: f64| in_table(number.unit, value);
    let verdict = number.verdict.map_or("-", ComparedVerdict::label);
    Row {
        name: format!("{workload} {}", unit_label(&number.metric)),
        invalid: false,
        cells: vec![
            Cell::Words(show(number.alone)),
            Cell::Words(show(number.beside)),
            Cell::Words(number.change.map_or_else(|| "-".to_owned(), signed)),
            Cell::Words(number.change_interval.map_or_else(|| "-".to_owned(), interval)),
            Cell::Words(verdict.to_owned()),
        ],
    }
}

/// A change in per cent.
pub(crate) fn signed(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

/// An interval in per cent.
pub(crate) fn interval(of: Interval) -> String {
    format!("{:+.1} to {}", of.low * 100.0, signed(of.high))
}

fn notes(sides: &[Findings]) -> Vec<Note> {
    let all = || sides.iter().flat_map(|side| &side.interference);
    let rounds: Vec<String> = all().map(|one| format!("{} {}", one.workload, one.rounds)).collect();
    let mut notes = vec![Note::of(Weight::Quiet, format!("Valid rounds: {}.", rounds.join(", ")))];
    let moved = |one: &Interference| {
        let moved: Vec<&str> = one.numbers.iter().filter(|one| one.is_moved()).map(|one| one.metric.as_str()).collect();
        (!moved.is_empty()).then(|| format!("{} of {}", moved.join(", "), one.workload))
    };
    let moved: Vec<String> = all().filter_map(moved).collect();
    if !moved.is_empty() {
        let text = format!("Cannot tell, because the load generator was late: {}.", moved.join("; "));
        notes.push(Note::of(Weight::Caution, text));
    }
    if all().any(|one| one.numbers.iter().any(|number| number.verdict.is_none())) {
        notes.push(Note::of(
            Weight::Caution,
            "An interval and a verdict need at least three valid rounds: increase --repeat.",
        ));
    }
    notes
}
