//! CANCEL: withdraws a request, named by the header's async id or message id. It has no response of its own.
//!
//! Spec: MS-SMB2 2.2.30

use super::header;

/// StructureSize of the request's body.
pub const STRUCTURE_SIZE: u16 = 4;
/// Length of header and fixed body: there is nothing else to see in this command.
pub const LEN: usize = header::LEN + 4;
