//! Directory listings: requests and the sizes of their responses.

use plimsoll_model::{Operation, Symbol, Transaction};
use serde::{Deserialize, Serialize};

use super::{Cell, cell};

/// Maximum number of directories; further ones are not counted.
const MAX_ROWS: usize = 512;

/// Requests that listed one directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// Its share, where known.
    pub share: Symbol,
    /// Its path.
    pub path: Symbol,
    /// The requests.
    pub cell: Cell,
    /// Bytes of their responses, if known.
    pub bytes: u64,
}

/// All directories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listings(Vec<Listing>);

impl Listings {
    #[inline]
    pub(super) fn record(&mut self, t: &Transaction, cell: &Cell) {
        if t.procedure.row().operation == Operation::List && t.path.is_some() {
            self.note(&Listing { share: t.share, path: t.path, cell: *cell, bytes: t.response_bytes.unwrap_or(0) });
        }
    }

    #[cold]
    fn note(&mut self, more: &Listing) {
        let is_room = self.0.len() < MAX_ROWS;
        match self.0.iter_mut().find(|one| (one.share, one.path) == (more.share, more.path)) {
            Some(one) => {
                one.cell.add(&more.cell);
                one.bytes = cell::sum(one.bytes, more.bytes);
            }
            None if is_room => self.0.push(*more),
            None => {}
        }
    }

    pub(super) fn merge(&mut self, other: &Listings) {
        other.0.iter().for_each(|one| self.note(one));
    }

    /// Each directory, in the order in which they came.
    pub fn rows(&self) -> &[Listing] {
        &self.0
    }
}

crate::state::fields!("listing"; Listing { share, path, cell, bytes });
crate::state::fields!("listings"; Listings { 0 } if |listings| listings.0.len() <= MAX_ROWS);
