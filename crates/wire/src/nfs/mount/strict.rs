//! MOUNT version 3, as a client says it and reads its results.
//!
//! Spec: RFC 1813 5.2

use crate::nfs::v3::FileHandle;
use crate::xdr::{Emit, Malformed, Strict};

/// Flavors of a mounted export, at most. The specification has no limit; there are fewer than twenty.
const MAX_FLAVORS: u32 = 256;

/// A call of MOUNT.
#[derive(Clone, Copy, Debug)]
pub enum MountCall<'a> {
    /// MNT: the handle of this path.
    Mount(&'a str),
    /// UMNT: forget that I mounted this path.
    Unmount(&'a str),
}

impl MountCall<'_> {
    /// The procedure's number.
    pub fn procedure(&self) -> u32 {
        match self {
            Self::Mount(_) => 1,
            Self::Unmount(_) => 3,
        }
    }

    /// Appends the arguments.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let (Self::Mount(path) | Self::Unmount(path)) = self;
        out.put_opaque(path.as_bytes());
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

/// Reads the results of UMNT: there are none.
pub fn parse_nothing(bytes: &[u8]) -> Result<(), Malformed> {
    Strict::new(bytes).end()
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
}
