//! How much repeats of a load level differ.

use super::{Cell, Column, Note, Row, Table, Unit, prefix};
use crate::findings::Findings;
use crate::findings::RepeatedLevel;

/// A line a level that was run often enough; none where none was.
pub(crate) fn repeats<'a>(sides: &'a [Findings]) -> Option<Table> {
    let levels = || {
        let of = |side: &'a Findings| -> Vec<_> {
            let levels: &'a [RepeatedLevel] = &side.repeats;
            levels.iter().map(|level| (prefix(sides, side), level)).collect()
        };
        sides.iter().flat_map(of)
    };
    (levels().count() > 0).then(|| Table {
        id: "repeats".to_owned(),
        title: "Repeats of each level (mean over repeats, 95 % interval)".to_owned(),
        scaled: None,
        caption: "Repeats of each level: mean over the repeats with its 95 % interval. This interval includes the differences between \
        runs; the interval of a single run does not. In brackets: the lowest and the highest repeat."
            .to_owned(),
        columns: columns!["Level", "Runs", "Operations": "op/s", "Mean", "p50", "p99"],
        rows: levels()
            .map(|(prefix, level)| Row {
                name: format!("{prefix}{}", level.words()),
                invalid: !level.valid,
                cells: vec![
                    Cell::Count(level.levels.len() as u64),
                    Cell::Spread(level.operations_per_s, Unit::PerSecond),
                    Cell::Spread(level.response_mean_s, Unit::Seconds),
                    Cell::Spread(level.response_p50_s, Unit::Seconds),
                    Cell::Spread(level.response_p99_s, Unit::Seconds),
                ],
            })
            .collect(),
        notes: vec![Note::quiet(
            "±: half of the 95 % interval. This interval includes the differences between runs; the interval of a single run does \
            not.",
        )],
    })
}
