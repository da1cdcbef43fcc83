//! Handles of paths.

use std::collections::HashMap;

/// Maximum number of paths whose handles a connection caches; each takes about 150 bytes. Beyond it, the half that was not used recently
/// is dropped.
const MOST: usize = 4096;

/// Every operation looks its path up, and the paths are the workload's: this hash is quicker than the standard library's.
type Paths<H> = HashMap<Box<str>, Known<H>, foldhash::fast::RandomState>;

/// Handles of paths below the root.
#[derive(Debug)]
pub(crate) struct Handles<H> {
    root: H,
    young: Paths<H>,
    /// The entries of the previous generation, without those used since.
    old: Paths<H>,
}

/// Facts about a path.
#[derive(Clone, Copy, Debug)]
struct Known<H> {
    handle: H,
    /// It is no directory: there is nothing below it.
    leaf: bool,
}

impl<H: Copy + Eq> Handles<H> {
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
            return Some(known.handle);
        }
        let (path, known) = self.old.remove_entry(path)?;
        self.keep(path, known);
        Some(known.handle)
    }

    /// Learns the handle of a path; `leaf` where it is known to be no directory.
    pub(crate) fn learn(&mut self, path: &str, handle: H, leaf: bool) {
        let now = Known { handle, leaf };
        if let Some(known) = self.young.get_mut(path) {
            *known = now;
        } else if !path.is_empty() {
            let path = self.old.remove_entry(path).map_or_else(|| path.into(), |(path, _)| path);
            self.keep(path, now);
        }
    }

    fn keep(&mut self, path: Box<str>, known: Known<H>) {
        if self.young.len() >= MOST / 2 {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        self.young.insert(path, known);
    }

    /// A path does not lead any more to where it led, nor does any below it.
    pub(crate) fn forget(&mut self, path: &str) {
        let known = self.young.remove(path).or_else(|| self.old.remove(path));
        if !known.is_some_and(|known| known.leaf) {
            let below = |known: &str| known.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
            self.young.retain(|path, _| !below(path));
            self.old.retain(|path, _| !below(path));
        }
    }

    /// A file is not there any more under this path.
    pub(crate) fn forget_file(&mut self, path: &str) {
        if self.young.remove(path).is_none() {
            self.old.remove(path);
        }
    }

    /// A handle means nothing any more.
    pub(crate) fn stale(&mut self, handle: &H) {
        self.young.retain(|_, known| known.handle != *handle);
        self.old.retain(|_, known| known.handle != *handle);
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
}
