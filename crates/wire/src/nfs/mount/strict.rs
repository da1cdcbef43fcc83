//! MOUNT version 3, as a client says it and reads its results.
//!
//! Spec: RFC 1813 5.2

use crate::nfs::v3::FileHandle;
use crate::xdr::{Emit, Malformed, Strict};

/// Bytes of a path, at most (MNTPATHLEN).
pub const MAX_PATH: usize = 1_024;
/// Bytes of a name, at most (MNTNAMLEN).
const MAX_NAME: usize = 255;
/// Flavors of a mounted export, at most. The specification has no limit; there are fewer than twenty.
const MAX_FLAVORS: u32 = 256;

/// A call of MOUNT.
#[derive(Clone, Copy, Debug)]
pub enum MountCall<'a> {
    /// NULL.
    Null,
    /// MNT: the handle of this path.
    Mount(&'a str),
    /// UMNT: forget that I mounted this path.
    Unmount(&'a str),
    /// EXPORT: what is exported.
    Exports,
}

impl MountCall<'_> {
    /// The procedure's number.
    pub fn procedure(&self) -> u32 {
        match self {
            Self::Null => 0,
            Self::Mount(_) => 1,
            Self::Unmount(_) => 3,
            Self::Exports => 5,
        }
    }

    /// Appends the arguments.
    pub fn emit(&self, out: &mut Vec<u8>) {
        if let Self::Mount(path) | Self::Unmount(path) = self {
            out.put_opaque(path.as_bytes());
        }
    }
}

/// The results of MNT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mounted {
    /// The path's handle, and the flavors of credentials that the server takes.
    Root(FileHandle, Vec<u32>),
    /// Any other status, see [`crate::nfs::mount_status_name`].
    Refused(u32),
}

/// Reads the results of MNT.
pub fn parse_mounted(bytes: &[u8]) -> Result<Mounted, Malformed> {
    let mut reader = Strict::new(bytes);
    let status = reader.u32()?;
    let mounted = if status == 0 {
        let root = FileHandle::parse(&mut reader)?;
        let count = reader.u32()?;
        if count > MAX_FLAVORS {
            return Err(Malformed);
        }
        Mounted::Root(root, (0..count).map(|_| reader.u32()).collect::<Result<_, _>>()?)
    } else {
        Mounted::Refused(status)
    };
    reader.end()?;
    Ok(mounted)
}

/// Reads the results of NULL and UMNT: there are none.
pub fn parse_nothing(bytes: &[u8]) -> Result<(), Malformed> {
    Strict::new(bytes).end()
}

/// An export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Export<'a> {
    /// Its path.
    pub path: &'a [u8],
    /// Groups that may mount it; 0 where everybody may.
    pub groups: u32,
}

/// Reads the results of EXPORT, handing each export to `each`.
pub fn parse_exports<'a>(bytes: &'a [u8], mut each: impl FnMut(Export<'a>)) -> Result<(), Malformed> {
    let mut reader = Strict::new(bytes);
    while reader.boolean()? {
        let path = reader.opaque(MAX_PATH)?;
        let mut groups = 0;
        while reader.boolean()? {
            reader.opaque(MAX_NAME)?;
            groups += 1;
        }
        each(Export { path, groups });
    }
    reader.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nfs::mount::{arguments, results};
    use crate::xdr::builder::{Xdr, damage};

    #[test]
    fn said_and_seen_are_the_same() {
        for call in [MountCall::Mount("/export/a"), MountCall::Unmount("/export/a")] {
            let mut bytes = Vec::new();
            call.emit(&mut bytes);
            assert_eq!(arguments(3, call.procedure(), &bytes).name, Some(&b"/export/a"[..]));
        }
        let root = Xdr::new().u32(0).opaque([7; 16]).words(&[2, 1, 390_003]).bytes();
        let handle = FileHandle::new(&[7; 16]).unwrap();
        assert_eq!(parse_mounted(root), Ok(Mounted::Root(handle, vec![1, 390_003])));
        assert_eq!(results(3, 1, root).handle, Some(&[7; 16][..]));
        damage(root, |bytes| {
            let _ = parse_mounted(bytes);
        });
    }

    #[test]
    fn refusals_are_numbers_and_the_rest_is_malformed() {
        assert_eq!(parse_mounted(&[0, 0, 0, 13]), Ok(Mounted::Refused(13)));
        assert_eq!(parse_mounted(&[0, 0, 0, 13, 0]), Err(Malformed));
        assert_eq!(parse_mounted(Xdr::new().u32(0).opaque([7; 65]).u32(0).bytes()), Err(Malformed));
        assert_eq!(parse_mounted(Xdr::new().u32(0).opaque([7; 8]).u32(u32::MAX).bytes()), Err(Malformed));
        assert_eq!((parse_nothing(&[]), parse_nothing(&[0])), (Ok(()), Err(Malformed)));
    }

    #[test]
    fn exports_are_listed() {
        let list = Xdr::new().u32(1).opaque("/a").u32(1).opaque("group").u32(0).u32(1).opaque("/b").words(&[0, 0]);
        let mut seen = Vec::new();
        assert_eq!(parse_exports(&list.0, |export| seen.push((export.path, export.groups))), Ok(()));
        assert_eq!(seen, [(&b"/a"[..], 1), (&b"/b"[..], 0)]);
        damage(&list.0, |bytes| {
            let _ = parse_exports(bytes, |_| {});
        });
    }
}
