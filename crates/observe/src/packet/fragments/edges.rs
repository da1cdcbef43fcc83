//! Datagrams of which the capture lacks a part because it begins or ends inside them: nothing was lost.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::super::path::Address;
use super::Open;

/// How near the beginning or the end of the capture such a datagram is, ns.
const NEAR_NS: i64 = 100_000_000;
/// Maximum number of datagrams at each end of the capture.
const DATAGRAMS_MAX: usize = 4_096;

/// Datagrams at the ends of the capture, by sender and receiver. A host sends all fragments of a datagram before those of the next one to
/// the same receiver, so a capture begins and ends inside one of them at most. Further ones lack fragments for another reason, as in a
/// capture through a filter by port.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Edges {
    begins_inside: HashSet<(Address, Address)>,
    ends_inside: HashSet<(Address, Address)>,
}

impl Edges {
    /// Whether the capture lacks nothing of this datagram but what came before `begin_ns` or after `end_ns`, ns since the Unix epoch.
    pub(super) fn explain(
        &mut self,
        hosts: (Address, Address),
        open: &Open,
        (begin_ns, end_ns): (Option<i64>, Option<i64>),
    ) -> bool {
        let pieces = (open.is_cut, open.held.as_slice(), open.first, open.last);
        let (false, &[(start, end)], Some(first), Some(last)) = pieces else { return false };
        let (lacks_begin, lacks_end) = (start > 0, open.total != Some(end));
        let begins_here = !lacks_begin
            || begin_ns.is_some_and(|ns| is_near(first.time_ns.saturating_sub(ns)))
                && insert(&mut self.begins_inside, hosts);
        begins_here
            && (!lacks_end
                || end_ns.is_some_and(|ns| is_near(ns.saturating_sub(last.time_ns)))
                    && insert(&mut self.ends_inside, hosts))
    }
}

fn is_near(distance_ns: i64) -> bool {
    (0..=NEAR_NS).contains(&distance_ns)
}

/// Whether these hosts are new and there is room.
fn insert(hosts: &mut HashSet<(Address, Address)>, new: (Address, Address)) -> bool {
    hosts.len() < DATAGRAMS_MAX && hosts.insert(new)
}
