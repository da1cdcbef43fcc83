//! An open file or directory. It holds its node, so renaming or removing the name does not trouble it.

use std::sync::Arc;

use async_trait::async_trait;
use plimsoll_wire::smb2::pattern::{is_pattern, matches};
use smb_server::{Bytes, DirEntry, FileInfo, FileTimes, Handle, SmbError, SmbResult};

use super::info::{ARCHIVE, READONLY, error, info, instant};
use crate::memory::{Change, Node, Set};

/// What CREATE gave.
#[derive(Debug)]
pub(super) struct Opened {
    node: Arc<Node>,
    name: String,
}

impl Opened {
    pub(super) fn new(node: Arc<Node>, name: String) -> Self {
        Self { node, name }
    }
}

#[async_trait]
impl Handle for Opened {
    async fn read(&self, offset: u64, len: u32) -> SmbResult<Bytes> {
        let (bytes, _) = self.node.read(offset, len).map_err(error)?;
        Ok(bytes.into())
    }

    async fn write(&self, offset: u64, data: &[u8]) -> SmbResult<u32> {
        self.node.write(offset, data).map_err(error)?;
        // The server takes no request of more than 8 MiB.
        Ok(u32::try_from(data.len()).unwrap_or(u32::MAX))
    }

    /// Memory is as stable as this file system gets.
    async fn flush(&self) -> SmbResult<()> {
        Ok(())
    }

    async fn stat(&self) -> SmbResult<FileInfo> {
        Ok(info(self.name.clone(), &self.node.stat()))
    }

    async fn set_times(&self, times: FileTimes) -> SmbResult<()> {
        let change = Change {
            created: times.creation_time.map(instant),
            accessed: times.last_access_time.map(|time| Set::To(instant(time))),
            modified: times.last_write_time.map(|time| Set::To(instant(time))),
            ..Change::default()
        };
        self.node.set(&change).map_err(error)
    }

    async fn set_attributes(&self, attributes: u32) -> SmbResult<()> {
        if attributes & !(READONLY | ARCHIVE) != 0 {
            return Err(SmbError::NotSupported);
        }
        let mode = self.node.stat().attributes.mode;
        let mode = if attributes & READONLY == 0 { mode | 0o200 } else { mode & !0o222 };
        self.node.set(&Change { mode: Some(mode), ..Change::default() }).map_err(error)
    }

    async fn truncate(&self, len: u64) -> SmbResult<()> {
        self.node.set(&Change { size: Some(len), ..Change::default() }).map_err(error)
    }

    async fn list_dir(&self, pattern: Option<&str>) -> SmbResult<Vec<DirEntry>> {
        let entry = |name: &[u8], node: &Node| {
            let name = String::from_utf8_lossy(name).into_owned();
            DirEntry { info: info(name, &node.stat()) }
        };
        // Names that are searched are alike in upper and lower case; those that are looked up are not.
        let pattern = pattern.unwrap_or("*");
        if !is_pattern(pattern) {
            let name = pattern;
            let found = self.node.lookup(name.as_bytes());
            return Ok(found.iter().map(|node| entry(name.as_bytes(), node)).collect());
        }
        let (mut entries, mut cookie) = (Vec::new(), 0);
        while let Some(next) = self.node.entry_after(cookie).map_err(error)? {
            cookie = next.cookie;
            let entry = entry(&next.name, &next.node);
            if matches(pattern, &entry.info.name) {
                entries.push(entry);
            }
        }
        Ok(entries)
    }

    async fn close(self: Box<Self>) -> SmbResult<()> {
        Ok(())
    }

    async fn link_count(&self) -> SmbResult<u32> {
        Ok(self.node.stat().links)
    }

    async fn dir_is_empty(&self) -> SmbResult<bool> {
        self.node.is_empty().map_err(error)
    }
}
