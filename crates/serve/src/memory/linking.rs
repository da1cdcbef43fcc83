//! More names for a file, and the directory above the root that NFSv4 starts from.

use std::sync::Arc;

use super::attributes::Attributes;
use super::directory::Entries;
use super::node::{Body, Inner, Node};
use super::system::{FileSystem, NODE, checked};
use super::{LONGEST_NAME, Trouble};

/// Names of one file, at most, as on ext4.
const MOST_NAMES: u32 = 65_000;
/// Memory of a further name, bytes: the name twice, and its entries in two maps.
const NAME: u64 = LONGEST_NAME as u64 + 129;
/// Number of the directory above the root.
pub(crate) const TOP: u64 = u64::MAX;

impl FileSystem {
    /// Gives a file or symbolic link one more name, which is free.
    pub(crate) fn link(&self, node: &Arc<Node>, within: &Arc<Node>, name: &[u8]) -> Result<(), Trouble> {
        checked(name)?;
        if node.is_directory() {
            return Err(Trouble::IsADirectory);
        }
        let mut directory = within.change();
        if directory.entries_mut()?.get(name).is_some() {
            return Err(Trouble::Exists);
        }
        let mut inner = node.change();
        match inner.names {
            0 => return Err(Trouble::Stale),
            MOST_NAMES.. => return Err(Trouble::TooManyNames),
            names => inner.names = names + 1,
        }
        if let Err(full) = inner.pay_for_name(&self.budget) {
            inner.names -= 1;
            return Err(full);
        }
        inner.attributes.changed = std::time::SystemTime::now();
        drop(inner);
        directory.entries_mut()?.insert(name, Arc::clone(node));
        directory.attributes.written();
        Ok(())
    }

    /// A directory whose only entry is the root, under this name. It is outside the file system, which cannot change it.
    pub(crate) fn above(&self, name: &str) -> Result<Arc<Node>, Trouble> {
        let mut entries = Entries::new();
        entries.insert(name.as_bytes(), Arc::clone(self.root()));
        let body = Body::Directory(entries);
        let inner = Inner { attributes: Attributes::new(0o555), body, names: 1, verifier: None, further: None };
        Ok(Node::new(TOP, inner, self.budget.take(NODE)?))
    }
}

impl Inner {
    /// Takes memory for one more name.
    fn pay_for_name(&mut self, budget: &Arc<super::budget::Budget>) -> Result<(), Trouble> {
        match &mut self.further {
            Some(share) => share.grow(NAME),
            none => {
                *none = Some(budget.take(NAME)?);
                Ok(())
            }
        }
    }

    /// Returns the memory of one further name.
    pub(super) fn refund_name(&mut self) {
        if let Some(share) = &mut self.further {
            share.shrink(NAME);
        }
    }
}
