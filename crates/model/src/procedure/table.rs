//! The rows, by protocol in the order of [`Protocol::ALL`], each command followed by its subcommands.

use super::Row;
use crate::{Group as G, Operation as O, Protocol};

/// Marks a code without a row.
pub(super) const NO_ROW: u16 = u16::MAX;
const CODES: usize = 256;

const fn row(protocol: Protocol, code: u16, name: &'static str, operation: O, group: G) -> Row {
    Row { protocol, code, sub: None, name, seed_name: None, operation, group, held: false }
}

const fn unknown(protocol: Protocol) -> Row {
    row(protocol, u16::MAX, "UNKNOWN", O::Other, G::Session)
}

/// The table.
pub(super) static ROWS: [Row; 11] = [
    unknown(Protocol::Smb1),
    unknown(Protocol::Smb2),
    unknown(Protocol::Portmap),
    unknown(Protocol::Mount),
    unknown(Protocol::Nlm),
    unknown(Protocol::NfsAcl),
    unknown(Protocol::Nfs2),
    unknown(Protocol::Nfs3),
    unknown(Protocol::Nfs4),
    unknown(Protocol::Nfs4Callback),
    unknown(Protocol::Rpc),
];

/// Row of each (protocol, code), built once at compile time.
pub(super) static BY_CODE: [[u16; CODES]; Protocol::ALL.len()] = by_code();
/// The UNKNOWN row of each protocol.
pub(super) static UNKNOWN: [u16; Protocol::ALL.len()] = unknowns();

const fn by_code() -> [[u16; CODES]; Protocol::ALL.len()] {
    let mut index = [[NO_ROW; CODES]; Protocol::ALL.len()];
    let mut i = 0;
    while i < ROWS.len() {
        let row = &ROWS[i];
        if row.sub.is_none() && (row.code as usize) < CODES {
            index[row.protocol as usize][row.code as usize] = i as u16;
        }
        i += 1;
    }
    index
}

const fn unknowns() -> [u16; Protocol::ALL.len()] {
    let mut index = [0; Protocol::ALL.len()];
    let mut i = 0;
    while i < ROWS.len() {
        if ROWS[i].code == u16::MAX {
            index[ROWS[i].protocol as usize] = i as u16;
        }
        i += 1;
    }
    index
}
