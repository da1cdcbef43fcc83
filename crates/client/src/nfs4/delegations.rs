//! Read delegations: files that the server lets this client open for reading without a request, until it recalls them.
//!
//! The open that a delegation came with stays on the server as long as the delegation is held: the files that are opened meanwhile share
//! it, so a return needs no other open. After the return, the last of these files closes it.
//!
//! Spec: RFC 8881 10.4, RFC 8881 20.2

use std::collections::HashMap;

use plimsoll_wire::nfs::v4::open::{self, Delegation};
use plimsoll_wire::nfs::v4::{FileHandle, Operation, StateId};

use super::client::Nfs4Client;
use super::delegation_counts::DelegationCounts;
use super::file::{File, Open};
use super::job::{Goal, Job, Opening};
use crate::client::Events;
use crate::nfs::never_sent;
use crate::operation::{Cause, Disposition, Failure, FileKey, Reply};
use crate::outbox::Outbox;

/// Maximum number of delegations that a client holds: of more files it caches no handles, so it could not use them.
const MOST: usize = 4_096;
/// The server has revoked the delegation, and forgets it only on request: NFS4ERR_EXPIRED, NFS4ERR_ADMIN_REVOKED, NFS4ERR_DELEG_REVOKED.
const REVOKED: [u32; 3] = [10_011, 10_047, 10_087];
/// The server does not have the delegation: NFS4ERR_STALE_STATEID, NFS4ERR_BAD_STATEID.
const FORGOTTEN: [u32; 2] = [10_023, BAD_STATEID];
/// Minimum time between two tests of delegations, ns.
const TEST_INTERVAL: i64 = 1_000_000_000;
/// NFS4ERR_BADHANDLE, NFS4ERR_DELAY, NFS4ERR_BAD_STATEID, NFS4ERR_BADXDR: responses to CB_RECALL.
const BADHANDLE: u32 = 10_001;
const DELAY: u32 = 10_008;
const BAD_STATEID: u32 = 10_025;
const BADXDR: u32 = 10_036;
/// NFS4ERR_STALE_STATEID, NFS4ERR_BAD_STATEID: the server has taken the delegation back before.
const TAKEN_BACK: [u32; 2] = [10_023, BAD_STATEID];

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

impl Nfs4Client {
    /// Access of an OPEN, which asks for a read delegation if the client wants another one and the file exists and is only read.
    pub(super) fn wanting(&self, access: u32, disposition: Disposition) -> u32 {
        let wants = self.delegations.as_ref().is_some_and(|delegations| delegations.held.len() < MOST);
        match (access, disposition) {
            (open::READ, Disposition::OpenExisting) if wants => access | open::READ_DELEGATION,
            _ => access | open::NO_DELEGATION,
        }
    }

    /// Sorts a delegation that came with an OPEN: `Some(Ok)` to hold it, `Some(Err)` to return it.
    pub(super) fn sort_delegation(
        &self,
        handle: &FileHandle,
        access: u32,
        delegation: Option<Delegation>,
    ) -> Option<Result<StateId, StateId>> {
        let Delegation { state, recalled, writes } = delegation?;
        let wanted = access & open::READ_DELEGATION != 0 && !recalled && !writes;
        match self.delegations.as_ref().map(|delegations| (delegations.held.get(handle), delegations.held.len())) {
            // The client holds this delegation already.
            Some((Some(held), _)) if held.state.other == state.other => None,
            Some((None, held)) if wanted && held < MOST => Some(Ok(state)),
            _ => Some(Err(state)),
        }
    }

    /// A file that shared an open was opened on the server, which granted a delegation that the client did not ask for.
    pub(super) fn opened_with(&mut self, handle: &FileHandle, delegation: Option<Delegation>, file: FileKey) {
        if let Some(Err(unwanted)) = self.sort_delegation(handle, open::READ, delegation)
            && let Some(delegations) = &mut self.delegations
        {
            delegations.unwanted.push(Returning { handle: *handle, state: unwanted, base: file, frees: false });
        }
    }

    /// A file was opened with a delegation: its open is shared from now on.
    pub(super) fn open_delegated(&mut self, job: &mut Job, file: File, state: StateId, size: u64) {
        let handle = file.handle;
        let keys = self.files.add(file).and_then(|base| Some((base, self.files.add(File::sharing(handle, base))?)));
        let (Some((base, file)), Some(delegations)) = (keys, &mut self.delegations) else {
            return job.fail(never_sent(None, Cause::OutOfResources));
        };
        delegations.counts.granted += 1;
        delegations.held.insert(handle, Held { state, base, recalled: None, returning: false });
        delegations.shared.insert(base, Shared { files: 1, held: true });
        job.reply = Some(Reply::Opened { file, size: Some(size) });
    }

    /// Opens a file for reading without a request, if there is a delegation for it.
    pub(super) fn open_locally(&mut self, path: &str) -> Option<Result<Reply, Failure>> {
        // The server may have lost the delegation with the session.
        if self.suspended.is_some() || self.recovery.is_some() || self.broken.is_some() {
            return None;
        }
        let (known, handle) = self.handles.longest(path, true);
        let delegations = self.delegations.as_mut().filter(|_| known == path.len())?;
        let base = delegations.held.get(&handle).filter(|held| !held.returning)?.base;
        let Some(file) = self.files.add(File::sharing(handle, base)) else {
            return Some(Err(never_sent(None, Cause::OutOfResources)));
        };
        delegations.shared.get_mut(&base).into_iter().for_each(|shared| shared.files += 1);
        delegations.counts.local_opens += 1;
        Some(Ok(Reply::Opened { file, size: None }))
    }

    /// Whether closing this file needs no request: it has no open on the server, or shares one that is still needed.
    pub(super) fn closes_locally(&self, file: &File) -> bool {
        // The server may have lost the shared open.
        let is_open = |base| self.files.get(base).is_some_and(|file| file.open.is_some());
        match (file.open, file.base, &self.delegations) {
            (Some(_), ..) => false,
            (None, Some(base), Some(delegations)) => !delegations.is_last(base) || !is_open(base),
            _ => true,
        }
    }

    /// A file that was closed shared an open: the open, if it must be closed as well.
    pub(super) fn close_shared(&mut self, base: Option<FileKey>) -> Option<Open> {
        let base = base?;
        let delegations = self.delegations.as_mut()?;
        if !delegations.closed(base) {
            return None;
        }
        delegations.shared.remove(&base);
        self.files.remove(base)?.open
    }

    /// A file that shared an open was opened on the server.
    pub(super) fn opened_alone(&mut self, base: Option<FileKey>) {
        if let Some((base, delegations)) = base.zip(self.delegations.as_mut())
            && delegations.closed(base)
        {
            delegations.unused.push(base);
        }
    }

    /// An open for a lock is not used: it must be closed.
    pub(super) fn close_surplus(&mut self, handle: FileHandle, open: Open) {
        self.delegations.iter_mut().for_each(|delegations| delegations.surplus.push((handle, open)));
    }

    /// The state ID of reads and writes of a file.
    pub(super) fn state_of(&self, key: FileKey) -> StateId {
        let Some(file) = self.files.get(key) else { return StateId::ANONYMOUS };
        match file.base.filter(|_| file.open.is_none()).and_then(|base| self.files.get(base)) {
            Some(base) => base.state(),
            None => file.state(),
        }
    }

    /// CB_RECALL: the status of the response. The return follows at once ([`Nfs4Client::return_due`]).
    pub(super) fn recalled(&mut self, call: &Operation<'_>, now: i64) -> u32 {
        let Some(delegations) = &mut self.delegations else { return BADHANDLE };
        let handle = call.facts.handle.and_then(FileHandle::new);
        let (Some(handle), Some(state)) = (handle, call.facts.delegation) else { return BADXDR };
        if delegations.recall(handle, state, now) {
            return 0;
        }
        // The recall may have overtaken the response to the OPEN that gets the delegation.
        let wants = |job: &mut Job| {
            job.pending > 0
                && matches!(job.goal, Goal::Open(Opening { access, .. }) if access & open::READ_DELEGATION != 0)
        };
        if self.jobs.iter_mut().any(wants) {
            return DELAY;
        }
        delegations.counts.unknown_recalls += 1;
        if delegations.held.contains_key(&handle) { BAD_STATEID } else { BADHANDLE }
    }

    /// Returns the delegations that the server wants back, before any other request.
    pub(super) fn return_due(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        if self.leaving {
            return;
        }
        while let Some(delegations) = &mut self.delegations
            && let Some(handle) = delegations.due.pop()
        {
            let Some(&Held { state, base, .. }) = delegations.held.get(&handle) else { continue };
            delegations.unwanted.push(Returning { handle, state, base, frees: false });
        }
        while let Some(delegations) = &mut self.delegations
            && let Some(returning) = delegations.unwanted.pop()
        {
            let job = self.jobs.add(Job::unasked(None, Goal::Return(returning)));
            self.advance(job, now, out, events);
        }
        while let Some(base) = self.delegations.as_mut().and_then(|delegations| delegations.unused.pop()) {
            let mut job = Job::unasked(None, Goal::Null);
            self.close_unused(base, &mut job);
            if job.reply.is_none() {
                let job = self.jobs.add(job);
                self.advance(job, now, out, events);
            }
        }
        while let Some((handle, open)) = self.delegations.as_mut().and_then(|delegations| delegations.surplus.pop()) {
            let Open { state, owner, .. } = open;
            let job = self.jobs.add(Job::unasked(None, Goal::Close { handle, state, owner, lost: false }));
            self.advance(job, now, out, events);
        }
        self.test_delegations(now, out, events);
    }

    /// A request of a return succeeded.
    pub(super) fn returned(&mut self, job: &mut Job, at: i64) {
        let Goal::Return(Returning { handle, state, base, frees }) = job.goal else { return };
        if let Some(delegations) = self.delegations.as_mut().filter(|_| !frees) {
            delegations.returned(&handle, &state, at);
        }
        self.close_unused(base, job);
    }

    /// The server refused a request of a return. A delegation that it has revoked it forgets only on request.
    pub(super) fn return_refused(&mut self, job: &mut Job, status: u32, at: i64) {
        let Goal::Return(Returning { handle, state, base, frees }) = &mut job.goal else { return };
        let (handle, state, base) = (*handle, *state, *base);
        if let Some(delegations) = self.delegations.as_mut().filter(|_| !*frees) {
            match job.again && TAKEN_BACK.contains(&status) {
                true => delegations.returned(&handle, &state, at),
                false => delegations.not_returned(&handle, &state, true),
            }
            *frees = REVOKED.contains(&status);
            if *frees {
                return;
            }
        }
        self.close_unused(base, job);
    }

    /// Closes the open that a delegation came with, if no file shares it. Otherwise the job is done. A client that leaves closes it later.
    fn close_unused(&mut self, base: FileKey, job: &mut Job) {
        let delegations = self.delegations.as_mut().filter(|_| !self.leaving);
        let shared = delegations.map(|delegations| &mut delegations.shared);
        let open = shared.and_then(|shared| {
            shared.get(&base).filter(|shared| shared.files == 0 && !shared.held)?;
            shared.remove(&base);
            let file = self.files.remove(base)?;
            file.open.map(|open| (file.handle, open))
        });
        match open {
            Some((handle, Open { state, owner, .. })) => job.goal = Goal::Close { handle, state, owner, lost: false },
            None => job.reply = Some(Reply::Nothing),
        }
    }

    /// A return failed for good.
    pub(super) fn return_failed(&mut self, returning: &Returning) {
        if let Some(delegations) = &mut self.delegations {
            if !returning.frees {
                delegations.not_returned(&returning.handle, &returning.state, false);
            }
            delegations.unused.push(returning.base);
        }
    }

    /// The server has lost the client's state, and its delegations with it. They are not reclaimed.
    pub(super) fn lose_delegations(&mut self) {
        let Some(delegations) = &mut self.delegations else { return };
        for (handle, Held { state, base, .. }) in delegations.in_order() {
            delegations.release(&handle, &state);
            delegations.unused.push(base);
            delegations.counts.lost += 1;
        }
        delegations.due.clear();
        delegations.unwanted.clear();
        for job in self.jobs.iter_mut().filter(|job| matches!(job.goal, Goal::Return(_) | Goal::Test(_))) {
            job.reply = Some(Reply::Nothing);
        }
    }
}
