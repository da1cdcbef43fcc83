//! How files are read and written: sequences, and hits of caches.

use super::{Cell, Column, Row, Table};
use crate::findings::{FileIo, IoDirection, WorkingSet, binary};
use crate::shares;

/// A line for reads and a line for writes.
pub(crate) fn orders(io: &FileIo) -> Table {
    let row = |(name, of): (&str, &IoDirection)| {
        let (parts, whole) = of.orders();
        let mut cells = vec![Cell::Count(of.requests), Cell::Size(Some(of.bytes as f64)), Cell::Size(of.mean_bytes())];
        cells.extend(shares::of_counts(parts, whole).into_iter().map(Cell::Percentage));
        cells.push(Cell::Size(of.run_mean_bytes));
        Row { name: name.to_owned(), invalid: false, cells }
    };
    let columns = ["", "Requests", "Data", "Mean size", "Sequential", "Strided", "Random", "Mean run"];
    Table {
        id: "io-order".to_owned(),
        title: "Reads and writes of file data, in the order in which they were sent".to_owned(),
        scaled: None,
        caption: "Reads and writes of file data, in the order in which they were sent. A run is a sequence of requests; each request \
            in it begins at the offset at which the previous one ended."
            .to_owned(),
        columns: columns.map(|name| Column::new(name, name)).into(),
        rows: [("Reads", &io.reads), ("Writes", &io.writes)].into_iter().filter(|(_, of)| of.requests > 0).map(row).collect(),
        notes: Vec::new(),
    }
}

/// A line for each size of a cache.
pub(crate) fn caches(set: &WorkingSet) -> Option<Table> {
    let title = "Share of the block accesses that an LRU cache of each size would have served";
    (!set.caches.is_empty()).then(|| Table {
        id: "io-cache".to_owned(),
        title: title.to_owned(),
        scaled: None,
        caption: format!("{title}."),
        columns: vec![Column::new("Cache", "Cache"), Column::new("Accesses served", "%")],
        rows: set
            .caches
            .iter()
            .map(|one| Row { name: binary(one.bytes), invalid: false, cells: vec![Cell::Share(Some(one.hits))] })
            .collect(),
        notes: Vec::new(),
    })
}
