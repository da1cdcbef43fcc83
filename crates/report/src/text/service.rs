//! Number, size and service time of requests: McKee's tables, in total or for each load level.

use super::page::{Page, Role};
use super::table::Table;
use super::units::{NONE, TimeScale, bytes, percentage, time};
use super::{full_name, name, several_protocols};
use crate::findings::{Findings, IO_SIZE, Octave, OperationRow, SHARED};
use crate::shares;
use std::fmt;

/// Number and service time of requests, for each load level.
pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    for (level, rows) in levels(findings) {
        mix(page, &level, rows)?;
        let octaves = together(rows);
        if !octaves.is_empty() {
            page.heading(&format!("Histogram of the service times{level}, all operations together ({BINS}):"))?;
            page.blank()?;
            table(page, &octaves)?;
        }
    }
    Ok(())
}

/// Service times of every operation, for each load level.
pub(super) fn each(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    for (level, rows) in levels(findings) {
        page.heading(&format!("Histogram of the service times of each operation{level} ({BINS}):"))?;
        for row in rows.iter().filter(|row| !row.service_octaves.is_empty()) {
            octaves(page, row, rows)?;
        }
    }
    Ok(())
}

/// What the lines of a histogram are, and the unit of their limits.
const BINS: &str = "bins in powers of two; upper limits in seconds";

/// Each load's rows, because combined numbers of several loads describe none of them.
fn levels(findings: &Findings) -> Vec<(String, &[OperationRow])> {
    let mut levels: Vec<(String, &[OperationRow])> = match findings.levels.as_slice() {
        [] | [_] => vec![(String::new(), &findings.operations)],
        levels => levels.iter().map(|level| (format!(" at {}", level.words()), &level.operations[..])).collect(),
    };
    levels.retain(|(_, rows)| rows.iter().any(|row| !row.service_octaves.is_empty()));
    levels
}

/// Octaves of all operations, each counted once.
fn together(rows: &[OperationRow]) -> Vec<Octave> {
    let mut sum: Vec<Octave> = Vec::new();
    for octave in rows.iter().filter(|row| row.is_counted_once()).flat_map(|row| &row.service_octaves) {
        match sum.binary_search_by(|known| known.below_s.total_cmp(&octave.below_s)) {
            Ok(at) => {
                if let Some(known) = sum.get_mut(at) {
                    known.count = known.count.saturating_add(octave.count);
                    known.total_s += octave.total_s;
                }
            }
            Err(at) => sum.insert(at, *octave),
        }
    }
    sum
}

/// A line an operation: its share, its size, how long it took, and its part of all the time that the server took.
fn mix(page: &mut Page<'_>, level: &str, rows: &[OperationRow]) -> fmt::Result {
    let means = |row: &OperationRow| [row.headline_time(), row.service_time].map(|times| times.map(|t| t.mean_s));
    let scale = page.scale();
    let sums = TimeScale::of(rows.iter().filter(|row| row.service_time.is_some()).map(OperationRow::service_total_s));
    let together = format!("Together [{}]", sums.unit());
    let all_s: f64 = rows.iter().filter(|row| row.is_counted_once()).map(OperationRow::service_total_s).sum();
    page.heading(&format!("Operation mix and service time{level} (means {}):", scale.words()))?;
    page.blank()?;
    let mut table = Table::new();
    let head = ["Operation", "Count", "% of count", "I/O size", "Response", "Service", &together, "% of time"];
    table.head(&head);
    let mut protocol = "";
    let of_time = shares::of_rows_by(rows, OperationRow::service_total_s, all_s);
    for ((row, share), of_time) in rows.iter().zip(shares::of_rows(rows)).zip(of_time) {
        if several_protocols(rows) && row.protocol != protocol {
            protocol = &row.protocol;
            table.row(vec![format!("{protocol}:")]);
        }
        let [response, service] = means(row);
        let total_s = row.service_total_s();
        table.row(vec![
            name(row),
            row.count.to_string(),
            percentage(share),
            row.mean_payload().map_or_else(|| NONE.to_owned(), |mean| bytes(mean.round() as u64)),
            scale.show_maybe(response),
            scale.show_maybe(service),
            service.map_or_else(|| NONE.to_owned(), |_| sums.show(total_s)),
            percentage(service.and(of_time)),
        ]);
    }
    page.table(&table)?;
    page.paragraph(Role::Quiet, "", IO_SIZE)?;
    if rows.iter().any(OperationRow::may_share_messages) { page.paragraph(Role::Quiet, "", SHARED) } else { Ok(()) }
}

fn octaves(page: &mut Page<'_>, row: &OperationRow, rows: &[OperationRow]) -> fmt::Result {
    let Some(times) = &row.service_time else { return Ok(()) };
    page.blank()?;
    let summary = format!(
        "{}: {}, {} to {}, mean {}, {} together",
        full_name(row, rows),
        if times.count == 1 { "1 time".to_owned() } else { format!("{} times", times.count) },
        time(times.min_s),
        time(times.max_s),
        time(times.mean_s),
        time(row.service_total_s())
    );
    page.paragraph(Role::Heading, "", &summary)?;
    table(page, &row.service_octaves)
}

fn table(page: &mut Page<'_>, octaves: &[Octave]) -> fmt::Result {
    let counted: u64 = octaves.iter().map(|octave| octave.count).fold(0, u64::saturating_add);
    let total_s: f64 = octaves.iter().map(|octave| octave.total_s).sum();
    let mut table = Table::new();
    table.head(&["  Below", "Count", "% of count", "% of time"]);
    let of_count = shares::of_counts(octaves.iter().map(|octave| octave.count), counted);
    let of_time = shares::of(&octaves.iter().map(|octave| octave.total_s).collect::<Vec<_>>(), total_s);
    for ((Octave { below_s, count, .. }, of_count), of_time) in octaves.iter().zip(of_count).zip(of_time) {
        table.row(vec![format!("  {below_s:.6}"), count.to_string(), percentage(of_count), percentage(of_time)]);
    }
    page.table(&table)
}
