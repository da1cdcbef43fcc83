//! Rows on their way to a table that takes some tens together for less than one by one.

use plimsoll_model::{Names, Sink, Transaction};

use crate::{RecordingError, TransactionsFile, Written};

/// Rows that are handed over together: few enough, at 400 bytes each, to stay near the processor.
const TOGETHER: usize = 64;

/// A table, and its rows that are not written yet.
pub struct Batched {
    table: TransactionsFile,
    waiting: Vec<Transaction>,
}

impl Batched {
    /// None so far.
    #[must_use]
    pub fn new(table: TransactionsFile) -> Self {
        Self { table, waiting: Vec::with_capacity(TOGETHER) }
    }

    /// All have come.
    ///
    /// # Errors
    /// As [`TransactionsFile::finish`].
    pub fn finish(mut self, names: &Names) -> Result<Written, RecordingError> {
        self.hand_over(names);
        self.table.finish()
    }

    fn hand_over(&mut self, names: &Names) {
        self.table.transactions(&self.waiting, names);
        self.waiting.clear();
    }
}

impl Sink for Batched {
    fn transaction(&mut self, transaction: &Transaction, names: &Names) {
        self.waiting.push(transaction.clone());
        if self.waiting.len() >= TOGETHER {
            self.hand_over(names);
        }
    }
}
