//! Reads transactions tables written by `TransactionsFile`, as Parquet or CSV.

mod csv_rows;
mod parquet_rows;
mod row;

use std::fs::File;
use std::path::Path;

use plimsoll_model::{Names, Sink};

use crate::TableFormat;
use crate::folder::FolderError;
use row::RowReader;

/// Passes every transaction of a table to `sink`, in the table's order; adds names to `names`. The sink gets no beginning.
///
/// Invalid content gives an error that names the row or a transaction; memory is bounded by a few thousand rows.
///
/// # Errors
/// If the file cannot be read, or is not a table with the columns of transactions.
pub fn read_transactions(path: &Path, names: &mut Names, sink: &mut dyn Sink) -> Result<u64, FolderError> {
    let format = TableFormat::of(path).map_err(|error| FolderError::file(path, error))?;
    let file = File::open(path).map_err(|error| FolderError::file(path, error))?;
    let mut rows = RowReader::new();
    let read = match format {
        TableFormat::Parquet => parquet_rows::read(file, &mut rows, names, sink),
        TableFormat::Csv => csv_rows::read(file, &mut rows, names, sink),
    };
    read.map_err(|error| FolderError::damaged(path, error))
}
