//! Transactions to and from tables.
//!
//! [`TransactionsFile`] is a [`plimsoll_model::Sink`] that writes the transactions table, one row per transaction, as Parquet or CSV.
//! `columns.rs` defines the columns for both formats. [`folder`] is a recording: all results of a run or an analysis, for later reports,
//! comparisons and queries, and for export to other programs ([`Export`]). Tables contain raw facts only: readers derive response times
//! from the timestamps.

mod batched;
mod columns;
mod csv_table;
mod error;
mod export;
mod file;
pub mod folder;
mod parquet_table;
mod read;

pub use batched::Batched;
pub use columns::{ColumnKind, columns};
pub use error::RecordingError;
pub use export::{Export, LiveMetrics};
pub use file::{TableFormat, TransactionsFile, Written};
pub use read::read_transactions;
