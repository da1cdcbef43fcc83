//! A memory limit for a server and everything that it starts: a control group, of version 1 or 2.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Unavailable;

/// Where Linux distributions mount control groups.
const ROOT: &str = "/sys/fs/cgroup";
/// How long ended processes may stay in a group.
const PATIENCE: Duration = Duration::from_secs(20);

/// A control group with a memory limit, which includes the system's cache of files that its processes read and write. Removed when dropped,
/// after its processes have ended or left.
#[derive(Debug)]
pub struct MemoryLimit {
    folder: PathBuf,
}

impl MemoryLimit {
    /// Creates one without processes.
    ///
    /// # Errors
    /// This machine does not allow it.
    ///
    /// # Panics
    /// The group exists and does not take the limit.
    pub fn new(bytes: u64) -> Result<Self, Unavailable> {
        if !rustix::process::geteuid().is_root() {
            return Err(Unavailable("needs root, to limit the memory of a server"));
        }
        let root = Path::new(ROOT);
        // Version 1 has a hierarchy per kind of resource.
        let is_old = root.join("memory/memory.limit_in_bytes").is_file();
        let name = format!("plimsoll-test-{}", std::process::id());
        let (folder, file) = match is_old {
            true => (root.join("memory").join(&name), "memory.limit_in_bytes"),
            false => (root.join(&name), "memory.max"),
        };
        let unavailable = Unavailable("needs control groups for memory that can be written to");
        std::fs::create_dir(&folder).map_err(|_| unavailable)?;
        let limit = Self { folder };
        let file = limit.folder.join(file);
        if !file.is_file() {
            return Err(unavailable);
        }
        std::fs::write(file, bytes.to_string()).expect("a control group takes a limit");
        Ok(limit)
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Limits a process, and all that it starts from now on.
    ///
    /// # Panics
    /// There is no such process.
    pub fn hold(&self, process: u32) {
        std::fs::write(self.folder.join("cgroup.procs"), process.to_string()).expect("the process is there");
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        let until = Instant::now() + PATIENCE;
        while std::fs::remove_dir(&self.folder).is_err() && self.folder.is_dir() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
