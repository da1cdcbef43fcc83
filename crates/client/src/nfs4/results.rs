//! The results of a compound, for its rows.

use plimsoll_model::FileIdentity;

use super::shapes::LONGEST;

/// The results of a compound.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Results {
    statuses: [u32; LONGEST],
    count: usize,
    /// File data in the response, or that the server wrote, bytes, from the last operation.
    pub(super) payload: Option<u64>,
    /// The file whose handle the server returned.
    pub(super) file: Option<FileIdentity>,
}

impl Results {
    pub(super) fn add(&mut self, status: u32) {
        if let Some(place) = self.statuses.get_mut(self.count) {
            *place = status;
            self.count += 1;
        }
    }

    /// Number of operations with a result.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The status of the first operation, which is SEQUENCE if the call has a slot.
    pub(super) fn first(&self) -> Option<u32> {
        self.statuses.first().copied().filter(|_| self.count > 0)
    }

    pub(super) fn of(&self, place: usize) -> Option<u32> {
        self.statuses.get(place).copied().filter(|_| place < self.count)
    }
}
