//! Silences, requests without an answer and short reads, a line a load level.

use super::{Cell, Column, LevelGroup, Note, Row, Table, Weight, driven_level_groups, measured};
use crate::findings::Findings;
use crate::findings::LoadLevel;

/// Silences that are looked at, s: shorter ones are none.
const SHORTEST_S: f64 = 0.010;

/// One table for servers and one for local directories; none for captures.
pub(crate) fn outages(sides: &[Findings]) -> Vec<Table> {
    driven_level_groups(sides).map(|group| table(&group)).collect()
}

pub(super) fn table(group: &LevelGroup<'_>) -> Table {
    Table {
        id: group.id("silence"),
        title: format!("Silences, requests without a response, short reads{}", group.words()),
        scaled: None,
        caption: format!(
            "Silences (no response to any action although a request was outstanding or due), requests without a response, and short or empty reads{}. \
            Outages: silences of at least 1 s and at least 10 times the median response time of the slowest operation.",
            group.words()
        ),
        columns: columns![
            "Level", "Slowest", "Longest silence": "Silence", "Outages", "Length of all outages": "Outage time",
            "Unanswered": "Unansw.", "Short reads": "Short", "Empty reads": "Empty"
        ],
        rows: group.levels.iter().map(|(prefix, level)| row(prefix, level)).collect(),
        notes: [Note::quiet(
            "Silence: longest time without a response to any action while a request was outstanding or due; a refusal that asks the client \
            to wait (NFS 4: DELAY, GRACE) does not end it. Outages: silences of at least 1 s and at least 10 times the median response time of the slowest operation. Outage time: total length of \
            all outages. Unansw.: requests without a response. Short: reads that returned fewer bytes than requested. Empty: reads that \
            returned no bytes.",
        )]
        .into_iter()
        .chain(mixed(group))
        .chain(group.levels.iter().filter_map(|(prefix, level)| late_answers(prefix, level)))
        .collect(),
    }
}

/// From when the slowest time counts, where this differs between levels.
fn mixed(group: &LevelGroup<'_>) -> Option<Note> {
    let scheduled = group.levels.iter().filter(|(_, level)| level.headline.is_from_intended()).count();
    (scheduled > 0 && scheduled < group.levels.len()).then(|| {
        let text = "Slowest: from the intended start at levels with a schedule, from the first byte of the request at the others.";
        Note::of(Weight::Quiet, text)
    })
}

/// Answers that came when no request waited for them any more; none where there were none.
fn late_answers(prefix: &str, level: &LoadLevel) -> Option<Note> {
    let count = level.facts.generator.unmatched_responses;
    let answers = if count == 1 { "1 response".to_owned() } else { format!("{count} responses") };
    (count > 0).then(|| Note {
        weight: Weight::Plain,
        text: format!(
            "At {prefix}{level}, {answers} matched no outstanding request (including the warm-up). A response after the timeout, or a \
            repeated response, matches no request.",
            level = level.words()
        ),
        page: true,
    })
}

fn row(prefix: &str, level: &LoadLevel) -> Row {
    let (silence, reads) = (&level.facts.silence, &level.facts.short_reads);
    Row {
        name: format!("{prefix}{}", level.words()),
        invalid: false,
        cells: vec![
            match level.maximum_s() {
                Some((s, true)) => Cell::TimeAtLeast(s),
                Some((s, false)) => Cell::Time(Some(s)),
                None => Cell::Time(None),
            },
            measured(level, silence.longest_s.map_or(Cell::TimeBelow(SHORTEST_S), |s| Cell::Time(Some(s)))),
            measured(level, Cell::Count(silence.outages)),
            Cell::Time((silence.outages > 0).then_some(silence.without_answer_s)),
            measured(level, Cell::Count(level.unanswered)),
            measured(level, Cell::Count(reads.short)),
            measured(level, Cell::Count(reads.empty)),
        ],
    }
}
