//! The effect of a successful compound on its job.

use plimsoll_model::Outcome;
use plimsoll_wire::nfs::v3::write::Stable;
use plimsoll_wire::nfs::v4::create_session::Session as Created;
use plimsoll_wire::nfs::v4::open::{self, Opened};
use plimsoll_wire::nfs::v4::read_plus::Segment;
use plimsoll_wire::nfs::v4::readdir::Page;
use plimsoll_wire::nfs::v4::{FileHandle, StateId};
use plimsoll_wire::xdr::Malformed;

use super::client::Nfs4Client;
use super::file::{File, Open};
use super::found::Found;
use super::job::{Connecting, Goal, Job, Leaving, Opening, Walk};
use super::options::Agreed;
use super::ranges::Range;
use super::request_context::RequestContext;
use super::shapes;
use super::uncommitted::Piece;
use crate::calls::Call;
use crate::client::Events;
use crate::nfs::{Facts, MOST, durability, never_sent};
use crate::operation::{Cause, Disposition, Failure, Reply, Tag};

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
        self.losses = 0;
        if call.what.shape == shapes::LOOK_UP && job.walking().is_some() {
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
                self.open(job, File::new(handle, None), Some(size));
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
            Goal::Close { lost: true, .. } => job.fail(never_sent(None, Cause::LostWrites)),
            Goal::List { .. } => job.listed(found.page.ok_or(Malformed)?, events)?,
            Goal::Read { .. } => job.read(call, found, events)?,
            Goal::Copy(_) | Goal::OnRange { .. } => self.settle_minor_2(job, found)?,
            Goal::Write { .. } => self.written(call, job, found)?,
            Goal::Rewrite { .. } => self.rewritten(call, job, found)?,
            Goal::Test(_) => self.tested(job, found)?,
            Goal::Flush(..) => self.committed(job, found.committed.ok_or(Malformed)?),
            Goal::Lock { .. } if call.what.shape == shapes::OPEN_HANDLE => self.opened_to_lock(job, found)?,
            Goal::Lock { file, .. } | Goal::Unlock { file, .. } => {
                if let Some(file) = self.files.get_mut(*file) {
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
                self.handles.learn(path, handle, leaf);
            }
        }
        // The walk is complete, and so is an operation that needs only the handle.
        if job.walking().is_none()
            && let Some((handle, Some(Facts { size, directory }))) = job.found()
        {
            match job.goal {
                Goal::GetAttributes => job.reply = Some(Reply::Attributes { size, directory }),
                Goal::OpenDirectory { makes: false } => self.open(job, File::new(handle, None), Some(size)),
                Goal::Open(Opening { any: true, .. }) if directory => {
                    self.open(job, File::new(handle, None), Some(size));
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
        self.handles.learn(&walk.path, handle, leaf);
        Ok(handle)
    }

    /// Drops cached handles of names that changed.
    pub(super) fn names_changed(&mut self, job: &Job) {
        let [from, to]: [Option<&str>; 2] =
            job.walks.each_ref().map(|walk| walk.as_ref().map(|walk: &Walk| walk.path.as_str()));
        from.into_iter().for_each(|path| self.handles.forget(path));
        // The replaced object was a file or an empty directory.
        to.into_iter().for_each(|path| self.handles.forget_file(path));
    }

    fn open(&mut self, job: &mut Job, file: File, size: Option<u64>) {
        match self.files.add(file) {
            Some(file) => job.reply = Some(Reply::Opened { file, size }),
            None => job.fail(never_sent(None, Cause::OutOfResources)),
        }
    }

    /// Handles a step of an OPEN.
    fn opened(&mut self, call: &Call<RequestContext>, job: &mut Job, found: &Found<'_>) -> Result<(), Malformed> {
        let Goal::Open(opening) = &mut job.goal else { return Err(Malformed) };
        let walk = job.walks.iter_mut().flatten().next().ok_or(Malformed)?;
        if opening.opened.is_none() && call.what.shape == shapes::GET_ATTRIBUTES {
            // The path may name a directory.
            let facts = found.facts().ok_or(Malformed)?;
            walk.attributes = Some(facts);
            if facts.directory {
                let file = File::new(walk.handle, None);
                self.open(job, file, Some(facts.size));
            }
            return Ok(());
        }
        if let Some(Opened { state, unconfirmed, delegation }) = found.opened {
            let handle = found.handle.unwrap_or(walk.handle);
            let Facts { size, directory } = found.facts().ok_or(Malformed)?;
            let sorted = self.sort_delegation(&handle, opening.access, delegation);
            opening.empties |= opening.disposition == Disposition::CreateOrTruncate && size > 0;
            opening.opened = Some((handle, state, size));
            match sorted {
                Some(Ok(wanted)) => opening.granted = Some(wanted),
                Some(Err(unwanted)) => opening.delegation = Some(unwanted),
                None => {}
            }
            opening.unconfirmed = unconfirmed && self.options.is_sessionless();
            self.handles.learn(&walk.path, handle, !directory);
        } else if call.what.shape == shapes::CONFIRM_OPEN {
            let state = found.state.ok_or(Malformed)?;
            opening.unconfirmed = false;
            opening.opened = opening.opened.map(|(handle, _, size)| (handle, state, size));
        } else if call.what.shape == shapes::RETURN_DELEGATION {
            opening.delegation = None;
        } else {
            opening.empties = false;
            opening.opened = opening.opened.map(|(handle, state, _)| (handle, state, 0));
        }
        let (Some((handle, state, size)), Some(owner)) = (opening.opened, opening.owner) else { return Err(Malformed) };
        if !opening.unconfirmed && opening.delegation.is_none() && !opening.empties {
            // A recovery asks for no delegation.
            let access = opening.access & !open::READ_DELEGATION | open::NO_DELEGATION;
            let (open, place, granted) = (Open { owner, state, access }, self.place_of(walk), opening.granted);
            let file = File { place, ..File::new(handle, Some(open)) };
            match granted {
                Some(delegation) => self.open_delegated(job, file, delegation, size),
                None => self.open(job, file, Some(size)),
            }
        }
        Ok(())
    }

    /// A file that shared an open has a separate one, with which it can be locked.
    fn opened_to_lock(&mut self, job: &mut Job, found: &Found<'_>) -> Result<(), Malformed> {
        let Opened { state, delegation, .. } = found.opened.ok_or(Malformed)?;
        let Goal::Lock { file: key, opens, .. } = &mut job.goal else { return Err(Malformed) };
        let (key, (owner, handle)) = (*key, opens.take().ok_or(Malformed)?);
        let open = Open { owner, state, access: open::READ | open::NO_DELEGATION };
        match self.files.get_mut(key) {
            Some(file) if file.open.is_none() => {
                file.open = Some(open);
                let base = file.base.take();
                self.opened_alone(base);
            }
            // The file was closed meanwhile, or has the open of another lock.
            _ => self.close_surplus(handle, open),
        }
        self.opened_with(&handle, delegation, key);
        Ok(())
    }

    /// Handles a step of setting up a session.
    fn connecting(&mut self, stage: Connecting, job: &mut Job, found: &Found<'_>) -> Result<(), Malformed> {
        let next = match stage {
            Connecting::Join => return Err(Malformed),
            Connecting::Bind => {
                let bound = found.bound.filter(|bound| bound.session == self.session.id).ok_or(Malformed)?;
                self.agreed.back_channel = bound.back_channel;
                Connecting::Root
            }
            Connecting::ExchangeId if self.options.is_sessionless() => {
                self.identified(found.unconfirmed.ok_or(Malformed)?);
                Connecting::CreateSession
            }
            Connecting::CreateSession if self.options.is_sessionless() => {
                self.confirmed();
                self.agreed = Agreed::without_session(self.options.most);
                Connecting::Root
            }
            Connecting::ExchangeId => {
                let client = found.client.ok_or(Malformed)?;
                self.is_new = !client.is_confirmed();
                self.client_id = (client.id, client.sequence);
                Connecting::CreateSession
            }
            Connecting::CreateSession => {
                let session = found.session.ok_or(Malformed)?;
                self.created(&session);
                self.agreed = Agreed::of(&session, self.session.slots());
                // With several connections, the last one sends RECLAIM_COMPLETE.
                if self.share_session(session, self.is_new) { Connecting::ReclaimComplete } else { Connecting::Root }
            }
            Connecting::ReclaimComplete => Connecting::Root,
            Connecting::Root => {
                let root = found.handle.ok_or(Malformed)?;
                job.walks = [Some(Walk::new(self.options.export.clone(), true, 0, root)), None];
                Connecting::Limits
            }
            Connecting::Limits => {
                let (root, _) = job.found().ok_or(Malformed)?;
                self.handles.set_root(root);
                self.agreed = self.agreed.narrowed(&found.attributes.ok_or(Malformed)?, self.options.most);
                // The values of the first client appear in the report.
                let _ = self.options.agreed.set(self.agreed);
                self.connected = true;
                job.reply = Some(Reply::Nothing);
                return Ok(());
            }
        };
        job.goal = Goal::Connect(next);
        Ok(())
    }

    /// Handles a new session; the next CREATE_SESSION has the next sequence ID.
    pub(super) fn created(&mut self, session: &Created) {
        let wanted = self.wanted_slots();
        if !self.counts {
            // The first client requests the maximum, so the granted number is the server's limit.
            let _ = self.options.server_slots.set(session.fore.slots);
        }
        self.session = self.session.next(session, wanted.min(self.options.slots), self.part);
        self.client_id.1 = self.client_id.1.wrapping_add(1);
        self.agreed = self.agreed.within(session, self.session.slots());
    }

    /// Handles the end of a step of leaving, successful or not. Always true, as a convenience for the caller.
    pub(super) fn left(&mut self, job: &mut Job, succeeded: bool) -> bool {
        let Goal::Leave(leaving) = &mut job.goal else { return false };
        match leaving {
            Leaving::Delegations(list) => {
                if let Some(((handle, state), delegations)) = list.pop().zip(self.delegations.as_mut()) {
                    delegations.left(&handle, &state, succeeded, self.answered_at);
                }
                if list.is_empty() {
                    *leaving = self.leaving_files();
                }
            }
            Leaving::Files(files) => {
                files.pop();
                if files.is_empty() {
                    *leaving = Leaving::Session;
                }
            }
            Leaving::Session if self.last.of_client => *leaving = Leaving::Client,
            Leaving::Session | Leaving::Client => self.leave_context(job),
            Leaving::Context => job.reply = Some(Reply::Nothing),
        }
        true
    }

    /// Session and client ID are given back: only a Kerberos context may be left.
    pub(super) fn leave_context(&self, job: &mut Job) {
        match self.connection.has_context() {
            true => job.goal = Goal::Leave(Leaving::Context),
            false => job.reply = Some(Reply::Nothing),
        }
    }

    /// Handles the response to a WRITE.
    fn written(&mut self, call: &Call<RequestContext>, job: &mut Job, found: &Found<'_>) -> Result<(), Malformed> {
        let Goal::Write { file, transfer, stable, content, key } = &mut job.goal else { return Err(Malformed) };
        let RequestContext { offset, count, .. } = call.what;
        let written = found.written.ok_or(Malformed)?;
        // The server must write at least one byte and at most the requested number, and at least as durably as requested.
        let durable = *stable != Stable::FileSync || written.committed == Stable::FileSync;
        if written.count > count || written.count == 0 && count > 0 || !durable {
            return Err(Malformed);
        }
        transfer.moved(offset, count, written.count, false);
        if written.committed == Stable::Unstable
            && let Some(file) = self.files.get_mut(*file)
        {
            let changed = file.unstable.written(written.verifier);
            file.uncommitted.add(Piece { offset, length: written.count, key: *key, content: content.clone() });
            self.guarantees.saw_verifier(changed);
        }
        self.guarantees.wrote(durability(*stable), durability(written.committed));
        if job.pending <= 1 && transfer.is_over() {
            job.reply = Some(Reply::Written { bytes: transfer.bytes() });
        }
        Ok(())
    }

    /// Handles the response to a COMMIT.
    fn committed(&mut self, job: &mut Job, verifier: [u8; 8]) {
        let Goal::Flush(file, handle, times) = job.goal else { return };
        job.reply = Some(Reply::Nothing);
        let Some(found) = self.files.get_mut(file) else { return };
        let (kept, pieces) = (found.unstable.committed(verifier), found.uncommitted.take());
        if kept {
            return;
        }
        self.guarantees.saw_verifier(true);
        if pieces.is_empty() || times >= MOST_REWRITES {
            let procedure = Some(shapes::about(shapes::COMMIT_FILE));
            job.fail(Failure { procedure, status: Some(0), outcome: Outcome::Failed, cause: Cause::LostWrites });
        } else {
            job.reply = None;
            job.goal = Goal::Rewrite { file, handle, pieces, times: times + 1 };
        }
    }

    /// Handles the response to a repeated write.
    fn rewritten(&mut self, call: &Call<RequestContext>, job: &mut Job, found: &Found<'_>) -> Result<(), Malformed> {
        let Goal::Rewrite { file, handle, pieces, times } = &mut job.goal else { return Err(Malformed) };
        let written = found.written.ok_or(Malformed)?;
        let piece = pieces.last_mut().ok_or(Malformed)?;
        if written.count > call.what.count || written.count == 0 && call.what.count > 0 {
            return Err(Malformed);
        }
        let done = Piece { length: written.count, ..piece.clone() };
        piece.offset += u64::from(written.count);
        piece.length -= written.count;
        if piece.length == 0 {
            pieces.pop();
        }
        if let Some(open) = self.files.get_mut(*file).filter(|_| written.committed == Stable::Unstable) {
            open.unstable.written(written.verifier);
            open.uncommitted.add(done);
        }
        self.recoveries.rewritten += 1;
        if pieces.is_empty() {
            job.goal = Goal::Flush(*file, *handle, *times);
        }
        Ok(())
    }
}

/// Maximum number of repeats of a flush whose data the server loses each time.
const MOST_REWRITES: u32 = 3;

impl File {
    /// Handles a granted or released lock.
    fn locked(&mut self, state: StateId, goal: &Goal) {
        self.lock = Some(state);
        match *goal {
            Goal::Lock { exclusive, range: (offset, length), .. } => {
                self.ranges.lock(Range { offset, length, exclusive });
            }
            Goal::Unlock { range: (offset, length), .. } => self.ranges.unlock(offset, length),
            _ => {}
        }
    }
}

/// Passes data on, and the zeros of a hole.
fn pass_on(piece: Segment<'_>, tag: Tag, events: &mut dyn Events) {
    const ZEROS: [u8; 4_096] = [0; 4_096];
    match piece {
        Segment::Data { offset, bytes } => events.data(tag, offset, bytes),
        Segment::Hole { offset, length } => {
            // A piece ends within the range that was asked for.
            for at in (offset..offset.saturating_add(length)).step_by(ZEROS.len()) {
                let left = offset.saturating_add(length) - at;
                let zeros = usize::try_from(left).unwrap_or(ZEROS.len()).min(ZEROS.len());
                events.data(tag, at, &ZEROS[..zeros]);
            }
        }
    }
}

impl Job {
    /// Handles the response to a READ, or a READ_PLUS, whose holes count as their zeros.
    fn read(
        &mut self,
        call: &Call<RequestContext>,
        found: &Found<'_>,
        events: &mut dyn Events,
    ) -> Result<(), Malformed> {
        let Goal::Read { transfer, keep, plus, .. } = &mut self.goal else { return Err(Malformed) };
        let RequestContext { offset, count, .. } = call.what;
        let tag = self.tag.filter(|_| *keep);
        let (bytes, eof) = if *plus {
            let contents = found.contents.ok_or(Malformed)?;
            // Wrong contents are not passed on in part.
            let bytes = contents.read(offset, count, |_| {})?;
            if let Some(tag) = tag {
                contents.read(offset, count, |piece| pass_on(piece, tag, events))?;
            }
            (bytes, contents.eof)
        } else {
            let data = found.data.filter(|data| data.count <= count).ok_or(Malformed)?;
            if *keep && data.kept.len() != data.count as usize {
                return Err(Malformed);
            }
            if let Some(tag) = tag {
                events.data(tag, offset, data.kept);
            }
            (data.count, data.eof)
        };
        // A server may return fewer bytes than it has; only its EOF flag marks the end of the file.
        transfer.moved(offset, count, bytes, eof);
        if self.pending <= 1 && transfer.is_over() {
            self.reply = Some(Reply::Read { bytes: transfer.bytes() });
        }
        Ok(())
    }

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
        let leads_on = *entries <= MOST && *entries > before;
        let last = page.cookie.filter(|last| last != cookie && leads_on).ok_or(Malformed)?;
        (*cookie, *verifier) = (last, page.verifier);
        Ok(())
    }
}
