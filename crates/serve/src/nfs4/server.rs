//! The server: its files, and its clients with their state.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Mutex, RwLock};

use super::clients::Clients;
use super::opens::Opens;
use super::session::Sessions;
use super::status::{Done, Status};
use crate::memory::{FileSystem, Node, TOP, Trouble};

/// The server's files and state.
#[derive(Debug)]
pub(crate) struct Server {
    pub(super) system: Arc<FileSystem>,
    /// The directory above the export.
    pub(super) top: Arc<Node>,
    read_only: bool,
    /// Different after each start: part of handles, and the verifier of writes.
    pub(super) boot: [u8; 8],
    begin: Instant,
    /// Seconds that a test has let pass.
    #[cfg(test)]
    passed: std::sync::atomic::AtomicU32,
    pub(super) clients: Mutex<Clients>,
    pub(super) sessions: Sessions,
    pub(super) opens: RwLock<Opens>,
}

impl Server {
    /// A server of this file system below a directory with this name.
    ///
    /// # Errors
    /// The file system has no room for one more directory.
    pub(crate) fn new(system: Arc<FileSystem>, export: &str, read_only: bool) -> Result<Self, Trouble> {
        let top = system.above(export)?;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            system,
            top,
            read_only,
            boot: (now.as_nanos() as u64).to_be_bytes(),
            begin: Instant::now(),
            #[cfg(test)]
            passed: Default::default(),
            clients: Mutex::default(),
            sessions: Sessions::default(),
            opens: RwLock::default(),
        })
    }

    /// Seconds since the start.
    pub(super) fn now(&self) -> u32 {
        let now = u32::try_from(self.begin.elapsed().as_secs()).unwrap_or(u32::MAX);
        #[cfg(test)]
        let now = now + self.passed.load(std::sync::atomic::Ordering::Relaxed);
        now
    }

    /// As if this many seconds had passed.
    #[cfg(test)]
    pub(super) fn pass(&self, seconds: u32) {
        self.passed.fetch_add(seconds, std::sync::atomic::Ordering::Relaxed);
    }

    /// The node of a handle. A file without a name lives as long as it is open.
    pub(super) fn node(&self, handle: &[u8]) -> Done<Arc<Node>> {
        let (boot, number) = handle.split_first_chunk::<8>().ok_or(Status::BADHANDLE)?;
        let number = u64::from_be_bytes(number.try_into().map_err(|_| Status::BADHANDLE)?);
        if *boot != self.boot {
            return Err(Status::STALE);
        }
        if number == TOP {
            return Ok(Arc::clone(&self.top));
        }
        self.system.node(number).or_else(|trouble| self.opens.read().node(number).ok_or(trouble)).map_err(Status::from)
    }

    /// Its inverse.
    pub(super) fn handle(&self, node: &Node) -> [u8; 16] {
        let mut handle = [0; 16];
        let (boot, number) = handle.split_at_mut(8);
        boot.copy_from_slice(&self.boot);
        number.copy_from_slice(&node.id().to_be_bytes());
        handle
    }

    /// Whether this directory, or file, may be changed.
    pub(super) fn may_change(&self, node: &Node) -> Done {
        if self.read_only || node.id() == TOP { Err(Status::ROFS) } else { Ok(()) }
    }
}
