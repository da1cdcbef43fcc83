//! NFS file handles → exports and paths, learnt from MOUNT, LOOKUP, CREATE and their like.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

use plimsoll_model::{Names, Symbol};

/// Handles remembered, at most: 24 bytes each.
const HANDLES_MAX: usize = 400_000;

/// What a handle stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// The export it is in, where known.
    pub share: Symbol,
    /// Its path within the export; `[handle 0x…]` (the CRC-32 that Wireshark shows) where it was never named.
    pub path: Symbol,
}

/// Handles and what they stand for. Bounded: beyond the limit new handles keep their bracketed number.
#[derive(Debug, Default)]
pub struct Handles {
    objects: HashMap<u64, Object, BuildHasherDefault<AsIs>>,
    children: HashMap<u64, Symbol, BuildHasherDefault<AsIs>>,
    hasher: foldhash::quality::RandomState,
    /// The handle asked for last, its key and object: many calls in a row are about one directory or file.
    last: (Vec<u8>, u64, Object),
}

/// Keys are seeded hashes already.
#[derive(Debug, Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        debug_assert!(false, "keys are u64");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

impl Handles {
    /// What a handle stands for.
    #[inline]
    pub fn object(&mut self, handle: &[u8], names: &mut Names) -> Object {
        if self.last.0 == handle {
            return self.last.2;
        }
        let key = self.key(handle);
        let object = match self.objects.get(&key) {
            Some(&object) => object,
            None => {
                let path = names.intern(&format!("[handle 0x{:08x}]", crc32fast::hash(handle)));
                let object = Object { share: Symbol::NONE, path };
                self.insert(key, object);
                object
            }
        };
        self.last.0.clear();
        self.last.0.extend_from_slice(handle);
        (self.last.1, self.last.2) = (key, object);
        object
    }

    /// The object called `name` in a directory.
    #[inline]
    pub fn child(&mut self, directory: Object, name: &[u8], names: &mut Names) -> Object {
        let key = self.key_of(&(directory.path, name));
        if let Some(&path) = self.children.get(&key) {
            return Object { share: directory.share, path };
        }
        let parent = names.text(directory.path).unwrap_or("[unknown]");
        let slash = if parent.ends_with('/') { "" } else { "/" };
        let text = format!("{parent}{slash}{}", String::from_utf8_lossy(name));
        let path = names.intern(&text);
        if self.children.len() < HANDLES_MAX {
            self.children.insert(key, path);
        }
        Object { share: directory.share, path }
    }

    /// A handle turned out to stand for an object.
    pub fn learn(&mut self, handle: &[u8], object: Object) {
        let key = self.key(handle);
        self.insert(key, object);
    }

    /// A handle turned out to be the root of an export.
    pub fn learn_root(&mut self, handle: &[u8], export: &[u8], names: &mut Names) {
        let object = Object { share: names.intern(&String::from_utf8_lossy(export)), path: names.intern("/") };
        self.learn(handle, object);
    }

    fn insert(&mut self, key: u64, object: Object) {
        if self.last.1 == key {
            self.last.2 = object;
        }
        let full = self.objects.len() >= HANDLES_MAX;
        match self.objects.get_mut(&key) {
            Some(known) => *known = object,
            None if full => {}
            None => {
                self.objects.insert(key, object);
            }
        }
    }

    #[inline]
    fn key(&self, handle: &[u8]) -> u64 {
        self.key_of(&handle)
    }

    #[inline]
    fn key_of(&self, value: &impl Hash) -> u64 {
        // 64 seeded bits: among 400,000 handles two alike are not to be expected in 200 million captures.
        self.hasher.hash_one(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_grow_from_the_export() {
        let (mut handles, mut names) = (Handles::default(), Names::default());
        handles.learn_root(b"root", b"/export", &mut names);
        let root = handles.object(b"root", &mut names);
        let file = handles.child(root, b"a.txt", &mut names);
        handles.learn(b"file", file);
        let file = handles.object(b"file", &mut names);
        assert_eq!((names.text(file.share), names.text(file.path)), (Some("/export"), Some("/a.txt")));
        let stranger = handles.object(b"other", &mut names);
        assert_eq!(names.text(stranger.path), Some("[handle 0xd9583520]"));
    }
}
