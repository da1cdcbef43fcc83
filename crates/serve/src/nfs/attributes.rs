//! Attributes and troubles, in NFS's words.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nfs3_server::nfs3_types::nfs3::{
    Nfs3Option, fattr3, ftype3, nfsstat3, nfstime3, sattr3, set_atime, set_mtime, specdata3,
};
use nfs3_server::nfs3_types::xdr_codec::{Pack, Unpack};

use crate::memory::{Change, Kind, Set, Stat, Trouble};

/// Spec: RFC 1813 2.6, nfsstat3.
pub(super) fn status(trouble: Trouble) -> nfsstat3 {
    match trouble {
        Trouble::NotFound => nfsstat3::NFS3ERR_NOENT,
        Trouble::Exists => nfsstat3::NFS3ERR_EXIST,
        Trouble::NotADirectory => nfsstat3::NFS3ERR_NOTDIR,
        Trouble::IsADirectory => nfsstat3::NFS3ERR_ISDIR,
        Trouble::WrongKind | Trouble::InvalidName | Trouble::IntoItself => nfsstat3::NFS3ERR_INVAL,
        Trouble::NotEmpty => nfsstat3::NFS3ERR_NOTEMPTY,
        Trouble::NameTooLong => nfsstat3::NFS3ERR_NAMETOOLONG,
        Trouble::NoSpace => nfsstat3::NFS3ERR_NOSPC,
        Trouble::TooLarge => nfsstat3::NFS3ERR_FBIG,
        Trouble::Stale => nfsstat3::NFS3ERR_STALE,
        Trouble::TooManyNames => nfsstat3::NFS3ERR_MLINK,
    }
}

/// Spec: RFC 1813 2.6, fattr3.
pub(super) fn attributes(stat: &Stat) -> fattr3 {
    let type_ = match stat.kind {
        Kind::File => ftype3::NF3REG,
        Kind::Directory => ftype3::NF3DIR,
        Kind::Link => ftype3::NF3LNK,
    };
    fattr3 {
        type_,
        mode: stat.attributes.mode,
        nlink: stat.links,
        uid: stat.attributes.uid,
        gid: stat.attributes.gid,
        size: stat.size,
        used: stat.used,
        rdev: specdata3::default(),
        fsid: 1,
        fileid: stat.id,
        atime: time(stat.attributes.accessed),
        mtime: time(stat.attributes.modified),
        ctime: time(stat.attributes.changed),
    }
}

/// Spec: RFC 1813 2.6, sattr3.
pub(super) fn change(wanted: &sattr3) -> Change {
    Change {
        mode: option(&wanted.mode),
        uid: option(&wanted.uid),
        gid: option(&wanted.gid),
        size: option(&wanted.size),
        created: None,
        accessed: match &wanted.atime {
            set_atime::DONT_CHANGE => None,
            set_atime::SET_TO_SERVER_TIME => Some(Set::Now),
            set_atime::SET_TO_CLIENT_TIME(to) => Some(Set::To(instant(to))),
        },
        modified: match &wanted.mtime {
            set_mtime::DONT_CHANGE => None,
            set_mtime::SET_TO_SERVER_TIME => Some(Set::Now),
            set_mtime::SET_TO_CLIENT_TIME(to) => Some(Set::To(instant(to))),
        },
    }
}

fn option<T: Copy + Pack + Unpack>(option: &Nfs3Option<T>) -> Option<T> {
    match option {
        Nfs3Option::Some(value) => Some(*value),
        Nfs3Option::None => None,
    }
}

/// Seconds since 1970 in 32 bits: until 2106.
fn time(at: SystemTime) -> nfstime3 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    nfstime3 { seconds: u32::try_from(since.as_secs()).unwrap_or(u32::MAX), nseconds: since.subsec_nanos() }
}

fn instant(time: &nfstime3) -> SystemTime {
    UNIX_EPOCH + Duration::new(u64::from(time.seconds), time.nseconds.min(999_999_999))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_as_they_went() {
        for (seconds, nseconds) in [(0, 0), (1_700_000_000, 123_456_789), (u32::MAX, 999_999_999)] {
            let there = nfstime3 { seconds, nseconds };
            assert_eq!(time(instant(&there)), there);
        }
    }
}
