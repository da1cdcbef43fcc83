//! Replay of dbench's load files (such as NetBench), line by line, on any target.
//!
//! ```text
//! load file ─ loadfile (text, gzip) ─ grammar (lines) ─ script (checked) ─ player: a Scenario
//!                                              statuses (what each line expects) ─┘ └─ account (what did not come so)
//! ```
//!
//! A player is one slot of one client. It replays the file repeatedly in a private directory, one line per iteration, and compares the
//! result of each line with the status in the line.
//!
//! Another operation is a row of the table in `grammar.rs`, its request in `player/lines.rs`, and the names of its statuses in `statuses.rs`.
//!
//! Spec: dbench 3, 4 and 5 (child.c, fileio.c, nfsio.c, smb.c), and smbtorture's BENCH-NBENCH of Samba 4

mod account;
mod arguments;
mod grammar;
mod levels;
mod line;
mod loadfile;
mod made;
mod player;
mod script;
mod statuses;
#[cfg(test)]
mod tests;

pub(crate) use account::Account;
pub(crate) use loadfile::{LoadFile, LoadFileError};
pub(crate) use made::MadePaths;
pub(crate) use player::{Player, Stage};
pub(crate) use script::Script;
