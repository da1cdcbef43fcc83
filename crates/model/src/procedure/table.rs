//! The rows, by protocol in the order of [`Protocol::ALL`], each command followed by its subcommands.
//!
//! The rows themselves stand in `smb1.rs`, `smb2.rs`, `nfs.rs`, `rpc.rs` and `file.rs`; here they become one table and its
//! index, at compile time.

use super::{Row, file, nfs, rpc, smb1, smb2};
use crate::{Group as G, Operation as O, Protocol};

/// Marks a code without a row.
pub(super) const NO_ROW: u16 = u16::MAX;
const CODES: usize = 256;
/// Added to the code of a read or write that goes to a named pipe: commands on the wire are below it.
pub(super) const ON_PIPE: u16 = 0x100;

/// The parts in the order of [`Protocol::ALL`].
const PARTS: [&[Row]; 7] =
    [smb1::ROWS, smb2::ROWS, rpc::ROWS, nfs::ROWS, nfs::CALLBACK_ROWS, rpc::OTHER_ROWS, file::ROWS];
const COUNT: usize = count();

/// The table.
pub(super) static ROWS: [Row; COUNT] = rows();
/// Row of each (protocol, code), built once at compile time.
pub(super) static BY_CODE: [[u16; CODES]; Protocol::ALL.len()] = by_code();
/// The UNKNOWN row of each protocol.
pub(super) static UNKNOWN: [u16; Protocol::ALL.len()] = unknowns();

/// A command's row.
pub(super) const fn row(protocol: Protocol, code: u16, name: &'static str, operation: O, group: G) -> Row {
    let carries_data = matches!(operation, O::Read | O::Write);
    Row {
        protocol,
        code,
        sub: None,
        name,
        seed_name: None,
        operation,
        group,
        held: false,
        carries_data,
        bookkeeping: false,
    }
}

/// The row for what the table does not name.
pub(super) const fn unknown(protocol: Protocol) -> Row {
    row(protocol, u16::MAX, "UNKNOWN", O::Other, G::Session)
}

impl Row {
    /// As a subcommand of its code.
    pub(super) const fn sub(mut self, sub: u16) -> Row {
        self.sub = Some(sub);
        self
    }

    /// With its name in seed 1.
    pub(super) const fn seed(mut self, name: &'static str) -> Row {
        self.seed_name = Some(name);
        self
    }

    /// Serves the operations beside it in its compound.
    pub(super) const fn bookkeeping(mut self) -> Row {
        self.bookkeeping = true;
        self
    }

    /// Writes file data that its messages do not carry.
    pub(super) const fn without_data(mut self) -> Row {
        self.carries_data = false;
        self
    }

    /// Waits by design, always.
    pub(super) const fn held(mut self) -> Row {
        self.held = true;
        self
    }
}

const fn count() -> usize {
    let mut sum = 0;
    let mut part = 0;
    while part < PARTS.len() {
        sum += PARTS[part].len();
        part += 1;
    }
    sum
}

const fn rows() -> [Row; COUNT] {
    let mut all = [unknown(Protocol::Rpc); COUNT];
    let (mut part, mut next) = (0, 0);
    while part < PARTS.len() {
        let mut i = 0;
        while i < PARTS[part].len() {
            all[next] = PARTS[part][i];
            next += 1;
            i += 1;
        }
        part += 1;
    }
    all
}

const fn by_code() -> [[u16; CODES]; Protocol::ALL.len()] {
    let rows = rows();
    let mut index = [[NO_ROW; CODES]; Protocol::ALL.len()];
    let mut i = 0;
    while i < COUNT {
        let row = &rows[i];
        if row.sub.is_none() && (row.code as usize) < CODES {
            index[row.protocol as usize][row.code as usize] = i as u16;
        }
        i += 1;
    }
    index
}

const fn unknowns() -> [u16; Protocol::ALL.len()] {
    let rows = rows();
    let mut index = [0; Protocol::ALL.len()];
    let mut i = 0;
    while i < COUNT {
        if rows[i].code == u16::MAX {
            index[rows[i].protocol as usize] = i as u16;
        }
        i += 1;
    }
    index
}
