//! Connections: made, lost, made again, left.

use std::net::SocketAddr;

use plimsoll_client::operation::{Cause, Done, Failure};
use plimsoll_client::{Inbox, Outbox};
use plimsoll_model::{Endpoint, Sink};

use super::super::ConnectionInfo;
use super::super::Phase;
use super::super::connection::ConnectionState;
use super::super::timers::Timer;
use super::Worker;
use super::cause::cause_of;
use crate::network::Network;
use crate::simulated_client::slot::State;
use crate::tap::Ended;

/// Between attempts to go on after a loss, ns: as exact as an outage is stated.
const RETRY_NS: i64 = 10_000_000;
/// Minimum interval of reconnections per connection of a worker, ns: a restarting server is not flooded with attempts.
const RETRY_EACH_NS: i64 = 2_000_000;

impl<S: Sink, N: Network> Worker<'_, S, N> {
    /// Begins to make (or to leave) connections, as many as may be at a time.
    pub(super) fn connect_more(&mut self) {
        while self.busy < self.most_busy
            && let Some(connection) = self.queue.pop_front()
        {
            match self.connections.get(connection as usize).map(|connection| connection.state) {
                Some(ConnectionState::Waiting) if self.connects() || self.rejoins(connection) => self.open(connection),
                Some(ConnectionState::Up) if !self.connects() && connection < self.sessions => self.leave(connection),
                _ => {}
            }
        }
    }

    #[cold]
    fn open(&mut self, at: u32) {
        let to = match self.channel_target(at) {
            Ok(to) => to,
            // Without its session there is nothing to bind it to; it is made when there is one.
            Err(()) => return,
        };
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        connection.enter(ConnectionState::Opening);
        connection.to = to;
        let (epoch, key) = (connection.epoch, connection.key);
        self.busy += 1;
        let Some(to) = to else {
            return self.on_connected(at, Endpoint::NOWHERE, Endpoint::NOWHERE);
        };
        match self.net.connect(key, to) {
            Ok(()) => self.timers.push(self.patience(), Timer::Deadline(at, epoch)),
            Err(error) => self.on_connect_failure(at, Failure::without_answer(cause_of(&error))),
        }
    }

    /// When the patience with something that begins now is over.
    fn patience(&self) -> i64 {
        self.now.saturating_add(i64::try_from(self.job.plan.timeout_ns).unwrap_or(i64::MAX))
    }

    /// The socket is writable: there is room, or the connection was made, or it failed.
    #[inline(never)]
    pub(super) fn writable(&mut self, at: u32) {
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        let (key, to) = (connection.key, connection.to);
        if connection.state == ConnectionState::Opening {
            self.now = self.net.now();
            match (self.net.local(key), to) {
                (Ok(local), Some(to)) => match self.net.want_writable(key, false) {
                    Ok(()) => {
                        if let (Some(connection), Some(tap)) =
                            (self.connections.get_mut(at as usize), &self.job.plan.tap)
                        {
                            connection.tapped = Some(tap.opened(self.now, local, to));
                        }
                        self.on_connected(at, endpoint(local), endpoint(to));
                    }
                    Err(error) => self.on_connect_failure(at, Failure::without_answer(cause_of(&error))),
                },
                (Err(error), _) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                (Err(error), _) => self.on_connect_failure(at, Failure::without_answer(cause_of(&error))),
                (Ok(_), None) => {}
            }
        } else if connection.full_since.take().is_some() {
            match self.net.want_writable(key, false) {
                Ok(()) => self.flush(at),
                Err(error) => self.lose(at, cause_of(&error)),
            }
        }
    }

    /// The connection was made: creates its client, which logs on.
    fn on_connected(&mut self, at: u32, client: Endpoint, server: Endpoint) {
        if at >= self.sessions {
            return self.channel_connected(at, client, server);
        }
        let (client_index, connection_index) = self.partition.owner(at);
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        let number =
            if connection.made == 0 { self.partition.number(at) } else { self.job.coordinator.next_connection() };
        let info = ConnectionInfo {
            client_index,
            connection_index,
            connections: self.job.plan.connections,
            channels: self.job.plan.channels,
            connection: number,
            generation: connection.made,
            client,
            server,
        };
        connection.made += 1;
        // The deadline of the connecting holds for the logging on, too: the life stays the same.
        connection.state = ConnectionState::LoggingOn;
        (connection.out, connection.inbox, connection.full_since) = (Outbox::new(), Inbox::of(0), None);
        let now = self.now;
        if connection.suspended.is_some() {
            return self.with_client(at, |it, out, accounting| it.resume(client, number, now, out, accounting));
        }
        connection.client = Some(self.job.setup.server().client(&info));
        self.with_client(at, |client, out, accounting| client.connect(now, out, accounting));
    }

    /// A client has logged on, or could not.
    #[cold]
    pub(super) fn logged_on(&mut self, at: u32, done: &Done) {
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        if connection.state != ConnectionState::LoggingOn {
            return;
        }
        if let Err(failure) = &done.result {
            return self.on_connect_failure(at, failure.clone());
        }
        self.now = self.now.max(done.at);
        connection.enter(ConnectionState::Up);
        (connection.failed, connection.up_since) = (0, self.now);
        let (again, resumed) = (connection.made > 1, connection.suspended.take().is_some());
        self.unsettled -= u32::from(!std::mem::replace(&mut connection.settled, true));
        self.busy -= 1;
        self.queue_channels(at);
        for client_index in self.partition.clients_of(at) {
            let Some(up) = self.up.get_mut(client_index as usize) else { continue };
            *up += 1;
            self.job.watch.connected(u32::from(*up == 1), 0);
            if let Some(tally) = self.accounting.tallies.get_mut(client_index as usize) {
                tally.reconnects += u64::from(again);
            }
        }
        for slot in self.partition.slots_of(at) {
            if let Some(scenario) = self.accounting.slots.get_mut(slot).and_then(|slot| slot.scenario.as_mut())
                && again
                && !resumed
            {
                scenario.reconnected();
            }
            match self.accounting.state(slot) {
                State::Held(since) => self.advance(slot, since),
                State::Idle(_, true) => self.accounting.set(slot, State::Idle(self.now, true)),
                State::Idle(_, false) => self.wait_for_iteration(slot, self.now),
                _ => {}
            }
        }
    }

    /// A connection could not be made, or its client could not log on.
    pub(super) fn on_connect_failure(&mut self, at: u32, failure: Failure) {
        self.busy -= 1;
        let cause = failure.cause;
        let account = self.refused_account(at, cause);
        self.job.coordinator.on_connect_failure(self.now, failure, account);
        self.fail(at, cause, false);
    }

    /// A connection that was there is lost.
    #[cold]
    pub(super) fn lose(&mut self, at: u32, cause: Cause) {
        let Some(state) = self.connections.get(at as usize).map(|connection| connection.state) else { return };
        match state {
            ConnectionState::Opening | ConnectionState::LoggingOn => {
                self.on_connect_failure(at, Failure::without_answer(cause))
            }
            ConnectionState::Up if at >= self.sessions => self.fail_channel(at, cause, true),
            ConnectionState::Up if self.survives(at, cause) => {}
            ConnectionState::Up => {
                self.one_less_up(at);
                self.fail(at, cause, true);
            }
            ConnectionState::Leaving => {
                self.busy -= 1;
                self.one_less_up(at);
                self.close(at, cause, ConnectionState::Closed);
            }
            ConnectionState::Waiting | ConnectionState::Closed => {}
        }
    }

    pub(super) fn one_less_up(&mut self, at: u32) {
        for client_index in self.partition.clients_of(at) {
            let Some(up) = self.up.get_mut(client_index as usize) else { continue };
            *up -= 1;
            self.job.watch.connected(0, u32::from(*up == 0));
        }
    }

    /// Counts the failure of a connection, which was up or could not be made, and tries again later or gives it up.
    pub(super) fn fail(&mut self, at: u32, cause: Cause, was_up: bool) {
        if at >= self.sessions {
            return self.fail_channel(at, cause, was_up);
        }
        let first = self.partition.clients_of(at).start as usize;
        let policy = self.job.plan.reconnect;
        if !was_up {
            self.accounting.attempt_failed(at, self.now);
            self.name_account(at, first, cause);
        } else if let Some(connection) = self.connections.get_mut(at as usize) {
            connection.lost_at = self.now;
        }
        let kept = self.suspend(at);
        // Failed attempts to resume are not counted: the suspended operations succeed or fail themselves.
        if was_up || !kept {
            self.accounting.connection_failed(first, cause, (was_up, kept), self.now);
        }
        if kept {
            return self.retry_suspended(at, cause);
        }
        self.close(at, cause, ConnectionState::Waiting);
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        connection.failed += 1;
        let failed = connection.failed;
        let too_slow = cause == Cause::TimedOut && !policy.after_timeout;
        if cause.is_final() || too_slow || failed > policy.attempts {
            self.give_up(at);
        } else if self.connects() {
            let wait = i64::try_from(policy.wait_ns(failed)).unwrap_or(i64::MAX);
            self.timers.push(self.now.saturating_add(wait), Timer::Retry(at));
        }
    }

    /// The account of a connection whose logon or share was refused, if there are several accounts.
    fn refused_account(&self, at: u32, cause: Cause) -> Option<String> {
        let refused = matches!(cause, Cause::LogonRefused | Cause::ShareRefused);
        let connection = self.connections.get(at as usize).filter(|_| refused)?;
        let (client_index, _) = self.partition.owner(connection.home);
        self.job.setup.server().account_of(client_index)
    }

    /// Notes the account of one of our clients if it was refused.
    fn name_account(&mut self, at: u32, client_index: usize, cause: Cause) {
        let account = self.refused_account(at, cause);
        if let Some(tally) = self.accounting.tallies.get_mut(client_index).filter(|_| account.is_some()) {
            tally.refused_account = account;
        }
    }

    /// Whether the client of a connection that failed keeps its operations, and may have another connection.
    fn suspend(&mut self, at: u32) -> bool {
        let (now, policy) = (self.now, self.job.plan.reconnect);
        let Some(connection) = self.connections.get_mut(at as usize) else { return false };
        let since = connection.suspended.unwrap_or(now);
        let patient = now.saturating_sub(since) < i64::try_from(policy.patience_ns()).unwrap_or(i64::MAX);
        if !patient || matches!(self.phase, Phase::Leaving) || self.gave_up {
            connection.suspended = None;
            return false;
        }
        let mut kept = false;
        self.with_client(at, |client, _, accounting| kept = client.suspend(now, accounting));
        if let Some(connection) = self.connections.get_mut(at as usize) {
            connection.suspended = kept.then_some(since);
        }
        kept
    }

    /// Tries soon again: the outage lasts until the first attempt that succeeds.
    fn retry_suspended(&mut self, at: u32, cause: Cause) {
        self.disconnect(at, cause, ConnectionState::Waiting);
        let all = i64::try_from(self.connections.len()).unwrap_or(i64::MAX);
        let wait = all.saturating_mul(RETRY_EACH_NS).max(RETRY_NS);
        self.timers.push(self.now.saturating_add(wait), Timer::Retry(at));
    }

    /// Whether a client waits for a connection to finish outstanding operations.
    fn rejoins(&self, at: u32) -> bool {
        let suspended = self.connections.get(at as usize).is_some_and(|connection| connection.suspended.is_some());
        suspended && self.phase == Phase::Drain && !self.gave_up
    }

    /// Closes a connection; its client ends everything that is outstanding with `cause`.
    pub(super) fn close(&mut self, at: u32, cause: Cause, next: ConnectionState) {
        let now = self.now;
        self.with_client(at, |client, _, accounting| client.broken(now, cause, accounting));
        self.end_all(at, cause);
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        connection.suspended = None;
        if let Some(client) = connection.client.take() {
            self.generator.unmatched_responses += if self.gave_up { 0 } else { client.unmatched_responses() };
            self.generator.requests_avoided += client.requests_avoided();
            self.generator.sent_again += client.sent_again();
        }
        self.disconnect(at, cause, next);
        if self.job.plan.channels > 1 {
            self.close_channels(at, cause, next);
        }
    }

    /// Closes a connection without its client.
    pub(super) fn disconnect(&mut self, at: u32, cause: Cause, next: ConnectionState) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        let was_open = connection.state != ConnectionState::Waiting && connection.state != ConnectionState::Closed;
        connection.enter(next);
        if let (Some(stream), Some(tap)) = (connection.tapped.take(), &self.job.plan.tap) {
            let ended = match cause {
                Cause::ConnectionReset => Ended::Reset,
                Cause::ConnectionClosed => Ended::ByServer,
                _ => Ended::ByClient,
            };
            tap.closed(stream, now, ended);
        }
        (connection.out, connection.inbox, connection.full_since) =
            (Outbox::new(), Inbox::of(connection.channel), None);
        let key = connection.key;
        if was_open && self.address.is_some() {
            self.net.close(key);
        }
    }

    /// Connecting, logging on or leaving has taken too long.
    #[cold]
    pub(super) fn too_long(&mut self, at: u32, epoch: u32) {
        let Some(connection) = self.connections.get(at as usize).filter(|connection| connection.epoch == epoch) else {
            return;
        };
        match connection.state {
            ConnectionState::Opening | ConnectionState::LoggingOn => {
                self.on_connect_failure(at, Failure::without_answer(Cause::TimedOut))
            }
            ConnectionState::Leaving => {
                self.generator.left_rudely += 1;
                self.left(at);
            }
            ConnectionState::Waiting | ConnectionState::Up | ConnectionState::Closed => {}
        }
    }

    #[cold]
    fn leave(&mut self, at: u32) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        connection.enter(ConnectionState::Leaving);
        let epoch = connection.epoch;
        self.timers.push(self.patience(), Timer::Deadline(at, epoch));
        self.busy += 1;
        self.with_client(at, |client, out, accounting| client.leave(now, out, accounting));
    }

    /// Queries the kernel for the round trips of connections that are up.
    pub(super) fn take_round_trips(&mut self) {
        for connection in &self.connections {
            if connection.state == ConnectionState::Up
                && let Some(found) = self.net.round_trip(connection.key)
            {
                self.generator.round_trips.add(found);
            }
        }
    }

    /// A client has logged off, or there was no time for it.
    #[cold]
    pub(super) fn left(&mut self, at: u32) {
        if self.connections.get(at as usize).is_some_and(|connection| connection.state == ConnectionState::Leaving) {
            self.busy -= 1;
            self.one_less_up(at);
            self.close(at, Cause::Ended, ConnectionState::Closed);
        }
    }
}

fn endpoint(address: SocketAddr) -> Endpoint {
    Endpoint { ip: address.ip(), port: address.port() }
}
