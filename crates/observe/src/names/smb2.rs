//! SMB2 ids → users, shares and paths, learnt from SESSION_SETUP, TREE_CONNECT and CREATE.
//!
//! Sessions and opens belong to a server, not to a connection: another channel of the session uses them too. Channels may go to several
//! addresses of the server; ids are then known by the address at which the session was set up.
//!
//! The GUID of a server shows which addresses it has, but some servers leave it 0, and copies of a machine may have the same one. So in any
//! doubt, a session is only known at its own address: a name of another server would be worse than none.
//!
//! Some servers before SMB 3 number sessions anew on every connection. If several connections set up sessions with the same ID, each
//! session belongs to its own connection.

use plimsoll_model::{Endpoint, FileIdentity, Symbol};
use serde::{Deserialize, Serialize};

use crate::recent::Recent;

/// The newest ids of each kind are remembered, twice as many at most: some 56 bytes each. Clients do not give all of them back.
const IDS: usize = 100_000;

/// The newest connections with GUIDs, and bound sessions, are remembered, twice as many at most.
const CHANNELS: usize = 10_000;

/// The GUIDs that a client and a server stated when they connected. All channels of a session have the same ones.
pub(crate) type Guids = [[u8; 16]; 2];

/// The object of a file id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// The path that it was opened with.
    pub path: Symbol,
    /// The file on its server.
    pub file: Option<FileIdentity>,
}

/// Where the ids of a session are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The address at which the session was set up.
    pub server: Endpoint,
    /// 0, or 1 + the number of the connection if several connections set up sessions with this ID.
    scope: u32,
}

fn scope_of(connection: u32) -> u32 {
    connection.saturating_add(1)
}

/// The connections that set up sessions with an ID.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SetUp {
    first: u32,
    /// The latest one, if there are several.
    last: Option<u32>,
    /// The frame in which the latest session got its ID, if the capture has it.
    frame: Option<u64>,
}

/// The objects of ids.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Smb2Names {
    users: Recent<(Origin, u64), Symbol, IDS>,
    shares: Recent<(Origin, u64, u32), Symbol, IDS>,
    opened: Recent<(Origin, [u8; 16]), Opened, IDS>,
    /// The latest opens of a server in whichever session, if there are equal session IDs: a durable handle outlives its session.
    opened_anywhere: Recent<(Endpoint, [u8; 16]), Opened, IDS>,
    /// The GUIDs of connections, by number.
    guids: Recent<u32, Guids, CHANNELS>,
    /// Sessions that were set up at an address.
    set_up: Recent<(Endpoint, u64), SetUp, IDS>,
    /// Whether several connections set up sessions with the same ID.
    has_equal_ids: bool,
    /// The scopes of sessions to which connections were bound, by connection and session.
    bound: Recent<(u32, u64), u32, CHANNELS>,
    /// Where sessions were set up, by GUIDs; `None` if at several addresses.
    sessions: Recent<(Guids, u64), Option<Endpoint>, IDS>,
    /// Sessions with a channel to another address of the server, and where they were set up.
    channels: Recent<(Endpoint, u64), Endpoint, CHANNELS>,
}

impl Smb2Names {
    /// Where the IDs of the session are valid that a connection to this address uses. For a channel to another address, this is where the
    /// session was set up.
    #[inline]
    pub fn origin(&self, connection: u32, server: Endpoint, session: Option<u64>) -> Origin {
        match session {
            Some(session) if self.has_equal_ids || !self.channels.is_empty() => {
                self.origin_of(connection, server, session)
            }
            _ => Origin { server, scope: 0 },
        }
    }

    #[cold]
    fn origin_of(&self, connection: u32, server: Endpoint, session: u64) -> Origin {
        let server = self.channels.get(&(server, session)).unwrap_or(server);
        let several = self.set_up.get(&(server, session)).filter(|set_up| set_up.last.is_some());
        let scope = match several {
            Some(set_up) if set_up.first != connection => {
                self.bound.get(&(connection, session)).unwrap_or_else(|| scope_of(connection))
            }
            _ => 0,
        };
        Origin { server, scope }
    }

    /// Both ends of a connection stated their GUIDs (MS-SMB2 2.2.3, 2.2.4). One of zeros names no server.
    pub fn learn_guids(&mut self, connection: u32, guids: Guids) {
        match guids[1] == [0; 16] {
            true => self.guids.remove(&connection),
            false => self.guids.insert(connection, guids),
        }
    }

    /// A new session gets its ID on a connection, in this frame: an earlier session with a channel to this address is over.
    pub fn begin_session(&mut self, connection: u32, server: Endpoint, session: u64, frame: u64) {
        self.channels.remove(&(server, session));
        self.bound.remove(&(connection, session));
        let before = self.set_up.get(&(server, session));
        let first = before.map_or(connection, |before| before.first);
        let has_several = first != connection || before.is_some_and(|before| before.last.is_some());
        self.has_equal_ids |= has_several;
        let set_up = SetUp { first, last: has_several.then_some(connection), frame: Some(frame) };
        self.set_up.insert((server, session), set_up);
    }

    /// The frame in which the latest session with this ID got it, if the capture has it.
    pub fn begun_frame(&self, server: Endpoint, session: u64) -> Option<u64> {
        self.set_up.get(&(server, session)).and_then(|set_up| set_up.frame)
    }

    /// Whether the latest session with this ID was set up on another connection.
    pub fn is_set_up_elsewhere(&self, connection: u32, server: Endpoint, session: u64) -> bool {
        let set_up = self.set_up.get(&(server, session));
        set_up.is_some_and(|set_up| set_up.last.unwrap_or(set_up.first) != connection)
    }

    /// A session was set up on a connection, or its user logged on again.
    pub fn learn_session(&mut self, connection: u32, server: Endpoint, session: u64) {
        if self.origin(connection, server, Some(session)).server != server {
            return;
        }
        let new = SetUp { first: connection, last: None, frame: None };
        let set_up = self.set_up.get(&(server, session)).unwrap_or(new);
        self.set_up.insert((server, session), set_up);
        let Some(guids) = self.guids.get(&connection) else { return };
        let at = match self.sessions.get(&(guids, session)) {
            Some(before) => before.filter(|before| *before == server),
            None => Some(server),
        };
        self.sessions.insert((guids, session), at);
    }

    /// A connection was bound to a session.
    pub fn bind(&mut self, connection: u32, server: Endpoint, session: u64) {
        if let Some(set_up) = self.set_up.get(&(server, session)) {
            return self.bind_to(connection, session, set_up);
        }
        let origin = self.guids.get(&connection).and_then(|guids| self.sessions.get(&(guids, session))).flatten();
        if let Some(origin) = origin.filter(|origin| *origin != server) {
            self.channels.insert((server, session), origin);
            if let Some(set_up) = self.set_up.get(&(origin, session)) {
                self.bind_to(connection, session, set_up);
            }
        }
    }

    /// A connection was bound to the latest of several sessions with this ID.
    fn bind_to(&mut self, connection: u32, session: u64, set_up: SetUp) {
        if let Some(last) = set_up.last {
            let scope = if last == set_up.first { 0 } else { scope_of(last) };
            self.bound.insert((connection, session), scope);
        }
    }

    /// The user of a session.
    #[inline]
    pub fn user(&self, origin: Origin, session: u64) -> Symbol {
        self.users.get(&(origin, session)).unwrap_or_default()
    }

    /// The share of a tree id in a session.
    #[inline]
    pub fn share(&self, origin: Origin, session: u64, tree: u32) -> Symbol {
        self.shares.get(&(origin, session, tree)).unwrap_or_default()
    }

    /// The object of a file id; a new, unnamed open if the CREATE was not seen.
    #[inline]
    pub fn opened(&self, origin: Origin, id: [u8; 16]) -> Opened {
        identified(self.opened.get(&(origin, id)), id)
    }

    /// The object of a durable handle that a client wants back, perhaps in another session.
    pub fn reconnected(&self, origin: Origin, id: [u8; 16]) -> Opened {
        let anywhere = || self.opened_anywhere.get(&(origin.server, id));
        let before_equal_ids = || self.opened.get(&(Origin { scope: 0, ..origin }, id));
        identified(self.opened.get(&(origin, id)).or_else(anywhere).or_else(before_equal_ids), id)
    }

    /// A user set up a session.
    pub fn learn_user(&mut self, origin: Origin, session: u64, user: Symbol) {
        self.users.insert((origin, session), user);
    }

    /// A session was set up by a user who is not known, or is over.
    pub fn forget_user(&mut self, origin: Origin, session: u64) {
        self.users.remove(&(origin, session));
    }

    /// A share was connected.
    pub fn learn_share(&mut self, origin: Origin, session: u64, tree: u32, share: Symbol) {
        self.shares.insert((origin, session, tree), share);
    }

    /// A share was disconnected, or another one got its tree id.
    pub fn forget_share(&mut self, origin: Origin, session: u64, tree: u32) {
        self.shares.remove(&(origin, session, tree));
    }

    /// A file was opened.
    #[inline]
    pub fn learn_opened(&mut self, origin: Origin, id: [u8; 16], opened: Opened) {
        self.opened.insert((origin, id), opened);
        if self.has_equal_ids {
            self.opened_anywhere.insert((origin.server, id), opened);
        }
    }

    /// A file was closed.
    #[inline]
    pub fn forget_opened(&mut self, origin: Origin, id: [u8; 16]) {
        self.opened.remove(&(origin, id));
        if self.has_equal_ids {
            self.opened_anywhere.remove(&(origin.server, id));
        }
    }
}

fn identified(opened: Option<Opened>, id: [u8; 16]) -> Opened {
    let opened = opened.unwrap_or_default();
    Opened { file: opened.file.or_else(|| Some(FileIdentity::of_open(id))), ..opened }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ids_are_learnt_however_many_there_were_before() {
        let server = Endpoint { ip: [10, 0, 0, 1].into(), port: 445 };
        let id = |number: u64| u128::from(number).to_le_bytes();
        let (mut names, mut text) = (Smb2Names::default(), plimsoll_model::Names::default());
        let path = text.intern("file");
        let last = 2 * IDS as u64 + 1;
        let origin = names.origin(1, server, Some(1));
        for number in 1..=last {
            names.learn_opened(origin, id(number), Opened { path, file: None });
            names.learn_share(origin, number, 1, path);
            names.learn_user(origin, number, path);
        }
        assert_eq!(names.opened(origin, id(last)).path, path);
        assert_eq!((names.share(origin, last, 1), names.user(origin, last)), (path, path));
        assert_eq!(names.opened(origin, id(1)).path, Symbol::NONE);
    }

    #[test]
    fn sessions_with_the_same_id_belong_to_their_connections() {
        let server = Endpoint { ip: [10, 0, 0, 1].into(), port: 445 };
        let (mut names, session) = (Smb2Names::default(), 7);
        let origin = |names: &Smb2Names, connection| names.origin(connection, server, Some(session));
        names.begin_session(1, server, session, 10);
        names.bind(2, server, session);
        names.begin_session(1, server, session, 20);
        assert!([1, 2, 3].iter().all(|&connection| origin(&names, connection).scope == 0), "one connection set it up");
        names.begin_session(4, server, session, 30);
        names.bind(5, server, session);
        let scopes = [1, 4, 5, 6].map(|connection| origin(&names, connection).scope);
        assert_eq!(scopes, [0, scope_of(4), scope_of(4), scope_of(6)]);
        names.begin_session(1, server, session, 40);
        names.bind(6, server, session);
        assert_eq!([1, 4, 6].map(|connection| origin(&names, connection).scope), [0, scope_of(4), 0]);
        assert_eq!(names.begun_frame(server, session), Some(40));
        assert_eq!([1, 4].map(|connection| names.is_set_up_elsewhere(connection, server, session)), [false, true]);
        assert_eq!(names.origin(4, server, Some(8)).scope, 0, "another session");
    }
}
