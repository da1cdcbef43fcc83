//! NFS 4.1 sessions and their slots, a line for each session.

use super::{Cell, Column, Note, Row, Table, Weight, prefix};
use crate::findings::{Findings, SlotRow, Slots};

/// Lines of a table.
const MOST_ROWS: usize = 40;

/// The tables; none without sessions.
pub(crate) fn slots(sides: &[Findings]) -> Vec<Table> {
    let of = |(number, side): (usize, &Findings)| {
        side.slots.as_ref().map(|found| table(found, &prefix(sides, side), number))
    };
    sides.iter().enumerate().filter_map(of).collect()
}

fn table(found: &Slots, prefix: &str, number: usize) -> Table {
    Table {
        id: format!("slots-{number}"),
        title: format!("{prefix}NFS 4.1 sessions"),
        scaled: None,
        caption: format!("{prefix}NFS 4.1 sessions and the use of their slots. {EXPLANATION}"),
        columns: columns![
            "Client, server and session": "Client, server, session", "Slots granted": "Granted", "Slots", "Requests",
            "Most slots in use": "Most used", "All slots in use": "All used", "Part of the session's time": "of time",
            "Waits for a slot": "Waits"
        ],
        rows: found.rows.iter().take(MOST_ROWS).map(line).collect(),
        notes: notes(found),
    }
}

const EXPLANATION: &str = "Granted: slots in the response to CREATE_SESSION. Slots: slots that the client \
    may use (the server's last target, at most the granted slots). Most used: most slots in use at the same time. All used: time in which \
    all slots were in use. Waits: how often the client sent its next request as soon as a slot was free (only sessions with 2 to 32 \
    slots). A dash: unknown.";

fn line(row: &SlotRow) -> Row {
    // An unknown number is a dash.
    let count = |count: Option<u64>| count.map_or(Cell::Time(None), Cell::Count);
    let share = row.all_in_use_s.zip(row.elapsed_s.filter(|elapsed| *elapsed > 0.0));
    let idle = if row.requests == 0 { " idle" } else { "" };
    Row {
        name: format!("{} at {}, {}{idle}", row.client, row.server, row.session),
        invalid: false,
        cells: vec![
            count(row.granted.map(u64::from)),
            count(row.slots.map(u64::from)),
            Cell::Count(row.requests),
            count(row.most_in_use.map(u64::from)),
            Cell::Time(row.all_in_use_s),
            Cell::Share(share.map(|(all, elapsed)| (all / elapsed).min(1.0))),
            count(row.waits),
        ],
    }
}

fn notes(found: &Slots) -> Vec<Note> {
    let plural = crate::collect::plural;
    let mut notes = Vec::new();
    let partial = found.rows.iter().filter(|row| row.partial).count() as u64;
    if partial > 0 {
        let text = format!(
            "The capture lacks messages of {}. The table does not show how many slots of these sessions were in use.",
            plural(partial, "session")
        );
        notes.push(Note::of(Weight::Plain, text));
    }
    let hidden = found.rows.get(MOST_ROWS..).unwrap_or_default();
    let requests = hidden.iter().map(|row| row.requests).sum::<u64>() + found.requests_left_out;
    if !hidden.is_empty() || requests > 0 {
        let text = format!("Not listed: further sessions with {}.", plural(requests, "request"));
        notes.push(Note::of(Weight::Plain, text));
    }
    notes.push(Note::quiet(EXPLANATION));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> SlotRow {
        SlotRow {
            session: "0x7".to_owned(),
            client: "10.0.0.1".to_owned(),
            server: "10.0.0.9".to_owned(),
            granted: Some(8),
            slots: Some(4),
            requests: 100,
            elapsed_s: Some(2.0),
            most_in_use: Some(4),
            all_in_use_s: Some(0.5),
            waits: Some(3),
            ..SlotRow::default()
        }
    }

    #[test]
    fn an_unknown_number_is_a_dash_and_an_unused_session_is_idle() {
        let known = line(&row());
        assert_eq!(known.name, "10.0.0.1 at 10.0.0.9, 0x7");
        let counts = [8, 4, 100, 4].map(Cell::Count);
        assert_eq!(known.cells[..4], counts);
        assert_eq!(known.cells[4..], [Cell::Time(Some(0.5)), Cell::Share(Some(0.25)), Cell::Count(3)]);
        let idle = line(&SlotRow { requests: 0, elapsed_s: None, most_in_use: None, waits: None, ..row() });
        assert_eq!(idle.name, "10.0.0.1 at 10.0.0.9, 0x7 idle");
        assert_eq!(
            (&idle.cells[3], &idle.cells[5], &idle.cells[6]),
            (&Cell::Time(None), &Cell::Share(None), &Cell::Time(None))
        );
    }

    #[test]
    fn sessions_without_a_line_and_missing_messages_are_said() {
        let texts = |found: &Slots| notes(found).into_iter().map(|note| note.text).collect::<Vec<_>>();
        let mut found = Slots { requests_left_out: 0, rows: vec![row(); MOST_ROWS] };
        assert_eq!(texts(&found), [EXPLANATION]);
        found.rows.push(row());
        found.rows[0].partial = true;
        found.requests_left_out = 7;
        let said = [
            "The capture lacks messages of 1 session. The table does not show how many slots of these sessions were in use.",
            "Not listed: further sessions with 107 requests.",
            EXPLANATION,
        ];
        assert_eq!(texts(&found), said);
    }
}
