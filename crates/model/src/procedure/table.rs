//! The rows, by protocol in the order of [`Protocol::ALL`], each command followed by its subcommands.
//!
//! The rows themselves stand in `smb1.rs`, `smb2.rs`, `nfs.rs`, `rpc.rs` and `file.rs`; here they become one table and its
//! index, at compile time.

use super::row::unknown;
use super::{Row, file, nfs, rpc, smb1, smb2};
use crate::Protocol;

/// Marks a code without a row.
pub(super) const NO_ROW: u16 = u16::MAX;
const CODES: usize = 256;
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
