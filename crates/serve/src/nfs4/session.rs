//! Sessions and their slots. A slot keeps the answer to its last request, for the case that the client asks again.
//!
//! Spec: RFC 8881 2.10.6, RFC 8881 18.46

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use plimsoll_wire::nfs::v4::create_session::Channel;
use plimsoll_wire::nfs::v4::sequence::{Sequence, SessionId};

use super::back_channel::BackChannel;
use super::clients::Client;
use super::limits::LONGEST_RECORD;
use super::status::{Done, Status};

/// Slots of a session, at most.
const MOST_SLOTS: u32 = 256;
/// Slots of all sessions, at most: with the answers that they keep, 1 GiB.
const MOST_SLOTS_IN_ALL: usize = 1 << 20;
/// The longest answer that a slot keeps, bytes.
const CACHED: u32 = 1024;
/// Operations of a compound, at most.
const OPERATIONS: u32 = 64;
/// Limits of a session below which no useful compound fits, bytes.
const LEAST: u32 = 512;

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: SessionId,
    pub(super) client: Arc<Client>,
    pub(super) fore: Channel,
    pub(super) back: Mutex<BackChannel>,
    slots: Box<[Mutex<Slot>]>,
}

/// A slot.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// Sequence ID of the last request; of none, the next one has 1.
    sequence: u32,
    used: bool,
    /// The answer to it; `None` if it was too long to keep.
    answer: Option<Box<[u8]>>,
}

/// What a request of a slot is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SlotRequest<'a> {
    /// The next one.
    New,
    /// The last one again; `None` if its answer was not kept.
    Again(Option<&'a [u8]>),
}

impl Slot {
    /// Compares the sequence ID with that of the last request.
    pub(super) fn classify(&self, sequence: u32) -> Done<SlotRequest<'_>> {
        if sequence == self.sequence.wrapping_add(1) {
            Ok(SlotRequest::New)
        } else if sequence == self.sequence && self.used {
            Ok(SlotRequest::Again(self.answer.as_deref()))
        } else {
            Err(Status::SEQ_MISORDERED)
        }
    }

    /// Notes that a request was carried out.
    pub(super) fn done(&mut self, sequence: u32, answer: Option<&[u8]>) {
        (self.sequence, self.used, self.answer) = (sequence, true, answer.map(Box::from));
    }
}

impl Session {
    /// The slot of a request.
    pub(super) fn slot(&self, sequence: &Sequence) -> Done<&Mutex<Slot>> {
        let slot = self.slots.get(sequence.slot as usize).ok_or(Status::BADSLOT)?;
        if sequence.highest >= self.fore.slots {
            return Err(Status::BAD_HIGH_SLOT);
        }
        Ok(slot)
    }
}

/// All sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    table: RwLock<HashMap<SessionId, Arc<Session>>>,
    slots: Mutex<usize>,
}

impl Sessions {
    pub(super) fn get(&self, id: &SessionId) -> Done<Arc<Session>> {
        self.table.read().get(id).map(Arc::clone).ok_or(Status::BADSESSION)
    }

    /// Creates a session with limits near the requested ones.
    pub(super) fn create(
        &self,
        id: SessionId,
        client: Arc<Client>,
        wanted: &Channel,
        back: BackChannel,
    ) -> Done<Channel> {
        let mut in_all = self.slots.lock();
        let room = u32::try_from(MOST_SLOTS_IN_ALL - *in_all).unwrap_or(MOST_SLOTS);
        if wanted.request < LEAST || wanted.response < LEAST {
            return Err(Status::TOOSMALL);
        }
        if wanted.operations == 0 || wanted.slots == 0 {
            return Err(Status::INVAL);
        }
        if room == 0 {
            return Err(Status::DELAY);
        }
        let longest = LONGEST_RECORD as u32;
        let fore = Channel {
            request: wanted.request.min(longest),
            response: wanted.response.min(longest),
            cached: wanted.cached.min(CACHED),
            operations: wanted.operations.min(OPERATIONS),
            slots: wanted.slots.min(MOST_SLOTS).min(room),
        };
        let slots: Box<[_]> = (0..fore.slots).map(|_| Mutex::default()).collect();
        *in_all += slots.len();
        self.table.write().insert(id, Arc::new(Session { id, client, fore, back: Mutex::new(back), slots }));
        Ok(fore)
    }

    /// Ends a session; false if there is none.
    pub(super) fn remove(&self, id: &SessionId) -> bool {
        let Some(session) = self.table.write().remove(id) else { return false };
        *self.slots.lock() -= session.slots.len();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_answers_its_last_request_again_and_no_other() {
        let mut slot = Slot::default();
        assert_eq!((slot.classify(0), slot.classify(2)), (Err(Status::SEQ_MISORDERED), Err(Status::SEQ_MISORDERED)));
        assert_eq!(slot.classify(1), Ok(SlotRequest::New));
        slot.done(1, Some(b"first"));
        assert_eq!(slot.classify(1), Ok(SlotRequest::Again(Some(b"first"))));
        assert_eq!(slot.classify(2), Ok(SlotRequest::New));
        assert_eq!((slot.classify(0), slot.classify(3)), (Err(Status::SEQ_MISORDERED), Err(Status::SEQ_MISORDERED)));
        slot.done(2, None);
        assert_eq!((slot.classify(2), slot.classify(1)), (Ok(SlotRequest::Again(None)), Err(Status::SEQ_MISORDERED)));
        slot.done(u32::MAX, None);
        assert_eq!(slot.classify(0), Ok(SlotRequest::New), "it wraps");
    }
}
