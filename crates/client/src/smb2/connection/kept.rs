//! Messages of a connection that are sent again on another one of the session, should it be lost.
//!
//! Spec: MS-SMB2 3.2.4.1.5, 3.2.7.1

use std::collections::VecDeque;

use super::outgoing::Outgoing;
use crate::smb2::jobs::JobId;

/// A message that was sent and not answered in full.
#[derive(Debug)]
pub(in crate::smb2) struct Kept {
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
pub(in crate::smb2) struct KeptMessages {
    messages: VecDeque<(u64, Option<Kept>)>,
    /// Due time and earlier transmissions of the next message to be added.
    next: Option<(i64, u32)>,
}

impl KeptMessages {
    /// Sets the due time and the number of earlier transmissions of the next message.
    pub(in crate::smb2) fn continues(&mut self, since: i64, again: u32) {
        self.next = Some((since, again));
    }

    /// Adds a message whose first request has this ID.
    pub(super) fn add(&mut self, first: u64, outgoing: &Outgoing, job: JobId, now: i64) {
        let (since, again) = self.next.take().unwrap_or((now, 0));
        let left = outgoing.members.len() as u32;
        self.messages
            .push_back((first, Some(Kept { outgoing: outgoing.clone(), job, since, left, again, not_ready: 0 })));
    }

    /// A request has its last answer, or gets none: the message that it was in, where that is over now.
    pub(in crate::smb2) fn ended(&mut self, id: u64) -> Option<Kept> {
        // The IDs of a message are consecutive.
        let place = self.messages.partition_point(|(first, _)| *first <= id).checked_sub(1)?;
        let (_, slot) = self.messages.get_mut(place)?;
        let kept = slot.as_mut()?;
        kept.left = kept.left.saturating_sub(1);
        if kept.left > 0 {
            return None;
        }
        let whole = slot.take();
        while let Some((_, None)) = self.messages.front() {
            self.messages.pop_front();
        }
        whole
    }

    /// The message that a request is in.
    pub(in crate::smb2) fn of(&self, id: u64) -> Option<&Kept> {
        let place = self.messages.partition_point(|(first, _)| *first <= id).checked_sub(1)?;
        self.messages.get(place)?.1.as_ref()
    }

    /// The server was not ready for a request.
    pub(in crate::smb2) fn not_ready(&mut self, id: u64) {
        let place = self.messages.partition_point(|(first, _)| *first <= id).checked_sub(1);
        let kept = place.and_then(|place| self.messages.get_mut(place)).and_then(|(_, kept)| kept.as_mut());
        kept.into_iter().for_each(|kept| kept.not_ready += 1);
    }

    /// Removes and returns all messages, with the IDs of their first requests.
    pub(in crate::smb2) fn take(&mut self) -> Vec<(u64, Kept)> {
        let taken = std::mem::take(&mut self.messages).into_iter();
        taken.filter_map(|(first, kept)| Some((first, kept?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb2::request_kind::RequestKind;
    use plimsoll_wire::smb2::{FileId, close, echo};

    #[test]
    fn a_message_is_over_with_its_last_request() {
        let mut kept = KeptMessages::default();
        let mut outgoing = Outgoing::default();
        outgoing.add(RequestKind::Echo, &echo::Echo).unwrap();
        kept.add(3, &outgoing, JobId::NONE, 10);
        outgoing.add(RequestKind::Close, &close::Close { file: FileId::PREVIOUS, attributes: false }).unwrap();
        kept.continues(5, 2);
        kept.add(7, &outgoing, JobId::NONE, 11);
        kept.add(9, &outgoing, JobId::NONE, 12);
        assert!(kept.of(2).is_none() && kept.ended(2).is_none());
        assert!(kept.ended(7).is_none(), "one of two");
        let whole = kept.ended(8).unwrap();
        assert_eq!((whole.since, whole.again, whole.left), (5, 2, 0));
        assert!(kept.ended(8).is_none() && kept.of(8).is_none(), "twice");
        assert!(kept.ended(10).is_none(), "one of two, the other one first");
        let left: Vec<_> = kept.take().iter().map(|(first, kept)| (*first, kept.since, kept.left)).collect();
        assert_eq!(left, [(3, 10, 1), (9, 12, 1)]);
        assert!(kept.take().is_empty());
    }
}
