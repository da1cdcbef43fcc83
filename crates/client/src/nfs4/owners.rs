//! The owners of opens and of locks, and their sequence IDs in 4.0.
//!
//! In 4.0 each request that changes an owner's state has the owner's next sequence ID, and an owner has one such request at a time. A
//! request that is sent again on another connection has the same ID, so the server repeats its response. From 4.1 on, slots do this, and
//! all sequence IDs are 0.
//!
//! A server repeats its response whatever the operation is. Therefore an ID whose request was given up is *in doubt*, and no other request
//! gets it: the owner sends no further LOCK or LOCKU, and a CLOSE has the ID after it. The server executes that CLOSE only if it has
//! executed the request before. Otherwise it responds with BAD_SEQID: the ID was not used, so the CLOSE is sent again with this ID.
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
    /// The next ID of the open-owner, and that of the lock-owner: a request with it was given up.
    in_doubt: (bool, bool),
    /// The open-owner's last request skipped an ID in doubt.
    left_out: bool,
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

    /// Whether it has the ID of the open-owner, and that of the lock-owner.
    fn uses(self) -> (bool, bool) {
        (!matches!(self, Self::Lock(_)), !matches!(self, Self::Open(_)))
    }
}

/// A request of an owner that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnerRequest {
    sequenced: Sequenced,
    /// The owner's name: with another name it is another owner for the server.
    name: u32,
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
        if self.of(owner).lost || self.of(owner).busy {
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

    /// The sequence IDs of the next request, of the open-owner and of the lock-owner. An ID in doubt is left out.
    pub(super) fn next(&mut self, sequenced: Sequenced) -> (u32, u32) {
        let (of_open, of_lock) = sequenced.uses();
        let Sequences { open, lock, in_doubt, left_out, .. } = self.of_mut(sequenced.owner());
        if of_open && std::mem::take(&mut in_doubt.0) {
            *open = open.wrapping_add(1);
            *left_out = true;
        }
        if of_lock && std::mem::take(&mut in_doubt.1) {
            *lock = lock.wrapping_add(1);
        }
        (*open, *lock)
    }

    /// The server refused the open-owner's ID with BAD_SEQID, so it has not used the ID that was left out before: the next request gets
    /// that one. False if none was left out.
    pub(super) fn use_left_out(&mut self, owner: u32) -> bool {
        let Sequences { open, left_out, .. } = self.of_mut(owner);
        let is_left = std::mem::take(left_out);
        *open = open.wrapping_sub(u32::from(is_left));
        is_left
    }

    /// Whether the server may have executed a request that changes locks of this owner, or opens them.
    pub(super) fn is_in_doubt(&self, owner: u32) -> bool {
        let (open, lock) = self.of(owner).in_doubt;
        open || lock
    }

    /// Whether the owner has an outstanding request.
    pub(super) fn is_busy(&self, owner: u32) -> bool {
        self.of(owner).busy
    }

    pub(super) fn sent(&mut self, sequenced: Sequenced) -> OwnerRequest {
        let sequences = self.of_mut(sequenced.owner());
        sequences.busy = true;
        OwnerRequest { sequenced, name: sequences.name }
    }

    /// A request was answered, with this status of the owner's operation; `None` if the server did not get to it.
    pub(super) fn answered(&mut self, request: OwnerRequest, status: Option<u32>) {
        let Some(sequences) = self.owner_of(request) else { return };
        sequences.busy = false;
        sequences.lost |= status == Some(NFS4ERR_BAD_SEQID);
        if status.is_none_or(|status| NOT_COUNTED.contains(&status)) {
            return;
        }
        let (of_open, of_lock) = request.sequenced.uses();
        sequences.open = sequences.open.wrapping_add(u32::from(of_open));
        sequences.left_out &= !of_open;
        sequences.lock = sequences.lock.wrapping_add(u32::from(of_lock));
    }

    /// The connection with the owner's request was lost. The server has not executed the request, or has forgotten it.
    pub(super) fn parted(&mut self, request: OwnerRequest) {
        self.owner_of(request).into_iter().for_each(|sequences| sequences.busy = false);
    }

    /// A request of the owner was given up, or its response makes no sense: the server may have executed it.
    pub(super) fn lose(&mut self, request: OwnerRequest) {
        let Some(sequences) = self.owner_of(request) else { return };
        let (of_open, of_lock) = request.sequenced.uses();
        (sequences.busy, sequences.lost) = (false, true);
        sequences.in_doubt.0 |= of_open;
        sequences.in_doubt.1 |= of_lock;
    }

    /// The server has forgotten all owners: it takes any ID of the next request.
    pub(super) fn end_doubts(&mut self) {
        let end = |sequences: &mut Sequences| (sequences.in_doubt, sequences.left_out) = ((false, false), false);
        self.sequences.iter_mut().for_each(end);
    }

    /// The owner of a request, unless it was given back in the meantime, and has another name.
    fn owner_of(&mut self, request: OwnerRequest) -> Option<&mut Sequences> {
        Some(self.of_mut(request.sequenced.owner())).filter(|sequences| sequences.name == request.name)
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

    fn next(owners: &mut Owners, owner: u32) -> (u32, u32) {
        owners.next(Sequenced::FirstLock(owner))
    }

    fn answer(owners: &mut Owners, sequenced: Sequenced, status: Option<u32>) {
        let request = owners.sent(sequenced);
        owners.answered(request, status);
    }

    fn lose(owners: &mut Owners, sequenced: Sequenced) {
        let request = owners.sent(sequenced);
        owners.lose(request);
    }

    #[test]
    fn an_owner_counts_what_the_server_counts() {
        let mut owners = Owners::new(0, 1);
        let owner = owners.take();
        let request = owners.sent(Sequenced::Open(owner));
        assert!(owners.is_busy(owner) && !owners.is_busy(owner + 1));
        owners.answered(request, Some(0));
        assert_eq!((next(&mut owners, owner), owners.is_busy(owner)), ((1, 0), false));
        answer(&mut owners, Sequenced::FirstLock(owner), Some(NFS4ERR_DENIED));
        assert_eq!(next(&mut owners, owner), (2, 1), "a refusal counts");
        answer(&mut owners, Sequenced::Lock(owner), Some(0));
        for status in NOT_COUNTED.map(Some).into_iter().chain([None]) {
            answer(&mut owners, Sequenced::Open(owner), status);
        }
        assert_eq!((next(&mut owners, owner), next(&mut owners, owner + 1)), ((2, 2), (0, 0)));
    }

    #[test]
    fn an_id_in_doubt_is_used_by_no_other_request() {
        let mut owners = Owners::new(0, 1);
        let owner = owners.take();
        answer(&mut owners, Sequenced::Open(owner), Some(0));
        lose(&mut owners, Sequenced::Lock(owner));
        assert!(owners.is_in_doubt(owner) && !owners.is_in_doubt(owner + 1));
        assert_eq!(owners.next(Sequenced::Open(owner)), (1, 0), "the open-owner has another ID");
        assert_eq!([(); 2].map(|()| owners.next(Sequenced::Lock(owner))), [(1, 1); 2], "it is left out once");
        lose(&mut owners, Sequenced::FirstLock(owner));
        assert_eq!((owners.next(Sequenced::Open(owner)), owners.is_in_doubt(owner)), ((2, 1), true));
        owners.end_doubts();
        assert_eq!((next(&mut owners, owner), owners.is_in_doubt(owner)), ((2, 1), false));
    }

    #[test]
    fn an_id_that_was_left_out_is_used_once_if_the_server_has_not_used_it() {
        let mut owners = Owners::new(0, 1);
        let owner = owners.take();
        answer(&mut owners, Sequenced::Open(owner), Some(0));
        lose(&mut owners, Sequenced::FirstLock(owner));
        assert!(!owners.use_left_out(owner), "nothing was left out yet");
        assert_eq!(owners.next(Sequenced::Open(owner)).0, 2);
        answer(&mut owners, Sequenced::Open(owner), Some(NFS4ERR_BAD_SEQID));
        assert_eq!((owners.use_left_out(owner), owners.next(Sequenced::Open(owner)).0), (true, 1));
        assert_eq!((owners.use_left_out(owner), owners.next(Sequenced::Open(owner)).0), (false, 1));
        // The server counted the ID after it, so it had used the one that was left out.
        lose(&mut owners, Sequenced::FirstLock(owner));
        assert_eq!(owners.next(Sequenced::Open(owner)).0, 2);
        answer(&mut owners, Sequenced::Open(owner), Some(0));
        assert_eq!((owners.use_left_out(owner), owners.next(Sequenced::Open(owner)).0), (false, 3));
    }

    #[test]
    fn a_request_of_an_owner_that_was_given_back_does_not_change_its_next_life() {
        let mut owners = Owners::new(0, 1);
        let owner = owners.take();
        let before = owners.sent(Sequenced::FirstLock(owner));
        owners.give_back(owner);
        assert_eq!((owners.take(), owners.name(owner)), (owner, (u32::MAX - 1).to_be_bytes()));
        let request = owners.sent(Sequenced::Open(owner));
        owners.lose(before);
        owners.parted(before);
        owners.answered(before, Some(0));
        assert!(owners.is_busy(owner) && !owners.is_in_doubt(owner));
        owners.answered(request, Some(0));
        assert_eq!((next(&mut owners, owner), owners.is_busy(owner)), ((1, 0), false));
    }

    #[test]
    fn an_owner_that_is_out_of_step_gets_another_name() {
        let mut owners = Owners::new(0, 1);
        let (one, two, three) = (owners.take(), owners.take(), owners.take());
        lose(&mut owners, Sequenced::Open(one));
        answer(&mut owners, Sequenced::Open(two), Some(NFS4ERR_BAD_SEQID));
        let request = owners.sent(Sequenced::Open(three));
        owners.parted(request);
        assert!([one, two, three].iter().all(|owner| !owners.is_busy(*owner)));
        [one, two, three].into_iter().for_each(|owner| owners.give_back(owner));
        let names = [owners.take(), owners.take(), owners.take()].map(|owner| owners.name(owner));
        assert_eq!(names, [three, u32::MAX - 2, u32::MAX - 1].map(u32::to_be_bytes), "from the last to the first");
        assert_eq!(next(&mut owners, two), (0, 0));
        assert_eq!(owners.take(), three + 1);
    }
}
