//! A private folder that is removed with its contents.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A private folder in the system's temporary one, removed when dropped; small file systems can be mounted in it.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    mounts: Vec<PathBuf>,
}

impl Scratch {
    /// Creates one; `name` is only for people.
    ///
    /// # Panics
    /// The folder cannot be created.
    #[must_use]
    pub fn new(name: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("plimsoll-{name}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the temporary folder can be written to");
        Self { path, mounts: Vec::new() }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a folder in it.
    ///
    /// # Panics
    /// The folder cannot be created.
    #[must_use]
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.path.join(name);
        std::fs::create_dir_all(&path).expect("a scratch folder can be written to");
        path
    }

    /// Writes a file in it.
    ///
    /// # Panics
    /// The file cannot be written.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path.join(name);
        std::fs::write(&path, bytes).expect("a scratch folder can be written to");
        path
    }

    /// Mounts a file system in memory with `bytes` bytes in it; `None` if this machine does not allow that.
    pub fn small_file_system(&mut self, name: &str, bytes: u64) -> Option<PathBuf> {
        let path = self.folder(name);
        let options = format!("size={bytes}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&path).output();
        let mounted = mounted.is_ok_and(|output| output.status.success());
        if mounted {
            self.mounts.push(path.clone());
        }
        mounted.then_some(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for mount in &self.mounts {
            // Lazily: a server that is just ending may still hold a file open.
            let _ = Command::new("umount").arg("-l").arg(mount).output();
        }
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
