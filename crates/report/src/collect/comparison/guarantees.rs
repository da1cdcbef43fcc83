//! Compares the servers' guarantees.

use plimsoll_model::Guarantees;

use super::contestant::Contestant;
use crate::findings::comparison::ComparedGuarantee;
use crate::findings::{Findings, OperationRow, letter};

/// Procedures by which a client asks that its data be durable.
const FLUSHES: [&str; 2] = ["FLUSH", "COMMIT"];

/// The guarantees of each side; the rows that forbid a ranking come first.
pub(super) fn compared(sides: &[Contestant]) -> Vec<ComparedGuarantee> {
    let all: Vec<Guarantees> = sides.iter().map(of).collect();
    let Some((baseline, others)) = all.split_first() else { return Vec::new() };
    let unlike: Vec<&str> = others.iter().flat_map(|other| baseline.unlike(other)).collect();
    let entries: Vec<_> = all.iter().map(Guarantees::entries).collect();
    let mut rows: Vec<ComparedGuarantee> = Vec::new();
    for entry in entries.iter().flatten() {
        if rows.iter().any(|row| row.name == entry.name) {
            continue;
        }
        let words = |of: &Vec<plimsoll_model::Guaranteed>| {
            of.iter().find(|one| one.name == entry.name).map(|one| one.words.clone())
        };
        rows.push(ComparedGuarantee {
            name: entry.name.to_owned(),
            values: entries.iter().map(words).collect(),
            unlike: unlike.contains(&entry.name),
        });
    }
    let flushes: Vec<Option<String>> = sides.iter().map(|side| flushes(&side.findings)).collect();
    if !rows.is_empty() && flushes.iter().any(Option::is_some) {
        rows.push(ComparedGuarantee { name: "Flushes".to_owned(), values: flushes, unlike: false });
    }
    rows.sort_by_key(|row| !row.unlike);
    rows
}

/// Why the sides are not to be ranked, as a sentence; `None` where nothing speaks against it.
pub(super) fn refusal(rows: &[ComparedGuarantee]) -> Option<String> {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "not known".to_owned());
    let one = |row: &ComparedGuarantee| {
        let said: Vec<String> =
            row.values.iter().enumerate().map(|(at, of)| format!("{}: {}", letter(at), value(of))).collect();
        format!("{} ({})", row.name, said.join("; "))
    };
    let unlike: Vec<String> = rows.iter().filter(|row| row.unlike).map(one).collect();
    (!unlike.is_empty()).then(|| {
        format!(
            "The sides give different guarantees: {}. Plimsoll therefore does not say which side is faster",
            unlike.join(", ")
        )
    })
}

/// The guarantees of all levels of a side.
fn of(side: &Contestant) -> Guarantees {
    let mut all = Guarantees::default();
    let levels = &side.findings.levels;
    let of_levels = levels.iter().filter_map(|level| level.facts.guarantees.as_ref());
    // The findings of a recording's transactions have no levels.
    let points = side.levels.iter().filter_map(|level| level.point.as_ref()).filter(|_| levels.is_empty());
    let of_points = points.filter_map(|point| point.guarantees.as_ref());
    of_levels.chain(of_points).for_each(|one| all.merge(one));
    all
}

/// How often a side was asked to make data durable, and how long that took.
fn flushes(side: &Findings) -> Option<String> {
    let is_one = |row: &&OperationRow| row.parent.is_none() && FLUSHES.contains(&row.procedure.as_str());
    let words = |row: &OperationRow| {
        let mean = row.response_time.as_ref().map(|times| crate::text::duration(times.mean_s));
        format!("{} {}, mean {}", row.count, row.procedure, mean.unwrap_or_else(|| "not known".to_owned()))
    };
    let all: Vec<String> = side.operations.iter().filter(is_one).map(words).collect();
    (!all.is_empty()).then(|| all.join(", "))
}
