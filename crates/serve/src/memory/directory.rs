//! The names in a directory, and a place in its listing that stays one.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use super::node::Node;

/// First cookie of listings; servers use smaller ones for `.` and `..`.
const FIRST_COOKIE: u64 = 3;

/// Names and their nodes. Each name gets a number when it is created, which is never used again: a listing continues after the last
/// number that it returned, and shows each name that existed all the time exactly once, despite changes.
#[derive(Debug)]
pub(crate) struct Entries {
    by_name: HashMap<Arc<[u8]>, (u64, Arc<Node>)>,
    by_cookie: BTreeMap<u64, Arc<[u8]>>,
    next: u64,
    directories: u32,
}

/// An entry of a listing.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) cookie: u64,
    pub(crate) name: Arc<[u8]>,
    pub(crate) node: Arc<Node>,
}

impl Entries {
    pub(crate) fn new() -> Self {
        Self { by_name: HashMap::new(), by_cookie: BTreeMap::new(), next: FIRST_COOKIE, directories: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// How many of the entries are directories.
    pub(crate) fn directories(&self) -> u32 {
        self.directories
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<&Arc<Node>> {
        self.by_name.get(name).map(|(_, node)| node)
    }

    /// The first entry behind a cookie; 0 is before all.
    pub(crate) fn after(&self, cookie: u64) -> Option<Entry> {
        let (cookie, name) = self.by_cookie.range((Bound::Excluded(cookie), Bound::Unbounded)).next()?;
        let (_, node) = self.by_name.get(name)?;
        Some(Entry { cookie: *cookie, name: Arc::clone(name), node: Arc::clone(node) })
    }

    /// Adds a name; returns its previous node.
    pub(crate) fn insert(&mut self, name: &[u8], node: Arc<Node>) -> Option<Arc<Node>> {
        let before = self.remove(name);
        let (name, cookie): (Arc<[u8]>, u64) = (name.into(), self.next);
        self.next += 1;
        self.directories += u32::from(node.is_directory());
        self.by_cookie.insert(cookie, Arc::clone(&name));
        self.by_name.insert(name, (cookie, node));
        before
    }

    pub(crate) fn remove(&mut self, name: &[u8]) -> Option<Arc<Node>> {
        let (cookie, node) = self.by_name.remove(name)?;
        self.by_cookie.remove(&cookie);
        self.directories -= u32::from(node.is_directory());
        Some(node)
    }
}
