//! Opens that wait until another client has answered the break of its lease or oplock.
//!
//! Spec: MS-SMB2 3.3.4.6, 3.3.4.7.

use std::collections::HashMap;
use std::net::IpAddr;

use plimsoll_model::{Breaks, Symbol};

use super::Pending;
use crate::message::Message;

/// Servers of which the last break is remembered.
const SERVERS_MAX: usize = 1024;
/// An open that takes less waits for nobody, ns.
const WAITED_NS: i64 = 5_000_000;

/// The last break that a server told of.
#[derive(Debug)]
struct LastBreak {
    at_ns: i64,
    /// The client that is to give up its lease or oplock.
    holder: IpAddr,
    /// The file, known from the first open that waited for it, and when that was answered.
    file: Option<(Symbol, Symbol, i64)>,
}

/// When servers last broke a lease or oplock, and what opens waited for.
#[derive(Debug, Default)]
pub(crate) struct BreakTimes {
    last: HashMap<IpAddr, LastBreak>,
    /// The counts.
    pub(crate) counts: Breaks,
}

impl BreakTimes {
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// A server told a client, the holder, that its lease or oplock is broken.
    #[cold]
    pub(super) fn notified(&mut self, server: IpAddr, holder: IpAddr, at_ns: i64) {
        self.counts.notified += 1;
        if self.last.len() < SERVERS_MAX || self.last.contains_key(&server) {
            self.last.insert(server, LastBreak { at_ns, holder, file: None });
        }
    }

    /// An open was answered: it waited if the server sent a notification after it had come, or if it asked for the same file while
    /// another open waited.
    #[cold]
    pub(super) fn opened(&mut self, server: IpAddr, request: &Pending, answer: &Message<'_>) {
        let Some(last) = self.last.get_mut(&server) else { return };
        let asked_ns = request.last.map_or(request.first.time_ns, |last| last.time_ns);
        let answered_ns = answer.first.time_ns;
        let file = (request.share, request.path);
        let is_first = last.at_ns >= asked_ns;
        let is_behind = last.file.is_some_and(|(share, path, until_ns)| (share, path) == file && asked_ns < until_ns);
        let waited_ns = answered_ns.saturating_sub(last.at_ns.max(asked_ns));
        if !(is_first || is_behind) || waited_ns < WAITED_NS {
            return;
        }
        if is_first && request.path.is_some() {
            last.file = Some((request.share, request.path, answered_ns));
        }
        let waited_ns = waited_ns.unsigned_abs();
        let counts = &mut self.counts;
        counts.opens += 1;
        counts.wait_ns = counts.wait_ns.saturating_add(waited_ns);
        if waited_ns > counts.longest_ns {
            (counts.longest_ns, counts.holder, counts.path) = (waited_ns, Some(last.holder), request.path);
        }
    }
}
