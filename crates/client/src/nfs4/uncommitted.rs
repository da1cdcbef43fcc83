//! Uncommitted writes of a file, which the client repeats after a restart of the server.
//!
//! Spec: RFC 8881 18.3.3

use std::sync::Arc;

use crate::content::Content;

/// Maximum number of stored writes of a file: each takes 32 bytes. Further writes cannot be repeated.
const MOST: usize = 256;

/// An answered write.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) key: u64,
    pub(super) content: Arc<Content>,
}

/// The writes of a file since its last COMMIT, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Uncommitted {
    pieces: Vec<Piece>,
    /// Some writes were not stored.
    incomplete: bool,
}

impl Uncommitted {
    /// Adds an answered write that is not durable.
    pub(super) fn add(&mut self, piece: Piece) {
        // Data that were read from another file are not stored, so such writes cannot be repeated.
        if self.pieces.len() >= MOST || piece.key == Content::HELD {
            self.add_unknown();
        }
        if !self.incomplete {
            self.pieces.push(piece);
        }
    }

    /// Adds data that the server has copied by itself, which cannot be repeated.
    pub(super) fn add_unknown(&mut self) {
        self.incomplete = true;
        self.pieces.clear();
    }

    /// Removes and returns all writes, in reverse order; empty if some are missing.
    pub(super) fn take(&mut self) -> Vec<Piece> {
        let Self { mut pieces, incomplete } = std::mem::take(self);
        pieces.reverse();
        if incomplete { Vec::new() } else { pieces }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(offset: u64, key: u64) -> Piece {
        Piece { offset, length: 1, key, content: Arc::new(Content::at(0, b"x")) }
    }

    #[test]
    fn all_are_kept_or_none() {
        let mut file = Uncommitted::default();
        (0..3).for_each(|offset| file.add(piece(offset, 1)));
        assert_eq!(file.take().iter().map(|piece| piece.offset).collect::<Vec<_>>(), [2, 1, 0]);
        assert!(file.take().is_empty());
        (0..=MOST as u64).for_each(|offset| file.add(piece(offset, 1)));
        file.add(piece(9, 1));
        assert!(file.take().is_empty(), "too many");
        file.add(piece(0, 1));
        file.add(piece(1, Content::HELD));
        assert!(file.take().is_empty(), "a copy of another file");
        file.add(piece(0, 1));
        file.add_unknown();
        assert!(file.take().is_empty(), "a copy by the server");
        file.add(piece(5, 1));
        assert_eq!(file.take().len(), 1);
    }
}
