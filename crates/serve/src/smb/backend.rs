//! The memory file system as `smb-server` wants to see one.

use std::sync::Arc;

use async_trait::async_trait;
use smb_server::{
    BackendCapabilities, Handle, OpenAction, OpenIntent, OpenOptions, ShareBackend, SmbError, SmbPath, SmbResult,
    VolumeInfo,
};

use super::handle::Opened;
use super::info::{error, is_read_only};
use crate::memory::{Change, FileSystem, New, Node, Replace, Trouble};

/// Bytes of an allocation unit.
const UNIT: u32 = 4096;
/// Maximum number of restarts of an open that creates a missing file, after concurrent creations and removals.
const ATTEMPTS: usize = 64;

/// A share.
#[derive(Debug)]
pub(super) struct Backend {
    system: Arc<FileSystem>,
    read_only: bool,
}

impl Backend {
    pub(super) fn new(system: Arc<FileSystem>, read_only: bool) -> Self {
        Self { system, read_only }
    }

    /// The directory that a path's last name is in.
    fn parent(&self, path: &SmbPath) -> SmbResult<Arc<Node>> {
        let above = path.components().split_last().map_or(&[][..], |(_, above)| above);
        let mut at = Arc::clone(self.system.root());
        for name in above {
            at = match at.lookup(name.as_bytes()) {
                Ok(node) if node.is_directory() => node,
                Ok(_) | Err(_) => return Err(SmbError::PathNotFound),
            };
        }
        Ok(at)
    }

    fn find(&self, path: &SmbPath) -> SmbResult<Arc<Node>> {
        match path.file_name() {
            Some(name) => self.parent(path)?.lookup(name.as_bytes()).map_err(error),
            None => Ok(Arc::clone(self.system.root())),
        }
    }

    fn open_or_make(&self, path: &SmbPath, options: &OpenOptions) -> SmbResult<(Arc<Node>, OpenAction)> {
        for _ in 0..ATTEMPTS {
            match self.find(path) {
                Ok(node) => return existing(node, options),
                Err(SmbError::NotFound) if !makes(options.intent) => return Err(SmbError::NotFound),
                Err(SmbError::NotFound) => (),
                Err(other) => return Err(other),
            }
            let new = if options.directory { New::Directory } else { New::File };
            let name = path.file_name().unwrap_or_default();
            match self.system.make(&self.parent(path)?, name.as_bytes(), new, &Change::default()) {
                Ok(node) => return Ok((node, OpenAction::Created)),
                Err(Trouble::Exists) if options.intent != OpenIntent::Create => (),
                Err(trouble) => return Err(error(trouble)),
            }
        }
        Err(SmbError::Sharing)
    }
}

fn makes(intent: OpenIntent) -> bool {
    matches!(intent, OpenIntent::Create | OpenIntent::OpenOrCreate | OpenIntent::OverwriteOrCreate)
}

fn existing(node: Arc<Node>, options: &OpenOptions) -> SmbResult<(Arc<Node>, OpenAction)> {
    let empties = matches!(options.intent, OpenIntent::Truncate | OpenIntent::OverwriteOrCreate);
    match (options.intent, node.is_directory()) {
        (OpenIntent::Create, _) => Err(SmbError::Exists),
        (_, false) if options.directory => Err(SmbError::NotADirectory),
        (_, true) if options.non_directory || empties => Err(SmbError::IsDirectory),
        (_, false) if (options.write || empties) && is_read_only(&node.stat()) => Err(SmbError::AccessDenied),
        _ if empties => {
            node.set(&Change { size: Some(0), ..Change::default() }).map_err(error)?;
            Ok((node, OpenAction::Overwritten))
        }
        _ => Ok((node, OpenAction::Opened)),
    }
}

#[async_trait]
impl ShareBackend for Backend {
    async fn open(&self, path: &SmbPath, options: OpenOptions) -> SmbResult<(Box<dyn Handle>, OpenAction)> {
        let (node, action) = self.open_or_make(path, &options)?;
        let name = path.file_name().unwrap_or_default().to_owned();
        Ok((Box::new(Opened::new(node, name)), action))
    }

    async fn unlink(&self, path: &SmbPath) -> SmbResult<()> {
        let name = path.file_name().ok_or(SmbError::AccessDenied)?;
        self.system.remove(&*self.parent(path)?, name.as_bytes()).map_err(error)
    }

    async fn rename(&self, from: &SmbPath, to: &SmbPath, replace_if_exists: bool) -> SmbResult<()> {
        let (Some(name), Some(new)) = (from.file_name(), to.file_name()) else { return Err(SmbError::AccessDenied) };
        let (source, target) = (self.parent(from)?, self.parent(to)?);
        let replace = if replace_if_exists { Replace::Files } else { Replace::Never };
        let renamed = self.system.rename((&source, name.as_bytes()), (&target, new.as_bytes()), replace);
        renamed.map_err(|trouble| match trouble {
            // Directories neither replace nor are replaced.
            Trouble::IsADirectory | Trouble::NotADirectory => SmbError::AccessDenied,
            other => error(other),
        })
    }

    fn capabilities(&self) -> BackendCapabilities {
        let mut capabilities = BackendCapabilities::default();
        capabilities.is_read_only = self.read_only;
        capabilities.case_sensitive = true;
        capabilities
    }

    async fn volume_info(&self) -> SmbResult<VolumeInfo> {
        let (total, free) = self.system.space();
        let free = free / u64::from(UNIT);
        let mut volume = VolumeInfo::default();
        volume.total_allocation_units = total / u64::from(UNIT);
        (volume.caller_available_allocation_units, volume.actual_available_allocation_units) = (free, free);
        (volume.sectors_per_allocation_unit, volume.bytes_per_sector) = (1, UNIT);
        Ok(volume)
    }
}
