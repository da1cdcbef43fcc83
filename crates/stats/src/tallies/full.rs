//! Bytes written per client when a server first answered that its storage is full.

use std::net::IpAddr;

use plimsoll_model::{Operation, StatusFamily, Transaction};
use serde::{Deserialize, Serialize};

use super::Place;
use crate::state::Counter;

use StatusFamily::{Dos, Errno, Nfs, Nt};

/// Statuses that say that the storage is full, or a quota.
pub const FULL: [(StatusFamily, u32); 7] = [
    (Nt, 0xC000_007F),  // DISK_FULL
    (Nt, 0xC000_0044),  // QUOTA_EXCEEDED
    (Dos, 0x0027_0003), // ERRHRD, ERRdiskfull
    (Nfs, 28),          // NOSPC
    (Nfs, 69),          // DQUOT
    (Errno, 28),
    (Errno, 122),
];
/// Clients that are held.
const MAX_CLIENTS: usize = 64;

/// What clients had written to a server until its storage was full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Full {
    /// The server.
    pub server: IpAddr,
    /// Bytes by client, most first.
    pub written: Vec<(IpAddr, u64)>,
}

/// Whether the answer says that the storage is full.
pub(super) fn is_full(t: &Transaction) -> bool {
    let Some(status) = t.status else { return false };
    StatusFamily::of(t.procedure.row().protocol, status).is_some_and(|family| FULL.contains(&(family, status)))
}

impl Full {
    /// At this answer, given what clients wrote until then.
    #[cold]
    pub(super) fn of(t: &Transaction, places: &[Place]) -> Self {
        let server = t.server.ip;
        let mut written: Vec<(IpAddr, u64)> = Vec::new();
        for place in places.iter().filter(|place| place.key.server.ip == server) {
            let bytes = place.operations.0[Operation::Write as usize].payload.min(1 << 55);
            match written.iter_mut().find(|(client, _)| *client == place.key.client) {
                Some((_, sum)) => *sum = sum.saturating_add(bytes).min(1 << 55),
                None => written.push((place.key.client, bytes)),
            }
        }
        written.retain(|(_, bytes)| *bytes > 0);
        written.sort_by_key(|&(client, bytes)| (std::cmp::Reverse(bytes), client));
        written.truncate(MAX_CLIENTS);
        Self { server, written }
    }
}

crate::state::fields!("bytes written per client until the storage was full"; Full { server, written } if |full| {
    full.written.len() <= MAX_CLIENTS && full.written.iter().all(|(_, bytes)| Counter::all(&[*bytes]))
});
