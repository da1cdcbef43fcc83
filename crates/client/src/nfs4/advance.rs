//! The next request of a job.

use plimsoll_model::{Outcome, Symbol};
use plimsoll_wire::nfs::v3::write::Stable;
use plimsoll_wire::nfs::v4::access::{ALL_RIGHTS, Access};
use plimsoll_wire::nfs::v4::close::{FreeState, ReturnDelegation};
use plimsoll_wire::nfs::v4::create::{Create, Kind};
use plimsoll_wire::nfs::v4::getattr::{ChangeAttributes, GetAttributes};
use plimsoll_wire::nfs::v4::lock::{Lock, Unlock};
use plimsoll_wire::nfs::v4::names::{Link, Lookup, Remove, Rename};
use plimsoll_wire::nfs::v4::open::{self, Claim, How, Open};
use plimsoll_wire::nfs::v4::putfh::PutHandle;
use plimsoll_wire::nfs::v4::read::Read;
use plimsoll_wire::nfs::v4::read_plus::ReadPlus;
use plimsoll_wire::nfs::v4::readdir::ReadDir;
use plimsoll_wire::nfs::v4::sequence::Sequence;
use plimsoll_wire::nfs::v4::write::{Commit, Write};
use plimsoll_wire::nfs::v4::{FileHandle, GetHandle, Mask, ReadLink, Save, SetAttributes, StateId};

use super::client::Nfs4Client;
use super::delegations::Returning;
use super::job::{Connecting, Goal, Job, LATER, Leaving, Opening};
use super::owners::Sequenced;
use super::sending::Moved;
use super::shapes;
use super::uncommitted::Piece;
use crate::client::Events;
use crate::nfs::{JobId, never_sent};
use crate::operation::{Cause, Disposition, Done, Failure, FileKey, Tag};
use crate::outbox::Outbox;
use crate::rpc::Data;

/// Permission bits of new files: umask 022.
const FILE_MODE: u32 = 0o644;
/// Permission bits of new directories.
const DIRECTORY_MODE: u32 = 0o755;

/// Maximum number of strings kept for reuse.
const SPARE: usize = 16;
/// Maximum size of a string kept for reuse, bytes.
const SPARE_LENGTH: usize = 256;

impl Nfs4Client {
    /// Sends the next request of a job, or ends the job if none is left.
    pub(super) fn advance(&mut self, id: JobId, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let Some(mut job) = self.jobs.take(id) else { return };
        self.step_recovery(id, &mut job, now);
        if let Goal::Connect(Connecting::Join) = job.goal
            && !job.is_resting()
        {
            self.join(id, &mut job, now);
        }
        // Other connections are still using the session.
        if let (Goal::Leave(Leaving::Session), false) = (&job.goal, self.last.of_session) {
            self.leave_context(&mut job);
        }
        while job.has_more() {
            if self.holds_back(&job) || self.waits_for_owner(&job) || self.connection.room() == 0 {
                // A recovery takes the first free place, and so does the return of a delegation.
                let first = matches!(job.goal, Goal::Recover(_) | Goal::Return(_));
                self.hold(id, &mut job, now, first);
                break;
            }
            if self.connection.needs_context() {
                let calling = Calling { client: self, id, now, out, slot: None, resent: false, sequenced: None };
                job.pending += u32::from(calling.begin_context(&mut job));
                break;
            }
            let slot = match job.needs_no_slot() || self.options.is_sessionless() {
                true => None,
                false => match self.session.take(false) {
                    None => {
                        self.wait_for_slot(id, &mut job, now);
                        break;
                    }
                    slot => slot,
                },
            };
            let sent = Calling { client: self, id, now, out, slot, resent: false, sequenced: None }.next(&mut job);
            if sent {
                job.pending += 1;
                continue;
            }
            // The job had no request to send.
            if let Some(slot) = slot {
                self.session.free(slot.slot, false);
            }
            break;
        }
        if job.pending > 0 || job.waits || job.is_resting() {
            return self.jobs.put(id, job);
        }
        if job.reply.is_none() {
            job.fail(match job.goal {
                // The state that it needs was lost while it waited for a session.
                Goal::Lock { file, .. } | Goal::Unlock { file, .. } => {
                    never_sent(None, self.files.get(file).map_or(Cause::Unsupported, |_| Cause::SessionLost))
                }
                // All responses have arrived, but none contained the expected result.
                _ => Failure { procedure: None, status: None, outcome: Outcome::Failed, cause: Cause::Malformed },
            });
        }
        if let (Goal::Recover(recovery), None) = (&job.goal, &job.failure) {
            self.recovery = None;
            self.go_on(recovery, now, out);
        }
        self.end(id, job, now, events);
    }

    /// Ends a job that was removed from the table.
    pub(super) fn end(&mut self, id: JobId, mut job: Box<Job>, at: i64, events: &mut dyn Events) {
        if job.waits {
            self.waiting.retain(|(waits, _)| *waits != id);
        }
        if job.is_resting() {
            self.resting.retain(|(_, rests)| *rests != id);
        }
        if job.failure.is_some() && job.tag.is_some_and(|tag| tag != Tag::CONNECT) {
            self.recovered_at = None;
        }
        match &job.goal {
            // The file was not opened, so the owner is free for another file.
            Goal::Open(Opening { owner: Some(owner), .. }) if job.failure.is_some() => self.owners.give_back(*owner),
            Goal::Lock { opens: Some((owner, _)), .. } => self.owners.give_back(*owner),
            Goal::Close { owner, .. } => self.owners.give_back(*owner),
            Goal::Return(returning) if job.failure.is_some() => self.return_failed(returning),
            Goal::Test(_) if job.failure.as_ref().is_some_and(was_refused) => self.test_refused(),
            // Without a recovered session no other request can be sent.
            Goal::Recover(_) => {
                self.recovery = None;
                self.doomed = job.failure.as_ref().map(|failure| failure.cause);
            }
            _ => {}
        }
        self.to_retransmit.retain(|one| one.job != id);
        let done = job.tag.map(|tag| Done { tag, at, result: job.result() });
        for mut walk in job.walks.iter_mut().filter_map(Option::take) {
            if self.spare.len() < SPARE && walk.path.len() <= SPARE_LENGTH {
                walk.path.clear();
                self.spare.push(walk.path);
            }
        }
        self.jobs.release(id, job);
        if let Some(done) = done {
            events.done(done);
        }
    }
}

/// Whether the server refused a request for good. One that it put off until the operation timed out it may execute another time.
fn was_refused(failure: &Failure) -> bool {
    failure.status.is_some_and(|status| !LATER.contains(&status))
}

/// A call of a job before it is sent.
pub(super) struct Calling<'a> {
    pub(super) client: &'a mut Nfs4Client,
    pub(super) id: JobId,
    pub(super) now: i64,
    pub(super) out: &'a mut Outbox,
    /// Its slot.
    pub(super) slot: Option<Sequence>,
    /// It was sent before, on a connection that was lost.
    pub(super) resent: bool,
    /// The sequence IDs that it uses, in 4.0.
    pub(super) sequenced: Option<Sequenced>,
}

impl Calling<'_> {
    /// The next LOOKUP of a path, or the call of the operation itself. False if there is nothing to send.
    pub(super) fn next(&mut self, job: &mut Job) -> bool {
        let Some(walk) = job.walking() else { return self.act(job) };
        let Some(part) = walk.part() else { return false };
        // A handle of an intermediate directory belongs to another path than the operation's.
        let path = if walk.whole && part.end == walk.path.len() { job.path } else { Symbol::NONE };
        let name = walk.path.get(part).unwrap_or_default().as_bytes();
        let moved = Moved { files: [Some(self.identity(&walk.handle)), None], ..Moved::default() };
        self.send_about(shapes::LOOK_UP, path, job.intended, moved, |compound| {
            compound.add(&PutHandle(&walk.handle)).add(&Lookup { name }).add(&GetHandle);
            compound.add(&GetAttributes(Mask::USUAL));
        })
    }

    /// The call of the operation itself.
    fn act(&mut self, job: &mut Job) -> bool {
        let root = self.client.handles.root();
        match &job.goal {
            Goal::Connect(stage) => self.connect(*stage, job),
            Goal::Leave(leaving) => self.leave(leaving, job),
            Goal::Recover(recovery) => self.recover(recovery, job),
            Goal::Null => self.send(shapes::NULL, job.path, job.intended, |_| {}),
            Goal::Renew => self.renew(),
            Goal::Return(returning) => self.give_back(returning, job),
            Goal::Test(states) => self.test(states),
            Goal::Space => self.about(shapes::GET_ATTRIBUTES, &root, job, |compound| {
                compound.add(&GetAttributes(Mask::OF_FILE_SYSTEM));
            }),
            Goal::GetAttributesOf(handle) => self.about(shapes::GET_ATTRIBUTES, handle, job, |compound| {
                compound.add(&GetAttributes(Mask::USUAL));
            }),
            Goal::Set(handle, file, attributes) => {
                let state = self.client.state_of(*file);
                self.about(shapes::SET_ATTRIBUTES, handle, job, |compound| {
                    compound.add(&ChangeAttributes { state, attributes: *attributes });
                })
            }
            Goal::Rewrite { file, handle, pieces, .. } => self.rewrite(*file, handle, pieces, job),
            Goal::Flush(_, handle, _) => self.about(shapes::COMMIT_FILE, handle, job, |compound| {
                compound.add(&Commit);
            }),
            &Goal::Close { handle, state, owner, .. } => self.close(&handle, state, owner, job),
            Goal::Lock { .. } | Goal::Unlock { .. } => self.lock(job),
            Goal::Read { .. } | Goal::Write { .. } => self.transfer(job),
            Goal::Open(_) => self.open(job),
            Goal::Copy(_) => self.copy(job),
            Goal::OnRange { .. } => self.on_range(job),
            _ => self.act_on_path(job),
        }
    }

    /// The call of an operation whose paths have been looked up.
    fn act_on_path(&mut self, job: &Job) -> bool {
        let [Some(walk), second] = &job.walks else { return false };
        let (handle, name) = (&walk.handle, walk.name());
        match &job.goal {
            Goal::GetAttributes | Goal::OpenDirectory { makes: false } => {
                self.about(shapes::GET_ATTRIBUTES, handle, job, |compound| {
                    compound.add(&GetAttributes(Mask::USUAL));
                })
            }
            Goal::MakeDirectory | Goal::OpenDirectory { makes: true } => {
                self.make(Kind::Directory, SetAttributes::mode(DIRECTORY_MODE), handle, name, job)
            }
            Goal::SymbolicLink(text) => self.make(Kind::Link(text), SetAttributes::default(), handle, name, job),
            Goal::Lookup => self.about(shapes::LOOK_UP, handle, job, |compound| {
                compound.add(&Lookup { name }).add(&GetHandle).add(&GetAttributes(Mask::USUAL));
            }),
            Goal::SetMode(mode) => self.about(shapes::SET_ATTRIBUTES, handle, job, |compound| {
                let attributes = SetAttributes::mode(*mode);
                compound.add(&ChangeAttributes { state: StateId::ANONYMOUS, attributes });
            }),
            Goal::Access => self.about(shapes::CHECK_ACCESS, handle, job, |compound| {
                compound.add(&Access { rights: ALL_RIGHTS });
            }),
            Goal::ReadLink => self.about(shapes::READ_LINK, handle, job, |compound| {
                compound.add(&ReadLink);
            }),
            Goal::List { cookie, verifier, attributes, .. } => {
                let (cookie, verifier, attributes) = (*cookie, *verifier, *attributes);
                let count = self.client.agreed.directory;
                self.about(shapes::READ_DIRECTORY, handle, job, |compound| {
                    compound.add(&ReadDir { cookie, verifier, directory_count: count, count, attributes });
                })
            }
            Goal::Remove => self.about(shapes::REMOVE_NAME, handle, job, |compound| {
                compound.add(&Remove { name });
            }),
            Goal::Rename | Goal::Link => {
                let Some(to) = second else { return false };
                let renames = matches!(job.goal, Goal::Rename);
                let shape = if renames { shapes::RENAME_NAME } else { shapes::LINK_NAME };
                let files = [handle, &to.handle].map(|handle| Some(self.identity(handle)));
                let moved = Moved { files, ..Moved::default() };
                self.send_about(shape, job.path, job.intended, moved, |compound| {
                    compound.add(&PutHandle(handle)).add(&Save).add(&PutHandle(&to.handle));
                    match renames {
                        true => compound.add(&Rename { from: name, to: to.name() }),
                        false => compound.add(&Link { name: to.name() }),
                    };
                })
            }
            _ => false,
        }
    }

    fn make(&mut self, kind: Kind<'_>, attributes: SetAttributes, handle: &FileHandle, name: &[u8], job: &Job) -> bool {
        self.about(shapes::MAKE, handle, job, |compound| {
            compound.add(&Create { kind, name, attributes }).add(&GetHandle).add(&GetAttributes(Mask::USUAL));
        })
    }

    /// Opens a file. Returns an unwanted delegation, and truncates the file if OPEN cannot.
    fn open(&mut self, job: &mut Job) -> bool {
        let (Goal::Open(opening), Some(walk)) = (&mut job.goal, &job.walks[0]) else { return false };
        if let (Some((handle, state, _)), true, Some(owner)) = (opening.opened, opening.unconfirmed, opening.owner) {
            return self.confirm_open(&handle, state, owner, job);
        }
        if let Some((handle, state, _)) = opening.opened {
            let delegation = opening.delegation;
            return match delegation {
                Some(state) => self.about(shapes::RETURN_DELEGATION, &handle, job, |compound| {
                    compound.add(&ReturnDelegation { state });
                }),
                None => self.about(shapes::SET_ATTRIBUTES, &handle, job, |compound| {
                    compound.add(&ChangeAttributes { state, attributes: SetAttributes::size(0) });
                }),
            };
        }
        if opening.any && walk.attributes.is_none() {
            let handle = walk.handle;
            return self.about(shapes::GET_ATTRIBUTES, &handle, job, |compound| {
                compound.add(&GetAttributes(Mask::USUAL));
            });
        }
        if opening.any && self.client.options.is_sessionless() {
            opening.any = false;
            job.walks[0].iter_mut().for_each(|walk| self.client.back_to_directory(walk));
            return self.next(job);
        }
        let owner = *opening.owner.get_or_insert_with(|| self.client.owners.take());
        let fresh = SetAttributes::mode(FILE_MODE);
        let how = match opening.disposition {
            Disposition::OpenExisting | Disposition::Truncate => How::Existing,
            Disposition::CreateNew => How::Guarded(fresh),
            Disposition::OpenOrCreate => How::Unchecked(fresh),
            Disposition::CreateOrTruncate | Disposition::Replace => {
                How::Unchecked(SetAttributes { size: Some(0), ..fresh })
            }
        };
        let claim = if opening.any { Claim::Current } else { Claim::Name(walk.name()) };
        let (access, client) = (self.share_access(opening.access), self.client.client_id.0);
        let (sequence, name) = (self.open_sequence(owner), self.client.owners.name(owner));
        let shape = if opening.any { shapes::OPEN_HANDLE } else { shapes::OPEN_NAME };
        self.about(shape, &walk.handle, job, |compound| {
            compound.add(&Open { access, sequence, client, owner: &name, how, claim });
            if shape == shapes::OPEN_NAME {
                compound.add(&GetHandle);
            }
            compound.add(&GetAttributes(Mask::USUAL));
        })
    }

    /// Returns a delegation, or makes the server forget one that it has revoked.
    fn give_back(&mut self, returning: &Returning, job: &Job) -> bool {
        let Returning { handle, state, frees, .. } = *returning;
        if frees {
            return self.send(shapes::FREE_STATE, Symbol::NONE, None, |compound| {
                compound.add(&FreeState { state });
            });
        }
        self.about(shapes::RETURN_DELEGATION, &handle, job, |compound| {
            compound.add(&ReturnDelegation { state });
        })
    }

    /// Opens a file that was opened under a delegation, because a lock needs an open with a separate owner.
    fn open_to_lock(&mut self, job: &mut Job) -> bool {
        let Goal::Lock { file, opens, .. } = &mut job.goal else { return false };
        let (owner, handle) = match *opens {
            // The OPEN may have been sent before, so it is sent again even if the file was closed meanwhile.
            Some(opens) => opens,
            None => {
                let Some(handle) = self.client.files.get(*file).map(|file| file.handle) else { return false };
                *opens.insert((self.client.owners.take(), handle))
            }
        };
        let (name, client) = (self.client.owners.name(owner), self.client.client_id.0);
        let access = open::READ | open::NO_DELEGATION;
        self.about(shapes::OPEN_HANDLE, &handle, job, |compound| {
            let (how, claim) = (How::Existing, Claim::Current);
            compound.add(&Open { access, sequence: 0, client, owner: &name, how, claim });
            compound.add(&GetAttributes(Mask::USUAL));
        })
    }

    fn lock(&mut self, job: &mut Job) -> bool {
        let (Goal::Lock { file, range, .. } | Goal::Unlock { file, range }) = job.goal else { return false };
        if matches!(job.goal, Goal::Lock { opens: Some(_), .. }) {
            return self.open_to_lock(job);
        }
        let Some(file) = self.client.files.get(file) else { return false };
        let (handle, lock, open) = (file.handle, file.lock, file.open);
        if open.is_none() && file.base.is_some() {
            return self.open_to_lock(job);
        }
        let (offset, length) = range;
        match (&job.goal, open, lock) {
            (Goal::Unlock { .. }, Some(open), Some(state)) => {
                let sequence = self.lock_sequence(open.owner);
                self.about(shapes::UNLOCK_RANGE, &handle, job, |compound| {
                    compound.add(&Unlock { state, sequence, offset, length });
                })
            }
            (&Goal::Lock { exclusive, waits, .. }, Some(open), known) => {
                let name = self.client.owners.name(open.owner);
                let owner = self.lock_owner(open, known, &name);
                self.about(shapes::LOCK_RANGE, &handle, job, |compound| {
                    compound.add(&Lock { exclusive, waits, reclaim: false, offset, length, owner });
                })
            }
            _ => false,
        }
    }

    /// Repeats a write that the server has lost.
    fn rewrite(&mut self, file: FileKey, handle: &FileHandle, pieces: &[Piece], job: &Job) -> bool {
        let Some(Piece { offset, length, key, content }) = pieces.last() else { return false };
        let (offset, count) = (*offset, (*length).min(self.client.agreed.write));
        let state = self.client.state_of(file);
        let data = Some(Data { content, key: *key, offset, length: count });
        let moved = Moved { files: [Some(self.identity(handle)), None], offset, count, keep: false, data };
        self.send_about(shapes::WRITE_DATA, job.path, job.intended, moved, |compound| {
            compound.add(&PutHandle(handle)).add(&Write { state, offset, count, stable: Stable::Unstable });
        })
    }

    /// The next request of a transfer.
    fn transfer(&mut self, job: &mut Job) -> bool {
        let (path, intended) = (job.path, job.intended);
        let agreed = self.client.agreed;
        let (Goal::Read { file, .. } | Goal::Write { file, .. }) = job.goal else { return false };
        // If the file was closed in the meantime, read the rest with the anonymous state ID.
        let state = self.client.state_of(file);
        match &mut job.goal {
            Goal::Read { transfer, keep, plus, .. } => {
                let Some((offset, count)) = transfer.take(agreed.read) else { return false };
                let files = [Some(self.identity(&transfer.handle)), None];
                let moved = Moved { files, offset, count, keep: *keep, data: None };
                let (shape, plus) = if *plus { (shapes::READ_PLUS, true) } else { (shapes::READ_DATA, false) };
                self.send_about(shape, path, intended, moved, |compound| {
                    compound.add(&PutHandle(&transfer.handle));
                    match plus {
                        true => compound.add(&ReadPlus { state, offset, count }),
                        false => compound.add(&Read { state, offset, count }),
                    };
                })
            }
            Goal::Write { transfer, content, key, stable, .. } => {
                let Some((offset, count)) = transfer.take(agreed.write) else { return false };
                let data = Some(Data { content, key: *key, offset, length: count });
                let files = [Some(self.identity(&transfer.handle)), None];
                let (moved, stable) = (Moved { files, offset, count, keep: false, data }, *stable);
                self.send_about(shapes::WRITE_DATA, path, intended, moved, |compound| {
                    compound.add(&PutHandle(&transfer.handle)).add(&Write { state, offset, count, stable });
                })
            }
            _ => false,
        }
    }
}
