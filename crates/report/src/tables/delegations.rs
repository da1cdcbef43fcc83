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
        columns: columns![
            "Client and server", "Granted for reading": "Read", "Granted for writing": "Write",
            "Asked for, not granted": "None", "Recalled", "Returned", "Mean time": "Mean", "Max",
            "No return captured": "No return"
        ],
        rows: found.rows.iter().take(MOST_ROWS).map(line).collect(),
        notes: notes(found),
    }
}

const EXPLANATION: &str = "Read, Write: delegations granted in captured responses to OPEN. None: the client asked for a delegation and got \
    none. Recalled: each recalled delegation once, even if its grant was not captured. Returned: delegations with a DELEGRETURN that \
    succeeded, recalled or not. Mean, Max: time from the first recall of a delegation to its DELEGRETURN request. No return: recalled \
    delegations without a captured DELEGRETURN; a DELEGRETURN that failed does not count. A dash: unknown.";

fn line(row: &DelegationRow) -> Row {
    // An unknown number is a dash.
    let count = |count: Option<u64>| count.map_or(Cell::Time(None), Cell::Count);
    Row {
        name: format!("{} at {}", row.client, row.server),
        invalid: false,
        cells: vec![
            count(row.granted_read),
            count(row.granted_write),
            count(row.refused),
            count(row.recalled),
            count(row.returned),
            Cell::Time(row.return_mean_s),
            Cell::Time(row.return_max_s),
            count(row.unreturned),
        ],
    }
}

fn notes(found: &Delegations) -> Vec<Note> {
    let plural = crate::collect::plural;
    let mut texts = Vec::new();
    let partial = found.rows.iter().filter(|row| row.partial).count() as u64;
    if partial > 0 {
        texts.push(format!(
            "For {}, the capture is incomplete: messages are missing, encrypted or cut by the snap length. The table shows only the \
             captured recalls of such a pair; there may have been more.",
            plural(partial, "client-server pair")
        ));
    }
    texts.extend(not_listed(found));
    let sum = |of: fn(&DelegationRow) -> Option<u64>| found.rows.iter().filter_map(of).sum::<u64>();
    let repeated = sum(|row| row.repeated);
    if repeated > 0 {
        texts.push(format!("Servers repeated {}.", plural(repeated, "recall")));
    }
    let not_held = sum(|row| row.not_held);
    if not_held > 0 {
        let recalled = plural(not_held, "recalled delegation");
        texts.push(format!("Clients replied that they did not hold {recalled}. \"No return\" excludes these."));
    }
    let untracked = sum(|row| Some(row.untracked));
    if untracked > 0 {
        let recalled = plural(untracked, "recalled delegation");
        texts.push(format!("There were more recalls than Plimsoll can follow: the return of {recalled} is not known."));
    }
    let mut notes: Vec<Note> = texts.into_iter().map(|text| Note::of(Weight::Plain, text)).collect();
    notes.push(Note::quiet(EXPLANATION));
    notes
}

/// Numbers of clients and servers without a line.
fn not_listed(found: &Delegations) -> Option<String> {
    let hidden = found.rows.get(MOST_ROWS..).unwrap_or_default();
    let sum = |left_out: u64, of: fn(&DelegationRow) -> [Option<u64>; 2]| {
        left_out.saturating_add(hidden.iter().flat_map(of).flatten().sum())
    };
    let granted = sum(found.granted_left_out, |row| [row.granted_read, row.granted_write]);
    let refused = sum(found.refused_left_out, |row| [row.refused, None]);
    let recalled = sum(found.recalled_left_out, |row| [row.recalled, None]);
    let returned = sum(found.returned_left_out, |row| [row.returned, None]);
    let is_known = !found.left_out_partial && hidden.iter().all(|row| !row.partial && row.untracked == 0);
    let at_least = if is_known { "" } else { "at least " };
    (!hidden.is_empty() || granted + refused + recalled + returned > 0 || found.left_out_partial).then(|| {
        format!(
            "Not listed: further clients and servers. Their delegations: {at_least}{granted} granted, {refused} not granted, {recalled} \
             recalled, {returned} returned."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: usize) -> DelegationRow {
        let (client, server) = (format!("10.0.0.{number}"), "10.0.1.1".to_owned());
        let count = Some(1);
        let counts = DelegationRow { granted_read: count, granted_write: count, refused: count, ..Default::default() };
        DelegationRow { client, server, recalled: count, returned: count, unreturned: count, ..counts }
    }

    fn texts(found: &Delegations) -> Vec<String> {
        notes(found).into_iter().map(|note| note.text).collect()
    }

    #[test]
    fn an_unknown_number_is_a_dash_and_said() {
        let known = Delegations { rows: vec![row(1)], ..Delegations::default() };
        assert_eq!(texts(&known), [EXPLANATION]);
        let partial = DelegationRow { partial: true, recalled: Some(5), ..DelegationRow::default() };
        let dashes = |count| vec![Cell::Time(None); count];
        assert_eq!(line(&partial).cells, [dashes(3), vec![Cell::Count(5)], dashes(4)].concat());
        let found = Delegations { rows: vec![row(1), partial], ..Delegations::default() };
        assert!(texts(&found)[0].starts_with("For 1 client-server pair, the capture is incomplete"), "{found:?}");
    }

    #[test]
    fn what_has_no_line_is_counted() {
        let mut found = Delegations { rows: (0..MOST_ROWS).map(row).collect(), ..Delegations::default() };
        assert_eq!(texts(&found), [EXPLANATION]);
        found.rows.extend([row(100), DelegationRow { granted_read: None, ..row(101) }]);
        (found.refused_left_out, found.recalled_left_out) = (7, 10);
        let said = "Not listed: further clients and servers. Their delegations: 3 granted, 9 not granted, 12 recalled, 2 returned.";
        assert_eq!(texts(&found), [said, EXPLANATION]);
        found.rows[MOST_ROWS].partial = true;
        assert!(texts(&found)[1].contains("delegations: at least 3 granted"), "{:?}", texts(&found));
        let found = Delegations { granted_left_out: 2, left_out_partial: true, ..Delegations::default() };
        assert!(texts(&found)[0].contains("delegations: at least 2 granted"), "{:?}", texts(&found));
    }

    #[test]
    fn recalls_that_are_no_missing_returns_are_said() {
        let row = DelegationRow { repeated: Some(2), not_held: Some(1), untracked: 3, ..row(1) };
        let found = Delegations { rows: vec![row], ..Delegations::default() };
        let said = [
            "Servers repeated 2 recalls.",
            "Clients replied that they did not hold 1 recalled delegation. \"No return\" excludes these.",
            "There were more recalls than Plimsoll can follow: the return of 3 recalled delegations is not known.",
        ];
        assert_eq!(texts(&found)[..3], said);
    }
}
