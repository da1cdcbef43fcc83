//! Statuses of operations.
//!
//! Spec: RFC 8881 15.1

use plimsoll_wire::xdr::Malformed;

use crate::memory::Trouble;

/// Why an operation, and its compound with it, ends (`nfsstat4`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status(pub(super) u32);

/// The result of an operation.
pub(super) type Done<T = ()> = Result<T, Status>;

/// Declares the statuses.
macro_rules! statuses {
    ($($name:ident = $number:literal;)*) => {
        impl Status {
            $(pub(super) const $name: Self = Self($number);)*
        }
    };
}

statuses! {
    OK = 0;
    NOENT = 2;
    NXIO = 6;
    EXIST = 17;
    NOTDIR = 20;
    ISDIR = 21;
    INVAL = 22;
    FBIG = 27;
    NOSPC = 28;
    ROFS = 30;
    MLINK = 31;
    NAMETOOLONG = 63;
    NOTEMPTY = 66;
    STALE = 70;
    BADHANDLE = 10_001;
    BAD_COOKIE = 10_003;
    NOTSUPP = 10_004;
    TOOSMALL = 10_005;
    BADTYPE = 10_007;
    DELAY = 10_008;
    SAME = 10_009;
    DENIED = 10_010;
    GRACE = 10_013;
    LOCKED = 10_012;
    SHARE_DENIED = 10_015;
    NOFILEHANDLE = 10_020;
    MINOR_VERS_MISMATCH = 10_021;
    STALE_CLIENTID = 10_022;
    OLD_STATEID = 10_024;
    BAD_STATEID = 10_025;
    NOT_SAME = 10_027;
    SYMLINK = 10_029;
    RESTOREFH = 10_030;
    ATTRNOTSUPP = 10_032;
    NO_GRACE = 10_033;
    BADXDR = 10_036;
    LOCKS_HELD = 10_037;
    OPENMODE = 10_038;
    BADOWNER = 10_039;
    BADCHAR = 10_040;
    BADNAME = 10_041;
    OP_ILLEGAL = 10_044;
    BADSESSION = 10_052;
    BADSLOT = 10_053;
    COMPLETE_ALREADY = 10_054;
    SEQ_MISORDERED = 10_063;
    SEQUENCE_POS = 10_064;
    REQ_TOO_BIG = 10_065;
    REP_TOO_BIG = 10_066;
    REP_TOO_BIG_TO_CACHE = 10_067;
    RETRY_UNCACHED_REP = 10_068;
    TOO_MANY_OPS = 10_070;
    OP_NOT_IN_SESSION = 10_071;
    CLIENTID_BUSY = 10_074;
    BAD_HIGH_SLOT = 10_077;
    NOT_ONLY_OP = 10_081;
    WRONG_TYPE = 10_083;
    DELEG_REVOKED = 10_087;
    UNION_NOTSUPP = 10_090;
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
