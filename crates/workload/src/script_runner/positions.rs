//! Where a slot's sequences in files of the set have come to.

use std::collections::VecDeque;

/// Maximum number of files with remembered positions: about 32 KiB. The least recently used file restarts from its beginning.
const MOST: usize = 1024;

/// A file of the set, and whether it is written.
pub(super) type Sequence = (u64, bool);

/// Where the next request of each sequence begins.
#[derive(Debug, Default)]
pub(super) struct Positions {
    /// Most recently used last.
    places: VecDeque<(Sequence, u64)>,
}

impl Positions {
    /// Where a sequence goes on; `None` where it begins.
    pub(super) fn get(&self, sequence: Sequence) -> Option<u64> {
        self.places.iter().rev().find(|(other, _)| *other == sequence).map(|(_, next)| *next)
    }

    /// A sequence goes on there.
    pub(super) fn set(&mut self, sequence: Sequence, next: u64) {
        if let Some(at) = self.places.iter().rposition(|(other, _)| *other == sequence) {
            self.places.remove(at);
        } else if self.places.len() >= MOST {
            self.places.pop_front();
        }
        self.places.push_back((sequence, next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_of_a_file_have_places_of_their_own_and_there_are_not_too_many() {
        let mut places = Positions::default();
        for file in 0..MOST as u64 + 1 {
            places.set((file, false), file + 1);
        }
        assert_eq!((places.get((0, false)), places.get((1, false)), places.get((1, true))), (None, Some(2), None));
        places.set((1, true), 7);
        places.set((1, true), 9);
        assert_eq!((places.get((1, true)), places.places.len()), (Some(9), MOST));
    }
}
