//! LOGOFF: the session ends. Its body says nothing more.
//!
//! Spec: MS-SMB2 2.2.7, 2.2.8

use super::header;

/// StructureSize of the request's body, and of the response's.
pub const STRUCTURE_SIZE: u16 = 4;
/// Length of header and fixed body: there is nothing else to see in this command.
pub const LEN: usize = header::LEN + 4;
