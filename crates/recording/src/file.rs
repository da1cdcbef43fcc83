//! A file of transactions, in the format that its name says.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use plimsoll_model::{Names, Sink, Transaction};

use crate::RecordingError;
use crate::columns::{COLUMNS, Column, Labels};
use crate::csv_table::CsvTable;
use crate::error::Cause;
use crate::parquet_table::ParquetTable;

/// What a finished file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Transactions.
    pub rows: u64,
    /// Size of the file.
    pub bytes: u64,
}

/// A table of transactions being written, to `.parquet` or `.csv` as its name says.
///
/// Rows go to a file beside the target, its name with `.partial` after it, which [`TransactionsFile::finish`]
/// renames. So a name without `.partial` always stands for a whole table and an earlier one is kept until the new
/// one is whole; and the work of a run that was killed is there to be seen. Such a CSV file can be read up to its
/// last line; such a Parquet file cannot, for Parquet's index comes last. The next run to the same target
/// overwrites it.
pub struct TransactionsFile {
    path: PathBuf,
    partial: PathBuf,
    table: Table,
    labels: Labels,
    rows: u64,
    error: Option<Cause>,
}

impl TransactionsFile {
    /// Begins a table.
    ///
    /// # Errors
    /// When the name ends in neither `.parquet` nor `.csv`, stands for something that is no regular file, or the
    /// file cannot be created.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        let path = path.as_ref().to_owned();
        let format = Format::of(&path).ok_or_else(|| RecordingError::UnknownFormat { path: path.clone() })?;
        if fs::metadata(&path).is_ok_and(|there| !there.is_file()) {
            return Err(RecordingError::NotAFile { path });
        }
        let partial = partial_name(&path);
        let file = File::create(&partial).map_err(|source| RecordingError::Create { path: partial.clone(), source })?;
        let table = match format {
            Format::Parquet => {
                ParquetTable::new(file, "transactions", fields()).map(|table| Table::Parquet(Box::new(table)))
            }
            Format::Csv => CsvTable::new(file).map(|table| Table::Csv(Box::new(table))),
        };
        let table = table.map_err(|source| RecordingError::Write { partial: partial.clone(), rows: 0, source })?;
        Ok(Self { path, partial, table, labels: Labels::new(), rows: 0, error: None })
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

    /// Writes what is left and gives the file its name.
    ///
    /// # Errors
    /// The first error met since [`TransactionsFile::create`]; the partial file stays where it is.
    pub fn finish(self) -> Result<Written, RecordingError> {
        let Self { path, partial, table, rows, error, .. } = self;
        let finished = match error {
            Some(error) => Err(error),
            None => table.finish().and_then(|()| Ok(fs::metadata(&partial)?.len())),
        };
        match finished {
            Err(source) => Err(RecordingError::Write { partial, rows, source }),
            Ok(bytes) => match fs::rename(&partial, &path) {
                Ok(()) => Ok(Written { rows, bytes }),
                Err(source) => Err(RecordingError::Rename { partial, path, source }),
            },
        }
    }
}

/// One row at a time. Where there are many, [`TransactionsFile::transactions`] is cheaper.
impl Sink for TransactionsFile {
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        self.transactions([transaction], names);
    }
}

#[derive(Clone, Copy)]
enum Format {
    Parquet,
    Csv,
}

impl Format {
    fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        if extension.eq_ignore_ascii_case("parquet") {
            Some(Self::Parquet)
        } else if extension.eq_ignore_ascii_case("csv") {
            Some(Self::Csv)
        } else {
            None
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

    fn finish(self) -> Result<(), Cause> {
        match self {
            Table::Parquet(table) => table.finish().map(drop),
            Table::Csv(table) => table.finish(),
        }
    }
}

/// What Parquet has to know of the columns.
pub(crate) fn fields() -> Vec<crate::columns::Field> {
    COLUMNS.iter().map(Column::field).collect()
}

fn partial_name(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".partial");
    PathBuf::from(name)
}
