//! `transactions-NNNN.parquet`: rows sorted by the beginning of their request, in files of a bounded number of rows.

use std::fs::File;
use std::path::{Path, PathBuf};

use plimsoll_model::{Names, Transaction};

use super::tables::OPEN;
use crate::columns::Labels;
use crate::error::Cause;
use crate::file::fields;
use crate::parquet_table::{NEAR_ROWS, ParquetTable};

/// Rows of a file: some 180 MiB. A file can be read when it is finished.
const PART_ROWS: u64 = 8 << 20;

/// The name of a file of the table.
pub(super) fn file_name(part: u32) -> String {
    format!("transactions-{part:04}.parquet")
}

/// The number of the file with this name.
pub(super) fn number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("transactions-")?.strip_suffix(".parquet")?;
    digits.parse().ok().filter(|&number| file_name(number) == name)
}

/// The transactions table of a level.
pub(super) struct Parts {
    folder: PathBuf,
    labels: Labels,
    waiting: Vec<Transaction>,
    table: Option<ParquetTable>,
    rows_of_part: u64,
    pub(super) rows: u64,
    pub(super) parts: u32,
}

impl Parts {
    pub(super) fn new(folder: &Path) -> Self {
        let (waiting, table, folder) = (Vec::new(), None, folder.to_owned());
        Self { folder, labels: Labels::new(), waiting, table, rows_of_part: 0, rows: 0, parts: 0 }
    }

    pub(super) fn put(&mut self, rows: &[&Transaction], names: &Names) -> Result<(), Cause> {
        if rows.len() >= NEAR_ROWS {
            self.write_waiting(names)?;
            return self.write(rows, names);
        }
        self.waiting.extend(rows.iter().copied().cloned());
        // Columns are gathered in sequence.
        if self.waiting.len() >= NEAR_ROWS { self.write_waiting(names) } else { Ok(()) }
    }

    fn write_waiting(&mut self, names: &Names) -> Result<(), Cause> {
        let mut waiting = std::mem::take(&mut self.waiting);
        self.write(&waiting.iter().collect::<Vec<_>>(), names)?;
        waiting.clear();
        self.waiting = waiting;
        Ok(())
    }

    fn write(&mut self, rows: &[&Transaction], names: &Names) -> Result<(), Cause> {
        let room = usize::try_from(PART_ROWS - self.rows_of_part)?;
        let (rows, next_part) = rows.split_at(rows.len().min(room));
        if rows.is_empty() {
            return Ok(());
        }
        let table = match &mut self.table {
            Some(table) => table,
            none => none.insert(Self::begin_part(&self.folder, &mut self.parts)?),
        };
        table.put_transactions(rows, &mut self.labels, names)?;
        let written = rows.len() as u64;
        (self.rows, self.rows_of_part) = (self.rows + written, self.rows_of_part + written);
        if self.rows_of_part >= PART_ROWS {
            self.finish_part()?;
        }
        self.write(next_part, names)
    }

    /// Copies the files of another table with `rows` rows.
    pub(super) fn adopt(&mut self, files: &[PathBuf], rows: u64) -> Result<(), Cause> {
        self.finish_part()?;
        for file in files {
            let copy = self.folder.join(file_name(self.parts));
            std::fs::copy(file, &copy)?;
            File::open(&copy)?.sync_all()?;
            self.parts += 1;
        }
        self.rows += rows;
        Ok(())
    }

    fn begin_part(folder: &Path, parts: &mut u32) -> Result<ParquetTable, Cause> {
        let file = File::create(folder.join(format!("{}{OPEN}", file_name(*parts))))?;
        let table = ParquetTable::new(file, "transactions", fields())?.sorted();
        *parts += 1;
        Ok(table)
    }

    fn finish_part(&mut self) -> Result<(), Cause> {
        if let Some(table) = self.table.take() {
            table.finish()?.sync_all()?;
            let name = file_name(self.parts.saturating_sub(1));
            std::fs::rename(self.folder.join(format!("{name}{OPEN}")), self.folder.join(name))?;
        }
        self.rows_of_part = 0;
        Ok(())
    }

    /// Everything is written and on the disk.
    pub(super) fn finish(&mut self, names: &Names) -> Result<(), Cause> {
        self.write_waiting(names)?;
        self.finish_part()
    }
}
