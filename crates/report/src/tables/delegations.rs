//! Delegations of NFS 4, a line for each client and server.

use super::{Cell, Column, Note, Row, Table, Weight, prefix};
use crate::findings::{DelegationRow, Delegations, Findings};

/// Lines of a table.
const MOST_ROWS: usize = 40;

/// The tables; none without delegations.
pub(crate) fn delegations(sides: &[Findings]) -> Vec<Table> {
    let of = |(number, side): (usize, &Findings)| {
        side.delegations.as_ref().map(|found| table(found, &prefix(sides, side), number))
    };
    sides.iter().enumerate().filter_map(of).collect()
}

fn table(found: &Delegations, prefix: &str, number: usize) -> Table {
    Table {
        id: format!("delegations-{number}"),
        title: format!("{prefix}NFS 4 delegations"),
        scaled: None,
        caption: format!("{prefix}Delegations that NFS 4 servers granted and recalled. {EXPLANATION}"),
        columns: vec![
            Column::new("Client and server", "Client and server"),
            Column::new("Granted for reading", "Read"),
            Column::new("Granted for writing", "Write"),
            Column::new("Asked for, not granted", "None"),
            Column::new("Recalled", "Recalled"),
            Column::new("Returned", "Returned"),
            Column::new("Mean time", "Mean"),
            Column::new("Max", "Max"),
            Column::new("No return captured", "No return"),
        ],
        rows: found.rows.iter().take(MOST_ROWS).map(line).collect(),
        notes: notes(found),
    }
}

const EXPLANATION: &str = "Read, Write: delegations in captured responses to OPEN. None: the client asked for a delegation and got none. \
    Recalled: each delegation once, also if its grant was not captured. Returned: DELEGRETURN succeeded, recalled or not. Mean, Max: time \
    from the first recall of a delegation to its DELEGRETURN request. No return: recalled, and the capture has no DELEGRETURN that \
    succeeded or whose outcome is unknown. Messages that the capture lacks or cut, and encrypted ones, are not counted: the numbers may be too \
    low, and No return too high.";

fn line(row: &DelegationRow) -> Row {
    Row {
        name: format!("{} at {}", row.client, row.server),
        invalid: false,
        cells: vec![
            Cell::Count(row.granted_read),
            Cell::Count(row.granted_write),
            Cell::Count(row.refused),
            Cell::Count(row.recalled),
            Cell::Count(row.returned),
            Cell::Time(row.return_mean_s),
            Cell::Time(row.return_max_s),
            Cell::Count(row.unreturned),
        ],
    }
}

fn notes(found: &Delegations) -> Vec<Note> {
    let plural = crate::collect::plural;
    let mut notes = Vec::new();
    let granted = |row: &DelegationRow| row.granted_read + row.granted_write;
    let hidden: u64 = found.rows.iter().skip(MOST_ROWS).map(granted).sum();
    let left_out = hidden.saturating_add(found.granted_left_out);
    if left_out > 0 {
        let text = format!("Not listed: {} of further clients.", plural(left_out, "granted delegation"));
        notes.push(Note::of(Weight::Plain, text));
    }
    let repeated: u64 = found.rows.iter().map(|row| row.repeated).sum();
    if repeated > 0 {
        notes.push(Note::of(Weight::Plain, format!("Servers repeated {}.", plural(repeated, "recall"))));
    }
    notes.push(Note::quiet(EXPLANATION));
    notes
}
