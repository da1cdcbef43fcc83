//! NFS version 4, all minor versions: compounds, their operations, and callbacks.
//!
//! Spec: RFC 7530 16, RFC 8881 18, RFC 7862 15, RFC 8276 8.4
//!
//! A compound contains any number of operations without lengths, so each operation's layout is needed to find the next one.
//! [`Operations`] yields them in order, and says where and why it stopped ([`Stop`]): an unknown operation hides all later ones, because
//! their positions are unknown.
//!
//! A client writes a compound with [`Compound`], one operation after the other, each a struct that is a [`Call`], and reads its results
//! with [`Reply`], strictly and for the requested operations.

mod arguments;
mod attributes;
mod callback;
mod compound;
mod operation;
mod reply;
mod request;
mod results;
mod stateid;

pub mod access;
pub mod bind;
pub mod client_id;
pub mod close;
pub mod copy;
pub mod create;
pub mod create_session;
pub mod exchange_id;
pub mod getattr;
pub mod lock;
pub mod names;
pub mod open;
pub mod putfh;
pub mod read;
pub mod read_plus;
pub mod readdir;
pub mod recall_any;
pub mod sequence;
pub mod session_end;
pub mod sparse;
pub mod test_state;
pub mod write;

pub use attributes::{Attributes, Mask, SetAttributes};
pub use compound::{CompoundCall, CompoundReply, Operation, Operations, Stop};
pub(in crate::nfs) use compound::{mark_arguments, mark_results};
pub use reply::{Answered, Done, Reply};
pub use request::{Call, Compound, GetHandle, PutRoot, ReadLink, Restore, Save};
pub use stateid::StateId;

/// The procedure that is not COMPOUND.
pub const PROCEDURE_NULL: u32 = 0;
/// COMPOUND, and CB_COMPOUND on a callback program.
pub const PROCEDURE_COMPOUND: u32 = 1;
/// Bytes of a file handle, at most (NFS4_FHSIZE).
pub const FHSIZE: usize = 128;

/// A file handle: up to 128 bytes that mean something to the server alone.
pub type FileHandle = super::handle::Handle<FHSIZE>;

/// Whether each row of the two tables stands where its number says.
#[cfg(test)]
pub(super) fn layouts_in_order() -> bool {
    let in_order = |table: &[(u32, super::layout::Layout)]| {
        table.iter().zip(operation::FIRST..).all(|((code, _), expected)| *code == expected)
    };
    in_order(&arguments::LAYOUTS) && in_order(&results::LAYOUTS)
}
