//! The embedded servers with real clients, in one program.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod client;
mod nfs;
mod smb;
