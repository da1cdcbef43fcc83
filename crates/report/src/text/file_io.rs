//! How files are read and written: sizes, sequences, working set.

use std::fmt;

use super::page::{Page, Role};
use super::table::Table;
use super::units::{NONE, bytes, percent, percent_of, percentage};
use crate::findings::{FileIo, Findings, IoDirection, SizeShare, WorkingSet, binary};
use crate::shares;

pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let Some(io) = &findings.io else { return Ok(()) };
    page.heading("Reads and writes of file data, in the order in which they were sent:")?;
    page.blank()?;
    orders(page, io)?;
    if io.unknown > 0 {
        let text = format!("Not included, because their file, offset or length is unknown: {} requests.", io.unknown);
        page.paragraph(Role::Quiet, "", &text)?;
    }
    sizes(page, io)?;
    working_set(page, &io.working_set)
}

fn orders(page: &mut Page<'_>, io: &FileIo) -> fmt::Result {
    let mut table = Table::new();
    table.head(&["", "Requests", "Data", "Mean size", "Sequential", "Strided", "Random", "Mean run"]);
    for (name, of) in [("Reads", &io.reads), ("Writes", &io.writes)] {
        if of.requests == 0 {
            continue;
        }
        let (parts, whole) = of.orders();
        let rounded = |number: Option<f64>| number.map_or_else(|| NONE.to_owned(), |it| bytes(it.round() as u64));
        let mut cells = vec![name.to_owned(), of.requests.to_string(), bytes(of.bytes), rounded(of.mean_bytes())];
        cells.extend(shares::of_counts(parts, whole).into_iter().map(percentage));
        cells.push(rounded(of.run_mean_bytes));
        table.row(cells);
    }
    page.table(&table)
}

fn sizes(page: &mut Page<'_>, io: &FileIo) -> fmt::Result {
    page.heading("Sizes of requests:")?;
    page.blank()?;
    let mut ranges: Vec<(u64, u64)> =
        io.reads.sizes.iter().chain(&io.writes.sizes).map(|it| (it.from, it.to)).collect();
    ranges.sort_unstable();
    ranges.dedup();
    let mut table = Table::new();
    table.head(&["Bytes", "Reads", "%", "% of data", "Writes", "%", "% of data"]);
    for range in ranges {
        let name = if range.0 == range.1 { range.0.to_string() } else { format!("{} to {}", range.0, range.1) };
        let mut cells = vec![name];
        for of in [&io.reads, &io.writes] {
            let found = of.sizes.iter().find(|it| (it.from, it.to) == range);
            cells.extend(size(of, found));
        }
        table.row(cells);
    }
    page.table(&table)
}

fn size(of: &IoDirection, found: Option<&SizeShare>) -> [String; 3] {
    match found {
        Some(it) => [it.count.to_string(), percent_of(it.count, of.requests), percent_of(it.bytes, of.bytes)],
        None => [NONE.to_owned(), NONE.to_owned(), NONE.to_owned()],
    }
}

fn working_set(page: &mut Page<'_>, set: &WorkingSet) -> fmt::Result {
    let (Some(size), Some(reused)) = (set.bytes, set.reused) else { return Ok(()) };
    let block = set.block_bytes;
    let mut text = format!(
        "Working set: {size} in blocks of {block} bytes. In {share} of {accesses} block accesses, the block had been accessed before.",
        size = bytes(size),
        share = percent(reused),
        accesses = set.accesses,
    );
    if let Some(error) = set.relative_error.filter(|error| *error > 0.0) {
        // A power of two.
        text += &format!(
            " Estimated from one block in {:.0}: relative standard error {}.",
            1.0 / set.sampled,
            percent(error)
        );
    }
    page.blank()?;
    page.paragraph(Role::Plain, "", &text)?;
    if set.caches.is_empty() {
        return Ok(());
    }
    page.heading("Share of the block accesses that an LRU cache of each size would have served:")?;
    page.blank()?;
    let mut table = Table::new();
    table.head(&["Cache", "%"]);
    for cache in &set.caches {
        table.row(vec![binary(cache.bytes), percent(cache.hits)]);
    }
    page.table(&table)
}
