//! Byte-range locks and oplock breaks.
//! Spec: MS-CIFS 2.2.4.32

use super::andx::Link;
use super::command;

const FID: usize = 4;
const TYPE_OF_LOCK: usize = 6;
const OPLOCK_LEVEL: usize = 7;
const TIMEOUT: usize = 8;
const UNLOCKS: usize = 12;
const LOCKS: usize = 14;

/// TypeOfLock: shared instead of exclusive.
pub const SHARED: u8 = 0x01;
/// TypeOfLock: an oplock is broken (from the server) or given up (from the client).
pub const OPLOCK_RELEASE: u8 = 0x02;
/// TypeOfLock: cancel waiting locks.
pub const CANCEL_LOCK: u8 = 0x08;
/// TypeOfLock: offsets and lengths have 64 bits.
pub const LARGE_FILES: u8 = 0x10;

/// A LOCKING_ANDX request, from the client or (an oplock break) from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locking {
    /// Open file.
    pub fid: u16,
    /// TypeOfLock, the bits of this module.
    pub kind: u8,
    /// NewOpLockLevel: 0 none, 1 level II.
    pub oplock_level: u8,
    /// How long the server may wait for the locks, in milliseconds: 0 not at all, 0xFFFFFFFF for ever.
    pub timeout_ms: u32,
    /// Ranges to unlock.
    pub unlocks: u16,
    /// Ranges to lock.
    pub locks: u16,
    unsolicited: bool,
}

impl Locking {
    /// The view of a LOCKING_ANDX request; `None` for other messages, or if a field is missing.
    pub fn new(link: &Link<'_>) -> Option<Self> {
        if link.command != command::LOCKING_ANDX || !link.is_request() {
            return None;
        }
        Some(Self {
            fid: link.u16(FID)?,
            kind: link.u8(TYPE_OF_LOCK)?,
            oplock_level: link.u8(OPLOCK_LEVEL)?,
            timeout_ms: link.u32(TIMEOUT)?,
            unlocks: link.u16(UNLOCKS)?,
            locks: link.u16(LOCKS)?,
            unsolicited: link.header().is_unsolicited()?,
        })
    }

    /// Whether the server may hold the request until another client unlocks: locks are asked for, with a timeout.
    pub fn may_wait(&self) -> bool {
        self.locks > 0 && self.timeout_ms != 0 && self.kind & (CANCEL_LOCK | OPLOCK_RELEASE) == 0
    }

    /// Whether this only acknowledges a break: the server does not answer it (MS-CIFS 3.3.5.30).
    pub fn is_oplock_acknowledgment(&self) -> bool {
        !self.unsolicited && self.kind & OPLOCK_RELEASE != 0 && self.locks == 0 && self.unlocks == 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::Chain;
    use super::super::build::{Build, words};
    use super::*;

    fn locking(build: Build, kind: u16, timeout: u16, unlocks: u16, locks: u16) -> Locking {
        // MS-CIFS 2.2.4.32.1: AndX words, FID, TypeOfLock, NewOpLockLevel, Timeout (32), unlocks, locks.
        let message = build.block(&words(&[0xff, 0, 0x4001, kind, timeout, 0, unlocks, locks]), &[]).done();
        Locking::new(&Chain::new(&message, message.len()).unwrap().next().unwrap()).unwrap()
    }

    #[test]
    fn only_locks_with_a_timeout_wait() {
        let request = || Build::request(command::LOCKING_ANDX);
        assert!(locking(request(), 0x10, 500, 0, 1).may_wait());
        assert!(!locking(request(), 0x10, 0, 0, 1).may_wait());
        assert!(!locking(request(), 0x10, 500, 1, 0).may_wait());
        assert!(!locking(request(), 0x18, 500, 0, 1).may_wait(), "a cancel does not wait");
    }

    #[test]
    fn an_oplock_break_comes_from_the_server_with_ids_of_nobody() {
        let request = || Build::request(command::LOCKING_ANDX);
        let broken = locking(request().ids(0xffff, 0xffff), 0x0102, 0, 0, 0);
        assert!(!broken.is_oplock_acknowledgment());
        assert_eq!((broken.fid, broken.oplock_level), (0x4001, 1));
        let given_up = locking(request(), 0x0002, 0, 0, 0);
        assert!(given_up.is_oplock_acknowledgment());
        assert!(!locking(request(), 0x0002, 0, 1, 0).is_oplock_acknowledgment(), "unlocks are answered");
    }
}
