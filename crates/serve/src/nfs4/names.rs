//! Operations on names: LOOKUP, LOOKUPP, CREATE, REMOVE, RENAME, LINK, READLINK, SECINFO; and ACCESS.
//!
//! Spec: RFC 8881 18

use std::sync::Arc;

use plimsoll_wire::nfs::v4::access::ALL_RIGHTS;
use plimsoll_wire::xdr::{Emit, Strict};

use super::compound::Compound;
use super::set_attributes::Wanted;
use super::status::{Done, Status};
use crate::memory::{Change, Kind, LONGEST_LINK, LONGEST_NAME, New, Node, Replace, TOP, Trouble};

/// `nfs_ftype4`: directory and symbolic link, which CREATE makes.
const DIRECTORY: u32 = 2;
const LINK: u32 = 5;
/// MODIFY, EXTEND and DELETE.
const CHANGES: u32 = 0x1C;

/// A name of a file (`component4`).
pub(super) fn name<'a>(reader: &mut Strict<'a>) -> Done<&'a [u8]> {
    /// Longer ones are refused by their length; this bounds what is read.
    const LONGEST: usize = 64 << 10;
    let name = reader.opaque(LONGEST)?;
    match name {
        [] => Err(Status::INVAL),
        b"." | b".." => Err(Status::BADNAME),
        _ if name.len() > LONGEST_NAME => Err(Status::NAMETOOLONG),
        _ if name.contains(&0) || name.contains(&b'/') => Err(Status::BADCHAR),
        // RFC 8881 14.5: names are UTF-8.
        _ if std::str::from_utf8(name).is_err() => Err(Status::INVAL),
        _ => Ok(name),
    }
}

/// The change ID of a file: nanoseconds of its last change.
pub(super) fn change_id(node: &Node) -> u64 {
    super::attributes::change(&node.stat())
}

/// `change_info4`. Other threads may change the directory between: it is not of one piece with the change.
pub(super) fn put_change(out: &mut Vec<u8>, before: u64, after: u64) {
    out.put_u32(0);
    out.put_u64(before);
    out.put_u64(after);
}

impl Compound<'_, '_> {
    /// The current handle, of a directory.
    pub(super) fn directory(&self) -> Done<Arc<Node>> {
        let node = self.current()?;
        match node.kind() {
            Kind::Directory => Ok(Arc::clone(node)),
            Kind::Link => Err(Status::SYMLINK),
            Kind::File => Err(Status::NOTDIR),
        }
    }

    pub(super) fn lookup(&mut self) -> Done {
        let name = name(&mut self.reader)?;
        let node = self.directory()?.lookup(name)?;
        self.go(node);
        Ok(())
    }

    pub(super) fn lookup_parent(&mut self) -> Done {
        let node = self.directory()?;
        let parent = self.parent(&node)?;
        self.go(parent);
        Ok(())
    }

    /// Above the export is one directory more.
    fn parent(&self, node: &Node) -> Done<Arc<Node>> {
        match node.parent() {
            _ if node.id() == TOP => Err(Status::NOENT),
            Some(parent) => Ok(parent),
            None if node.id() == self.server.system.root().id() => Ok(Arc::clone(&self.server.top)),
            None => Err(Status::STALE),
        }
    }

    pub(super) fn create(&mut self) -> Done {
        let kind = self.reader.u32()?;
        let text = match kind {
            LINK => self.reader.opaque(LONGEST_LINK)?,
            3 | 4 => self.reader.fixed(8)?,
            _ => &[],
        };
        let name = name(&mut self.reader)?;
        let wanted = Wanted::parse(&mut self.reader)?;
        let directory = self.directory()?;
        let new = match kind {
            DIRECTORY => New::Directory,
            LINK if text.is_empty() => return Err(Status::INVAL),
            LINK => New::Link(text),
            // Regular files are made by OPEN, devices and sockets not at all.
            _ => return Err(Status::BADTYPE),
        };
        self.server.may_change(&directory)?;
        let before = change_id(&directory);
        let change = Change { size: None, ..wanted.change };
        let node = self.server.system.make(&directory, name, new, &change)?;
        put_change(self.out, before, change_id(&directory));
        wanted.without_size().put_mask(self.out);
        self.go(node);
        Ok(())
    }

    pub(super) fn remove(&mut self) -> Done {
        let name = name(&mut self.reader)?;
        let directory = self.directory()?;
        self.server.may_change(&directory)?;
        let before = change_id(&directory);
        self.recall_named(&directory, name)?;
        self.server.system.remove(&directory, name)?;
        put_change(self.out, before, change_id(&directory));
        Ok(())
    }

    /// Recalls the delegations of the file with this name, if there is one.
    fn recall_named(&self, directory: &Node, name: &[u8]) -> Done {
        directory.lookup(name).map_or(Ok(()), |node| self.recall(&node))
    }

    pub(super) fn rename(&mut self) -> Done {
        let (from, to) = (name(&mut self.reader)?, name(&mut self.reader)?);
        let target = self.directory()?;
        let source = Arc::clone(&self.saved()?.node);
        if !source.is_directory() {
            return Err(Status::NOTDIR);
        }
        self.server.may_change(&source)?;
        self.server.may_change(&target)?;
        let before = [change_id(&source), change_id(&target)];
        self.recall_named(&source, from)?;
        self.recall_named(&target, to)?;
        let moved = self.server.system.rename((&source, from), (&target, to), Replace::Alike);
        moved.map_err(|trouble| match trouble {
            // RFC 8881 18.26.3: an object that cannot be replaced is reported as existing.
            Trouble::IsADirectory | Trouble::NotADirectory | Trouble::NotEmpty => Status::EXIST,
            other => other.into(),
        })?;
        put_change(self.out, before[0], change_id(&source));
        put_change(self.out, before[1], change_id(&target));
        Ok(())
    }

    pub(super) fn link(&mut self) -> Done {
        let name = name(&mut self.reader)?;
        let directory = self.directory()?;
        let node = Arc::clone(&self.saved()?.node);
        self.server.may_change(&directory)?;
        self.recall(&node)?;
        let before = change_id(&directory);
        self.server.system.link(&node, &directory, name)?;
        put_change(self.out, before, change_id(&directory));
        Ok(())
    }

    pub(super) fn read_link(&mut self) -> Done {
        let text = self.current()?.text()?;
        self.out.put_opaque(&text);
        Ok(())
    }

    /// Modes are kept and not enforced.
    pub(super) fn access(&mut self) -> Done {
        let asked = self.reader.u32()? & ALL_RIGHTS;
        let fixed = self.server.may_change(self.current()?).is_err();
        self.out.put_u32(asked);
        self.out.put_u32(if fixed { asked & !CHANGES } else { asked });
        Ok(())
    }

    /// SECINFO: the name must exist; the current handle is gone afterwards.
    pub(super) fn security_of_name(&mut self) -> Done {
        let name = name(&mut self.reader)?;
        self.directory()?.lookup(name)?;
        self.put_security();
        Ok(())
    }

    /// SECINFO_NO_NAME, of the current handle or of its parent.
    pub(super) fn security(&mut self) -> Done {
        match self.reader.u32()? {
            0 => drop(self.current()?),
            1 => drop(self.parent(&*self.directory()?)?),
            _ => return Err(Status::BADXDR),
        }
        self.put_security();
        Ok(())
    }

    /// AUTH_SYS, or AUTH_NONE.
    fn put_security(&mut self) {
        [2, 1, 0].iter().for_each(|&word| self.out.put_u32(word));
        self.current = None;
    }
}
