//! Which files there are, as a pure function: number → path and size.

use std::fmt::Write as _;

use crate::text::{Files, Sharing};
use crate::{Rng, seed_of};

/// The most files of a set, all clients together: each takes 12 bytes of memory.
const MOST_FILES: u64 = 4_000_000;
/// The most directories.
const MOST_DIRECTORIES: u64 = 1_000_000;
/// How deep directories may stand.
const DEEPEST: u32 = 16;
/// The largest file, bytes.
const LARGEST: u64 = 1 << 40;

/// The files and directories of a set.
///
/// A set has *parts*: one that all clients share, or one for each client. The directories of a part are numbered from 1 and form a tree,
/// as evenly branched as its depth allows; 0 is the part itself. Its files are distributed evenly over the directories. Links are in the
/// directory of their target.
#[derive(Debug)]
pub(crate) struct Layout {
    parts: u32,
    shared: bool,
    /// Files of a part.
    count: u64,
    /// Symbolic links of a part: to its first files, each in the directory of its file.
    links: u64,
    /// Directories of a part.
    directories: u64,
    /// Directories within a directory, at most.
    fanout: u64,
    /// Size of each file.
    sizes: Vec<u64>,
    /// Number of the first directory of each level, as [`Layout::directory_in_order`] numbers them.
    levels: Vec<u64>,
}

/// A directory of a part; 0 is the part itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Directory {
    pub(crate) part: u32,
    pub(crate) number: u64,
}

/// Whether such a set is sensible.
pub(crate) fn check(files: &Files) -> Result<(), String> {
    if u64::from(files.count) > MOST_FILES {
        return Err(format!("\"count\": the limit is {MOST_FILES}"));
    }
    if u64::from(files.directories) > MOST_DIRECTORIES {
        return Err(format!("\"directories\": the limit is {MOST_DIRECTORIES}"));
    }
    if files.links > files.count {
        return Err(
            "\"links\": the limit is the number of files (\"count\"), because each link points to a different file"
                .to_owned(),
        );
    }
    if !(1..=DEEPEST).contains(&files.depth) {
        return Err(format!("\"depth\": expected 1 to {DEEPEST}"));
    }
    if u64::from(files.depth) > u64::from(files.directories.max(1)) {
        return Err(
            "\"depth\" exceeds the number of directories: reduce \"depth\" or increase \"directories\"".to_owned()
        );
    }
    if files.size.most() > LARGEST {
        return Err("\"size\": the limit is 1TiB per file".to_owned());
    }
    Ok(())
}

impl Layout {
    /// The layout for a number of clients.
    pub(crate) fn new(files: &Files, clients: u32) -> Result<Self, String> {
        let shared = files.shared == Sharing::ByAll;
        let parts = if shared { 1 } else { clients.max(1) };
        let (count, directories) = (u64::from(files.count), u64::from(files.directories));
        let (all, folders) = (count * u64::from(parts), (directories + 1) * u64::from(parts));
        let links = u64::from(files.links);
        let files_and_links = all + links * u64::from(parts);
        if files_and_links > MOST_FILES || folders > MOST_DIRECTORIES {
            return Err(format!(
                "the file set has {files_and_links} files and links in {folders} directories; the limits are {MOST_FILES} files and links, \
                 and {MOST_DIRECTORIES} directories"
            ));
        }
        let size = |file| files.scale.of(files.size.draw(&mut Rng::new(seed_of(u64::from(files.seed), file, 0))));
        let sizes = (0..u32::try_from(all).unwrap_or(u32::MAX)).map(size).collect();
        let fanout = fanout(directories, files.depth);
        let mut layout = Self { parts, shared, count, links, directories, fanout, sizes, levels: Vec::new() };
        layout.levels = layout.level_starts();
        Ok(layout)
    }

    /// The sharing of files between clients, in words.
    pub(crate) fn sharing(&self) -> String {
        if self.shared { "by all clients".to_owned() } else { format!("by none of {} clients", self.parts) }
    }

    /// Files, over all parts.
    pub(crate) fn files(&self) -> u64 {
        self.sizes.len() as u64
    }

    /// Symbolic links, over all parts.
    pub(crate) fn links(&self) -> u64 {
        self.links * u64::from(self.parts)
    }

    /// Directories, over all parts, with the parts and the set itself.
    pub(crate) fn all_directories(&self) -> u64 {
        let own = if self.shared { 0 } else { 1 };
        own + (self.directories + 1) * u64::from(self.parts)
    }

    /// The files of a client: the first, and how many.
    pub(crate) fn files_of(&self, client_index: u32) -> (u64, u64) {
        (u64::from(self.part_of(client_index)) * self.count, self.count)
    }

    /// The links of a client: the first, and how many.
    pub(crate) fn links_of(&self, client_index: u32) -> (u64, u64) {
        (u64::from(self.part_of(client_index)) * self.links, self.links)
    }

    /// The file that a link points to.
    pub(crate) fn target_of(&self, link: u64) -> u64 {
        let links = self.links.max(1);
        link / links * self.count + link % links
    }

    /// The target of a link: its file, in the same directory.
    pub(crate) fn text_of_link(&self, link: u64) -> String {
        format!("f{}", self.target_of(link))
    }

    /// Names of a part: its directories, files and links.
    pub(crate) fn names_of_a_part(&self) -> u64 {
        self.directories + self.count + self.links
    }

    /// The part that a client works on.
    pub(crate) fn part_of(&self, client_index: u32) -> u32 {
        client_index % self.parts
    }

    /// Directories of a part that hold files: their first number and how many.
    pub(crate) fn working_directories(&self) -> (u64, u64) {
        if self.directories == 0 { (0, 1) } else { (1, self.directories) }
    }

    /// Size of a file, bytes; 0 where there is none of this number.
    pub(crate) fn size(&self, file: u64) -> u64 {
        usize::try_from(file).ok().and_then(|file| self.sizes.get(file)).copied().unwrap_or(0)
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.sizes.iter().sum()
    }

    pub(crate) fn directory_of(&self, file: u64) -> Directory {
        let (first, directories) = self.working_directories();
        let (part, within) = (file / self.count.max(1), file % self.count.max(1));
        Directory { part: part as u32, number: first + within % directories }
    }

    /// Whether there is such a directory.
    pub(crate) fn has(&self, directory: Directory) -> bool {
        directory.part < self.parts && directory.number <= self.directories
    }

    /// How many files and directories of the set stand in a directory.
    pub(crate) fn entries(&self, directory: Directory) -> u64 {
        let (first, directories) = self.working_directories();
        let dealt = |all: u64| match directory.number.checked_sub(first) {
            Some(place) => all / directories + u64::from(place < all % directories),
            None => 0,
        };
        dealt(self.count) + dealt(self.links) + self.children(directory.number)
    }

    /// How many files and directories of the set stand in its root.
    pub(crate) fn entries_of_root(&self) -> u64 {
        if self.shared { self.entries(Directory { part: 0, number: 0 }) } else { u64::from(self.parts) }
    }

    /// Directories within a directory: those numbered from `number × fanout + 1` on.
    fn children(&self, number: u64) -> u64 {
        (self.directories + 1).saturating_sub(number * self.fanout + 1).min(self.fanout)
    }

    /// Appends the path of a directory below the set's root, with a `/` before each part.
    pub(crate) fn directory_path(&self, directory: Directory, path: &mut String) {
        if !self.shared {
            let _ = write!(path, "/s{}", directory.part);
        }
        self.tree_path(directory.number, path);
    }

    fn tree_path(&self, number: u64, path: &mut String) {
        if let Some(before) = number.checked_sub(1) {
            self.tree_path(before / self.fanout, path);
            let _ = write!(path, "/d{number}");
        }
    }

    /// Appends the path of a file below the set's root.
    pub(crate) fn file_path(&self, file: u64, path: &mut String) {
        self.directory_path(self.directory_of(file), path);
        let _ = write!(path, "/f{file}");
    }

    /// Appends the path of a link below the set's root.
    pub(crate) fn link_path(&self, link: u64, path: &mut String) {
        self.directory_path(self.directory_of(self.target_of(link)), path);
        let _ = write!(path, "/l{link}");
    }

    /// Appends the path of one of the names of a part: directories first, parents before their contents.
    pub(crate) fn name_of_a_part(&self, part: u32, name: u64, path: &mut String) {
        let Some(after) = name.checked_sub(self.directories) else {
            return self.directory_path(Directory { part, number: name + 1 }, path);
        };
        match after.checked_sub(self.count) {
            None => self.file_path(u64::from(part) * self.count + after, path),
            Some(link) => self.link_path(u64::from(part) * self.links + link, path),
        }
    }

    /// Every directory except the set's root, parents before their contents: those from 1 to [`Layout::all_directories`] − 1. 0 is the
    /// root.
    pub(crate) fn directory_in_order(&self, place: u64) -> Directory {
        match (self.shared, place.checked_sub(1)) {
            (true, _) => Directory { part: 0, number: place },
            (false, Some(place)) => {
                let parts = u64::from(self.parts);
                Directory { part: (place % parts) as u32, number: place / parts }
            }
            (false, None) => Directory { part: 0, number: 0 },
        }
    }

    /// The inverse of [`Layout::directory_in_order`].
    pub(crate) fn place_in_order(&self, directory: Directory) -> u64 {
        match self.shared {
            true => directory.number,
            false => 1 + directory.number * u64::from(self.parts) + u64::from(directory.part),
        }
    }

    /// Number of directories, in that order, that must exist before the one at `place` can be created.
    pub(crate) fn needed_before(&self, place: u64) -> u64 {
        let level = self.levels.partition_point(|start| *start <= place);
        level.checked_sub(1).and_then(|level| self.levels.get(level)).copied().unwrap_or(0)
    }

    fn level_starts(&self) -> Vec<u64> {
        let (own, parts) = if self.shared { (0, 1) } else { (1, u64::from(self.parts)) };
        let mut starts = if self.shared { Vec::new() } else { vec![0] };
        // The first number of each level of a part's tree: 0, 1, 1 + fanout, 1 + fanout + fanout² …
        let (mut first, mut width) = (0_u64, 1_u64);
        while first <= self.directories {
            starts.push(own + first * parts);
            first = first.saturating_add(width);
            width = width.saturating_mul(self.fanout);
        }
        starts
    }
}

/// Minimum number of subdirectories per directory for all directories to fit in `depth` levels.
fn fanout(directories: u64, depth: u32) -> u64 {
    let holds = |fanout: u64| {
        let levels = (1..=depth).map(|level| fanout.saturating_pow(level));
        levels.fold(0_u64, u64::saturating_add) >= directories
    };
    // Holding is monotonic: bisect.
    let (mut below, mut enough) = (0, directories.max(1));
    while enough - below > 1 {
        let middle = below + (enough - below) / 2;
        if holds(middle) {
            enough = middle;
        } else {
            below = middle;
        }
    }
    enough
}
