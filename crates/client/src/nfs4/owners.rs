//! The owners of opens and of locks, and their sequence IDs in 4.0.
//!
//! In 4.0 each request that changes an owner's state has the owner's next sequence ID, and an owner has one such request at a time. A
//! request that is sent again on another connection has the same ID, so the server repeats its response. From 4.1 on, slots do this, and
//! all sequence IDs are 0.
//!
//! Spec: RFC 7530 9.1.4, RFC 7530 9.1.7, RFC 8881 9.1.1

use plimsoll_wire::nfs::status::{
    NFS4ERR_BAD_SEQID, NFS4ERR_BAD_STATEID, NFS4ERR_BADXDR, NFS4ERR_MOVED, NFS4ERR_NOFILEHANDLE, NFS4ERR_RESOURCE,
    NFS4ERR_STALE_CLIENTID, NFS4ERR_STALE_STATEID,
};

/// The owners of opens. Each open file has a separate one, so that two opens of one file are two (RFC 8881 9.1.1); an owner whose
/// file was closed opens the next one.
#[derive(Debug)]
pub(super) struct Owners {
    free: Vec<u32>,
    /// The last number, and how far numbers lie apart: other connections of the session have those in between.
    made: u32,
    step: u32,
    /// In 4.0, by number.
    sequences: Vec<Sequences>,
    /// Number of owners that got another name.
    renamed: u32,
}

/// The sequence IDs of an open-owner, and of the lock-owner with the same name.
#[derive(Clone, Copy, Debug, Default)]
struct Sequences {
    open: u32,
    lock: u32,
    /// A request is outstanding.
    busy: bool,
    /// Client and server may disagree about the IDs, so the next file gets an owner with another name.
    lost: bool,
    /// That name; 0 if the number is the name.
    name: u32,
}

/// The sequence IDs that a request uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sequenced {
    /// The ID of the open-owner.
    Open(u32),
    /// The ID of the lock-owner.
    Lock(u32),
    /// Both: the first lock of an open.
    FirstLock(u32),
}

impl Sequenced {
    pub(super) fn owner(self) -> u32 {
        let (Self::Open(owner) | Self::Lock(owner) | Self::FirstLock(owner)) = self;
        owner
    }
}

/// Statuses after which a sequence ID is used again (RFC 7530 9.1.7).
const NOT_COUNTED: [u32; 8] = [
    NFS4ERR_RESOURCE,
    NFS4ERR_MOVED,
    NFS4ERR_NOFILEHANDLE,
    NFS4ERR_STALE_CLIENTID,
    NFS4ERR_STALE_STATEID,
    NFS4ERR_BAD_STATEID,
    NFS4ERR_BAD_SEQID,
    NFS4ERR_BADXDR,
];

impl Owners {
    /// The owners of connection number `nth`.
    pub(super) fn new(nth: u32, connections: u32) -> Self {
        let step = connections.max(1);
        Self { free: Vec::new(), made: nth.wrapping_sub(step).wrapping_add(1), step, sequences: Vec::new(), renamed: 0 }
    }

    pub(super) fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.made = self.made.wrapping_add(self.step);
            self.made
        })
    }

    pub(super) fn give_back(&mut self, owner: u32) {
        if self.of(owner).lost {
            self.renamed = self.renamed.wrapping_add(1);
            // Numbers count from 1 up, so these names belong to no other owner.
            *self.of_mut(owner) = Sequences { name: u32::MAX.wrapping_sub(self.renamed), ..Sequences::default() };
        }
        self.free.push(owner);
    }

    /// The owner's name in requests.
    pub(super) fn name(&self, owner: u32) -> [u8; 4] {
        match self.of(owner).name {
            0 => owner,
            name => name,
        }
        .to_be_bytes()
    }

    /// The next sequence IDs of the open-owner and of the lock-owner.
    pub(super) fn sequences(&self, owner: u32) -> (u32, u32) {
        let Sequences { open, lock, .. } = self.of(owner);
        (open, lock)
    }

    /// Whether the owner has an outstanding request.
    pub(super) fn is_busy(&self, owner: u32) -> bool {
        self.of(owner).busy
    }

    /// A request of the owner is sent.
    pub(super) fn sent(&mut self, owner: u32) {
        self.of_mut(owner).busy = true;
    }

    /// A request was answered, with this status of the owner's operation; `None` if the server did not get to it.
    pub(super) fn answered(&mut self, sequenced: Sequenced, status: Option<u32>) {
        let sequences = self.of_mut(sequenced.owner());
        sequences.busy = false;
        sequences.lost |= status == Some(NFS4ERR_BAD_SEQID);
        if status.is_none_or(|status| NOT_COUNTED.contains(&status)) {
            return;
        }
        if !matches!(sequenced, Sequenced::Lock(_)) {
            sequences.open = sequences.open.wrapping_add(1);
        }
        if !matches!(sequenced, Sequenced::Open(_)) {
            sequences.lock = sequences.lock.wrapping_add(1);
        }
    }

    /// The connection with the owner's request was lost: the request is sent again with the same ID.
    pub(super) fn parted(&mut self, owner: u32) {
        self.of_mut(owner).busy = false;
    }

    /// A request of the owner was given up, or its response makes no sense.
    pub(super) fn lose(&mut self, owner: u32) {
        let sequences = self.of_mut(owner);
        (sequences.busy, sequences.lost) = (false, true);
    }

    fn of(&self, owner: u32) -> Sequences {
        self.sequences.get(owner as usize).copied().unwrap_or_default()
    }

    /// Owners have numbers from 1 on, so this is as large as the largest number of files that were open at the same time.
    fn of_mut(&mut self, owner: u32) -> &mut Sequences {
        let place = owner as usize;
        if self.sequences.len() <= place {
            self.sequences.resize(place + 1, Sequences::default());
        }
        &mut self.sequences[place]
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::nfs::status::NFS4ERR_DENIED;

    use super::*;

    #[test]
    fn an_owner_counts_what_the_server_counts() {
        let mut owners = Owners::new(0, 1);
        let owner = owners.take();
        owners.sent(owner);
        assert!(owners.is_busy(owner) && !owners.is_busy(owner + 1));
        owners.answered(Sequenced::Open(owner), Some(0));
        assert_eq!((owners.sequences(owner), owners.is_busy(owner)), ((1, 0), false));
        owners.answered(Sequenced::FirstLock(owner), Some(NFS4ERR_DENIED));
        assert_eq!(owners.sequences(owner), (2, 1), "a refusal counts");
        owners.answered(Sequenced::Lock(owner), Some(0));
        for status in NOT_COUNTED.map(Some).into_iter().chain([None]) {
            owners.answered(Sequenced::Open(owner), status);
        }
        assert_eq!((owners.sequences(owner), owners.sequences(owner + 1)), ((2, 2), (0, 0)));
    }

    #[test]
    fn an_owner_that_is_out_of_step_gets_another_name() {
        let mut owners = Owners::new(0, 1);
        let (one, two, three) = (owners.take(), owners.take(), owners.take());
        owners.sent(one);
        owners.lose(one);
        owners.answered(Sequenced::Open(two), Some(NFS4ERR_BAD_SEQID));
        owners.sent(three);
        owners.parted(three);
        assert!([one, two, three].iter().all(|owner| !owners.is_busy(*owner)));
        [one, two, three].into_iter().for_each(|owner| owners.give_back(owner));
        let names = [owners.take(), owners.take(), owners.take()].map(|owner| owners.name(owner));
        assert_eq!(names, [three, u32::MAX - 2, u32::MAX - 1].map(u32::to_be_bytes), "from the last to the first");
        assert_eq!(owners.sequences(two), (0, 0));
        assert_eq!(owners.take(), three + 1);
    }
}
