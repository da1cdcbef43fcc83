//! The tracked connections, bounded: the longest idle one makes room for a new one. A connection without a message counts as idle for
//! longer, so a flood of connections that are only opened does not evict those of clients. Closed connections leave after a while.
//!
//! A connection that is never closed stays: its client may have lost power, or the capture its last packets. So idle ones are packed: they
//! take less than 1 kB instead of 6 kB and more, and nothing of them is lost that another packet may need.

mod stored;

use std::collections::{HashMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::packet::{Address, Path};
use stored::{Packer, Stored};

pub use stored::Packable;
pub(crate) use stored::packable;

/// Maximum number of tracked connections. Each takes a few KiB, so all take less than about 100 MiB. Answers without a request
/// (`pairing/early.rs`) have a limit of their own.
const CONNECTIONS_MAX: usize = 16_384;

/// Up to this many connections none is packed: they take 2 MiB.
const FEW: usize = 256;

/// A connection is packed when it had no packet since this many calls of [`Connections::leave_idle`].
pub const PACKINGS: usize = 4;

/// Additional age of a connection without a message, in packets: some minutes of an idle client under 10,000 new connections per second.
const LONGER: u64 = 2_000_000;

/// Both ends of a connection, lower address and port first, whichever way a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Key {
    low: (Address, u16),
    high: (Address, u16),
    udp: bool,
}

/// A place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot(usize);

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "C: Packable", deserialize = "C: Packable"))]
struct Entry<C> {
    key: Key,
    used: u64,
    has_messages: bool,
    stored: Stored<C>,
}

/// Whether a closed connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Nothing more is expected.
    Yes,
    /// Its last packet came a short while ago.
    NotYet,
    /// The same, but it stays longer. Connections that were closed after it may leave before it.
    Later,
    /// It goes on.
    No,
}

/// The connection found last: consecutive packets often belong to one connection, so comparing two paths usually finds it.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Last {
    /// Its path in each direction.
    paths: Option<[Path; 2]>,
    udp: bool,
    slot: usize,
}

/// Connections by their ends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "C: Packable", deserialize = "C: Packable"))]
pub struct Connections<C> {
    by_key: HashMap<Key, usize, foldhash::fast::RandomState>,
    entries: Vec<Entry<C>>,
    last: Last,
    clock: u64,
    limit: usize,
    /// The clock at the last calls of [`Connections::leave_idle`], the oldest call first.
    packed_at: [u64; PACKINGS],
    /// Connections that were closed, in this order, and those that have left since.
    closed: VecDeque<Key>,
}

impl<C: Packable> Default for Connections<C> {
    fn default() -> Self {
        Self::with_limit(CONNECTIONS_MAX)
    }
}

impl<C> Entry<C> {
    /// When it was last of use, by the clock of packets.
    fn last_useful(&self) -> u64 {
        if self.has_messages { self.used + LONGER } else { self.used }
    }
}

impl<C: Packable> Connections<C> {
    /// A table that follows at most `limit` (at least 1) connections.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            by_key: HashMap::default(),
            entries: Vec::new(),
            last: Last::default(),
            clock: 0,
            limit: limit.max(1),
            packed_at: [0; PACKINGS],
            closed: VecDeque::new(),
        }
    }

    /// The connection of a packet and its direction, as [`Connections::find`] would give them, if it is the connection
    /// that was found last.
    #[inline]
    pub fn find_again(&mut self, path: &Path, udp: bool) -> Option<(Slot, usize)> {
        let paths = self.last.paths.as_ref()?;
        if self.last.udp != udp {
            return None;
        }
        let direction = usize::from(paths[0] != *path);
        if direction == 1 && paths[1] != *path {
            return None;
        }
        self.clock += 1;
        self.entries[self.last.slot].used = self.clock;
        Some((Slot(self.last.slot), direction))
    }

    /// The connection of a packet, made by `new` where there is none, and which way the packet goes: 0 from the
    /// lower end, 1 from the higher. Also gives a connection that had to make room.
    pub fn find(&mut self, path: &Path, udp: bool, new: impl FnOnce() -> C) -> (Slot, usize, Option<C>) {
        if let Some((slot, direction)) = self.find_again(path, udp) {
            return (slot, direction, None);
        }
        self.clock += 1;
        let (source, destination) = ((path.source, path.source_port), (path.destination, path.destination_port));
        let direction = usize::from(source > destination);
        let (low, high) = if direction == 0 { (source, destination) } else { (destination, source) };
        let key = Key { low, high, udp };
        let mut evicted = None;
        let at = match self.by_key.get(&key) {
            Some(&at) => at,
            None => {
                let entry = Entry { key, used: self.clock, has_messages: udp, stored: Stored::new(new()) };
                let (at, old) = self.insert(entry);
                evicted = old;
                at
            }
        };
        self.entries[at].used = self.clock;
        let paths = if direction == 0 { [*path, path.reversed()] } else { [path.reversed(), *path] };
        self.last = Last { paths: Some(paths), udp, slot: at };
        (Slot(at), direction, evicted)
    }

    /// The connection in a slot that [`Connections::find`] has just given.
    #[inline]
    pub fn get(&mut self, slot: Slot) -> &mut C {
        self.entries[slot.0].stored.open()
    }

    /// The connection in this slot has messages of a file server.
    pub fn keep_longer(&mut self, slot: Slot) {
        self.entries[slot.0].has_messages = true;
    }

    /// The connection in this slot was closed: it may leave.
    pub fn note_closed(&mut self, slot: Slot) {
        // Nearly as many as there are, unless closed ones are continued over and over.
        if self.closed.len() < 2 * self.limit {
            self.closed.push_back(self.entries[slot.0].key);
        }
    }

    /// Removes the connection that was closed first, if it `is_over`. Slots found before lose their meaning.
    pub fn take_closed(&mut self, is_over: impl Fn(&C) -> Over) -> Option<C> {
        // Looks at each closed connection at most once.
        for _ in 0..self.closed.len() {
            let key = self.closed.front()?;
            let found = self.by_key.get(key).copied();
            match found.map(|at| (at, is_over(self.entries[at].stored.open()))) {
                Some((_, Over::NotYet)) => return None,
                Some((at, Over::Yes)) => {
                    self.closed.pop_front();
                    return Some(self.remove(at));
                }
                Some((_, Over::Later)) => self.closed.rotate_left(1),
                Some((_, Over::No)) | None => {
                    self.closed.pop_front();
                }
            }
        }
        None
    }

    fn remove(&mut self, at: usize) -> C {
        let entry = self.entries.swap_remove(at);
        self.by_key.remove(&entry.key);
        if let Some(moved) = self.entries.get(at) {
            self.by_key.insert(moved.key, at);
        }
        self.last = Last::default();
        entry.stored.into_open()
    }

    /// Passes the connections that had no packet since the last [`PACKINGS`] calls of this to `leave`, which drops the parts of them that
    /// are not worth their memory. With `packs`, packs them too, unless there are few.
    pub fn leave_idle(&mut self, packs: bool, mut leave: impl FnMut(&mut C)) {
        let clock = self.packed_at[0];
        if packs && self.entries.len() > FEW {
            self.pack_unused_since(clock, |connection| {
                leave(connection);
                true
            });
        } else {
            let idle = self.entries.iter_mut().filter(|entry| entry.used <= clock);
            idle.filter_map(|entry| entry.stored.unpacked_mut()).for_each(leave);
        }
        self.packed_at.rotate_left(1);
        self.packed_at[PACKINGS - 1] = self.clock;
    }

    /// Packs all that `may_pack` allows.
    pub fn pack(&mut self, may_pack: impl FnMut(&mut C) -> bool) {
        self.pack_unused_since(self.clock, may_pack);
    }

    fn pack_unused_since(&mut self, clock: u64, mut may_pack: impl FnMut(&mut C) -> bool) {
        let Some(mut packer) = Packer::new() else { return };
        for entry in self.entries.iter_mut().filter(|entry| entry.used <= clock) {
            entry.stored.pack(&mut packer, &mut may_pack);
        }
        self.last = Last::default();
    }

    /// The connections that are not packed: those with a packet lately.
    pub fn unpacked(&self) -> impl Iterator<Item = &C> {
        self.entries.iter().filter_map(|entry| entry.stored.unpacked())
    }

    /// How many connections are packed, and the bytes that they take.
    pub fn packed(&self) -> (usize, usize) {
        let sizes = self.entries.iter().filter_map(|entry| entry.stored.packed_len());
        sizes.fold((0, 0), |(count, bytes), len| (count + 1, bytes + len))
    }

    /// Whether a new connection would make another one give up its place.
    pub fn is_full(&self) -> bool {
        self.entries.len() >= self.limit
    }

    /// All connections, oldest slot first, leaving the table empty.
    pub fn drain(&mut self) -> impl Iterator<Item = C> + '_ {
        self.by_key.clear();
        self.closed.clear();
        self.last = Last::default();
        self.entries.drain(..).map(|entry| entry.stored.into_open())
    }

    fn insert(&mut self, entry: Entry<C>) -> (usize, Option<C>) {
        let key = entry.key;
        if self.entries.len() < self.limit {
            self.entries.push(entry);
            self.by_key.insert(key, self.entries.len() - 1);
            return (self.entries.len() - 1, None);
        }
        let at = self.idlest();
        let old = std::mem::replace(&mut self.entries[at], entry);
        self.by_key.remove(&old.key);
        self.by_key.insert(key, at);
        (at, Some(old.stored.into_open()))
    }

    /// A slot idle for long. Looking at a sample keeps a flood of new connections from costing a scan each.
    fn idlest(&self) -> usize {
        const SAMPLE: u64 = 64;
        let len = self.entries.len() as u64;
        (0..SAMPLE.min(len))
            .map(|i| ((self.clock + i).wrapping_mul(0x9e37_79b9_7f4a_7c15) % len) as usize)
            .min_by_key(|&at| self.entries[at].last_useful())
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    packable!(char u16);

    fn path(source: u16, destination: u16) -> Path {
        Path { source: 1, destination: 2, source_port: source, destination_port: destination }
    }

    #[test]
    fn both_ways_are_one_connection() {
        let mut table = Connections::default();
        let (slot, way, _) = table.find(&path(10, 20), false, || 'a');
        let back = Path { source: 2, destination: 1, source_port: 20, destination_port: 10 };
        let (same, other_way, _) = table.find(&back, false, || 'b');
        assert_eq!((slot, way ^ other_way), (same, 1));
        assert_eq!(*table.get(same), 'a');
        let (udp, ..) = table.find(&path(10, 20), true, || 'c');
        assert_ne!(udp, slot);
    }

    #[test]
    fn a_full_table_gives_up_an_idle_connection() {
        let mut table = Connections::with_limit(8);
        let evicted = (0..100u16).filter_map(|port| table.find(&path(port, 445), false, || port).2).count();
        assert_eq!(evicted, 92);
        assert_eq!(table.drain().count(), 8);
    }

    #[test]
    fn connections_that_are_over_leave_in_the_order_in_which_they_were_closed() {
        let mut table = Connections::default();
        let mut slots: Vec<Slot> = (1..=4u16).map(|port| table.find(&path(port, 445), false, || port).0).collect();
        slots.rotate_left(1);
        slots.into_iter().for_each(|slot| table.note_closed(slot));
        // Closed in the order 2, 3, 4, 1.
        assert_eq!(table.take_closed(|_| Over::NotYet), None);
        assert_eq!(table.take_closed(|&port| if port == 2 { Over::No } else { Over::Yes }), Some(3));
        assert_eq!(table.take_closed(|&port| if port == 4 { Over::Later } else { Over::Yes }), Some(1));
        for port in [1, 2, 3] {
            let found = table.find(&path(port, 445), false, || 100 + port).0;
            assert_eq!(*table.get(found), if port == 2 { 2 } else { 100 + port }, "only the second stays");
        }
        assert_eq!(table.take_closed(|_| Over::Later), None);
        assert_eq!(table.take_closed(|_| Over::Yes), Some(4));
        assert_eq!(table.take_closed(|_| Over::Yes), None);
    }

    #[test]
    fn idle_connections_are_packed_and_found_again() {
        let mut table = Connections::with_limit(2_000);
        let found = |table: &mut Connections<u16>, port| {
            let (slot, _, evicted) = table.find(&path(port, 445), false, || 0);
            (*table.get(slot), evicted)
        };
        (1..=FEW as u16).for_each(|port| _ = table.find(&path(port, 445), false, || port));
        (0..=PACKINGS).for_each(|_| table.leave_idle(true, |_| ()));
        assert_eq!(table.packed(), (0, 0), "few take little");
        (FEW as u16 + 1..=1_000).for_each(|port| _ = table.find(&path(port, 445), false, || port));
        (0..PACKINGS).for_each(|_| table.leave_idle(true, |_| ()));
        assert_eq!(table.packed().0, FEW, "the others had a packet since");
        (1..=10).for_each(|port| assert_eq!(found(&mut table, port), (port, None)));
        table.leave_idle(true, |_| ());
        assert_eq!(table.packed().0, 990);
        (1..=1_000).rev().for_each(|port| assert_eq!(found(&mut table, port), (port, None)));
        assert_eq!(table.packed(), (0, 0));
    }

    #[test]
    fn few_idle_connections_leave_what_is_not_worth_its_memory() {
        for packs in [true, false] {
            let mut table = Connections::default();
            (1..=3u16).for_each(|port| _ = table.find(&path(port, 445), false, || port));
            (0..PACKINGS).for_each(|_| table.leave_idle(packs, |_| unreachable!("none is idle yet")));
            table.find(&path(2, 445), false, || 0);
            let mut left = Vec::new();
            table.leave_idle(packs, |port| left.push(*port));
            assert_eq!((left, table.packed()), (vec![1, 3], (0, 0)));
        }
    }

    #[test]
    fn packed_connections_leave_as_others_do() {
        let mut table = Connections::with_limit(8);
        let slots: Vec<Slot> = (1..=8u16).map(|port| table.find(&path(port, 445), false, || port).0).collect();
        table.note_closed(slots[4]);
        table.pack(|_| true);
        assert_eq!(table.packed().0, 8);
        assert_eq!(table.take_closed(|&port| if port == 5 { Over::Yes } else { Over::No }), Some(5));
        table.find(&path(9, 445), false, || 9);
        let evicted = table.find(&path(10, 445), false, || 10).2.unwrap();
        let mut left: Vec<u16> = table.drain().chain([evicted, 5]).collect();
        left.sort_unstable();
        assert_eq!(left, Vec::from_iter(1..=10));
    }

    #[test]
    fn connections_without_messages_make_room_first_for_a_limited_time() {
        let mut table = Connections::with_limit(8);
        let (slot, ..) = table.find(&path(1, 445), false, || 1);
        table.keep_longer(slot);
        let flood = |ports: std::ops::Range<u16>, table: &mut Connections<u16>| -> Vec<u16> {
            ports.filter_map(|port| table.find(&path(port, 445), false, || port).2).collect()
        };
        assert!(!flood(100..1_000, &mut table).contains(&1));
        // Simulates the arrival of this number of packets.
        table.clock += LONGER;
        assert!(flood(1_000..1_016, &mut table).contains(&1));
    }
}
