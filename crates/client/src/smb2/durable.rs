//! Durable handles: the facts needed to reconnect an open file on another connection. A persistent handle is a durable handle that also
//! survives a restart of the server.
//!
//! Spec: MS-SMB2 3.2.4.3.5, 3.2.4.4, 3.2.5.7

use std::collections::HashMap;

use plimsoll_model::{FileIdentity, Protocol};
use plimsoll_wire::smb2::{FileId, close, create};

use super::connection::Outgoing;
use super::files::{Files, Open};
use super::jobs::{Job, Kind};
use super::outage::Outage;
use super::request_kind::RequestKind;
use crate::status::status_name;

/// The durable handles of a client that has asked for any.
#[derive(Debug, Default)]
pub(super) struct Durable {
    /// Those that are open, or being closed.
    opens: HashMap<FileId, Reopening>,
    /// How often an open of a path may have been left at the server.
    left_behind: HashMap<Box<str>, u64>,
    /// Connections with open files were lost before: a request that is sent again may have been carried out.
    pub(super) has_resumed: bool,
    pub(super) outage: Outage,
    /// Answers of lost connections that belonged to no request.
    pub(super) unmatched_responses: u64,
    pub(super) counts: Reconnects,
}

/// How a file was opened.
#[derive(Clone, Debug)]
pub(super) struct Reopening {
    pub(super) path: Box<str>,
    pub(super) access: u32,
    pub(super) options: u32,
    /// The open's name, from dialect 3.0 on.
    pub(super) guid: Option<[u8; 16]>,
    /// A persistent handle was requested; after the response: was granted.
    pub(super) persistent: bool,
    /// The granted lease; `None`: a batch oplock, or for a persistent handle nothing.
    pub(super) lease: Option<create::Lease>,
    pub(super) file: Option<FileIdentity>,
}

impl Reopening {
    /// Builds the request that reconnects the file, with its lease as it is now. False if a name is too long, which cannot happen, because
    /// the first open had the same name.
    pub(super) fn build(&self, handle: FileId, lease: Option<create::Lease>, outgoing: &mut Outgoing) -> bool {
        let durable = match self.guid {
            Some(guid) => create::Context::Reconnect2 { file: handle, guid, persistent: self.persistent },
            None => create::Context::Reconnect(handle),
        };
        let context = lease.map(|lease| match self.guid {
            Some(_) => create::Context::Lease2 { lease, parent: None, epoch: 0 },
            None => create::Context::Lease(lease),
        });
        let contexts: Vec<create::Context<'_>> = std::iter::once(durable).chain(context).collect();
        let call = create::Create {
            name: &self.path,
            oplock: match lease {
                Some(_) => create::OPLOCK_LEASE,
                None if self.persistent => create::OPLOCK_NONE,
                None => create::OPLOCK_BATCH,
            },
            impersonation: create::IMPERSONATION_IMPERSONATION,
            access: self.access,
            attributes: create::ATTRIBUTE_NORMAL,
            share: create::SHARE_READ | create::SHARE_WRITE | create::SHARE_DELETE,
            disposition: create::DISPOSITION_OPEN,
            options: self.options,
            contexts: &contexts,
        };
        outgoing.clear();
        outgoing.add(RequestKind::Reconnect, &call).is_ok()
    }
}

/// Maximum number of statuses of refusals that are counted separately: servers use few.
const STATUSES: usize = 8;

/// Counts of lost sessions with open files and of their recovery, over all clients of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconnects {
    /// Opens that got a durable handle, persistent or not.
    pub granted: u64,
    /// Opens that requested a persistent handle.
    pub persistent_requested: u64,
    /// Of these, opens that got a persistent handle.
    pub persistent: u64,
    /// Sessions that went on as another session, on another connection.
    pub sessions: u64,
    /// Opens that were reconnected.
    pub opens: u64,
    /// Opens that the server refused to reconnect.
    pub refused: u64,
    /// The statuses of these refusals, with their numbers; a short list.
    pub refusals: Vec<(u32, u64)>,
    /// Requests without a response that were sent again.
    pub sent_again: u64,
    /// Of these, requests that the server had already executed.
    pub done_before: u64,
    /// The longest time without service: from the last response before a loss until an operation succeeded, ns.
    pub outage_ns: u64,
}

impl Durable {
    /// Whether the server gives a file back to another connection.
    pub(super) fn is_durable(&self, open: &Open) -> bool {
        let Some(reopening) = self.opens.get(&open.id) else { return false };
        // With fewer rights the server closes the open with its connection, unless it is persistent (MS-SMB2 3.3.4.6, 3.3.4.7, 3.3.7.1).
        let held = match open.lease {
            Some(lease) => lease.state & create::LEASE_HANDLE != 0,
            None => open.oplock == create::OPLOCK_BATCH,
        };
        held || reopening.persistent
    }

    /// Whether the server grants the persistent handles that it offers, as far as the client knows.
    pub(super) fn grants_persistent(&self) -> bool {
        self.counts.persistent > 0 || self.counts.granted == 0
    }

    /// Whether the client may have persistent handles.
    pub(super) fn may_persist(&self) -> bool {
        self.counts.persistent_requested > 0 && self.grants_persistent()
    }

    pub(super) fn get(&self, file: FileId) -> Option<&Reopening> {
        self.opens.get(&file)
    }

    /// An open may be left at the server. A file that is open besides keeps its lease, which another one would break.
    pub(super) fn leave_behind(&mut self, path: &str) {
        if !self.opens.values().any(|open| &*open.path == path) {
            *self.left_behind.entry(path.into()).or_default() += 1;
        }
    }

    /// Number of such opens.
    pub(super) fn times_left_behind(&self, path: &str) -> u64 {
        self.left_behind.get(path).copied().unwrap_or(0)
    }

    /// Stores the parameters of a completed open.
    pub(super) fn learn(&mut self, job: &mut Job, files: &Files) {
        if let Kind::Open { reopening, opened: Some((key, _)), .. } = &mut job.kind
            && let (Some(reopening), Some(open)) = (reopening.take(), files.get(*key))
        {
            self.counts.granted += 1;
            self.counts.persistent += u64::from(reopening.persistent);
            self.opens.insert(open.id, Reopening { lease: open.lease, file: open.file, ..*reopening });
        }
    }

    /// Handles the end of a message: a file that it closed is not reconnected.
    pub(super) fn ended(&mut self, outgoing: &Outgoing) {
        if let Some(file) = closed(outgoing) {
            self.opens.remove(&file);
        }
    }

    /// A file is closed at the server.
    pub(super) fn remove(&mut self, file: FileId) {
        self.opens.remove(&file);
    }

    /// The server has another handle for an open file.
    pub(super) fn renamed(&mut self, from: FileId, to: FileId) {
        if let Some(reopening) = self.opens.remove(&from) {
            self.opens.insert(to, reopening);
        }
    }

    /// An operation succeeded, or none will any more: an outage ends.
    pub(super) fn end_outage(&mut self, at: i64) {
        self.counts.outage_ns = self.counts.outage_ns.max(self.outage.end(at));
    }
}

/// The file that a message closes, if the message contains only a CLOSE.
pub(super) fn closed(outgoing: &Outgoing) -> Option<FileId> {
    let [member] = outgoing.members[..] else { return None };
    let bytes = outgoing.bytes.get(close::FILE_ID..)?.first_chunk();
    bytes.filter(|_| member.kind == RequestKind::Close).map(|bytes| FileId(*bytes))
}

impl Reconnects {
    /// The server refused to reconnect an open.
    pub(super) fn refuse(&mut self, status: u32) {
        self.refused += 1;
        self.count(status, 1);
    }

    fn count(&mut self, status: u32, count: u64) {
        let is_full = self.refusals.len() >= STATUSES;
        match self.refusals.iter_mut().find(|(known, _)| *known == status) {
            Some((_, known)) => *known += count,
            None if !is_full => self.refusals.push((status, count)),
            None => {}
        }
    }

    /// The most frequent status of the refusals, in words; empty if there are none.
    fn refusal(&self) -> String {
        // Of equally frequent ones, the first.
        let most = self.refusals.iter().copied().reduce(|most, one| if one.1 > most.1 { one } else { most });
        most.map_or_else(String::new, |(status, count)| {
            let name = status_name(Protocol::Smb2, status).map_or_else(|| format!("{status:#010x}"), str::to_owned);
            format!(" ({name} {count})")
        })
    }

    /// Adds the counts of another client.
    pub(super) fn add(&mut self, other: &Self) {
        self.granted += other.granted;
        self.persistent_requested += other.persistent_requested;
        self.persistent += other.persistent;
        self.sessions += other.sessions;
        self.opens += other.opens;
        self.refused += other.refused;
        other.refusals.iter().for_each(|&(status, count)| self.count(status, count));
        self.sent_again += other.sent_again;
        self.done_before += other.done_before;
        self.outage_ns = self.outage_ns.max(other.outage_ns);
    }

    /// The counts as facts for the report.
    #[must_use]
    pub fn facts(&self) -> Vec<String> {
        let &Self { granted, persistent_requested, persistent, sessions, opens, refused, .. } = self;
        let &Self { sent_again, done_before, outage_ns, .. } = self;
        let mut facts = Vec::new();
        if granted > 0 {
            facts.push(format!("durable handles: {granted} granted"));
        }
        if persistent_requested > 0 {
            facts.push(format!("persistent handles: {persistent_requested} requested, {persistent} granted"));
        }
        // A session that was not recovered has an outage, too.
        if sessions + refused + outage_ns > 0 {
            let outage_s = outage_ns as f64 / 1e9;
            facts.push(format!("recovered sessions: {sessions} on another connection; longest outage {outage_s:.2} s"));
        }
        if sessions + refused > 0 {
            facts.push(format!("recovered opens: {opens} reconnected, {refused} refused{}", self.refusal()));
        }
        if sent_again > 0 {
            facts.push(format!(
                "recovered requests: {sent_again} sent again (the server had already executed {done_before} of these requests)"
            ));
        }
        facts
    }
}
