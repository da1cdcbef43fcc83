//! NFS version 4, all minor versions: compounds, their operations, and callbacks.
//!
//! Spec: RFC 7530 16, RFC 8881 18, RFC 7862 15, RFC 8276 8.4
//!
//! A compound carries any number of operations, and nothing but knowing each one's layout leads to the next. [`Operations`]
//! yields one after the other, and says where it stopped and why ([`Stop`]): an operation that this module does not know
//! hides those behind it, and none of them is guessed at.

mod arguments;
mod callback;
mod compound;
mod operation;
mod results;

pub use compound::{CompoundCall, CompoundReply, Operation, Operations, Stop};
pub use operation::{callback_name, operation_name};

use super::entry::entry;

/// The procedure that is not COMPOUND.
pub const PROCEDURE_NULL: u32 = 0;
/// COMPOUND, and CB_COMPOUND on a callback program.
pub const PROCEDURE_COMPOUND: u32 = 1;

/// The procedure's name.
pub fn procedure_name(procedure: u32) -> Option<&'static str> {
    entry(&["NULL", "COMPOUND"], procedure)
}

/// The name of a callback program's procedure.
pub fn callback_procedure_name(procedure: u32) -> Option<&'static str> {
    entry(&["CB_NULL", "CB_COMPOUND"], procedure)
}

/// Whether each row of the two tables stands where its number says.
#[cfg(test)]
pub(super) fn layouts_in_order() -> bool {
    let in_order = |table: &[(u32, super::layout::Layout)]| {
        table.iter().zip(operation::FIRST..).all(|((code, _), expected)| *code == expected)
    };
    in_order(&arguments::LAYOUTS) && in_order(&results::LAYOUTS)
}
