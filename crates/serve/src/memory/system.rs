//! Making, finding and removing.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use super::attributes::{Attributes, Change};
use super::budget::Budget;
use super::content::Content;
use super::directory::Entries;
use super::node::{Body, Inner, Node};
use super::{LONGEST_LINK, LONGEST_NAME, Trouble};

/// Memory per node besides its bytes: itself, its entries in three maps, and the longest name; rounded up.
pub(super) const NODE: u64 = 768;
/// Shards of the table of numbers, so that threads seldom meet.
const SHARDS: usize = 16;

/// The file system. Cheap to share: everything takes `&self`.
#[derive(Debug)]
pub(crate) struct FileSystem {
    root: Arc<Node>,
    /// All named nodes, by number, which an NFS file handle contains.
    nodes: [RwLock<HashMap<u64, Arc<Node>>>; SHARDS],
    next: AtomicU64,
    pub(super) budget: Arc<Budget>,
    /// Held while two directories change, or one is removed.
    pub(super) moving: Mutex<()>,
}

/// What to make.
#[derive(Clone, Copy, Debug)]
pub(crate) enum New<'a> {
    File,
    /// A file that its creator recognises by this verifier.
    Exclusive([u8; 8]),
    Directory,
    Link(&'a [u8]),
}

impl FileSystem {
    /// An empty file system with this memory limit, bytes.
    ///
    /// # Errors
    /// The limit is too small even for the root.
    pub(crate) fn new(limit: u64) -> Result<Self, Trouble> {
        let budget = Budget::new(limit);
        let body = Body::Directory(Entries::new());
        let inner = Inner { attributes: Attributes::new(0o777), body, names: 1, verifier: None, further: None };
        let root = Node::new(1, inner, budget.take(NODE)?);
        let nodes: [RwLock<HashMap<u64, Arc<Node>>>; SHARDS] = Default::default();
        let system = Self { root: Arc::clone(&root), nodes, next: AtomicU64::new(2), budget, moving: Mutex::new(()) };
        system.shard(1).write().insert(1, root);
        Ok(system)
    }

    pub(crate) fn root(&self) -> &Arc<Node> {
        &self.root
    }

    /// The node of a number, as long as it has a name.
    pub(crate) fn node(&self, id: u64) -> Result<Arc<Node>, Trouble> {
        self.shard(id).read().get(&id).map(Arc::clone).ok_or(Trouble::Stale)
    }

    /// Bytes in all, and left.
    pub(crate) fn space(&self) -> (u64, u64) {
        (self.budget.limit(), self.budget.free())
    }

    /// Makes something new under a name that is free.
    pub(crate) fn make(
        &self,
        within: &Arc<Node>,
        name: &[u8],
        new: New<'_>,
        change: &Change,
    ) -> Result<Arc<Node>, Trouble> {
        checked(name)?;
        let mut directory = within.change();
        if directory.entries_mut()?.get(name).is_some() {
            return Err(Trouble::Exists);
        }
        let node = self.fresh(new, change)?;
        *node.parent.lock() = Some(Arc::downgrade(within));
        self.shard(node.id()).write().insert(node.id(), Arc::clone(&node));
        directory.entries_mut()?.insert(name, Arc::clone(&node));
        directory.attributes.written();
        Ok(node)
    }

    /// Creates a file with a name, or finds the one that was created with the same verifier.
    pub(crate) fn make_once(&self, within: &Arc<Node>, name: &[u8], verifier: [u8; 8]) -> Result<Arc<Node>, Trouble> {
        match self.make(within, name, New::Exclusive(verifier), &Change::default()) {
            Err(Trouble::Exists) => {
                let node = within.lookup(name)?;
                let same = node.look().verifier == Some(verifier);
                if same { Ok(node) } else { Err(Trouble::Exists) }
            }
            made => made,
        }
    }

    /// Takes a name away; a directory must be empty.
    pub(crate) fn remove(&self, within: &Node, name: &[u8]) -> Result<(), Trouble> {
        let _moving = self.moving.lock();
        let mut directory = within.change();
        let node = directory.entries_mut()?.get(name).map(Arc::clone).ok_or(Trouble::NotFound)?;
        self.forget(&node)?;
        directory.entries_mut()?.remove(name);
        directory.attributes.written();
        Ok(())
    }

    /// Takes a name of a node; of a directory only if it is empty. `moving` is held.
    pub(super) fn forget(&self, node: &Node) -> Result<(), Trouble> {
        let mut inner = node.change();
        if let Body::Directory(entries) = &inner.body
            && !entries.is_empty()
        {
            return Err(Trouble::NotEmpty);
        }
        inner.names = inner.names.saturating_sub(1);
        inner.attributes.changed = std::time::SystemTime::now();
        if inner.names > 0 {
            inner.refund_name();
            return Ok(());
        }
        drop(inner);
        self.shard(node.id()).write().remove(&node.id());
        Ok(())
    }

    fn fresh(&self, new: New<'_>, change: &Change) -> Result<Arc<Node>, Trouble> {
        let (mode, text) = match new {
            New::File | New::Exclusive(_) => (0o644, 0),
            New::Directory => (0o755, 0),
            New::Link(text) if text.len() > LONGEST_LINK => return Err(Trouble::NameTooLong),
            New::Link(text) => (0o777, text.len()),
        };
        let share = self.budget.take(NODE + text as u64)?;
        let mut attributes = Attributes::new(mode);
        attributes.apply(change);
        let body = match new {
            New::File | New::Exclusive(_) => {
                let mut content = Content::new(&self.budget)?;
                content.set_size(change.size.unwrap_or(0))?;
                Body::File(content)
            }
            New::Directory => Body::Directory(Entries::new()),
            New::Link(text) => Body::Link(text.into()),
        };
        let verifier = if let New::Exclusive(verifier) = new { Some(verifier) } else { None };
        let inner = Inner { attributes, body, names: 1, verifier, further: None };
        Ok(Node::new(self.next.fetch_add(1, Ordering::Relaxed), inner, share))
    }

    fn shard(&self, id: u64) -> &RwLock<HashMap<u64, Arc<Node>>> {
        let [first, ..] = &self.nodes;
        self.nodes.get(usize::try_from(id).unwrap_or(0) % SHARDS).unwrap_or(first)
    }
}

impl Drop for FileSystem {
    /// Empties the directories while every node is still held: a deep tree that falls apart from its root would need a
    /// stack as deep.
    fn drop(&mut self) {
        for shard in &self.nodes {
            for node in shard.read().values() {
                if let Body::Directory(entries) = &mut node.change().body {
                    *entries = Entries::new();
                }
            }
        }
    }
}

/// A name that something may have.
pub(super) fn checked(name: &[u8]) -> Result<(), Trouble> {
    match name {
        [] | b"." | b".." => Err(Trouble::InvalidName),
        _ if name.len() > LONGEST_NAME => Err(Trouble::NameTooLong),
        _ if name.iter().any(|byte| matches!(byte, 0 | b'/')) => Err(Trouble::InvalidName),
        _ => Ok(()),
    }
}
