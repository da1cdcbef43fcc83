//! How files are read and written: sizes, sequences, working set.

use maud::{Markup, html};

use super::units::{UNKNOWN, bytes, count, optional, percent, percent_of, percentage};
use crate::findings::{FileIo, Findings, IoDirection, WorkingSet, binary};
use crate::shares;

/// Three tables; nothing where nothing was read or written.
pub(super) fn tables(findings: &Findings) -> Option<Markup> {
    let io = findings.io.as_ref()?;
    Some(html! {
        (orders(io))
        @if io.unknown > 0 {
            p { "Not included, because their file, offset or length is unknown: " (count(io.unknown)) " requests." }
        }
        (sizes(io))
        (working_set(&io.working_set))
    })
}

fn orders(io: &FileIo) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby="io-order-caption" {
            table {
                caption #io-order-caption {
                    "Reads and writes of file data, in the order in which they were sent. A run is a sequence of requests; each request \
                    in it begins at the offset at which the previous one ended."
                }
                thead { tr {
                    th scope="col" { "" } th scope="col" { "Requests" } th scope="col" { "Data" } th scope="col" { "Mean size" }
                    th scope="col" { "Sequential" } th scope="col" { "Strided" } th scope="col" { "Random" } th scope="col" { "Mean run" }
                } }
                tbody {
                    @for (name, of) in [("Reads", &io.reads), ("Writes", &io.writes)] {
                        @if of.requests > 0 { (order(name, of)) }
                    }
                }
            }
        }
    }
}

fn order(name: &str, of: &IoDirection) -> Markup {
    let (parts, whole) = of.orders();
    html! {
        tr {
            th scope="row" { (name) }
            td { (count(of.requests)) } td { (bytes(of.bytes as f64)) } td { (optional(of.mean_bytes(), bytes)) }
            @for share in shares::of_counts(parts, whole) { td { (percentage(share)) } }
            td { (optional(of.run_mean_bytes, bytes)) }
        }
    }
}

fn sizes(io: &FileIo) -> Markup {
    let mut ranges: Vec<(u64, u64)> =
        io.reads.sizes.iter().chain(&io.writes.sizes).map(|it| (it.from, it.to)).collect();
    ranges.sort_unstable();
    ranges.dedup();
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby="io-size-caption" {
            table {
                caption #io-size-caption { "Sizes of requests in powers of two, bytes: shares of the requests and of the data." }
                thead { tr {
                    th scope="col" { "Bytes" }
                    @for name in ["Reads", "Writes"] {
                        th scope="col" { (name) } th scope="col" { "%" } th scope="col" { "% of data" }
                    }
                } }
                tbody {
                    @for (from, to) in ranges {
                        tr {
                            th scope="row" { (count(from)) @if from != to { " – " (count(to)) } }
                            @for of in [&io.reads, &io.writes] { (size(of, (from, to))) }
                        }
                    }
                }
            }
        }
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
        @if !set.caches.is_empty() {
            div.scroll tabindex="0" role="region" aria-labelledby="io-cache-caption" {
                table {
                    caption #io-cache-caption {
                        "Share of the block accesses that an LRU cache of each size would have served."
                    }
                    thead { tr { th scope="col" { "Cache" } th scope="col" { "Accesses served" } } }
                    tbody {
                        @for cache in &set.caches {
                            tr { th scope="row" { (binary(cache.bytes)) } td { (percent(cache.hits)) } }
                        }
                    }
                }
            }
        }
    }
}
