//! Connections: made, lost, made again, left.

use std::net::SocketAddr;

use plimsoll_client::operation::{Cause, Done, Failure};
use plimsoll_client::outbox::Outbox;
use plimsoll_model::{Endpoint, Sink};

use super::super::Birth;
use super::super::link::{Inbox, LinkState};
use super::super::timers::Timer;
use super::Worker;
use super::turns::cause_of;
use crate::network::{ConnectionKey, Network};
use crate::station::lane::State;
use crate::tap::Ended;

impl<S: Sink, N: Network> Worker<'_, S, N> {
    /// Begins to make (or to leave) connections, as many as may be at a time.
    pub(super) fn connect_more(&mut self) {
        while self.busy < self.most_busy
            && let Some(link) = self.queue.pop_front()
        {
            match self.links.get(link as usize).map(|link| link.state) {
                Some(LinkState::Waiting) if self.connects() => self.open(link),
                Some(LinkState::Up) if !self.connects() => self.leave(link),
                _ => {}
            }
        }
    }

    fn open(&mut self, at: u32) {
        let Some(link) = self.links.get_mut(at as usize) else { return };
        link.enter(LinkState::Opening);
        let life = link.life;
        self.busy += 1;
        let Some(to) = self.address else {
            return self.born(at, Endpoint::NOWHERE, Endpoint::NOWHERE);
        };
        match self.net.connect(ConnectionKey(at), to) {
            Ok(()) => self.timers.push(self.patience(), Timer::Deadline(at, life)),
            Err(error) => self.could_not_connect(at, Failure::without_answer(cause_of(&error))),
        }
    }

    /// When the patience with something that begins now is over.
    fn patience(&self) -> i64 {
        self.now.saturating_add(i64::try_from(self.job.plan.timeout_ns).unwrap_or(i64::MAX))
    }

    /// There is room to write, or the connection is there, or it could not be made.
    pub(super) fn writable(&mut self, at: u32) {
        let Some(link) = self.links.get_mut(at as usize) else { return };
        let key = ConnectionKey(at);
        if link.state == LinkState::Opening {
            self.now = self.net.now();
            match (self.net.local(key), self.address) {
                (Ok(local), Some(to)) => match self.net.want_writable(key, false) {
                    Ok(()) => {
                        if let (Some(link), Some(tap)) = (self.links.get_mut(at as usize), &self.job.plan.tap) {
                            link.tapped = Some(tap.opened(self.now, local, to));
                        }
                        self.born(at, endpoint(local), endpoint(to));
                    }
                    Err(error) => self.could_not_connect(at, Failure::without_answer(cause_of(&error))),
                },
                (Err(error), _) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                (Err(error), _) => self.could_not_connect(at, Failure::without_answer(cause_of(&error))),
                (Ok(_), None) => {}
            }
        } else if link.full_since.take().is_some() {
            match self.net.want_writable(key, false) {
                Ok(()) => self.flush(at),
                Err(error) => self.lose(at, cause_of(&error)),
            }
        }
    }

    /// The connection is there: it gets a client, which logs on.
    fn born(&mut self, at: u32, client: Endpoint, server: Endpoint) {
        let (station, of_station) = self.share.owner(at);
        let Some(link) = self.links.get_mut(at as usize) else { return };
        let connection = if link.made == 0 { self.share.number(at) } else { self.job.crew.next_connection() };
        let birth = Birth { station, of_station, connection, made_before: link.made, client, server };
        link.made += 1;
        // The deadline of the connecting holds for the logging on, too: the life stays the same.
        link.state = LinkState::LoggingOn;
        (link.out, link.inbox, link.full_since) = (Outbox::new(), Inbox::default(), None);
        link.client = Some(self.job.setup.client(&birth));
        let now = self.now;
        self.with_client(at, |client, out, floor| client.connect(now, out, floor));
    }

    /// A client has logged on, or could not.
    pub(super) fn logged_on(&mut self, at: u32, done: &Done) {
        let Some(link) = self.links.get_mut(at as usize) else { return };
        if link.state != LinkState::LoggingOn {
            return;
        }
        if let Err(failure) = &done.result {
            return self.could_not_connect(at, failure.clone());
        }
        self.now = self.now.max(done.at);
        link.enter(LinkState::Up);
        (link.failed, link.up_since) = (0, self.now);
        let again = link.made > 1;
        self.unsettled -= u32::from(!std::mem::replace(&mut link.settled, true));
        self.busy -= 1;
        for station in self.share.stations_of(at) {
            let Some(up) = self.up.get_mut(station as usize) else { continue };
            *up += 1;
            self.job.watch.connected(u32::from(*up == 1), 0);
            if let Some(tally) = self.floor.tallies.get_mut(station as usize) {
                tally.reconnects += u64::from(again);
            }
        }
        for lane in self.share.lanes_of(at) {
            if let Some(scenario) = self.floor.lanes.get_mut(lane).and_then(|lane| lane.scenario.as_mut())
                && again
            {
                scenario.reconnected();
            }
            match self.floor.state(lane) {
                State::Held(since) => self.advance(lane, since),
                State::Idle(_, true) => self.floor.set(lane, State::Idle(self.now, true)),
                State::Idle(_, false) => self.wait_for_a_turn(lane, self.now),
                _ => {}
            }
        }
    }

    /// A connection could not be made, or its client could not log on.
    pub(super) fn could_not_connect(&mut self, at: u32, failure: Failure) {
        self.busy -= 1;
        let cause = failure.cause;
        self.job.crew.could_not_connect(self.now, failure);
        self.fail(at, cause, false);
    }

    /// A connection that was there is lost.
    pub(super) fn lose(&mut self, at: u32, cause: Cause) {
        let Some(link) = self.links.get(at as usize) else { return };
        match link.state {
            LinkState::Opening | LinkState::LoggingOn => self.could_not_connect(at, Failure::without_answer(cause)),
            LinkState::Up => {
                self.one_less_up(at);
                self.fail(at, cause, true);
            }
            LinkState::Leaving => {
                self.busy -= 1;
                self.close(at, cause, LinkState::Closed);
            }
            LinkState::Waiting | LinkState::Closed => {}
        }
    }

    fn one_less_up(&mut self, at: u32) {
        for station in self.share.stations_of(at) {
            let Some(up) = self.up.get_mut(station as usize) else { continue };
            *up -= 1;
            self.job.watch.connected(0, u32::from(*up == 0));
        }
    }

    /// Counts the failure of a connection, which was up or could not be made, and tries again later or gives it up.
    fn fail(&mut self, at: u32, cause: Cause, was_up: bool) {
        let first = self.share.stations_of(at).start as usize;
        self.floor.connection_failed(first, cause, was_up, self.now);
        self.close(at, cause, LinkState::Waiting);
        let policy = self.job.plan.reconnect;
        let Some(link) = self.links.get_mut(at as usize) else { return };
        link.failed += 1;
        let failed = link.failed;
        let refused = matches!(cause, Cause::LogonRefused | Cause::ShareRefused | Cause::NotOffered);
        if refused || failed > policy.attempts {
            self.give_up(at);
        } else if self.connects() {
            let wait = i64::try_from(policy.wait_ns(failed)).unwrap_or(i64::MAX);
            self.timers.push(self.now.saturating_add(wait), Timer::Retry(at));
        }
    }

    fn give_up(&mut self, at: u32) {
        let Some(link) = self.links.get_mut(at as usize) else { return };
        link.enter(LinkState::Closed);
        self.unsettled -= u32::from(!std::mem::replace(&mut link.settled, true));
        for lane in self.share.lanes_of(at) {
            // Those with an operation outstanding finish when they hear of its end.
            if self.floor.state(lane) != State::Acting {
                self.finish(lane, self.now);
            }
        }
    }

    /// Closes a connection; its client ends everything that is outstanding with `cause`.
    pub(super) fn close(&mut self, at: u32, cause: Cause, next: LinkState) {
        let now = self.now;
        let Some(link) = self.links.get_mut(at as usize) else { return };
        let was_open = link.state != LinkState::Waiting && link.state != LinkState::Closed;
        link.enter(next);
        self.with_client(at, |client, _, floor| client.broken(now, cause, floor));
        self.end_all(at, cause);
        let Some(link) = self.links.get_mut(at as usize) else { return };
        if let Some(client) = link.client.take() {
            self.generator.strangers += client.unmatched_responses();
            self.generator.spared += client.requests_avoided();
        }
        if let (Some(stream), Some(tap)) = (link.tapped.take(), &self.job.plan.tap) {
            let ended = match cause {
                Cause::ConnectionReset => Ended::Reset,
                Cause::ConnectionClosed => Ended::ByServer,
                _ => Ended::ByClient,
            };
            tap.closed(stream, now, ended);
        }
        (link.out, link.inbox, link.full_since) = (Outbox::new(), Inbox::default(), None);
        if was_open && self.address.is_some() {
            self.net.close(ConnectionKey(at));
        }
    }

    /// Connecting, logging on or leaving has taken too long.
    pub(super) fn too_long(&mut self, at: u32, life: u32) {
        let Some(link) = self.links.get(at as usize).filter(|link| link.life == life) else { return };
        match link.state {
            LinkState::Opening | LinkState::LoggingOn => {
                self.could_not_connect(at, Failure::without_answer(Cause::TimedOut))
            }
            LinkState::Leaving => {
                self.generator.left_rudely += 1;
                self.left(at);
            }
            LinkState::Waiting | LinkState::Up | LinkState::Closed => {}
        }
    }

    fn leave(&mut self, at: u32) {
        let now = self.now;
        let Some(link) = self.links.get_mut(at as usize) else { return };
        link.enter(LinkState::Leaving);
        let life = link.life;
        self.timers.push(self.patience(), Timer::Deadline(at, life));
        self.busy += 1;
        self.one_less_up(at);
        self.with_client(at, |client, out, floor| client.leave(now, out, floor));
    }

    /// Asks what the kernel knows of the round trips of connections that are up.
    pub(super) fn take_round_trips(&mut self) {
        for (at, link) in (0..).zip(&self.links) {
            if link.state == LinkState::Up
                && let Some(found) = self.net.round_trip(ConnectionKey(at))
            {
                self.generator.round_trips.add(found);
            }
        }
    }

    /// A client has logged off, or there was no time for it.
    pub(super) fn left(&mut self, at: u32) {
        if self.links.get(at as usize).is_some_and(|link| link.state == LinkState::Leaving) {
            self.busy -= 1;
            self.close(at, Cause::Ended, LinkState::Closed);
        }
    }
}

fn endpoint(address: SocketAddr) -> Endpoint {
    Endpoint { ip: address.ip(), port: address.port() }
}
