//! Files that are open.

use plimsoll_model::FileIdentity;
use plimsoll_wire::smb2::{FileId, create};

/// An open file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// The server's name for it.
    pub(super) id: FileId,
    /// The oplock that it has.
    pub(super) oplock: u8,
    /// The lease that it was opened with, and what may still be cached.
    pub(super) lease: Option<create::Lease>,
    /// It was opened for reading.
    pub(super) readable: bool,
    /// Which file it is.
    pub(super) file: Option<FileIdentity>,
    /// Locks and unlocks that were numbered.
    pub(super) locks: u32,
}

impl Open {
    /// LockSequenceIndex and LockSequenceNumber of the next lock or unlock, so that the server knows one that comes twice: it keeps
    /// the last number of each of 64 indexes, and takes the same again for a repetition.
    ///
    /// Spec: MS-SMB2 2.2.26, 3.3.5.14
    pub(super) fn next_lock(&mut self) -> u32 {
        let (index, number) = (1 + self.locks % 64, self.locks / 64 % 16);
        self.locks = self.locks.wrapping_add(1);
        index << 4 | number
    }
}

/// The open files of a connection.
pub(super) type Files = crate::files::Files<Open>;

impl Files {
    /// The lease of a key that an open file has.
    pub(super) fn lease(&mut self, key: [u8; 16]) -> Option<create::Lease> {
        self.iter_mut().filter_map(|open| open.lease).find(|held| held.key == key)
    }

    /// What may be cached under a lease, of all opens that have it.
    pub(super) fn set_lease(&mut self, lease: create::Lease) {
        let leases = self.iter_mut().filter_map(|open| open.lease.as_mut());
        leases.filter(|held| held.key == lease.key).for_each(|held| held.state = lease.state);
    }
}
