//! The effect of a response on its job: its end, or its next message.

use plimsoll_model::Outcome;
use plimsoll_wire::smb2::query_directory::{Class, Entries};
use plimsoll_wire::smb2::reply::Buffer;
use plimsoll_wire::smb2::{Malformed, Reply, create};

use super::answers::Found;
use super::client::{SmbClient, State};
use super::connection::RequestContext;
use super::directory_cache::Listing;
use super::files::{Files, Open};
use super::jobs::{ALL_RIGHTS, Directory, Job, JobId, Kind};
use super::receiving::{ends_session, outcome};
use super::request_kind::ENTRIES;
use crate::calls::Call;
use crate::client::Events;
use crate::listing::MOST_NAMES;
use crate::operation::{Cause, Failure, Tag};
use crate::outbox::Outbox;

/// Maximum number of responses of a listing that contain only the directory itself and its parent. Two are enough; a listing that is begun
/// again gets them again.
const MOST_NAMELESS: u8 = 16;

impl SmbClient {
    /// Takes an answer to one of a job's requests.
    pub(super) fn progress(
        &mut self,
        (channel, call): (u32, &Call<RequestContext>),
        reply: &Reply<'_>,
        found: &Found<'_>,
        at: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) -> Result<(), Cause> {
        let id = call.context.job;
        let Some(job) = self.jobs.get(id) else { return Ok(()) };
        job.pending = job.pending.saturating_sub(1);
        job.due_at(at);
        match (&job.kind, found) {
            (Kind::Connect, found) => {
                self.logged(call, reply, found, at, out, events);
                return Ok(());
            }
            (Kind::Leave, _) => {
                self.left(call, at, out, events);
                return Ok(());
            }
            (Kind::LogOn, found) => {
                self.secondary_logged_on(call, reply, found, at, out, events);
                return Ok(());
            }
            (Kind::Reopen { .. }, found) => {
                self.reopened(call, reply, found, at, out, events);
                return Ok(());
            }
            (Kind::Bind, found) => {
                self.binding_answered((channel, call), reply, found, at, out, events);
                return Ok(());
            }
            // A secondary session may end alone. Requests that the client's own logoff ends are not the server's doing.
            (_, Found::Refused)
                if ends_session(reply.status())
                    && self.state == State::Ready
                    && !self.connection.is_on_a_secondary_session() =>
            {
                return Err(Cause::SessionLost);
            }
            (_, Found::Refused) => job.refused(call, reply.status()),
            (_, found) => {
                if let (Kind::List { listing: Some(listing), .. }, Found::Opened(opened)) = (&job.kind, found)
                    && let (Some(cache), Some(granted)) = (&mut self.directory_cache, opened.granted.lease)
                    && listing.key == Some(granted.lease.key)
                    && !granted.breaking
                {
                    let lease = create::Lease { state: granted.lease.state & job.unbroken, ..granted.lease };
                    cache.opened(&listing.path, opened.file, lease, at);
                }
                job.take(call, found, &mut self.files, events)?;
                self.switch(call.context.kind, reply, found)?;
            }
        }
        if self.jobs.get(id).is_some_and(|job| job.pending == 0) {
            self.settle(id, at, out, events);
        }
        Ok(())
    }

    /// No request of a job is outstanding: ends the job, or continues it.
    fn settle(&mut self, id: JobId, at: i64, out: &mut Outbox, events: &mut dyn Events) {
        let Some(job) = self.jobs.get(id) else { return };
        if let Kind::Read { transfer, .. } | Kind::Write { transfer, .. } = &mut job.kind {
            if job.failure.is_some() {
                transfer.stop();
            }
            if transfer.has_more() {
                // Where it does not wait for credits, it waited for this answer.
                if !job.queued {
                    self.transfer(id, at, out);
                }
                return;
            }
        }
        if !self.next_stage(id, at, out) {
            self.end(id, at, events);
        }
    }

    /// The same while nothing can be sent.
    pub(super) fn settle_without_sending(&mut self, id: JobId, at: i64, events: &mut dyn Events) {
        let Some(job) = self.jobs.get(id).filter(|job| job.pending == 0) else { return };
        let open = match &job.kind {
            Kind::List { directory, .. } | Kind::Watch { directory } => directory.file(),
            _ => None,
        };
        if let Some(file) = open {
            if let Some(cache) = &mut self.directory_cache {
                cache.remove(file);
            }
            self.close_later(file, at);
        }
        self.end(id, at, events);
    }

    fn end(&mut self, id: JobId, at: i64, events: &mut dyn Events) {
        if self.has_lost() || self.jobs.get(id).is_some_and(|job| job.queued) {
            self.waiting.retain(|waiting| waiting.job != id);
        }
        self.finish(id, at, events);
    }
}

impl Job {
    /// Handles a refusal.
    fn refused(&mut self, call: &Call<RequestContext>, status: u32) {
        let outcome = match outcome(status) {
            // A warning in place of a result: the request was not executed.
            Outcome::Succeeded => Outcome::Refused,
            outcome => outcome,
        };
        if let Kind::List { directory, .. } | Kind::Watch { directory } = &mut self.kind {
            directory.used();
        }
        let procedure = Some(call.procedure);
        self.fail(Failure { procedure, status: Some(status), outcome, cause: Cause::Status });
    }

    /// Handles success.
    fn take(
        &mut self,
        call: &Call<RequestContext>,
        found: &Found<'_>,
        files: &mut Files,
        events: &mut dyn Events,
    ) -> Result<(), Cause> {
        let (file, unbroken) = (self.file, self.unbroken);
        match (&mut self.kind, found) {
            (Kind::Open { lease, readable, reopening, opened, .. }, Found::Opened(found)) => {
                reopening.take_if(|reopening| {
                    // The flag is ignored if it was not requested: the handle counts as durable.
                    reopening.persistent &= found.granted.durable.is_some_and(|durable| durable.persistent);
                    found.granted.durable.is_none()
                });
                let ours = found.granted.lease.filter(|granted| Some(granted.lease.key) == *lease);
                let lease = ours.map(|granted| left_of(&granted, unbroken, files));
                let open = Open { id: found.file, oplock: found.oplock, lease, readable: *readable, file, locks: 0 };
                if let Some(lease) = lease.filter(|_| reopening.is_some()) {
                    files.set_lease(lease);
                }
                let key = files.add(open).ok_or(Cause::OutOfResources)?;
                *opened = Some((key, found.attributes.end_of_file));
            }
            (Kind::Read { transfer, keep }, Found::Data { length, kept }) => {
                if *keep {
                    let offset = transfer.next - u64::from(call.context.asked);
                    events.data(self.tag, offset, kept);
                }
                transfer.moved = transfer.moved.saturating_add(*length);
                if *length < call.context.asked {
                    transfer.stop();
                }
            }
            (Kind::Read { transfer, .. }, Found::End) => transfer.stop(),
            (Kind::Write { transfer, .. }, Found::Written(count)) => {
                // A write without progress would have no end.
                if *count == 0 && call.context.asked > 0 {
                    return Err(Cause::Malformed);
                }
                let offset = call.asked.offset.ok_or(Cause::Malformed)?;
                transfer.written(offset, call.context.asked, *count);
            }
            (Kind::Attributes { found }, Found::Attributes(size, directory)) => *found = Some((*size, *directory)),
            (Kind::Space { found }, Found::Space(total, free)) => *found = Some((*total, *free)),
            (Kind::List { directory, .. } | Kind::Watch { directory }, Found::Opened(opened)) => {
                *directory = Directory::Open(opened.file);
            }
            (Kind::List { entries, nameless, listing, .. }, Found::Entries(buffer)) => {
                let listing = listing.as_deref_mut();
                let found = tell(self.tag, buffer, ENTRIES, events, listing).map_err(|_| Cause::Malformed)?;
                *entries += found;
                *nameless += u8::from(found == 0);
                if *entries > MOST_NAMES || *nameless > MOST_NAMELESS {
                    return Err(Cause::Malformed);
                }
            }
            (Kind::Find { class, entries }, Found::Matches(buffer)) => {
                *entries += tell(self.tag, buffer, *class, events, None).map_err(|_| Cause::Malformed)?;
            }
            (Kind::List { directory, listing, .. }, Found::End) => {
                listing.iter_mut().for_each(|listing| listing.count());
                directory.used();
            }
            (Kind::Watch { directory }, Found::Nothing) => directory.used(),
            (Kind::Copy { copy }, Found::ResumeKey(key)) => copy.resume_key = Some(*key),
            (Kind::Copy { copy }, Found::Copied(bytes)) => {
                if *bytes == 0 {
                    return Err(Cause::Malformed);
                }
                copy.done = copy.done.saturating_add(u64::from(*bytes));
            }
            _ => {}
        }
        Ok(())
    }
}

/// The lease of an open, with the rights that breaks before its response have left. While a break is in progress, the response may state
/// the rights from before it: then those that the other opens of the file still have count.
fn left_of(granted: &create::GrantedLease, unbroken: u32, files: &mut Files) -> create::Lease {
    let lease = granted.lease;
    let held = files.lease(lease.key).filter(|_| granted.breaking && unbroken == ALL_RIGHTS);
    create::Lease { state: lease.state & unbroken & held.map_or(ALL_RIGHTS, |held| held.state), ..lease }
}

/// Tells the names of entries, and how many there were but for the directory itself and its parent.
fn tell(
    tag: Tag,
    buffer: &Buffer<'_>,
    class: Class,
    events: &mut dyn Events,
    mut listing: Option<&mut Listing>,
) -> Result<u64, Malformed> {
    if let Some(listing) = &mut listing {
        listing.count();
    }
    let mut name = String::new();
    let mut count = 0;
    for entry in Entries::new(buffer, class) {
        let entry = entry?;
        name.clear();
        name.extend(entry.name.chars());
        if name != "." && name != ".." {
            events.entry(tag, &name);
            if let Some(listing) = &mut listing {
                listing.add(&name);
            }
            count += 1;
        }
    }
    Ok(count)
}
