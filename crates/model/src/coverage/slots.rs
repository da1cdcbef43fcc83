//! NFS 4.1 sessions and the use of their slots.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::add_fields;

/// Sessions that are kept, at most.
const SESSIONS_MAX: usize = 1_024;

/// A session with captured requests in its slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSlots {
    /// Its number in transactions.
    pub session: u64,
    /// The 16 bytes of its ID.
    pub id: u128,
    /// The client.
    pub client: IpAddr,
    /// The server.
    pub server: IpAddr,
    /// Slots that CREATE_SESSION granted; `None` if its response was not captured.
    pub granted: Option<u32>,
    /// Slots that the server wanted the client to use, as it last said in a response to SEQUENCE.
    pub target: Option<u32>,
    /// Slots that the client could use at the end: `target`, but no more than `granted` if it never used more.
    pub slots: Option<u32>,
    /// Requests with a slot.
    pub requests: u64,
    /// Most slots in use at once.
    pub most: u32,
    /// How long all slots were in use, ns.
    pub full_ns: u64,
    /// Number of times that the client sent its next request as soon as a slot was free, after all had been in use; counted for sessions
    /// with few slots.
    pub waits: u64,
    /// How long all slots had been in use before these requests, ns.
    pub wait_ns: u64,
    /// From the first request to the last message, ns.
    pub span_ns: u64,
    /// Requests or responses of the session were not captured: which slots were in use is not always known.
    pub is_partial: bool,
}

/// Sums over sessions for which there was no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotsLeftOut {
    /// Requests with a slot.
    pub requests: u64,
}

impl SessionSlots {
    /// A client that uses all of more slots is busy, not limited by slots; with one slot it sends one request at a time.
    pub const FEW: std::ops::RangeInclusive<u32> = 2..=32;

    /// Whether waits for slots are counted.
    pub fn has_few_slots(&self) -> bool {
        self.slots.is_some_and(|slots| Self::FEW.contains(&slots))
    }

    /// Sorts sessions, those that waited longest first, and moves those beyond the limit to the sums of sessions without a row.
    pub fn limit(all: &mut Vec<Self>, left_out: &mut SlotsLeftOut) {
        all.sort_by_key(|one| {
            let use_of_slots = (one.wait_ns, one.full_ns, one.requests);
            (std::cmp::Reverse(use_of_slots), one.client, one.server, one.id)
        });
        let further = all.split_off(all.len().min(SESSIONS_MAX));
        left_out.requests += further.iter().map(|one| one.requests).sum::<u64>();
    }

    fn is_same_session(&self, other: &Self) -> bool {
        (self.id, self.client, self.server) == (other.id, other.client, other.server)
    }

    /// Adds what a later capture has of the same session.
    fn add(&mut self, other: &Self) {
        self.granted = self.granted.or(other.granted);
        self.target = other.target.or(self.target);
        self.slots = other.slots.or(self.slots);
        self.most = self.most.max(other.most);
        add_fields!(self, other; requests, full_ns, waits, wait_ns, span_ns);
        self.is_partial |= other.is_partial;
    }
}

/// Adds the sessions of another capture.
pub(super) fn add(mine: (&mut Vec<SessionSlots>, &mut SlotsLeftOut), other: (&[SessionSlots], SlotsLeftOut)) {
    let (all, left_out) = mine;
    for theirs in other.0 {
        match all.iter_mut().find(|one| one.is_same_session(theirs)) {
            Some(one) => one.add(theirs),
            None => all.push(*theirs),
        }
    }
    left_out.requests += other.1.requests;
    SessionSlots::limit(all, left_out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Coverage;

    fn session(id: u128, wait_ns: u64) -> SessionSlots {
        SessionSlots {
            session: id as u64,
            id,
            client: [10, 0, 0, 1].into(),
            server: [10, 0, 0, 9].into(),
            granted: None,
            target: Some(4),
            slots: Some(4),
            requests: 10,
            most: 3,
            full_ns: wait_ns,
            waits: 2,
            wait_ns,
            span_ns: 100,
            is_partial: false,
        }
    }

    fn of(slots: Vec<SessionSlots>) -> Coverage {
        Coverage { slots, ..Coverage::default() }
    }

    #[test]
    fn captures_add_up_by_session() {
        let mut sum = of(vec![session(1, 50), session(2, 7)]);
        let later = SessionSlots { granted: Some(8), target: Some(2), most: 4, is_partial: true, ..session(2, 60) };
        sum.add(&of(vec![later, session(3, 1)]));
        let both = SessionSlots { requests: 20, full_ns: 67, waits: 4, wait_ns: 67, span_ns: 200, ..later };
        assert_eq!(sum.slots, [both, session(1, 50), session(3, 1)]);
    }

    #[test]
    fn requests_of_sessions_without_a_row_are_counted() {
        let most = SESSIONS_MAX as u128;
        let mut sum = of((0..most).map(|id| session(id, 5)).collect());
        sum.add(&of(vec![session(most, 9), session(most + 1, 1)]));
        assert_eq!((sum.slots.len(), sum.slots[0].id, sum.slots_left_out.requests), (most as usize, most, 20));
    }
}
