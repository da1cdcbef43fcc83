//! Slots of NFS 4.1 sessions: a client whose session has no free slot can send no further request.
//!
//! As for SMB2 credits, a response reaches a far client later than it passes the capture, and the next request comes a round trip later.
//! Until then the slot is in use.
//!
//! Spec: RFC 8881 2.10.6.1, 18.36, 18.46.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{SessionSlots, SlotsLeftOut};
use plimsoll_wire::nfs::Slot as OfRequest;
use plimsoll_wire::nfs::v4::sequence::{SessionId, session_number};
use serde::{Deserialize, Serialize};

use crate::pairing::far::sent_after;

/// Sessions that are followed, at most.
const SESSIONS_MAX: usize = 1_024;
/// Slots of a session that are followed, at most: Linux clients use up to 1,024.
const SLOTS_MAX: usize = 1_024;
/// A client that waited for a slot sends its next request within this time, ns, or within a fourth of the time that it waited.
const GOES_ON_NS: i64 = 1_000_000;
/// Responses of a session on their way to its client, at most.
const MAX_UNDER_WAY: usize = 64;

/// The sessions, by their numbers in transactions.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Slots {
    sessions: HashMap<u64, Session, foldhash::fast::RandomState>,
    left_out: SlotsLeftOut,
}

#[derive(Debug, Serialize, Deserialize)]
struct Session {
    id: u128,
    /// Client and server.
    place: (IpAddr, IpAddr),
    granted: Option<u32>,
    /// Number of slots, as the server last said.
    target: Option<u32>,
    /// The slots up to the highest with a request.
    slots: Vec<Slot>,
    in_use: u32,
    most: u32,
    requests: u64,
    /// Since when all are in use, ns.
    full_since_ns: Option<i64>,
    full_ns: u64,
    /// One became free: when, and for how long all had been in use.
    freed: Option<(i64, i64)>,
    /// Responses on their way to a far client.
    under_way: Vec<UnderWay>,
    /// By how much their way varies, ns.
    varies_ns: i64,
    /// Shortest time from a response to the next request of its slot, if that was shorter than the round trip of the handshake, ns.
    shortest_ns: u64,
    /// First request and last message, ns.
    span_ns: Option<(i64, i64)>,
    waits: u64,
    wait_ns: u64,
    is_partial: bool,
}

/// A response on its way to a far client.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct UnderWay {
    slot: u32,
    passed_ns: i64,
    /// When requests can use the slot.
    at_ns: i64,
}

/// A slot.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Slot {
    is_in_use: bool,
    /// The sequence ID of its last request.
    sequence: Option<u32>,
}

impl Slots {
    /// A request takes a slot. Returns the session's number.
    #[inline]
    pub(super) fn request(&mut self, of: &OfRequest<'_>, place: (IpAddr, IpAddr), now_ns: i64) -> Option<u64> {
        let id = of.session.try_into().ok()?;
        let number = session_number(&id);
        match self.session(number, id, place) {
            Some(session) => session.request(of.slot, of.sequence, now_ns),
            None => self.left_out.requests += 1,
        }
        Some(number)
    }

    /// The server created a session with this number of slots.
    #[cold]
    pub(super) fn created(&mut self, id: &[u8], granted: u32, place: (IpAddr, IpAddr)) {
        let Ok(id) = id.try_into() else { return };
        if let Some(session) = self.session(session_number(&id), id, place) {
            session.granted = Some(granted);
        }
    }

    fn session(&mut self, number: u64, id: SessionId, place: (IpAddr, IpAddr)) -> Option<&mut Session> {
        if self.sessions.len() >= SESSIONS_MAX && !self.sessions.contains_key(&number) {
            return None;
        }
        Some(self.sessions.entry(number).or_insert_with(|| Session::new(u128::from_be_bytes(id), place)))
    }

    /// The response frees it. `target` is the highest slot that the server asks the client to use; `to_client_ns` the round trip between
    /// capture and client.
    #[inline]
    pub(super) fn response(
        &mut self,
        (session, slot): (u64, u32),
        target: Option<u32>,
        (now_ns, to_client_ns): (i64, u64),
    ) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.response(slot, target, now_ns, to_client_ns);
        }
    }

    /// A request or a response of the session was not captured.
    #[cold]
    pub(super) fn lost(&mut self, session: u64) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.is_partial = true;
        }
    }

    pub(crate) fn finish(self) -> (Vec<SessionSlots>, SlotsLeftOut) {
        let mut left_out = self.left_out;
        let mut all = self.sessions.into_iter().map(|(number, session)| session.finish(number)).collect();
        SessionSlots::limit(&mut all, &mut left_out);
        (all, left_out)
    }
}

impl Session {
    fn new(id: u128, place: (IpAddr, IpAddr)) -> Self {
        Self {
            id,
            place,
            granted: None,
            target: None,
            slots: Vec::new(),
            in_use: 0,
            most: 0,
            requests: 0,
            full_since_ns: None,
            full_ns: 0,
            freed: None,
            under_way: Vec::new(),
            varies_ns: 0,
            shortest_ns: u64::MAX,
            span_ns: None,
            waits: 0,
            wait_ns: 0,
            is_partial: false,
        }
    }

    /// Number of slots that the client may use. A server may want more to be used than it granted; few clients use them.
    fn limit(&self) -> Option<u32> {
        let own = self.granted.map(|granted| granted.max(self.slots.len() as u32));
        match (own, self.target) {
            (Some(own), Some(target)) => Some(own.min(target)),
            (own, target) => own.or(target),
        }
    }

    fn is_full(&self) -> bool {
        self.limit().is_some_and(|limit| limit > 0 && self.in_use >= limit)
    }

    fn seen(&mut self, now_ns: i64) {
        let (first, last) = self.span_ns.unwrap_or((now_ns, now_ns));
        self.span_ns = Some((first.min(now_ns), last.max(now_ns)));
    }

    fn request(&mut self, slot: u32, sequence: u32, now_ns: i64) {
        self.seen(now_ns);
        self.requests += 1;
        self.arrive(slot, now_ns);
        if let Some((freed_ns, waited_ns)) = self.freed.take()
            && now_ns.saturating_sub(freed_ns) <= GOES_ON_NS.max(waited_ns / 4).saturating_add(self.varies_ns)
        {
            self.waits += 1;
            self.wait_ns = self.wait_ns.saturating_add(waited_ns.unsigned_abs());
        }
        let place = slot as usize;
        if place >= SLOTS_MAX {
            self.is_partial = true;
            return;
        }
        if place >= self.slots.len() {
            self.slots.resize(place + 1, Slot::default());
        }
        if let Some(slot) = self.slots.get_mut(place) {
            // A request without a response is sent again with its sequence ID.
            let is_expected = |last: u32| sequence == last || (!slot.is_in_use && sequence == last.wrapping_add(1));
            self.is_partial |= !slot.sequence.is_none_or(is_expected);
            self.in_use += u32::from(!slot.is_in_use);
            *slot = Slot { is_in_use: true, sequence: Some(sequence) };
        }
        self.most = self.most.max(self.in_use);
        if self.is_full() {
            self.full_since_ns.get_or_insert(now_ns);
        }
    }

    fn response(&mut self, slot: u32, target: Option<u32>, now_ns: i64, to_client_ns: u64) {
        self.seen(now_ns);
        let are_few = self.limit().is_some_and(|limit| SessionSlots::FEW.contains(&limit));
        let far = sent_after(now_ns, to_client_ns.min(self.shortest_ns)).filter(|_| are_few);
        match far {
            Some((at_ns, varies_ns)) if self.under_way.len() < MAX_UNDER_WAY => {
                self.varies_ns = varies_ns;
                self.under_way.push(UnderWay { slot, passed_ns: now_ns, at_ns });
                self.target = target.map(|target| target.saturating_add(1)).or(self.target);
            }
            _ => self.free(slot, target, now_ns),
        }
    }

    /// Frees the slots whose responses have reached the client when it sends a request on `slot`.
    fn arrive(&mut self, slot: u32, now_ns: i64) {
        if self.under_way.is_empty() {
            return;
        }
        self.under_way.sort_unstable_by_key(|one| one.at_ns);
        while let Some(one) = self.under_way.first().copied().filter(|one| one.at_ns <= now_ns) {
            self.under_way.remove(0);
            self.free(one.slot, None, one.at_ns);
        }
        if let Some(at) = self.under_way.iter().position(|one| one.slot == slot) {
            let one = self.under_way.remove(at);
            self.shortest_ns = self.shortest_ns.min(now_ns.saturating_sub(one.passed_ns).max(0).unsigned_abs());
            for other in &mut self.under_way {
                other.at_ns = other.at_ns.min(other.passed_ns.saturating_add_unsigned(self.shortest_ns));
            }
            self.free(slot, None, now_ns);
        }
    }

    fn free(&mut self, slot: u32, target: Option<u32>, now_ns: i64) {
        let was_few = self.limit().is_some_and(|limit| SessionSlots::FEW.contains(&limit));
        if let Some(slot) = self.slots.get_mut(slot as usize)
            && std::mem::take(&mut slot.is_in_use)
        {
            self.in_use -= 1;
        }
        self.target = target.map(|target| target.saturating_add(1)).or(self.target);
        // The server may have lowered the number.
        if self.is_full() {
            self.full_since_ns.get_or_insert(now_ns);
        } else if let Some(since_ns) = self.full_since_ns.take() {
            let full_ns = now_ns.saturating_sub(since_ns).max(0);
            self.full_ns = self.full_ns.saturating_add(full_ns.unsigned_abs());
            self.freed = was_few.then_some((now_ns, full_ns));
        }
    }

    fn finish(mut self, number: u64) -> SessionSlots {
        let (first_ns, last_ns) = self.span_ns.unwrap_or_default();
        let span_ns = first_ns.abs_diff(last_ns);
        if let Some(since_ns) = self.full_since_ns.take() {
            self.full_ns = self.full_ns.saturating_add(last_ns.abs_diff(since_ns));
        }
        SessionSlots {
            session: number,
            id: self.id,
            client: self.place.0,
            server: self.place.1,
            granted: self.granted,
            target: self.target,
            slots: self.limit(),
            requests: self.requests,
            most: self.most,
            // The last responses may be on their way.
            full_ns: self.full_ns.min(span_ns),
            waits: self.waits,
            wait_ns: self.wait_ns.min(span_ns),
            span_ns,
            is_partial: self.is_partial,
        }
    }
}

#[cfg(test)]
mod tests;
