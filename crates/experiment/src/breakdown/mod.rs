//! What is asked about a server besides loads: its own counters, and how many requests a call takes.

pub mod counters;
pub mod ganesha;
pub mod requests;
pub mod samba;
