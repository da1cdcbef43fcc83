//! Chooses and sends the next call of a job.

use plimsoll_model::{self as model, Asked, Outcome, Procedure, Protocol, Symbol};
use plimsoll_wire::nfs::Facts;
use plimsoll_wire::nfs::v3::access::{ALL_RIGHTS, Access};
use plimsoll_wire::nfs::v3::commit::Commit;
use plimsoll_wire::nfs::v3::create::{Create, How};
use plimsoll_wire::nfs::v3::fsinfo::FsInfo;
use plimsoll_wire::nfs::v3::fsstat::FsStat;
use plimsoll_wire::nfs::v3::getattr::GetAttr;
use plimsoll_wire::nfs::v3::link::Link;
use plimsoll_wire::nfs::v3::lookup::Lookup;
use plimsoll_wire::nfs::v3::mkdir::MakeDir;
use plimsoll_wire::nfs::v3::null::Null;
use plimsoll_wire::nfs::v3::read::Read;
use plimsoll_wire::nfs::v3::readdir::ReadDir;
use plimsoll_wire::nfs::v3::readdirplus::ReadDirPlus;
use plimsoll_wire::nfs::v3::readlink::ReadLink;
use plimsoll_wire::nfs::v3::remove::{Remove, RemoveDir};
use plimsoll_wire::nfs::v3::rename::Rename;
use plimsoll_wire::nfs::v3::setattr::SetAttr;
use plimsoll_wire::nfs::v3::symlink::SymLink;
use plimsoll_wire::nfs::v3::write::Write;
use plimsoll_wire::nfs::v3::{Call as Said, FileHandle, Place, SetAttributes};

use super::client::{NfsClient, RequestContext};
use super::job::{Goal, Job};
use crate::client::Events;
use crate::content::Content;
use crate::jobs::JobId;
use crate::nfs::LastIdentity;
use crate::operation::{Cause, Disposition, Done, Failure};
use crate::outbox::Outbox;
use crate::rpc::{About, Data};

/// Permission bits of files that are made, as `umask 022` leaves them.
const FILE_MODE: u32 = 0o644;
/// Permission bits of directories that are made.
const DIRECTORY_MODE: u32 = 0o755;

impl NfsClient {
    /// Sends the next call of a job, or ends the job if none is left.
    pub(super) fn advance(&mut self, id: JobId, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        let Some(mut job) = self.jobs.take(id) else { return };
        let allowed = u32::try_from(self.connection.room()).unwrap_or(u32::MAX);
        let room = job.window().saturating_sub(job.pending).min(allowed);
        if job.failure.is_none() && job.reply.is_none() && job.pending == 0 && room == 0 {
            self.waiting.push_back((id, now));
            return self.jobs.put(id, job);
        }
        if job.failure.is_none() && job.reply.is_none() && room > 0 {
            let before = self.connection.outstanding();
            Calling { client: self, id, now, out, room }.next(&mut job);
            job.pending += u32::try_from(self.connection.outstanding() - before).unwrap_or(u32::MAX);
        }
        if job.pending > 0 {
            return self.jobs.put(id, job);
        }
        if job.reply.is_none() {
            // All answers have come, and none contained the requested object.
            job.fail(Failure { procedure: None, status: None, outcome: Outcome::Failed, cause: Cause::Malformed });
        }
        self.end(id, job, now, events);
    }

    /// Ends a job that was taken out.
    pub(super) fn end(&mut self, id: JobId, mut job: Box<Job>, at: i64, events: &mut dyn Events) {
        let done = Done { tag: job.tag, at, result: job.result() };
        self.spare.keep(&mut job.walks);
        self.jobs.release(id, job);
        events.done(done);
    }
}

/// A job's calls on their way out.
struct Calling<'a> {
    client: &'a mut NfsClient,
    id: JobId,
    now: i64,
    out: &'a mut Outbox,
    /// Calls that may be sent.
    room: u32,
}

impl Calling<'_> {
    /// The next LOOKUP of a path, or the main call of the operation.
    fn next(&mut self, job: &mut Job) {
        if self.client.connection.needs_context() {
            return self.begin_context(job);
        }
        let Some(walk) = job.walking() else { return self.act(job) };
        let Some(part) = walk.part() else { return };
        // A handle on the way belongs to another path than the operation.
        let path = if walk.whole && part.end == walk.path.len() { job.path } else { Symbol::NONE };
        let name = walk.path.get(part).unwrap_or_default().as_bytes();
        self.say(&Lookup { what: Place { directory: &walk.handle, name } }, path, job.intended);
    }

    /// The call that the operation is about.
    fn act(&mut self, job: &mut Job) {
        let (path, intended) = (job.path, job.intended);
        match &job.goal {
            Goal::Connect => self.say(&FsInfo { root: &self.client.handles.root() }, path, intended),
            Goal::Leave => self.end_context(job),
            Goal::Null => self.say(&Null, path, intended),
            Goal::Space => self.say(&FsStat { root: &self.client.handles.root() }, path, intended),
            Goal::GetAttributesOf(handle) => self.say(&GetAttr { object: handle }, path, intended),
            Goal::Set(handle, attributes) => {
                self.say(&SetAttr { object: handle, attributes: *attributes }, path, intended)
            }
            Goal::Flush(_, handle) => self.say(&Commit { file: handle, offset: 0, count: 0 }, path, intended),
            Goal::Read { .. } | Goal::Write { .. } => self.transfer(job),
            _ => self.act_on_path(job),
        }
    }

    fn begin_context(&mut self, job: &mut Job) {
        let (about, context) = self.null(job);
        let Self { client, now, out, .. } = self;
        if let Err(cause) = client.connection.begin_context(&about, context, *now, out) {
            job.fail(Failure { procedure: Some(about.procedure), ..Failure::never_sent(cause) });
        }
    }

    fn end_context(&mut self, job: &Job) {
        let (about, context) = self.null(job);
        self.client.connection.end_context(&about, context, self.out);
    }

    /// A call of NULL, which begins or ends a context.
    fn null(&self, job: &Job) -> (About, RequestContext) {
        let procedure = Procedure::of(Protocol::Nfs3, Null::PROCEDURE as u16);
        let about = About { procedure, intended: job.intended, path: job.path, session: None };
        let (job, queued) = (self.id, self.now);
        (about, RequestContext { job, procedure: Null::PROCEDURE, offset: 0, count: 0, keep: false, queued })
    }

    /// The call of an operation whose paths were walked.
    fn act_on_path(&mut self, job: &Job) {
        let (path, intended) = (job.path, job.intended);
        let [Some(walk), second] = &job.walks else { return };
        let handle = &walk.handle;
        let place = Place { directory: handle, name: walk.name() };
        let to = second.as_ref().map(|walk| Place { directory: &walk.handle, name: walk.name() });
        match &job.goal {
            Goal::Open { disposition: Disposition::Open, .. } | Goal::GetAttributes => {
                self.say(&GetAttr { object: handle }, path, intended)
            }
            Goal::Open { directory: true, .. } | Goal::MakeDirectory => {
                self.say(&MakeDir { place, attributes: SetAttributes::mode(DIRECTORY_MODE) }, path, intended)
            }
            Goal::Open { disposition, emptied, .. } => self.open(*disposition, *emptied, handle, place, job),
            Goal::Lookup => self.say(&Lookup { what: place }, path, intended),
            Goal::SetMode(mode) => {
                self.say(&SetAttr { object: handle, attributes: SetAttributes::mode(*mode) }, path, intended)
            }
            Goal::Access => self.say(&Access { object: handle, rights: ALL_RIGHTS }, path, intended),
            Goal::ReadLink => self.say(&ReadLink { link: handle }, path, intended),
            Goal::List { cookie, verifier, plus, .. } => self.list(handle, *cookie, *verifier, *plus, job),
            Goal::RemoveDirectory => self.say(&RemoveDir { object: place }, path, intended),
            Goal::Remove => self.say(&Remove { object: place }, path, intended),
            Goal::SymbolicLink(text) => {
                self.say(&SymLink { place, attributes: SetAttributes::default(), text }, path, intended)
            }
            Goal::Rename => {
                if let Some(to) = to {
                    self.say(&Rename { from: place, to }, path, intended);
                }
            }
            Goal::Link => {
                if let Some(place) = to {
                    self.say(&Link { file: handle, place }, path, intended);
                }
            }
            _ => {}
        }
    }

    /// Makes a file, or empties it once more where CREATE did not.
    fn open(&mut self, how: Disposition, emptied: bool, handle: &FileHandle, place: Place<'_>, job: &Job) {
        if emptied {
            let attributes = SetAttributes { size: Some(0), ..SetAttributes::default() };
            return self.say(&SetAttr { object: handle, attributes }, job.path, job.intended);
        }
        let fresh = SetAttributes::mode(FILE_MODE);
        let how = match how {
            Disposition::Create => How::Guarded(fresh),
            Disposition::OverwriteOrCreate => How::Unchecked(SetAttributes { size: Some(0), ..fresh }),
            Disposition::OpenOrCreate | Disposition::Open | Disposition::Overwrite | Disposition::Supersede => {
                How::Unchecked(fresh)
            }
        };
        self.say(&Create { place, how }, job.path, job.intended)
    }

    fn list(&mut self, directory: &FileHandle, cookie: u64, verifier: [u8; 8], plus: bool, job: &Job) {
        let count = self.client.limits.directory;
        if plus {
            let call = ReadDirPlus { directory, cookie, verifier, directory_count: count, count };
            self.say(&call, job.path, job.intended)
        } else {
            self.say(&ReadDir { directory, cookie, verifier, count }, job.path, job.intended)
        }
    }

    /// The next requests of a transfer.
    fn transfer(&mut self, job: &mut Job) {
        let (path, intended) = (job.path, job.intended);
        let limits = self.client.limits;
        match &mut job.goal {
            Goal::Read { transfer, keep } => {
                for _ in 0..self.room {
                    let Some((offset, count)) = transfer.take(limits.read) else { break };
                    let call = Read { file: &transfer.handle, offset, count };
                    self.say_about(&call, path, intended, (offset, count, *keep), None);
                }
            }
            Goal::Write { transfer, content, key, stable, .. } => {
                for _ in 0..self.room {
                    let Some((offset, count)) = transfer.take(limits.write) else { break };
                    let call = Write { file: &transfer.handle, offset, count, stable: *stable };
                    let data = Some((&**content, *key));
                    self.say_about(&call, path, intended, (offset, count, false), data);
                }
            }
            _ => {}
        }
    }

    fn say(&mut self, call: &impl Said, path: Symbol, intended: Option<i64>) {
        self.say_about(call, path, intended, (0, 0, false), None)
    }

    /// Adds a call to the outbox. `about` describes a transfer's call: offset, count, whether its data is wanted.
    fn say_about<C: Said>(
        &mut self,
        call: &C,
        path: Symbol,
        intended: Option<i64>,
        about: (u64, u32, bool),
        data: Option<(&Content, u64)>,
    ) {
        let Self { client, id, now, out, .. } = self;
        let (offset, count, keep) = about;
        let procedure = Procedure::of(Protocol::Nfs3, C::PROCEDURE as u16);
        let data = data.map(|(content, key)| Data { content, key, offset, length: count });
        let context = RequestContext { job: *id, procedure: C::PROCEDURE, offset, count, keep, queued: *now };
        let template = &client.options.template;
        let about = About { procedure, intended, path, session: None };
        client.connection.send((template, C::PROCEDURE), &about, data, context, out, |bytes| {
            let arguments = bytes.len();
            call.emit(bytes);
            let facts = call.facts(bytes.get(arguments..).unwrap_or_default());
            asked(&facts, &mut client.last_identity)
        });
    }
}

/// The requested object, as in a captured call. (Without names: all names of a run are known before it begins.)
#[inline]
fn asked(facts: &Facts<'_>, identities: &mut LastIdentity) -> Asked {
    Asked {
        // The file of a name in a directory is unknown before the answer.
        file: facts.handle.filter(|_| facts.name.is_none()).map(|handle| identities.of(handle)),
        offset: facts.offset,
        bytes: facts.asked_bytes(),
        disposition: facts.disposition().and_then(model::Disposition::of_number),
        durable: facts.stable.map(|stable| stable > 0),
        ..Asked::default()
    }
}
