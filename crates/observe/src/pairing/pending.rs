//! Requests that wait, by id, bounded.

use std::collections::{HashMap, VecDeque};

use serde::{Deserialize, Serialize};

/// Requests waiting at once on one connection, at most: beyond any server's credits or slots.
const WAITING_MAX: usize = 16_384;
/// Maximum number of waiting requests in the maps of all connections together, some 200 MB.
const ALL_MAX: u32 = 262_144;
/// Beyond these, connections without any answer so far have only few: a mirror port that delivers only one direction fills the map of
/// every connection, and must not use up the room of connections with both directions.
const UNANSWERED_MAX: u32 = ALL_MAX / 4;
/// Requests that each connection may have in its map in any case.
const USUAL: usize = 16;

/// How many requests wait in the maps of all connections.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct WaitingCount(u32);

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
    /// How many of `overflow` are in the count of all connections.
    counted: u32,
    /// A request had an answer.
    is_answered: bool,
}

/// Length of the list that is scanned.
const RECENT_MAX: usize = 16;

impl<T> Default for PendingTable<T> {
    fn default() -> Self {
        let (recent, overflow, order) = (Vec::new(), HashMap::default(), VecDeque::new());
        Self { recent, overflow, order, turn: 0, limit: WAITING_MAX, counted: 0, is_answered: false }
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

    /// Takes the request with this id out: its answer came.
    #[inline]
    pub fn remove(&mut self, id: u64, all: &mut WaitingCount) -> Option<T> {
        let request = self.take(id);
        self.is_answered |= request.is_some();
        // At once: no further request may come, and the room is for other connections.
        if self.counted > 0 {
            self.count(all);
        }
        request
    }

    /// Takes out the request with this id, which gets no answer any more.
    pub fn give_up(&mut self, id: u64, all: &mut WaitingCount) -> Option<T> {
        let request = self.take(id);
        self.count(all);
        request
    }

    #[inline]
    fn take(&mut self, id: u64) -> Option<T> {
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
    pub fn insert(&mut self, id: u64, request: T, all: &mut WaitingCount) -> Option<Displaced<T>> {
        let Some(same) = self.take(id) else { return self.insert_new(id, request, all) };
        self.push(id, request);
        Some(Displaced::SameId(id, same))
    }

    /// Adds a request whose id none has that waits. Gives back the oldest when full.
    #[inline]
    pub fn insert_new(&mut self, id: u64, request: T, all: &mut WaitingCount) -> Option<Displaced<T>> {
        self.push(id, request);
        if self.overflow.is_empty() && self.counted == 0 { None } else { self.make_room(all) }
    }

    #[inline]
    fn push(&mut self, id: u64, request: T) {
        if self.recent.len() == RECENT_MAX {
            let (id, old) = self.recent.remove(0);
            self.turn += 1;
            self.overflow.insert(id, (self.turn, old));
            self.order.push_back((id, self.turn));
            self.forget_order();
        }
        self.recent.push((id, request));
    }

    /// Takes the oldest request out, to make room.
    pub fn take_oldest(&mut self, all: &mut WaitingCount) -> Option<(u64, T)> {
        while let Some((id, turn)) = self.order.pop_front() {
            if self.overflow.get(&id).is_some_and(|(here, _)| *here == turn) {
                let oldest = self.overflow.remove(&id).map(|(_, old)| (id, old));
                self.count(all);
                return oldest;
            }
        }
        (!self.recent.is_empty()).then(|| self.recent.remove(0))
    }

    /// Whether any request has had an answer.
    pub fn is_answered(&self) -> bool {
        self.is_answered
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
    pub fn drain(&mut self, all_connections: &mut WaitingCount) -> Vec<(u64, T)> {
        let mut all: Vec<_> = self.recent.drain(..).collect();
        all.extend(self.overflow.drain().map(|(id, (_, request))| (id, request)));
        self.order.clear();
        self.count(all_connections);
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
    fn make_room(&mut self, all: &mut WaitingCount) -> Option<Displaced<T>> {
        self.count(all);
        let most = if self.is_answered { ALL_MAX } else { UNANSWERED_MAX };
        let is_full = self.len() > self.limit || (all.0 > most && self.overflow.len() > USUAL);
        let oldest = if is_full { self.take_oldest(all) } else { None };
        oldest.map(|(id, old)| Displaced::Oldest(id, old))
    }

    /// Brings the count of all connections up to date.
    fn count(&mut self, all: &mut WaitingCount) {
        let now = u32::try_from(self.overflow.len()).unwrap_or(u32::MAX);
        all.0 = all.0.saturating_sub(self.counted).saturating_add(now);
        self.counted = now;
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
        let (mut table, mut all) = (PendingTable::default(), WaitingCount::default());
        for id in 0..100u64 {
            assert!(table.insert(id, id * 2, &mut all).is_none());
        }
        assert_eq!(table.len(), 100);
        let removed = [3, 99, 3].map(|id| table.remove(id, &mut all));
        assert_eq!(removed, [Some(6), Some(198), None]);
        assert!(matches!(table.insert(50, 7, &mut all), Some(Displaced::SameId(50, 100))));
        assert_eq!(table.get_mut(50), Some(&mut 7));
        assert_eq!((table.drain(&mut all).len(), all.0), (98, 0));
    }

    #[test]
    fn the_requests_of_all_connections_are_bounded() {
        let mut all = WaitingCount::default();
        let mut tables: Vec<_> = (0..40).map(|_| PendingTable::default()).collect();
        for id in 0..10_000u64 {
            for table in &mut tables {
                table.insert(id, (), &mut all);
            }
        }
        let in_maps = |tables: &[PendingTable<()>]| tables.iter().map(|table| table.overflow.len()).sum::<usize>();
        assert_eq!((in_maps(&tables), all.0), (UNANSWERED_MAX as usize, UNANSWERED_MAX));
        let mut answered = PendingTable::default();
        answered.insert(0, (), &mut all);
        answered.remove(0, &mut all);
        assert!((1..=2_000).all(|id| answered.insert(id, (), &mut all).is_none()), "there is room for its answers");
        for id in 10_000..16_000 {
            for table in &mut tables {
                table.remove(id - 1, &mut all);
                table.insert(id, (), &mut all);
                table.insert(id + 20_000, (), &mut all);
            }
        }
        assert_eq!((in_maps(&tables) + answered.overflow.len(), all.0), (ALL_MAX as usize, ALL_MAX));
        assert!(tables.iter().all(|table| table.order.len() <= 2 * table.overflow.len() + RECENT_MAX));
        let mut small = PendingTable::default();
        let few = (RECENT_MAX + USUAL) as u64;
        assert!((0..few).all(|id| small.insert(id, (), &mut all).is_none()), "as many as usual");
        assert!(matches!(small.insert(few, (), &mut all), Some(Displaced::Oldest(0, ()))));
        tables.iter_mut().for_each(|table| drop(table.drain(&mut all)));
        assert!(small.insert(few + 1, (), &mut all).is_none(), "there is room again");
        assert_eq!(all.0 as usize, small.overflow.len() + answered.overflow.len());
    }

    /// A client is idle after many requests at once.
    #[test]
    fn requests_that_were_answered_take_no_room_of_other_connections() {
        let (mut table, mut all) = (PendingTable::default(), WaitingCount::default());
        for id in 0..100u64 {
            assert!(table.insert(id, (), &mut all).is_none());
        }
        assert_eq!(all.0 as usize, 100 - RECENT_MAX);
        assert!((0..100).all(|id| table.remove(id, &mut all).is_some()));
        assert_eq!(all.0, 0);
    }

    #[test]
    fn a_full_table_gives_up_the_oldest() {
        let mut table = PendingTable { limit: 100, ..PendingTable::default() };
        let mut all = WaitingCount::default();
        let is_full = |&id: &u64| matches!(table.insert(id, (), &mut all), Some(Displaced::Oldest(..)));
        let gone = (0..1_000_000u64).filter(is_full).count();
        assert_eq!((gone, table.len()), (999_900, 100));
        assert!(table.order.len() < 400);
    }

    /// Found by fuzzing: the order kept an entry for every time that an id came, and the search for those long gone
    /// went round for ever.
    #[test]
    fn ids_taken_again_and_again_leave_nothing_behind() {
        let (mut table, mut all) = (PendingTable::default(), WaitingCount::default());
        for turn in 0..10_000u64 {
            table.insert(turn % 17, turn, &mut all);
            assert!(table.order.len() <= 2 * 17 + RECENT_MAX);
        }
        assert!(table.insert(100, 0, &mut all).is_none());
        assert_eq!(table.len(), 18);
    }

    #[test]
    fn the_oldest_is_the_one_that_waits_longest_not_its_namesake() {
        let mut table = PendingTable { limit: 20, ..PendingTable::default() };
        let mut all = WaitingCount::default();
        (0..20).for_each(|id| assert!(table.insert(id, 'a', &mut all).is_none()));
        assert_eq!(table.remove(0, &mut all), Some('a'));
        assert!(table.insert(0, 'b', &mut all).is_none());
        assert!(matches!(table.insert(20, 'a', &mut all), Some(Displaced::Oldest(1, 'a'))));
    }

    #[test]
    fn the_oldest_leave_first_also_from_the_short_list() {
        let (mut table, mut all) = (PendingTable::default(), WaitingCount::default());
        (0..18u64).for_each(|id| assert!(table.insert(id, (), &mut all).is_none()));
        assert_eq!((table.give_up(0, &mut all), table.is_answered()), (Some(()), false));
        let left: Vec<u64> = std::iter::from_fn(|| table.take_oldest(&mut all)).map(|(id, ())| id).collect();
        assert_eq!((left, all.0), (Vec::from_iter(1..18), 0));
    }
}
