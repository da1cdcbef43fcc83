//! Leases and oplocks that clients hold, known from the responses to their opens.
//!
//! Spec: MS-SMB2 2.2.14, 2.2.14.2.10

use std::net::IpAddr;

use plimsoll_model::{CachingRight, Symbol};
use plimsoll_wire::smb2::compound::Member;
use plimsoll_wire::smb2::create;
use serde::{Deserialize, Serialize};

use crate::recent::Recent;

/// Entries of a generation, some 100 bytes each.
const GENERATION: usize = 32_768;

/// The file id of an oplock (true), or the key of a lease.
pub(super) type Key = (bool, [u8; 16]);
/// A server and its client.
pub(super) type Place = (IpAddr, IpAddr);
/// The id of an oplock or a lease.
pub(super) type RightId = (Key, Place);

/// A lease or oplock that was granted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Right {
    pub(super) share: Symbol,
    pub(super) path: Symbol,
    pub(super) is_directory: Option<bool>,
    pub(super) state: CachingRight,
}

impl Right {
    fn is_of_same(&self, other: &Self) -> bool {
        (self.share, self.path) == (other.share, other.path)
    }
}

/// The leases and oplocks that were granted last.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Rights {
    granted: Recent<RightId, Right, GENERATION>,
    /// Where those of a key were granted last; `None` if there are several of that key.
    places: Recent<Key, Option<Place>, GENERATION>,
    /// The lease keys of handles.
    leases: Recent<(IpAddr, [u8; 16]), [u8; 16], GENERATION>,
}

impl Rights {
    /// A client opened a file.
    pub(super) fn opened(&mut self, place: Place, (share, path): (Symbol, Symbol), member: &Member<'_>) {
        let Some(response) = create::Response::new(member.bytes) else { return };
        let (Some(level), Some(handle)) = (response.oplock_level(), response.file_id()) else { return };
        let (id, state) = match level {
            create::OPLOCK_NONE => return,
            create::OPLOCK_LEASE => {
                // Anonymised captures had no keys once.
                let Some(lease) = response.lease().filter(|lease| lease.key != [0; 16]) else { return };
                self.leases.insert((place.0, handle.0), lease.key);
                (((false, lease.key), place), CachingRight::Lease(lease.state))
            }
            level => (((true, handle.0), place), CachingRight::Oplock(level)),
        };
        let right = Right { share, path, is_directory: response.is_directory(), state };
        let is_another = |last: &Place| {
            *last != place && self.granted.get(&(id.0, *last)).is_some_and(|other| !other.is_of_same(&right))
        };
        let is_ambiguous = self.places.get(&id.0).is_some_and(|last| last.as_ref().is_none_or(is_another));
        self.places.insert(id.0, (!is_ambiguous).then_some(place));
        self.granted.insert(id, right);
    }

    /// The lease or oplock of this id: granted over this connection's addresses, or over others of the same client and server, as far as
    /// the key tells.
    pub(super) fn of(&self, id: &RightId) -> Option<Right> {
        self.granted.get(id).or_else(|| self.granted.get(&self.elsewhere(id)?))
    }

    fn elsewhere(&self, &(key, (server, client)): &RightId) -> Option<RightId> {
        let place = self.places.get(&key)??;
        // File ids are unique on a server only.
        (!key.0 || place.0 == server || place.1 == client).then_some((key, place))
    }

    /// The lease or oplock is now in this state.
    pub(super) fn set_state(&mut self, id: &RightId, state: CachingRight) {
        let id = if self.granted.get(id).is_some() { Some(*id) } else { self.elsewhere(id) };
        if let Some(right) = id.and_then(|id| self.granted.get_mut(&id)) {
            right.state = state;
        }
    }

    /// The key of the lease that this handle has.
    pub(super) fn lease_of(&self, server: IpAddr, handle: [u8; 16]) -> Option<[u8; 16]> {
        self.leases.get(&(server, handle))
    }
}
