//! Leases and oplocks that servers broke, a line for each client, share and kind.

use super::{Cell, Column, Note, Row, Table, Weight, prefix};
use crate::findings::{Findings, LeaseBreakRow, LeaseBreaks};

/// Lines of a table.
const MOST_ROWS: usize = 40;

/// The tables; none without breaks.
pub(crate) fn lease_breaks(sides: &[Findings]) -> Vec<Table> {
    let of = |(number, side): (usize, &Findings)| {
        side.lease_breaks.as_ref().map(|found| table(found, &prefix(sides, side), number))
    };
    sides.iter().enumerate().filter_map(of).collect()
}

fn table(found: &LeaseBreaks, prefix: &str, number: usize) -> Table {
    let shown = &found.rows[..found.rows.len().min(MOST_ROWS)];
    let mut rows = Vec::new();
    let mut last = None;
    for row in shown {
        let place = Some((&row.client, &row.share));
        if last != place {
            rows.push(head(row));
            last = place;
        }
        rows.push(line(row));
    }
    Table {
        id: format!("lease-breaks-{number}"),
        title: format!("{prefix}Lease and oplock breaks"),
        scaled: None,
        caption: format!("{prefix}Leases and oplocks that servers broke (SMB2 only). {EXPLANATION}"),
        columns: columns![
            "Client, share, and broken state": "Client and break", "Breaks", "Acknowledged": "Acked",
            "Mean time": "Mean", "Max", "Closed instead": "Closed", "Unanswered": "Unansw.",
            "Requests that waited": "Waits", "Waited in all": "Waited"
        ],
        rows,
        notes: notes(found),
    }
}

const EXPLANATION: &str = "Breaks: break notifications that servers sent. Acked: breaks that the client acknowledged. Mean, Max: time from the \
    notification to the acknowledgement. Closed: breaks after which the client closed the file instead. Unanswered: breaks after which the \
    client neither sent an acknowledgement nor closed the file before the capture ended. All other breaks need no \
    acknowledgement, or the capture does not show the client's reply. \
    Waits: requests on other connections (opens, renames and other changes) that waited 5 ms or longer during the break. Waited: total \
    waiting time of these requests. R, W, H: read, write and handle caching.";

/// The client and the share.
fn head(row: &LeaseBreakRow) -> Row {
    let share = row.share.as_deref().map_or_else(|| "unknown share".to_owned(), str::to_owned);
    Row { name: format!("{} on {share}", row.client), invalid: false, cells: vec![Cell::Words(String::new()); 8] }
}

fn line(row: &LeaseBreakRow) -> Row {
    Row {
        name: format!("  {}", words(row)),
        invalid: false,
        cells: vec![
            Cell::Count(row.notified),
            Cell::Count(row.acknowledged),
            Cell::Time(row.acknowledged_mean_s),
            Cell::Time(row.acknowledged_max_s),
            Cell::Count(row.closed),
            Cell::Count(row.unanswered),
            Cell::Count(row.waits),
            Cell::Time((row.waits > 0).then_some(row.wait_s)),
        ],
    }
}

/// "directory lease RH to none".
fn words(row: &LeaseBreakRow) -> String {
    let unknown = || "unknown".to_owned();
    let right = row.right.as_deref().unwrap_or("lease or oplock");
    let of = row.of.as_deref().map_or_else(String::new, |of| format!("{of} "));
    let [from, to] = [&row.from, &row.to].map(|state| state.clone().unwrap_or_else(unknown));
    format!("{of}{right} {from} to {to}")
}

fn notes(found: &LeaseBreaks) -> Vec<Note> {
    let plural = crate::collect::plural;
    let mut notes = Vec::new();
    let hidden: u64 = found.rows.iter().skip(MOST_ROWS).map(|row| row.notified).sum();
    let left_out = hidden.saturating_add(found.notified_left_out);
    if left_out > 0 {
        notes.push(Note::of(Weight::Plain, format!("Not listed: {} of further kinds.", plural(left_out, "break"))));
    }
    if found.unsolicited > 0 {
        let text = format!(
            "Clients sent {} without a captured break notification.",
            plural(found.unsolicited, "acknowledgement")
        );
        notes.push(Note::of(Weight::Plain, text));
    }
    if found.unmatched > 0 {
        let text = format!("For {}, the break is not known.", plural(found.unmatched, "acknowledgement"));
        notes.push(Note::of(Weight::Plain, text));
    }
    notes.push(Note::quiet(EXPLANATION));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_of_acknowledgements_is_not_called_unsolicited() {
        let texts = |found: &LeaseBreaks| notes(found).into_iter().map(|note| note.text).collect::<Vec<_>>();
        let found = texts(&LeaseBreaks { unmatched: 2, ..LeaseBreaks::default() });
        assert_eq!(found, ["For 2 acknowledgements, the break is not known.", EXPLANATION]);
        let found = texts(&LeaseBreaks { unsolicited: 1, ..LeaseBreaks::default() });
        assert_eq!(found, ["Clients sent 1 acknowledgement without a captured break notification.", EXPLANATION]);
    }
}
