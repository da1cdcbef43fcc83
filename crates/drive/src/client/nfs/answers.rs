//! From an answer to how far its job is.

use plimsoll_model::Outcome;
use plimsoll_wire::nfs::v3::{
    Answer, Attributes, FileHandle, FileType, access, commit, create, fsinfo, fsstat, getattr, lookup, null, read,
    readdir, readdirplus, readlink, write,
};
use plimsoll_wire::rpc::Verdict;
use plimsoll_wire::xdr::Malformed;

use super::client::{NfsClient, What};
use super::job::{Goal, Job, Walk};
use super::options::NfsLimits;
use crate::action::{Cause, Disposition, Failure, Reply};
use crate::client::Events;
use crate::client::calls::{Call, Ending};

/// NFS3ERR_STALE and NFS3ERR_BADHANDLE: a handle means nothing any more.
const MEANINGLESS: [u32; 2] = [70, 10_001];
/// NFS3ERR_NOTSUPP.
const NOT_SUPPORTED: u32 = 10_004;
/// Answers of READDIRPLUS and READDIR are asked for in pieces of this size, at most and at least, bytes.
const PIECE: (u32, u32) = (4 << 10, 64 << 10);

/// An answer as it arrived.
pub(super) struct Arrival<'a> {
    /// As much of the message as was kept, without record marks.
    pub(super) kept: &'a [u8],
    /// How long the message was.
    pub(super) length: usize,
    /// First and last byte, ns.
    pub(super) at: (i64, i64),
}

impl NfsClient {
    /// Takes the answer of a call: what it says goes to the job, and makes the transaction.
    pub(super) fn answered(
        &mut self,
        call: &Call<What>,
        verdict: Verdict<'_>,
        arrival: &Arrival<'_>,
        events: &mut dyn Events,
    ) -> Result<(), Malformed> {
        let mut job = self.jobs.take(call.what.job);
        let mut ending = Ending {
            answered: Some(arrival.at),
            status: None,
            outcome: Outcome::Failed,
            response_bytes: Some(arrival.length as u64),
            payload_bytes: None,
        };
        let read = match verdict {
            Verdict::Success(results) => {
                let length = results.len() + arrival.length.saturating_sub(arrival.kept.len());
                self.results(call, job.as_mut(), results, length, &mut ending, events)
            }
            _ => Ok(None),
        };
        let failure = match read {
            Ok(Some(0)) => {
                (ending.status, ending.outcome) = (Some(0), Outcome::Succeeded);
                None
            }
            Ok(Some(status)) => {
                (ending.status, ending.outcome) = (Some(status), Outcome::Refused);
                Some(Cause::Status)
            }
            Ok(None) => Some(Cause::CallRejected),
            Err(Malformed) => Some(Cause::Malformed),
        };
        self.report(call, &ending, events);
        if let Some(mut job) = job {
            job.pending = job.pending.saturating_sub(1);
            if let Some(cause) = failure.filter(|_| !job.goes_on(call.what.procedure, ending.status)) {
                let procedure = Some(call.procedure);
                job.fail(Failure { procedure, status: ending.status, outcome: ending.outcome, cause });
            }
            self.jobs.put(call.what.job, job);
        }
        read.map(|_| ())
    }

    /// Reads results; the status that they begin with. `length` is theirs, whatever was kept of them.
    fn results(
        &mut self,
        call: &Call<What>,
        job: Option<&mut Job>,
        results: &[u8],
        length: usize,
        ending: &mut Ending,
        events: &mut dyn Events,
    ) -> Result<Option<u32>, Malformed> {
        // A job that timed out has gone; its answers are strangers and do not come here.
        let Some(job) = job else { return Err(Malformed) };
        let status = match call.what.procedure {
            0 => null::parse(results).map(|()| {
                job.reply = Some(Reply::Nothing);
                0
            })?,
            1 => settle(getattr::parse(results)?, |attributes| job.attributes(attributes, &mut self.files)),
            3 => self.looked_up(job, lookup::parse(results)?),
            4 => settle(access::parse(results)?, |_| job.reply = Some(Reply::Nothing)),
            5 => settle(readlink::parse(results)?, |text| {
                job.reply = Some(Reply::Text(String::from_utf8_lossy(text).into_owned()));
            }),
            6 => {
                let data = read::parse(results, length)?;
                settle(data, |data| ending.payload_bytes = Some(u64::from(data.count)));
                read_data(call, job, data, events)?
            }
            7 => {
                let written = write::parse(results)?;
                self.written(call, job, written)?
            }
            8..=10 => self.made(job, create::parse(results)?),
            16 | 17 => {
                let status = listed(call, job, results, events)?;
                self.without_plus |= call.what.procedure == 17 && status == NOT_SUPPORTED;
                status
            }
            18 => settle(fsstat::parse(results)?, |space| {
                job.reply = Some(Reply::Space { total: space.total, free: space.available });
            }),
            19 => settle(fsinfo::parse(results)?, |limits| {
                self.limits = used(&limits, self.options.most);
                let _ = self.options.limits.set(self.limits);
                job.reply = Some(Reply::Nothing);
            }),
            21 => settle(commit::parse(results)?, |verifier| self.committed(job, verifier)),
            procedure => self.changed(job, procedure, results)?,
        };
        if MEANINGLESS.contains(&status) {
            job.walks.iter().flatten().for_each(|walk| self.handles.stale(&walk.handle));
        }
        Ok(Some(status))
    }

    fn looked_up(&mut self, job: &mut Job, answer: Answer<lookup::Found>) -> u32 {
        settle(answer, |found| {
            if let Some(walk) = job.walking_mut()
                && let Some(part) = walk.part()
            {
                self.handles.learn(walk.found(part.end, found.object, found.attributes), found.object);
            }
            // The end of a walk is the end of an action that wanted no more than that.
            if job.walking().is_none()
                && let Some(attributes) = job.walks.iter().flatten().next().and_then(|walk| walk.attributes)
                && job.wants_attributes_of_path()
            {
                job.attributes(attributes, &mut self.files);
            }
        })
    }

    /// Something was made: a file, a directory, a link.
    fn made(&mut self, job: &mut Job, answer: Answer<create::Made>) -> u32 {
        settle(answer, |made| {
            let Some(walk) = job.walks.iter_mut().flatten().next() else { return };
            if let Some(handle) = made.object {
                self.handles.learn(&walk.path, handle);
            }
            let Goal::Open { disposition, emptied, .. } = &mut job.goal else {
                job.reply = Some(Reply::Nothing);
                return;
            };
            let Some(handle) = made.object else {
                // The server did not say its handle: the walk goes on to it, as if it had been there.
                walk.whole = true;
                *disposition = Disposition::OpenExisting;
                return;
            };
            let size = made.attributes.map_or(0, |attributes| attributes.size);
            if *disposition == Disposition::CreateOrTruncate && size > 0 {
                // It took a file that was there, and did not empty it (RFC 1813 3.3.8 leaves that open).
                walk.handle = handle;
                *emptied = true;
                return;
            }
            job.reply = Some(Reply::Opened { file: self.files.add(handle), size });
        })
    }

    fn written(&mut self, call: &Call<What>, job: &mut Job, answer: Answer<write::Written>) -> Result<u32, Malformed> {
        let Goal::Write { file, transfer, .. } = &mut job.goal else { return Err(Malformed) };
        let written = match answer {
            Answer::Done(written) => written,
            Answer::Refused(status) => {
                transfer.stop();
                return Ok(status);
            }
        };
        if written.count > call.what.count {
            return Err(Malformed);
        }
        transfer.moved(call.what.offset, call.what.count, written.count, false);
        if written.committed == write::Stable::Unstable
            && let Some(file) = self.files.get(*file)
        {
            file.written(written.verifier);
        }
        if job.pending <= 1 && transfer.is_over() {
            job.reply = Some(Reply::Written { bytes: transfer.bytes() });
        }
        Ok(0)
    }

    fn committed(&mut self, job: &mut Job, verifier: [u8; 8]) {
        let Goal::Flush(file, _) = job.goal else { return };
        let kept = self.files.get(file).is_none_or(|file| file.committed(verifier));
        job.reply = Some(Reply::Nothing);
        if !kept {
            let (status, outcome) = (Some(0), Outcome::Failed);
            job.fail(Failure { procedure: None, status, outcome, cause: Cause::LostWrites });
        }
    }

    /// Procedures whose results say no more than that it was done: SETATTR, REMOVE, RMDIR, RENAME, LINK.
    fn changed(&mut self, job: &mut Job, procedure: u32, results: &[u8]) -> Result<u32, Malformed> {
        use plimsoll_wire::nfs::v3::{link, remove, rename, rmdir, setattr};
        let answer = match procedure {
            2 => setattr::parse(results)?,
            12 => remove::parse(results)?,
            13 => rmdir::parse(results)?,
            14 => rename::parse(results)?,
            15 => link::parse(results)?,
            _ => return Err(Malformed),
        };
        let paths: [Option<&str>; 2] =
            job.walks.each_ref().map(|walk| walk.as_ref().map(|walk: &Walk| walk.path.as_str()));
        match procedure {
            // Whatever came of it, the names may be gone.
            12 => paths.into_iter().flatten().for_each(|path| self.handles.forget(path)),
            13 | 14 => paths.into_iter().flatten().for_each(|path| self.handles.forget_below(path)),
            _ => {}
        }
        Ok(settle(answer, |()| {
            job.reply = Some(match (&job.goal, job.walks.first()) {
                (Goal::Open { .. }, Some(Some(walk))) => Reply::Opened { file: self.files.add(walk.handle), size: 0 },
                _ => Reply::Nothing,
            });
        }))
    }
}

/// What a server's limits come to.
fn used(limits: &fsinfo::Limits, most: u32) -> NfsLimits {
    // A server that says 0 means that it does not say.
    let longest = |max: u32| if max == 0 { PIECE.1 } else { max }.min(most);
    let directory = limits.directory_preferred.clamp(PIECE.0, PIECE.1);
    NfsLimits { read: longest(limits.read_max), write: longest(limits.write_max), directory }
}

/// Hands what was done to `done`; the status.
fn settle<T>(answer: Answer<T>, done: impl FnOnce(T)) -> u32 {
    match answer {
        Answer::Done(what) => {
            done(what);
            0
        }
        Answer::Refused(status) => status,
    }
}

fn read_data(
    call: &Call<What>,
    job: &mut Job,
    answer: Answer<read::Data<'_>>,
    events: &mut dyn Events,
) -> Result<u32, Malformed> {
    let (tag, last) = (job.tag, job.pending <= 1);
    let Goal::Read { transfer, keep } = &mut job.goal else { return Err(Malformed) };
    let data = match answer {
        Answer::Done(data) => data,
        Answer::Refused(status) => return Ok(status),
    };
    if data.count > call.what.count {
        return Err(Malformed);
    }
    // A server may answer with less than is there; the end of the file is what it says to be the end.
    transfer.moved(call.what.offset, call.what.count, data.count, data.eof);
    if *keep {
        if data.kept.len() != data.count as usize {
            return Err(Malformed);
        }
        events.data(tag, call.what.offset, data.kept);
    }
    if last && transfer.is_over() {
        job.reply = Some(Reply::Read { bytes: transfer.bytes() });
    }
    Ok(0)
}

/// A piece of a directory.
fn listed(call: &Call<What>, job: &mut Job, results: &[u8], events: &mut dyn Events) -> Result<u32, Malformed> {
    let tag = job.tag;
    let Goal::List { cookie, verifier, entries, plus } = &mut job.goal else { return Err(Malformed) };
    let entry = |entry: readdir::Entry<'_>| {
        if !matches!(entry.name, b"." | b"..") {
            *entries += 1;
            events.entry(tag, &String::from_utf8_lossy(entry.name));
        }
    };
    let answer =
        if call.what.procedure == 17 { readdirplus::parse(results, entry) } else { readdir::parse(results, entry) }?;
    let page = match answer {
        Answer::Done(page) => page,
        Answer::Refused(status) => {
            *plus &= status != NOT_SUPPORTED;
            return Ok(status);
        }
    };
    match page.cookie {
        // A piece without a name leads nowhere: to ask again would never end.
        None => job.reply = Some(Reply::Listed { entries: *entries }),
        Some(_) if page.eof => job.reply = Some(Reply::Listed { entries: *entries }),
        Some(last) if last == *cookie => return Err(Malformed),
        Some(last) => (*cookie, *verifier) = (last, page.verifier),
    }
    Ok(0)
}

impl Job {
    /// Whether the attributes of what its path leads to are all that it wants.
    fn wants_attributes_of_path(&self) -> bool {
        matches!(self.goal, Goal::GetAttributes | Goal::Open { disposition: Disposition::OpenExisting, .. })
    }

    /// Attributes of what it is about.
    fn attributes(&mut self, attributes: Attributes, files: &mut super::handles::Files) {
        let (size, directory) = (attributes.size, attributes.kind == FileType::Directory);
        let handle: Option<FileHandle> = self.walks.iter().flatten().next().map(|walk| walk.handle);
        self.reply = Some(match (&self.goal, handle) {
            (Goal::Open { .. }, Some(handle)) => Reply::Opened { file: files.add(handle), size },
            _ => Reply::Attributes { size, directory },
        });
    }

    /// Whether a refusal is no end of it, because it goes on in another way.
    fn goes_on(&self, procedure: u32, status: Option<u32>) -> bool {
        procedure == 17 && status == Some(NOT_SUPPORTED) && matches!(self.goal, Goal::List { cookie: 0, .. })
    }
}
