//! Opens that need no request because of a delegation, and closes of files that share an open.

use plimsoll_wire::nfs::v4::open::{self, Delegation};
use plimsoll_wire::nfs::v4::{FileHandle, StateId};

use super::{Held, Returning, Shared};
use crate::nfs4::file::{File, Open};
use crate::nfs4::job::Job;
use crate::nfs4::open_state::OpenState;
use crate::operation::{Cause, Disposition, Failure, FileKey, Reply};

/// Maximum number of delegations that a client holds: of more files it caches no handles, so it could not use them.
const MOST: usize = 4_096;

impl OpenState {
    /// Access of an OPEN, which asks for a read delegation if the client wants another one and the file exists and is only read.
    pub(in crate::nfs4) fn wanting(&self, access: u32, disposition: Disposition) -> u32 {
        let wants = self.delegations.as_ref().is_some_and(|delegations| delegations.held.len() < MOST);
        match (access, disposition) {
            (open::READ, Disposition::Open) if wants => access | open::READ_DELEGATION,
            _ => access | open::NO_DELEGATION,
        }
    }

    /// Sorts a delegation that came with an OPEN: `Some(Ok)` to hold it, `Some(Err)` to return it.
    pub(in crate::nfs4) fn sort_delegation(
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
    pub(in crate::nfs4) fn opened_with(&mut self, handle: &FileHandle, delegation: Option<Delegation>, file: FileKey) {
        if let Some(Err(unwanted)) = self.sort_delegation(handle, open::READ, delegation)
            && let Some(delegations) = &mut self.delegations
        {
            delegations.unwanted.push(Returning { handle: *handle, state: unwanted, base: file, frees: false });
        }
    }

    /// A file was opened with a delegation: its open is shared from now on.
    pub(in crate::nfs4) fn open_delegated(&mut self, job: &mut Job, file: File, state: StateId, size: u64) {
        let handle = file.handle;
        let keys = self.files.add(file).and_then(|base| Some((base, self.files.add(File::sharing(handle, base))?)));
        let (Some((base, file)), Some(delegations)) = (keys, &mut self.delegations) else {
            return job.fail(Failure::never_sent(Cause::OutOfResources));
        };
        delegations.counts.granted += 1;
        delegations.held.insert(handle, Held { state, base, recalled: None, returning: false });
        delegations.shared.insert(base, Shared { files: 1, held: true });
        job.reply = Some(Reply::Opened { file, size: Some(size) });
    }

    /// Opens a file for reading without a request, if there is a delegation for it.
    pub(in crate::nfs4) fn open_locally(&mut self, handle: &FileHandle) -> Option<Result<Reply, Failure>> {
        let delegations = self.delegations.as_mut()?;
        let base = delegations.held.get(handle).filter(|held| !held.returning)?.base;
        let Some(file) = self.files.add(File::sharing(*handle, base)) else {
            return Some(Err(Failure::never_sent(Cause::OutOfResources)));
        };
        delegations.shared.get_mut(&base).into_iter().for_each(|shared| shared.files += 1);
        delegations.counts.local_opens += 1;
        Some(Ok(Reply::Opened { file, size: None }))
    }

    /// Whether closing this file needs no request: it has no open on the server, or shares one that is still needed.
    pub(in crate::nfs4) fn closes_locally(&self, file: &File) -> bool {
        // The server may have lost the shared open.
        let is_open = |base| self.files.get(base).is_some_and(|file| file.open.is_some());
        match (file.open, file.base, &self.delegations) {
            (Some(_), ..) => false,
            (None, Some(base), Some(delegations)) => !delegations.is_last(base) || !is_open(base),
            _ => true,
        }
    }

    /// A file that was closed shared an open: the open, if it must be closed as well.
    pub(in crate::nfs4) fn close_shared(&mut self, base: Option<FileKey>) -> Option<Open> {
        let base = base?;
        let delegations = self.delegations.as_mut()?;
        if !delegations.closed(base) {
            return None;
        }
        delegations.shared.remove(&base);
        self.files.remove(base)?.open
    }

    /// A file that shared an open was opened on the server.
    pub(in crate::nfs4) fn opened_alone(&mut self, base: Option<FileKey>) {
        if let Some((base, delegations)) = base.zip(self.delegations.as_mut())
            && delegations.closed(base)
        {
            delegations.unused.push(base);
        }
    }

    /// An open for a lock is not used: it must be closed.
    pub(in crate::nfs4) fn close_surplus(&mut self, handle: FileHandle, open: Open) {
        self.delegations.iter_mut().for_each(|delegations| delegations.surplus.push((handle, open)));
    }
}
