//! Several times per second a worker looks for a requested end and for overdue requests, and reports its progress.

use plimsoll_client::operation::Cause;
use plimsoll_model::Sink;

use super::{TICK_NS, Worker};
use crate::engine::Phase;
use crate::engine::connection::ConnectionState;
use crate::network::Network;

/// Maximum wait without work, ns. Timers this far ahead are rarely the processor's next one, which is expensive to set: with waits of up
/// to 10 ms an exchange took 39 µs, with 35 ms it took 35 (docs/performance.md).
const DOZE_NS: i64 = 4 * TICK_NS;
/// A requested end is this far in the future, so that all workers see it in time.
const NOTICE_NS: i64 = DOZE_NS + TICK_NS;
/// A thread without a tick for this time was kept from running, ns. With a short timeout, a quarter of the timeout is enough.
const STALL_NS: i64 = 1_000_000_000;

impl<S: Sink, N: Network> Worker<'_, S, N> {
    /// Several times per second: checks for a requested end, reports progress, looks for overdue requests.
    #[cold]
    pub(super) fn tick(&mut self) {
        let period = TICK_NS.min(eighth(self.job.plan.timeout_ns));
        self.next_tick = self.now + period;
        self.doze = self.now + DOZE_NS.min(eighth(self.job.plan.timeout_ns));
        let since = self.now.saturating_sub(self.ticked).max(period);
        self.ticked = self.now;
        let fresh = std::mem::take(&mut self.accounting.fresh);
        self.job.watch.add(fresh.iterations, fresh.actions, fresh.errors);
        if self.job.watch.stopped() && matches!(self.phase, Phase::WarmUp | Phase::Measured) && !self.stopped {
            self.stopped = true;
            self.job.coordinator.end_at(self.now + NOTICE_NS);
        }
        self.sweep(since);
        self.check_point();
    }

    /// Asks the next few clients for overdue requests, so that each is asked once in an eighth of the timeout. `since` is
    /// how long ago the last few were asked.
    fn sweep(&mut self, since: i64) {
        let timeout = i64::try_from(self.job.plan.timeout_ns).unwrap_or(i64::MAX);
        let rounds = (eighth(self.job.plan.timeout_ns) / since).max(1);
        let count = (self.connections.len() as u64).div_ceil(rounds as u64);
        let before = self.now - timeout;
        // Responses may have arrived in time, also on further channels of a client's session. So all connections are read first.
        if since > STALL_NS.min(timeout / 4) {
            self.read_arrived();
        }
        for _ in 0..count {
            let at = self.swept;
            self.swept = (at + 1) % (self.connections.len() as u32).max(1);
            let Some(connection) = self.connections.get_mut(at as usize) else { return };
            let is_up = matches!(connection.state, ConnectionState::Up | ConnectionState::Leaving);
            if !is_up && connection.suspended.is_none() {
                continue;
            }
            if connection.full_since.is_some_and(|since| since < before) {
                self.lose(at, Cause::TimedOut);
                continue;
            }
            if let Some(client) = &mut connection.client {
                self.accounting.caller = at;
                client.overdue(before, self.now, &mut self.accounting);
                // A timeout may have made room for a request that waits.
                self.arm(at);
                // No event follows if the client has given up its connection.
                self.lose_if_over(at);
            }
        }
    }
}

/// An eighth of a time, at least 1 ns.
fn eighth(ns: u64) -> i64 {
    i64::try_from(ns / 8).unwrap_or(i64::MAX).max(1)
}
