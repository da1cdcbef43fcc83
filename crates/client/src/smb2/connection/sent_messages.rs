//! Messages of a connection that are sent again on another one of the session, should it be lost.
//!
//! Spec: MS-SMB2 3.2.4.1.5, 3.2.7.1

use std::collections::VecDeque;

use super::outgoing::Outgoing;
use crate::smb2::jobs::JobId;

/// A message that was sent and not answered in full.
#[derive(Debug)]
pub(in crate::smb2) struct SentMessage {
    pub(in crate::smb2) outgoing: Outgoing,
    pub(in crate::smb2) job: JobId,
    /// When it was first to be sent, ns.
    pub(in crate::smb2) since: i64,
    /// Requests in it without a response.
    pub(in crate::smb2) left: u32,
    /// Number of earlier transmissions, on a lost connection or to a server that was not ready.
    pub(in crate::smb2) again: u32,
    /// Requests in it for which the server was not ready.
    pub(in crate::smb2) not_ready: u32,
}

/// The messages of a connection, in the order in which they were sent.
#[derive(Debug, Default)]
pub(in crate::smb2) struct SentMessages {
    messages: VecDeque<(u64, Option<SentMessage>)>,
    /// Number of messages with a request that has no response yet.
    live: usize,
    /// Due time and earlier transmissions of the next message to be added.
    next: Option<(i64, u32)>,
    /// Memory of messages that are over, for the next ones.
    spare: Vec<Outgoing>,
}

/// Maximum number of messages whose memory is used again: a batch of responses is followed by a batch of requests. Few connections have
/// more than that outstanding.
const SPARE: usize = 32;
/// Maximum length of such a message, bytes: a few requests.
const SPARE_BYTES: usize = 512;
/// Maximum number of entries of the list, in addition to two per unfinished message. Finished messages leave entries behind.
const OVER: usize = 1024;

impl SentMessages {
    /// Sets the due time and the number of earlier transmissions of the next message.
    pub(in crate::smb2) fn continues(&mut self, since: i64, again: u32) {
        self.next = Some((since, again));
    }

    /// Takes over a message whose first request has this ID, and leaves an empty one behind.
    pub(super) fn add(&mut self, first: u64, outgoing: &mut Outgoing, job: JobId, now: i64) {
        let (since, again) = self.next.take().unwrap_or((now, 0));
        let left = outgoing.members.len() as u32;
        let outgoing = std::mem::replace(outgoing, self.spare.pop().unwrap_or_default());
        if self.messages.len() > 2 * self.live + OVER {
            // Entries of finished messages stay behind an unfinished one, which may wait long while many later ones are answered.
            self.messages.retain(|(_, message)| message.is_some());
        }
        self.live += 1;
        self.messages.push_back((first, Some(SentMessage { outgoing, job, since, left, again, not_ready: 0 })));
    }

    /// A message is over, and is not sent again: its memory is used for a later one.
    pub(in crate::smb2) fn recycle(&mut self, mut outgoing: Outgoing) {
        if self.spare.len() < SPARE && outgoing.bytes.len() <= SPARE_BYTES {
            outgoing.clear();
            self.spare.push(outgoing);
        }
    }

    /// A request has its last answer, or gets none: the message that it was in, where that is over now.
    pub(in crate::smb2) fn ended(&mut self, id: u64) -> Option<SentMessage> {
        // The IDs of a message are consecutive.
        let place = self.place(id)?;
        let (_, slot) = self.messages.get_mut(place)?;
        let message = slot.as_mut()?;
        message.left = message.left.saturating_sub(1);
        if message.left > 0 {
            return None;
        }
        let whole = slot.take();
        self.live = self.live.saturating_sub(1);
        while let Some((_, None)) = self.messages.front() {
            self.messages.pop_front();
        }
        whole
    }

    /// The place of the message that may contain this request: its first ID is the highest one up to `id`.
    fn place(&self, id: u64) -> Option<usize> {
        // Most responses come in the order of the requests.
        let is_later = self.messages.get(1).is_some_and(|(second, _)| *second <= id);
        let places = if is_later { self.messages.partition_point(|(first, _)| *first <= id) } else { 1 };
        let place = places.checked_sub(1)?;
        self.messages.get(place).filter(|(first, _)| *first <= id).map(|_| place)
    }

    /// The message that a request is in.
    pub(in crate::smb2) fn of(&self, id: u64) -> Option<&SentMessage> {
        let place = self.place(id)?;
        self.messages.get(place)?.1.as_ref()
    }

    /// The server was not ready for a request.
    pub(in crate::smb2) fn not_ready(&mut self, id: u64) {
        let place = self.place(id);
        let message = place.and_then(|place| self.messages.get_mut(place)).and_then(|(_, message)| message.as_mut());
        message.into_iter().for_each(|message| message.not_ready += 1);
    }

    /// Removes and returns all messages, with the IDs of their first requests.
    pub(in crate::smb2) fn take(&mut self) -> Vec<(u64, SentMessage)> {
        self.live = 0;
        let taken = std::mem::take(&mut self.messages).into_iter();
        taken.filter_map(|(first, message)| Some((first, message?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::request_kind::RequestKind;
    use plimsoll_wire::smb2::{FileId, close, empty_body::Echo};

    #[test]
    fn a_message_is_over_with_its_last_request() {
        let mut messages = SentMessages::default();
        let mut outgoing = Outgoing::default();
        outgoing.add(RequestKind::Echo, &Echo).unwrap();
        messages.add(3, &mut outgoing.clone(), JobId::NONE, 10);
        outgoing.add(RequestKind::Close, &close::Close { file: FileId::PREVIOUS, attributes: false }).unwrap();
        messages.continues(5, 2);
        messages.add(7, &mut outgoing.clone(), JobId::NONE, 11);
        messages.add(9, &mut outgoing, JobId::NONE, 12);
        assert!(outgoing.bytes.is_empty() && outgoing.members.is_empty(), "it was taken over");
        assert!(messages.of(2).is_none() && messages.ended(2).is_none());
        assert!(messages.ended(7).is_none(), "one of two");
        let whole = messages.ended(8).unwrap();
        assert_eq!((whole.since, whole.again, whole.left), (5, 2, 0));
        assert!(messages.ended(8).is_none() && messages.of(8).is_none(), "twice");
        assert!(messages.ended(10).is_none(), "one of two, the other one first");
        let left: Vec<_> =
            messages.take().iter().map(|(first, message)| (*first, message.since, message.left)).collect();
        assert_eq!(left, [(3, 10, 1), (9, 12, 1)]);
        assert!(messages.take().is_empty());
    }

    #[test]
    fn a_message_that_waits_for_long_does_not_keep_the_places_of_others() {
        let mut messages = SentMessages::default();
        let mut outgoing = Outgoing::default();
        outgoing.add(RequestKind::Echo, &Echo).unwrap();
        messages.add(1, &mut outgoing.clone(), JobId::NONE, 10);
        for id in 2..20_000 {
            messages.add(id, &mut outgoing.clone(), JobId::NONE, 11);
            assert!(messages.messages.len() <= OVER + 4, "{} places", messages.messages.len());
            assert!(messages.ended(id).is_some(), "{id}");
        }
        assert!(messages.of(1).is_some_and(|first| first.since == 10));
        assert!(messages.ended(1).is_some() && messages.messages.is_empty());
    }

    #[test]
    fn memory_used_again_brings_nothing_of_the_message_before() {
        let mut messages = SentMessages::default();
        let mut outgoing = Outgoing::default();
        outgoing.add(RequestKind::Echo, &Echo).unwrap();
        let first = outgoing.bytes.clone();
        outgoing.add(RequestKind::Close, &close::Close { file: FileId::PREVIOUS, attributes: false }).unwrap();
        messages.recycle(outgoing.clone());
        outgoing.clear();
        outgoing.add(RequestKind::Echo, &Echo).unwrap();
        messages.add(3, &mut outgoing, JobId::NONE, 10);
        assert!(outgoing.bytes.capacity() > 0 && outgoing.bytes.is_empty() && outgoing.members.is_empty());
        assert!(messages.spare.is_empty(), "it was used");
        let [(_, copy)] = messages.take().try_into().unwrap();
        assert_eq!((&copy.outgoing.bytes, copy.outgoing.members.len(), copy.left), (&first, 1, 1));
        (0..2 * SPARE).for_each(|_| messages.recycle(outgoing.clone()));
        assert_eq!(messages.spare.len(), SPARE);
        outgoing.bytes.resize(SPARE_BYTES + 1, 0);
        messages.spare.truncate(1);
        messages.recycle(outgoing);
        assert_eq!(messages.spare.len(), 1, "it is too long");
    }
}
