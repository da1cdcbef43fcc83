//! The programs that make up a file service, by number.
//!
//! Spec: RFC 5531 13, RFC 1833, RFC 1094, RFC 1813, RFC 7530, RFC 8881, X/Open XNFS C702

use std::ops::RangeInclusive;

/// Numbers that a client makes up for itself; NFS 4.0 callbacks come in on them (RFC 5531 13, RFC 7530 16.33).
pub const TRANSIENT_PROGRAMS: RangeInclusive<u32> = 0x4000_0000..=0x5FFF_FFFF;

/// A program that an observer of NFS knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Program {
    /// 100000: portmap (version 2) and rpcbind (3 and 4).
    Portmap,
    /// 100003: NFS 2, 3 and 4.
    Nfs,
    /// 100005: MOUNT 1 to 3.
    Mount,
    /// 100011: quotas.
    Rquota,
    /// 100021: the lock manager, NLM 1, 3 and 4.
    Nlm,
    /// 100024: the status monitor, NSM.
    Status,
    /// 100227: access control lists beside NFS 2 and 3.
    NfsAcl,
}

impl Program {
    /// Every program, for tables.
    pub const ALL: [Self; 7] =
        [Self::Portmap, Self::Nfs, Self::Mount, Self::Rquota, Self::Nlm, Self::Status, Self::NfsAcl];

    /// From the wire number.
    #[inline]
    pub fn from_wire(number: u32) -> Option<Self> {
        Some(match number {
            100_000 => Self::Portmap,
            100_003 => Self::Nfs,
            100_005 => Self::Mount,
            100_011 => Self::Rquota,
            100_021 => Self::Nlm,
            100_024 => Self::Status,
            100_227 => Self::NfsAcl,
            _ => return None,
        })
    }

    /// The wire number.
    pub const fn number(self) -> u32 {
        match self {
            Self::Portmap => 100_000,
            Self::Nfs => 100_003,
            Self::Mount => 100_005,
            Self::Rquota => 100_011,
            Self::Nlm => 100_021,
            Self::Status => 100_024,
            Self::NfsAcl => 100_227,
        }
    }

    /// The name that people use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portmap => "PORTMAP",
            Self::Nfs => "NFS",
            Self::Mount => "MOUNT",
            Self::Rquota => "RQUOTA",
            Self::Nlm => "NLM",
            Self::Status => "STATUS",
            Self::NfsAcl => "NFSACL",
        }
    }

    /// The highest procedure number of a version; `None` for a version that does not exist.
    #[inline]
    pub fn highest_procedure(self, version: u32) -> Option<u32> {
        Some(match (self, version) {
            (Self::Portmap, 2) => 5,
            (Self::Portmap, 3) => 8,
            (Self::Portmap, 4) => 12,
            (Self::Nfs, 2) => 17,
            (Self::Nfs, 3) => 21,
            (Self::Nfs, 4) => 1,
            (Self::Mount, 1) => 6,
            (Self::Mount, 2) => 7,
            (Self::Mount, 3) => 5,
            (Self::Rquota, 1 | 2) => 4,
            (Self::Nlm, 1) => 16,
            (Self::Nlm, 3 | 4) => 23,
            (Self::Status, 1) => 6,
            (Self::NfsAcl, 2) => 5,
            (Self::NfsAcl, 3) => 3,
            _ => return None,
        })
    }
}

/// True for a number that a client may have made up for its callbacks.
#[inline]
pub fn is_transient(program: u32) -> bool {
    TRANSIENT_PROGRAMS.contains(&program)
}

/// The highest procedure number of a program and version by wire number: the known ones, and NFS 4 callbacks
/// (CB_NULL 0 and CB_COMPOUND 1; the version is 1, and some clients and servers say 4).
#[inline]
pub fn highest_procedure(program: u32, version: u32) -> Option<u32> {
    match Program::from_wire(program) {
        Some(known) => known.highest_procedure(version),
        None if is_transient(program) && matches!(version, 1 | 4) => Some(1),
        None => None,
    }
}
