//! NFS file handles → exports and paths, learnt from MOUNT, LOOKUP, CREATE and their like.

use std::hash::Hash;
use std::net::IpAddr;

use plimsoll_model::{FileIdentity, Names, Symbol};
use serde::{Deserialize, Serialize};

use super::in_order::InOrder;
use super::roots::{Root, Roots};
use super::seeded::Seeded;

/// Handles remembered, at most: some 32 bytes each, and some 48 each of the names that lead to them.
const HANDLES_MAX: usize = 400_000;

/// The object of a handle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// The export it is in, where known.
    pub share: Symbol,
    /// Its path within the export; `[handle 0x…]` (the CRC-32 that Wireshark shows) where it was never named.
    pub path: Symbol,
    /// The file on its server; `None` for a name whose handle is not known.
    pub file: Option<FileIdentity>,
}

/// An object, and the name by which a client asked for it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Named {
    /// The object.
    pub object: Object,
    /// The key of its name in its directory, where it was asked for by that.
    child: Option<u64>,
    learnt: Learnt,
}

impl From<Object> for Named {
    fn from(object: Object) -> Self {
        Self { object, ..Self::default() }
    }
}

/// A handle's known meaning. As long as no handle has changed its meaning, learning it again changes nothing and needs no lookup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Learnt {
    /// Key of the handle.
    handle: u64,
    /// The object's export then.
    share: Symbol,
    /// The file of the handle.
    file: Option<FileIdentity>,
    /// [`Handles::changes`] then, counted from 1; 0 where none was learnt. A short number, so that more names fit in a cache line.
    changes: u32,
}

/// The object of a name in a directory.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Child {
    path: Symbol,
    learnt: Learnt,
}

/// Handles and their objects. Bounded: beyond the limit new handles keep their bracketed number.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Handles {
    objects: InOrder<Object>,
    children: InOrder<Child>,
    roots: Roots,
    /// Number of known handles whose object changed.
    changes: u64,
    hasher: Seeded,
    /// The handle asked for last, its key and object: many calls in a row are about one directory or file.
    last: (Vec<u8>, u64, Object),
    /// Room for a path that is put together.
    path: String,
}

impl Handles {
    /// The object of a handle on a server.
    #[inline]
    pub fn object(&mut self, handle: &[u8], server: IpAddr, names: &mut Names) -> Object {
        let object = self.known(handle, names);
        match self.roots.of(self.last.1, server) {
            Some(Root { share, path }) if path.is_some() => Object { share, path, ..object },
            Some(Root { share, .. }) => Object { share, path: unnamed(handle, names), ..object },
            None => object,
        }
    }

    /// The object of a handle, which is then the last one.
    #[inline]
    fn known(&mut self, handle: &[u8], names: &mut Names) -> Object {
        if self.last.0 == handle {
            return self.last.2;
        }
        let key = self.key(handle);
        let object = match self.objects.get(key) {
            Some(&object) => object,
            None => {
                let path = unnamed(handle, names);
                let object = Object { share: Symbol::NONE, path, file: Some(FileIdentity::of_handle(handle)) };
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
    pub fn child(&mut self, directory: Object, name: &[u8], names: &mut Names) -> Named {
        let key = self.key_of(&(directory.path, name));
        let (path, learnt) = match self.children.get(key) {
            Some(child) => (child.path, child.learnt),
            None => (self.new_child(key, directory, name, names), Learnt::default()),
        };
        Named { object: Object { share: directory.share, path, file: None }, child: Some(key), learnt }
    }

    #[cold]
    fn new_child(&mut self, key: u64, directory: Object, name: &[u8], names: &mut Names) -> Symbol {
        let parent = names.text(directory.path).unwrap_or("[unknown]");
        self.path.clear();
        self.path.push_str(parent);
        if !parent.ends_with('/') {
            self.path.push('/');
        }
        self.path.push_str(&String::from_utf8_lossy(name));
        let path = names.intern(&self.path);
        if self.children.len() < HANDLES_MAX {
            self.children.insert(key, Child { path, learnt: Learnt::default() });
        }
        path
    }

    /// Learns a handle's object on a server; returns the file.
    pub fn learn(&mut self, handle: &[u8], server: IpAddr, object: Object) -> Option<FileIdentity> {
        self.learn_numbered(handle, server, &object);
        let key = self.key(handle);
        let file = self.objects.get(key).map_or_else(|| Some(FileIdentity::of_handle(handle)), |known| known.file);
        self.insert(key, Object { file, ..object });
        file
    }

    /// Learns the handle of a requested object on a server; returns the file.
    #[inline]
    pub fn learn_named(&mut self, handle: &[u8], server: IpAddr, named: &Named) -> Option<FileIdentity> {
        self.learn_numbered(handle, server, &named.object);
        let Named { object: Object { share, .. }, learnt, .. } = *named;
        let now = (self.key(handle), share, self.changes());
        if learnt.changes != 0 && (learnt.handle, learnt.share, learnt.changes) == now {
            return learnt.file;
        }
        self.learn_anew(handle, named)
    }

    /// The root of an export that its server knows by a number has the same handle on other servers.
    #[inline]
    fn learn_numbered(&mut self, handle: &[u8], server: IpAddr, &Object { share, path, .. }: &Object) {
        if is_numbered_root(handle) {
            self.roots.learn(self.key(handle), server, Root { share, path });
        }
    }

    #[cold]
    fn learn_anew(&mut self, handle: &[u8], named: &Named) -> Option<FileIdentity> {
        let (key, file) = (self.key(handle), Some(FileIdentity::of_handle(handle)));
        if self.insert(key, Object { file, ..named.object }) {
            let learnt = Learnt { handle: key, share: named.object.share, file, changes: self.changes() };
            if let Some(child) = named.child.and_then(|child| self.children.get_mut(child)) {
                child.learnt = learnt;
            }
        }
        file
    }

    /// The changes so far, from 1; 0 once there are too many for a short number: then everything is looked up.
    #[inline]
    fn changes(&self) -> u32 {
        u32::try_from(self.changes + 1).unwrap_or(0)
    }

    /// A handle turned out to be the root of a server's export.
    pub fn learn_root(
        &mut self,
        handle: &[u8],
        (server, export): (IpAddr, &[u8]),
        names: &mut Names,
    ) -> Option<FileIdentity> {
        let share = names.intern(&String::from_utf8_lossy(export));
        let (key, path) = (self.key(handle), names.intern("/"));
        self.roots.learn(key, server, Root { share, path });
        self.learn(handle, server, Object { share, path, file: None })
    }

    /// Whether it is remembered.
    fn insert(&mut self, key: u64, object: Object) -> bool {
        if self.last.1 == key {
            self.last.2 = object;
        }
        let full = self.objects.len() >= HANDLES_MAX;
        match self.objects.get_mut(key) {
            Some(known) => {
                self.changes += u64::from(*known != object);
                *known = object;
            }
            None if full => return false,
            None => {
                self.objects.insert(key, object);
            }
        }
        true
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

/// The path of an object that was never named.
fn unnamed(handle: &[u8], names: &mut Names) -> Symbol {
    names.intern(&format!("[handle 0x{:08x}]", crc32fast::hash(handle)))
}

/// Whether it is the handle of an export's root on a Linux server whose option `fsid` is a number (`struct knfsd_fh` of Linux: version 1,
/// `FSID_NUM`, `FILEID_ROOT`).
#[inline]
fn is_numbered_root(handle: &[u8]) -> bool {
    matches!(handle, [1, _, 1, 0, _, _, _, _])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

    #[test]
    fn paths_grow_from_the_export() {
        let (mut handles, mut names) = (Handles::default(), Names::default());
        handles.learn_root(b"root", (SERVER, b"/export"), &mut names);
        let root = handles.object(b"root", SERVER, &mut names);
        let file = handles.child(root, b"a.txt", &mut names);
        handles.learn_named(b"file", SERVER, &file);
        let file = handles.object(b"file", SERVER, &mut names);
        assert_eq!((names.text(file.share), names.text(file.path)), (Some("/export"), Some("/a.txt")));
        let unknown = handles.object(b"other", SERVER, &mut names);
        assert_eq!(names.text(unknown.path), Some("[handle 0xd9583520]"));
    }
    /// Repeated facts need no lookup, unless a handle's object has changed meanwhile.
    #[test]
    fn the_name_learnt_last_counts() {
        let (mut handles, mut names) = (Handles::default(), Names::default());
        handles.learn_root(b"root", (SERVER, b"/export"), &mut names);
        let root = handles.object(b"root", SERVER, &mut names);
        for name in ["a", "a", "b", "a", "a", "b", "b"] {
            let asked = handles.child(root, name.as_bytes(), &mut names);
            handles.learn_named(b"file", SERVER, &asked);
            let file = handles.object(b"file", SERVER, &mut names);
            assert_eq!(names.text(file.path), Some(format!("/{name}").as_str()));
            handles.object(b"root", SERVER, &mut names);
        }
        // A client asks for the same name twice at once, and the handle has another object in between.
        let [first, second] = [(); 2].map(|()| handles.child(root, b"b", &mut names));
        handles.learn_named(b"file", SERVER, &first);
        handles.learn_root(b"file", (SERVER, b"/other"), &mut names);
        handles.learn_named(b"file", SERVER, &second);
        let file = handles.object(b"file", SERVER, &mut names);
        assert_eq!((names.text(file.share), names.text(file.path)), (Some("/export"), Some("/b")));
        // Another export, where the same path has the same name.
        handles.learn_root(b"root", (SERVER, b"/elsewhere"), &mut names);
        let root = handles.object(b"root", SERVER, &mut names);
        let asked = handles.child(root, b"b", &mut names);
        handles.learn_named(b"file", SERVER, &asked);
        let file = handles.object(b"file", SERVER, &mut names);
        assert_eq!(names.text(file.share), Some("/elsewhere"));
    }

    #[test]
    fn servers_with_equal_root_handles_have_their_own_exports() {
        let (mut handles, mut names) = (Handles::default(), Names::default());
        let [one, other, third] = [1_u8, 2, 3].map(|number| IpAddr::from([10, 0, 1, number]));
        let shares = |handles: &mut Handles, names: &mut Names| {
            let objects = [one, other, third].map(|server| handles.object(b"root", server, names));
            objects.map(|object| names.text(object.share).unwrap_or_default().to_owned())
        };
        handles.learn_root(b"root", (one, b"/projects"), &mut names);
        handles.learn_root(b"root", (other, b"/projects"), &mut names);
        assert_eq!(shares(&mut handles, &mut names), ["/projects"; 3], "perhaps addresses of one server");
        handles.learn_root(b"root", (other, b"/scratch"), &mut names);
        assert_eq!(shares(&mut handles, &mut names), ["/projects", "/scratch", ""], "the third one's is unknown");
    }

    /// NFS 4 has no MOUNT: clients look up the exports.
    #[test]
    fn servers_with_equal_numbers_of_exports_have_their_own_paths() {
        const ROOT: [u8; 8] = [1, 0, 1, 0, 1, 0, 0, 0];
        let (mut handles, mut names) = (Handles::default(), Names::default());
        let [one, other, third] = [1_u8, 2, 3].map(|number| IpAddr::from([10, 0, 1, number]));
        let top = Object { path: names.intern("/"), ..Object::default() };
        let [home, scratch] = [&b"home"[..], b"scratch"].map(|name| handles.child(top, name, &mut names).object);
        let mut paths = |handles: &mut Handles| {
            [one, other, third].map(|server| {
                let path = handles.object(&ROOT, server, &mut names).path;
                names.text(path).unwrap_or_default().to_owned()
            })
        };
        handles.learn(&ROOT, one, home);
        assert_eq!(paths(&mut handles), ["/home"; 3], "perhaps addresses of one server");
        handles.learn(&ROOT, other, scratch);
        let [of_one, of_other, unknown] = paths(&mut handles);
        assert_eq!((of_one.as_str(), of_other.as_str()), ("/home", "/scratch"));
        assert!(unknown.starts_with("[handle 0x"), "{unknown}");
    }
}
