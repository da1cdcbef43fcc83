//! Delegations of NFS 4: granted by OPEN, recalled by CB_RECALL, returned by DELEGRETURN.
//!
//! A delegation is known by its state ID between two addresses: in 4.0 the server recalls it over another connection.
//!
//! Spec: RFC 8881 10.4, 18.6, 20.2; RFC 7530 10.4.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{Coverage, Delegations as Sums};
use serde::{Deserialize, Serialize};

/// Pairs of client and server, at most.
const PLACES_MAX: usize = 1_024;
/// Recalled delegations that are followed until they are returned, at most.
const RECALLED_MAX: usize = 16_384;
/// Bits of `share_access`: a wish for a read, write or any delegation (RFC 8881 18.16.1).
const WISHES: std::ops::RangeInclusive<u32> = 1..=3;

/// Client and server.
pub(super) type Place = (IpAddr, IpAddr);
/// Where it is held, and the 12 bytes of its state ID that stay the same.
type Key = (Place, [u8; 12]);

/// The delegations of a capture.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Delegations {
    places: HashMap<Place, Sums, foldhash::fast::RandomState>,
    /// Recalled ones, and when, ns.
    recalled: HashMap<Key, Recalled, foldhash::fast::RandomState>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Recalled {
    at_ns: i64,
    /// The client has sent a return, and it is not known that the server refused it.
    returns: bool,
}

impl Delegations {
    fn of(&mut self, place: Place) -> Option<&mut Sums> {
        if self.places.len() >= PLACES_MAX && !self.places.contains_key(&place) {
            return None;
        }
        Some(self.places.entry(place).or_insert_with(|| Sums::of(place.0, place.1)))
    }

    /// An OPEN succeeded. `kind` is the kind of delegation in its response; `access` is what it asked for, if the request was captured.
    #[inline]
    pub(super) fn opened(&mut self, place: Place, kind: Option<u32>, access: Option<u32>) {
        // OPEN_DELEGATE_READ and WRITE, also with attributes (RFC 9754); NONE, and NONE with a reason.
        match kind {
            Some(1 | 4) => self.of(place).into_iter().for_each(|sums| sums.granted_read += 1),
            Some(2 | 5) => self.of(place).into_iter().for_each(|sums| sums.granted_write += 1),
            Some(0 | 3) if access.is_some_and(|access| WISHES.contains(&(access >> 8 & 0xFF))) => {
                self.of(place).into_iter().for_each(|sums| sums.refused += 1);
            }
            _ => {}
        }
    }

    /// The server recalls a delegation.
    pub(super) fn recall(&mut self, place: Place, state: &[u8], at_ns: i64) {
        let Some(key) = key(place, state) else { return };
        let known = self.recalled.contains_key(&key);
        let room = self.recalled.len() < RECALLED_MAX;
        let Some(sums) = self.of(place) else { return };
        match known {
            true => sums.repeated += 1,
            false => sums.recalled += 1,
        }
        if !known && room {
            self.recalled.insert(key, Recalled { at_ns, returns: false });
        }
    }

    /// The client sends the return of a delegation.
    pub(super) fn returns(&mut self, place: Place, state: &[u8]) {
        let recalled = key(place, state).and_then(|key| self.recalled.get_mut(&key));
        recalled.into_iter().for_each(|recalled| recalled.returns = true);
    }

    /// The server answered a return that the client sent at `asked_ns`.
    pub(super) fn returned(&mut self, place: Place, state: &[u8], asked_ns: i64, status: Option<u32>) {
        let Some(key) = key(place, state) else { return };
        match status {
            Some(0) => {
                let recalled = self.recalled.remove(&key);
                let Some(sums) = self.of(place) else { return };
                sums.returned += 1;
                if let Some(recalled) = recalled {
                    let took = asked_ns.saturating_sub(recalled.at_ns).max(0).unsigned_abs();
                    sums.after_recall += 1;
                    sums.after_recall_ns = sums.after_recall_ns.saturating_add(took);
                    sums.longest_ns = sums.longest_ns.max(took);
                }
            }
            // Refused, perhaps for now: another one may follow.
            Some(_) => self.recalled.get_mut(&key).into_iter().for_each(|recalled| recalled.returns = false),
            None => {}
        }
    }

    /// The sums by client and server, those with most recalls first, and how many delegations are of further ones.
    pub(crate) fn finish(mut self) -> (Vec<Sums>, u64) {
        let kept: Vec<Place> =
            self.recalled.iter().filter(|(_, recalled)| !recalled.returns).map(|((place, _), _)| *place).collect();
        for place in kept {
            self.of(place).into_iter().for_each(|sums| sums.unreturned += 1);
        }
        let mut all: Vec<Sums> = self.places.into_values().collect();
        all.sort_by_key(|one| {
            let held = one.granted_read + one.granted_write;
            (std::cmp::Reverse((one.recalled, held)), one.client, one.server)
        });
        let left = all.split_off(all.len().min(Coverage::DELEGATIONS));
        (all, left.iter().map(|one| one.granted_read + one.granted_write).sum())
    }
}

/// The state ID without its sequence number, which changes.
fn key(place: Place, state: &[u8]) -> Option<Key> {
    let (_, other) = state.split_first_chunk::<4>()?;
    Some((place, other.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = (IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

    fn state(number: u32) -> [u8; 16] {
        let mut state = [7; 16];
        state[12..].copy_from_slice(&number.to_be_bytes());
        state
    }

    fn only(all: Delegations) -> Sums {
        let (found, left) = all.finish();
        assert_eq!((found.len(), left), (1, 0));
        found[0]
    }

    #[test]
    fn what_is_granted_recalled_and_returned_is_counted() {
        let mut all = Delegations::default();
        // Read, write, and none: without a wish, with the wish for none, and with that for a read delegation.
        for (kind, access) in [(1, 0x101), (4, 1), (2, 3), (0, 1), (3, 0x401), (3, 0x101)] {
            all.opened(PLACE, Some(kind), Some(access));
        }
        all.opened(PLACE, None, Some(0x101));
        all.recall(PLACE, &state(1), 100);
        all.recall(PLACE, &state(1), 200);
        all.recall(PLACE, &state(2), 300);
        all.returns(PLACE, &state(1));
        // The state ID of the return has another sequence number.
        let mut later = state(1);
        later[0] = 9;
        all.returned(PLACE, &later, 150, Some(0));
        all.returned(PLACE, &state(9), 500, Some(0));
        let expected = Sums {
            granted_read: 2,
            granted_write: 1,
            refused: 1,
            recalled: 2,
            repeated: 1,
            returned: 2,
            after_recall: 1,
            after_recall_ns: 50,
            longest_ns: 50,
            unreturned: 1,
            ..Sums::of(PLACE.0, PLACE.1)
        };
        assert_eq!(only(all), expected);
    }

    #[test]
    fn a_return_without_a_response_is_not_called_missing() {
        for (status, unreturned) in [(None, 0), (Some(10_087), 1)] {
            let mut all = Delegations::default();
            all.recall(PLACE, &state(1), 100);
            all.returns(PLACE, &state(1));
            all.returned(PLACE, &state(1), 150, status);
            let found = only(all);
            assert_eq!((found.recalled, found.returned, found.unreturned), (1, 0, unreturned), "{status:?}");
        }
    }

    #[test]
    fn tables_are_bounded_and_what_is_left_out_is_said() {
        let mut all = Delegations::default();
        for number in 0..2 * PLACES_MAX as u32 {
            let client = std::net::Ipv4Addr::from(number).into();
            all.opened((client, PLACE.1), Some(1), None);
        }
        for number in 0..2 * RECALLED_MAX as u32 {
            all.recall((std::net::Ipv4Addr::from(0).into(), PLACE.1), &state(number), 1);
        }
        assert_eq!((all.places.len(), all.recalled.len()), (PLACES_MAX, RECALLED_MAX));
        let (found, left) = all.finish();
        assert_eq!((found.len(), left), (Coverage::DELEGATIONS, (PLACES_MAX - Coverage::DELEGATIONS) as u64));
        assert_eq!((found[0].recalled, found[0].unreturned), (2 * RECALLED_MAX as u64, RECALLED_MAX as u64));
    }
}
