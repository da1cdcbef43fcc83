//! What differs in 4.0, which has no sessions: separate operations confirm and renew the client ID, a new open-owner confirms its
//! first open, and owners have sequence IDs (see `owners`). Nothing but the connection limits the number of outstanding requests.
//!
//! Each connection has a separate client ID. A lost connection ends no operation: RENEW tells on the next one whether the server still
//! knows the client, and requests without a response are sent again, those of owners with the same sequence IDs. Where the server has
//! lost the state (STALE_CLIENTID, STALE_STATEID, EXPIRED), the client gets another client ID and claims its files and locks, or opens them
//! anew by their names.
//!
//! Spec: RFC 7530 9.1, RFC 7530 9.6, RFC 7530 16.33

use plimsoll_model::Symbol;
use plimsoll_wire::nfs::status::{NFS4ERR_BAD_SEQID, NFS4ERR_EXPIRED, NFS4ERR_STALE_CLIENTID, NFS4ERR_STALE_STATEID};
use plimsoll_wire::nfs::v4::client_id::{ConfirmOpen, Renew, SetClientId};
use plimsoll_wire::nfs::v4::close::Close;
use plimsoll_wire::nfs::v4::lock::Owner;
use plimsoll_wire::nfs::v4::open::NO_DELEGATION;
use plimsoll_wire::nfs::v4::{FileHandle, StateId};

use super::client::Nfs4Client;
use super::file::{File, Open};
use super::job::{Goal, Job, Leaving, Walk};
use super::owners::Sequenced;
use super::recovery::Recovery;
use super::request_context::RequestContext;
use super::requests::Calling;
use super::results::Results;
use super::set_up::CALLBACK;
use super::shapes;
use crate::calls::Call;

/// Statuses after which the client needs another client ID. EXPIRED: the server may still know the client ID, but has dropped its state.
pub(super) const STATE_LOST: [u32; 3] = [NFS4ERR_EXPIRED, NFS4ERR_STALE_CLIENTID, NFS4ERR_STALE_STATEID];

impl Calling<'_> {
    fn is_sessionless(&self) -> bool {
        self.client.options.is_sessionless()
    }

    pub(super) fn set_client_id(&mut self) -> bool {
        let (owner, verifier) = self.client.client_id.name();
        self.send(shapes::SET_CLIENT_ID, Symbol::NONE, None, |compound| {
            compound.add(&SetClientId { verifier, owner: &owner, callback: CALLBACK });
        })
    }

    pub(super) fn confirm_client_id(&mut self) -> bool {
        let unconfirmed = self.client.client_id.unconfirmed();
        self.send(shapes::CONFIRM_CLIENT_ID, Symbol::NONE, None, |compound| {
            compound.add(&unconfirmed);
        })
    }

    pub(super) fn renew(&mut self) -> bool {
        let client = self.client.client_id.number();
        if !self.is_sessionless() {
            return self.send(shapes::RENEWAL, Symbol::NONE, None, |_| {});
        }
        self.send(shapes::RENEW_LEASE, Symbol::NONE, None, |compound| {
            compound.add(&Renew(client));
        })
    }

    pub(super) fn confirm_open(&mut self, handle: &FileHandle, state: StateId, owner: u32, job: &Job) -> bool {
        let sequence = self.open_sequence(owner);
        self.about(shapes::CONFIRM_OPEN, handle, job, |compound| {
            compound.add(&ConfirmOpen { state, sequence });
        })
    }

    pub(super) fn close(&mut self, handle: &FileHandle, state: StateId, owner: u32, job: &Job) -> bool {
        let sequence = self.open_sequence(owner);
        self.about(shapes::CLOSE_FILE, handle, job, |compound| {
            compound.add(&Close { state, sequence });
        })
    }

    /// The open-owner's sequence ID of this request; 0 with sessions.
    pub(super) fn open_sequence(&mut self, owner: u32) -> u32 {
        self.sequences(Sequenced::Open(owner)).0
    }

    /// The lock-owner's sequence ID of this request; 0 with sessions.
    pub(super) fn lock_sequence(&mut self, owner: u32) -> u32 {
        self.sequences(Sequenced::Lock(owner)).1
    }

    /// The sequence IDs of this request, of the open-owner and of the lock-owner; 0 with sessions.
    fn sequences(&mut self, sequenced: Sequenced) -> (u32, u32) {
        self.sequenced = self.is_sessionless().then_some(sequenced);
        self.sequenced.map_or((0, 0), |sequenced| self.client.opens.owners.next(sequenced))
    }

    /// The lock-owner of an open file.
    pub(super) fn lock_owner<'n>(&mut self, open: Open, lock: Option<StateId>, name: &'n [u8]) -> Owner<'n> {
        if let Some(state) = lock {
            return Owner::Known(state, self.lock_sequence(open.owner));
        }
        let sequences = self.sequences(Sequenced::FirstLock(open.owner));
        Owner::New { open: open.state, sequences, client: self.client.client_id.number(), owner: name }
    }

    /// An OPEN's access mode as this version encodes it.
    pub(super) fn share_access(&self, access: u32) -> u32 {
        if self.is_sessionless() { access & !NO_DELEGATION } else { access }
    }
}

impl Nfs4Client {
    /// Whether another request may be sent.
    pub(super) fn has_room(&self) -> bool {
        self.connection.room() > 0
            && !self.resends_first()
            && (self.options.is_sessionless() || self.session.has_room())
    }

    /// The server's state ID as later requests send it. With sessions, 0 in place of its number stands for the latest.
    pub(super) fn as_sent(&self, state: StateId) -> StateId {
        if self.options.is_sessionless() { state } else { state.latest() }
    }

    /// SETCLIENTID_CONFIRM succeeded.
    pub(super) fn confirmed(&mut self) {
        self.session = self.session.without_slots();
    }

    /// The steps of a recovery that 4.0 lacks: a client ID is confirmed right after it was given, and no request ends the claims.
    pub(super) fn skip_steps(&self, recovery: &mut Recovery) {
        use super::recovery::Stage;
        match recovery.stage {
            Stage::Create if !recovery.identified => recovery.stage = Stage::Identify,
            Stage::Complete => recovery.completed(),
            _ => {}
        }
    }

    /// Where a file was opened: needed to open it anew, because 4.0 opens no file by its handle.
    pub(super) fn place_of(&self, walk: &Walk) -> Option<Box<(FileHandle, Box<[u8]>)>> {
        self.options.is_sessionless().then(|| Box::new((walk.handle, walk.name().into())))
    }

    /// The path leads to a file that is to be opened by its name: looks its directory up.
    pub(super) fn back_to_directory(&mut self, walk: &mut Walk) {
        let path = std::mem::take(&mut walk.path);
        let (at, handle) = self.paths.handles.longest(&path, false);
        *walk = Walk::new(path, false, at, handle);
    }

    /// Whether a job must wait, because its owner has an outstanding request, or another lock of its file opens the file.
    pub(super) fn waits_for_owner(&self, job: &Job) -> bool {
        if let Goal::Lock { file, opens: None, .. } = job.goal
            && self.opens.files.get(file).is_some_and(|file| file.open.is_none() && file.base.is_some())
        {
            let opens = |one: &Job| matches!(one.goal, Goal::Lock { file: same, opens: Some(_), .. } if same == file);
            return self.jobs.iter().any(opens);
        }
        let of_file = |file| self.opens.files.get(file).and_then(|file: &File| file.open).map(|open| open.owner);
        let owner = match job.goal {
            Goal::Close { owner, .. } => Some(owner),
            Goal::Lock { file, .. } | Goal::Unlock { file, .. } => of_file(file),
            _ => None,
        };
        // A job that sends its request of before again is not in its own way.
        job.unanswered.is_none() && owner.is_some_and(|owner| self.opens.owners.is_busy(owner))
    }

    /// Whether a refused CLOSE is sent again, because the server has not executed the LOCK whose sequence ID this CLOSE left out.
    /// Without that, the file stays open until the lease ends.
    pub(super) fn closes_with_left_out_id(&mut self, job: &Job, status: u32) -> bool {
        let owner = match &job.goal {
            Goal::Close { owner, .. } => Some(*owner),
            Goal::Leave(Leaving::Files(files)) => files.last().map(|&(_, _, owner)| owner),
            _ => None,
        };
        status == NFS4ERR_BAD_SEQID && owner.is_some_and(|owner| self.opens.owners.use_left_out(owner))
    }

    /// Counts the sequence IDs of an answered request. `understood`: the response made sense.
    pub(super) fn count_sequence(&mut self, call: &Call<RequestContext>, results: &Results, understood: bool) {
        let Some(request) = call.context.owned else { return };
        if !understood {
            return self.opens.owners.lose(request);
        }
        let place = shapes::principal(call.context.operations());
        self.opens.owners.answered(request, results.of(place));
    }
}
