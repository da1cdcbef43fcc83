//! Breaks counted by client, share and states, and the time until they are acknowledged.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{CachingRight, Coverage, LeaseBreaks, Symbol};
use plimsoll_wire::smb2::create::{OPLOCK_BATCH, OPLOCK_EXCLUSIVE, OPLOCK_II};
use plimsoll_wire::smb2::oplock_break::Captured;
use serde::{Deserialize, Serialize};

use super::rights::{Right, RightId};

/// Breaks without an acknowledgement that are remembered.
const OUTSTANDING_MAX: usize = 16_384;

/// A break that its client is to acknowledge.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Outstanding {
    kind: usize,
    at_ns: i64,
    is_closed: bool,
}

/// The breaks by kind.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Kinds {
    kinds: Vec<LeaseBreaks>,
    outstanding: HashMap<RightId, Outstanding>,
}

impl Kinds {
    /// The server breaks the lease or oplock of that id, which is known to be that right. Returns the kind; `None` if there are too many.
    pub(super) fn notified(
        &mut self,
        (id, right): (Option<RightId>, Option<Right>),
        client: IpAddr,
        at_ns: i64,
        broken: &Captured,
    ) -> Option<usize> {
        let (from, to) = states(broken, right);
        let share = right.map_or(Symbol::NONE, |right| right.share);
        // Servers grant oplocks of files only.
        let is_directory = right.and_then(|right| right.is_directory).or(broken.is_oplock.then_some(false));
        let kind = self.kind(LeaseBreaks::of(client, share, is_directory, from, to))?;
        let of_kind = self.kinds.get_mut(kind)?;
        of_kind.notified += 1;
        let has_room = self.outstanding.len() < OUTSTANDING_MAX;
        if let Some(id) = id.filter(|_| has_room && demands(broken, from, to) == Some(true)) {
            let before = self.outstanding.insert(id, Outstanding { kind, at_ns, is_closed: false });
            // The server sends another break of the same lease only after the first was answered: that answer was not captured.
            let unknown = before.filter(|before| !before.is_closed);
            if let Some(before) = unknown.and_then(|before| self.kinds.get_mut(before.kind)) {
                before.unanswered -= 1;
            }
            self.kinds.get_mut(kind)?.unanswered += 1;
        }
        Some(kind)
    }

    /// A client acknowledges the break of that id. Returns whether one is known.
    pub(super) fn acknowledged(&mut self, id: &RightId, at_ns: i64) -> bool {
        let Some(one) = self.outstanding.remove(id) else { return false };
        let Some(of_kind) = self.kinds.get_mut(one.kind) else { return false };
        let waited_ns = at_ns.saturating_sub(one.at_ns).max(0).unsigned_abs();
        *if one.is_closed { &mut of_kind.closed } else { &mut of_kind.unanswered } -= 1;
        of_kind.acknowledged += 1;
        of_kind.acknowledged_ns = of_kind.acknowledged_ns.saturating_add(waited_ns);
        of_kind.longest_ns = of_kind.longest_ns.max(waited_ns);
        true
    }

    /// A client closes a file of that id.
    pub(super) fn closed(&mut self, id: &RightId) {
        let Some(one) = self.outstanding.get_mut(id).filter(|one| !one.is_closed) else { return };
        one.is_closed = true;
        if let Some(of_kind) = self.kinds.get_mut(one.kind) {
            of_kind.unanswered -= 1;
            of_kind.closed += 1;
        }
    }

    /// An operation waited for a break of that kind.
    pub(super) fn waited(&mut self, kind: usize, wait_ns: u64) {
        if let Some(of_kind) = self.kinds.get_mut(kind) {
            of_kind.waits += 1;
            of_kind.wait_ns = of_kind.wait_ns.saturating_add(wait_ns);
        }
    }

    /// The kinds.
    pub(super) fn finish(self) -> Vec<LeaseBreaks> {
        self.kinds
    }

    fn kind(&mut self, new: LeaseBreaks) -> Option<usize> {
        let known = self.kinds.iter().position(|one| one.is_like(&new));
        if known.is_none() && self.kinds.len() < Coverage::LEASE_BREAKS {
            self.kinds.push(new);
            return Some(self.kinds.len() - 1);
        }
        known
    }
}

/// The states before and after. The notification of an oplock has only the state after.
pub(super) fn states(broken: &Captured, right: Option<Right>) -> (Option<CachingRight>, Option<CachingRight>) {
    if broken.is_oplock {
        let level = broken.to.and_then(|level| u8::try_from(level).ok());
        return (right.map(|right| right.state), level.map(CachingRight::Oplock));
    }
    (broken.from.map(CachingRight::Lease), broken.to.map(CachingRight::Lease))
}

/// Whether the client has to acknowledge: a lease says so; an oplock, if it was exclusive or batch (MS-SMB2 3.2.5.19.1), and only such a
/// one is broken to level II.
fn demands(broken: &Captured, from: Option<CachingRight>, to: Option<CachingRight>) -> Option<bool> {
    if !broken.is_oplock {
        return broken.acknowledge;
    }
    match (from, to) {
        (Some(CachingRight::Oplock(level)), _) => Some(matches!(level, OPLOCK_EXCLUSIVE | OPLOCK_BATCH)),
        (_, Some(CachingRight::Oplock(OPLOCK_II))) => Some(true),
        _ => None,
    }
}
