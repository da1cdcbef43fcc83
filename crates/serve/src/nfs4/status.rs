//! Statuses of operations.
//!
//! Spec: RFC 8881 15.1

use plimsoll_wire::nfs::status;
use plimsoll_wire::xdr::Malformed;

use crate::memory::Trouble;

/// Why an operation, and its compound with it, ends (`nfsstat4`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status(pub(super) u32);

/// The result of an operation.
pub(super) type Done<T = ()> = Result<T, Status>;

/// Declares the statuses.
macro_rules! statuses {
    ($($name:ident = $number:ident;)*) => {
        impl Status {
            $(pub(super) const $name: Self = Self(status::$number);)*
        }
    };
}

statuses! {
    OK = NFS4_OK;
    NOENT = NFS4ERR_NOENT;
    NXIO = NFS4ERR_NXIO;
    EXIST = NFS4ERR_EXIST;
    NOTDIR = NFS4ERR_NOTDIR;
    ISDIR = NFS4ERR_ISDIR;
    INVAL = NFS4ERR_INVAL;
    FBIG = NFS4ERR_FBIG;
    NOSPC = NFS4ERR_NOSPC;
    ROFS = NFS4ERR_ROFS;
    MLINK = NFS4ERR_MLINK;
    NAMETOOLONG = NFS4ERR_NAMETOOLONG;
    NOTEMPTY = NFS4ERR_NOTEMPTY;
    STALE = NFS4ERR_STALE;
    BADHANDLE = NFS4ERR_BADHANDLE;
    BAD_COOKIE = NFS4ERR_BAD_COOKIE;
    NOTSUPP = NFS4ERR_NOTSUPP;
    TOOSMALL = NFS4ERR_TOOSMALL;
    BADTYPE = NFS4ERR_BADTYPE;
    DELAY = NFS4ERR_DELAY;
    SAME = NFS4ERR_SAME;
    DENIED = NFS4ERR_DENIED;
    GRACE = NFS4ERR_GRACE;
    LOCKED = NFS4ERR_LOCKED;
    SHARE_DENIED = NFS4ERR_SHARE_DENIED;
    NOFILEHANDLE = NFS4ERR_NOFILEHANDLE;
    MINOR_VERS_MISMATCH = NFS4ERR_MINOR_VERS_MISMATCH;
    STALE_CLIENTID = NFS4ERR_STALE_CLIENTID;
    OLD_STATEID = NFS4ERR_OLD_STATEID;
    BAD_STATEID = NFS4ERR_BAD_STATEID;
    NOT_SAME = NFS4ERR_NOT_SAME;
    SYMLINK = NFS4ERR_SYMLINK;
    RESTOREFH = NFS4ERR_RESTOREFH;
    ATTRNOTSUPP = NFS4ERR_ATTRNOTSUPP;
    NO_GRACE = NFS4ERR_NO_GRACE;
    BADXDR = NFS4ERR_BADXDR;
    LOCKS_HELD = NFS4ERR_LOCKS_HELD;
    OPENMODE = NFS4ERR_OPENMODE;
    BADOWNER = NFS4ERR_BADOWNER;
    BADCHAR = NFS4ERR_BADCHAR;
    BADNAME = NFS4ERR_BADNAME;
    OP_ILLEGAL = NFS4ERR_OP_ILLEGAL;
    BADSESSION = NFS4ERR_BADSESSION;
    BADSLOT = NFS4ERR_BADSLOT;
    COMPLETE_ALREADY = NFS4ERR_COMPLETE_ALREADY;
    SEQ_MISORDERED = NFS4ERR_SEQ_MISORDERED;
    SEQUENCE_POS = NFS4ERR_SEQUENCE_POS;
    REQ_TOO_BIG = NFS4ERR_REQ_TOO_BIG;
    REP_TOO_BIG = NFS4ERR_REP_TOO_BIG;
    REP_TOO_BIG_TO_CACHE = NFS4ERR_REP_TOO_BIG_TO_CACHE;
    RETRY_UNCACHED_REP = NFS4ERR_RETRY_UNCACHED_REP;
    TOO_MANY_OPS = NFS4ERR_TOO_MANY_OPS;
    OP_NOT_IN_SESSION = NFS4ERR_OP_NOT_IN_SESSION;
    CLIENTID_BUSY = NFS4ERR_CLIENTID_BUSY;
    BAD_HIGH_SLOT = NFS4ERR_BAD_HIGH_SLOT;
    NOT_ONLY_OP = NFS4ERR_NOT_ONLY_OP;
    WRONG_TYPE = NFS4ERR_WRONG_TYPE;
    DELEG_REVOKED = NFS4ERR_DELEG_REVOKED;
    UNION_NOTSUPP = NFS4ERR_UNION_NOTSUPP;
}

impl From<Malformed> for Status {
    fn from(_: Malformed) -> Self {
        Self::BADXDR
    }
}

impl From<Trouble> for Status {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::NotFound => Self::NOENT,
            Trouble::Exists => Self::EXIST,
            Trouble::NotADirectory => Self::NOTDIR,
            Trouble::IsADirectory => Self::ISDIR,
            Trouble::WrongKind => Self::WRONG_TYPE,
            Trouble::InvalidName => Self::BADCHAR,
            Trouble::IntoItself => Self::INVAL,
            Trouble::NotEmpty => Self::NOTEMPTY,
            Trouble::NameTooLong => Self::NAMETOOLONG,
            Trouble::NoSpace => Self::NOSPC,
            Trouble::TooLarge => Self::FBIG,
            Trouble::Stale => Self::STALE,
            Trouble::TooManyNames => Self::MLINK,
        }
    }
}
