//! How files are read and written: sizes, sequences, working set.

use maud::{Markup, html};

use super::drawn;
use super::table::scrolled;
use super::units::{UNKNOWN, bytes, count, percent, percent_of};
use crate::findings::{FileIo, Findings, IoDirection, WorkingSet};
use crate::tables;

/// Three tables; nothing where nothing was read or written.
pub(super) fn tables(findings: &Findings) -> Option<Markup> {
    let io = findings.io.as_ref()?;
    Some(html! {
        @for table in drawn::draw([tables::orders(io)]) { (table) }
        @if io.unknown > 0 {
            p { "Not included, because their file, offset or length is unknown: " (count(io.unknown)) " requests." }
        }
        (sizes(io))
        (working_set(&io.working_set))
    })
}

fn sizes(io: &FileIo) -> Markup {
    html! {
        (scrolled("io-size-caption", "", html! {
            "Sizes of requests in powers of two, bytes: shares of the requests and of the data."
        }, html! {
            thead { tr {
                th scope="col" { "Bytes" }
                @for name in ["Reads", "Writes"] {
                    th scope="col" { (name) } th scope="col" { "%" } th scope="col" { "% of data" }
                }
            } }
            tbody {
                @for (from, to) in io.size_ranges() {
                    tr {
                        th scope="row" { (count(from)) @if from != to { " – " (count(to)) } }
                        @for of in [&io.reads, &io.writes] { (size(of, (from, to))) }
                    }
                }
            }
        }))
    }
}

fn size(of: &IoDirection, range: (u64, u64)) -> Markup {
    html! {
        @match of.sizes.iter().find(|it| (it.from, it.to) == range) {
            Some(it) => {
                td { (count(it.count)) } td { (percent_of(it.count, of.requests)) } td { (percent_of(it.bytes, of.bytes)) }
            }
            None => { td { (UNKNOWN) } td { (UNKNOWN) } td { (UNKNOWN) } }
        }
    }
}

fn working_set(set: &WorkingSet) -> Markup {
    html! {
        @if let (Some(size), Some(reused)) = (set.bytes, set.reused) {
            p {
                "Working set: " strong { (bytes(size as f64)) } " in blocks of " (count(set.block_bytes)) " bytes. "
                "In " strong { (percent(reused)) } " of " (count(set.accesses)) " block accesses, the block had been accessed before."
                @if let Some(error) = set.relative_error.filter(|error| *error > 0.0) {
                    " Estimated from one block in " (format!("{:.0}", 1.0 / set.sampled)) ": relative standard error " (percent(error)) "."
                }
            }
        }
        @for table in drawn::draw(tables::caches(set)) { (table) }
    }
}
