//! SMB2 ids → users, shares and paths, learnt from SESSION_SETUP, TREE_CONNECT and CREATE.
//!
//! Sessions and opens belong to a server, not to a connection: another channel of the session uses them too. Channels may go to several
//! addresses of the server; ids are then known by the address at which the session was set up.
//!
//! The GUID of a server shows which addresses it has, but some servers leave it 0, and copies of a machine may have the same one. So in any
//! doubt, a session is only known at its own address: a name of another server would be worse than none.

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

/// The objects of ids.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Smb2Names {
    users: Recent<(Endpoint, u64), Symbol, IDS>,
    shares: Recent<(Endpoint, u64, u32), Symbol, IDS>,
    opened: Recent<(Endpoint, [u8; 16]), Opened, IDS>,
    /// The GUIDs of connections, by number.
    guids: Recent<u32, Guids, CHANNELS>,
    /// Sessions that were set up at an address.
    set_up: Recent<(Endpoint, u64), (), IDS>,
    /// Where sessions were set up, by GUIDs; `None` if at several addresses.
    sessions: Recent<(Guids, u64), Option<Endpoint>, IDS>,
    /// Sessions with a channel to another address of the server, and where they were set up.
    channels: Recent<(Endpoint, u64), Endpoint, CHANNELS>,
}

impl Smb2Names {
    /// The address by which the ids of a session are known: that at which it was set up, if a channel goes to another one.
    #[inline]
    pub fn origin(&self, server: Endpoint, session: Option<u64>) -> Endpoint {
        if self.channels.is_empty() {
            return server;
        }
        session.and_then(|session| self.channels.get(&(server, session))).unwrap_or(server)
    }

    /// Both ends of a connection stated their GUIDs (MS-SMB2 2.2.3, 2.2.4). One of zeros names no server.
    pub fn learn_guids(&mut self, connection: u32, guids: Guids) {
        match guids[1] == [0; 16] {
            true => self.guids.remove(&connection),
            false => self.guids.insert(connection, guids),
        }
    }

    /// A new session gets its id: one that had a channel to this address is over.
    pub fn begin_session(&mut self, server: Endpoint, session: u64) {
        self.channels.remove(&(server, session));
        self.set_up.insert((server, session), ());
    }

    /// A session was set up on a connection, or its user logged on again.
    pub fn learn_session(&mut self, connection: u32, server: Endpoint, session: u64) {
        if self.origin(server, Some(session)) != server {
            return;
        }
        self.set_up.insert((server, session), ());
        let Some(guids) = self.guids.get(&connection) else { return };
        let at = match self.sessions.get(&(guids, session)) {
            Some(before) => before.filter(|before| *before == server),
            None => Some(server),
        };
        self.sessions.insert((guids, session), at);
    }

    /// A connection was bound to a session.
    pub fn bind(&mut self, connection: u32, server: Endpoint, session: u64) {
        if self.set_up.get(&(server, session)).is_some() {
            return;
        }
        let origin = self.guids.get(&connection).and_then(|guids| self.sessions.get(&(guids, session))).flatten();
        if let Some(origin) = origin.filter(|origin| *origin != server) {
            self.channels.insert((server, session), origin);
        }
    }

    /// The user of a session.
    #[inline]
    pub fn user(&self, server: Endpoint, session: u64) -> Symbol {
        self.users.get(&(server, session)).unwrap_or_default()
    }

    /// The share of a tree id in a session.
    #[inline]
    pub fn share(&self, server: Endpoint, session: u64, tree: u32) -> Symbol {
        self.shares.get(&(server, session, tree)).unwrap_or_default()
    }

    /// The object of a file id; a new, unnamed open if the CREATE was not seen.
    #[inline]
    pub fn opened(&self, server: Endpoint, id: [u8; 16]) -> Opened {
        let opened = self.opened.get(&(server, id)).unwrap_or_default();
        Opened { file: opened.file.or_else(|| Some(FileIdentity::of_open(id))), ..opened }
    }

    /// A user set up a session.
    pub fn learn_user(&mut self, server: Endpoint, session: u64, user: Symbol) {
        self.users.insert((server, session), user);
    }

    /// A session was set up by a user who is not known.
    pub fn forget_user(&mut self, server: Endpoint, session: u64) {
        self.users.remove(&(server, session));
    }

    /// A share was connected.
    pub fn learn_share(&mut self, server: Endpoint, session: u64, tree: u32, share: Symbol) {
        self.shares.insert((server, session, tree), share);
    }

    /// A file was opened.
    #[inline]
    pub fn learn_opened(&mut self, server: Endpoint, id: [u8; 16], opened: Opened) {
        self.opened.insert((server, id), opened);
    }

    /// A file was closed.
    #[inline]
    pub fn forget_opened(&mut self, server: Endpoint, id: [u8; 16]) {
        self.opened.remove(&(server, id));
    }
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
        for number in 1..=last {
            names.learn_opened(server, id(number), Opened { path, file: None });
            names.learn_share(server, number, 1, path);
            names.learn_user(server, number, path);
        }
        assert_eq!(names.opened(server, id(last)).path, path);
        assert_eq!((names.share(server, last, 1), names.user(server, last)), (path, path));
        assert_eq!(names.opened(server, id(1)).path, Symbol::NONE);
    }
}
