//! Operations and bytes a second over the whole span.

use super::commands::is_asynchronous;
use super::page::Page;
use super::table::Table;
use super::units::{NONE, bytes, significant};
use super::{group_name, name, several_protocols};
use crate::findings::{Findings, OperationRow};
use std::fmt;

pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    if findings.operations.is_empty() {
        return Ok(());
    }
    let elapsed = findings.span.elapsed_s.filter(|&elapsed| elapsed > 0.0);
    page.heading(match elapsed {
        Some(_) => "Throughput (file data moved, averaged over the elapsed time):",
        None => "Throughput (no rates: no time elapsed):",
    })?;
    page.blank()?;
    let mut table = Table::new();
    let columns = ["Count", "op/s", "Data", "MB/s", "Mbit/s", "Messages"];
    let head = |table: &mut Table, name| {
        let mut cells = vec![name];
        cells.extend(columns);
        table.head(&cells);
    };
    head(&mut table, "Command");
    let mut protocol = "";
    for row in &findings.operations {
        if several_protocols(&findings.operations) && row.protocol != protocol {
            protocol = &row.protocol;
            table.row(vec![format!("{protocol}:")]);
        }
        table.row(cells(name(row), &Sum::of(row), elapsed));
    }
    table.blank();
    head(&mut table, "Groups:");
    for row in &findings.groups {
        table.row(cells(group_name(row), &Sum::of(row), elapsed));
    }
    table.row(cells("Together".to_owned(), &together(findings), elapsed));
    page.table(&table)
}

#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    payload: u64,
    wire: u64,
}

impl Sum {
    fn of(row: &OperationRow) -> Sum {
        let count = if is_asynchronous(row) { 0 } else { row.count };
        Sum { count, payload: row.payload_bytes, wire: row.wire_bytes }
    }

    fn plus(self, other: Sum) -> Sum {
        Sum {
            count: self.count.saturating_add(other.count),
            payload: self.payload.saturating_add(other.payload),
            wire: self.wire.saturating_add(other.wire),
        }
    }
}

/// Every operation once: subcommands are in their command's row, the members of a compound in rows of their own, and
/// Write_Raw's asynchronous part moves data without being an operation.
fn together(findings: &Findings) -> Sum {
    let counted = |row: &&OperationRow| (row.parent.is_none() && row.group != "Compound") || is_asynchronous(row);
    let all = findings.operations.iter().filter(counted).map(Sum::of).fold(Sum::default(), Sum::plus);
    // What goes over the wire for a compound's members is in the compound's own row.
    let compounds = findings.operations.iter().filter(|row| row.parent.is_none() && row.group == "Compound");
    compounds.fold(all, |all, row| all.plus(Sum { wire: row.wire_bytes, ..Sum::default() }))
}

fn cells(name: String, sum: &Sum, elapsed: Option<f64>) -> Vec<String> {
    let rate = |amount: f64| elapsed.map_or_else(|| NONE.to_owned(), |elapsed| significant(amount / elapsed));
    let data = |text: String| if sum.payload == 0 { NONE.to_owned() } else { text };
    vec![
        name,
        sum.count.to_string(),
        rate(sum.count as f64),
        data(bytes(sum.payload)),
        data(rate(sum.payload as f64 / 1e6)),
        data(rate(sum.payload as f64 * 8.0 / 1e6)),
        if sum.wire == 0 { NONE.to_owned() } else { bytes(sum.wire) },
    ]
}
