//! The embedded servers with real clients, in one program.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may stop where it stands, and says what it skips")]

mod client;
mod nfs;
mod smb;
