//! Statuses for state that a server does not have: of which session, when that was made, and whether its client had ended it.
//!
//! A server that restarts forgets what it had before, but not a session that it makes later, nor what the client itself has ended.

use std::net::IpAddr;

use plimsoll_model::{Endpoint, Protocol, StatusFamily, Symbol, Transaction};
use serde::{Deserialize, Serialize};

use super::statuses::is_aftermath;
use crate::io::Generations;
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
/// Maximum number of known SMB sessions in each of two generations: 700 KiB together. When those before were made is not known.
const MAX_SESSIONS: usize = 2048;

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
    /// When the last was answered, ns.
    pub last_ns: i64,
}

/// An SMB session whose logon was captured.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Session {
    connection: u32,
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
    known: Generations<SessionKey, Session>,
}

/// Server, client and number: many servers number the sessions of each connection anew.
type SessionKey = (Endpoint, IpAddr, u64);

fn session_key(t: &Transaction, id: u64) -> SessionKey {
    (t.server, t.client.ip, id)
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
        let key = session_key(t, id);
        let session = self.known.get_mut(&key);
        // SMB2 clients also log on again to a session that they have. SMB1 servers use the numbers of sessions again.
        let is_this = |session: &&mut Session| !session.is_over && session.connection == t.connection;
        let is_again = row.protocol == Protocol::Smb2 && session.as_ref().is_some_and(is_this);
        match (row.name, session) {
            ("SESSION_SETUP" | "SESSION_SETUP_ANDX", _) if !is_again => {
                let made = Session { connection: t.connection, made_ns, is_over: false, left: None };
                *self.known.at(key, MAX_SESSIONS, |_| {}) = made;
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
        let session = t.session.and_then(|id| self.known.get(&session_key(t, id)).copied());
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
            last_ns: t.timeline.response_last.unwrap_or(i64::MIN),
        });
    }

    fn add(&mut self, more: Forgotten) {
        let key = |row: &Forgotten| (row.server, row.protocol, row.status, row.session, row.made_ns, row.is_by_client);
        match self.rows.iter().position(|row| key(row) == key(&more)) {
            Some(at) => {
                let row = &mut self.rows[at];
                row.count += more.count;
                row.first_ns = row.first_ns.min(more.first_ns);
                row.last_ns = row.last_ns.max(more.last_ns);
            }
            None if self.rows.len() < MAX_ROWS => self.rows.push(more),
            None => {}
        }
    }

    /// Adds another part of the same data.
    pub(super) fn merge(&mut self, other: &Sessions) {
        other.rows.iter().for_each(|row| self.add(*row));
    }

    pub(super) fn rows(&self) -> &[Forgotten] {
        &self.rows
    }

    /// The state written with [`Sessions::rows`].
    pub(super) fn of(rows: Vec<Forgotten>) -> Option<Self> {
        (rows.len() <= MAX_ROWS).then(|| Self { rows, ..Self::default() })
    }
}

crate::state::fields!("statuses for forgotten state"; Forgotten {
    server, protocol, status, session, made_ns, is_by_client, count, first_ns, last_ns,
} if |row| Counter::all(&[row.count]));

#[cfg(test)]
mod tests {
    use plimsoll_model::{Outcome, Procedure};
    use plimsoll_testkit::transaction;

    use super::*;

    /// A request of an SMB2 session, answered at a time with a status.
    fn asked(sessions: &mut Sessions, command: u16, session: u64, status: u32, at_ns: i64) {
        asked_by(sessions, 1, (command, session), status, at_ns);
    }

    fn asked_by(sessions: &mut Sessions, client: u8, (command, session): (u16, u64), status: u32, at_ns: i64) {
        let procedure = Procedure::of(Protocol::Smb2, command);
        let mut t = transaction(procedure, at_ns, 1);
        t.client.ip = [10, 0, 0, client].into();
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
        [300, 350].into_iter().for_each(|at_ns| asked(&mut sessions, 5, 7, USER_SESSION_DELETED, at_ns));
        asked(&mut sessions, 5, 8, USER_SESSION_DELETED, 300);
        asked(&mut sessions, 5, 7, 0xC000_0022, 300);
        assert_eq!(rows(&sessions), [(Some(7), Some(100), false, 2), (Some(8), None, false, 1)]);
        assert_eq!((sessions.rows()[0].first_ns, sessions.rows()[0].last_ns), (300, 350));
    }

    #[test]
    fn a_session_of_another_client_with_the_same_number_is_another_one() {
        let mut sessions = Sessions::default();
        (1..=3).for_each(|client| asked_by(&mut sessions, client, (1, 7), 0, 100 * i64::from(client)));
        asked_by(&mut sessions, 1, (2, 7), 0, 400);
        for client in [2, 1, 3] {
            asked_by(&mut sessions, client, (5, 7), USER_SESSION_DELETED, 500);
        }
        let of = |made_ns, is_by_client| (Some(7), Some(made_ns), is_by_client, 1);
        assert_eq!(rows(&sessions), [of(200, false), of(100, true), of(300, false)]);
    }

    #[test]
    fn a_session_of_another_connection_with_the_same_number_is_another_one() {
        let mut sessions = Sessions::default();
        asked(&mut sessions, 1, 7, 0, 100);
        let mut t = transaction(Procedure::of(Protocol::Smb2, 1), 200, 1);
        (t.connection, t.session, t.status) = (t.connection + 1, Some(7), Some(0));
        t.client.ip = [10, 0, 0, 1].into();
        sessions.record(&t);
        asked(&mut sessions, 5, 7, USER_SESSION_DELETED, 300);
        assert_eq!(rows(&sessions), [(Some(7), Some(200), false, 1)]);
    }

    /// A client binds a further connection to a session of which it has left the share: that has a procedure of its own.
    #[test]
    fn a_bound_connection_makes_no_session() {
        let mut sessions = Sessions::default();
        asked(&mut sessions, 1, 7, 0, 100);
        asked(&mut sessions, 4, 7, 0, 200);
        let mut t = transaction(Procedure::smb2_binding(), 300, 1);
        (t.connection, t.session, t.status) = (t.connection + 1, Some(7), Some(0));
        t.client.ip = [10, 0, 0, 1].into();
        sessions.record(&t);
        asked(&mut sessions, 5, 7, NETWORK_NAME_DELETED, 400);
        assert_eq!(rows(&sessions), [(Some(7), Some(100), true, 1)]);
    }

    #[test]
    fn the_latest_sessions_are_known() {
        let mut sessions = Sessions::default();
        (0..10_000).for_each(|session| asked(&mut sessions, 1, session, 0, 100));
        for session in [9_999, 0] {
            asked(&mut sessions, 5, session, USER_SESSION_DELETED, 200);
        }
        assert_eq!(rows(&sessions), [(Some(9_999), Some(100), false, 1), (Some(0), None, false, 1)]);
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
