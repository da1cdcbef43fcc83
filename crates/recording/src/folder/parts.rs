//! `transactions-NNNN.parquet`: rows sorted by the beginning of their request, in files of a bounded number of rows.

use std::fs::File;
use std::path::{Path, PathBuf};

use plimsoll_model::{Names, Transaction};

use crate::columns::Labels;
use crate::error::Cause;
use crate::file::fields;
use crate::parquet_table::{GROUP_ROWS, ParquetTable};

/// Rows of a file: some 180 MiB. A file can be read when it is finished.
const PART_ROWS: u64 = 8 << 20;

/// The transactions table of a stage.
pub(super) struct Parts {
    folder: PathBuf,
    labels: Labels,
    // A row group, to be sorted.
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

    pub(super) fn put(&mut self, t: &Transaction, names: &Names) -> Result<(), Cause> {
        self.waiting.push(t.clone());
        if self.waiting.len() >= GROUP_ROWS { self.write_group(names) } else { Ok(()) }
    }

    fn write_group(&mut self, names: &Names) -> Result<(), Cause> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        if self.table.is_none() {
            let file = File::create(self.folder.join(format!("transactions-{:04}.parquet", self.parts)))?;
            self.table = Some(ParquetTable::new(file, "transactions", fields())?);
            self.parts += 1;
        }
        let mut sorted: Vec<&Transaction> = self.waiting.iter().collect();
        // Quick where they come nearly sorted, as they do.
        sorted.sort_by_key(|t| t.timeline.request_first);
        if let Some(table) = &mut self.table {
            table.put_transactions(&sorted, &mut self.labels, names)?;
        }
        let written = self.waiting.len() as u64;
        self.waiting.clear();
        (self.rows, self.rows_of_part) = (self.rows + written, self.rows_of_part + written);
        if self.rows_of_part >= PART_ROWS { self.finish_part() } else { Ok(()) }
    }

    fn finish_part(&mut self) -> Result<(), Cause> {
        if let Some(table) = self.table.take() {
            table.finish()?.sync_all()?;
        }
        self.rows_of_part = 0;
        Ok(())
    }

    /// Everything is written and on the disk.
    pub(super) fn finish(&mut self, names: &Names) -> Result<(), Cause> {
        self.write_group(names)?;
        self.finish_part()
    }
}
