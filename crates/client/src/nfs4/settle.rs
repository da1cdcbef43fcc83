//! The effect of a successful compound on its job.

use plimsoll_wire::nfs::v4::FileHandle;
use plimsoll_wire::nfs::v4::readdir::Page;
use plimsoll_wire::xdr::Malformed;

use super::client::Nfs4Client;
use super::file::File;
use super::found::Found;
use super::job::{Goal, Job, Opening, Walk};
use super::request_context::RequestContext;
use super::shapes;
use crate::calls::Call;
use crate::client::Events;
use crate::listing::MOST_NAMES;
use crate::nfs::Facts;
use crate::operation::{Cause, Failure, Reply};

impl Nfs4Client {
    /// Applies the results of a successful compound.
    pub(super) fn settle(
        &mut self,
        call: &Call<RequestContext>,
        job: &mut Job,
        found: &Found<'_>,
        events: &mut dyn Events,
    ) -> Result<(), Malformed> {
        job.rest.take_if(|rest| !rest.waits);
        if let Goal::Recover(recovery) = &mut job.goal {
            return self.recovered(recovery, found);
        }
        self.recovering.end_losses();
        if call.context.shape == shapes::LOOK_UP && job.walking().is_some() {
            return self.looked_up(job, found);
        }
        match &mut job.goal {
            Goal::Connect(stage) => {
                let stage = *stage;
                self.connecting(stage, job, found)?;
            }
            Goal::Leave(_) => {
                self.left(job, true);
            }
            Goal::Open(_) => self.opened(call, job, found)?,
            Goal::OpenDirectory { .. } => {
                let handle = self.made(job, found)?;
                let size = found.facts().ok_or(Malformed)?.size;
                self.opens.open(job, File::new(handle, None), Some(size));
            }
            Goal::Lookup | Goal::MakeDirectory | Goal::SymbolicLink(_) => {
                self.made(job, found)?;
                job.reply = Some(Reply::Nothing);
            }
            Goal::GetAttributes | Goal::GetAttributesOf(_) => {
                let Facts { size, directory } = found.facts().ok_or(Malformed)?;
                job.reply = Some(Reply::Attributes { size, directory });
            }
            Goal::Space => {
                let space = found.attributes.and_then(|told| told.space_total.zip(told.space_available));
                let (total, free) = space.ok_or(Malformed)?;
                job.reply = Some(Reply::Space { total, free });
            }
            Goal::ReadLink => {
                let text = String::from_utf8_lossy(found.link.ok_or(Malformed)?).into_owned();
                job.reply = Some(Reply::Text(text));
            }
            Goal::Close { lost: true, .. } => job.fail(Failure::never_sent(Cause::LostWrites)),
            Goal::List { .. } => job.listed(found.page.ok_or(Malformed)?, events)?,
            Goal::Read { .. } => job.read(call, found, events)?,
            Goal::Copy(_) | Goal::OnRange { .. } => self.settle_minor_2(job, found)?,
            Goal::Write { .. } => self.written(call, job, found)?,
            Goal::Rewrite { .. } => self.rewritten(call, job, found)?,
            Goal::Test(_) => self.tested(job, found)?,
            Goal::Flush(..) => self.committed(job, found.committed.ok_or(Malformed)?),
            Goal::Lock { .. } if call.context.shape == shapes::OPEN_HANDLE => self.opened_to_lock(job, found)?,
            Goal::Lock { file, .. } | Goal::Unlock { file, .. } => {
                if let Some(file) = self.opens.files.get_mut(*file) {
                    file.locked(found.state.ok_or(Malformed)?, &job.goal);
                }
                job.reply = Some(Reply::Nothing);
            }
            Goal::Remove | Goal::Rename => {
                self.names_changed(job);
                job.reply = Some(Reply::Nothing);
            }
            // Handled above, and when the time of the response is known.
            Goal::Recover(_) | Goal::Return(_) => {}
            Goal::Renew
            | Goal::Null
            | Goal::Set(..)
            | Goal::SetMode(_)
            | Goal::Access
            | Goal::Link
            | Goal::Close { .. } => {
                job.reply = Some(Reply::Nothing);
            }
        }
        Ok(())
    }

    /// Handles the LOOKUP of a name in a path.
    fn looked_up(&mut self, job: &mut Job, found: &Found<'_>) -> Result<(), Malformed> {
        let (handle, facts) = (found.handle.ok_or(Malformed)?, found.facts());
        let leaf = facts.is_some_and(|facts| !facts.directory);
        let connects = matches!(job.goal, Goal::Connect(_));
        if let Some(walk) = job.walking_mut()
            && let Some(part) = walk.part()
        {
            let path = walk.found(part.end, handle, facts);
            // Directories above the export are not in the cache of handles.
            if !connects {
                self.paths.handles.learn(path, handle, leaf);
            }
        }
        // The walk is complete, and so is an operation that needs only the handle.
        if job.walking().is_none()
            && let Some((handle, Some(Facts { size, directory }))) = job.found()
        {
            match job.goal {
                Goal::GetAttributes => job.reply = Some(Reply::Attributes { size, directory }),
                Goal::OpenDirectory { makes: false } => self.opens.open(job, File::new(handle, None), Some(size)),
                Goal::Open(Opening { any: true, .. }) if directory => {
                    self.opens.open(job, File::new(handle, None), Some(size));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Handles the handle of a new or looked-up object.
    fn made(&mut self, job: &Job, found: &Found<'_>) -> Result<FileHandle, Malformed> {
        let walk = job.walks.iter().flatten().next().ok_or(Malformed)?;
        // An existing directory was opened by requesting its attributes.
        let Some(handle) = found.handle else { return Ok(walk.handle) };
        let leaf = found.facts().is_some_and(|facts| !facts.directory);
        self.paths.handles.learn(&walk.path, handle, leaf);
        Ok(handle)
    }

    /// Drops cached handles of names that changed.
    pub(super) fn names_changed(&mut self, job: &Job) {
        let [from, to]: [Option<&str>; 2] =
            job.walks.each_ref().map(|walk| walk.as_deref().map(|walk: &Walk| walk.path.as_str()));
        from.into_iter().for_each(|path| self.paths.handles.forget(path));
        // The replaced object was a file or an empty directory.
        to.into_iter().for_each(|path| self.paths.handles.forget_file(path));
    }
}

impl Job {
    /// Handles a page of a directory.
    fn listed(&mut self, page: Page<'_>, events: &mut dyn Events) -> Result<(), Malformed> {
        let tag = self.tag;
        let Goal::List { cookie, verifier, entries, wanted, .. } = &mut self.goal else { return Err(Malformed) };
        let before = *entries;
        for entry in page.entries() {
            // NFSv4 servers must not return these names (RFC 8881 18.23.3); ignore them.
            if matches!(entry.name, b"." | b"..") {
                continue;
            }
            *entries += 1;
            let name = String::from_utf8_lossy(entry.name);
            if let Some(tag) = tag
                && wanted.as_mut().is_none_or(|wanted| wanted.takes(&name))
            {
                events.entry(tag, &name);
            }
        }
        if page.eof {
            let entries = wanted.as_ref().map_or(*entries, |wanted| wanted.found);
            self.reply = Some(Reply::Listed { entries });
            return Ok(());
        }
        // A page that is not the last one and makes no progress would cause an endless loop.
        let leads_on = *entries <= MOST_NAMES && *entries > before;
        let last = page.cookie.filter(|last| last != cookie && leads_on).ok_or(Malformed)?;
        (*cookie, *verifier) = (last, page.verifier);
        Ok(())
    }
}
