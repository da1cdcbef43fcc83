//! Opens files, with the requested oplock, lease or durable handle.
//!
//! Spec: MS-SMB2 3.2.4.3

use plimsoll_model::FileIdentity;
use plimsoll_wire::smb2::create;

use super::super::client::SmbClient;
use super::super::durable::Reopening;
use super::super::jobs::{ALL_RIGHTS, Kind};
use super::super::options::Dialect;
use super::super::request_kind::RequestKind;
use crate::operation::{Access, Caching, Cause, Disposition, Kind as Which};

/// Parameters of an open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening<'a> {
    pub(super) path: &'a str,
    pub(super) kind: Which,
    pub(super) access: Access,
    pub(super) disposition: Disposition,
    pub(super) caching: Caching,
    pub(super) delete_on_close: bool,
}

impl SmbClient {
    /// Builds the request.
    pub(super) fn open(&mut self, opening: &Opening<'_>) -> Result<Kind, Cause> {
        let Opening { path, kind, access, disposition, caching, delete_on_close } = *opening;
        let reads = create::ACCESS_READ_DATA | create::ACCESS_READ_EA;
        let writes = create::ACCESS_WRITE_DATA | create::ACCESS_APPEND_DATA | create::ACCESS_WRITE_ATTRIBUTES;
        let always = create::ACCESS_READ_ATTRIBUTES | create::ACCESS_READ_CONTROL | create::ACCESS_SYNCHRONIZE;
        let (rights, readable) = match access {
            Access::Read => (reads, true),
            Access::Write => (writes, false),
            Access::ReadWrite => (reads | writes, true),
        };
        let caching = if caching == Caching::DirectoryCached { Caching::LeaseCached } else { caching };
        // Only the primary share has a lease cache.
        let caching = if caching == Caching::LeaseCached && self.connection.in_secondary_context() {
            Caching::None
        } else {
            caching
        };
        let (oplock, lease) = self.oplock(caching, path);
        self.caching.0 += u64::from(oplock != create::OPLOCK_NONE);
        let guid = self.name_of_open(caching);
        let parent = self.directory_cache.as_ref().and_then(|cache| cache.parent_key(path));
        // Only files of the primary share are reconnected.
        let reconnects = caching == Caching::Durable && !self.connection.in_secondary_context();
        let persistent = reconnects && self.connection.limits.persistent_handles;
        let contexts = self.contexts(caching, (lease, parent), (guid, persistent));
        let (deletes, deleting) =
            if delete_on_close { (create::ACCESS_DELETE, create::OPTION_DELETE_ON_CLOSE) } else { (0, 0) };
        let call = create::Create {
            name: path,
            oplock,
            impersonation: create::IMPERSONATION_IMPERSONATION,
            access: rights | always | deletes,
            attributes: create::ATTRIBUTE_NORMAL,
            share: create::SHARE_READ | create::SHARE_WRITE | create::SHARE_DELETE,
            disposition: match disposition {
                Disposition::Open => create::DISPOSITION_OPEN,
                Disposition::Create => create::DISPOSITION_CREATE,
                Disposition::OpenOrCreate => create::DISPOSITION_OPEN_IF,
                Disposition::OverwriteOrCreate => create::DISPOSITION_OVERWRITE_IF,
                Disposition::Overwrite => create::DISPOSITION_OVERWRITE,
                Disposition::Supersede => create::DISPOSITION_SUPERSEDE,
            },
            options: deleting
                | match kind {
                    Which::File => create::OPTION_NON_DIRECTORY,
                    Which::Directory => create::OPTION_DIRECTORY,
                    Which::Any => 0,
                },
            contexts: &contexts,
        };
        self.outgoing.clear();
        self.outgoing.add(RequestKind::Open, &call).map_err(|_| Cause::Unsupported)?;
        let keeps = (caching == Caching::LeaseCached).then(|| (path.into(), access));
        let (access, options) = (call.access, call.options);
        let reopening = reconnects.then(|| {
            self.durable.get_or_insert_default().counts.persistent_requested += u64::from(persistent);
            self.connection.sent_messages.get_or_insert_default();
            Box::new(Reopening { path: path.into(), access, options, guid, persistent, lease: None, file: None })
        });
        Ok(Kind::Open { lease, readable, keeps, reopening, opened: None })
    }

    /// The name of an open that is to be durable, or may be sent twice, from dialect 3.0 on.
    fn name_of_open(&mut self, caching: Caching) -> Option<[u8; 16]> {
        let named = caching == Caching::Durable || self.channels.is_some();
        (named && self.connection.limits.dialect >= Dialect::V300).then(|| self.new_key())
    }

    /// Adds the create contexts of an open.
    fn contexts(
        &self,
        caching: Caching,
        (lease, parent): (Option<[u8; 16]>, Option<[u8; 16]>),
        (guid, persistent): (Option<[u8; 16]>, bool),
    ) -> Vec<create::Context<'static>> {
        let mut contexts = Vec::new();
        if let Some(key) = lease {
            let lease = create::Lease { key, state: ALL_RIGHTS };
            contexts.push(if self.connection.limits.dialect >= Dialect::V300 {
                create::Context::Lease2 { lease, parent, epoch: 0 }
            } else {
                create::Context::Lease(lease)
            });
        }
        // One of several connections may be lost: the server recognises a repeated CREATE by its GUID (MS-SMB2 3.3.5.9.10).
        if caching == Caching::Durable || self.channels.is_some() {
            contexts.push(match guid {
                Some(guid) => create::Context::Durable2 { timeout_ms: 0, persistent, guid },
                None => create::Context::Durable,
            });
        }
        contexts
    }

    /// The oplock to ask for, and the key of the lease where it is one.
    fn oplock(&mut self, caching: Caching, path: &str) -> (u8, Option<[u8; 16]>) {
        let leases = self.connection.limits.dialect >= Dialect::V210;
        match caching {
            Caching::None | Caching::Handle => (create::OPLOCK_NONE, None),
            Caching::LevelTwo => (create::OPLOCK_II, None),
            Caching::Exclusive => (create::OPLOCK_EXCLUSIVE, None),
            // One for all opens of a file (MS-SMB2 3.2.4.3.8): one open does not break the lease of another, which would be lost with
            // its connection.
            Caching::Durable if leases => (create::OPLOCK_LEASE, Some(self.key_of_file(path))),
            Caching::Lease | Caching::LeaseCached | Caching::DirectoryCached if leases => {
                (create::OPLOCK_LEASE, Some(self.new_key()))
            }
            // Dialect 2.0.2 has no leases.
            Caching::Batch | Caching::Durable | Caching::Lease | Caching::LeaseCached | Caching::DirectoryCached => {
                (create::OPLOCK_BATCH, None)
            }
        }
    }

    /// The lease key of a file: a new one if the server may still have an earlier open of it.
    pub(in super::super) fn key_of_file(&self, path: &str) -> [u8; 16] {
        let file = FileIdentity::of_share_and_path(&self.options.share, path);
        let times = self.durable.as_ref().map_or(0, |durable| durable.times_left_behind(path));
        // Leases of single opens have a lower half only.
        (self.first_key() ^ u128::from(file.number()) << 64 ^ u128::from(times)).to_le_bytes()
    }

    /// A unique key for a lease or a durable open of this client.
    pub(in super::super) fn new_key(&mut self) -> [u8; 16] {
        self.leases += 1;
        (self.first_key() ^ u128::from(self.leases)).to_le_bytes()
    }

    /// What the keys of this client have in common. Far fewer than 2^40 keys follow.
    fn first_key(&self) -> u128 {
        u128::from_le_bytes(self.guid) ^ u128::from(self.number) << 40
    }
}
