//! The few worst: slowest operations, longest-waiting requests.

use plimsoll_model::{Group, Transaction};
use serde::{Deserialize, Serialize};

use crate::state::{Reader, State, StateError, Writer};

/// Keeps the `limit` transactions with the highest score, one per message.
///
/// The members of a compound or an AndX chain share a message and so its times; the most specific one represents it: not the compound as
/// a whole, nor framing members (SEQUENCE, PUTFH), nor additional attribute requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Top {
    limit: usize,
    // Best first.
    kept: Vec<(Rank, Transaction)>,
}

/// Score, then earliest first; equal ranks are one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Rank {
    score: i64,
    early: std::cmp::Reverse<(Option<i64>, u32, Option<u64>)>,
}

impl Rank {
    fn of(score: i64, t: &Transaction) -> Self {
        Self { score, early: std::cmp::Reverse((t.timeline.request_first, t.connection, t.id)) }
    }
}

impl Top {
    /// Keeps nothing yet.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, kept: Vec::new() }
    }

    /// Offers a transaction.
    #[inline]
    pub(crate) fn offer(&mut self, score: i64, t: &Transaction) {
        if self.kept.len() >= self.limit && self.kept.last().is_none_or(|(worst, _)| score < worst.score) {
            return;
        }
        self.insert(score, t);
    }

    #[cold]
    fn insert(&mut self, score: i64, t: &Transaction) {
        let rank = Rank::of(score, t);
        match self.kept.binary_search_by(|(kept, _)| rank.cmp(kept)) {
            Ok(same) => {
                if telling(t) > telling(&self.kept[same].1) {
                    self.kept[same].1 = t.clone();
                }
            }
            Err(place) if place < self.limit => {
                self.kept.truncate(self.limit - 1);
                self.kept.insert(place, (rank, t.clone()));
            }
            Err(_) => {}
        }
    }

    /// Most transactions that it keeps.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Keeps fewer from now on.
    pub(crate) fn shorten(&mut self, limit: usize) {
        self.limit = self.limit.min(limit);
        self.kept.truncate(self.limit);
    }

    /// Adds another part of the same data.
    pub(crate) fn merge(&mut self, other: &Top) {
        other.kept.iter().for_each(|(rank, t)| self.offer(rank.score, t));
    }

    /// Replaces the numbers of connections, in the same order.
    pub(crate) fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        for (rank, t) in &mut self.kept {
            t.connection = number(t.connection);
            *rank = Rank::of(rank.score, t);
        }
    }

    /// Highest score first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Transaction> {
        self.kept.iter().map(|(_, t)| t)
    }
}

/// How much a member says about its message; the earlier of two equals.
fn telling(t: &Transaction) -> (u8, std::cmp::Reverse<Option<u16>>) {
    let kind = match t.procedure.row().group {
        Group::Compound | Group::Unknown => 0,
        Group::Session => 1,
        Group::Attributes => 2,
        _ => 3,
    };
    (kind, std::cmp::Reverse(t.compound_position))
}

impl State for Top {
    fn put(&self, out: &mut Writer) {
        self.limit.put(out);
        self.kept.len().put(out);
        for (rank, t) in &self.kept {
            rank.score.put(out);
            t.put(out);
        }
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let mut top = Self::new(usize::take(from)?);
        for _ in 0..from.length()? {
            let (score, t) = (i64::take(from)?, Transaction::take(from)?);
            top.kept.push((Rank::of(score, &t), t));
        }
        let in_order = top.kept.is_sorted_by(|(better, _), (worse, _)| better > worse);
        if in_order && top.kept.len() <= top.limit { Ok(top) } else { Err(from.no("order of transactions")) }
    }
}
