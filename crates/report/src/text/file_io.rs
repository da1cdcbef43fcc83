//! How files are read and written: sizes, sequences, working set.

use std::fmt;

use super::drawn;
use super::page::{Page, Role};
use super::table::Table;
use super::units::{NONE, bytes, percent, percent_of};
use crate::findings::{FileIo, Findings, IoDirection, SizeShare, WorkingSet};
use crate::tables;

pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let Some(io) = &findings.io else { return Ok(()) };
    drawn::draw(page, [tables::orders(io)])?;
    if io.unknown > 0 {
        let text = format!("Not included, because their file, offset or length is unknown: {} requests.", io.unknown);
        page.paragraph(Role::Quiet, "", &text)?;
    }
    sizes(page, io)?;
    working_set(page, &io.working_set)
}

fn sizes(page: &mut Page<'_>, io: &FileIo) -> fmt::Result {
    page.heading("Sizes of requests:")?;
    page.blank()?;
    let mut table = Table::new();
    table.head(&["Bytes", "Reads", "%", "% of data", "Writes", "%", "% of data"]);
    for range in io.size_ranges() {
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
    drawn::draw(page, tables::caches(set))
}
