//! SMB2 and SMB3 on the wire: borrowed views of messages that may be cut, and a client's calls and replies.
//!
//! [`Kind`] gives a message's form, [`compound::Members`] walks its members, [`Header`] reads each header, and one file per command has
//! the views of its bodies. A view takes the member's captured bytes *from the SMB2 header on*, and every offset counts from there. It
//! exists only for the right command, direction and StructureSize, and not if an ERROR response replaces the body. Each accessor returns
//! None for bytes that were not captured: missing, never guessed.
//!
//! A client sends a [`Call`]: the command's file has the call's fields and writes each to the offset that its view reads. The client
//! receives a [`Reply`], which the file's `parse` reads strictly: a missing or wrong field is a [`Malformed`] that names it.
//!
//! A new field needs a line in `tests/all/smb2_against_tshark.rs` of this crate, and a mark in `marks.rs` if the observer reads it.
//!
//! Spec: MS-SMB2 2.2

pub mod any_answer;
pub mod asked;
pub mod attributes;
pub mod cancel;
pub mod change_notify;
pub mod close;
mod command;
pub mod compound;
pub mod create;
pub mod draft;
pub mod empty_body;
pub mod error;
mod fields;
pub mod file_id;
pub mod flush;
pub mod header;
pub mod information;
pub mod ioctl;
pub mod lock;
mod marks;
pub mod negotiate;
pub mod oplock_break;
pub mod pattern;
pub mod query_directory;
pub mod query_info;
pub mod read;
pub mod reply;
pub mod session_setup;
pub mod set_info;
pub mod status;
#[cfg(test)]
mod testing;
pub mod transform;
pub mod tree_connect;
pub mod write;

pub use command::Command;
pub use draft::{Call, Head, TooLong};
pub use file_id::FileId;
pub use header::Header;
pub use marks::mark;
pub use reply::{Answer, Malformed, Reply, replies};
pub use status::{Severity, status_name};
pub use transform::Kind;
