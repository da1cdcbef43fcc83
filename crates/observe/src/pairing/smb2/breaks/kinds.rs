//! Breaks counted by client, share and states, and the time until they are acknowledged.

use std::net::IpAddr;

use plimsoll_model::{CachingRight, Coverage, LeaseBreaks, Symbol};
use plimsoll_wire::smb2::create::{OPLOCK_BATCH, OPLOCK_EXCLUSIVE, OPLOCK_II};
use plimsoll_wire::smb2::oplock_break::Captured;
use serde::{Deserialize, Serialize};

use super::outstanding::{Found, Outstanding, Table};
use super::rights::{Key, Place, Right, RightId};
use crate::recent::Recent;

/// Keys of breaks without a demand in a generation.
const NEEDLESS: usize = 8_192;

/// What is known of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acknowledged {
    /// It is of the break of that place.
    Of(Place),
    /// It is of a captured break that demanded none.
    Needless,
    /// No captured break demanded it.
    Unsolicited,
    /// A break may have demanded it that is not known any more, or not known enough.
    Unknown,
}

/// The breaks by kind.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Kinds {
    kinds: Vec<LeaseBreaks>,
    outstanding: Table,
    /// The keys of breaks that demand no acknowledgement.
    needless: Recent<Key, (), NEEDLESS>,
    /// Breaks were forgotten or replaced, or captured without a key.
    is_incomplete: bool,
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
        let kind = self.kind(LeaseBreaks::of(client, share, is_directory, from, to));
        self.of(kind, |one| one.notified += 1);
        let demands = demands(broken, from, to);
        self.is_incomplete |= id.is_none();
        if let Some((key, _)) = id.filter(|_| demands == Some(false)) {
            self.needless.insert(key, ());
        }
        if let Some(id) = id.filter(|_| demands != Some(false)) {
            let one = Outstanding::new(kind, at_ns, demands == Some(true));
            if one.is_demanded {
                self.of(kind, |one| one.unanswered += 1);
            }
            let (before, dropped) = self.outstanding.insert(id, one);
            // The server sends another break of the same lease only after the first was answered: that answer was not captured.
            before.into_iter().for_each(|before| self.forget(&before));
            dropped.into_iter().for_each(|dropped| self.forget(&dropped));
            self.is_incomplete |= dropped.is_some() || before.is_some_and(|before| !before.is_closed);
        }
        kind
    }

    /// A client acknowledges the break of that id.
    pub(super) fn acknowledged(&mut self, id: &RightId, at_ns: i64) -> Acknowledged {
        match self.outstanding.take(id) {
            Found::One(place, one) => {
                let waited_ns = at_ns.saturating_sub(one.at_ns).max(0).unsigned_abs();
                self.of(one.kind, |of_kind| {
                    of_kind.unanswered -= u64::from(one.is_unanswered());
                    of_kind.closed -= u64::from(one.is_demanded && one.is_closed);
                    of_kind.acknowledged += 1;
                    of_kind.acknowledged_ns = of_kind.acknowledged_ns.saturating_add(waited_ns);
                    of_kind.longest_ns = of_kind.longest_ns.max(waited_ns);
                });
                Acknowledged::Of(place)
            }
            Found::Doubtful(all) => {
                all.iter().for_each(|one| self.forget(one));
                self.is_incomplete = true;
                Acknowledged::Unknown
            }
            Found::Nothing if self.needless.get(&id.0).is_some() => Acknowledged::Needless,
            Found::Nothing if self.is_incomplete => Acknowledged::Unknown,
            Found::Nothing => Acknowledged::Unsolicited,
        }
    }

    /// A client closes a file of that id.
    pub(super) fn closed(&mut self, id: &RightId) {
        let Some(one) = self.outstanding.close(id).filter(|one| one.is_demanded) else { return };
        self.of(one.kind, |of_kind| {
            of_kind.unanswered -= 1;
            of_kind.closed += 1;
        });
    }

    /// It will not be known whether the client answers.
    fn forget(&mut self, one: &Outstanding) {
        self.of(one.kind, |of_kind| of_kind.unanswered -= u64::from(one.is_unanswered()));
    }

    fn of(&mut self, kind: Option<usize>, change: impl FnOnce(&mut LeaseBreaks)) {
        if let Some(of_kind) = kind.and_then(|kind| self.kinds.get_mut(kind)) {
            change(of_kind);
        }
    }

    /// An operation waited for a break of that kind.
    pub(super) fn waited(&mut self, kind: usize, wait_ns: u64) {
        self.of(Some(kind), |of_kind| {
            of_kind.waits += 1;
            of_kind.wait_ns = of_kind.wait_ns.saturating_add(wait_ns);
        });
    }

    /// The kinds. A client may have acknowledged a break in a later message that cannot be read; `unread_ns` tells when it last sent one.
    pub(super) fn finish(mut self, unread_ns: impl Fn(IpAddr) -> Option<i64>) -> Vec<LeaseBreaks> {
        let may_be_answered = |client, one: &Outstanding| unread_ns(client).is_some_and(|ns| ns >= one.at_ns);
        let all = self.outstanding.iter().filter(|((_, (_, client)), one)| may_be_answered(*client, one));
        let unknown: Vec<Outstanding> = all.map(|(_, one)| *one).collect();
        unknown.iter().for_each(|one| self.forget(one));
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
pub(super) fn demands(broken: &Captured, from: Option<CachingRight>, to: Option<CachingRight>) -> Option<bool> {
    if !broken.is_oplock {
        return broken.acknowledge;
    }
    match (from, to) {
        (Some(CachingRight::Oplock(level)), _) => Some(matches!(level, OPLOCK_EXCLUSIVE | OPLOCK_BATCH)),
        (_, Some(CachingRight::Oplock(OPLOCK_II))) => Some(true),
        _ => None,
    }
}
