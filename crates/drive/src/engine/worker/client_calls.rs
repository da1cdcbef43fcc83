//! Calls of a connection's client, and what they leave to do: bytes to send, a wake-up time.

use plimsoll_client::Client;
use plimsoll_client::outbox::Outbox;
use plimsoll_model::Sink;

use super::super::timers::Timer;
use super::Worker;
use crate::network::Network;
use crate::simulated_client::accounting::Accounting;

impl<S: Sink, N: Network> Worker<'_, S, N> {
    /// Calls the client of a connection, and notes if it has something to send.
    pub(super) fn with_client(
        &mut self,
        at: u32,
        call: impl FnOnce(&mut dyn Client, &mut Outbox, &mut Accounting<'_, S>),
    ) {
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        let Some(client) = &mut connection.client else { return };
        self.accounting.caller = at;
        call(client.as_mut(), &mut connection.out, &mut self.accounting);
        self.note_dirty(at);
        self.arm(at);
    }

    /// Notes the connections of a client that have something to send.
    #[inline]
    pub(super) fn note_dirty(&mut self, at: u32) {
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        if !connection.dirty && !connection.out.is_empty() {
            connection.dirty = true;
            self.dirty.push(at);
        }
        if self.job.plan.channels > 1 {
            self.note_dirty_channels(at);
        }
    }

    /// Sets the timer for a client's next wake-up. Earlier timers are recognised as obsolete when they fire.
    pub(super) fn arm(&mut self, at: u32) {
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        let wakes_at = connection.client.as_ref().map_or(i64::MAX, |client| client.wakes_at());
        if wakes_at < connection.wakes_at {
            connection.wakes_at = wakes_at;
            self.timers.push(wakes_at, Timer::Wake(at));
        }
    }

    /// The client of a connection may want to do something by itself.
    #[cold]
    pub(super) fn wake(&mut self, at: u32) {
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        connection.wakes_at = i64::MAX;
        if connection.alive() {
            let now = self.now;
            self.with_client(at, |client, out, accounting| client.wake(now, out, accounting));
        }
    }
}
