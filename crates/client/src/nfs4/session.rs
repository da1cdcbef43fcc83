//! The slots of a session. A slot has one outstanding request; its next request has the next sequence ID. After a timeout a request keeps
//! its slot until the response arrives, because the client does not know whether the server has used the sequence ID.
//!
//! Spec: RFC 8881 2.10.6

use plimsoll_wire::nfs::v4::create_session::{Channel, Session as Created};
use plimsoll_wire::nfs::v4::sequence::{Sequence, SequenceReply, SessionId, session_number};

/// A session; without slots before CREATE_SESSION.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) id: SessionId,
    /// Its number in transactions.
    wire_number: u64,
    /// Number of the session for this client, to detect responses of earlier sessions.
    pub(super) number: u32,
    /// For each slot of this connection, the sequence ID of the outstanding or next request.
    sequences: Vec<u32>,
    /// A bit for each of these slots, from the lowest: it has an outstanding request.
    taken: Vec<u64>,
    /// The slots of this connection.
    part: Part,
    /// Number of slots of the session, including those of other connections.
    total: u32,
    /// The server's target number of slots.
    aim: usize,
    /// Number of slots that the server accepts.
    accepted: usize,
    /// How often that number has grown: now, and for each slot when its last request was sent.
    grown: (u32, Vec<u32>),
    /// All slots in use are below this one.
    highest: usize,
    /// Timed-out requests by xid, and their slots.
    lost: Vec<(u32, u32)>,
}

/// The slots of one of several connections: the first slot and the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) first: u32,
    pub(super) step: u32,
}

impl Default for Part {
    fn default() -> Self {
        Self { first: 0, step: 1 }
    }
}

impl Part {
    /// Number of its slots below a slot number.
    fn below(self, slots: u32) -> usize {
        slots.saturating_sub(self.first).div_ceil(self.step) as usize
    }

    /// Slot number in the session.
    fn number(self, slot: usize) -> u32 {
        // There are at most MOST slots.
        self.first + slot as u32 * self.step
    }

    /// Index of the slot with this number.
    fn place(self, number: u32) -> usize {
        (number.saturating_sub(self.first) / self.step) as usize
    }
}

/// Maximum number of slots, even if the server grants more: each takes 8 bytes and a bit.
pub(super) const MOST: u32 = 4_096;

impl Session {
    /// The new session that replaces this one.
    pub(super) fn next(&self, created: &Created, wanted: u32, part: Part) -> Self {
        let total = created.fore.slots.min(wanted).clamp(1, MOST);
        let count = part.below(total).max(1);
        Self {
            id: created.id,
            wire_number: session_number(&created.id),
            number: self.number.wrapping_add(1),
            sequences: vec![1; count],
            taken: vec![0; count.div_ceil(64)],
            part,
            total,
            aim: count,
            accepted: count,
            grown: (0, vec![0; count]),
            highest: 0,
            lost: Vec::new(),
        }
    }

    /// What follows without a session: another client ID, in 4.0.
    pub(super) fn without_slots(&self) -> Self {
        Self { number: self.number.wrapping_add(1), ..Self::default() }
    }

    /// The number of the session in transactions.
    pub(super) fn wire_number(&self) -> u64 {
        self.wire_number
    }

    /// Takes the lowest free slot.
    pub(super) fn take(&mut self, cache: bool) -> Option<Sequence> {
        let slot = self.lowest_free()?;
        let sequence = *self.sequences.get(slot)?;
        *self.taken.get_mut(slot / 64)? |= 1 << (slot % 64);
        *self.grown.1.get_mut(slot)? = self.grown.0;
        self.highest = self.highest.max(slot + 1);
        Some(Sequence {
            session: self.id,
            sequence,
            slot: self.part.number(slot),
            highest: self.highest_number(),
            cache,
        })
    }

    /// The slot's request, to send it again on another connection with the same sequence ID.
    pub(super) fn again(&self, slot: u32) -> Option<Sequence> {
        let place = self.part.place(slot);
        let sequence = *self.sequences.get(place).filter(|_| self.is_taken(place))?;
        let highest = self.highest_number();
        Some(Sequence { session: self.id, sequence, slot, highest, cache: false })
    }

    /// Whether [`Session::take`] would find a slot.
    pub(super) fn has_room(&self) -> bool {
        self.lowest_free().is_some()
    }

    /// The lowest slot without a request, if the server allows its use.
    fn lowest_free(&self) -> Option<usize> {
        let (at, word) = self.taken.iter().enumerate().find(|(_, word)| **word != u64::MAX)?;
        Some(at * 64 + word.trailing_ones() as usize).filter(|&slot| slot < self.aim)
    }

    fn is_taken(&self, place: usize) -> bool {
        self.taken.get(place / 64).is_some_and(|word| word & (1 << (place % 64)) != 0)
    }

    /// Frees a slot. `counted`: the server has used the sequence ID; otherwise the next request has the same one.
    pub(super) fn free(&mut self, slot: u32, counted: bool) {
        let place = self.part.place(slot);
        if let (Some(sequence), Some(taken)) = (self.sequences.get_mut(place), self.taken.get_mut(place / 64)) {
            *taken &= !(1 << (place % 64));
            *sequence = sequence.wrapping_add(u32::from(counted));
        }
        while self.highest > 0 && !self.is_taken(self.highest - 1) {
            self.highest -= 1;
        }
    }

    /// Applies the server's result of SEQUENCE. False if it does not belong to the request.
    pub(super) fn confirms(&mut self, asked: u32, said: &SequenceReply) -> bool {
        let sequence = self.sequences.get(self.part.place(asked)).copied();
        if self.part.step == 1 {
            self.accept(asked, said.highest);
        }
        // The target may rise again, but not above the granted number. One of several connections keeps at least one slot.
        let least = usize::from(self.part.step > 1);
        self.aim = self.part.below(said.target.saturating_add(1)).clamp(least, self.sequences.len());
        said.session == self.id && said.slot == asked && Some(said.sequence) == sequence
    }

    /// Notes the highest slot that the server accepts. It has retired the slots above, which begin anew if it accepts them again (RFC 8881
    /// 2.10.6.1). A request that was sent before their number grew may have a late response, with an older number.
    fn accept(&mut self, asked: u32, highest: u32) {
        let accepted = self.part.below(highest.saturating_add(1)).min(self.sequences.len());
        if accepted > self.accepted {
            self.grown.0 = self.grown.0.wrapping_add(1);
            self.accepted = accepted;
        }
        let is_current = self.grown.1.get(self.part.place(asked)) == Some(&self.grown.0);
        if accepted < self.accepted && self.highest <= accepted && is_current {
            self.sequences.iter_mut().skip(accepted).for_each(|sequence| *sequence = 1);
            self.accepted = accepted;
        }
    }

    /// Notes that a request timed out.
    pub(super) fn lose(&mut self, xid: u32, slot: u32) {
        self.lost.push((xid, slot));
    }

    /// Notes the late response of a timed-out request, which frees its slot.
    pub(super) fn found(&mut self, xid: u32, counted: bool) {
        if let Some(slot) = self.take_lost_of(xid) {
            self.free(slot, counted);
        }
    }

    /// Slot of a timed-out request whose late response cannot be read.
    pub(super) fn take_lost_of(&mut self, xid: u32) -> Option<u32> {
        let at = self.lost.iter().position(|(lost, _)| *lost == xid)?;
        Some(self.lost.swap_remove(at).1)
    }

    /// Slots of timed-out requests whose responses cannot arrive any more.
    pub(super) fn take_lost(&mut self) -> impl Iterator<Item = u32> + use<> {
        std::mem::take(&mut self.lost).into_iter().map(|(_, slot)| slot)
    }

    /// Whether all slots belong to timed-out requests.
    pub(super) fn is_spent(&self) -> bool {
        !self.sequences.is_empty() && self.lost.len() >= self.aim.max(1)
    }

    /// Number of slots of the session, including those of other connections.
    pub(super) fn slots(&self) -> u32 {
        self.total
    }

    /// The highest slot that may be in use. With several connections, the slots in use by the others are unknown.
    fn highest_number(&self) -> u32 {
        match self.part.step {
            1 => self.part.number(self.highest.max(1) - 1),
            _ => self.total.max(1) - 1,
        }
    }
}

/// Limits to request for the fore channel.
pub(super) fn fore(most: u32, slots: u32) -> Channel {
    let slots = slots.clamp(1, MOST);
    Channel { request: most + HEADS, response: most + HEADS, cached: CACHED, operations: 8, slots }
}

/// Limits of the back channel.
pub(super) const BACK: Channel = Channel { request: 4_096, response: 4_096, cached: 0, operations: 4, slots: 1 };

/// Space for a message without its data, bytes: RPC with 16 groups takes 200, the operations before the data another 200.
pub(super) const HEADS: u32 = 1_024;
/// Maximum size of a response that the server must cache, bytes: an OPEN with handle and attributes takes about 500.
const CACHED: u32 = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    fn session(slots: u32, wanted: u32) -> Session {
        let fore = fore(1 << 20, slots);
        Session::default().next(
            &Created { id: [7; 16], sequence: 1, flags: 0, fore, back: BACK },
            wanted,
            Part::default(),
        )
    }

    fn numbers(taken: Option<Sequence>) -> Option<(u32, u32, u32)> {
        taken.map(|taken| (taken.slot, taken.sequence, taken.highest))
    }

    #[test]
    fn a_slot_has_one_request_at_a_time_and_counts_them() {
        let mut session = session(3, 2);
        assert_eq!(session.slots(), 2, "no more than was wanted");
        assert_eq!(numbers(session.take(false)), Some((0, 1, 0)));
        assert_eq!(numbers(session.take(false)), Some((1, 1, 1)));
        assert_eq!((numbers(session.take(false)), session.has_room()), (None, false));
        session.free(0, true);
        assert_eq!(numbers(session.take(false)), Some((0, 2, 1)), "the lowest, with the next number");
        session.free(1, false);
        session.free(0, true);
        assert_eq!(numbers(session.take(false)), Some((0, 3, 0)));
        assert_eq!(
            numbers(session.take(false)),
            Some((1, 1, 1)),
            "what was not counted is asked again with its number"
        );
    }

    #[test]
    fn the_lowest_of_many_slots_is_taken() {
        let mut session = session(130, 130);
        let taken: Vec<u32> = std::iter::from_fn(|| session.take(false)).map(|taken| taken.slot).collect();
        assert_eq!(taken, (0..130).collect::<Vec<_>>());
        for slot in [129, 128, 64, 63] {
            session.free(slot, true);
        }
        assert_eq!(numbers(session.take(false)), Some((63, 2, 127)), "all above are free");
        let said = SequenceReply { session: [7; 16], sequence: 1, slot: 1, highest: 129, target: 63, flags: 0 };
        assert!(session.confirms(1, &said) && !session.has_room(), "the server wants no slot above 63");
        let said = SequenceReply { target: 128, ..said };
        assert!(session.confirms(1, &said));
        assert_eq!([(); 3].map(|()| numbers(session.take(false))), [Some((64, 2, 127)), Some((128, 2, 128)), None]);
    }

    #[test]
    fn a_slot_that_the_server_has_retired_begins_anew() {
        let mut session = session(8, 8);
        let said = |sequence, highest| {
            let (session, slot, target, flags) = ([7; 16], 0, highest, 0);
            SequenceReply { session, sequence, slot, highest, target, flags }
        };
        let all_but_the_first = |session: &mut Session| -> Vec<u32> {
            let taken: Vec<_> = (1..6).filter_map(|_| session.take(false)).collect();
            taken.iter().for_each(|taken| session.free(taken.slot, true));
            taken.iter().map(|taken| taken.sequence).collect()
        };
        let _ = session.take(false);
        assert_eq!(all_but_the_first(&mut session), [1; 5]);
        assert!(session.confirms(0, &said(1, 2)), "three are left");
        session.free(0, true);
        let _ = session.take(false);
        assert!(session.confirms(0, &said(2, 7)));
        assert_eq!(all_but_the_first(&mut session), [2, 2, 1, 1, 1]);
        // Two answers to requests that were sent before the table grew, and after it.
        assert!(session.confirms(0, &said(2, 2)) && session.confirms(0, &said(2, 7)));
        assert_eq!(all_but_the_first(&mut session), [3, 3, 2, 2, 2]);
        session.free(0, true);
        let _ = session.take(false);
        assert!(session.confirms(0, &said(3, 2)) && session.confirms(0, &said(3, 7)));
        assert_eq!(all_but_the_first(&mut session), [4, 4, 1, 1, 1]);
    }

    #[test]
    fn a_request_that_was_given_up_keeps_its_slot() {
        let mut session = session(2, 8);
        let _ = (session.take(false), session.take(false));
        session.lose(70, 0);
        assert!(!session.has_room() && !session.is_spent());
        session.lose(71, 1);
        assert!(session.is_spent(), "nothing can be asked any more");
        session.found(71, true);
        session.found(99, true);
        assert_eq!(numbers(session.take(false)), Some((1, 2, 1)));
    }

    #[test]
    fn what_a_lost_connection_carried_is_asked_again_with_its_number() {
        let mut session = session(2, 8);
        let _ = session.take(false);
        session.free(0, true);
        assert!(session.again(0).is_none(), "nothing is on its way");
        let (first, _) = (session.take(false), session.take(false));
        assert_eq!(numbers(session.again(0)).map(|(slot, number, _)| (slot, number)), Some((0, 2)));
        assert_eq!(numbers(first), Some((0, 2, 0)));
        session.lose(70, 1);
        assert_eq!(session.take_lost().collect::<Vec<_>>(), [1]);
        assert_eq!(numbers(session.again(1)), Some((1, 1, 1)), "it is still taken");
        let fore = fore(1 << 20, 1);
        let next = session.next(&Created { id: [8; 16], sequence: 2, flags: 0, fore, back: BACK }, 8, Part::default());
        assert_eq!((next.number, next.slots()), (session.number + 1, 1));
    }

    #[test]
    fn several_connections_have_slots_of_their_own() {
        let fore = fore(1 << 20, 5);
        let created = Created { id: [7; 16], sequence: 1, flags: 0, fore, back: BACK };
        let part = |first| Session::default().next(&created, 8, Part { first, step: 2 });
        let (mut one, mut other) = (part(0), part(1));
        let taken = |session: &mut Session| -> Vec<u32> {
            std::iter::from_fn(|| numbers(session.take(false)).map(|(slot, ..)| slot)).collect()
        };
        assert_eq!((taken(&mut one), taken(&mut other)), (vec![0, 2, 4], vec![1, 3]));
        other.free(3, true);
        assert_eq!(numbers(other.take(false)), Some((3, 2, 4)), "the highest is that of all");
        assert_eq!((one.slots(), other.slots()), (5, 5));
        let said = SequenceReply { session: [7; 16], sequence: 2, slot: 3, highest: 4, target: 0, flags: 0 };
        assert!(other.confirms(3, &said));
        other.free(1, true);
        assert_eq!(numbers(other.take(false)), Some((1, 2, 4)), "one is left to each");
    }

    #[test]
    fn a_server_may_want_fewer_slots_to_be_used() {
        let mut session = session(4, 8);
        let first = session.take(false).unwrap();
        let said =
            |sequence, slot, target| SequenceReply { session: [7; 16], sequence, slot, highest: 3, target, flags: 0 };
        assert!(session.confirms(first.slot, &said(1, 0, 1)));
        assert_eq!((numbers(session.take(false)), session.has_room()), (Some((1, 1, 1)), false));
        assert!(session.confirms(1, &said(1, 1, u32::MAX)) && session.has_room());
        assert!(!session.confirms(1, &said(2, 1, 3)) && !session.confirms(1, &said(1, 0, 3)));
    }
}
