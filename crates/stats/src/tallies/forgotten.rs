//! Statuses for state that a server does not have: of which session, when that was made, and whether its client had ended it.
//!
//! A server that restarts forgets what it had before, but not a session that it makes later, nor what the client itself has ended.

use std::collections::HashMap;

use plimsoll_model::{Endpoint, Protocol, StatusFamily, Symbol, Transaction};
use serde::{Deserialize, Serialize};

use super::statuses::is_aftermath;
use crate::state::Counter;

use StatusFamily::{Nfs, Nlm, Nt};

/// Statuses for state that a server has lost, or cannot grant yet.
const FORGOTTEN: [(StatusFamily, u32); 9] = [
    (Nfs, 10_013), // GRACE
    (Nfs, 10_022), // STALE_CLIENTID
    (Nfs, 10_023), // STALE_STATEID
    (Nfs, 10_052), // BADSESSION
    (Nfs, 10_078), // DEADSESSION
    (Nfs, 70),     // STALE
    (Nlm, 4),      // DENIED_GRACE_PERIOD
    (Nt, USER_SESSION_DELETED),
    (Nt, NETWORK_NAME_DELETED),
];
const USER_SESSION_DELETED: u32 = 0xC000_0203;
const NETWORK_NAME_DELETED: u32 = 0xC000_00C9;

/// Maximum number of rows (server, session, status): 50 KiB. Further ones are not counted.
const MAX_ROWS: usize = 512;
/// Maximum number of known SMB sessions: 500 KiB. When further ones were made is not known.
const MAX_SESSIONS: usize = 4096;

/// Requests that name one session and that a server answered with such a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgotten {
    /// The server.
    pub server: Endpoint,
    /// The protocol that numbers the status.
    pub protocol: Protocol,
    /// As on the wire.
    pub status: u32,
    /// The session that they name, if it is known.
    pub session: Option<u64>,
    /// When the SMB session was made, ns, if that was captured.
    pub made_ns: Option<i64>,
    /// The client itself had ended the session, or the use of the share.
    pub is_by_client: bool,
    /// How many.
    pub count: u64,
    /// When the first was answered, ns.
    pub first_ns: i64,
}

/// An SMB session whose logon was captured.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Session {
    made_ns: i64,
    /// The client logged off.
    is_over: bool,
    /// The share whose use the client ended last.
    left: Option<Symbol>,
}

impl Session {
    /// Whether the client has ended what a request with this status names.
    fn is_ended(&self, t: &Transaction, status: u32) -> bool {
        let is_left = self.left.is_some_and(|share| share == t.share || !t.share.is_some());
        self.is_over || (status == NETWORK_NAME_DELETED && is_left)
    }
}

/// The rows, and the sessions of SMB clients.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Sessions {
    rows: Vec<Forgotten>,
    known: HashMap<(Endpoint, u64), Session, foldhash::fast::RandomState>,
}

impl Sessions {
    /// Takes a request that makes or ends a session, or the use of a share.
    #[cold]
    pub(super) fn record(&mut self, t: &Transaction) {
        let row = t.procedure.row();
        let is_smb = matches!(row.protocol, Protocol::Smb1 | Protocol::Smb2);
        let Some((id, made_ns)) = t.session.zip(t.timeline.response_last) else { return };
        if !is_smb || t.status != Some(0) {
            return;
        }
        let (key, is_room) = ((t.server, id), self.known.len() < MAX_SESSIONS);
        let session = self.known.get_mut(&key);
        // SMB2 clients also log on again to a session that they have. SMB1 servers use the numbers of sessions again.
        let is_again = row.protocol == Protocol::Smb2 && session.as_ref().is_some_and(|session| !session.is_over);
        match (row.name, session) {
            ("SESSION_SETUP" | "SESSION_SETUP_ANDX", session) if !is_again && (session.is_some() || is_room) => {
                self.known.insert(key, Session { made_ns, is_over: false, left: None });
            }
            ("LOGOFF" | "LOGOFF_ANDX", Some(session)) => session.is_over = true,
            ("TREE_DISCONNECT", Some(session)) => session.left = Some(t.share),
            ("TREE_CONNECT" | "TREE_CONNECT_ANDX", Some(session)) if session.left == Some(t.share) => {
                session.left = None;
            }
            _ => {}
        }
    }

    /// Takes a request that was answered with an error.
    #[cold]
    pub(super) fn refused(&mut self, t: &Transaction) {
        let Some(status) = t.status.filter(|&status| !is_aftermath(t, status)) else { return };
        let protocol = t.procedure.row().protocol;
        if !StatusFamily::of(protocol, status).is_some_and(|family| FORGOTTEN.contains(&(family, status))) {
            return;
        }
        let session = t.session.and_then(|id| self.known.get(&(t.server, id)).copied());
        let (made_ns, is_by_client) =
            session.map_or((None, false), |session| (Some(session.made_ns), session.is_ended(t, status)));
        self.add(Forgotten {
            server: t.server,
            protocol,
            status,
            session: t.session,
            made_ns,
            is_by_client,
            count: 1,
            first_ns: t.timeline.response_last.unwrap_or(i64::MAX),
        });
    }

    fn add(&mut self, more: Forgotten) {
        let key = |row: &Forgotten| (row.server, row.protocol, row.status, row.session, row.is_by_client);
        match self.rows.iter().position(|row| key(row) == key(&more)) {
            Some(at) => {
                let row = &mut self.rows[at];
                row.count += more.count;
                row.first_ns = row.first_ns.min(more.first_ns);
                row.made_ns = row.made_ns.or(more.made_ns);
            }
            None if self.rows.len() < MAX_ROWS => self.rows.push(more),
            None => {}
        }
    }

    /// Adds another part of the same data.
    pub(super) fn merge(&mut self, other: &Sessions) {
        other.rows.iter().for_each(|row| self.add(*row));
    }

    /// The rows.
    pub(super) fn rows(&self) -> &[Forgotten] {
        &self.rows
    }

    /// The state written with [`Sessions::rows`].
    pub(super) fn of(rows: Vec<Forgotten>) -> Option<Self> {
        (rows.len() <= MAX_ROWS).then(|| Self { rows, ..Self::default() })
    }
}

crate::state::fields!("statuses for forgotten state"; Forgotten {
    server, protocol, status, session, made_ns, is_by_client, count, first_ns,
} if |row| Counter::all(&[row.count]));

#[cfg(test)]
mod tests {
    use plimsoll_model::{Outcome, Procedure};
    use plimsoll_testkit::transaction;

    use super::*;

    /// A request of an SMB2 session, answered at a time with a status.
    fn asked(sessions: &mut Sessions, command: u16, session: u64, status: u32, at_ns: i64) {
        let procedure = Procedure::of(Protocol::Smb2, command);
        let mut t = transaction(procedure, at_ns, 1);
        (t.session, t.status, t.outcome) = (Some(session), Some(status), Outcome::of_status(procedure, status));
        if status == 0 { sessions.record(&t) } else { sessions.refused(&t) }
    }

    fn rows(sessions: &Sessions) -> Vec<(Option<u64>, Option<i64>, bool, u64)> {
        sessions.rows().iter().map(|row| (row.session, row.made_ns, row.is_by_client, row.count)).collect()
    }

    #[test]
    fn a_status_has_the_session_that_it_names_and_when_that_was_made() {
        let mut sessions = Sessions::default();
        asked(&mut sessions, 1, 7, 0, 100);
        asked(&mut sessions, 1, 7, 0, 200);
        (0..2).for_each(|_| asked(&mut sessions, 5, 7, USER_SESSION_DELETED, 300));
        asked(&mut sessions, 5, 8, USER_SESSION_DELETED, 300);
        asked(&mut sessions, 5, 7, 0xC000_0022, 300);
        assert_eq!(rows(&sessions), [(Some(7), Some(100), false, 2), (Some(8), None, false, 1)]);
    }

    #[test]
    fn what_the_client_ended_itself_is_told_from_what_the_server_ended() {
        let mut sessions = Sessions::default();
        asked(&mut sessions, 1, 7, 0, 100);
        asked(&mut sessions, 4, 7, 0, 200);
        asked(&mut sessions, 5, 7, NETWORK_NAME_DELETED, 300);
        asked(&mut sessions, 3, 7, 0, 400);
        asked(&mut sessions, 5, 7, NETWORK_NAME_DELETED, 500);
        asked(&mut sessions, 2, 7, 0, 600);
        (0..3).for_each(|_| asked(&mut sessions, 5, 7, USER_SESSION_DELETED, 700));
        let by_client = |by| (Some(7), Some(100), by);
        let found: Vec<_> = rows(&sessions).into_iter().map(|(id, made, by, count)| ((id, made, by), count)).collect();
        assert_eq!(found, [(by_client(true), 1), (by_client(false), 1), (by_client(true), 3)]);
    }
}
