//! Opening a file, with what the client would like to cache.
//!
//! Spec: MS-SMB2 3.2.4.3

use plimsoll_wire::smb2::create;

use super::super::client::SmbClient;
use super::super::jobs::Kind;
use super::super::options::Dialect;
use super::super::request_kind::RequestKind;
use crate::operation::{Access, Caching, Cause, Disposition, Kind as Which};

/// What to open, and how.
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
        // Elsewhere than on the standing share nothing is kept.
        let caching = if caching == Caching::LeaseCached && self.connection.in_secondary_context() {
            Caching::None
        } else {
            caching
        };
        let (oplock, lease) = self.oplock(caching);
        self.caching.0 += u64::from(oplock != create::OPLOCK_NONE);
        let contexts = self.contexts(caching, lease);
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
                Disposition::OpenExisting => create::DISPOSITION_OPEN,
                Disposition::CreateNew => create::DISPOSITION_CREATE,
                Disposition::OpenOrCreate => create::DISPOSITION_OPEN_IF,
                Disposition::CreateOrTruncate => create::DISPOSITION_OVERWRITE_IF,
                Disposition::Truncate => create::DISPOSITION_OVERWRITE,
                Disposition::Replace => create::DISPOSITION_SUPERSEDE,
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
        Ok(Kind::Open { lease, readable, keeps, opened: None })
    }

    /// What says more about the open.
    fn contexts(&mut self, caching: Caching, lease: Option<[u8; 16]>) -> Vec<create::Context<'static>> {
        let mut contexts = Vec::new();
        if let Some(key) = lease {
            let state = create::LEASE_READ | create::LEASE_HANDLE | create::LEASE_WRITE;
            let lease = create::Lease { key, state };
            contexts.push(if self.connection.limits.dialect >= Dialect::V300 {
                create::Context::Lease2 { lease, parent: None, epoch: 0 }
            } else {
                create::Context::Lease(lease)
            });
        }
        // Of several connections one may be lost: by its GUID the server knows a CREATE that comes twice (MS-SMB2 3.3.5.9.10).
        if caching == Caching::Durable || self.channels.is_some() {
            contexts.push(if self.connection.limits.dialect >= Dialect::V300 {
                create::Context::Durable2 { timeout_ms: 0, persistent: false, guid: self.new_key() }
            } else {
                create::Context::Durable
            });
        }
        contexts
    }

    /// The oplock to ask for, and the key of the lease where it is one.
    fn oplock(&mut self, caching: Caching) -> (u8, Option<[u8; 16]>) {
        let leases = self.connection.limits.dialect >= Dialect::V210;
        match caching {
            Caching::None | Caching::Handle => (create::OPLOCK_NONE, None),
            Caching::LevelTwo => (create::OPLOCK_II, None),
            Caching::Exclusive => (create::OPLOCK_EXCLUSIVE, None),
            Caching::Durable if self.connection.limits.dialect >= Dialect::V300 => {
                (create::OPLOCK_LEASE, Some(self.new_key()))
            }
            Caching::Lease | Caching::LeaseCached if leases => (create::OPLOCK_LEASE, Some(self.new_key())),
            // Dialect 2.0.2 has no leases.
            Caching::Batch | Caching::Durable | Caching::Lease | Caching::LeaseCached => (create::OPLOCK_BATCH, None),
        }
    }

    /// A name for a lease or a durable open, unlike all others of this client.
    fn new_key(&mut self) -> [u8; 16] {
        self.leases += 1;
        (u128::from_le_bytes(self.guid) ^ u128::from(self.leases)).to_le_bytes()
    }
}
