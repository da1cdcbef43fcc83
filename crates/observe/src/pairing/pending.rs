//! Requests that wait, by id, bounded.

use std::collections::{HashMap, VecDeque};

use serde::{Deserialize, Serialize};

/// Requests waiting at once on one connection, at most: beyond any server's credits or slots.
const WAITING_MAX: usize = 16_384;

/// Requests that wait for their answers.
///
/// Most connections have a handful outstanding, so the newest few stand in a short list that is scanned; the rest
/// are in a map.
#[derive(Debug, Serialize, Deserialize)]
pub struct PendingTable<T> {
    recent: Vec<(u64, T)>,
    /// With the turn in which it came here.
    overflow: HashMap<u64, (u64, T), foldhash::fast::RandomState>,
    /// Ids as they came to `overflow`, each with its turn. One that has left since, or has left and come again, stays
    /// here for a while.
    order: VecDeque<(u64, u64)>,
    turn: u64,
    limit: usize,
}

/// Length of the list that is scanned.
const RECENT_MAX: usize = 16;

impl<T> Default for PendingTable<T> {
    fn default() -> Self {
        Self { recent: Vec::new(), overflow: HashMap::default(), order: VecDeque::new(), turn: 0, limit: WAITING_MAX }
    }
}

impl<T> PendingTable<T> {
    /// The request with this id.
    #[inline]
    pub fn get_mut(&mut self, id: u64) -> Option<&mut T> {
        match self.recent.iter().rposition(|(recent, _)| *recent == id) {
            Some(at) => Some(&mut self.recent[at].1),
            None if self.overflow.is_empty() => None,
            None => self.overflow.get_mut(&id).map(|(_, request)| request),
        }
    }

    /// Takes the request with this id out.
    #[inline]
    pub fn remove(&mut self, id: u64) -> Option<T> {
        match self.recent.iter().rposition(|(recent, _)| *recent == id) {
            // Mostly there is but one.
            Some(at) if at + 1 == self.recent.len() => self.recent.pop().map(|(_, request)| request),
            Some(at) => Some(self.recent.remove(at).1),
            None if self.overflow.is_empty() => None,
            None => self.overflow.remove(&id).map(|(_, request)| request),
        }
    }

    /// Adds a request. Gives back one that has to go: that which had the same id, or the oldest when full.
    #[inline]
    pub fn insert(&mut self, id: u64, request: T) -> Option<Displaced<T>> {
        let same = self.remove(id).map(|old| Displaced::SameId(id, old));
        let oldest = self.insert_new(id, request);
        same.or(oldest)
    }

    /// Adds a request whose id none has that waits. Gives back the oldest when full.
    #[inline]
    pub fn insert_new(&mut self, id: u64, request: T) -> Option<Displaced<T>> {
        if self.recent.len() == RECENT_MAX {
            let (id, old) = self.recent.remove(0);
            self.turn += 1;
            self.overflow.insert(id, (self.turn, old));
            self.order.push_back((id, self.turn));
            self.forget_order();
        }
        self.recent.push((id, request));
        if self.overflow.is_empty() { None } else { self.make_room() }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.recent.len() + self.overflow.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All, in any order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.recent.iter().map(|(_, request)| request).chain(self.overflow.values().map(|(_, request)| request))
    }

    /// Takes all out, in the order of their ids.
    pub fn drain(&mut self) -> Vec<(u64, T)> {
        let mut all: Vec<_> = self.recent.drain(..).collect();
        all.extend(self.overflow.drain().map(|(id, (_, request))| (id, request)));
        self.order.clear();
        all.sort_by_key(|(id, _)| *id);
        all
    }

    /// Drops ids long gone from the order before they pile up.
    #[inline]
    fn forget_order(&mut self) {
        if self.order.len() > 2 * self.overflow.len() + RECENT_MAX {
            let overflow = &self.overflow;
            self.order.retain(|(id, turn)| overflow.get(id).is_some_and(|(here, _)| here == turn));
        }
    }

    #[inline]
    fn make_room(&mut self) -> Option<Displaced<T>> {
        while self.len() > self.limit {
            let (id, turn) = self.order.pop_front()?;
            if self.overflow.get(&id).is_some_and(|(here, _)| *here == turn) {
                return self.overflow.remove(&id).map(|(_, old)| Displaced::Oldest(id, old));
            }
        }
        None
    }
}

/// A request that had to leave the table.
#[derive(Debug)]
pub enum Displaced<T> {
    /// Another request took its id.
    SameId(u64, T),
    /// Too many were waiting.
    Oldest(u64, T),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_and_near_are_one_table() {
        let mut table = PendingTable::default();
        for id in 0..100u64 {
            assert!(table.insert(id, id * 2).is_none());
        }
        assert_eq!(table.len(), 100);
        assert_eq!((table.remove(3), table.remove(99), table.remove(3)), (Some(6), Some(198), None));
        assert!(matches!(table.insert(50, 7), Some(Displaced::SameId(50, 100))));
        assert_eq!(table.get_mut(50), Some(&mut 7));
        assert_eq!(table.drain().len(), 98);
    }

    #[test]
    fn a_full_table_gives_up_the_oldest() {
        let mut table = PendingTable { limit: 100, ..PendingTable::default() };
        let gone = (0..1_000_000u64).filter(|&id| matches!(table.insert(id, ()), Some(Displaced::Oldest(..)))).count();
        assert_eq!((gone, table.len()), (999_900, 100));
        assert!(table.order.len() < 400);
    }

    /// Found by fuzzing: the order kept an entry for every time that an id came, and the search for those long gone
    /// went round for ever.
    #[test]
    fn ids_taken_again_and_again_leave_nothing_behind() {
        let mut table = PendingTable::default();
        for turn in 0..10_000u64 {
            table.insert(turn % 17, turn);
            assert!(table.order.len() <= 2 * 17 + RECENT_MAX);
        }
        assert!(table.insert(100, 0).is_none());
        assert_eq!(table.len(), 18);
    }

    #[test]
    fn the_oldest_is_the_one_that_waits_longest_not_its_namesake() {
        let mut table = PendingTable { limit: 20, ..PendingTable::default() };
        (0..20).for_each(|id| assert!(table.insert(id, 'a').is_none()));
        assert_eq!(table.remove(0), Some('a'));
        assert!(table.insert(0, 'b').is_none());
        assert!(matches!(table.insert(20, 'a'), Some(Displaced::Oldest(1, 'a'))));
    }
}
