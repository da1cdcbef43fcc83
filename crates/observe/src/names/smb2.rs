//! SMB2 ids → users, shares and paths, learnt from SESSION_SETUP, TREE_CONNECT and CREATE.
//!
//! Sessions and opens belong to a server, not to a connection: another channel of the session uses them too.

use std::collections::HashMap;
use std::hash::Hash;

use plimsoll_model::{Endpoint, Symbol};

/// Ids of each kind remembered, at most: some 48 bytes each.
const IDS_MAX: usize = 200_000;

type Map<K> = HashMap<K, Symbol, foldhash::fast::RandomState>;

/// What ids stand for.
#[derive(Debug, Default)]
pub struct Smb2Names {
    users: Map<(Endpoint, u64)>,
    shares: Map<(Endpoint, u64, u32)>,
    paths: Map<(Endpoint, [u8; 16])>,
}

impl Smb2Names {
    /// The user of a session.
    #[inline]
    pub fn user(&self, server: Endpoint, session: u64) -> Symbol {
        self.users.get(&(server, session)).copied().unwrap_or_default()
    }

    /// The share that a tree id stands for in a session.
    #[inline]
    pub fn share(&self, server: Endpoint, session: u64, tree: u32) -> Symbol {
        self.shares.get(&(server, session, tree)).copied().unwrap_or_default()
    }

    /// The path that a file id was opened with.
    #[inline]
    pub fn path(&self, server: Endpoint, file: [u8; 16]) -> Symbol {
        self.paths.get(&(server, file)).copied().unwrap_or_default()
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
    pub fn learn_path(&mut self, server: Endpoint, file: [u8; 16], path: Symbol) {
        insert(&mut self.paths, (server, file), path);
    }

    /// A file was closed.
    #[inline]
    pub fn forget_path(&mut self, server: Endpoint, file: [u8; 16]) {
        self.paths.remove(&(server, file));
    }
}

/// Ids come round again, so a known id takes its new meaning even when the map is full.
fn insert<K: Hash + Eq>(map: &mut Map<K>, key: K, symbol: Symbol) {
    if (map.len() < IDS_MAX) || map.contains_key(&key) {
        map.insert(key, symbol);
    }
}
