//! NLM, the lock manager of NFS 2 and 3: versions 1, 3 and 4.
//!
//! Spec: X/Open XNFS C702 10
//!
//! A blocking LOCK waits by design. A server usually answers NLM_BLOCKED (3) at once, and calls GRANTED back on the
//! client when the lock is free: the wait lies between the two, and the cookie ties them together. The `_MSG` and `_RES`
//! procedures are the same calls and answers as two calls, each with an empty reply; the cookie pairs them too.

use super::facts::Facts;
use super::layout::Field::{Count, Count64, Handle, Name, Offset, Offset32, Opaque};
use super::layout::{Field, Layout};
use crate::xdr::Cursor;

/// Longest cookie and owner (`LM_MAXSTRLEN`).
const MAX_NETOBJ: usize = 1024;
/// Longest handle (`NFS3_FHSIZE`; version 1 and 3 carry the 32 bytes of NFS 2).
const MAX_HANDLE: usize = 64;

/// Whether a version has a procedure; 17 to 19 are not used.
fn has(version: u32, procedure: u32) -> bool {
    let highest = crate::rpc::Program::Nlm.highest_procedure(version);
    highest.is_some_and(|highest| procedure <= highest) && !matches!(procedure, 17..=19)
}

/// Facts of a call. Each item is complete or `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arguments<'a> {
    /// Ties calls to their asynchronous answers.
    pub cookie: Option<&'a [u8]>,
    /// LOCK, NM_LOCK, CANCEL: true when the caller waits for the lock.
    pub blocking: Option<bool>,
    /// True for a write lock.
    pub exclusive: Option<bool>,
    /// The client's name.
    pub caller: Option<&'a [u8]>,
    /// The file.
    pub handle: Option<&'a [u8]>,
    /// The lock's owner.
    pub owner: Option<&'a [u8]>,
    /// First byte locked.
    pub offset: Option<u64>,
    /// Bytes locked; 0 means to the end of the file.
    pub length: Option<u64>,
    /// The `_RES` procedures: the status that they bring, see [`super::nlm_status_name`].
    pub status: Option<u32>,
    /// It requests a lock, and does not cancel a request.
    asks: bool,
}

impl<'a> Arguments<'a> {
    /// Reads a call's arguments as far as they go.
    pub fn new(version: u32, procedure: u32, bytes: &'a [u8]) -> Self {
        let mut arguments = Self { asks: matches!(procedure, 2 | 7 | 22), ..Self::default() };
        if has(version, procedure) {
            // Fields that were not captured stay None.
            let _ = arguments.read(version == 4, procedure, &mut Cursor::new(bytes));
        }
        arguments
    }

    /// True for a LOCK that waits by design: it is held, not slow.
    pub fn waits(&self) -> bool {
        self.asks && self.blocking == Some(true)
    }

    /// The facts that all programs share. The handle is an NFS handle, so names can be joined to it.
    pub fn facts(&self) -> Facts<'a> {
        Facts { handle: self.handle, offset: self.offset, count: self.length, status: self.status, ..Facts::default() }
    }

    fn read(&mut self, wide: bool, procedure: u32, cursor: &mut Cursor<'a>) -> Option<()> {
        match procedure {
            // nlm_testargs: TEST and GRANTED.
            1 | 5 | 6 | 10 => {
                self.cookie(cursor)?;
                self.exclusive = Some(cursor.boolean()?);
                self.lock(wide, cursor)
            }
            // nlm_lockargs and nlm_cancargs begin alike.
            2 | 3 | 7 | 8 | 22 => {
                self.cookie(cursor)?;
                self.blocking = Some(cursor.boolean()?);
                self.exclusive = Some(cursor.boolean()?);
                self.lock(wide, cursor)
            }
            // nlm_unlockargs.
            4 | 9 => {
                self.cookie(cursor)?;
                self.lock(wide, cursor)
            }
            // nlm_res and nlm_testres.
            11..=15 => {
                self.cookie(cursor)?;
                self.status = Some(cursor.u32()?);
                Some(())
            }
            // nlm_shareargs.
            20 | 21 => {
                self.cookie(cursor)?;
                self.file(cursor)
            }
            // nlm_notify.
            23 => {
                self.caller = Some(cursor.opaque_up_to(MAX_NETOBJ)?);
                Some(())
            }
            _ => None,
        }
    }

    fn cookie(&mut self, cursor: &mut Cursor<'a>) -> Option<()> {
        self.cookie = Some(cursor.opaque_up_to(MAX_NETOBJ)?);
        Some(())
    }

    fn file(&mut self, cursor: &mut Cursor<'a>) -> Option<()> {
        self.caller = Some(cursor.opaque_up_to(MAX_NETOBJ)?);
        self.handle = Some(cursor.opaque_up_to(MAX_HANDLE)?);
        self.owner = Some(cursor.opaque_up_to(MAX_NETOBJ)?);
        Some(())
    }

    fn lock(&mut self, wide: bool, cursor: &mut Cursor<'a>) -> Option<()> {
        self.file(cursor)?;
        let _process = cursor.u32()?;
        if wide {
            self.offset = Some(cursor.u64()?);
            self.length = Some(cursor.u64()?);
        } else {
            self.offset = Some(u64::from(cursor.u32()?));
            self.length = Some(u64::from(cursor.u32()?));
        }
        Some(())
    }
}

/// The status in a reply's results. The `_MSG` and `_RES` procedures return nothing.
pub fn results(version: u32, procedure: u32, bytes: &[u8]) -> Facts<'_> {
    let mut facts = Facts::default();
    if has_result(version, procedure) {
        let mut cursor = Cursor::new(bytes);
        if cursor.opaque_up_to(MAX_NETOBJ).is_some() {
            facts.status = cursor.u32();
        }
    }
    facts
}

/// A lock of a file: caller, file, owner, process, and range.
const LOCK: [Field; 4] = [Name, Handle, Opaque, Count];
const RANGE_32: [Field; 2] = [Offset32, Count];
const RANGE_64: [Field; 2] = [Offset, Count64];

/// Where the items of arguments stand, for [`super::marks`]; as [`Arguments`] reads them.
pub(super) fn arguments_layout(version: u32, procedure: u32) -> Option<Layout> {
    has(version, procedure).then_some(())?;
    Some(match (procedure, version == 4) {
        (1 | 5 | 6 | 10, false) => &[Opaque, Count, LOCK[0], LOCK[1], LOCK[2], LOCK[3], RANGE_32[0], RANGE_32[1]],
        (1 | 5 | 6 | 10, true) => &[Opaque, Count, LOCK[0], LOCK[1], LOCK[2], LOCK[3], RANGE_64[0], RANGE_64[1]],
        (2 | 3 | 7 | 8 | 22, false) => {
            &[Opaque, Count, Count, LOCK[0], LOCK[1], LOCK[2], LOCK[3], RANGE_32[0], RANGE_32[1]]
        }
        (2 | 3 | 7 | 8 | 22, true) => {
            &[Opaque, Count, Count, LOCK[0], LOCK[1], LOCK[2], LOCK[3], RANGE_64[0], RANGE_64[1]]
        }
        (4 | 9, false) => &[Opaque, LOCK[0], LOCK[1], LOCK[2], LOCK[3], RANGE_32[0], RANGE_32[1]],
        (4 | 9, true) => &[Opaque, LOCK[0], LOCK[1], LOCK[2], LOCK[3], RANGE_64[0], RANGE_64[1]],
        (11..=15, _) => &[Opaque, Count],
        (20 | 21, _) => &[Opaque, LOCK[0], LOCK[1], LOCK[2]],
        (23, _) => &[Name],
        _ => return None,
    })
}

/// The same of results, which begin with a cookie.
pub(super) fn results_layout(version: u32, procedure: u32) -> Option<Layout> {
    has_result(version, procedure).then_some(&[Opaque, Count])
}

/// TEST, LOCK, CANCEL, UNLOCK, GRANTED, SHARE, UNSHARE and NM_LOCK answer with a cookie and a status.
fn has_result(version: u32, procedure: u32) -> bool {
    has(version, procedure) && matches!(procedure, 1..=5 | 20..=22)
}
