//! The next request of a job.

use plimsoll_model::Symbol;
use plimsoll_wire::nfs::v4::access::{ALL_RIGHTS, Access};
use plimsoll_wire::nfs::v4::create::{Create, Kind};
use plimsoll_wire::nfs::v4::getattr::{ChangeAttributes, GetAttributes};
use plimsoll_wire::nfs::v4::names::{Link, Lookup, Remove, Rename};
use plimsoll_wire::nfs::v4::putfh::PutHandle;
use plimsoll_wire::nfs::v4::readdir::ReadDir;
use plimsoll_wire::nfs::v4::sequence::Sequence;
use plimsoll_wire::nfs::v4::write::Commit;
use plimsoll_wire::nfs::v4::{FileHandle, GetHandle, Mask, ReadLink, Save, SetAttributes, StateId};

use super::client::Nfs4Client;
use super::job::{Goal, Job};
use super::owners::Sequenced;
use super::sending::Moved;
use super::shapes;
use crate::jobs::JobId;
use crate::operation::{Cause, Failure};
use crate::outbox::Outbox;

/// Permission bits of new directories.
const DIRECTORY_MODE: u32 = 0o755;

/// A call of a job before it is sent.
pub(super) struct Calling<'a> {
    pub(super) client: &'a mut Nfs4Client,
    pub(super) id: JobId,
    pub(super) now: i64,
    pub(super) out: &'a mut Outbox,
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
        // A request that is sent again in its slot must be the same one.
        if !self.resent && self.client.lacks_open(&job.goal) {
            job.fail(Failure::never_sent(Cause::SessionLost));
            return false;
        }
        match &job.goal {
            Goal::Connect(stage) => self.connect(*stage, job),
            Goal::Leave(leaving) => self.leave(leaving, job),
            Goal::Recover(recovery) => self.recover(recovery, job),
            Goal::Null => self.send(shapes::NULL, job.path, job.intended, |_| {}),
            Goal::Renew => self.renew(),
            Goal::Return(returning) => self.give_back(returning, job),
            Goal::Test(states) => self.test(states),
            Goal::Space => {
                let root = self.client.paths.handles.root();
                self.about(shapes::GET_ATTRIBUTES, &root, job, |compound| {
                    compound.add(&GetAttributes(Mask::OF_FILE_SYSTEM));
                })
            }
            Goal::GetAttributesOf(handle) => self.about(shapes::GET_ATTRIBUTES, handle, job, |compound| {
                compound.add(&GetAttributes(Mask::USUAL));
            }),
            Goal::Set(handle, file, attributes) => {
                let state = self.client.opens.state_of(*file);
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
}
