//! Users with a schedule each: how many there were, how many of their iterations were late, which, by how much and why.

use super::{Cell, Column, Note, Row, Table, wanted_levels};
use crate::findings::Findings;

/// Users, overload, throughput and errors by level; None without schedules.
pub(crate) fn users(sides: &[Findings]) -> Option<Table> {
    let with = wanted_levels(sides, |_, level| level.users.is_some());
    let row = |(prefix, level): &(String, &crate::findings::LoadLevel)| {
        let users = level.users?;
        Some(Row {
            name: format!("{prefix}{}", level.words_with(&users.users.to_string())),
            invalid: !level.facts.validity.valid,
            cells: vec![
                Cell::Share(Some(users.overload)),
                Cell::Rate(level.iterations_per_s),
                Cell::Count(users.failed),
                Cell::Share(Some(users.failed_share)),
                Cell::Number(users.duration_s.map(|s| s * 1e3), 0, ""),
                Cell::Number(users.bytes_per_s.map(|bytes| bytes / 1e3), 1, ""),
            ],
        })
    };
    (!with.is_empty()).then(|| Table {
        id: "users".to_owned(),
        title: "Users and overload".to_owned(),
        scaled: None,
        caption:
            "Each user has a schedule. Overload: share of the iterations that had not ended when the user's next iteration \
        was due, or that never began. Iterations: iterations per second that ended in the measured phase. Failed: iterations with a failed \
        action. Duration: from the start of the measured phase until the last iteration due in the phase had ended, or until \
        Plimsoll stopped waiting for this iteration. Data per user: file data that a user read and wrote per second, on average."
                .to_owned(),
        columns: columns![
            "Users", "Overload", "Iterations": "Iterations/s", "Failed", "Failed, share": "Failed [%]",
            "Duration, ms": "Duration [ms]", "Data per user, kB/s": "kB/s/user"
        ],
        rows: with.iter().filter_map(row).collect(),
        notes: vec![Note::quiet(
            "Overload: share of the iterations that had not ended when the user's next iteration was due, or that never began. \
            Iterations/s: iterations per second that ended in the measured phase. Failed: iterations with a failed action. Duration: from \
            the start of the measured phase until the last iteration due in the phase had ended, or until Plimsoll stopped waiting for \
            this iteration. kB/s/user: file data that a user read and wrote per second, on average.",
        )],
    })
}

/// Every kind of iteration of which some were late; none where none was.
pub(crate) fn late_iterations(sides: &[Findings]) -> Option<Table> {
    let overloaded = wanted_levels(sides, |_, level| level.users.is_some());
    let late = overloaded.iter().flat_map(|(prefix, level)| {
        let kinds = level.facts.iterations.iter().filter(|kind| kind.late + kind.unended > 0);
        kinds.map(move |kind| (prefix, *level, kind))
    });
    let row = |(prefix, level, kind): (&String, &crate::findings::LoadLevel, &crate::findings::IterationKind)| Row {
        name: format!("{prefix}{}", level.words_with(&level.facts.clients.to_string())),
        invalid: false,
        cells: vec![
            Cell::Words(kind.name.clone()),
            Cell::Count(kind.late),
            Cell::Count(kind.ended + kind.unended),
            Cell::Time(kind.mean_s),
            Cell::Time(kind.overrun_mean_s),
            Cell::Time(kind.overrun_max_s),
            Cell::Count(kind.late.saturating_sub(kind.late_from_before)),
            Cell::Count(kind.late_from_before),
            Cell::Count(kind.unended),
        ],
    };
    let rows: Vec<Row> = late.map(row).collect();
    (!rows.is_empty()).then(|| Table {
        id: "late".to_owned(),
        title: "Late iterations and their causes".to_owned(),
        scaled: None,
        caption: "Late iterations by kind and cause. Late: iterations that ended after the user's next iteration was due. Of: all iterations \
        of this kind that began. Took: mean time from the due time of an iteration to its end. Over: time from the due time of the next \
        iteration to the end of the late one. Took too long: late iterations that began on time. Begun late: late iterations that began late, \
        because the previous iteration had not ended or no connection was free. Never ended: iterations that Plimsoll stopped waiting for."
            .to_owned(),
        columns: columns![
            "Users", words "Iteration", "Late", "Of", "Took, mean": "Took", "Over, mean": "Over",
            "Over, most": "Over max", "Took too long": "Too long", "Begun late", "Never ended": "No end"
        ],
        rows,
        notes: vec![Note::quiet(
            "Late: iterations that ended after the user's next iteration was due. Of: all iterations of this kind that began. Took: mean \
            time from the due time of an iteration to its end. Over: time from the due time of the next iteration to the end of the late \
            one. Too long: late iterations that began on time. Begun late: late iterations that began late, because the previous iteration \
            had not ended or no connection was free. No end: iterations that Plimsoll stopped waiting for.",
        )],
    })
}
