//! Waits for slots: a client whose session has no free slot can send no further request.
//!
//! As for SMB2 credits, a response reaches a far client later than it passes the capture, and the next request comes a round trip later.
//!
//! Spec: RFC 8881 2.10.6.1, 18.46.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{Coverage, SlotWaits};
use serde::{Deserialize, Serialize};

/// Sessions that are followed, at most.
const SESSIONS_MAX: usize = 1_024;
/// A client with more slots that are all taken is busy, not limited by slots; with one it sends one request at a time.
const FEW_SLOTS: std::ops::RangeInclusive<u32> = 2..=32;
/// A client that waited for a slot sends its next request within this time, ns, or within a fourth of the time that it waited.
const GOES_ON_NS: i64 = 1_000_000;
/// Slots limit a session if all are taken for at least 1 / `HELD_UP` of its time.
const HELD_UP: u64 = 2;

/// The sessions, by the 16 bytes of their ids.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Slots {
    sessions: HashMap<u128, Session, foldhash::fast::RandomState>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Session {
    client: IpAddr,
    /// A bit for each of the first 64 slots with a request.
    taken: u64,
    /// Number of slots, as the server last said.
    slots: Option<u32>,
    /// Since when all are taken, ns.
    full_ns: Option<i64>,
    /// One became free: when the client knows it, and for how long all had been taken.
    freed: Option<(i64, i64)>,
    /// First and last request, ns.
    span_ns: (i64, i64),
    waits: u64,
    wait_ns: u64,
}

/// A session's id as a number.
fn number(session: &[u8]) -> Option<u128> {
    session.try_into().ok().map(u128::from_be_bytes)
}

impl Slots {
    /// A request of a client takes a slot.
    #[inline]
    pub(super) fn request(&mut self, session: &[u8], slot: u32, client: IpAddr, now_ns: i64) {
        let Some(id) = number(session) else { return };
        if self.sessions.len() >= SESSIONS_MAX && !self.sessions.contains_key(&id) {
            return;
        }
        self.sessions.entry(id).or_insert_with(|| Session::new(client, now_ns)).request(slot, now_ns);
    }

    /// The response frees it. `target` is the highest slot that the server asks the client to use; `to_client_ns` the round trip between
    /// capture and client.
    #[inline]
    pub(super) fn response(
        &mut self,
        session: &[u8],
        slot: u32,
        target: Option<u32>,
        (now_ns, to_client_ns): (i64, u64),
    ) {
        let session = number(session).and_then(|id| self.sessions.get_mut(&id));
        if let Some(session) = session {
            session.response(slot, target, now_ns, to_client_ns);
        }
    }

    /// The clients with sessions that slots limited, those that waited longest first.
    pub(crate) fn finish(self) -> Vec<SlotWaits> {
        let mut clients: HashMap<IpAddr, SlotWaits> = HashMap::new();
        for found in self.sessions.values().filter_map(Session::found) {
            clients.entry(found.client).and_modify(|all| all.add(&found)).or_insert(found);
        }
        let mut all: Vec<SlotWaits> = clients.into_values().collect();
        all.sort_by_key(|waits| (std::cmp::Reverse(waits.wait_ns), waits.client));
        all.truncate(Coverage::SLOT_CLIENTS);
        all
    }
}

impl Session {
    fn new(client: IpAddr, now_ns: i64) -> Self {
        let span_ns = (now_ns, now_ns);
        Self { client, taken: 0, slots: None, full_ns: None, freed: None, span_ns, waits: 0, wait_ns: 0 }
    }

    fn is_full(&self) -> bool {
        self.slots.is_some_and(|slots| FEW_SLOTS.contains(&slots) && self.taken.count_ones() >= slots)
    }

    fn request(&mut self, slot: u32, now_ns: i64) {
        self.span_ns = (self.span_ns.0.min(now_ns), self.span_ns.1.max(now_ns));
        if let Some((freed_ns, waited_ns)) = self.freed.take()
            && now_ns.saturating_sub(freed_ns) <= GOES_ON_NS.max(waited_ns / 4)
        {
            self.waits += 1;
            self.wait_ns = self.wait_ns.saturating_add(waited_ns.unsigned_abs());
        }
        self.taken |= 1u64.checked_shl(slot).unwrap_or(0);
        if self.is_full() {
            self.full_ns.get_or_insert(now_ns);
        }
    }

    fn response(&mut self, slot: u32, target: Option<u32>, now_ns: i64, to_client_ns: u64) {
        if let Some(full_ns) = self.full_ns.take() {
            self.freed = Some((now_ns.saturating_add_unsigned(to_client_ns), now_ns.saturating_sub(full_ns).max(0)));
        }
        self.taken &= !1u64.checked_shl(slot).unwrap_or(0);
        self.slots = target.map(|target| target.saturating_add(1)).or(self.slots);
        // The server may have lowered the number.
        if self.is_full() {
            self.full_ns = Some(now_ns);
        }
    }

    /// The waits, if slots limited the session.
    fn found(&self) -> Option<SlotWaits> {
        let sessions_ns = self.span_ns.0.abs_diff(self.span_ns.1);
        let is_held_up = self.waits > 0 && self.wait_ns >= sessions_ns / HELD_UP;
        let (client, waits, wait_ns) = (self.client, self.waits, self.wait_ns);
        is_held_up.then_some(SlotWaits { client, sessions: 1, slots: self.slots?, waits, wait_ns, sessions_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: i64 = 1_000;
    const ID: [u8; 16] = [7; 16];
    const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

    /// A client that always wants `wanted` outstanding requests in a session of `slots` slots, `trip` away from the capture, and a server
    /// that responds after 4 ms.
    fn requests(wanted: usize, slots: u32, trip: i64) -> Vec<SlotWaits> {
        let mut all = Slots::default();
        let mut due: std::collections::VecDeque<(i64, u32)> = std::collections::VecDeque::new();
        let mut free: Vec<u32> = (0..slots).rev().collect();
        let mut now = 0;
        for _ in 0..1_000 {
            while due.len() < wanted
                && let Some(slot) = free.pop()
            {
                all.request(&ID, slot, CLIENT, now);
                due.push_back((now + 4_000 * US, slot));
                now += 10 * US;
            }
            let (at, slot) = due.pop_front().unwrap();
            now = now.max(at);
            all.response(&ID, slot, Some(slots - 1), (now, trip.unsigned_abs()));
            free.push(slot);
            now += trip + 50 * US;
        }
        all.finish()
    }

    #[test]
    fn a_client_waits_for_slots_that_uses_all_of_them() {
        let [two] = requests(16, 2, 0)[..] else { panic!("one client") };
        assert_eq!((two.client, two.sessions, two.slots), (CLIENT, 1, 2));
        assert!(two.waits > 400 && two.wait_ns > two.sessions_ns / 2, "{two:?}");
        let [far] = requests(16, 2, 500 * US)[..] else { panic!("one client") };
        assert!(far.waits > 400, "{far:?}");
    }

    #[test]
    fn a_client_does_not_wait_for_slots_that_uses_some_or_has_many_or_one() {
        assert_eq!(requests(2, 64, 0), []);
        assert_eq!(requests(7, 8, 0), [], "one is left");
        assert_eq!(requests(80, 64, 0), [], "it is busy");
        assert_eq!(requests(4, 1, 0), [], "one request at a time");
    }

    #[test]
    fn a_session_whose_slots_are_taken_now_and_then_is_not_limited() {
        let mut all = Slots::default();
        all.request(&ID, 0, CLIENT, 0);
        all.response(&ID, 0, Some(1), (US, 0));
        for at in 1..200 {
            let now = at * 50_000 * US;
            (0..2).for_each(|slot| all.request(&ID, slot, CLIENT, now));
            (0..2).for_each(|slot| all.response(&ID, slot, Some(1), (now + 4_000 * US, 0)));
            all.request(&ID, 0, CLIENT, now + 4_010 * US);
            all.response(&ID, 0, Some(1), (now + 4_020 * US, 0));
        }
        assert_eq!(all.finish(), []);
    }
}
