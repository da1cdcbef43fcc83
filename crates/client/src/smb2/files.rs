//! Files that are open.

use plimsoll_model::FileIdentity;
use plimsoll_wire::smb2::{FileId, create};

/// An open file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) id: FileId,
    /// The granted oplock.
    pub(super) oplock: u8,
    /// The lease of the open, and its current rights.
    pub(super) lease: Option<create::Lease>,
    /// It was opened for reading.
    pub(super) readable: bool,
    pub(super) file: Option<FileIdentity>,
    /// Locks and unlocks that were numbered.
    pub(super) locks: u32,
}

impl Open {
    /// LockSequenceIndex and LockSequenceNumber of the next lock or unlock, by which the server recognises a repetition. It stores the last
    /// number of each of 64 indexes.
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

    /// Sets the current rights of a lease, for all opens with this lease.
    pub(super) fn set_lease(&mut self, lease: create::Lease) {
        let leases = self.iter_mut().filter_map(|open| open.lease.as_mut());
        leases.filter(|held| held.key == lease.key).for_each(|held| held.state = lease.state);
    }
}
