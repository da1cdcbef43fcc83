//! From actions to messages.

use plimsoll_wire::smb2::{Call, close, create, echo, header, read, write};

use super::client::{CREDIT, SmbClient, Waiting};
use super::files::Open;
use super::jobs::{Job, JobId, Kind, Transfer};
use super::options::Dialect;
use super::outgoing::Data;
use super::sending::Protection;
use super::step::Step;
use crate::action::{Access, Action, Caching, Cause, Disposition, FileKey, Ticket};
use crate::client::Events;
use crate::outbox::Outbox;

impl SmbClient {
    /// Begins an action on a share that is there.
    pub(super) fn begin_action(
        &mut self,
        action: &Action<'_>,
        ticket: &Ticket,
        now: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) {
        let begun = match *action {
            Action::Read { file, offset, length, keep } => self
                .transfer_of(file, offset, length)
                .map(|transfer| self.begin_transfer(Kind::Read { transfer, keep }, ticket, now, out)),
            Action::Write { file, offset, length, content, key } => {
                self.transfer_of(file, offset, length).map(|transfer| {
                    let kind = Kind::Write { transfer, content: content.clone(), key };
                    self.begin_transfer(kind, ticket, now, out);
                })
            }
            Action::Open { path, access, disposition, caching } => {
                self.open(path, access, disposition, caching).and_then(|kind| self.begin_job(kind, ticket, now, out))
            }
            Action::Close { file } => match self.files.remove(file) {
                Some(Open { id, .. }) => {
                    let call = close::Close { file: id, attributes: false };
                    self.begin_one(Step::Close, &call, ticket, now, out)
                }
                None => Err(Cause::Unsupported),
            },
            Action::Null => self.begin_one(Step::Echo, &echo::Echo, ticket, now, out),
            _ => Err(Cause::Unsupported),
        };
        if let Err(cause) = begun {
            Self::refuse(ticket.tag, now, cause, events);
        }
    }

    /// Begins an action of one request that brings nothing.
    fn begin_one<C: Call>(
        &mut self,
        step: Step,
        call: &C,
        ticket: &Ticket,
        now: i64,
        out: &mut Outbox,
    ) -> Result<(), Cause> {
        self.outgoing.clear();
        self.outgoing.add(step, call).map_err(|_| Cause::Unsupported)?;
        self.begin_job(Kind::Plain, ticket, now, out)
    }

    /// Begins an action whose first message was built.
    fn begin_job(&mut self, kind: Kind, ticket: &Ticket, now: i64, out: &mut Outbox) -> Result<(), Cause> {
        let job = self.jobs.add(Job::new(ticket, kind));
        self.submit(job, now, out);
        Ok(())
    }

    fn open(&mut self, path: &str, access: Access, disposition: Disposition, caching: Caching) -> Result<Kind, Cause> {
        let reads = create::ACCESS_READ_DATA | create::ACCESS_READ_EA;
        let writes = create::ACCESS_WRITE_DATA | create::ACCESS_APPEND_DATA | create::ACCESS_WRITE_ATTRIBUTES;
        let always = create::ACCESS_READ_ATTRIBUTES | create::ACCESS_READ_CONTROL | create::ACCESS_SYNCHRONIZE;
        let (rights, readable) = match access {
            Access::Read => (reads, true),
            Access::Write => (writes, false),
            Access::ReadWrite => (reads | writes, true),
        };
        let (oplock, lease) = self.oplock(caching);
        let mut contexts = Vec::new();
        if let Some(key) = lease {
            let state = create::LEASE_READ | create::LEASE_HANDLE | create::LEASE_WRITE;
            let lease = create::Lease { key, state };
            contexts.push(if self.limits.dialect >= Dialect::V300 {
                create::Context::Lease2 { lease, parent: None, epoch: 0 }
            } else {
                create::Context::Lease(lease)
            });
        }
        if caching == Caching::Durable {
            contexts.push(if self.limits.dialect >= Dialect::V300 {
                create::Context::Durable2 { timeout_ms: 0, persistent: false, guid: self.new_key() }
            } else {
                create::Context::Durable
            });
        }
        let call = create::Create {
            name: path,
            oplock,
            impersonation: create::IMPERSONATION_IMPERSONATION,
            access: rights | always,
            attributes: create::ATTRIBUTE_NORMAL,
            share: create::SHARE_READ | create::SHARE_WRITE | create::SHARE_DELETE,
            disposition: match disposition {
                Disposition::OpenExisting => create::DISPOSITION_OPEN,
                Disposition::CreateNew => create::DISPOSITION_CREATE,
                Disposition::OpenOrCreate => create::DISPOSITION_OPEN_IF,
                Disposition::CreateOrTruncate => create::DISPOSITION_OVERWRITE_IF,
            },
            options: create::OPTION_NON_DIRECTORY,
            contexts: &contexts,
        };
        self.outgoing.clear();
        self.outgoing.add(Step::Open, &call).map_err(|_| Cause::Unsupported)?;
        Ok(Kind::Open { lease, readable, opened: None })
    }

    /// The oplock to ask for, and the key of the lease where it is one.
    fn oplock(&mut self, caching: Caching) -> (u8, Option<[u8; 16]>) {
        let leases = self.limits.dialect >= Dialect::V210;
        match caching {
            Caching::None => (create::OPLOCK_NONE, None),
            Caching::LevelTwo => (create::OPLOCK_II, None),
            Caching::Exclusive => (create::OPLOCK_EXCLUSIVE, None),
            Caching::Durable if self.limits.dialect >= Dialect::V300 => (create::OPLOCK_LEASE, Some(self.new_key())),
            Caching::Lease if leases => (create::OPLOCK_LEASE, Some(self.new_key())),
            // Dialect 2.0.2 has no leases.
            Caching::Batch | Caching::Durable | Caching::Lease => (create::OPLOCK_BATCH, None),
        }
    }

    /// A name for a lease or a durable open, unlike all others of this client.
    fn new_key(&mut self) -> [u8; 16] {
        self.leases += 1;
        (u128::from_le_bytes(self.guid) ^ u128::from(self.leases)).to_le_bytes()
    }

    /// A transfer from or to an open file.
    fn transfer_of(&mut self, file: FileKey, offset: u64, length: u32) -> Result<Transfer, Cause> {
        let open = self.files.get(file).ok_or(Cause::Unsupported)?;
        Transfer::new(open.id, offset, length).ok_or(Cause::Unsupported)
    }

    fn begin_transfer(&mut self, kind: Kind, ticket: &Ticket, now: i64, out: &mut Outbox) {
        let job = self.jobs.add(Job::new(ticket, kind));
        self.transfer(job, now, out);
    }

    /// Sends requests of a transfer, or lets it wait for credits.
    pub(super) fn transfer(&mut self, id: JobId, now: i64, out: &mut Outbox) {
        if self.waiting.is_empty() && self.next_chunks(id, now, out) {
            return;
        }
        if let Some(job) = self.jobs.get(id) {
            job.queued = true;
            self.waiting.push_back(Waiting { job: id, since: now, outgoing: None });
        }
    }

    /// Sends as many requests of a transfer as it has and credits allow. Returns whether it need not wait for credits.
    pub(super) fn next_chunks(&mut self, id: JobId, now: i64, out: &mut Outbox) -> bool {
        loop {
            let (max_read, max_write, multi) = (self.limits.max_read, self.limits.max_write, self.limits.multi_credit);
            let (available, window) = (self.credits.available(), self.credits.window());
            let Some(job) = self.jobs.get(id) else { return true };
            let pending = job.pending;
            let (transfer, most, sequential) = match &mut job.kind {
                // Data are told of in order.
                Kind::Read { transfer, keep } => (transfer, max_read, *keep),
                Kind::Write { transfer, .. } => (transfer, max_write, false),
                _ => return true,
            };
            if !transfer.has_more() || sequential && pending > 0 {
                job.queued = false;
                return true;
            }
            // A server that grants few credits is asked for little at a time.
            let most = most.min(window.clamp(1, u32::MAX / CREDIT) * CREDIT);
            let left = u32::try_from(transfer.end - transfer.next).unwrap_or(u32::MAX).min(most);
            let charge = if multi { u32::from(header::charge(left)) } else { 1 };
            if charge > available {
                return false;
            }
            let (offset, length) = transfer.take(most);
            let file = transfer.file;
            self.outgoing.clear();
            let built = match &job.kind {
                Kind::Write { content, key, .. } => {
                    let data = Data { content: content.clone(), key: *key, offset, length };
                    self.outgoing.data = Some(data);
                    let call = write::Write { file, offset, length, flags: 0 };
                    self.outgoing.add(Step::Write, &call).map(|member| member.payload = Some(u64::from(length)))
                }
                _ => {
                    let call = read::Read { file, offset, length, minimum: 0, flags: 0 };
                    self.outgoing.add(Step::Read, &call).map(|_| ())
                }
            };
            // Neither has a variable part that could be too long.
            debug_assert!(built.is_ok());
            self.launch(id, Protection::Usual, now, out);
        }
    }
}
