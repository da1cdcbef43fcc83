//! The files of the set that a slot has open.

use std::collections::VecDeque;

use plimsoll_client::operation::FileKey;

/// A bounded number of open files, least recently used first out.
#[derive(Debug)]
pub(super) struct OpenFiles {
    most: usize,
    /// File numbers and keys, most recently used last.
    files: VecDeque<(u64, FileKey)>,
}

impl OpenFiles {
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), files: VecDeque::new() }
    }

    /// The key of a file, if it is open; it counts as used.
    pub(super) fn get(&mut self, file: u64) -> Option<FileKey> {
        let at = self.files.iter().rposition(|(open, _)| *open == file)?;
        let found = self.files.remove(at)?;
        self.files.push_back(found);
        Some(found.1)
    }

    /// The file that must be closed before another can be opened.
    pub(super) fn in_the_way(&self) -> Option<(u64, FileKey)> {
        self.files.front().copied().filter(|_| self.files.len() >= self.most)
    }

    pub(super) fn opened(&mut self, file: u64, key: FileKey) {
        self.files.push_back((file, key));
    }

    /// It is closed, or is about to be.
    pub(super) fn forget(&mut self, file: u64) -> Option<FileKey> {
        let at = self.files.iter().position(|(open, _)| *open == file)?;
        self.files.remove(at).map(|(_, key)| key)
    }

    pub(super) fn forget_all(&mut self) {
        self.files.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_used_longest_ago_makes_room() {
        let mut open = OpenFiles::new(2);
        assert_eq!(open.in_the_way(), None);
        open.opened(7, FileKey(0));
        open.opened(8, FileKey(1));
        assert_eq!(open.get(7), Some(FileKey(0)));
        assert_eq!(open.in_the_way(), Some((8, FileKey(1))));
        assert_eq!(open.forget(8), Some(FileKey(1)));
        assert_eq!((open.get(8), open.in_the_way()), (None, None));
    }
}
