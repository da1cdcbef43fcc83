//! Paths on their way to handles.

use std::ops::Range;

use super::Handles;
use super::entries::Bytes;
use crate::operation::Operation;

/// The paths of an operation that opens nothing; and of each, whether all of it is looked up, or all but its last part.
pub(crate) fn paths<'a>(operation: &Operation<'a>) -> [Option<(&'a str, bool)>; 2] {
    match *operation {
        Operation::Getattr { path }
        | Operation::Query { path, .. }
        | Operation::Find { path, .. }
        | Operation::Setattr { path, .. }
        | Operation::Access { path }
        | Operation::List { path }
        | Operation::ListNames { path }
        | Operation::Readlink { path } => [Some((path, true)), None],
        Operation::Lookup { path }
        | Operation::Mkdir { path }
        | Operation::Rmdir { path }
        | Operation::Remove { path }
        | Operation::Symlink { path, .. } => [Some((path, false)), None],
        Operation::Rename { from, to } => [Some((from, false)), Some((to, false))],
        Operation::Link { from, to } => [Some((from, true)), Some((to, false))],
        _ => [None, None],
    }
}

/// Facts about a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Its size, bytes.
    pub(crate) size: u64,
    pub(crate) directory: bool,
}

/// A path on its way to a handle.
#[derive(Debug)]
pub(crate) struct Walk<H> {
    pub(crate) path: String,
    /// Whether the whole path is looked up; otherwise without its last part, which will be made or removed.
    pub(crate) whole: bool,
    /// Bytes of the path that are behind.
    at: usize,
    /// Their handle.
    pub(crate) handle: H,
    /// Its attributes in the last LOOKUP.
    pub(crate) attributes: Option<Facts>,
}

impl<H> Walk<H> {
    /// A walk from `at` bytes on, whose handle is known.
    pub(crate) fn new(path: String, whole: bool, at: usize, handle: H) -> Self {
        Self { path, whole, at, handle, attributes: None }
    }

    /// The part to look up next; `None` at the end.
    pub(crate) fn part(&self) -> Option<Range<usize>> {
        let rest = self.path.get(self.at..)?;
        let start = self.at + usize::from(rest.starts_with('/'));
        let rest = self.path.get(start..)?;
        let end = rest.find('/').map_or(self.path.len(), |length| start + length);
        let last = end == self.path.len();
        (start < end && (self.whole || !last)).then_some(start..end)
    }

    /// A part was found. Returns the path up to it.
    pub(crate) fn found(&mut self, end: usize, handle: H, attributes: Option<Facts>) -> &str {
        self.at = end;
        self.handle = handle;
        self.attributes = attributes;
        self.path.get(..end).unwrap_or_default()
    }

    /// The last part, which will be made or removed in the directory at the end of the walk.
    pub(crate) fn name(&self) -> &[u8] {
        self.path.rsplit('/').next().unwrap_or_default().as_bytes()
    }
}

/// The walks of an operation. They are boxed because most operations have none.
pub(crate) type Walks<H> = [Option<Box<Walk<H>>>; 2];

/// Walks that have ended, whose memory is used again.
#[derive(Debug)]
pub(crate) struct SpareWalks<H>(Vec<Box<Walk<H>>>);

impl<H> Default for SpareWalks<H> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<H: Bytes> SpareWalks<H> {
    /// Maximum number of walks.
    const MOST: usize = 16;
    /// Maximum length of a path, bytes.
    const LENGTH: usize = 256;

    /// Walks of these paths, from the longest part of each whose handle is known.
    pub(crate) fn walks(&mut self, paths: [Option<(&str, bool)>; 2], handles: &mut Handles<H>) -> Walks<H> {
        if let [None, None] = paths {
            return [None, None];
        }
        paths.map(|path| {
            let (path, whole) = path?;
            let (at, handle) = handles.longest(path, whole);
            let Some(mut walk) = self.0.pop() else {
                return Some(Box::new(Walk::new(path.to_owned(), whole, at, handle)));
            };
            let mut text = std::mem::take(&mut walk.path);
            text.clear();
            text.push_str(path);
            *walk = Walk::new(text, whole, at, handle);
            Some(walk)
        })
    }

    /// Keeps walks that have ended.
    pub(crate) fn keep(&mut self, walks: &mut Walks<H>) {
        for walk in walks.iter_mut().filter_map(Option::take) {
            if self.0.len() < Self::MOST && walk.path.len() <= Self::LENGTH {
                self.0.push(walk);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::nfs::v3::FileHandle;

    use super::*;

    fn parts(path: &str, whole: bool) -> Vec<String> {
        let handle = FileHandle::new(&[1]).unwrap();
        let mut walk = Walk::new(path.to_owned(), whole, 0, handle);
        let mut parts = Vec::new();
        while let Some(part) = walk.part() {
            parts.push(path[part.clone()].to_owned());
            walk.found(part.end, handle, None);
        }
        parts
    }

    #[test]
    fn a_path_is_walked_part_by_part() {
        assert_eq!(parts("a/bc/d", true), ["a", "bc", "d"]);
        assert_eq!(parts("a/bc/d", false), ["a", "bc"]);
        assert_eq!((parts("", true).len(), parts("x", false).len()), (0, 0));
        let walk = Walk::new("a/bc/d".to_owned(), false, 1, FileHandle::new(&[1]).unwrap());
        assert_eq!((walk.part(), walk.name()), (Some(2..4), &b"d"[..]));
    }
}
