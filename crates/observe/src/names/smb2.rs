//! SMB2 ids → users, shares and paths, learnt from SESSION_SETUP, TREE_CONNECT and CREATE.
//!
//! Sessions and opens belong to a server, not to a connection: another channel of the session uses them too.

use std::collections::HashMap;
use std::hash::Hash;

use plimsoll_model::{Endpoint, FileIdentity, Symbol};
use serde::{Deserialize, Serialize};

/// Ids of each kind remembered, at most: some 56 bytes each.
const IDS_MAX: usize = 200_000;

type Map<K, V = Symbol> = HashMap<K, V, foldhash::fast::RandomState>;

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
    users: Map<(Endpoint, u64)>,
    shares: Map<(Endpoint, u64, u32)>,
    opened: Map<(Endpoint, [u8; 16]), Opened>,
}

impl Smb2Names {
    /// The user of a session.
    #[inline]
    pub fn user(&self, server: Endpoint, session: u64) -> Symbol {
        self.users.get(&(server, session)).copied().unwrap_or_default()
    }

    /// The share of a tree id in a session.
    #[inline]
    pub fn share(&self, server: Endpoint, session: u64, tree: u32) -> Symbol {
        self.shares.get(&(server, session, tree)).copied().unwrap_or_default()
    }

    /// The object of a file id; a new, unnamed open if the CREATE was not seen.
    #[inline]
    pub fn opened(&self, server: Endpoint, id: [u8; 16]) -> Opened {
        let opened = self.opened.get(&(server, id)).copied().unwrap_or_default();
        Opened { file: opened.file.or_else(|| Some(FileIdentity::of_open(id))), ..opened }
    }

    /// A session was set up.
    pub fn learn_user(&mut self, server: Endpoint, session: u64, user: Symbol) {
        insert(&mut self.users, (server, session), user);
    }

    /// A share was connected.
    pub fn learn_share(&mut self, server: Endpoint, session: u64, tree: u32, share: Symbol) {
        insert(&mut self.shares, (server, session, tree), share);
    }

    /// A file was opened.
    #[inline]
    pub fn learn_opened(&mut self, server: Endpoint, id: [u8; 16], opened: Opened) {
        insert(&mut self.opened, (server, id), opened);
    }

    /// A file was closed.
    #[inline]
    pub fn forget_opened(&mut self, server: Endpoint, id: [u8; 16]) {
        self.opened.remove(&(server, id));
    }
}

/// Ids are reused, so a known id takes its new meaning even when the map is full.
fn insert<K: Hash + Eq, V>(map: &mut Map<K, V>, key: K, value: V) {
    if (map.len() < IDS_MAX) || map.contains_key(&key) {
        map.insert(key, value);
    }
}
