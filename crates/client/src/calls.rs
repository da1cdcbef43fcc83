//! Requests that wait for their answers.

use std::collections::VecDeque;

use plimsoll_model::{Asked, Endpoint, Frames, Outcome, Procedure, Symbol, Timeline, Transaction, Vantage};

/// What all transactions of a connection have in common.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Our side.
    pub client: Endpoint,
    /// The server.
    pub server: Endpoint,
    /// Number of the connection in this run, from 0.
    pub connection: u32,
    /// Share or export.
    pub share: Symbol,
    /// Account.
    pub user: Symbol,
}

/// A request on its way.
#[derive(Clone, Copy, Debug)]
pub struct Call<C> {
    /// SMB2 message id, RPC xid.
    pub id: u64,
    /// What went over the wire.
    pub procedure: Procedure,
    /// Place in its compound.
    pub compound_position: Option<u16>,
    /// When the schedule meant it to start, ns.
    pub intended: Option<i64>,
    /// The path acted on.
    pub path: Symbol,
    /// The requested object; the file without its server.
    pub asked: Asked,
    /// Session, where there is one.
    pub session: Option<u64>,
    /// Size of the request without framing prefix (of a compound's member: its part), bytes.
    pub request_bytes: u32,
    /// File data in the request, or `None`.
    pub payload_bytes: Option<u64>,
    /// Where its message begins in the stream, framing prefix included: all members of a compound are sent together.
    pub begins: u64,
    /// Where its last byte (of a compound: the last member's) stands in the stream, as [`crate::Outbox::end`] counts.
    pub ends: u64,
    /// When the kernel was given the first byte and the last one, ns: the clock before the system calls that took them. `None` while
    /// it waits in the outbox.
    pub sent: Option<(i64, i64)>,
    /// First interim answer, ns.
    pub interim: Option<i64>,
    /// Waits by design.
    pub long_lived: bool,
    /// The client's own data about the call, for handling its answer.
    pub context: C,
}

/// How a call ended, for its transaction.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// The final answer's first and last byte, ns.
    pub answered: Option<(i64, i64)>,
    /// The status on the wire.
    pub status: Option<u32>,
    /// How it ended.
    pub outcome: Outcome,
    /// Size of the answer, bytes.
    pub response_bytes: Option<u64>,
    /// File data in the answer, or how much of the request's data the server wrote, bytes; `None` keeps the request's value.
    pub payload_bytes: Option<u64>,
}

/// The calls of one connection, in the order in which they were made. Ids grow by one or more from call to call.
///
/// Ids mostly grow by one, so a call's distance from the front is that of its id. Otherwise a binary search finds it.
#[derive(Debug)]
pub struct Calls<C> {
    /// The id of each call, and the call until it is taken out.
    waiting: VecDeque<(u64, Option<Call<C>>)>,
    live: usize,
    /// Calls before this place were sent.
    sent: usize,
}

/// Number of answered calls whose places may remain, in addition to one for each call that waits.
const SPARE: usize = 1024;

impl<C> Default for Calls<C> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), live: 0, sent: 0 }
    }
}

impl<C> Calls<C> {
    /// Adds a call whose bytes were just queued. Its id must be greater than all before.
    pub fn add(&mut self, call: Call<C>) {
        debug_assert!(self.waiting.back().is_none_or(|&(last, _)| last < call.id));
        if self.waiting.len() > 2 * self.live + SPARE {
            self.close_up();
        }
        self.waiting.push_back((call.id, Some(call)));
        self.live += 1;
    }

    /// Gives up the places of answered calls. They are behind a call that waits: it may do so for long, while many others are answered.
    #[cold]
    fn close_up(&mut self) {
        self.sent = self.waiting.iter().take(self.sent).filter(|(_, call)| call.is_some()).count();
        self.waiting.retain(|(_, call)| call.is_some());
    }

    /// The call of an id, if it waits.
    pub fn get(&mut self, id: u64) -> Option<&mut Call<C>> {
        let at = self.place(id)?;
        self.waiting.get_mut(at)?.1.as_mut()
    }

    /// The same, to look at.
    pub fn find(&self, id: u64) -> Option<&Call<C>> {
        self.waiting.get(self.place(id)?)?.1.as_ref()
    }

    /// Where the call of an id is, or was.
    #[inline]
    fn place(&self, id: u64) -> Option<usize> {
        let distance = id.checked_sub(self.waiting.front()?.0)?;
        let guess = usize::try_from(distance).ok()?;
        match self.waiting.get(guess) {
            Some((found, _)) if *found == id => Some(guess),
            _ => self.waiting.binary_search_by_key(&id, |(found, _)| *found).ok(),
        }
    }

    /// Takes the call of an id out: it was answered.
    pub fn take(&mut self, id: u64) -> Option<Call<C>> {
        self.take_if(id, |_| true)
    }

    /// The same if `wanted` says so of the call.
    #[inline]
    pub fn take_if(&mut self, id: u64, wanted: impl FnOnce(&Call<C>) -> bool) -> Option<Call<C>> {
        let at = self.place(id)?;
        let found = &mut self.waiting.get_mut(at)?.1;
        if !found.as_ref().is_some_and(wanted) {
            return None;
        }
        let call = found.take();
        self.live -= 1;
        while self.waiting.front().is_some_and(|(_, call)| call.is_none()) {
            self.waiting.pop_front();
            self.sent = self.sent.saturating_sub(1);
        }
        if self.waiting.is_empty() {
            // The next call gets the first place again, which is in the processor's caches.
            self.waiting.clear();
        }
        call
    }

    /// The kernel has accepted the last byte of every call that ends before `through`; `at` is the clock just before it accepted the new
    /// bytes.
    pub fn sent(&mut self, through: u64, at: i64) {
        while let Some((_, call)) = self.waiting.get_mut(self.sent) {
            if let Some(call) = call {
                if call.ends > through {
                    break;
                }
                let first = call.sent.map_or(at, |(began, _)| began);
                call.sent = Some((first, at));
            }
            self.sent += 1;
        }
        // The beginning of these went out, their end did not.
        let unsent = self.waiting.iter_mut().skip(self.sent).filter_map(|(_, call)| call.as_mut());
        for call in unsent.take_while(|call| call.begins < through) {
            call.sent.get_or_insert((at, i64::MAX));
        }
    }

    /// Takes out every call that `which` chooses.
    pub fn take_where(&mut self, mut which: impl FnMut(&Call<C>) -> bool) -> Vec<Call<C>> {
        let ids: Vec<u64> = self.iter().filter(|call| which(call)).map(|call| call.id).collect();
        ids.into_iter().filter_map(|id| self.take(id)).collect()
    }

    /// Those that wait, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Call<C>> {
        self.waiting.iter().filter_map(|(_, call)| call.as_ref())
    }

    /// The id of the call that waits longest.
    pub fn oldest(&self) -> Option<u64> {
        self.iter().next().map(|call| call.id)
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.live
    }

    /// None waits.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }
}

impl<C> Call<C> {
    /// How much of its data the server wrote, by its answer. A server that says more than it got is not believed.
    pub(crate) fn wrote(&self, count: u32) -> Option<u64> {
        Some(u64::from(count)).filter(|count| self.payload_bytes.is_some_and(|sent| *count <= sent))
    }

    /// The finished transaction.
    pub fn transaction(&self, identity: &Identity, ending: &Ending) -> Transaction {
        let (request_first, request_last) = match self.sent {
            Some((first, last)) => (Some(first), (last != i64::MAX).then_some(last)),
            None => (None, None),
        };
        let timeline = Timeline {
            intended: self.intended,
            request_first,
            request_last,
            interim: self.interim,
            response_first: ending.answered.map(|(first, _)| first),
            response_last: ending.answered.map(|(_, last)| last),
        };
        Transaction {
            procedure: self.procedure,
            client: identity.client,
            server: identity.server,
            connection: identity.connection,
            session: self.session,
            share: identity.share,
            path: self.path,
            user: identity.user,
            id: Some(self.id),
            compound_position: self.compound_position,
            status: ending.status,
            outcome: ending.outcome.with_status(self.procedure, ending.status),
            payload_bytes: ending.payload_bytes.or(self.payload_bytes),
            request_bytes: Some(u64::from(self.request_bytes)),
            response_bytes: ending.response_bytes,
            request_packets: 0,
            response_packets: None,
            timeline,
            frames: Frames::default(),
            vantage: Vantage::Client,
            level: None,
            long_lived: self.long_lived,
            counted: true,
            resent_wait_ns: None,
            asked: Asked { file: self.asked.file.map(|file| file.on(identity.server.ip)), ..self.asked },
            client_index: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Protocol;

    fn call(id: u64, stream: std::ops::Range<u64>) -> Call<()> {
        Call {
            id,
            procedure: Procedure::of(Protocol::Smb2, 0),
            compound_position: None,
            intended: None,
            path: Symbol::NONE,
            asked: Asked::default(),
            session: None,
            request_bytes: 10,
            payload_bytes: None,
            begins: stream.start,
            ends: stream.end,
            sent: None,
            interim: None,
            long_lived: false,
            context: (),
        }
    }

    #[test]
    fn a_call_is_sent_from_its_first_byte_to_its_last() {
        let mut calls = Calls::default();
        calls.add(call(1, 0..20));
        // Two members of one message.
        calls.add(call(2, 20..60));
        calls.add(call(3, 20..60));
        calls.add(call(9, 60..70));
        calls.sent(21, 100);
        let sent = |calls: &Calls<()>| calls.iter().map(|call| call.sent).collect::<Vec<_>>();
        assert_eq!(sent(&calls), [Some((100, 100)), Some((100, i64::MAX)), Some((100, i64::MAX)), None]);
        calls.sent(59, 200);
        calls.sent(70, 300);
        assert_eq!(sent(&calls), [Some((100, 100)), Some((100, 300)), Some((100, 300)), Some((300, 300))]);
    }

    #[test]
    fn a_call_that_waits_for_long_does_not_keep_the_places_of_others() {
        let mut calls = Calls::default();
        calls.add(call(1, 0..1));
        for id in 2..20_000 {
            calls.add(call(id, id..id + 1));
            if id % 2 == 0 {
                calls.sent(id + 1, 5);
            }
            assert!(calls.take(id).is_some(), "{id}");
            assert!(calls.waiting.len() <= SPARE + 4, "{} places", calls.waiting.len());
        }
        calls.add(call(20_000, 20_000..20_010));
        assert_eq!(calls.len(), 2);
        assert!(calls.find(20_000).is_some_and(|call| call.sent.is_none()), "nothing of the last one was sent");
        calls.sent(20_010, 9);
        assert_eq!(calls.take(20_000).and_then(|call| call.sent), Some((9, 9)));
        assert_eq!(calls.take(1).and_then(|call| call.sent), Some((5, 5)));
        assert!(calls.is_empty());
    }

    #[test]
    fn answers_come_in_any_order() {
        let mut calls = Calls::default();
        (0..4).for_each(|n| calls.add(call(1 + 3 * n, 0..1)));
        assert!(calls.take(2).is_none() && calls.take(11).is_none());
        assert_eq!(calls.take(7).map(|call| call.id), Some(7));
        assert!(calls.take(7).is_none() && calls.find(7).is_none() && calls.find(10).is_some());
        assert_eq!(calls.take(1).map(|call| call.id), Some(1));
        assert_eq!((calls.len(), calls.take_where(|call| call.id > 4).len(), calls.len()), (2, 1, 1));
        assert_eq!(calls.iter().map(|call| call.id).collect::<Vec<_>>(), [4]);
        calls.add(call(20, 0..1));
        calls.sent(1, 5);
        assert!(calls.iter().all(|call| call.sent == Some((5, 5))));
    }
}
