//! Renaming: the only operation that changes two directories.

use std::sync::Arc;

use super::Trouble;
use super::node::Node;
use super::system::{FileSystem, checked};

/// Handling of an existing new name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replace {
    /// Nothing: the name must be free.
    Never,
    /// Replaces a file, or a link.
    Files,
    /// Replaces like with like, a directory if it is empty (RFC 1813 3.3.14).
    Alike,
}

impl FileSystem {
    /// Gives what `from` names in one directory the name `to` in another, or in the same: all at once.
    pub(crate) fn rename(
        &self,
        (from_in, from): (&Arc<Node>, &[u8]),
        (to_in, to): (&Arc<Node>, &[u8]),
        replace: Replace,
    ) -> Result<(), Trouble> {
        checked(from)?;
        checked(to)?;
        // A thread locks two directories only while it holds this, so their order does not matter.
        let _moving = self.moving.lock();
        let mut source = from_in.change();
        let mut target = (!Arc::ptr_eq(from_in, to_in)).then(|| to_in.change());
        let node = source.entries_mut()?.get(from).map(Arc::clone).ok_or(Trouble::NotFound)?;
        if node.is_directory() && is_within(to_in, &node) {
            return Err(Trouble::IntoItself);
        }
        let directory = target.as_deref_mut().unwrap_or(&mut source);
        match directory.entries_mut()?.get(to).map(Arc::clone) {
            Some(old) if Arc::ptr_eq(&old, &node) => return Ok(()),
            // It is locked, and not empty, because it contains `from`.
            Some(old) if Arc::ptr_eq(&old, from_in) && replace == Replace::Alike => return Err(Trouble::NotEmpty),
            Some(old) => {
                replaceable(&node, &old, replace)?;
                self.forget(&old)?;
            }
            None => (),
        }
        directory.entries_mut()?.insert(to, Arc::clone(&node));
        directory.attributes.written();
        drop(target);
        source.entries_mut()?.remove(from);
        source.attributes.written();
        *node.parent.lock() = Some(Arc::downgrade(to_in));
        node.change().attributes.changed = std::time::SystemTime::now();
        Ok(())
    }
}

fn replaceable(node: &Node, old: &Node, replace: Replace) -> Result<(), Trouble> {
    match (replace, node.is_directory(), old.is_directory()) {
        (Replace::Never, ..) => Err(Trouble::Exists),
        (Replace::Files, _, true) | (Replace::Alike, false, true) => Err(Trouble::IsADirectory),
        (Replace::Files | Replace::Alike, true, false) => Err(Trouble::NotADirectory),
        (Replace::Files, false, false) | (Replace::Alike, ..) => Ok(()),
    }
}

/// Whether a directory is another one, or below it. Directories cannot move while `moving` is held.
fn is_within(directory: &Arc<Node>, other: &Arc<Node>) -> bool {
    let mut at = Some(Arc::clone(directory));
    while let Some(node) = at {
        if Arc::ptr_eq(&node, other) {
            return true;
        }
        at = node.parent();
    }
    false
}
