//! From an answer to how far its job is.

use plimsoll_model::Outcome;
use plimsoll_wire::nfs::status::{NFS3ERR_BADHANDLE, NFS3ERR_NOTSUPP, NFS3ERR_STALE};
use plimsoll_wire::nfs::v3::{
    Answer, Attributes, FileHandle, FileType, access, commit, create, fsinfo, fsstat, getattr, lookup, null, read,
    readlink, write,
};
use plimsoll_wire::rpc::Verdict;
use plimsoll_wire::xdr::Malformed;

use super::client::{NfsClient, RequestContext};
use super::file::{File, Files};
use super::job::{Goal, Job, Walk};
use super::options::NfsLimits;
use crate::calls::{Call, Ending};
use crate::client::Events;
use crate::nfs::Facts;
use crate::operation::{Cause, Disposition, Failure, Reply};
use crate::rpc::Arrival;

/// A handle means nothing any more.
const MEANINGLESS: [u32; 2] = [NFS3ERR_STALE, NFS3ERR_BADHANDLE];

impl NfsClient {
    /// Handles the answer of a call: passes its facts to the job, and makes the transaction.
    pub(super) fn answered(
        &mut self,
        call: &Call<RequestContext>,
        verdict: Verdict<'_>,
        arrival: &Arrival<'_>,
        events: &mut dyn Events,
    ) -> Result<(), Malformed> {
        let mut job = self.jobs.take(call.context.job);
        let mut ending = Ending {
            answered: Some(arrival.at),
            status: None,
            outcome: Outcome::Failed,
            response_bytes: Some(arrival.length as u64),
            payload_bytes: None,
        };
        // Of all that RPC says, this alone is of the procedure.
        let lacking = matches!(verdict, Verdict::ProcedureUnavailable);
        let read = match verdict {
            Verdict::Success(results) => {
                let length = results.len() + arrival.length.saturating_sub(arrival.kept.len());
                self.results(call, job.as_deref_mut(), results, length, &mut ending, events)
            }
            _ => Ok(None),
        };
        let failure = match read {
            Ok(Some(0)) => {
                // NULL has no results, and so no status.
                (ending.status, ending.outcome) = ((call.context.procedure != 0).then_some(0), Outcome::Succeeded);
                None
            }
            Ok(Some(status)) => {
                (ending.status, ending.outcome) = (Some(status), Outcome::Refused);
                Some(Cause::Status)
            }
            Ok(None) => {
                ending.outcome = Outcome::Refused;
                Some(if lacking { Cause::Unsupported } else { Cause::CallRejected })
            }
            Err(Malformed) => Some(Cause::Malformed),
        };
        self.report(call, job.as_ref().map(|job| job.tag), &ending, events);
        if let Some(mut job) = job {
            job.pending = job.pending.saturating_sub(1);
            if let Some(cause) = failure.filter(|_| !job.lists_again(call.context.procedure, ending.status)) {
                let procedure = Some(call.procedure);
                job.fail(Failure { procedure, status: ending.status, outcome: ending.outcome, cause });
            }
            self.jobs.put(call.context.job, job);
        }
        read.map(|_| ())
    }

    /// An answer that is not the server's, or a refusal of the context: the call failed.
    pub(super) fn rejected(
        &mut self,
        call: &Call<RequestContext>,
        cause: Cause,
        arrival: &Arrival<'_>,
        events: &mut dyn Events,
    ) {
        let ending = arrival.rejects(cause);
        let tag = self.jobs.find(call.context.job).map(|job| job.tag);
        self.report(call, tag, &ending, events);
        if let Some(job) = self.jobs.get(call.context.job) {
            job.pending = job.pending.saturating_sub(1);
            job.fail(Failure { procedure: Some(call.procedure), status: None, outcome: ending.outcome, cause });
        }
    }

    /// The server refused a call because the Kerberos context has expired: the job sends it again in another context.
    pub(super) fn refused_context(
        &mut self,
        call: &Call<RequestContext>,
        arrival: &Arrival<'_>,
        events: &mut dyn Events,
    ) {
        let tag = self.jobs.find(call.context.job).map(|job| job.tag);
        self.report(call, tag, &arrival.rejects(Cause::LogonRefused), events);
        if let Some(job) = self.jobs.get(call.context.job) {
            job.pending = job.pending.saturating_sub(1);
            job.ask_again(call.context.offset, call.context.count);
        }
    }

    /// Reads results; returns the status at their start. `length` is their full length, including dropped bytes.
    fn results(
        &mut self,
        call: &Call<RequestContext>,
        job: Option<&mut Job>,
        results: &[u8],
        length: usize,
        ending: &mut Ending,
        events: &mut dyn Events,
    ) -> Result<Option<u32>, Malformed> {
        // A job that timed out has gone; its answers are unmatched and do not come here.
        let Some(job) = job else { return Err(Malformed) };
        let status = match call.context.procedure {
            0 => null::parse(results).map(|()| {
                // The call for a Kerberos context is the first of two.
                job.reply = (!self.connection.context_began_by(call.id)).then_some(Reply::Nothing);
                0
            })?,
            1 => settle(getattr::parse(results)?, |attributes| job.facts(facts(attributes), &mut self.files)),
            3 => self.looked_up(job, lookup::parse(results)?),
            4 => settle(access::parse(results)?, |_| job.reply = Some(Reply::Nothing)),
            5 => settle(readlink::parse(results)?, |text| {
                job.reply = Some(Reply::Text(String::from_utf8_lossy(text).into_owned()));
            }),
            6 => {
                let data = read::parse(results, length)?;
                settle(data, |data| ending.payload_bytes = Some(u64::from(data.count)));
                job.read(call, data, events)?
            }
            7 => {
                let written = write::parse(results)?;
                settle(written, |written| ending.payload_bytes = call.wrote(written.count));
                self.written(call, job, written)?
            }
            8..=10 => self.made(job, create::parse(results)?),
            16 | 17 => {
                let status = job.listed(call, results, events)?;
                self.without_plus |= call.context.procedure == 17 && status == NFS3ERR_NOTSUPP;
                status
            }
            18 => settle(fsstat::parse(results)?, |space| {
                job.reply = Some(Reply::Space { total: space.total, free: space.available });
            }),
            19 => settle(fsinfo::parse(results)?, |limits| {
                self.limits = NfsLimits::of(&limits, self.options.most);
                // The first client's are everybody's, for the report.
                let _ = self.options.limits.set(self.limits);
                job.reply = Some(Reply::Nothing);
            }),
            21 => settle(commit::parse(results)?, |verifier| self.committed(call, job, verifier)),
            procedure => self.changed(job, procedure, results)?,
        };
        if MEANINGLESS.contains(&status) {
            job.handles().for_each(|handle| self.handles.stale(handle));
        }
        Ok(Some(status))
    }

    fn looked_up(&mut self, job: &mut Job, answer: Answer<lookup::Found>) -> u32 {
        let asked_for_its_own_sake = job.walking().is_none();
        settle(answer, |found| {
            if asked_for_its_own_sake && let Some(walk) = job.walks.iter().flatten().next() {
                let leaf = found.attributes.is_some_and(|attributes| attributes.kind != FileType::Directory);
                self.handles.learn(&walk.path, found.object, leaf);
                job.reply = Some(Reply::Nothing);
                return;
            }
            if let Some(walk) = job.walking_mut()
                && let Some(part) = walk.part()
            {
                let leaf = found.attributes.is_some_and(|attributes| attributes.kind != FileType::Directory);
                let facts = found.attributes.map(facts);
                self.handles.learn(walk.found(part.end, found.object, facts), found.object, leaf);
            }
            // If the operation only needed the walk, the end of the walk ends it.
            if job.walking().is_none()
                && let Some(attributes) = job.walks.iter().flatten().next().and_then(|walk| walk.attributes)
                && job.wants_attributes_of_path()
            {
                job.facts(attributes, &mut self.files);
            }
        })
    }

    /// Something was made: a file, a directory, a link.
    fn made(&mut self, job: &mut Job, answer: Answer<create::Made>) -> u32 {
        settle(answer, |made| {
            let Some(walk) = job.walks.iter_mut().flatten().next() else { return };
            if let Some(handle) = made.object {
                let directory = matches!(job.goal, Goal::MakeDirectory | Goal::Open { directory: true, .. });
                self.handles.learn(&walk.path, handle, !directory);
            }
            let Goal::Open { disposition, emptied, .. } = &mut job.goal else {
                job.reply = Some(Reply::Nothing);
                return;
            };
            let Some(handle) = made.object else {
                // The server did not return the handle: walks to the object as if it had existed before.
                walk.whole = true;
                *disposition = Disposition::Open;
                return;
            };
            let Some(attributes) = made.attributes else {
                // Nor its size, which is asked for.
                walk.whole = true;
                walk.found(walk.path.len(), handle, None);
                *disposition = Disposition::Open;
                return;
            };
            if *disposition == Disposition::OverwriteOrCreate && attributes.size > 0 {
                // It took a file that was there, and did not empty it (RFC 1813 3.3.8 leaves that open).
                walk.handle = handle;
                *emptied = true;
                return;
            }
            job.opened(&mut self.files, handle, attributes.size);
        })
    }

    /// Procedures whose results contain only the status: SETATTR, REMOVE, RMDIR, RENAME, LINK.
    fn changed(&mut self, job: &mut Job, procedure: u32, results: &[u8]) -> Result<u32, Malformed> {
        use plimsoll_wire::nfs::v3::{link, remove, rename, setattr};
        let answer = match procedure {
            2 => setattr::parse(results)?,
            12 | 13 => remove::parse(results)?,
            14 => rename::parse(results)?,
            15 => link::parse(results)?,
            _ => return Err(Malformed),
        };
        let paths: [Option<&str>; 2] =
            job.walks.each_ref().map(|walk| walk.as_deref().map(|walk: &Walk| walk.path.as_str()));
        match procedure {
            // Whatever the result, the names may be gone.
            12 => paths.into_iter().flatten().for_each(|path| self.handles.forget_file(path)),
            13 => paths.into_iter().flatten().for_each(|path| self.handles.forget(path)),
            14 => {
                // The new name was a file's or an empty directory's.
                let [from, to] = paths;
                from.into_iter().for_each(|path| self.handles.forget(path));
                to.into_iter().for_each(|path| self.handles.forget_file(path));
            }
            _ => {}
        }
        Ok(settle(answer, |()| match (&job.goal, job.walks.first()) {
            (Goal::Open { .. }, Some(Some(walk))) => {
                let handle = walk.handle;
                job.opened(&mut self.files, handle, 0);
            }
            _ => job.reply = Some(Reply::Nothing),
        }))
    }
}

/// Passes a successful result to `done`; returns the status.
pub(super) fn settle<T>(answer: Answer<T>, done: impl FnOnce(T)) -> u32 {
    match answer {
        Answer::Done(what) => {
            done(what);
            0
        }
        Answer::Refused(status) => status,
    }
}

fn facts(attributes: Attributes) -> Facts {
    Facts { size: attributes.size, directory: attributes.kind == FileType::Directory }
}

impl Job {
    /// Whether the attributes of what its path leads to are all that it wants.
    fn wants_attributes_of_path(&self) -> bool {
        matches!(self.goal, Goal::GetAttributes | Goal::Open { disposition: Disposition::Open, .. })
    }

    /// Notes the attributes of the operation's object.
    fn facts(&mut self, facts: Facts, files: &mut Files) {
        let Facts { size, directory } = facts;
        let handle: Option<FileHandle> = self.walks.iter().flatten().next().map(|walk| walk.handle);
        match (&self.goal, handle) {
            (Goal::Open { .. }, Some(handle)) => self.opened(files, handle, size),
            _ => self.reply = Some(Reply::Attributes { size, directory }),
        }
    }

    fn opened(&mut self, files: &mut Files, handle: FileHandle, size: u64) {
        match files.add(File::new(handle)) {
            Some(file) => self.reply = Some(Reply::Opened { file, size: Some(size) }),
            None => self.fail(Failure::never_sent(Cause::OutOfResources)),
        }
    }
}
