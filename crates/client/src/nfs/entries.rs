//! Paths with their handles, shared by all clients of a thread: clients of one load use the same files, and 10,000 clients that know 1,000
//! handles each would otherwise take 3 GB.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use plimsoll_wire::nfs::{v3, v4};

/// A path, and what is known of it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Entry {
    path: Box<str>,
    handle: Box<[u8]>,
    /// It is no directory: there is nothing below it.
    leaf: bool,
}

/// An entry that is found by its path.
#[derive(Debug)]
pub(super) struct ByPath(Arc<Entry>);

/// A file handle.
pub(crate) trait Bytes: Copy + Eq {
    /// From bytes of such a handle.
    fn from_bytes(bytes: &[u8]) -> Self;
    /// Its bytes.
    fn bytes(&self) -> &[u8];
}

impl Bytes for v3::FileHandle {
    fn from_bytes(bytes: &[u8]) -> Self {
        Self::new(bytes).unwrap_or(Self::EMPTY)
    }

    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl Bytes for v4::FileHandle {
    fn from_bytes(bytes: &[u8]) -> Self {
        Self::new(bytes).unwrap_or(Self::EMPTY)
    }

    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl ByPath {
    pub(super) fn path(&self) -> &str {
        &self.0.path
    }

    pub(super) fn handle<H: Bytes>(&self) -> H {
        H::from_bytes(&self.0.handle)
    }

    pub(super) fn is_leaf(&self) -> bool {
        self.0.leaf
    }

    /// Whether this is what is known.
    pub(super) fn is(&self, handle: &[u8], leaf: bool) -> bool {
        *self.0.handle == *handle && self.0.leaf == leaf
    }
}

impl Borrow<str> for ByPath {
    fn borrow(&self) -> &str {
        &self.0.path
    }
}

impl PartialEq for ByPath {
    fn eq(&self, other: &Self) -> bool {
        self.0.path == other.0.path
    }
}

impl Eq for ByPath {}

impl Hash for ByPath {
    // As that of the path, by which it is found.
    fn hash<S: Hasher>(&self, state: &mut S) {
        (*self.0.path).hash(state);
    }
}

/// The entries of a thread.
#[derive(Default)]
struct Entries {
    all: HashSet<Arc<Entry>, foldhash::fast::RandomState>,
    /// Number of entries at which those that no client has are dropped.
    most: usize,
}

/// Entries below which none is dropped.
const FEW: usize = 1024;

impl Entries {
    fn share(&mut self, entry: Entry) -> Arc<Entry> {
        if let Some(known) = self.all.get(&entry) {
            return Arc::clone(known);
        }
        if self.all.len() >= self.most {
            self.all.retain(|entry| Arc::strong_count(entry) > 1);
            self.most = (2 * self.all.len()).max(FEW);
        }
        let entry = Arc::new(entry);
        self.all.insert(Arc::clone(&entry));
        entry
    }
}

/// The entry of a path, which all clients of this thread share that know the same of it.
pub(super) fn shared(path: &str, handle: &[u8], leaf: bool) -> ByPath {
    thread_local! {
        static ENTRIES: RefCell<Entries> = RefCell::default();
    }
    let entry = Entry { path: path.into(), handle: handle.into(), leaf };
    ByPath(ENTRIES.with_borrow_mut(|entries| entries.share(entry)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_entries_are_one_and_those_of_no_client_are_dropped() {
        let mut entries = Entries::default();
        let mut entry =
            |path: &str, handle: u8| entries.share(Entry { path: path.into(), handle: [handle].into(), leaf: true });
        let (one, same, other) = (entry("a", 1), entry("a", 1), entry("a", 2));
        assert!(Arc::ptr_eq(&one, &same) && !Arc::ptr_eq(&one, &other));
        let kept: Vec<Arc<Entry>> = (0..3 * FEW).map(|number| entry(&format!("kept/{number}"), 1)).collect();
        (0..100 * FEW).for_each(|number| drop(entry(&format!("dropped/{number}"), 1)));
        assert!(entries.all.len() <= 2 * (kept.len() + 2), "{}", entries.all.len());
        assert!(kept.iter().all(|entry| entries.all.contains(entry)));
    }
}
