//! Transactions to and from tables: Parquet and CSV
