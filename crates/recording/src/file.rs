//! A file of transactions, in the format that its name says.

use std::fs::File;
use std::path::Path;

use plimsoll_model::{Names, Sink, Transaction};

use crate::RecordingError;
use crate::columns::{COLUMNS, Column, Labels};
use crate::csv_table::CsvTable;
use crate::error::Cause;
use crate::parquet_table::ParquetTable;

/// The content of a finished file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Transactions.
    pub rows: u64,
    /// Size of the file.
    pub bytes: u64,
}

/// A table of transactions being written. Until [`TransactionsFile::finish`] a Parquet table cannot be read, for its index comes
/// last; a CSV table can, up to its last line. When it gets its name is for the owner of the file to say.
pub struct TransactionsFile {
    table: Table,
    labels: Labels,
    rows: u64,
    error: Option<Cause>,
}

impl TransactionsFile {
    /// Begins a table in an empty file.
    ///
    /// # Errors
    /// The file takes nothing.
    pub fn new(file: File, format: TableFormat) -> Result<Self, RecordingError> {
        let table = match format {
            TableFormat::Parquet => {
                ParquetTable::new(file, "transactions", fields()).map(|table| Table::Parquet(Box::new(table)))
            }
            TableFormat::Csv => CsvTable::new(file).map(|table| Table::Csv(Box::new(table))),
        };
        let table = table.map_err(|source| RecordingError::Write { rows: 0, source })?;
        Ok(Self { table, labels: Labels::new(), rows: 0, error: None })
    }

    /// Takes rows. A Parquet table takes some tens together for less than one by one: column by column.
    pub fn transactions<'a>(&mut self, rows: impl IntoIterator<Item = &'a Transaction>, names: &Names) {
        if self.error.is_some() {
            return;
        }
        let rows: Vec<&Transaction> = rows.into_iter().collect();
        match self.table.put(&rows, &mut self.labels, names) {
            Ok(()) => self.rows += rows.len() as u64,
            Err(error) => self.error = Some(error),
        }
    }

    /// Whether a row could not be written: the rest is being dropped, and [`TransactionsFile::finish`] will say why.
    pub fn failed(&self) -> bool {
        self.error.is_some()
    }

    /// Writes the remaining rows.
    ///
    /// # Errors
    /// The first error since [`TransactionsFile::new`].
    pub fn finish(self) -> Result<Written, RecordingError> {
        let Self { table, rows, error, .. } = self;
        let finished = match error {
            Some(error) => Err(error),
            None => table.finish().and_then(|file| Ok(file.metadata()?.len())),
        };
        match finished {
            Err(source) => Err(RecordingError::Write { rows, source }),
            Ok(bytes) => Ok(Written { rows, bytes }),
        }
    }
}

/// One row at a time. Where there are many, [`TransactionsFile::transactions`] is cheaper.
impl Sink for TransactionsFile {
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        self.transactions([transaction], names);
    }
}

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// `.parquet`
    Parquet,
    /// `.csv`
    Csv,
}

impl TableFormat {
    /// The format of a file by its name.
    ///
    /// # Errors
    /// The name ends in neither `.parquet` nor `.csv`.
    pub fn of(path: &Path) -> Result<Self, RecordingError> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if extension.eq_ignore_ascii_case("parquet") {
            Ok(Self::Parquet)
        } else if extension.eq_ignore_ascii_case("csv") {
            Ok(Self::Csv)
        } else {
            Err(RecordingError::UnknownFormat { path: path.to_owned() })
        }
    }
}

enum Table {
    Parquet(Box<ParquetTable>),
    Csv(Box<CsvTable>),
}

impl Table {
    fn put(&mut self, rows: &[&Transaction], labels: &mut Labels, names: &Names) -> Result<(), Cause> {
        match self {
            Table::Parquet(table) => table.put_transactions(rows, labels, names),
            Table::Csv(table) => rows.iter().try_for_each(|t| table.put(&labels.row(t, names))),
        }
    }

    fn finish(self) -> Result<File, Cause> {
        match self {
            Table::Parquet(table) => table.finish(),
            Table::Csv(table) => table.finish(),
        }
    }
}

/// Parquet's description of the columns.
pub(crate) fn fields() -> Vec<crate::columns::Field> {
    COLUMNS.iter().map(Column::field).collect()
}
