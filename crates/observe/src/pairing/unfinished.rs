//! Requests that still waited for a response when their connection or the capture ended.

use plimsoll_model::{Coverage, Protocol, Unfinished, WaitEnd};
use serde::{Deserialize, Serialize};

use super::{ConnectionContext, Pending};

/// Procedures after which a server may end the connection instead of responding.
const LAST: [&str; 3] = ["LOGOFF", "LOGOFF_ANDX", "TREE_DISCONNECT"];

/// The connections with such requests, by their numbers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct UnfinishedOnes {
    all: Vec<(u32, Unfinished)>,
}

impl UnfinishedOnes {
    /// Takes a request that was not answered. Its connection has ended.
    pub(super) fn unanswered(&mut self, link: &ConnectionContext, request: &Pending) {
        let (from, back) = (usize::from(request.direction), usize::from(1 - request.direction));
        let (end, end_ns) = match link.closed {
            Some((direction, at_ns)) if direction == back => (WaitEnd::Server, at_ns),
            Some((_, at_ns)) => (WaitEnd::Client, at_ns),
            None => (WaitEnd::Capture, i64::MAX),
        };
        // Of an SMB2 compound the first member counts, of an NFSv4 compound the main operation.
        let row = request.procedure.row();
        let is_counted =
            request.counted && (row.protocol == Protocol::Nfs4 || request.compound_position.is_none_or(|at| at == 0));
        let is_lost = link.datagrams || link.holes[back] != request.holes[back] || request.last.is_none();
        let sent_ns = request.first.time_ns;
        if !is_counted || is_lost || sent_ns > end_ns || request.long_lived || LAST.contains(&row.name) {
            return;
        }
        let found = Unfinished {
            server: link.ends[back],
            client: link.ends[from].ip,
            end,
            end_ns,
            requests: 1,
            first_ns: sent_ns,
            last_ns: sent_ns,
            procedure: request.procedure,
            share: request.share,
            path: request.path,
        };
        let has_room = self.all.len() < Coverage::UNFINISHED;
        // All requests of a connection come one after the other.
        match self.all.last_mut().filter(|(connection, one)| *connection == link.connection && one.end == end) {
            Some((_, one)) => one.add(&found),
            None if has_room => self.all.push((link.connection, found)),
            None => {}
        }
    }

    /// All, in the order of their ends; `last_ns` is the end of the capture.
    pub(crate) fn finish(self, last_ns: i64) -> Vec<Unfinished> {
        let mut all: Vec<Unfinished> = self.all.into_iter().map(|(_, one)| one).collect();
        all.iter_mut().for_each(|one| one.end_ns = one.end_ns.min(last_ns));
        all.sort_by_key(|one| (one.end_ns, one.client));
        all
    }
}
