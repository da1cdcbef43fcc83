//! Times, sizes and attributes of a file, as CREATE, CLOSE and the information classes have them.
//!
//! Spec: MS-FSCC 2.1.1, 2.6; MS-DTYP 2.3.3

use super::reply::{Body, Malformed};

/// Four FILETIMEs: 100 ns units since 1601-01-01, UTC; 0 where the server does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// When it was made.
    pub creation: u64,
    /// When it was last read.
    pub last_access: u64,
    /// When its data last changed.
    pub last_write: u64,
    /// When its attributes last changed.
    pub change: u64,
}

impl Times {
    /// Four u64 that begin at `at`, always in this order.
    pub(super) fn parse(body: &Body<'_>, at: usize) -> Result<Self, Malformed> {
        Ok(Self {
            creation: body.u64(at, "CreationTime")?,
            last_access: body.u64(at + 8, "LastAccessTime")?,
            last_write: body.u64(at + 16, "LastWriteTime")?,
            change: body.u64(at + 24, "ChangeTime")?,
        })
    }
}

/// What CLOSE, CREATE and FileNetworkOpenInformation say of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Its times.
    pub times: Times,
    /// Bytes that it takes up.
    pub allocation_size: u64,
    /// Its length in bytes.
    pub end_of_file: u64,
    /// FILE_ATTRIBUTE bits.
    pub attributes: u32,
}
