//! The packets of datagrams in fragments, until a datagram is whole.

use std::collections::{HashMap, VecDeque};

use crate::tracer::FragmentKey;

/// Datagrams that are waiting, at most: more than the observer puts together at a time.
const OPEN_MAX: usize = 1_024;
/// Fragments of them, at most.
const PIECES_MAX: usize = 1 << 20;

/// Fragments that are waiting: packet, and offset in the datagram. Of most captures with a snap length none becomes whole.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    open: HashMap<FragmentKey, Vec<(u64, u32)>, foldhash::fast::RandomState>,
    /// The datagrams by their first fragments.
    order: VecDeque<FragmentKey>,
    count: usize,
}

impl Pieces {
    /// Adds a fragment. `is_new`: it is not of the datagram that waits with this key.
    pub(super) fn add(&mut self, key: FragmentKey, piece: (u64, u32), is_new: bool) {
        if is_new {
            drop(self.take(&key));
        }
        let order = &mut self.order;
        let pieces = self.open.entry(key).or_insert_with(|| {
            order.push_back(key);
            Vec::new()
        });
        pieces.push(piece);
        self.count += 1;
        while self.open.len() > OPEN_MAX || self.count > PIECES_MAX {
            let Some(oldest) = self.order.pop_front() else { break };
            self.count -= self.open.remove(&oldest).map_or(0, |pieces| pieces.len());
        }
    }

    /// The fragments of a datagram, which no longer waits.
    pub(super) fn take(&mut self, key: &FragmentKey) -> Vec<(u64, u32)> {
        let Some(pieces) = self.open.remove(key) else { return Vec::new() };
        self.order.retain(|waiting| waiting != key);
        self.count -= pieces.len();
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_of_a_later_datagram_do_not_join_an_older_one() {
        let (mut pieces, key) = (Pieces::default(), (1, 2, 7, 17));
        pieces.add(key, (1, 8), true);
        pieces.add(key, (2, 0), true);
        pieces.add(key, (3, 8), false);
        assert_eq!(pieces.take(&key), [(2, 0), (3, 8)]);
        assert!(pieces.take(&key).is_empty() && pieces.order.is_empty() && pieces.count == 0);
    }

    #[test]
    fn cut_fragments_take_bounded_memory() {
        let mut pieces = Pieces::default();
        for id in 0..100_000 {
            pieces.add((1, 2, id, 17), (u64::from(id), 0), true);
        }
        assert_eq!((pieces.open.len(), pieces.order.len(), pieces.count), (OPEN_MAX, OPEN_MAX, OPEN_MAX));
        for frame in 0..PIECES_MAX as u64 + 10 {
            pieces.add((1, 2, 7, 17), (frame, 0), false);
        }
        assert!(pieces.count <= PIECES_MAX && pieces.open.len() <= 1, "{}", pieces.count);
    }
}
