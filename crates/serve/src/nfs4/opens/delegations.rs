//! Read delegations: granted, recalled, returned, and revoked if the client does not return them in time.
//!
//! Time passes for a delegation when another client asks for the file again: there is no timer.
//!
//! Spec: RFC 8881 10.4, RFC 8881 10.2.1

use std::sync::Arc;
use std::sync::atomic::Ordering;

use plimsoll_wire::nfs::v4::StateId;

use super::{Class, Key, Kind, Opens, State, WRITE};
use crate::memory::Node;
use crate::nfs4::clients::{Client, LEASE};
use crate::nfs4::status::{Done, Status};

/// Seconds between a recall and the revocation of a delegation that the client has not returned.
pub(in crate::nfs4) const TIME_TO_RETURN: u32 = 10;
/// Seconds between two recalls of a delegation, if the client has not confirmed the first one.
const BETWEEN_RECALLS: u32 = 1;
/// Seconds after a recall in which no client gets a delegation of the file, so that the client that waits comes first. Clients wait up to 15 s
/// before they ask again.
const PAUSE: u32 = 20;
/// Number of recently recalled files that are remembered, at most; above it, the oldest are dropped.
const MOST_RECALLED: usize = 4_096;

/// What became of a delegation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::nfs4) struct Delegation {
    /// When another client asked for the file first, seconds after the server's start.
    wanted: Option<u32>,
    /// When a recall was sent, and when for the last time.
    recalled: Option<(u32, u32)>,
    /// The client has confirmed the recall.
    confirmed: bool,
    /// The client can only free it.
    revoked: bool,
}

/// A recall to send.
#[derive(Clone, Debug)]
pub(in crate::nfs4) struct Recall {
    pub(in crate::nfs4) client: Arc<Client>,
    pub(in crate::nfs4) node: Arc<Node>,
    pub(in crate::nfs4) state: StateId,
    /// The number of the state.
    pub(in crate::nfs4) number: u64,
}

/// Why there is no delegation (`why_no_delegation4`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::nfs4) enum Refusal {
    /// WND4_CONTENTION: another client writes the file, or waits for it.
    Contention = 1,
    /// WND4_RESOURCE: the client has one, or the server has no room.
    Resource = 2,
}

impl Opens {
    /// Grants a read delegation of a file that this client has open.
    pub(in crate::nfs4) fn delegate(
        &mut self,
        client: &Arc<Client>,
        node: &Arc<Node>,
        now: u32,
    ) -> Result<StateId, Refusal> {
        let recent = |at: &u32| now.saturating_sub(*at) < PAUSE;
        let file = self.files.get(&node.id()).ok_or(Refusal::Resource)?;
        let writes = |number: &u64| {
            let state = self.states.get(number);
            state.is_some_and(|state| state.client.id != client.id && self.share(state).access & WRITE != 0)
        };
        let is_recalled = |number: &u64| self.states.get(number).is_some_and(State::is_recalled);
        let is_wanted = self.recalled.get(&node.id()).is_some_and(recent) || file.delegations.iter().any(is_recalled);
        if is_wanted || file.opens.iter().any(writes) {
            return Err(Refusal::Contention);
        }
        let key = Key { client: client.id, owner: [].into(), node: node.id(), class: Class::Delegation };
        if self.keys.contains_key(&key) {
            return Err(Refusal::Resource);
        }
        let number = self.insert(client, key, node, Kind::Delegation(Delegation::default()));
        let number = number.map_err(|_| Refusal::Resource)?;
        self.files.get_mut(&node.id()).into_iter().for_each(|file| file.delegations.push(number));
        self.next(number).map_err(|_| Refusal::Resource)
    }

    /// Whether no other client has a delegation of this file.
    pub(in crate::nfs4) fn is_free(&self, node: u64, client: Option<u64>) -> bool {
        let held = self.files.get(&node).map_or(&[][..], |file| &file.delegations);
        held.iter().all(|number| self.states.get(number).is_none_or(|state| Some(state.client.id) == client))
    }

    /// Recalls the delegations that other clients have of a file. Fails with DELAY until they are returned or revoked.
    pub(in crate::nfs4) fn recall(
        &mut self,
        node: u64,
        client: Option<u64>,
        now: u32,
        calls: &mut Vec<Recall>,
    ) -> Done {
        if self.is_free(node, client) {
            return Ok(());
        }
        let held = self.files.get(&node).map(|file| file.delegations.clone()).unwrap_or_default();
        let mut waits = false;
        for number in held {
            let Some(state) = self.states.get_mut(&number).filter(|state| Some(state.client.id) != client) else {
                continue;
            };
            let Kind::Delegation(delegation) = &mut state.kind else { continue };
            let wanted = *delegation.wanted.get_or_insert(now);
            if delegation.is_late(wanted, now) {
                delegation.revoked = true;
                state.client.revoked.fetch_add(1, Ordering::Relaxed);
                self.forget_delegation(node, number);
                continue;
            }
            if delegation.is_due(now) {
                let (client, node) = (Arc::clone(&state.client), Arc::clone(&state.node));
                calls.push(Recall { client, node, state: state.id(number), number });
            }
            waits = true;
        }
        self.remember_recall(node, now);
        if waits { Err(Status::DELAY) } else { Ok(()) }
    }

    fn remember_recall(&mut self, node: u64, now: u32) {
        if self.recalled.len() >= MOST_RECALLED && !self.recalled.contains_key(&node) {
            self.recalled.retain(|_, at| now.saturating_sub(*at) < PAUSE);
            if self.recalled.len() >= MOST_RECALLED {
                let oldest = self.recalled.iter().min_by_key(|(node, at)| (**at, **node)).map(|(&node, _)| node);
                if let Some(oldest) = oldest {
                    self.recalled.remove(&oldest);
                }
            }
        }
        self.recalled.insert(node, now);
    }

    /// A recall was sent to the client.
    pub(in crate::nfs4) fn recall_sent(&mut self, number: u64, now: u32) {
        if let Some(State { kind: Kind::Delegation(delegation), .. }) = self.states.get_mut(&number) {
            delegation.recalled = Some((delegation.recalled.map_or(now, |(first, _)| first), now));
        }
    }

    /// The client has confirmed a recall.
    pub(in crate::nfs4) fn confirm_recall(&mut self, number: u64) {
        if let Some(State { kind: Kind::Delegation(delegation), .. }) = self.states.get_mut(&number) {
            delegation.confirmed = true;
        }
    }

    /// DELEGRETURN: of a revoked one it fails, so that the client frees it.
    pub(in crate::nfs4) fn return_delegation(&mut self, number: u64) -> Done {
        let state = self.states.get(&number).ok_or(Status::BAD_STATEID)?;
        if state.is_revoked() {
            return Err(Status::DELEG_REVOKED);
        }
        self.drop_delegation(number);
        Ok(())
    }

    /// Removes a delegation.
    pub(super) fn drop_delegation(&mut self, number: u64) {
        if let Some(node) = self.states.get(&number).map(|state| state.node.id()) {
            self.forget_delegation(node, number);
        }
        self.remove(number);
    }

    /// FREE_STATEID of a delegation: only of a revoked one.
    pub(super) fn free_delegation(&mut self, number: u64, delegation: Delegation) -> Done {
        if !delegation.revoked {
            return Err(Status::LOCKS_HELD);
        }
        if let Some(state) = self.states.get(&number) {
            state.client.revoked.fetch_sub(1, Ordering::Relaxed);
        }
        self.remove(number);
        Ok(())
    }

    /// The delegations of a client, revoked ones as well.
    pub(super) fn delegations_of(&self, client: u64) -> Vec<u64> {
        let is = |state: &State| state.client.id == client && matches!(state.kind, Kind::Delegation(_));
        self.states.iter().filter(|(_, state)| is(state)).map(|(&number, _)| number).collect()
    }

    fn forget_delegation(&mut self, node: u64, number: u64) {
        self.files.get_mut(&node).into_iter().for_each(|file| file.delegations.retain(|held| *held != number));
        self.drop_unused(node);
    }
}

impl Delegation {
    /// Whether it is revoked now: the client has not returned it in time, or could not be called for as long as its lease.
    fn is_late(&self, wanted: u32, now: u32) -> bool {
        match self.recalled {
            Some((first, _)) => now.saturating_sub(first) > TIME_TO_RETURN,
            None => now.saturating_sub(wanted) > LEASE,
        }
    }

    /// Whether it is recalled now, perhaps again.
    fn is_due(&self, now: u32) -> bool {
        self.recalled.is_none_or(|(_, last)| !self.confirmed && now.saturating_sub(last) >= BETWEEN_RECALLS)
    }
}

impl State {
    /// Whether it is a delegation of a file for which another client waits.
    fn is_recalled(&self) -> bool {
        matches!(self.kind, Kind::Delegation(Delegation { wanted: Some(_), .. }))
    }

    /// Whether it is a delegation that was revoked.
    pub(in crate::nfs4) fn is_revoked(&self) -> bool {
        matches!(self.kind, Kind::Delegation(Delegation { revoked: true, .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_recalls_are_forgotten_first() {
        let mut opens = Opens::default();
        let most = MOST_RECALLED as u64;
        (0..most).for_each(|node| opens.remember_recall(node, u32::from(node > 0)));
        opens.remember_recall(5, 2);
        assert_eq!((opens.recalled.len(), opens.recalled.get(&5)), (MOST_RECALLED, Some(&2)), "it had a place");
        opens.remember_recall(most, 2);
        assert_eq!(
            (opens.recalled.len(), opens.recalled.get(&0), opens.recalled.get(&1)),
            (MOST_RECALLED, None, Some(&1))
        );
        opens.remember_recall(most + 1, 1 + PAUSE);
        let mut left: Vec<u64> = opens.recalled.into_keys().collect();
        left.sort_unstable();
        assert_eq!(left, [5, most, most + 1]);
    }
}
