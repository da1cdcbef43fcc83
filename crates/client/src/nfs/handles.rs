//! Handles of paths.

use std::collections::HashSet;

use super::entries::{ByPath, Bytes, shared};

/// Maximum number of paths whose handles a connection caches; each takes 9 to 18 bytes, and once for all clients of a thread about 150.
/// Beyond it, the half that was not used recently is dropped.
const MOST: usize = 4096;

/// Every operation looks its path up, and the paths are the workload's: this hash is quicker than the standard library's.
type Paths = HashSet<ByPath, foldhash::fast::RandomState>;

/// Handles of paths below the root.
#[derive(Debug)]
pub(crate) struct Handles<H> {
    root: H,
    young: Paths,
    /// The entries of the previous generation, without those used since.
    old: Paths,
}

impl<H: Bytes> Handles<H> {
    pub(crate) fn new(root: H) -> Self {
        Self { root, young: Paths::default(), old: Paths::default() }
    }

    pub(crate) fn root(&self) -> H {
        self.root
    }

    /// The root is known from now on.
    pub(crate) fn set_root(&mut self, root: H) {
        self.root = root;
    }

    /// The longest part of a path that is known: its length and handle. Where the path is not wanted `whole`, its last
    /// part does not count.
    pub(crate) fn longest(&mut self, path: &str, whole: bool) -> (usize, H) {
        let mut end = if whole { Some(path.len()) } else { path.rfind('/') };
        while let Some(prefix) = end.and_then(|length| path.get(..length)) {
            if let Some(handle) = self.find(prefix) {
                return (prefix.len(), handle);
            }
            end = prefix.rfind('/');
        }
        (0, self.root)
    }

    fn find(&mut self, path: &str) -> Option<H> {
        if let Some(known) = self.young.get(path) {
            return Some(known.handle());
        }
        let known = self.old.take(path)?;
        let handle = known.handle();
        self.keep(known);
        Some(handle)
    }

    /// Learns the handle of a path; `leaf` where it is known to be no directory.
    pub(crate) fn learn(&mut self, path: &str, handle: H, leaf: bool) {
        let is_known = |known: &ByPath| known.is(handle.bytes(), leaf);
        if path.is_empty() || self.young.get(path).is_some_and(is_known) {
            return;
        }
        match self.old.take(path).filter(is_known) {
            Some(known) => self.keep(known),
            None => {
                self.young.remove(path);
                self.keep(shared(path, handle.bytes(), leaf));
            }
        }
    }

    fn keep(&mut self, known: ByPath) {
        if self.young.len() >= MOST / 2 {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        self.young.insert(known);
    }

    /// A path does not lead any more to where it led, nor does any below it.
    pub(crate) fn forget(&mut self, path: &str) {
        let known = self.young.take(path).or_else(|| self.old.take(path));
        if !known.is_some_and(|known| known.is_leaf()) {
            let below = |known: &ByPath| known.path().strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
            self.young.retain(|known| !below(known));
            self.old.retain(|known| !below(known));
        }
    }

    /// A file is not there any more under this path.
    pub(crate) fn forget_file(&mut self, path: &str) {
        if !self.young.remove(path) {
            self.old.remove(path);
        }
    }

    /// A handle means nothing any more.
    pub(crate) fn stale(&mut self, handle: &H) {
        self.young.retain(|known| known.handle::<H>() != *handle);
        self.old.retain(|known| known.handle::<H>() != *handle);
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::nfs::v3::FileHandle;

    use super::*;

    fn handle(byte: u8) -> FileHandle {
        FileHandle::new(&[byte]).unwrap()
    }

    #[test]
    fn the_longest_known_part_counts() {
        let mut handles = Handles::new(handle(0));
        handles.learn("a", handle(1), false);
        handles.learn("a/b", handle(2), true);
        handles.learn("ab", handle(3), true);
        assert_eq!(handles.longest("a/b/c", true), (3, handle(2)));
        assert_eq!((handles.longest("a/b", true), handles.longest("a/b", false)), ((3, handle(2)), (1, handle(1))));
        assert_eq!(handles.longest("x/y", true), (0, handle(0)));
        handles.forget("a");
        assert_eq!((handles.longest("a/b", true).0, handles.longest("ab", true).0), (0, 2));
        handles.stale(&handle(3));
        assert_eq!(handles.longest("ab", true).0, 0);
        handles.learn("ab", handle(3), true);
        handles.forget_file("ab");
        assert_eq!(handles.longest("ab", true).0, 0);
    }

    #[test]
    fn what_is_used_is_kept_and_the_rest_is_bounded() {
        let mut handles = Handles::new(handle(0));
        handles.learn("hot", handle(1), false);
        for number in 0..3 * MOST {
            handles.learn(&format!("hot/{number}"), handle(2), true);
            assert_eq!(handles.longest("hot", true), (3, handle(1)));
        }
        assert!(handles.young.len() + handles.old.len() <= MOST);
        let last = format!("hot/{}", 3 * MOST - 1);
        assert_eq!((handles.longest(&last, true).1, handles.longest("hot/0", true).1), (handle(2), handle(1)));
        handles.forget("hot");
        assert_eq!(handles.young.len() + handles.old.len(), 0, "nothing below it is where it was");
    }

    #[test]
    fn what_is_learnt_again_replaces_what_was_known() {
        let mut handles = Handles::new(handle(0));
        handles.learn("a", handle(1), false);
        handles.learn("a", handle(2), true);
        assert_eq!(handles.longest("a", true), (1, handle(2)));
        std::mem::swap(&mut handles.young, &mut handles.old);
        handles.learn("a", handle(3), true);
        assert_eq!((handles.longest("a", true), handles.young.len(), handles.old.len()), ((1, handle(3)), 1, 0));
    }
}
