//! Delegations of NFS 4: granted by OPEN, recalled by CB_RECALL, returned by DELEGRETURN.
//!
//! A delegation is known by its state ID between two addresses: in 4.0 the server recalls it over another connection.
//!
//! Spec: RFC 8881 10.4, 18.6, 20.2; RFC 7530 10.4.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet, VecDeque, hash_map::Entry};
use std::net::IpAddr;

use plimsoll_model::{Coverage, Delegations as Sums, DelegationsLeftOut, PartialPairs};
use plimsoll_wire::nfs::status::{NFS4ERR_BAD_STATEID, NFS4ERR_BADHANDLE};
use serde::{Deserialize, Serialize};

/// Pairs of client and server, at most.
const PLACES_MAX: usize = 1_024;
/// Recalled delegations that are followed until they are returned, at most.
const RECALLED_MAX: usize = 16_384;
/// Returns without a response that are remembered, at most.
const RETURNING_MAX: usize = 4_096;
/// Pairs with unread messages that are remembered, at most.
const PARTIAL_MAX: usize = Coverage::PARTIAL_PAIRS;
/// Bits of `share_access`: a wish for a read, write or any delegation (RFC 8881 18.16.1).
const WISHES: std::ops::RangeInclusive<u32> = 1..=3;
/// The client does not hold the delegation (RFC 8881 20.2.3).
const NOT_HELD: [u32; 2] = [NFS4ERR_BADHANDLE, NFS4ERR_BAD_STATEID];

/// Client and server.
pub(super) type Place = (IpAddr, IpAddr);
/// Where it is held, and the 12 bytes of its state ID that stay the same.
type Key = (Place, [u8; 12]);
type Hasher = foldhash::fast::RandomState;

/// The delegations of a capture.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Delegations {
    places: HashMap<Place, Sums, Hasher>,
    /// The sums of all further places.
    further: Option<Sums>,
    recalled: HashMap<Key, Recalled, Hasher>,
    /// Recalled delegations with the time of the first recall, ns, oldest first. Returned ones stay here for a while.
    order: VecDeque<(Key, i64)>,
    /// Delegations with a return that has no response so far, each with the number of the return.
    returning: HashMap<Key, u64, Hasher>,
    /// The same, oldest first. Answered ones stay here for a while.
    returning_order: VecDeque<(Key, u64)>,
    /// Number of the next return.
    next_return: u64,
    /// Places with messages that were not captured or could not be read.
    partial: HashSet<Place, Hasher>,
    /// There are more of them than fit into `partial`.
    all_partial: bool,
}

/// A recalled delegation.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Recalled {
    /// The first recall, ns.
    at_ns: i64,
    /// The client has sent a return, and it is not known that the server refused it.
    returns: bool,
    /// The client answered the last recall that it does not hold the delegation.
    not_held: bool,
}

/// Whether an OPEN with this `share_access` asks for a delegation.
#[inline]
pub(super) fn wishes(access: u32) -> bool {
    WISHES.contains(&(access >> 8 & 0xFF))
}

impl Delegations {
    fn of(&mut self, place: Place) -> &mut Sums {
        let new = || Sums::of(place.0, place.1);
        if self.places.len() >= PLACES_MAX && !self.places.contains_key(&place) {
            return self.further.get_or_insert_with(new);
        }
        self.places.entry(place).or_insert_with(new)
    }

    /// Messages of this place that may be about delegations were not captured or could not be read.
    #[cold]
    pub(super) fn partial(&mut self, place: Place) {
        if self.partial.len() < PARTIAL_MAX || self.partial.contains(&place) {
            self.partial.insert(place);
        } else {
            self.all_partial = true;
        }
    }

    /// The same if it is not known which of the two is the server.
    pub(crate) fn partial_between(&mut self, [one, other]: [IpAddr; 2]) {
        self.partial((one, other));
        self.partial((other, one));
    }

    /// The result of an OPEN. `kind` is the kind of delegation in it; `wish`: whether the client asked for one, if its request was captured.
    #[inline]
    pub(super) fn opened(&mut self, place: Place, status: Option<u32>, kind: Option<u32>, wish: Option<bool>) {
        match (status, kind) {
            (Some(1..), _) => {}
            // OPEN_DELEGATE_READ and WRITE, also with attributes (RFC 9754); NONE, and NONE with a reason.
            (Some(0), Some(1 | 4)) => self.of(place).granted_read += 1,
            (Some(0), Some(2 | 5)) => self.of(place).granted_write += 1,
            (Some(0), Some(0 | 3)) if wish == Some(false) => {}
            (Some(0), Some(0 | 3)) if wish == Some(true) => self.of(place).refused += 1,
            _ => self.partial(place),
        }
    }

    /// The server recalls a delegation.
    pub(super) fn recall(&mut self, place: Place, state: &[u8; 16], at_ns: i64) {
        let key = key(place, state);
        if let Some(recalled) = self.recalled.get_mut(&key) {
            recalled.not_held = false;
            self.of(place).repeated += 1;
            return;
        }
        self.of(place).recalled += 1;
        self.make_room();
        let returns = self.returning.contains_key(&key);
        self.recalled.insert(key, Recalled { at_ns, returns, not_held: false });
        self.order.push_back((key, at_ns));
    }

    /// Gives up the recalled delegation that was followed longest, if there are too many.
    fn make_room(&mut self) {
        let is_followed = |recalled: &HashMap<Key, Recalled, Hasher>, (key, at_ns): &(Key, i64)| {
            recalled.get(key).is_some_and(|recalled| recalled.at_ns == *at_ns)
        };
        while self.recalled.len() >= RECALLED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            if is_followed(&self.recalled, &oldest) {
                self.recalled.remove(&oldest.0);
                self.of(oldest.0.0).untracked += 1;
            }
        }
        if self.order.len() >= 2 * RECALLED_MAX {
            self.order.retain(|one| is_followed(&self.recalled, one));
        }
    }

    /// The client answered a recall.
    pub(super) fn recall_answered(&mut self, place: Place, state: &[u8; 16], status: Option<u32>) {
        if status.is_some_and(|status| NOT_HELD.contains(&status)) {
            let recalled = self.recalled.get_mut(&key(place, state));
            recalled.into_iter().for_each(|recalled| recalled.not_held = true);
        }
    }

    /// The client sends the return of a delegation.
    pub(super) fn returns(&mut self, place: Place, state: &[u8; 16]) {
        let key = key(place, state);
        self.recalled.get_mut(&key).into_iter().for_each(|recalled| recalled.returns = true);
        if let Entry::Vacant(new) = self.returning.entry(key) {
            new.insert(self.next_return);
            self.returning_order.push_back((key, self.next_return));
            self.next_return += 1;
            self.limit_returning();
        }
    }

    /// Gives up the oldest return without a response if there are too many. Whether its delegation was returned is then unknown.
    fn limit_returning(&mut self) {
        while self.returning.len() > RETURNING_MAX
            && let Some((oldest, number)) = self.returning_order.pop_front()
        {
            if self.returning.get(&oldest) == Some(&number) {
                self.returning.remove(&oldest);
                self.partial(oldest.0);
            }
        }
        if self.returning_order.len() >= 2 * RETURNING_MAX {
            let returning = &self.returning;
            self.returning_order.retain(|(key, number)| returning.get(key) == Some(number));
        }
    }

    /// The server answered a return that the client sent at `asked_ns`; without a state ID its request was not read.
    pub(super) fn returned(&mut self, place: Place, state: Option<&[u8; 16]>, asked_ns: i64, status: Option<u32>) {
        let (Some(state), Some(status)) = (state, status) else {
            return self.partial(place);
        };
        let key = key(place, state);
        self.returning.remove(&key);
        if status != 0 {
            // Refused, perhaps for now: another one may follow.
            self.recalled.get_mut(&key).into_iter().for_each(|recalled| recalled.returns = false);
            return;
        }
        let recalled = self.recalled.remove(&key);
        let sums = self.of(place);
        sums.returned += 1;
        // A return that was sent before the recall is no answer to it.
        let took = recalled.and_then(|recalled| u64::try_from(asked_ns.saturating_sub(recalled.at_ns)).ok());
        if let Some(took) = took {
            sums.after_recall += 1;
            sums.after_recall_ns = sums.after_recall_ns.saturating_add(took);
            sums.longest_ns = sums.longest_ns.max(took);
        }
    }

    /// The sums by client and server, those with most recalls first; the sums of further ones; and the partial pairs that have none.
    pub(crate) fn finish(mut self) -> (Vec<Sums>, DelegationsLeftOut, PartialPairs) {
        let kept: Vec<(Place, bool)> = self
            .recalled
            .iter()
            .filter(|(_, recalled)| !recalled.returns)
            .map(|((place, _), recalled)| (*place, recalled.not_held))
            .collect();
        for (place, not_held) in kept {
            let sums = self.of(place);
            if not_held { sums.not_held += 1 } else { sums.unreturned += 1 }
        }
        for (place, sums) in &mut self.places {
            sums.is_partial = self.all_partial || self.partial.contains(place);
        }
        let mut pairs: Vec<Place> =
            self.partial.iter().filter(|place| !self.places.contains_key(*place)).copied().collect();
        pairs.sort_unstable();
        let without_row = PartialPairs { pairs, all: self.all_partial };
        let mut left_out = DelegationsLeftOut::default();
        if let Some(further) = &mut self.further {
            further.is_partial = !without_row.is_empty();
            left_out.add_pair(further);
        }
        let mut all: Vec<Sums> = self.places.into_values().collect();
        Sums::limit(&mut all, &mut left_out);
        (all, left_out, without_row)
    }
}

/// The state ID without its sequence number, which changes.
fn key(place: Place, state: &[u8; 16]) -> Key {
    let [_, _, _, _, other @ ..] = *state;
    (place, other)
}
