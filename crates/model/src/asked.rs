//! The requested object of a request: file, byte range, and open mode.

use std::hash::Hasher;
use std::net::IpAddr;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::Symbol;

/// Parameters of a request besides its procedure and path. `None` means unknown or not applicable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The file.
    pub file: Option<FileIdentity>,
    /// Where in the file, bytes: of a read, write, commit, lock or copy (there: of the target).
    pub offset: Option<u64>,
    /// How many bytes from there.
    pub bytes: Option<u64>,
    /// The second path: the new name of a rename or link, the source of a copy.
    pub second_path: Symbol,
    /// How an open treats an existing file and a missing one.
    pub disposition: Option<Disposition>,
    /// The requested access of an open to the file's data.
    pub access: Option<FileAccess>,
    /// Whether a write's data are to be on stable storage before the answer. No table has it.
    pub durable: Option<bool>,
    /// Whether a request for locks gives them back instead (SMB, where one procedure does both). No table has it.
    pub unlock: Option<bool>,
}

/// Identity of a file within a table: equal identities are the same file. Different ones mostly are different files, but one file can
/// have several: hard links and renames (SMB, local), opens that were not seen (SMB).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileIdentity(NonZeroU64);

/// Odd, with half its bits set: multiplying by it spreads low bits upwards (2^64 divided by the golden ratio).
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

impl FileIdentity {
    /// The value of its number in a table.
    #[inline]
    pub fn of_number(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Self)
    }

    /// The number that stands in a table.
    #[inline]
    pub fn number(self) -> u64 {
        self.0.get()
    }

    /// By an NFS file handle.
    pub fn of_handle(handle: &[u8]) -> Self {
        let mut hasher = hasher();
        hasher.write(handle);
        Self::hashed(hasher.finish())
    }

    /// By an SMB share and a path below it. Servers take ASCII letters in upper and lower case for the same, and so does this; of the
    /// share only the last part counts: clients name a server in several ways.
    pub fn of_share_and_path(share: &str, path: &str) -> Self {
        let mut hasher = hasher();
        let share = share.trim_end_matches(is_separator).rsplit(is_separator).next().unwrap_or_default();
        write_folded(&mut hasher, share);
        write_folded(&mut hasher, path.trim_matches(is_separator));
        Self::hashed(hasher.finish())
    }

    /// By an SMB2 open whose path is not known.
    #[inline]
    pub fn of_open(id: [u8; 16]) -> Self {
        let id = u128::from_le_bytes(id);
        Self::hashed((id as u64).wrapping_mul(SPREAD) ^ ((id >> 64) as u64).rotate_left(32))
    }

    /// By a path below a mounted directory.
    pub fn of_path(path: &str) -> Self {
        Self::of_handle(path.as_bytes())
    }

    /// The same on a server: handles and paths of two servers can be equal.
    #[inline]
    pub fn on(self, server: IpAddr) -> Self {
        let server = match server {
            IpAddr::V4(ip) => u64::from(ip.to_bits()),
            IpAddr::V6(ip) => (ip.to_bits() >> 64) as u64 ^ (ip.to_bits() as u64).rotate_left(32),
        };
        Self::hashed(self.number() ^ server.wrapping_mul(SPREAD))
    }

    #[inline]
    fn hashed(hash: u64) -> Self {
        Self(NonZeroU64::new(hash).unwrap_or(NonZeroU64::MAX))
    }
}

/// The same in each process: a table must not differ from one run of the program to the next.
fn hasher() -> std::hash::DefaultHasher {
    std::hash::DefaultHasher::new()
}

fn is_separator(letter: char) -> bool {
    matches!(letter, '\\' | '/')
}

/// Adds a text as servers compare it, with an end that no text contains.
fn write_folded(hasher: &mut impl Hasher, text: &str) {
    let fold = |byte: &u8| if *byte == b'/' { b'\\' } else { byte.to_ascii_lowercase() };
    let mut piece = [0; 64];
    for bytes in text.as_bytes().chunks(piece.len()) {
        for (folded, byte) in piece.iter_mut().zip(bytes) {
            *folded = fold(byte);
        }
        hasher.write(piece.get(..bytes.len()).unwrap_or_default());
    }
    hasher.write_u8(0xFF);
}

/// How an open treats an existing file and a missing one. Protocols with fewer modes use a subset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Disposition {
    /// Replaces it; creates it.
    Supersede,
    /// Opens it; fails.
    Open,
    /// Fails; creates it.
    Create,
    /// Opens it; creates it.
    OpenOrCreate,
    /// Empties it; fails.
    Overwrite,
    /// Empties it; creates it.
    OverwriteOrCreate,
}

crate::words! {
    Disposition,
    "All, in the order of SMB's numbers.",
    "The word in tables.":
    Supersede "supersede", Open "open", Create "create", OpenOrCreate "open_or_create", Overwrite "overwrite",
    OverwriteOrCreate "overwrite_or_create"
}

impl Disposition {
    /// By its number in SMB (CreateDisposition, MS-SMB2 2.2.13).
    pub fn of_number(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }
}

/// The requested access of an open to the file's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FileAccess {
    /// Neither read nor write them: attributes, renaming, deletion.
    Neither,
    /// Read (or execute, or list) them.
    Read,
    /// Write (or append to) them.
    Write,
    /// Both.
    ReadWrite,
    /// As much as the server allows.
    Maximum,
}

crate::words! {
    FileAccess,
    "All of them.",
    "The word in tables.":
    Neither "neither", Read "read", Write "write", ReadWrite "read_write", Maximum "maximum"
}

impl FileAccess {
    /// Of reading and writing.
    pub fn of(reads: bool, writes: bool) -> Self {
        match (reads, writes) {
            (false, false) => Self::Neither,
            (true, false) => Self::Read,
            (false, true) => Self::Write,
            (true, true) => Self::ReadWrite,
        }
    }

    /// Of an SMB access mask (MS-SMB2 2.2.13.1).
    pub fn of_mask(mask: u32) -> Self {
        /// FILE_READ_DATA, FILE_EXECUTE, GENERIC_READ, GENERIC_EXECUTE, GENERIC_ALL.
        const READS: u32 = 0x01 | 0x20 | 0x8000_0000 | 0x2000_0000 | 0x1000_0000;
        /// FILE_WRITE_DATA, FILE_APPEND_DATA, GENERIC_WRITE, GENERIC_ALL.
        const WRITES: u32 = 0x02 | 0x04 | 0x4000_0000 | 0x1000_0000;
        /// MAXIMUM_ALLOWED.
        const MAXIMUM: u32 = 0x0200_0000;
        if mask & MAXIMUM != 0 { Self::Maximum } else { Self::of(mask & READS != 0, mask & WRITES != 0) }
    }

    /// Of an NFSv4 share access (RFC 8881 18.16).
    pub fn of_share_access(bits: u32) -> Self {
        Self::of(bits & 1 != 0, bits & 2 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_file_by_any_spelling_and_another_by_any_difference() {
        let file = FileIdentity::of_share_and_path(r"\\server\Data", r"dir\File.txt");
        for (share, path) in
            [("data", "dir/file.txt"), (r"\\10.0.0.1\DATA\", r"\DIR\FILE.TXT"), ("Data", r"\dir\File.txt\")]
        {
            assert_eq!(FileIdentity::of_share_and_path(share, path), file, "{share} {path}");
        }
        for (share, path) in
            [("data2", "dir/file.txt"), ("data", "dir/file.tx"), ("datadir", "file.txt"), ("data", "dir/Äfile.txt")]
        {
            assert_ne!(FileIdentity::of_share_and_path(share, path), file, "{share} {path}");
        }
        let long = "x".repeat(200);
        assert_eq!(
            FileIdentity::of_share_and_path("s", &long),
            FileIdentity::of_share_and_path("S", &long.to_uppercase())
        );
        assert_ne!(FileIdentity::of_share_and_path("s", &long), FileIdentity::of_share_and_path("s", &long[1..]));
    }

    #[test]
    fn servers_have_files_of_their_own() {
        let file = FileIdentity::of_handle(&[1, 2, 3]);
        let ips: [IpAddr; 4] = ["10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"].map(|ip| ip.parse().unwrap());
        let mut all: Vec<FileIdentity> = ips.map(|ip| file.on(ip)).into();
        all.push(file);
        all.extend(ips.map(|ip| FileIdentity::of_open([7; 16]).on(ip)));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 9);
        assert_eq!(FileIdentity::of_number(file.number()), Some(file));
        assert_eq!(FileIdentity::of_number(0), None);
    }

    #[test]
    fn access_is_that_to_the_data() {
        // MS-SMB2 2.2.13.1: what Windows asks for to read, to write, to stat, to delete.
        for (mask, access) in [
            (0x0012_0089, FileAccess::Read),
            (0x0012_0196, FileAccess::Write),
            (0x0012_019F, FileAccess::ReadWrite),
            (0x0010_0080, FileAccess::Neither),
            (0x0001_0080, FileAccess::Neither),
            (0x0200_0000, FileAccess::Maximum),
            (0x8000_0000, FileAccess::Read),
            (0x1000_0000, FileAccess::ReadWrite),
            (0x0000_0020, FileAccess::Read),
        ] {
            assert_eq!(FileAccess::of_mask(mask), access, "{mask:#x}");
        }
        assert_eq!(
            [1, 2, 3].map(FileAccess::of_share_access),
            [FileAccess::Read, FileAccess::Write, FileAccess::ReadWrite]
        );
        assert_eq!(Disposition::of_number(5), Some(Disposition::OverwriteOrCreate));
        assert_eq!(Disposition::of_number(6), None);
    }
}
