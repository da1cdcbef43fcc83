//! Leases and oplocks that servers broke, by client and share.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::Symbol;
use crate::add_fields;

/// A right to cache: a lease's state or an oplock's level, as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CachingRight {
    /// LeaseState: 1 read, 2 handle, 4 write.
    Lease(u32),
    /// OplockLevel: 0 none, 1 level II, 8 exclusive, 9 batch.
    Oplock(u8),
}

/// Breaks of one kind: of the leases or oplocks of a client on a share, from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseBreaks {
    /// The client that held them.
    pub client: IpAddr,
    /// The share; unknown if the open was not captured.
    pub share: Symbol,
    /// Whether they were of directories; `None` if the open was not captured.
    pub is_directory: Option<bool>,
    /// The state before; `None` of an oplock whose open was not captured.
    pub from: Option<CachingRight>,
    /// The remaining state.
    pub to: Option<CachingRight>,
    /// Notifications.
    pub notified: u64,
    /// Notifications that the client acknowledged.
    pub acknowledged: u64,
    /// Sum of the times until the acknowledgements, ns.
    pub acknowledged_ns: u64,
    /// The longest of these times, ns.
    pub longest_ns: u64,
    /// Notifications that demand an acknowledgement, and that the client did not acknowledge, but after which it closed a file of that
    /// lease or oplock.
    pub closed: u64,
    /// Notifications that demand an acknowledgement, and after which the client did neither.
    pub unanswered: u64,
    /// Operations of other clients that waited for it.
    pub waits: u64,
    /// How long they waited, ns.
    pub wait_ns: u64,
}

impl LeaseBreaks {
    /// Breaks of this kind, none yet.
    #[must_use]
    pub fn of(
        client: IpAddr,
        share: Symbol,
        is_directory: Option<bool>,
        from: Option<CachingRight>,
        to: Option<CachingRight>,
    ) -> Self {
        Self {
            client,
            share,
            is_directory,
            from,
            to,
            notified: 0,
            acknowledged: 0,
            acknowledged_ns: 0,
            longest_ns: 0,
            closed: 0,
            unanswered: 0,
            waits: 0,
            wait_ns: 0,
        }
    }

    /// Whether both are of the same kind.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        let key = |one: &Self| (one.client, one.share, one.is_directory, one.from, one.to);
        key(self) == key(other)
    }

    /// Adds others of the same kind.
    pub fn add(&mut self, other: &Self) {
        add_fields!(self, other; notified, acknowledged, acknowledged_ns, closed, unanswered, waits, wait_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}
