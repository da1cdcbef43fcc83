//! Read delegations: files that the server lets this client open for reading without a request, until it recalls them.
//!
//! The open that a delegation came with stays on the server as long as the delegation is held: the files that are opened meanwhile share
//! it, so a return needs no other open. After the return, the last of these files closes it.
//!
//! Spec: RFC 8881 10.4, RFC 8881 20.2

mod opens;
mod returns;

use std::collections::HashMap;

use plimsoll_wire::nfs::status::{
    NFS4ERR_ADMIN_REVOKED, NFS4ERR_BAD_STATEID, NFS4ERR_DELEG_REVOKED, NFS4ERR_EXPIRED, NFS4ERR_STALE_STATEID,
};
use plimsoll_wire::nfs::v4::{FileHandle, StateId};

use super::delegation_counts::DelegationCounts;
use super::file::Open;
use crate::operation::FileKey;

/// The server has revoked the delegation, and forgets it only on request.
const REVOKED: [u32; 3] = [NFS4ERR_EXPIRED, NFS4ERR_ADMIN_REVOKED, NFS4ERR_DELEG_REVOKED];
/// The server does not have the delegation.
const FORGOTTEN: [u32; 2] = [NFS4ERR_STALE_STATEID, NFS4ERR_BAD_STATEID];
/// Minimum time between two tests of delegations, ns.
const TEST_INTERVAL: i64 = 1_000_000_000;

/// The delegations of a client that asks for them.
#[derive(Debug, Default)]
pub(super) struct Delegations {
    held: HashMap<FileHandle, Held>,
    /// Opens on the server that files share, by the file with this open.
    shared: HashMap<FileKey, Shared>,
    /// Delegations to return, for which no job exists yet.
    due: Vec<FileHandle>,
    /// The same of delegations that the client does not hold, or not any more.
    unwanted: Vec<Returning>,
    /// Files whose open may be unused.
    unused: Vec<FileKey>,
    /// Opens for locks that no file uses.
    surplus: Vec<(FileHandle, Open)>,
    /// The last response said that the server has revoked state.
    pub(super) revoked: bool,
    /// Time of the last test, ns, and the file of the last delegation in it.
    last_test: Option<(i64, FileKey)>,
    pub(super) counts: DelegationCounts,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    state: StateId,
    /// The file whose open the delegation came with.
    base: FileKey,
    /// Time of the recall, ns.
    recalled: Option<i64>,
    /// It is being returned, so it allows no more opens.
    returning: bool,
}

/// The use of an open that came with a delegation.
#[derive(Clone, Copy, Debug)]
struct Shared {
    /// Number of files that are open and share it.
    files: u32,
    /// The delegation is still held.
    held: bool,
}

/// A delegation that is being returned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Returning {
    pub(super) handle: FileHandle,
    pub(super) state: StateId,
    /// The file whose open the delegation came with.
    pub(super) base: FileKey,
    /// The server has revoked it, and forgets it only on request (FREE_STATEID).
    pub(super) frees: bool,
}

impl Delegations {
    fn give_back(&mut self, handle: FileHandle) {
        if let Some(held) = self.held.get_mut(&handle).filter(|held| !held.returning) {
            held.returning = true;
            self.due.push(handle);
        }
    }

    /// Returns delegations until at most this number is left: first those that no open file uses.
    pub(super) fn keep_at_most(&mut self, most: usize) {
        let mut usable = self.in_order();
        usable.retain(|(_, held)| !held.returning);
        usable.sort_by_key(|(_, held)| self.shared.get(&held.base).is_some_and(|shared| shared.files > 0));
        let excess = usable.len().saturating_sub(most);
        usable.into_iter().take(excess).for_each(|(handle, _)| self.give_back(handle));
    }

    /// All that are held, in an order that is the same in each run.
    fn in_order(&self) -> Vec<(FileHandle, Held)> {
        let mut all: Vec<_> = self.held.iter().map(|(handle, held)| (*handle, *held)).collect();
        all.sort_by_key(|(_, held)| held.base.0);
        all
    }

    fn recall(&mut self, handle: FileHandle, state: &[u8], now: i64) -> bool {
        let same = |held: &&mut Held| state.get(4..) == Some(&held.state.other);
        let Some(held) = self.held.get_mut(&handle).filter(same) else { return false };
        if held.recalled.is_none() {
            held.recalled = Some(now);
            self.counts.recalled += 1;
        }
        self.give_back(handle);
        true
    }

    /// A file does not share an open any more. True if none is left and the delegation was returned, so the open is unused.
    fn closed(&mut self, base: FileKey) -> bool {
        let Some(shared) = self.shared.get_mut(&base) else { return false };
        shared.files = shared.files.saturating_sub(1);
        shared.files == 0 && !shared.held
    }

    fn is_last(&self, base: FileKey) -> bool {
        self.shared.get(&base).is_some_and(|shared| shared.files == 1 && !shared.held)
    }

    /// The delegation is not held any more. The file may have another one meanwhile.
    fn release(&mut self, handle: &FileHandle, state: &StateId) -> Option<Held> {
        self.held.get(handle).filter(|held| held.state.other == state.other)?;
        let held = self.held.remove(handle)?;
        self.shared.get_mut(&held.base).into_iter().for_each(|shared| shared.held = false);
        Some(held)
    }

    /// All delegations that no job returns yet, to return them at the end.
    pub(super) fn take_all(&mut self) -> Vec<(FileHandle, StateId)> {
        let due = std::mem::take(&mut self.due);
        let mut all = self.in_order();
        all.retain(|(handle, held)| !held.returning || due.contains(handle));
        self.held.iter_mut().for_each(|(_, held)| held.returning = true);
        all.into_iter().map(|(handle, held)| (handle, held.state)).collect()
    }

    /// The return of a delegation ended at this time.
    fn returned(&mut self, handle: &FileHandle, state: &StateId, at: i64) {
        let Some(held) = self.release(handle, state) else { return };
        self.counts.returned += 1;
        if let Some(recalled) = held.recalled {
            self.counts.returned_after(at.saturating_sub(recalled));
        }
    }

    fn not_returned(&mut self, handle: &FileHandle, state: &StateId, revoked: bool) {
        if self.release(handle, state).is_some() {
            *(if revoked { &mut self.counts.revoked } else { &mut self.counts.unreturned }) += 1;
        }
    }

    /// Whether the next test of delegations is due.
    pub(super) fn tests(&self, now: i64) -> bool {
        self.revoked && self.last_test.is_none_or(|(at, _)| now.saturating_sub(at) >= TEST_INTERVAL)
    }

    /// The delegations of the next test, at most this many. Each is tested in turn.
    pub(super) fn next_to_test(&mut self, most: usize, now: i64) -> Vec<(FileHandle, StateId)> {
        let mut all = self.in_order();
        all.retain(|(_, held)| !held.returning);
        let next = self.last_test.and_then(|(_, last)| all.iter().position(|(_, held)| held.base.0 > last.0));
        all.rotate_left(next.unwrap_or(0));
        all.truncate(most);
        self.last_test = all.last().map(|(_, held)| (now, held.base)).or(self.last_test);
        all.into_iter().map(|(handle, held)| (handle, held.state)).collect()
    }

    /// A delegation was tested. One that is being returned meanwhile is not of interest.
    pub(super) fn tested(&mut self, handle: &FileHandle, state: &StateId, status: u32) {
        let same = |held: &&Held| !held.returning && held.state.other == state.other;
        let Some(&Held { base, .. }) = self.held.get(handle).filter(same) else { return };
        if REVOKED.contains(&status) {
            self.unwanted.push(Returning { handle: *handle, state: *state, base, frees: true });
        } else if FORGOTTEN.contains(&status) {
            self.unused.push(base);
        } else {
            return;
        }
        self.not_returned(handle, state, true);
    }

    /// A delegation was returned, or not, when the client left.
    pub(super) fn left(&mut self, handle: &FileHandle, state: &StateId, succeeded: bool, at: i64) {
        match succeeded {
            true => self.returned(handle, state, at),
            false => self.not_returned(handle, state, true),
        }
    }

    /// The connection is over: what is still held cannot be returned.
    pub(super) fn counts_at_end(&self) -> DelegationCounts {
        let unreturned = self.counts.unreturned + self.held.len() as u64;
        DelegationCounts { unreturned, ..self.counts }
    }
}
