//! A file, a directory or a symbolic link.

use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::Trouble;
use super::attributes::{Attributes, Change};
use super::budget::Share;
use super::content::Content;
use super::directory::{Entries, Entry};

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
}

/// An object with a number that is never used again.
#[derive(Debug)]
pub(crate) struct Node {
    id: u64,
    kind: Kind,
    /// The directory that it is in; none for the root. Changed under `moving`.
    pub(super) parent: Mutex<Option<Weak<Node>>>,
    inner: RwLock<Inner>,
    /// Memory of the node itself.
    _share: Share,
}

/// What changes.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) attributes: Attributes,
    pub(super) body: Body,
    /// How many names it has; without one it lives as long as its references.
    pub(super) names: u32,
    /// The verifier of its exclusive creation (RFC 1813 3.3.8): a repeated call finds the same file.
    pub(super) verifier: Option<[u8; 8]>,
    /// Memory of all names but the first.
    pub(super) further: Option<Share>,
}

#[derive(Debug)]
pub(super) enum Body {
    File(Content),
    Directory(Entries),
    Link(Box<[u8]>),
}

impl Node {
    pub(super) fn new(id: u64, inner: Inner, share: Share) -> Arc<Self> {
        let kind = match &inner.body {
            Body::File(_) => Kind::File,
            Body::Directory(_) => Kind::Directory,
            Body::Link(_) => Kind::Link,
        };
        Arc::new(Self { id, kind, parent: Mutex::new(None), inner: RwLock::new(inner), _share: share })
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.kind == Kind::Directory
    }

    /// Its directory; none for the root, and for a node whose directory was removed.
    pub(crate) fn parent(&self) -> Option<Arc<Node>> {
        self.parent.lock().as_ref().and_then(Weak::upgrade)
    }

    pub(super) fn look(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read()
    }

    pub(super) fn change(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write()
    }

    /// Attributes, as they all were at one instant.
    pub(crate) fn stat(&self) -> Stat {
        let inner = self.look();
        let (size, used, links) = match &inner.body {
            Body::File(content) => (content.size(), content.used(), inner.names),
            Body::Directory(_) if inner.names == 0 => (4096, 4096, 0),
            Body::Directory(entries) => (4096, 4096, 2 + entries.directories()),
            Body::Link(text) => (text.len() as u64, text.len() as u64, inner.names),
        };
        Stat { id: self.id, kind: self.kind, size, used, links, attributes: inner.attributes }
    }

    /// Up to `length` bytes from `offset`, and whether that is the end.
    pub(crate) fn read(&self, offset: u64, length: u32) -> Result<(Vec<u8>, bool), Trouble> {
        match &self.look().body {
            Body::File(content) => Ok(content.read(offset, length)),
            Body::Directory(_) => Err(Trouble::IsADirectory),
            Body::Link(_) => Err(Trouble::WrongKind),
        }
    }

    /// Writes all bytes, or nothing.
    pub(crate) fn write(&self, offset: u64, data: &[u8]) -> Result<(), Trouble> {
        let mut inner = self.change();
        inner.content()?.write(offset, data)?;
        inner.attributes.written();
        Ok(())
    }

    /// Takes the memory that writes to the range will need.
    pub(crate) fn allocate(&self, offset: u64, length: u64) -> Result<(), Trouble> {
        let mut inner = self.change();
        inner.content()?.allocate(offset, length)?;
        inner.attributes.written();
        Ok(())
    }

    /// Makes a hole.
    pub(crate) fn deallocate(&self, offset: u64, length: u64) -> Result<(), Trouble> {
        let mut inner = self.change();
        inner.content()?.deallocate(offset, length);
        inner.attributes.written();
        Ok(())
    }

    /// Makes a hole, and extends a shorter file with it.
    pub(crate) fn make_hole(&self, offset: u64, length: u64) -> Result<(), Trouble> {
        let mut inner = self.change();
        let content = inner.content()?;
        content.deallocate(offset, length);
        content.set_size(content.size().max(offset.saturating_add(length)))?;
        inner.attributes.written();
        Ok(())
    }

    /// Where the next data begins and ends from an offset on, if there is any before `until`, and the size of the file at that instant.
    pub(crate) fn next_data(&self, offset: u64, until: u64) -> Result<(Option<(u64, u64)>, u64), Trouble> {
        match &self.look().body {
            Body::File(content) => Ok((content.next_data(offset, until), content.size())),
            Body::Directory(_) => Err(Trouble::IsADirectory),
            Body::Link(_) => Err(Trouble::WrongKind),
        }
    }

    /// Changes attributes, and the size of a file: all changes, or none.
    pub(crate) fn set(&self, change: &Change) -> Result<(), Trouble> {
        let mut inner = self.change();
        if let Some(size) = change.size {
            inner.content()?.set_size(size)?;
            inner.attributes.written();
        }
        inner.attributes.apply(change);
        Ok(())
    }

    /// The target of a symbolic link.
    pub(crate) fn text(&self) -> Result<Vec<u8>, Trouble> {
        match &self.look().body {
            Body::Link(text) => Ok(text.to_vec()),
            Body::File(_) | Body::Directory(_) => Err(Trouble::WrongKind),
        }
    }

    /// The node of a name in this directory.
    pub(crate) fn lookup(&self, name: &[u8]) -> Result<Arc<Node>, Trouble> {
        self.look().entries()?.get(name).map(Arc::clone).ok_or(Trouble::NotFound)
    }

    /// The first entry of this directory behind a cookie; 0 is before all.
    pub(crate) fn entry_after(&self, cookie: u64) -> Result<Option<Entry>, Trouble> {
        Ok(self.look().entries()?.after(cookie))
    }

    pub(crate) fn is_empty(&self) -> Result<bool, Trouble> {
        Ok(self.look().entries()?.is_empty())
    }
}

/// Attributes of a node for clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stat {
    pub(crate) id: u64,
    pub(crate) kind: Kind,
    /// Length in bytes.
    pub(crate) size: u64,
    /// Bytes of memory.
    pub(crate) used: u64,
    /// Names, and for a directory its own `.` and its children's `..`.
    pub(crate) links: u32,
    pub(crate) attributes: Attributes,
}

impl Inner {
    pub(super) fn content(&mut self) -> Result<&mut Content, Trouble> {
        match &mut self.body {
            Body::File(content) => Ok(content),
            Body::Directory(_) => Err(Trouble::IsADirectory),
            Body::Link(_) => Err(Trouble::WrongKind),
        }
    }

    pub(super) fn entries(&self) -> Result<&Entries, Trouble> {
        match &self.body {
            Body::Directory(entries) => Ok(entries),
            Body::File(_) | Body::Link(_) => Err(Trouble::NotADirectory),
        }
    }

    /// The entries, for a change: of a directory that is still there.
    pub(super) fn entries_mut(&mut self) -> Result<&mut Entries, Trouble> {
        match &mut self.body {
            Body::Directory(_) if self.names == 0 => Err(Trouble::Stale),
            Body::Directory(entries) => Ok(entries),
            Body::File(_) | Body::Link(_) => Err(Trouble::NotADirectory),
        }
    }
}
