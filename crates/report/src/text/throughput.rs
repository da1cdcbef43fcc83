//! Operations and bytes per second over the time that was measured.

use super::page::{Page, Role};
use super::table::Table;
use super::units::{NONE, UNKNOWN, at_least, data, significant, time};
use super::{group_name, name, several_protocols};
use crate::findings::{Findings, OperationRow, Overhead};
use std::fmt;

pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    if findings.operations.is_empty() {
        return Ok(());
    }
    let elapsed = findings.measured_s();
    let rates = match elapsed {
        Some(elapsed) => format!("file data moved, averaged over the {}", measured_words(findings, elapsed)),
        None => "without rates, because no time elapsed".to_owned(),
    };
    page.heading(&format!("Throughput ({rates}):"))?;
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
    let all = together(findings);
    table.row(cells("Together".to_owned(), &all, elapsed));
    page.table(&table)?;
    if let Some(own) = &findings.overhead {
        page.paragraph(Role::Plain, "", &overhead(own))?;
    }
    if all.answered < all.count {
        let (without, count) = (all.count - all.answered, all.count);
        let what = if findings.run.is_some() { "no response" } else { "no captured response" };
        let text = format!("op/s counts answered requests only: {without} of {count} requests have {what}.");
        page.paragraph(Role::Quiet, "", &text)?;
    }
    if all.payload_unknown > 0 {
        let (count, some) = (all.payload_unknown, if all.payload > 0 { ": the sums are lower bounds (≥)" } else { "" });
        let text = format!(
            "The amount of file data of {count} operations is unknown, because the capture does not contain their lengths{some}."
        );
        page.paragraph(Role::Quiet, "", &text)?;
    }
    Ok(())
}

/// The time that the rates are over.
fn measured_words(findings: &Findings, elapsed: f64) -> String {
    if !findings.levels.is_empty() {
        "measured time".to_owned()
    } else if findings.span.between_files_s > 0.0 {
        format!("{} that the capture files cover", time(elapsed))
    } else {
        "elapsed time".to_owned()
    }
}

/// Bytes sent per byte of file data.
pub(crate) fn overhead(own: &Overhead) -> String {
    let network = own
        .network_ratio
        .map_or_else(String::new, |ratio| format!(" ({} bytes with the packet headers)", significant(ratio)));
    format!(
        "Protocol overhead: for each byte of file data, {} bytes in requests and responses{network}.",
        significant(own.message_ratio)
    )
}

#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    /// Those that op/s counts.
    answered: u64,
    payload: u64,
    payload_unknown: u64,
    wire: u64,
    wire_unknown: u64,
}

impl Sum {
    fn of(row: &OperationRow) -> Sum {
        let (count, answered) = if row.is_asynchronous() { (0, 0) } else { (row.count, row.answered) };
        Sum {
            count,
            answered,
            payload: row.payload_bytes.unwrap_or(0),
            payload_unknown: row.payload_unknown,
            wire: row.wire_bytes.unwrap_or(0),
            wire_unknown: row.wire_unknown,
        }
    }

    fn plus(self, other: Sum) -> Sum {
        Sum {
            count: self.count.saturating_add(other.count),
            answered: self.answered.saturating_add(other.answered),
            payload: self.payload.saturating_add(other.payload),
            payload_unknown: self.payload_unknown.saturating_add(other.payload_unknown),
            wire: self.wire.saturating_add(other.wire),
            wire_unknown: self.wire_unknown.saturating_add(other.wire_unknown),
        }
    }

    /// The known file data; `None` if all is unknown.
    fn payload(&self) -> Option<u64> {
        (self.payload > 0 || self.payload_unknown == 0).then_some(self.payload)
    }
}

/// Every operation once: subcommands are in their command's row, and Write_Raw's asynchronous part moves data without being an
/// operation.
fn together(findings: &Findings) -> Sum {
    let counted = |row: &&OperationRow| row.is_counted_once() || row.is_asynchronous();
    findings.operations.iter().filter(counted).map(Sum::of).fold(Sum::default(), Sum::plus)
}

fn cells(name: String, sum: &Sum, elapsed: Option<f64>) -> Vec<String> {
    let rate = |amount: f64| elapsed.map_or_else(|| NONE.to_owned(), |elapsed| significant(amount / elapsed));
    let moved = |per_byte: f64| match sum.payload() {
        Some(0) => NONE.to_owned(),
        Some(payload) => at_least(rate(payload as f64 * per_byte), sum.payload_unknown),
        None => UNKNOWN.to_owned(),
    };
    let wire = (sum.wire > 0 || sum.wire_unknown == 0).then_some(sum.wire);
    vec![
        name,
        sum.count.to_string(),
        rate(sum.answered as f64),
        data(sum.payload(), sum.payload_unknown),
        moved(1.0 / 1e6),
        moved(8.0 / 1e6),
        data(wire, sum.wire_unknown),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_a_response_is_in_no_rate() {
        let sum = Sum { count: 3857, answered: 3601, ..Sum::default() };
        let shown = cells("READ".to_owned(), &sum, Some(3.0));
        assert_eq!(shown[..3], ["READ", "3857", "1200"]);
        let none = Sum { count: 406, ..Sum::default() };
        assert_eq!(cells(String::new(), &none.plus(sum), Some(3.0))[1..3], ["4263", "1200"]);
        assert_eq!(cells(String::new(), &none, Some(10.0))[1..3], ["406", "0"]);
    }
}
