//! Silences, requests without an answer and short reads, a line a load level.

use super::{Cell, Column, Note, Place, Row, Table, places};
use crate::findings::Stage;
use crate::sides::Side;

/// A table for what servers did and one for local directories; none where somebody else made the load.
pub(crate) fn outages(sides: &[Side<'_>]) -> Vec<Table> {
    places(sides).iter().map(table).collect()
}

fn table(place: &Place<'_>) -> Table {
    Table {
        id: place.id("silence"),
        title: format!("Silences, requests without an answer, short reads{}", place.words()),
        scaled: None,
        caption: format!(
            "Times without an answer while a request was outstanding or due, requests without an answer, and reads that returned fewer \
             bytes than asked for, or none{}.",
            place.words()
        ),
        columns: vec![
            Column::new("Level", "Level"),
            Column::new("Slowest", "Slowest"),
            Column::new("Longest silence", "Silence"),
            Column::new("Outages", "Outages"),
            Column::new("Without an answer", "No answer"),
            Column::new("Unanswered", "Unansw."),
            Column::new("Short reads", "Short"),
            Column::new("Empty reads", "Empty"),
        ],
        rows: place.stages.iter().map(|(prefix, stage)| row(prefix, stage)).collect(),
        notes: vec![Note::quiet(
            "Silence: the longest time without an answer while a request was outstanding or due. No answer: all outages together. \
             Short, empty: reads that returned fewer bytes than asked for, or none.",
        )],
    }
}

fn row(prefix: &str, stage: &Stage) -> Row {
    let (silence, reads) = (&stage.silence, &stage.short_reads);
    Row {
        name: format!("{prefix}{}", stage.words()),
        invalid: false,
        cells: vec![
            match stage.maximum_s() {
                Some((s, true)) => Cell::TimeAtLeast(s),
                Some((s, false)) => Cell::Time(Some(s)),
                None => Cell::Time(None),
            },
            Cell::Time(silence.longest_s),
            Cell::Count(silence.outages),
            Cell::Time((silence.outages > 0).then_some(silence.without_answer_s)),
            Cell::Count(stage.unanswered),
            Cell::Count(reads.short),
            Cell::Count(reads.empty),
        ],
    }
}
