//! The further connections of a session: made when the session is up, bound to it by its client, reconnected when they are lost.
//!
//! The client of a session is at the place of its first connection, and lives as long as any of them: if the first connection is lost,
//! another one changes places with it.

use std::net::SocketAddr;

use plimsoll_client::operation::{Cause, Done};
use plimsoll_client::{Inbox, NewChannel};
use plimsoll_model::{Endpoint, Sink};

use super::super::connection::{Connection, ConnectionState};
use super::super::generator::Bindings;
use super::super::timers::Timer;
use super::Worker;
use crate::network::{ConnectionKey, Network};

/// How long a server may take for the first attempt of a binding, ns; doubled with each further one. On loopback Samba takes some
/// milliseconds. But its processes may drop a connection without closing it while one passes it to another (4.17).
const BINDING_NS: u64 = 3_000_000_000;
/// Doublings, at most.
const DOUBLINGS: u32 = 16;

impl<S: Sink, N: Network> Worker<'_, S, N> {
    /// The places of the further channels of a session.
    fn channels_of(&self, home: u32) -> std::ops::Range<u32> {
        let others = self.job.plan.channels.saturating_sub(1);
        let first = self.sessions + home * others;
        first..first + others
    }

    /// The place of a connection, as the network calls it.
    #[inline]
    pub(super) fn place_of(&self, key: ConnectionKey) -> u32 {
        self.places.get(key.0 as usize).copied().unwrap_or(key.0)
    }

    fn state_of(&self, at: u32) -> Option<ConnectionState> {
        self.connections.get(at as usize).map(|connection| connection.state)
    }

    /// Notes the further connections of a client that have something to send.
    pub(super) fn note_dirty_channels(&mut self, home: u32) {
        let places = self.channels_of(home);
        let Some((first, others)) = self.connections.split_at_mut_checked(self.sessions as usize) else { return };
        let Some(first) = first.get(home as usize) else { return };
        for channel in first.out.waiting_channels() {
            let at = places.start + channel - 1;
            let other = others.get_mut((at - self.sessions) as usize).filter(|_| places.contains(&at));
            if let Some(other) = other.filter(|other| !other.dirty) {
                other.dirty = true;
                self.dirty.push(at);
            }
        }
    }

    /// Where a connection is to be made to; an error where it is one of a session that is not there.
    pub(super) fn channel_target(&self, at: u32) -> Result<Option<SocketAddr>, ()> {
        let Some(connection) = self.connections.get(at as usize).filter(|_| at >= self.sessions) else {
            return Ok(self.address_of(at));
        };
        let home = self.connections.get(connection.home as usize).filter(|home| home.state == ConnectionState::Up);
        let client = home.and_then(|home| home.client.as_ref()).ok_or(())?;
        let given = client.channel_address(connection.channel, connection.failed);
        Ok(given.or_else(|| self.address_of(connection.home)))
    }

    /// The server of the session at this place.
    fn address_of(&self, home: u32) -> Option<SocketAddr> {
        let (client_index, _) = self.partition.owner(home);
        self.address.and_then(|_| self.job.setup.server().address_of(client_index))
    }

    /// The session is up: queues its further connections.
    pub(super) fn queue_channels(&mut self, home: u32) {
        for at in self.channels_of(home) {
            let Some(connection) = self.connections.get_mut(at as usize) else { continue };
            if connection.state == ConnectionState::Waiting {
                connection.failed = 0;
                self.queue.push_back(at);
            }
        }
    }

    /// A further connection is up: its client binds it to the session.
    pub(super) fn channel_connected(&mut self, at: u32, client: Endpoint, server: Endpoint) {
        let number = self.job.coordinator.next_connection();
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        connection.made += 1;
        connection.enter(ConnectionState::LoggingOn);
        (connection.inbox, connection.full_since) = (Inbox::of(connection.channel), None);
        let new = NewChannel { channel: connection.channel, connection: number, client, server };
        let (home, now, epoch, failed) = (connection.home, self.now, connection.epoch, connection.failed);
        let patience = BINDING_NS.saturating_mul(1 << failed.min(DOUBLINGS)).min(self.job.plan.timeout_ns);
        let patience = i64::try_from(patience).unwrap_or(i64::MAX);
        self.timers.push(now.saturating_add(patience), Timer::Deadline(at, epoch));
        self.with_client(home, |client, out, accounting| client.channel_opened(&new, now, out, accounting));
    }

    /// A further connection was bound, or could not be.
    #[cold]
    pub(super) fn channel_bound(&mut self, home: u32, channel: u32, done: &Done) {
        let at = self.channels_of(home).start + channel - 1;
        if !self.channels_of(home).contains(&at) || self.state_of(at) != Some(ConnectionState::LoggingOn) {
            return;
        }
        if let Err(failure) = &done.result {
            return self.on_connect_failure(at, failure.clone());
        }
        self.now = self.now.max(done.at);
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        connection.enter(ConnectionState::Up);
        (connection.failed, connection.up_since) = (0, self.now);
        self.unsettled -= u32::from(!std::mem::replace(&mut connection.settled, true));
        self.busy -= 1;
    }

    /// The first connection of a session is lost. Whether the session lives on: another one takes its place.
    pub(super) fn survives(&mut self, home: u32, cause: Cause) -> bool {
        if self.job.plan.channels == 1 {
            return false;
        }
        let Some(connection) = self.connections.get_mut(home as usize) else { return false };
        let Some(client) = &mut connection.client else { return false };
        let Some(number) = client.replace_first_channel(&mut connection.out) else { return false };
        let at = self.channels_of(home).start + number - 1;
        let Ok([first, other]) = self.connections.get_disjoint_mut([home as usize, at as usize]) else { return false };
        std::mem::swap(&mut first.key, &mut other.key);
        std::mem::swap(&mut first.to, &mut other.to);
        std::mem::swap(&mut first.full_since, &mut other.full_since);
        std::mem::swap(&mut first.several, &mut other.several);
        std::mem::swap(&mut first.answers, &mut other.answers);
        std::mem::swap(&mut first.tapped, &mut other.tapped);
        let inbox = std::mem::take(&mut first.inbox);
        first.inbox = std::mem::take(&mut other.inbox).moved_to(first.channel);
        other.inbox = inbox.moved_to(other.channel);
        for (key, place) in [(first.key, home), (other.key, at)] {
            if let Some(found) = self.places.get_mut(key.0 as usize) {
                *found = place;
            }
        }
        self.fail_channel(at, cause, true);
        self.note_dirty(home);
        true
    }

    /// A further connection was lost, or could not be made: tries again later, or gives it up.
    pub(super) fn fail_channel(&mut self, at: u32, cause: Cause, was_up: bool) {
        self.generator.channels_lost += u64::from(was_up);
        let was_binding = self.state_of(at) == Some(ConnectionState::LoggingOn);
        self.close_channel(at, cause, ConnectionState::Waiting, true);
        let policy = self.job.plan.reconnect;
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        connection.failed += 1;
        let (failed, home, settled) = (connection.failed, connection.home, connection.settled);
        if !(cause.is_final() || failed > policy.attempts) {
            if self.connects() {
                self.generator.bindings_repeated += u64::from(was_binding);
                let wait = i64::try_from(policy.wait_ns(failed)).unwrap_or(i64::MAX);
                self.timers.push(self.now.saturating_add(wait), Timer::Retry(at));
            }
            return;
        }
        if !settled && self.state_of(home) == Some(ConnectionState::Up) {
            // The plan asks for a session with all its connections, so a session with fewer counts as down.
            self.one_less_up(home);
            return self.fail(home, cause, false);
        }
        if let Some(connection) = self.connections.get_mut(at as usize) {
            connection.enter(ConnectionState::Closed);
            self.unsettled -= u32::from(!std::mem::replace(&mut connection.settled, true));
        }
        if self.connects() {
            self.count_given_up(at, home, cause, was_up);
        }
    }

    /// Counts a channel without which a session continues the load. No action fails, so no other count would show it.
    fn count_given_up(&mut self, at: u32, home: u32, cause: Cause, was_up: bool) {
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        if !std::mem::replace(&mut connection.given_up, true) {
            self.generator.give_up_channels(cause, 1);
        }
        let first = self.partition.clients_of(home).start as usize;
        self.accounting.connection_failed(first, cause, (was_up, true), self.now);
    }

    /// Closes a further connection; its client continues on the others, informed if `told`.
    fn close_channel(&mut self, at: u32, cause: Cause, next: ConnectionState, told: bool) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(at as usize) else { return };
        let was_open = connection.state != ConnectionState::Waiting && connection.state != ConnectionState::Closed;
        let (home, channel) = (connection.home, connection.channel);
        if told && was_open {
            self.with_client(home, |client, out, accounting| client.channel_lost(channel, now, out, accounting));
        }
        self.disconnect(at, cause, next);
    }

    /// The session is over, and with it all of its connections.
    pub(super) fn close_channels(&mut self, home: u32, cause: Cause, next: ConnectionState) {
        for at in self.channels_of(home) {
            let making = matches!(self.state_of(at), Some(ConnectionState::Opening | ConnectionState::LoggingOn));
            self.busy -= u32::from(making);
            if self.state_of(at) != Some(ConnectionState::Closed) || next == ConnectionState::Waiting {
                self.close_channel(at, cause, next, false);
            }
        }
    }

    /// No further logon will happen.
    pub(super) fn give_up_channels(&mut self, home: u32) {
        for at in self.channels_of(home) {
            let Some(connection) = self.connections.get_mut(at as usize) else { continue };
            connection.enter(ConnectionState::Closed);
            self.unsettled -= u32::from(!std::mem::replace(&mut connection.settled, true));
        }
    }

    /// Connections of sessions that are up, and those of them that are not bound yet.
    pub(super) fn bindings(&self) -> Bindings {
        let channels = self.connections.get(self.sessions as usize..).unwrap_or_default();
        let is_up = |connection: &&Connection| self.state_of(connection.home) == Some(ConnectionState::Up);
        let of_sessions = || channels.iter().filter(is_up);
        let first = (0..self.sessions).filter(|home| self.state_of(*home) == Some(ConnectionState::Up)).count();
        let unbound = of_sessions().filter(|connection| connection.state != ConnectionState::Up).count();
        Bindings { channels: (first + of_sessions().count()) as u64, unbound: unbound as u64 }
    }

    /// The run is over: connections that are being made are not needed any more.
    pub(super) fn stop_binding(&mut self) {
        for at in self.sessions..self.connections.len() as u32 {
            match self.state_of(at) {
                Some(ConnectionState::Opening | ConnectionState::LoggingOn) => {
                    self.busy -= 1;
                    self.close_channel(at, Cause::Ended, ConnectionState::Closed, true);
                }
                Some(ConnectionState::Waiting) => self.close_channel(at, Cause::Ended, ConnectionState::Closed, true),
                _ => {}
            }
        }
    }
}
