//! The requests that wait for a response while the capture goes on, for live views.

use std::collections::HashMap;

use plimsoll_model::{Endpoint, Names, Sink, Transaction, Unfinished};

use super::Observer;
use super::connections::IDLE_NS;
use crate::connection::Connection;
use crate::pairing::smb2::Smb2Shared;
use crate::pairing::{ConnectionContext, Pending, UnfinishedOnes, waiting};
use crate::stream::Connections;

/// So long the packets of one tick of a coarse clock may take to come, ns.
const TIED_NS: i64 = 1_000_000_000;

impl<S: Sink> Observer<S> {
    /// Passes each request that waits for a response at `now_ns` to `take`, as a transaction without a response. Requests that wait by
    /// design (CHANGE_NOTIFY, blocking locks) are not among them, nor are those whose response the capture may have lost or cannot
    /// contain (UDP, connections with only one captured direction). A client without a packet for `IDLE_NS` does not wait any more:
    /// clients that do keep their connection alive.
    ///
    /// Packets from before `since_ns` may be missing: an earlier request is among these only if its client sent a packet since, which
    /// acknowledges no response that the capture lacks.
    pub fn waiting(&mut self, (since_ns, now_ns): (i64, i64), mut take: impl FnMut(&mut S, &Names, &Transaction)) {
        self.take_last(now_ns);
        let output = &mut self.shared.output;
        each(&self.connections, &self.shared.smb2, (since_ns, now_ns), |context, request| {
            if let Some(transaction) = waiting(context, request) {
                take(&mut output.sink, &output.names, &transaction);
            }
        });
    }

    /// The same, as a capture that ended now would list them.
    pub fn unfinished(&mut self, now_ns: i64) -> Vec<Unfinished> {
        self.take_last(now_ns);
        let mut all = UnfinishedOnes::default();
        // The report knows when packets may be missing.
        let times = (i64::MIN, now_ns);
        let output = &self.shared.output;
        each(&self.connections, &self.shared.smb2, times, |context, request| {
            all.unanswered(context, request, output.held_until(context, request));
        });
        all.finish(now_ns, &output.last_responses)
    }

    /// Takes the last packets, if they wait for others of the same time: after [`TIED_NS`] none comes any more. One of them may show that a
    /// response is missing.
    fn take_last(&mut self, now_ns: i64) {
        if self.ties.are_before(now_ns.saturating_sub(TIED_NS)) {
            self.release_all();
        }
    }

    /// When each server last sent a response, ns, in the order of their addresses; `None` if there are too many servers.
    pub fn last_responses(&self) -> Option<Vec<(Endpoint, i64)>> {
        self.shared.output.last_responses.all()
    }

    /// The time of the latest packet, ns since the Unix epoch, without packets whose time is damaged.
    #[inline]
    pub fn time_ns(&self) -> Option<i64> {
        self.gate.last_ns()
    }

    /// The capture went on until this time, with or without packets, ns since the Unix epoch. To be called before [`Observer::finish`]:
    /// requests without a response waited until then.
    pub fn captured_until(&mut self, ns: i64) {
        self.until_ns = Some(ns);
    }
}

fn each(
    connections: &Connections<Connection>,
    smb2: &Smb2Shared,
    (since_ns, now_ns): (i64, i64),
    mut take: impl FnMut(&ConnectionContext, &Pending),
) {
    let alive_ns = now_ns.saturating_sub(IDLE_NS);
    let mut contexts = HashMap::new();
    let mut take = |(context, is_current): &(ConnectionContext, [bool; 2]), request: &Pending| {
        if request.first.time_ns >= since_ns || is_current[usize::from(request.direction)] {
            take(context, request);
        }
    };
    for connection in connections.unpacked().filter(|connection| connection.is_alive(alive_ns)) {
        let context = (connection.context_at_the_end(), connection.has_packet_since(since_ns));
        connection.paired.pairing.waiting(|request| take(&context, request));
        contexts.insert(context.0.connection, context);
    }
    // Their connections know the losses since the interim answer.
    smb2.waiting(|then, request| {
        if let Some(context) = contexts.get(&then.connection) {
            take(context, request);
        }
    });
}
