//! The state of clients: opens with share reservations, and locks. A state ID has the number of its state.
//!
//! Spec: RFC 8881 8.2, RFC 8881 9

mod delegations;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use plimsoll_wire::nfs::v4::StateId;

use super::clients::Client;
use super::ranges::{Range, Ranges, Span};
use super::status::{Done, Status};
use crate::memory::Node;
use delegations::Delegation;
#[cfg(test)]
pub(super) use delegations::TIME_TO_RETURN;
pub(super) use delegations::{Recall, Refusal};

/// Bits of a share reservation.
pub(super) const READ: u32 = 1;
pub(super) const WRITE: u32 = 2;
/// Opens and lock owners of all clients, at most.
const MOST: usize = 1 << 20;
/// Locks of one file, at most: each request looks at all of them.
const MOST_RANGES: usize = 4096;

/// An owner of a client, with a file: at most one state of each kind belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    client: u64,
    owner: Arc<[u8]>,
    node: u64,
    class: Class,
}

/// The kinds of state of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Class {
    Open,
    Locks,
    /// Its owner is the client.
    Delegation,
}

/// An open, or the locks of an owner.
#[derive(Debug)]
pub(super) struct State {
    pub(super) client: Arc<Client>,
    pub(super) owner: Arc<[u8]>,
    pub(super) node: Arc<Node>,
    sequence: u32,
    pub(super) kind: Kind,
}

/// Which state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// What the owner may do (bits of share_access), and what others may not.
    Open(Share),
    /// Locks that belong to the open with this number.
    Locks(u64),
    /// A read delegation.
    Delegation(Delegation),
}

/// A share reservation: bit 0 is reading, bit 1 writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) access: u32,
    pub(super) deny: u32,
}

impl Share {
    fn excludes(self, other: Self) -> bool {
        self.access & other.deny != 0 || self.deny & other.access != 0
    }
}

/// A file that is open.
#[derive(Debug)]
struct File {
    node: Arc<Node>,
    opens: Vec<u64>,
    delegations: Vec<u64>,
    /// Owners with locks.
    lockers: Vec<u64>,
    ranges: Ranges,
}

/// Whose lock is in the way.
#[derive(Debug)]
pub(super) struct Holder {
    pub(super) range: Range,
    pub(super) client: u64,
    pub(super) owner: Arc<[u8]>,
}

/// All state.
#[derive(Debug, Default)]
pub(super) struct Opens {
    states: HashMap<u64, State>,
    keys: HashMap<Key, u64>,
    files: HashMap<u64, File>,
    /// When delegations of a file were recalled, seconds after the server's start.
    recalled: HashMap<u64, u32>,
    last: u64,
}

impl State {
    fn key(&self) -> Key {
        let class = match self.kind {
            Kind::Open(_) => Class::Open,
            Kind::Locks(_) => Class::Locks,
            Kind::Delegation(_) => Class::Delegation,
        };
        Key { client: self.client.id, owner: Arc::clone(&self.owner), node: self.node.id(), class }
    }

    fn next(&mut self, number: u64) -> StateId {
        // 0 would mean "the latest".
        self.sequence = self.sequence.checked_add(1).unwrap_or(1);
        self.id(number)
    }

    fn id(&self, number: u64) -> StateId {
        let mut other = [0; 12];
        if let Some(place) = other.first_chunk_mut() {
            *place = number.to_be_bytes();
        }
        StateId { sequence: self.sequence, other }
    }
}

impl Opens {
    /// The node of a file that is open.
    pub(super) fn node(&self, id: u64) -> Option<Arc<Node>> {
        self.files.get(&id).map(|file| Arc::clone(&file.node))
    }

    /// Opens a file, or extends what its owner has open already.
    pub(super) fn open(&mut self, client: &Arc<Client>, owner: &[u8], node: &Arc<Node>, share: Share) -> Done<StateId> {
        let key = Key { client: client.id, owner: owner.into(), node: node.id(), class: Class::Open };
        let own = self.keys.get(&key).copied();
        if self.opens_of(node.id()).any(|(number, other)| Some(number) != own && other.excludes(share)) {
            return Err(Status::SHARE_DENIED);
        }
        if let Some(number) = own
            && let Some(State { kind: Kind::Open(had), .. }) = self.states.get_mut(&number)
        {
            *had = Share { access: had.access | share.access, deny: had.deny | share.deny };
            return self.next(number);
        }
        let number = self.insert(client, key, node, Kind::Open(share))?;
        let new = || {
            let (node, ranges) = (Arc::clone(node), Ranges::default());
            File { node, opens: Vec::new(), delegations: Vec::new(), lockers: Vec::new(), ranges }
        };
        self.files.entry(node.id()).or_insert_with(new).opens.push(number);
        self.next(number)
    }

    fn insert(&mut self, client: &Arc<Client>, key: Key, node: &Arc<Node>, kind: Kind) -> Done<u64> {
        if client.gone.load(Ordering::Relaxed) {
            return Err(Status::BADSESSION);
        }
        if self.states.len() >= MOST {
            return Err(Status::DELAY);
        }
        self.last += 1;
        client.states.fetch_add(1, Ordering::Relaxed);
        let (owner, client, node) = (Arc::clone(&key.owner), Arc::clone(client), Arc::clone(node));
        self.states.insert(self.last, State { client, owner, node, sequence: 0, kind });
        self.keys.insert(key, self.last);
        Ok(self.last)
    }

    fn next(&mut self, number: u64) -> Done<StateId> {
        self.states.get_mut(&number).map(|state| state.next(number)).ok_or(Status::BAD_STATEID)
    }

    fn opens_of(&self, node: u64) -> impl Iterator<Item = (u64, Share)> {
        let opens = self.files.get(&node).map_or(&[][..], |file| &file.opens);
        opens.iter().filter_map(|number| match self.states.get(number)?.kind {
            Kind::Open(share) => Some((*number, share)),
            Kind::Locks(_) | Kind::Delegation(_) => None,
        })
    }

    /// Whether an open denies this access to requests that belong to no open.
    pub(super) fn denies(&self, node: u64, access: u32) -> bool {
        self.opens_of(node).any(|(_, share)| share.deny & access != 0)
    }

    pub(super) fn find(&self, client: u64, id: StateId) -> Done<(u64, &State)> {
        let number = number(id).ok_or(Status::BAD_STATEID)?;
        let state = self.states.get(&number).filter(|state| state.client.id == client).ok_or(Status::BAD_STATEID)?;
        match id.sequence {
            0 => Ok((number, state)),
            sequence if sequence == state.sequence => Ok((number, state)),
            sequence if sequence < state.sequence => Err(Status::OLD_STATEID),
            _ => Err(Status::BAD_STATEID),
        }
    }

    /// The share of the open that a state is, or belongs to.
    pub(super) fn share(&self, state: &State) -> Share {
        match state.kind {
            Kind::Open(share) => share,
            Kind::Locks(open) => match self.states.get(&open).map(|open| open.kind) {
                Some(Kind::Open(share)) => share,
                _ => Share { access: 0, deny: 0 },
            },
            Kind::Delegation(_) => Share { access: READ, deny: 0 },
        }
    }

    /// OPEN_DOWNGRADE: to a part of what it has.
    pub(super) fn downgrade(&mut self, number: u64, share: Share) -> Done<StateId> {
        match self.states.get_mut(&number).map(|state| &mut state.kind) {
            Some(Kind::Open(had)) if share.access & !had.access == 0 && share.deny & !had.deny == 0 => *had = share,
            Some(Kind::Open(_)) => return Err(Status::INVAL),
            _ => return Err(Status::BAD_STATEID),
        }
        self.next(number)
    }

    /// CLOSE: the open goes, and its locks.
    pub(super) fn close(&mut self, number: u64) {
        let belongs = |state: &State| state.kind == Kind::Locks(number);
        let node = self.states.get(&number).map(|state| state.node.id());
        let Some(file) = node.and_then(|node| self.files.get_mut(&node)) else { return };
        file.opens.retain(|open| *open != number);
        // Only a file with locks has states that belong to its opens.
        let mut gone = vec![number];
        if !file.lockers.is_empty() {
            gone.extend(file.lockers.iter().filter(|locks| self.states.get(locks).is_some_and(belongs)));
            file.lockers.retain(|locks| !gone.contains(locks));
            gone.iter().for_each(|&locks| file.ranges.forget(locks));
        }
        node.into_iter().for_each(|node| self.drop_unused(node));
        gone.into_iter().for_each(|number| self.remove(number));
    }

    fn drop_unused(&mut self, node: u64) {
        if self.files.get(&node).is_some_and(|file| file.opens.is_empty() && file.delegations.is_empty()) {
            self.files.remove(&node);
        }
    }

    fn remove(&mut self, number: u64) {
        if let Some(state) = self.states.remove(&number) {
            self.keys.remove(&state.key());
            state.client.states.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Everything of a client goes.
    pub(super) fn forget(&mut self, client: &Client) {
        // Most have nothing: then the states of all others need not be searched.
        if client.states.load(Ordering::Relaxed) == 0 {
            return;
        }
        let is_open = |state: &State| state.client.id == client.id && matches!(state.kind, Kind::Open(_));
        let opens: Vec<u64> =
            self.states.iter().filter(|(_, state)| is_open(state)).map(|(&number, _)| number).collect();
        opens.into_iter().for_each(|number| self.close(number));
        self.delegations_of(client.id).into_iter().for_each(|number| self.drop_delegation(number));
    }

    /// LOCK by an owner: of an open (`Kind::Open`), or one that has locks of the file already.
    pub(super) fn lock(&mut self, from: u64, owner: Option<&[u8]>, span: Span, exclusive: bool) -> Done<StateId> {
        let state = self.states.get(&from).ok_or(Status::BAD_STATEID)?;
        let (client, node) = (Arc::clone(&state.client), Arc::clone(&state.node));
        let locks = match owner {
            None => Some(from),
            Some(owner) => self.locks_of(client.id, owner, node.id()),
        };
        let file = self.files.get(&node.id()).ok_or(Status::BAD_STATEID)?;
        if file.ranges.conflict(span, exclusive, locks).is_some() {
            return Err(Status::DENIED);
        }
        // Locking and unlocking in the middle of a lock adds two, at most.
        if file.ranges.len() + 2 > MOST_RANGES {
            return Err(Status::DELAY);
        }
        let number = match (locks, owner) {
            (Some(number), _) => number,
            (None, Some(owner)) => {
                let key = Key { client: client.id, owner: owner.into(), node: node.id(), class: Class::Locks };
                self.insert(&client, key, &node, Kind::Locks(from))?
            }
            (None, None) => return Err(Status::BAD_STATEID),
        };
        if let Some(file) = self.files.get_mut(&node.id()) {
            file.ranges.lock(span, exclusive, number);
            if !file.lockers.contains(&number) {
                file.lockers.push(number);
            }
        }
        self.next(number)
    }

    /// LOCKU.
    pub(super) fn unlock(&mut self, number: u64, span: Span) -> Done<StateId> {
        let state = self.states.get(&number).filter(|state| matches!(state.kind, Kind::Locks(_)));
        let node = state.map(|state| state.node.id()).ok_or(Status::BAD_STATEID)?;
        let file = self.files.get_mut(&node).ok_or(Status::BAD_STATEID)?;
        if file.ranges.len() + 1 > MOST_RANGES && file.ranges.splits(span, number) {
            return Err(Status::DELAY);
        }
        file.ranges.unlock(span, number);
        self.next(number)
    }

    /// FREE_STATEID: only of an owner that has no locks left.
    pub(super) fn free(&mut self, number: u64) -> Done {
        let state = self.states.get(&number).ok_or(Status::BAD_STATEID)?;
        if let Kind::Delegation(delegation) = state.kind {
            return self.free_delegation(number, delegation);
        }
        let file = self.files.get_mut(&state.node.id()).ok_or(Status::BAD_STATEID)?;
        if matches!(state.kind, Kind::Open(_)) || file.ranges.has(number) {
            return Err(Status::LOCKS_HELD);
        }
        file.lockers.retain(|locks| *locks != number);
        self.remove(number);
        Ok(())
    }

    /// The locks that an owner has of a file.
    pub(super) fn locks_of(&self, client: u64, owner: &[u8], node: u64) -> Option<u64> {
        self.keys.get(&Key { client, owner: owner.into(), node, class: Class::Locks }).copied()
    }

    /// Whose lock excludes this one.
    pub(super) fn holder(&self, node: u64, span: Span, exclusive: bool, own: Option<u64>) -> Option<Holder> {
        let range = self.files.get(&node)?.ranges.conflict(span, exclusive, own)?;
        let state = self.states.get(&range.state)?;
        Some(Holder { range, client: state.client.id, owner: Arc::clone(&state.owner) })
    }
}

/// The number of the state in an ID; `None` of special IDs and of those that this server did not give.
fn number(id: StateId) -> Option<u64> {
    let (number, rest) = id.other.split_first_chunk::<8>()?;
    (rest == [0; 4]).then(|| u64::from_be_bytes(*number))
}
