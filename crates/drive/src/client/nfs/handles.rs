//! Handles of paths, and open files.

use std::collections::HashMap;

use plimsoll_wire::nfs::v3::FileHandle;

use crate::action::FileKey;

/// Paths whose handles a connection keeps; one more, and all are forgotten. A handle costs some 150 bytes.
const MOST: usize = 4096;

/// Handles of paths below the root.
#[derive(Debug)]
pub(super) struct Handles {
    root: FileHandle,
    known: HashMap<Box<str>, FileHandle>,
}

impl Handles {
    pub(super) fn new(root: FileHandle) -> Self {
        Self { root, known: HashMap::new() }
    }

    pub(super) fn root(&self) -> FileHandle {
        self.root
    }

    /// The longest part of a path that is known: its length and handle. Where the path is not wanted `whole`, its last
    /// part does not count.
    pub(super) fn longest(&self, path: &str, whole: bool) -> (usize, FileHandle) {
        let mut end = if whole { Some(path.len()) } else { path.rfind('/') };
        while let Some(length) = end {
            let Some(prefix) = path.get(..length) else { break };
            if let Some(&handle) = self.known.get(prefix) {
                return (length, handle);
            }
            end = prefix.rfind('/');
        }
        (0, self.root)
    }

    pub(super) fn learn(&mut self, path: &str, handle: FileHandle) {
        if path.is_empty() {
            return;
        }
        if let Some(known) = self.known.get_mut(path) {
            *known = handle;
            return;
        }
        if self.known.len() == MOST {
            self.known.clear();
        }
        self.known.insert(path.into(), handle);
    }

    /// A file is no longer there under this path.
    pub(super) fn forget(&mut self, path: &str) {
        self.known.remove(path);
    }

    /// Nothing below this path is where it was, nor is the path itself.
    pub(super) fn forget_below(&mut self, path: &str) {
        self.known
            .retain(|known, _| known.strip_prefix(path).is_none_or(|rest| !rest.is_empty() && !rest.starts_with('/')));
    }

    /// A handle means nothing any more.
    pub(super) fn stale(&mut self, handle: &FileHandle) {
        self.known.retain(|_, known| known != handle);
    }
}

/// An open file.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    pub(super) handle: FileHandle,
    /// The verifier that unstable writes were answered with since the last COMMIT.
    pub(super) verifier: Option<[u8; 8]>,
    /// Two of them differed: the server restarted, and may have lost what came before.
    pub(super) lost: bool,
}

/// Open files. Numbers are used again.
#[derive(Debug, Default)]
pub(super) struct Files {
    open: Vec<Option<File>>,
    free: Vec<u32>,
}

impl Files {
    pub(super) fn add(&mut self, handle: FileHandle) -> FileKey {
        let file = Some(File { handle, verifier: None, lost: false });
        if let Some(number) = self.free.pop()
            && let Some(place) = self.open.get_mut(number as usize)
        {
            *place = file;
            return FileKey(number);
        }
        self.open.push(file);
        FileKey((self.open.len() - 1) as u32)
    }

    pub(super) fn get(&mut self, key: FileKey) -> Option<&mut File> {
        self.open.get_mut(key.0 as usize)?.as_mut()
    }

    pub(super) fn remove(&mut self, key: FileKey) -> Option<File> {
        let file = self.open.get_mut(key.0 as usize)?.take()?;
        self.free.push(key.0);
        Some(file)
    }
}

impl File {
    /// An unstable write was answered with this verifier.
    pub(super) fn written(&mut self, verifier: [u8; 8]) {
        self.lost |= self.verifier.is_some_and(|before| before != verifier);
        self.verifier = Some(verifier);
    }

    /// A COMMIT was answered with this verifier. False where what was written before may be lost.
    pub(super) fn committed(&mut self, verifier: [u8; 8]) -> bool {
        let kept = !self.lost && self.verifier.is_none_or(|before| before == verifier);
        (self.verifier, self.lost) = (None, false);
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle(byte: u8) -> FileHandle {
        FileHandle::new(&[byte]).unwrap()
    }

    #[test]
    fn the_longest_known_part_counts() {
        let mut handles = Handles::new(handle(0));
        handles.learn("a", handle(1));
        handles.learn("a/b", handle(2));
        handles.learn("ab", handle(3));
        assert_eq!(handles.longest("a/b/c", true), (3, handle(2)));
        assert_eq!((handles.longest("a/b", true), handles.longest("a/b", false)), ((3, handle(2)), (1, handle(1))));
        assert_eq!(handles.longest("x/y", true), (0, handle(0)));
        handles.forget_below("a");
        assert_eq!((handles.longest("a/b", true).0, handles.longest("ab", true).0), (0, 2));
        handles.stale(&handle(3));
        assert_eq!(handles.longest("ab", true).0, 0);
        (0..=MOST).for_each(|number| handles.learn(&number.to_string(), handle(9)));
        assert!(handles.known.len() <= MOST);
    }

    #[test]
    fn a_verifier_that_changes_is_a_loss() {
        let mut files = Files::default();
        let key = files.add(handle(1));
        let file = files.get(key).unwrap();
        file.written([1; 8]);
        assert!(file.committed([1; 8]));
        file.written([1; 8]);
        assert!(!file.committed([2; 8]), "the server restarted before the commit");
        file.written([2; 8]);
        file.written([3; 8]);
        assert!(!file.committed([3; 8]), "the server restarted between two writes");
        assert!(file.committed([4; 8]), "nothing was written since");
        assert!(files.remove(key).is_some() && files.get(key).is_none() && files.add(handle(2)) == key);
    }
}
