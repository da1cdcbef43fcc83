//! Transactions to and from tables.
//!
//! [`TransactionsFile`] is a [`plimsoll_model::Sink`] that writes the transactions table, one row a transaction,
//! as Parquet or CSV. What the columns are stands in one place, `columns.rs`; both formats read it.
//! Raw facts only: response times are derived from the instants by whoever reads the table.

mod columns;
mod csv_table;
mod error;
mod file;
mod parquet_table;

pub use columns::{ColumnKind, columns};
pub use error::RecordingError;
pub use file::{TransactionsFile, Written};
