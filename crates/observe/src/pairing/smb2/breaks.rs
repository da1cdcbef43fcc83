//! Opens that wait until another client has answered the break of its lease or oplock.
//!
//! Spec: MS-SMB2 3.3.4.6, 3.3.4.7.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use plimsoll_model::{Breaks, Symbol};

use super::Pending;
use crate::message::Message;

/// Servers of which breaks are remembered.
const SERVERS_MAX: usize = 1024;
/// Breaks that are remembered of a server: more are seldom under way at once.
const BREAKS_MAX: usize = 32;
/// An open that takes less waits for nobody, ns.
const WAITED_NS: i64 = 5_000_000;

/// A notification of a server.
#[derive(Debug)]
struct Break {
    at_ns: i64,
    /// The client that is to give up its lease or oplock.
    holder: IpAddr,
    /// The file, known from the first open that waited for it, and when that was answered.
    file: Option<(Symbol, Symbol, i64)>,
}

impl Break {
    /// Whether an open of that file, asked for at that time, came while another waited for this break.
    fn delays(&self, file: (Symbol, Symbol), asked_ns: i64) -> bool {
        self.file.is_some_and(|(share, path, until_ns)| (share, path) == file && asked_ns < until_ns)
    }
}

/// When servers last broke leases or oplocks, and what opens waited for.
#[derive(Debug, Default)]
pub(crate) struct BreakTimes {
    /// The last ones of each server, in the order of the capture.
    recent: HashMap<IpAddr, VecDeque<Break>>,
    /// The counts.
    pub(crate) counts: Breaks,
}

impl BreakTimes {
    pub(super) fn is_empty(&self) -> bool {
        self.recent.is_empty()
    }

    /// A server told a client, the holder, that its lease or oplock is broken.
    #[cold]
    pub(super) fn notified(&mut self, server: IpAddr, holder: IpAddr, at_ns: i64) {
        self.counts.notified += 1;
        if self.recent.len() >= SERVERS_MAX && !self.recent.contains_key(&server) {
            return;
        }
        let recent = self.recent.entry(server).or_default();
        if recent.len() >= BREAKS_MAX {
            recent.pop_front();
        }
        recent.push_back(Break { at_ns, holder, file: None });
    }

    /// An open was answered: it waited if the server sent a notification after it had come, or if it asked for the same file while
    /// another open waited. Of several notifications the first is the one that it caused: the later ones belong to later opens.
    #[cold]
    pub(super) fn opened(&mut self, server: IpAddr, request: &Pending, answer: &Message<'_>) {
        let Some(recent) = self.recent.get_mut(&server) else { return };
        let asked_ns = request.last.map_or(request.first.time_ns, |last| last.time_ns);
        let answered_ns = answer.first.time_ns;
        let file = (request.share, request.path);
        let is_known = request.path.is_some();
        let behind = recent.iter().position(|one| is_known && one.delays(file, asked_ns));
        let Some(at) = behind.or_else(|| recent.iter().position(|one| one.at_ns >= asked_ns)) else { return };
        let Some(cause) = recent.get_mut(at) else { return };
        let waited_ns = answered_ns.saturating_sub(cause.at_ns.max(asked_ns));
        if waited_ns < WAITED_NS {
            return;
        }
        if behind.is_none() && is_known {
            cause.file = Some((file.0, file.1, answered_ns));
        }
        let holder = cause.holder;
        let waited_ns = waited_ns.unsigned_abs();
        let counts = &mut self.counts;
        counts.opens += 1;
        counts.wait_ns = counts.wait_ns.saturating_add(waited_ns);
        if waited_ns > counts.longest_ns {
            (counts.longest_ns, counts.holder, counts.path) = (waited_ns, Some(holder), request.path);
        }
    }
}
