//! Oplock and lease breaks: the server revokes a caching right, and the client acknowledges.
//!
//! Spec: MS-SMB2 3.2.5.19

use plimsoll_wire::smb2::oplock_break::{self, Acknowledge, Notice};
use plimsoll_wire::smb2::{Reply, create};

use super::client::SmbClient;
use super::jobs::{ALL_RIGHTS, JobId};
use super::request_kind::RequestKind;
use crate::operation::Cause;
use crate::outbox::Outbox;

/// Maximum number of waiting messages without an operation at which a break that removes no right is still acknowledged: a server could
/// send any number of such breaks.
const MOST_USELESS: usize = 1_000;

impl SmbClient {
    /// Handles a break notification.
    pub(super) fn notified(&mut self, reply: &Reply<'_>, at: i64, out: &mut Outbox) -> Result<(), Cause> {
        let call = match oplock_break::notice(reply).map_err(|_| Cause::Malformed)? {
            Notice::Oplock { file, level } => {
                let open = self.files.iter_mut().find(|open| open.id == file);
                // The break of a level II oplock needs no acknowledgement, and neither does the break for a file that is being closed.
                let holds = [create::OPLOCK_EXCLUSIVE, create::OPLOCK_BATCH];
                let Some(open) = open.filter(|open| holds.contains(&open.oplock)) else { return Ok(()) };
                if ![create::OPLOCK_NONE, create::OPLOCK_II].contains(&level) {
                    return Err(Cause::Malformed);
                }
                open.oplock = level;
                Acknowledge::Oplock { file, level }
            }
            Notice::Lease { lease, acknowledge, .. } => {
                // No open asks for other rights.
                if acknowledge && lease.state & !ALL_RIGHTS != 0 {
                    return Err(Cause::Malformed);
                }
                let Some(removes) = self.take_rights(lease) else { return Ok(()) };
                if !acknowledge {
                    self.close_broken(lease, at, out);
                    return Ok(());
                }
                // The server may have granted more than the client took, so it waits even if nothing is removed. Breaks that remove
                // something are limited by themselves.
                if !removes && self.messages_without_job() >= MOST_USELESS {
                    return Ok(());
                }
                Acknowledge::Lease(lease)
            }
        };
        self.outgoing.clear();
        self.outgoing.add(RequestKind::BreakAcknowledgement, &call).map_err(|_| Cause::Malformed)?;
        self.submit(JobId::NONE, at, out);
        if let Acknowledge::Lease(lease) = call {
            self.close_broken(lease, at, out);
        }
        Ok(())
    }

    /// Takes rights from the opens of a lease, also from those whose response has not come yet: the notification may be faster, or come
    /// on another channel. Returns whether a right was removed; `None` if the lease is not known. Then its file is being closed, which
    /// ends the break, and the server would refuse a later acknowledgement.
    fn take_rights(&mut self, lease: create::Lease) -> Option<bool> {
        let of_directory = self.directory_cache.as_ref().and_then(|cache| cache.lease(lease.key));
        let held = self.files.lease(lease.key).or(of_directory);
        let requested = self.jobs.break_lease(lease);
        if let Some(held) = held {
            self.files.set_lease(create::Lease { state: held.state & lease.state, ..lease });
        }
        let removed = held.map_or(0, |held| held.state & !lease.state) | requested.unwrap_or(0);
        (held.is_some() || requested.is_some()).then_some(removed != 0)
    }

    /// Number of waiting messages without an operation.
    fn messages_without_job(&self) -> usize {
        self.waiting.iter().filter(|waiting| waiting.job == JobId::NONE).count()
    }

    /// Closes unused files, and an unused directory, with the broken lease; these rights remain.
    fn close_broken(&mut self, create::Lease { key, state }: create::Lease, at: i64, out: &mut Outbox) {
        let is_secondary = self.connection.in_secondary_context();
        let closing = self.lease_cache.broken(key, &mut self.files, is_secondary);
        let lease = create::Lease { key, state };
        let is_of_directory = self.jobs.lists_under(key);
        if let Some(cache) = self.directory_cache.as_mut().filter(|cache| cache.lease(key).is_none())
            && !is_of_directory
        {
            cache.file_broken();
        }
        let directory = self.directory_cache.as_mut().and_then(|cache| cache.broken(lease, is_secondary));
        closing.into_iter().chain(directory).for_each(|file| self.close(file, at, out));
    }
}
