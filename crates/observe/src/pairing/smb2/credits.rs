//! Waits for credits: a client that has used all credits can send no further request.
//!
//! If the capture point is far from the client, credits reach the client after they pass the capture, and its requests arrive later than
//! it sends them: a captured request can use credits that passed one round trip earlier.
//!
//! Spec: MS-SMB2 3.2.4.1.2, 3.2.5.1.4, 3.3.1.2.

use std::collections::VecDeque;

use plimsoll_model::Credits;
use serde::{Deserialize, Serialize};

use crate::pairing::far::sent_after;

/// A client that waited for credits goes on within this time of being given some, ns, or within a fourth of the time that it waited.
const GOES_ON_NS: i64 = 1_000_000;
/// Credits limit a connection if it has none for at least 1 / `HELD_UP` of the time in which it has outstanding requests.
const HELD_UP: u64 = 5;
/// Fewer waits of a connection are those of its beginning, when servers grant few credits.
const WAITS_LEAST: u64 = 8;
/// A client with more outstanding requests that uses up its credits is busy, not limited by credits.
const FEW_OUTSTANDING: u32 = 32;

/// Responses on their way to the client, at most: 12 KiB.
const MAX_UNDER_WAY: usize = 512;

/// Credits in a response: when requests can use them, how many, and whether the response ends a request.
type Grant = (i64, u16, bool);

/// The credits of one connection.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Balance {
    /// Granted and not used. `None` where some grants were not seen.
    left: Option<i64>,
    /// Credits on their way to the client.
    under_way: VecDeque<Grant>,
    /// By how much their way varies, ns.
    varies_ns: i64,
    outstanding: u32,
    /// Credits that the last request used.
    charge: i64,
    exhausted_ns: Option<i64>,
    /// Credits came: when, and how long there had been none.
    granted: Option<(i64, i64)>,
    /// Time with outstanding requests, ns: the parts that have ended, and the begin of the present one.
    busy_ns: u64,
    busy_since_ns: Option<i64>,
    /// Sum of the times of outstanding requests, ns, up to the last request or response.
    requests_ns: u64,
    last_ns: i64,
    found: Credits,
}

impl Default for Balance {
    fn default() -> Self {
        // A connection begins with one credit.
        Self {
            left: Some(1),
            under_way: VecDeque::new(),
            varies_ns: 0,
            outstanding: 0,
            charge: 1,
            exhausted_ns: None,
            granted: None,
            busy_ns: 0,
            busy_since_ns: None,
            requests_ns: 0,
            last_ns: 0,
            found: Credits::default(),
        }
    }
}

impl Balance {
    /// The balance of a connection that used `used` credits before its first SMB2 request, and was granted `granted`: an SMB1 NEGOTIATE
    /// takes one, and its response in SMB2 grants some.
    pub(super) fn used(used: u64, granted: u16) -> Self {
        Self { left: i64::try_from(used).ok().map(|used| 1 - used + i64::from(granted)), ..Self::default() }
    }

    /// The client sent a request. `is_whole` says that all messages of the connection were seen.
    #[inline]
    pub(super) fn request(&mut self, charge: u16, now_ns: i64, is_whole: bool) {
        while self.under_way.front().is_some_and(|(at_ns, ..)| *at_ns <= now_ns) {
            self.arrives();
        }
        let Some(left) = self.left.filter(|_| is_whole) else {
            self.left = None;
            return;
        };
        if let Some((granted_ns, waited_ns)) = self.granted.take()
            && now_ns.saturating_sub(granted_ns) <= GOES_ON_NS.max(waited_ns / 4).saturating_add(self.varies_ns)
        {
            self.found.waits += 1;
            self.found.wait_ns = self.found.wait_ns.saturating_add(waited_ns.unsigned_abs());
        }
        self.passes(now_ns);
        self.busy_since_ns.get_or_insert(now_ns);
        self.charge = i64::from(charge.max(1));
        self.outstanding = self.outstanding.saturating_add(1);
        let left = left - self.charge;
        self.left = Some(left);
        if left >= self.charge {
            self.exhausted_ns = None;
        } else if (2..=FEW_OUTSTANDING).contains(&self.outstanding) {
            self.exhausted_ns.get_or_insert(now_ns);
        }
    }

    /// The server answered and granted credits, which reach the client after the round trip to it.
    #[inline]
    pub(super) fn response(&mut self, credits: u16, now_ns: i64, is_final: bool, to_client_ns: u64) {
        let Some((at_ns, varies_ns)) = sent_after(now_ns, to_client_ns) else {
            return self.granted(credits, now_ns, is_final);
        };
        self.varies_ns = varies_ns;
        self.under_way.push_back((at_ns, credits, is_final));
        if self.under_way.len() > MAX_UNDER_WAY {
            self.arrives();
        }
    }

    /// The first response that is under way reaches the client.
    fn arrives(&mut self) {
        if let Some((at_ns, credits, is_final)) = self.under_way.pop_front() {
            self.granted(credits, at_ns, is_final);
        }
    }

    fn granted(&mut self, credits: u16, now_ns: i64, is_final: bool) {
        let Some(left) = self.left else { return };
        self.passes(now_ns);
        self.outstanding = self.outstanding.saturating_sub(u32::from(is_final));
        self.left = Some(left + i64::from(credits));
        if let Some(exhausted_ns) = self.exhausted_ns
            && left + i64::from(credits) >= self.charge
        {
            self.exhausted_ns = None;
            self.granted = Some((now_ns, now_ns.saturating_sub(exhausted_ns).max(0)));
        }
        if self.outstanding == 0
            && let Some(since_ns) = self.busy_since_ns.take()
        {
            self.busy_ns = self.busy_ns.saturating_add_signed(now_ns.saturating_sub(since_ns).max(0));
            // An idle client waits for nothing.
            self.exhausted_ns = None;
        }
    }

    /// Time passes until now.
    #[inline]
    fn passes(&mut self, now_ns: i64) {
        let passed_ns = now_ns.saturating_sub(self.last_ns).max(0).unsigned_abs();
        let requests_ns = passed_ns.saturating_mul(u64::from(self.outstanding));
        self.requests_ns = self.requests_ns.saturating_add(requests_ns);
        self.last_ns = self.last_ns.max(now_ns);
    }

    /// The findings; empty if grants were not captured, or if credits hardly limited the connection: the time of other connections would
    /// hide the one that waits.
    pub(super) fn found(&self) -> Credits {
        let lasts_ns = self.busy_since_ns.map_or(0, |since_ns| self.last_ns.saturating_sub(since_ns).max(0));
        let busy_ns = self.busy_ns.saturating_add_signed(lasts_ns);
        let is_held_up = self.found.waits >= WAITS_LEAST && self.found.wait_ns >= busy_ns / HELD_UP;
        if self.left.is_none() || !is_held_up {
            return Credits::default();
        }
        Credits { wait_ns: self.found.wait_ns.min(busy_ns), busy_ns, requests_ns: self.requests_ns, ..self.found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: i64 = 1_000;

    /// A client that always wants `wanted` outstanding reads, and a server that grants `credits` in total and answers each read after 1
    /// ms.
    fn reads(wanted: usize, credits: u16) -> Credits {
        after_reads(wanted, credits).0.found()
    }

    fn after_reads(wanted: usize, credits: u16) -> (Balance, i64) {
        let mut balance = Balance::default();
        balance.request(1, 0, true);
        balance.response(credits, 100 * US, true, 0);
        let (mut now, mut left, mut due) = (200 * US, i64::from(credits), std::collections::VecDeque::new());
        for _ in 0..1_000 {
            while due.len() < wanted && left > 0 {
                balance.request(1, now, true);
                due.push_back(now + 1_000 * US);
                left -= 1;
                now += 10 * US;
            }
            now = now.max(due.pop_front().unwrap_or(now));
            balance.response(1, now, true, 0);
            left += 1;
            now += 10 * US;
        }
        while due.pop_front().is_some() {
            balance.response(1, now + 1_000 * US, true, 0);
        }
        (balance, now + 1_000 * US)
    }

    /// The same as a capture beside the server sees it, which answers at once, a round trip of 12 ms from the client.
    fn far_reads(wanted: usize, credits: u16) -> Credits {
        const TRIP: i64 = 12_000 * US;
        let mut balance = Balance::default();
        balance.request(1, 0, true);
        balance.response(credits, 100 * US, true, TRIP.unsigned_abs());
        // When requests arrive that the client may send: as many as it wants, and has credits for.
        let first = 100 * US + TRIP;
        let mut due: VecDeque<i64> =
            (0..wanted.min(usize::from(credits)) as i64).map(|at| first + at * 20 * US).collect();
        for _ in 0..2_000 {
            let now = due.pop_front().unwrap();
            balance.request(1, now, true);
            balance.response(1, now + 100 * US, true, TRIP.unsigned_abs());
            due.push_back(now + 150 * US + TRIP);
        }
        balance.found()
    }

    #[test]
    fn credits_that_a_far_client_lacks_are_seen_at_the_server() {
        let few = far_reads(32, 8);
        assert!(few.waits > 200 && few.wait_ns > few.busy_ns / 2, "{few:?}");
        assert_eq!(far_reads(8, 64).waits, 0, "there are more");
        assert_eq!(far_reads(1, 8).waits, 0, "one at a time");
    }

    #[test]
    fn idle_time_hides_no_wait_for_credits() {
        let (mut balance, now) = after_reads(16, 4);
        let busy = balance.found();
        let later = now + 3_600_000_000 * US;
        balance.request(1, later, true);
        balance.response(1, later + 50 * US, true, 0);
        let found = balance.found();
        assert!(found.waits > 900 && found.busy_ns < busy.busy_ns + 1_000_000, "{found:?}");
    }

    #[test]
    fn a_client_waits_for_credits_that_uses_all_of_them() {
        let few = reads(16, 4);
        assert!(few.waits > 900, "{few:?}");
        assert!(few.wait_ns > few.busy_ns / 2, "{few:?}");
        assert_eq!(reads(4, 64).waits, 0, "there are more");
        assert_eq!(reads(1, 1).waits, 0, "one at a time waits for its answer");
        // A few requests, then nothing for long.
        let mut idle = Balance::default();
        idle.request(1, 0, true);
        idle.response(2, US, true, 0);
        [0, 1, 1_000, 1_001].into_iter().for_each(|us| idle.request(1, us * US, true));
        assert_eq!(idle.found(), Credits::default());
        // A large request lacks credits, and after a long pause small ones do not.
        let mut large = Balance::default();
        large.request(1, 0, true);
        large.response(20, US, true, 0);
        [2, 3].into_iter().for_each(|us| large.request(10, us * US, true));
        [4, 5].into_iter().for_each(|us| large.response(1, us * US, true, 0));
        large.request(1, 3_600_000_000 * US, true);
        large.response(1, 3_600_000_001 * US, true, 0);
        large.request(1, 3_600_000_002 * US, true);
        assert_eq!((large.found.waits, large.found.wait_ns), (0, 0), "{large:?}");
        let mut unseen = Balance::default();
        unseen.request(1, 0, false);
        assert_eq!(unseen.found(), Credits::default());
    }
}
