//! Oplock and lease breaks: the server revokes a caching right, and the client acknowledges.
//!
//! Spec: MS-SMB2 3.2.5.19

use plimsoll_wire::smb2::oplock_break::{self, Acknowledge, Notice};
use plimsoll_wire::smb2::{Reply, create};

use super::client::SmbClient;
use super::jobs::JobId;
use super::request_kind::RequestKind;
use crate::operation::Cause;
use crate::outbox::Outbox;

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
                let of_directory = self.directory_cache.as_ref().and_then(|cache| cache.lease(lease.key));
                let held = self.files.lease(lease.key).or(of_directory);
                let Some(held) = held else { return Ok(()) };
                if !acknowledge {
                    self.files.set_lease(create::Lease { state: held.state & lease.state, ..lease });
                    self.close_broken(lease, at, out);
                    return Ok(());
                }
                // Each break must remove a right, so the number of breaks is limited.
                if lease.state & !held.state != 0 {
                    return Err(Cause::Malformed);
                }
                if lease.state == held.state {
                    return Ok(());
                }
                self.files.set_lease(lease);
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

    /// Closes unused files, and an unused directory, with the broken lease; these rights remain.
    fn close_broken(&mut self, create::Lease { key, state }: create::Lease, at: i64, out: &mut Outbox) {
        let is_secondary = self.connection.in_secondary_context();
        let closing = self.lease_cache.broken(key, &mut self.files, is_secondary);
        let lease = create::Lease { key, state };
        if let Some(cache) = self.directory_cache.as_mut().filter(|cache| cache.lease(key).is_none()) {
            cache.file_broken();
        }
        let directory = self.directory_cache.as_mut().and_then(|cache| cache.broken(lease, is_secondary));
        closing.into_iter().chain(directory).for_each(|file| self.close(file, at, out));
    }
}
