//! Sums of bytes, some of which may be unknown.

use plimsoll_model::Transaction;
use serde::{Deserialize, Serialize};

use crate::state::Counter;

/// A sum of bytes. If some sizes were cut off, the known bytes are a lower bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteSum {
    bytes: u64,
    unknown: u64,
}

impl ByteSum {
    /// The sum; `None` where part of it is unknown.
    pub fn exact(self) -> Option<u64> {
        (self.unknown == 0).then_some(self.bytes)
    }

    /// The sum, or its lower bound; `None` if no size is known.
    pub fn at_least(self) -> Option<u64> {
        (self.unknown == 0 || self.bytes > 0).then_some(self.bytes)
    }

    /// Number of operations with an unknown size.
    pub fn unknown(self) -> u64 {
        self.unknown
    }

    /// Takes the file data of a transaction. Sizes come from the wire, where anything can stand: they saturate.
    #[inline]
    pub(crate) fn add_payload(&mut self, t: &Transaction) {
        match t.moved_bytes() {
            Some(bytes) => self.bytes = self.bytes.saturating_add(bytes),
            None => self.unknown += u64::from(t.has_unknown_payload()),
        }
    }

    /// Takes the messages of a transaction.
    #[inline]
    pub(crate) fn add_messages(&mut self, t: &Transaction) {
        let bytes = t.request_bytes.unwrap_or(0).saturating_add(t.response_bytes.unwrap_or(0));
        self.bytes = self.bytes.saturating_add(bytes);
        self.unknown += u64::from(t.has_unknown_size());
    }

    /// Adds another part of the same data, or another sum.
    pub(crate) fn merge(&mut self, other: ByteSum) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.unknown += other.unknown;
    }
}

crate::state::fields!("sum of bytes"; ByteSum { bytes, unknown } if |sum| Counter::all(&[sum.unknown]));
