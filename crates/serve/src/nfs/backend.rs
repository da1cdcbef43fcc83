//! The memory file system as `nfs3_server` wants to see one.

use std::sync::Arc;

use nfs3_server::nfs3_types::nfs3::{
    FSF3_CANSETTIME, FSF3_HOMOGENEOUS, FSF3_SYMLINK, FSINFO3resok, createverf3, fattr3, filename3, nfspath3, nfsstat3,
    nfstime3, post_op_attr, sattr3, stable_how,
};
use nfs3_server::vfs::{
    DirEntryPlus, FileHandleU64, NextResult, NfsFileSystem, NfsReadFileSystem, ReadDirPlusIterator, VFSCapabilities,
};

use super::attributes::{attributes, change, status};
use crate::memory::{Change, FileSystem, New, Node, Replace, Trouble};

/// The longest read and write, bytes.
const LONGEST: u32 = 1 << 20;
/// What requests had best be a multiple of, bytes.
const UNIT: u32 = 4096;

type Done<T> = Result<T, nfsstat3>;

/// File handles are node numbers; the library prepends the server's start time.
#[derive(Debug)]
pub(super) struct Backend {
    system: Arc<FileSystem>,
    read_only: bool,
}

impl Backend {
    pub(super) fn new(system: Arc<FileSystem>, read_only: bool) -> Self {
        Self { system, read_only }
    }

    fn node(&self, handle: &FileHandleU64) -> Done<Arc<Node>> {
        self.system.node(handle.as_u64()).map_err(status)
    }

    fn make(&self, within: &FileHandleU64, name: &[u8], new: New<'_>, with: &Change) -> Done<(FileHandleU64, fattr3)> {
        let within = self.node(within)?;
        let node = self.system.make(&within, name, new, with).map_err(status)?;
        Ok((handle(&node), attributes(&node.stat())))
    }
}

fn handle(node: &Node) -> FileHandleU64 {
    FileHandleU64::new(node.id())
}

impl NfsReadFileSystem for Backend {
    type Handle = FileHandleU64;

    fn root_dir(&self) -> FileHandleU64 {
        handle(self.system.root())
    }

    async fn lookup(&self, within: &FileHandleU64, name: &filename3<'_>) -> Done<FileHandleU64> {
        let within = self.node(within)?;
        let node = match name.as_ref() {
            b"." => within,
            b".." => within.parent().unwrap_or(within),
            name => within.lookup(name).map_err(status)?,
        };
        Ok(handle(&node))
    }

    async fn getattr(&self, id: &FileHandleU64) -> Done<fattr3> {
        Ok(attributes(&self.node(id)?.stat()))
    }

    async fn read(&self, id: &FileHandleU64, offset: u64, count: u32) -> Done<(Vec<u8>, bool)> {
        self.node(id)?.read(offset, count.min(LONGEST)).map_err(status)
    }

    async fn readdirplus(&self, id: &FileHandleU64, cookie: u64) -> Done<impl ReadDirPlusIterator<FileHandleU64>> {
        let node = self.node(id)?;
        if !node.is_directory() {
            return Err(nfsstat3::NFS3ERR_NOTDIR);
        }
        Ok(Listing { node, cookie })
    }

    async fn readlink(&self, id: &FileHandleU64) -> Done<nfspath3<'_>> {
        Ok(nfspath3::from(self.node(id)?.text().map_err(status)?))
    }

    async fn fsinfo(&self, root: &FileHandleU64) -> Done<FSINFO3resok> {
        let obj_attributes = post_op_attr::Some(self.getattr(root).await?);
        Ok(FSINFO3resok {
            obj_attributes,
            rtmax: LONGEST,
            rtpref: LONGEST,
            rtmult: UNIT,
            wtmax: LONGEST,
            wtpref: LONGEST,
            wtmult: UNIT,
            dtpref: 64 << 10,
            maxfilesize: i64::MAX as u64,
            time_delta: nfstime3 { seconds: 0, nseconds: 1 },
            properties: FSF3_SYMLINK | FSF3_HOMOGENEOUS | FSF3_CANSETTIME,
        })
    }
}

impl NfsFileSystem for Backend {
    fn capabilities(&self) -> VFSCapabilities {
        if self.read_only { VFSCapabilities::ReadOnly } else { VFSCapabilities::ReadWrite }
    }

    async fn setattr(&self, id: &FileHandleU64, wanted: sattr3) -> Done<fattr3> {
        let node = self.node(id)?;
        node.set(&change(&wanted)).map_err(status)?;
        Ok(attributes(&node.stat()))
    }

    /// Memory is as stable as this file system gets: COMMIT has nothing left to do.
    async fn write(&self, id: &FileHandleU64, offset: u64, data: &[u8], _: stable_how) -> Done<(fattr3, stable_how)> {
        let node = self.node(id)?;
        node.write(offset, data).map_err(status)?;
        Ok((attributes(&node.stat()), stable_how::FILE_SYNC))
    }

    /// UNCHECKED: of an existing file only the size is set, as every open with truncation expects. For GUARDED the library has looked up
    /// the name already.
    async fn create(
        &self,
        within: &FileHandleU64,
        name: &filename3<'_>,
        with: sattr3,
    ) -> Done<(FileHandleU64, fattr3)> {
        let with = change(&with);
        match self.make(within, name.as_ref(), New::File, &with) {
            Err(nfsstat3::NFS3ERR_EXIST) => {
                let node = self.node(within)?.lookup(name.as_ref()).map_err(status)?;
                if node.is_directory() {
                    return Err(nfsstat3::NFS3ERR_EXIST);
                }
                if with.size.is_some() {
                    node.set(&Change { size: with.size, ..Change::default() }).map_err(status)?;
                }
                Ok((handle(&node), attributes(&node.stat())))
            }
            made => made,
        }
    }

    async fn create_exclusive(
        &self,
        within: &FileHandleU64,
        name: &filename3<'_>,
        verifier: createverf3,
    ) -> Done<FileHandleU64> {
        let node = self.system.make_once(&self.node(within)?, name.as_ref(), verifier.0).map_err(status)?;
        Ok(handle(&node))
    }

    async fn mkdir(&self, within: &FileHandleU64, name: &filename3<'_>) -> Done<(FileHandleU64, fattr3)> {
        self.make(within, name.as_ref(), New::Directory, &Change::default())
    }

    async fn remove(&self, within: &FileHandleU64, name: &filename3<'_>) -> Done<()> {
        self.system.remove(&*self.node(within)?, name.as_ref()).map_err(status)
    }

    async fn rename<'a>(
        &self,
        from_in: &FileHandleU64,
        from: &filename3<'a>,
        to_in: &FileHandleU64,
        to: &filename3<'a>,
    ) -> Done<()> {
        let (from_in, to_in) = (self.node(from_in)?, self.node(to_in)?);
        if !from_in.is_directory() || !to_in.is_directory() {
            return Err(nfsstat3::NFS3ERR_NOTDIR);
        }
        let moved = self.system.rename((&from_in, from.as_ref()), (&to_in, to.as_ref()), Replace::Alike);
        moved.map_err(|trouble| match trouble {
            // RFC 1813 3.3.14: an object that cannot be replaced is reported as existing.
            Trouble::IsADirectory | Trouble::NotADirectory | Trouble::NotEmpty => nfsstat3::NFS3ERR_EXIST,
            other => status(other),
        })
    }

    async fn symlink<'a>(
        &self,
        within: &FileHandleU64,
        name: &filename3<'a>,
        text: &nfspath3<'a>,
        with: &sattr3,
    ) -> Done<(FileHandleU64, fattr3)> {
        self.make(within, name.as_ref(), New::Link(text.as_ref()), &Change { size: None, ..change(with) })
    }

    async fn commit(&self, id: &FileHandleU64, _: u64, _: u32) -> Done<()> {
        self.node(id).map(|_| ())
    }
}

/// A listing that looks for its next entry when it is asked.
struct Listing {
    node: Arc<Node>,
    cookie: u64,
}

impl ReadDirPlusIterator<FileHandleU64> for Listing {
    async fn next(&mut self) -> NextResult<DirEntryPlus<FileHandleU64>> {
        match self.node.entry_after(self.cookie) {
            Ok(Some(entry)) => {
                self.cookie = entry.cookie;
                NextResult::Ok(DirEntryPlus {
                    fileid: entry.node.id(),
                    name: filename3::from(entry.name.to_vec()),
                    cookie: entry.cookie,
                    name_attributes: Some(attributes(&entry.node.stat())),
                    name_handle: Some(handle(&entry.node)),
                })
            }
            Ok(None) => NextResult::Eof,
            Err(trouble) => NextResult::Err(status(trouble)),
        }
    }
}
