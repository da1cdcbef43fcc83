//! IP fragments put together again, within bounds.
//!
//! Spec: RFC 791 3.2; RFC 8200 4.5.

mod edges;
mod lost_messages;

use std::collections::{HashMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::datagram::{Datagram, Fragment};
use super::path::Address;
use super::stamp::Stamp;
use super::transport::UDP;
use edges::Edges;
use lost_messages::{LostMessages, is_rpc};

/// Datagrams under way at once; beyond it the oldest is given up.
const OPEN_MAX: usize = 256;
/// No IP datagram is larger.
const DATAGRAM_MAX: usize = 65_535;
/// No honest sender cuts a datagram smaller than this: 64 KiB in pieces of 8 bytes would be 8,192.
const PIECES_MAX: usize = 1_024;

/// Maximum number of complete datagrams that are remembered: later pieces of them are duplicates.
const WHOLE_MAX: usize = 256;

/// Maximum time between two pieces of one datagram, ns. Hosts send the pieces back to back, and use an ID again after 65,536 datagrams.
const PAUSE_MAX_NS: u64 = 1_000_000_000;

type Key = (Address, Address, u32, u8);

#[derive(Debug, Default, Serialize, Deserialize)]
struct Open {
    bytes: Vec<u8>,
    /// Ranges held, sorted, apart from one another: (start, end).
    held: Vec<(usize, usize)>,
    total: Option<usize>,
    packets: u32,
    first: Option<Stamp>,
    /// The latest piece.
    last: Option<Stamp>,
    /// The snap length cut a piece.
    is_cut: bool,
    /// A datagram with this id was whole just before.
    again: bool,
    /// Whether it holds RPC over UDP, if its first fragment shows that.
    is_rpc: Option<bool>,
}

impl Open {
    /// Whether a piece that came at this time is of a later datagram with the same ID.
    fn is_over(&self, now_ns: i64) -> bool {
        self.last.is_some_and(|last| pauses(last.time_ns, now_ns))
    }
}

fn pauses(last_ns: i64, now_ns: i64) -> bool {
    now_ns.abs_diff(last_ns) > PAUSE_MAX_NS
}

/// A datagram whose pieces have all come.
#[derive(Debug)]
pub struct Whole {
    source: Address,
    destination: Address,
    protocol: u8,
    bytes: Vec<u8>,
    /// How many packets carried it.
    pub packets: u32,
    /// The piece that came first.
    pub first: Stamp,
}

impl Whole {
    /// The datagram.
    pub fn datagram(&self) -> Datagram<'_> {
        Datagram {
            source: self.source,
            destination: self.destination,
            protocol: self.protocol,
            payload: &self.bytes,
            wire_len: self.bytes.len() as u32,
        }
    }
}

/// Fragments waiting for their rest.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Fragments {
    open: HashMap<Key, Open>,
    order: VecDeque<Key>,
    /// Datagrams that were whole lately, and when, ns.
    done: VecDeque<(Key, i64)>,
    given_up: u64,
    /// When the capture began, ns since the Unix epoch.
    begin_ns: Option<i64>,
    edges: Edges,
    lost_messages: LostMessages,
}

impl Fragments {
    /// The capture began at this time, ns since the Unix epoch.
    pub fn began(&mut self, begin_ns: i64) {
        self.begin_ns = Some(begin_ns);
    }

    /// Takes a piece; gives the datagram when it is whole. `first` is the first packet that carried the piece, `packets` how many did: more than one where it was in a datagram that was put together itself.
    pub fn add(&mut self, fragment: &Fragment<'_>, first: Stamp, packets: u32) -> Option<Whole> {
        let piece = &fragment.piece;
        let key = (piece.source, piece.destination, fragment.id, piece.protocol);
        let (start, len) = (fragment.offset as usize, piece.payload.len());
        if start + len > DATAGRAM_MAX {
            return None;
        }
        let now_ns = first.time_ns;
        if self.is_new(&key, now_ns) {
            self.begin(key);
        }
        let done = &self.done;
        let again = || done.iter().any(|&(whole, at_ns)| whole == key && !pauses(at_ns, now_ns));
        let open = self.open.entry(key).or_insert_with(|| Open { again: again(), ..Open::default() });
        open.first.get_or_insert(first);
        open.last = open.last.filter(|last| last.time_ns > first.time_ns).or(Some(first));
        open.packets = open.packets.saturating_add(packets);
        if start == 0 {
            open.is_rpc = open.is_rpc.or_else(|| is_rpc(piece));
        }
        // Bytes cut by the snap length cannot be reassembled: the datagram stays incomplete.
        if len != piece.wire_len as usize {
            open.is_cut = true;
            return None;
        }
        if !fragment.more {
            open.total = Some(start + len);
        }
        if open.bytes.len() < start + len {
            open.bytes.resize(start + len, 0);
        }
        open.bytes[start..start + len].copy_from_slice(piece.payload);
        hold(&mut open.held, start, start + len);
        let whole = matches!((open.held.as_slice(), open.total), ([(0, end)], Some(total)) if *end == total);
        if !whole {
            return None;
        }
        let open = self.open.remove(&key)?;
        self.order.retain(|waiting| *waiting != key);
        if self.done.len() >= WHOLE_MAX {
            self.done.pop_front();
        }
        self.done.push_back((key, now_ns));
        Some(Whole {
            source: piece.source,
            destination: piece.destination,
            protocol: piece.protocol,
            bytes: open.bytes,
            packets: open.packets,
            first: open.first?,
        })
    }

    /// Whether a piece with this key that came at this time begins a datagram.
    pub fn is_new(&self, key: &Key, now_ns: i64) -> bool {
        self.open.get(key).is_none_or(|open| open.is_over(now_ns))
    }

    /// Datagrams that stayed incomplete: dropped or still waiting. Duplicate fragments of a complete datagram do not count.
    pub fn incomplete(&self) -> u64 {
        self.given_up + self.open.values().filter(|open| !open.again).count() as u64
    }

    /// RPC over UDP goes between these hosts.
    pub fn note_rpc(&mut self, source: Address, destination: Address) {
        self.lost_messages.note_rpc(source, destination);
    }

    /// How many of the incomplete datagrams hold a message of RPC over UDP, as their first fragment or the traffic of their hosts shows.
    /// Without those in which the capture began or ended, at `begin_ns` and `end_ns`, ns since the Unix epoch.
    pub fn incomplete_messages(&self, (begin_ns, end_ns): (i64, i64)) -> u64 {
        let (mut lost, mut edges) = (self.lost_messages.clone(), self.edges.clone());
        // In their order, because the result depends on it at the bounds.
        for (key, open) in self.order.iter().filter_map(|key| Some((key, self.open.get(key)?))) {
            if !open.again {
                add_lost((&mut lost, &mut edges), key, open, (Some(begin_ns), Some(end_ns)));
            }
        }
        lost.finish()
    }

    /// A datagram begins. An older one with its key stays incomplete.
    fn begin(&mut self, key: Key) {
        if self.open.contains_key(&key) {
            self.order.retain(|waiting| *waiting != key);
            self.give_up(&key);
        }
        while self.open.len() >= OPEN_MAX {
            let Some(oldest) = self.order.pop_front() else { break };
            self.give_up(&oldest);
        }
        self.order.push_back(key);
    }

    fn give_up(&mut self, key: &Key) {
        if let Some(open) = self.open.remove(key).filter(|open| !open.again) {
            self.given_up += 1;
            // The end of the capture is not known yet.
            add_lost((&mut self.lost_messages, &mut self.edges), key, &open, (self.begin_ns, None));
        }
    }
}

/// Counts a datagram that stays incomplete, if it may hold a message and the capture neither began nor ended inside it. `span_ns` is when
/// the capture began and ended, as far as it is known.
fn add_lost(
    (lost, edges): (&mut LostMessages, &mut Edges),
    &(source, destination, _, protocol): &Key,
    open: &Open,
    span_ns: (Option<i64>, Option<i64>),
) {
    if protocol == UDP && open.is_rpc != Some(false) && !edges.explain((source, destination), open, span_ns) {
        lost.add(source, destination, open.is_rpc);
    }
}

/// Adds a range to a sorted list of ranges, joining those that touch.
fn hold(held: &mut Vec<(usize, usize)>, start: usize, end: usize) {
    if held.len() >= PIECES_MAX {
        return;
    }
    held.push((start, end));
    held.sort_unstable();
    let mut joined: Vec<(usize, usize)> = Vec::with_capacity(held.len());
    for &(start, end) in held.iter() {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    *held = joined;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(offset: u32, payload: &[u8], more: bool) -> Fragment<'_> {
        let piece = Datagram { source: 1, destination: 2, protocol: 17, payload, wire_len: payload.len() as u32 };
        Fragment { piece, id: 7, offset, more }
    }

    /// A capture that began long before the pieces of a test, and ended long after them.
    const AMID: (i64, i64) = (-10_000_000_000, 10_000_000_000);

    fn stamp(time_ns: i64, frame: u64) -> Stamp {
        Stamp { time_ns, frame }
    }

    #[test]
    fn pieces_in_any_order_make_the_whole() {
        let mut fragments = Fragments::default();
        assert!(fragments.add(&piece(8, &[2; 8], true), stamp(20, 2), 1).is_none());
        assert!(fragments.add(&piece(16, &[3; 4], false), stamp(30, 3), 1).is_none());
        assert!(fragments.add(&piece(8, &[2; 8], true), stamp(35, 4), 1).is_none(), "a duplicate adds nothing");
        let whole = fragments.add(&piece(0, &[1; 8], true), stamp(40, 5), 1).expect("all pieces are there");
        assert_eq!(whole.datagram().payload, [[1; 8].as_slice(), &[2; 8], &[3; 4]].concat());
        assert_eq!((whole.first, whole.packets), (stamp(20, 2), 4));
        assert_eq!(fragments.incomplete(), 0);
    }

    #[test]
    fn second_copies_of_pieces_lack_nothing() {
        let mut fragments = Fragments::default();
        assert!(fragments.add(&piece(0, &[1; 8], true), stamp(10, 1), 1).is_none());
        assert!(fragments.add(&piece(8, &[2; 8], false), stamp(20, 2), 1).is_some());
        assert!(fragments.add(&piece(0, &[1; 8], true), stamp(30, 3), 1).is_none());
        assert_eq!(fragments.incomplete(), 0);
        assert!(fragments.add(&Fragment { id: 8, ..piece(0, &[1; 8], true) }, stamp(40, 4), 1).is_none());
        assert_eq!(fragments.incomplete(), 1, "of this one a piece is missing");
    }

    /// NFS over UDP uses all IDs of a host within seconds.
    #[test]
    fn an_id_that_is_used_again_completes_no_older_datagram() {
        const LATER_NS: i64 = 13_000_000_000;
        let mut fragments = Fragments::default();
        assert!(fragments.add(&piece(8, &[2; 8], true), stamp(10, 1), 1).is_none());
        assert!(fragments.add(&piece(16, &[3; 4], false), stamp(20, 2), 1).is_none());
        for (offset, byte) in [(0, 4_u8), (8, 5)] {
            let frame = u64::from(byte);
            assert!(fragments.add(&piece(offset, &[byte; 8], true), stamp(LATER_NS, frame), 1).is_none());
        }
        let whole = fragments.add(&piece(16, &[6; 4], false), stamp(LATER_NS, 6), 1).expect("all its pieces are there");
        assert_eq!(whole.datagram().payload, [[4; 8].as_slice(), &[5; 8], &[6; 4]].concat());
        assert_eq!((whole.first, whole.packets), (stamp(LATER_NS, 4), 3));
        assert_eq!((fragments.incomplete(), fragments.order.len()), (1, 0));
        assert!(fragments.add(&piece(8, &[2; 8], true), stamp(2 * LATER_NS, 7), 1).is_none());
        assert_eq!(fragments.incomplete(), 2, "it is no second copy");
        assert!(fragments.add(&piece(16, &[3; 4], false), stamp(2 * LATER_NS, 8), 1).is_none());
        assert!(fragments.add(&piece(0, &[1; 8], true), stamp(0, 9), 1).is_none(), "the clock was set back");
    }

    #[test]
    fn datagrams_with_cut_fragments_stay_incomplete() {
        let mut fragments = Fragments::default();
        let mut cut = piece(0, &[1; 8], true);
        cut.piece.wire_len = 16;
        assert!(fragments.add(&cut, stamp(10, 1), 1).is_none());
        assert!(fragments.add(&piece(16, &[2; 8], false), stamp(20, 2), 1).is_none());
        assert_eq!(fragments.incomplete(), 1);
        assert!(fragments.add(&piece(0, &[1; 16], true), stamp(30, 3), 1).is_some(), "a whole copy of the fragment");
        assert_eq!(fragments.incomplete(), 0);
    }

    /// A port, its neighbour and 32 bytes of data that are no RPC.
    fn first(port: u16) -> Vec<u8> {
        [&port.to_be_bytes()[..], &[3, 32, 0, 200, 0, 0], &[0x55; 32]].concat()
    }

    #[test]
    fn incomplete_messages_are_those_of_rpc_over_udp() {
        let mut fragments = Fragments::default();
        let mut add = |id, offset, payload: &[u8], protocol| {
            let mut one = Fragment { id, ..piece(offset, payload, true) };
            one.piece.protocol = protocol;
            assert!(fragments.add(&one, stamp(10, 1), 1).is_none());
        };
        add(1, 0, &first(2_049), UDP);
        add(2, 0, &first(53), UDP);
        add(3, 0, &first(2_049), 6);
        add(4, 8, &[0; 8], UDP);
        assert_eq!((fragments.incomplete(), fragments.incomplete_messages(AMID)), (4, 1));
        fragments.note_rpc(2, 1);
        assert_eq!(fragments.incomplete_messages(AMID), 2, "without its first fragment, the hosts tell");
        for id in 1_000..1_000 + OPEN_MAX as u32 {
            fragments.add(&Fragment { id, ..piece(0, &first(53), true) }, stamp(20, 2), 1);
        }
        assert_eq!((fragments.incomplete(), fragments.incomplete_messages(AMID)), (4 + OPEN_MAX as u64, 2));
    }

    /// The messages that are missing if a capture of 10 s has these pieces, one each of a datagram: id, offset, length, "more", time in s.
    fn missing_of(pieces: &[(u32, u32, usize, bool, i64)]) -> u64 {
        let mut fragments = Fragments::default();
        fragments.note_rpc(1, 2);
        for &(id, offset, len, more, at_s) in pieces {
            let payload = [&[8, 1, 8, 1][..], &vec![0; len]].concat();
            fragments.add(&Fragment { id, ..piece(offset, &payload, more) }, stamp(at_s * 1_000_000_000, 1), 1);
        }
        fragments.incomplete_messages((0, 10_000_000_000))
    }

    #[test]
    fn a_datagram_at_an_end_of_the_capture_lacks_nothing() {
        assert_eq!(missing_of(&[(7, 0, 12, true, 10)]), 0, "its end came after the capture");
        assert_eq!(missing_of(&[(7, 0, 12, true, 5)]), 1);
        assert_eq!(missing_of(&[(7, 16, 12, false, 0)]), 0, "its beginning came before the capture");
        assert_eq!(missing_of(&[(7, 16, 12, false, 5)]), 1);
        assert_eq!(missing_of(&[(7, 16, 12, false, 10)]), 1, "its beginning should have come");
        assert_eq!(missing_of(&[(7, 0, 12, true, 0)]), 1, "its end should have come");
        assert_eq!(missing_of(&[(7, 0, 12, true, 10), (7, 32, 12, true, 10)]), 1, "there is a gap");
        assert_eq!(missing_of(&[(7, 0, 12, true, 10), (8, 0, 12, true, 10)]), 1, "only one can be under way");
    }

    #[test]
    fn cut_datagrams_count_at_the_ends_of_the_capture() {
        let mut fragments = Fragments::default();
        let payload = first(2_049);
        let mut cut = piece(0, &payload, true);
        cut.piece.wire_len += 8;
        assert!(fragments.add(&cut, stamp(10, 1), 1).is_none());
        assert_eq!(fragments.incomplete_messages((10, 10)), 1);
    }

    #[test]
    fn of_datagrams_given_up_one_at_the_beginning_lacks_nothing() {
        let given_up = |began: i64| {
            let mut fragments = Fragments::default();
            fragments.note_rpc(1, 2);
            fragments.began(began);
            fragments.add(&piece(16, &[0; 8], false), stamp(10, 1), 1);
            for id in 1_000..1_000 + OPEN_MAX as u32 {
                fragments.add(&Fragment { id, ..piece(0, &first(53), true) }, stamp(20, 2), 1);
            }
            fragments.incomplete_messages((began, 10_000_000_000))
        };
        assert_eq!((given_up(0), given_up(-2_000_000_000)), (0, 1));
    }

    #[test]
    fn what_never_completes_is_counted_and_bounded() {
        let mut fragments = Fragments::default();
        for id in 0..1_000 {
            assert!(fragments.add(&Fragment { id, ..piece(0, &[0; 8], true) }, stamp(0, 1), 1).is_none());
        }
        assert!(fragments.open.len() <= OPEN_MAX);
        assert_eq!(fragments.incomplete(), 1_000);
    }
}
