//! Paths with their handles, shared by all clients of a thread: clients of one load use the same files, and 10,000 clients that know 1,000
//! handles each would otherwise take 3 GB.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use plimsoll_wire::nfs::{v3, v4};

/// A path, and what is known of it.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    path: Box<str>,
    handle: Box<[u8]>,
    /// It is no directory: there is nothing below it.
    leaf: bool,
}

impl Hash for Entry {
    fn hash<S: Hasher>(&self, state: &mut S) {
        #[cfg(test)]
        tests::HASHED.set(tests::HASHED.get() + 1);
        (&self.path, &self.handle).hash(state);
    }
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

/// The entries of a thread. They are in many small tables by their hash: a table that grows, or drops entries, goes through all its
/// entries, and the thread's clients wait meanwhile.
#[derive(Default)]
struct Entries {
    shards: Vec<Shard>,
    hashes: foldhash::fast::RandomState,
}

/// Entries whose hashes have the same remainder.
#[derive(Clone, Default)]
struct Shard {
    all: HashSet<Arc<Entry>, foldhash::fast::RandomState>,
    /// Number of entries at which those that no client has are dropped.
    most: usize,
}

/// Number of shards: of a million entries, one holds 1,000.
const SHARDS: usize = 1024;
/// Entries of a shard below which none is dropped.
const FEW: usize = 4;

impl Entries {
    fn share(&mut self, entry: Entry) -> Arc<Entry> {
        if self.shards.is_empty() {
            self.shards.resize_with(SHARDS, Shard::default);
        }
        // The remainder of a 64-bit hash is small enough for any usize.
        let at = (self.hashes.hash_one(&entry) % SHARDS as u64) as usize;
        self.shards[at].share(entry)
    }
}

impl Shard {
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
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// Number of times that an entry of this thread was hashed.
        pub(super) static HASHED: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn no_single_path_waits_until_all_others_are_moved() {
        let mut entries = Entries::default();
        let mut kept = Vec::new();
        let mut most = 0;
        for number in 0_u32..300_000 {
            let before = HASHED.get();
            let path = number.to_string().into();
            kept.push(entries.share(Entry { path, handle: [1].into(), leaf: true }));
            most = most.max(HASHED.get() - before);
        }
        assert!(most < 1_000, "{most} entries were hashed for one");
        let longest = entries.shards.iter().map(|shard| shard.all.len()).max();
        assert!(longest < Some(1_000), "dropping entries visits at most 1,000 of them: {longest:?}");
    }

    #[test]
    fn equal_entries_are_one_and_those_of_no_client_are_dropped() {
        let mut entries = Entries::default();
        let mut entry =
            |path: &str, handle: u8| entries.share(Entry { path: path.into(), handle: [handle].into(), leaf: true });
        let (one, same, other) = (entry("a", 1), entry("a", 1), entry("a", 2));
        assert!(Arc::ptr_eq(&one, &same) && !Arc::ptr_eq(&one, &other));
        const MANY: usize = FEW * SHARDS;
        let kept: Vec<Arc<Entry>> = (0..3 * MANY).map(|number| entry(&format!("kept/{number}"), 1)).collect();
        (0..50 * MANY).for_each(|number| drop(entry(&format!("dropped/{number}"), 1)));
        let held = |shard: &Shard| shard.all.iter().filter(|entry| Arc::strong_count(entry) > 1).count();
        for shard in &entries.shards {
            assert!(shard.all.len() <= (2 * held(shard)).max(FEW), "{} of {}", shard.all.len(), held(shard));
        }
        let is_there = |entry| entries.shards.iter().any(|shard| shard.all.contains(entry));
        assert!(kept.iter().step_by(97).all(is_there));
    }
}
