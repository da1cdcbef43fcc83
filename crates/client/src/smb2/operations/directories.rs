//! Listings, with a lease of the directory where the client caches directories.
//!
//! Spec: MS-SMB2 3.2.4.3.8, 3.2.4.17

use plimsoll_wire::smb2::query_directory::{FLAG_REOPEN, QueryDirectory};
use plimsoll_wire::smb2::{FileId, create};

use super::super::client::SmbClient;
use super::super::connection::CREDIT;
use super::super::directory_cache::{DirectoryCache, DirectoryLeases, NEEDED};
use super::super::jobs::{Directory, Kind};
use super::super::request_kind::{ENTRIES, RequestKind};
use crate::client::Events;
use crate::operation::{Cause, Operation, Reply, Tag};
use crate::outbox::Outbox;

impl SmbClient {
    /// A client that asks for leases of directories, and caches listings. It does so on a single connection only.
    #[must_use]
    pub fn with_directory_leases(mut self, wanted: bool) -> Self {
        self.directory_cache = (wanted && self.channels.is_none()).then(Box::default);
        self
    }

    /// Counts of leases of directories so far.
    #[must_use]
    pub fn directory_leases(&self) -> DirectoryLeases {
        self.directory_cache.as_ref().map(|cache| cache.counts).unwrap_or_default()
    }

    /// The cache, where server and session permit its use.
    fn usable_directory_cache(&mut self) -> Option<&mut DirectoryCache> {
        let permitted = self.connection.limits.directory_leases && !self.connection.in_secondary_context();
        self.directory_cache.as_deref_mut().filter(|_| permitted)
    }

    /// The result of an operation whose answer is cached. Closes directories that are in the way of the others.
    pub(super) fn answer_from_listing(
        &mut self,
        operation: &Operation<'_>,
        tag: Tag,
        now: i64,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) -> Option<Reply> {
        let cache = self.usable_directory_cache()?;
        let reply = cache.answer(operation, now, &mut |name| events.entry(tag, name));
        if reply.is_none() {
            let closing = cache.clear_the_way(operation, now);
            closing.into_iter().for_each(|directory| self.close(directory, now, out));
        }
        reply
    }

    /// Builds the first message of a listing.
    pub(super) fn list(&mut self, path: &str) -> Result<Kind, Cause> {
        let key = self.new_key();
        let begun = self.usable_directory_cache().and_then(|cache| cache.begin(path, key));
        let Some((listing, handle)) = begun else {
            self.open_directory(path)?;
            return Ok(Kind::List { directory: Directory::Opening, entries: 0, nameless: 0, listing: None });
        };
        let directory = match handle {
            Some(handle) => {
                self.query_directory(handle, FLAG_REOPEN)?;
                Directory::Open(handle)
            }
            None => {
                let lease = create::Lease { key, state: NEEDED };
                let parent = self.directory_cache.as_ref().and_then(|cache| cache.parent_key(path));
                let contexts = [create::Context::Lease2 { lease, parent, epoch: 0 }];
                self.open_directory_with(path, create::OPLOCK_LEASE, &contexts)?;
                Directory::Opening
            }
        };
        Ok(Kind::List { directory, entries: 0, nameless: 0, listing: Some(Box::new(listing)) })
    }

    /// Asks for the next entries of a directory.
    pub(super) fn query_directory(&mut self, directory: FileId, flags: u8) -> Result<(), Cause> {
        let output_len = self.connection.limits.max_transact.min(CREDIT);
        let call = QueryDirectory { directory, class: ENTRIES, flags, index: 0, pattern: "*", output_len };
        self.add(RequestKind::List, &call)
    }
}
