//! Breaks without an acknowledgement.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};

use super::rights::{Key, Place, RightId};

/// Breaks without an acknowledgement that are remembered.
pub(super) const OUTSTANDING_MAX: usize = 16_384;

/// A break that its client may acknowledge.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Outstanding {
    /// Its kind; `None` if there are too many.
    pub(super) kind: Option<usize>,
    pub(super) at_ns: i64,
    /// It is known that the client is to acknowledge it.
    pub(super) is_demanded: bool,
    /// The client closed a file of it.
    pub(super) is_closed: bool,
    turn: u64,
}

impl Outstanding {
    pub(super) fn new(kind: Option<usize>, at_ns: i64, is_demanded: bool) -> Self {
        Self { kind, at_ns, is_demanded, is_closed: false, turn: 0 }
    }

    /// Whether it is counted as unanswered.
    pub(super) fn is_unanswered(&self) -> bool {
        self.is_demanded && !self.is_closed
    }
}

/// What an acknowledgement belongs to.
#[derive(Debug)]
pub(super) enum Found {
    /// The break of that place.
    One(Place, Outstanding),
    /// Several, or it is doubtful; these are forgotten.
    Doubtful(Vec<Outstanding>),
    Nothing,
}

/// The breaks without an acknowledgement: by key, then by place.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Table {
    breaks: BTreeMap<RightId, Outstanding>,
    /// Those that are closed, then those that are not, the oldest first.
    order: BTreeMap<(bool, u64), RightId>,
    turn: u64,
}

impl Table {
    /// Adds a break. Returns the one before with this id, and the one that has to go because there are too many.
    pub(super) fn insert(&mut self, id: RightId, one: Outstanding) -> (Option<Outstanding>, Option<Outstanding>) {
        let before = self.remove(&id);
        let oldest = self.order.first_key_value().filter(|_| self.breaks.len() >= OUTSTANDING_MAX).map(|(_, id)| *id);
        let dropped = oldest.and_then(|oldest| self.remove(&oldest));
        self.turn += 1;
        self.breaks.insert(id, Outstanding { turn: self.turn, ..one });
        self.order.insert((true, self.turn), id);
        (before, dropped)
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&RightId, &Outstanding)> {
        self.breaks.iter()
    }

    fn remove(&mut self, id: &RightId) -> Option<Outstanding> {
        let one = self.breaks.remove(id)?;
        self.order.remove(&(!one.is_closed, one.turn));
        Some(one)
    }

    /// Takes out the break that an acknowledgement belongs to. Clients with several channels may send it to another address of the server,
    /// or from another one of their own. A lease's key is unique among the keys of its client, and mostly random. File ids are unique on a
    /// server only.
    pub(super) fn take(&mut self, id: &RightId) -> Found {
        if let Some(one) = self.remove(id) {
            return Found::One(id.1, one);
        }
        let like = self.places(id.0);
        match like[..] {
            [] => Found::Nothing,
            [only] if !id.0.0 || only.0 == id.1.0 || only.1 == id.1.1 => {
                self.remove(&(id.0, only)).map_or(Found::Nothing, |one| Found::One(only, one))
            }
            _ => Found::Doubtful(like.iter().filter_map(|&place| self.remove(&(id.0, place))).collect()),
        }
    }

    /// Marks the break of that key on that server, whose file a client closes. Returns it as it was.
    pub(super) fn close(&mut self, id: &RightId) -> Option<Outstanding> {
        let server = id.1.0;
        let like = || self.places(id.0).into_iter().filter(|place| place.0 == server);
        let is_exact = self.breaks.contains_key(id);
        let place = if is_exact { id.1 } else { like().next().filter(|_| like().count() == 1)? };
        let at = (id.0, place);
        let one = self.breaks.get_mut(&at).filter(|one| !one.is_closed)?;
        let before = *one;
        one.is_closed = true;
        self.order.remove(&(true, before.turn));
        self.order.insert((false, before.turn), at);
        Some(before)
    }

    fn places(&self, key: Key) -> Vec<Place> {
        let least = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let from = self.breaks.range((key, (least, least))..);
        from.map(|(id, _)| *id).take_while(|id| id.0 == key).map(|id| id.1).collect()
    }
}
