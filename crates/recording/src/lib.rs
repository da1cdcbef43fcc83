//! Transactions to and from tables.
//!
//! [`TransactionsFile`] is a [`plimsoll_model::Sink`] that writes the transactions table, one row a transaction,
//! as Parquet or CSV. What the columns are stands in one place, `columns.rs`; both formats read it.
//! [`folder`] is a recording: everything that a run or an analysis found, to be reported, compared and queried later, and
//! written for other programs ([`Export`]).
//! Raw facts only: response times are derived from the instants by whoever reads the table.

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
