//! What lanes do next, and what came of what they did.

use std::io::ErrorKind;

use plimsoll_client::Client;
use plimsoll_client::operation::{Cause, Done, Failure, Operation, Tag, Ticket};
use plimsoll_client::outbox::Outbox;
use plimsoll_model::Sink;
use plimsoll_workload::Load;
use plimsoll_workload::scenario::{Scenario, Step};

use super::super::Phase;
use super::super::link::LinkState;
use super::super::timers::Timer;
use super::{BATCH, TICK_NS, Worker};
use crate::network::Network;
use crate::station::clock::TurnClock;
use crate::station::floor::Floor;
use crate::station::lane::State;
use crate::station::pacing::pause;

/// Steps that a lane may take at one instant without an operation among them; then others have their turn.
const STEPS: usize = 1_000;

/// What a lane's step came to.
enum Taken {
    /// An operation was begun.
    Begun,
    /// Nothing for so many ns.
    Thought(u64),
    TurnOver,
    Finished,
}

impl<S: Sink, N: Network> Worker<'_, S, N> {
    /// Looks at actions that ended, until none is left or others should have their turn. `false` if some are left.
    pub(super) fn settle(&mut self) -> bool {
        for round in 0..BATCH {
            // Where clients block, an operation takes its time: others do not wait for a whole batch.
            let due = self.timers.next().unwrap_or(i64::MAX).min(self.next_tick);
            if round > 0 && self.address.is_none() && due <= self.now {
                break;
            }
            while let Some(rota) = self.served.pop() {
                self.serve(rota);
            }
            let Some((link, done)) = self.floor.ended.pop_front() else { return true };
            match done.tag {
                Tag::CONNECT => self.logged_on(link, &done),
                Tag::LEAVE => self.left(link),
                tag => self.ended(link, tag, &done),
            }
        }
        self.floor.ended.is_empty() && self.served.is_empty()
    }

    /// An operation of a lane ended.
    fn ended(&mut self, link: u32, tag: Tag, done: &Done) {
        // A client that says so twice is not believed the second time.
        let Some(lane) = self.share.lane(tag).filter(|&lane| self.share.link(lane) == link) else { return };
        if self.floor.state(lane) != State::Acting {
            return;
        }
        self.acting -= 1;
        self.floor.set(lane, State::Thinking);
        if matches!(done.result, Err(Failure { cause: Cause::TimedOut, .. })) {
            self.generator.overdue += 1;
        }
        self.floor.account(lane, done);
        // Clients that block are ahead of the clock as it was last read.
        self.now = self.now.max(done.at);
        self.advance(lane, done.at);
    }

    /// Takes a lane's next steps, the first of which was meant to be at `at`.
    pub(super) fn advance(&mut self, lane: usize, mut at: i64) {
        for _ in 0..STEPS {
            if at >= self.limit || self.floor.state(lane) == State::Over {
                return;
            }
            if at > self.now {
                self.floor.set(lane, State::Thinking);
                self.timers.push(at, Timer::Lane(lane as u32));
                return;
            }
            let link = self.share.link(lane);
            match self.links.get(link as usize).map(|link| link.state) {
                Some(LinkState::Up) => {}
                Some(LinkState::Closed) | None => return self.finish(lane, at),
                Some(_) => return self.floor.set(lane, State::Held(at)),
            }
            match self.take_step(lane, link, at) {
                Taken::Begun => return,
                Taken::Thought(ns) => at = at.saturating_add(i64::try_from(ns).unwrap_or(i64::MAX)),
                Taken::TurnOver => match self.turn_over(lane, at) {
                    Some(next) => at = next,
                    None => return,
                },
                Taken::Finished => return self.finish(lane, at),
            }
        }
        self.floor.set(lane, State::Thinking);
        self.timers.push(at, Timer::Lane(lane as u32));
    }

    /// Asks a lane's scenario for its next step, and begins it if it is an operation.
    fn take_step(&mut self, lane: usize, link: u32, at: i64) -> Taken {
        let Some(mut scenario) = self.floor.lanes.get_mut(lane).and_then(|lane| lane.scenario.take()) else {
            return Taken::Finished;
        };
        let taken = match scenario.next() {
            Step::Act(operation, path) => {
                self.now = self.net.now();
                let ticket = Ticket { tag: self.share.tag(lane), intended: Some(at), path };
                self.begin(lane, link, &operation, ticket);
                Taken::Begun
            }
            Step::Think(ns) => Taken::Thought(ns),
            Step::TurnOver => Taken::TurnOver,
            Step::Finished => Taken::Finished,
        };
        self.put_back(lane, scenario);
        taken
    }

    fn put_back(&mut self, lane: usize, scenario: Box<dyn Scenario>) {
        if let Some(lane) = self.floor.lanes.get_mut(lane) {
            lane.scenario = Some(scenario);
        }
        self.floor.hand_out();
    }

    /// Begins an operation.
    fn begin(&mut self, lane: usize, link: u32, operation: &Operation<'_>, ticket: Ticket) {
        let up_since = self.links.get(link as usize).map_or(0, |link| link.up_since);
        let counts_starts = self.floor.counts_starts;
        if let Some(lane) = self.floor.lanes.get_mut(lane) {
            lane.state = State::Acting;
            lane.intended = ticket.intended.unwrap_or(self.now);
            lane.begun = self.now;
            lane.asked_bytes = match operation {
                Operation::Read { length, .. }
                    if !lane.scenario.as_ref().is_some_and(|it| it.knows_what_comes_back()) =>
                {
                    Some(*length)
                }
                _ => None,
            };
            // Waiting for the lane or its connection was not the generator's doing.
            lane.delay.begin((lane.intended, counts_starts.then_some(up_since)), self.now);
            let due = lane.intended;
            lane.turn.get_or_insert(TurnClock { due, next: None, waited: false, failed: false });
        }
        self.acting += 1;
        let now = self.now;
        self.with_client(link, |client, out, floor| client.begin(operation, ticket, now, out, floor));
    }

    /// Calls the client of a connection, and notes if it has something to send.
    pub(super) fn with_client(&mut self, at: u32, call: impl FnOnce(&mut dyn Client, &mut Outbox, &mut Floor<'_, S>)) {
        let Some(link) = self.links.get_mut(at as usize) else { return };
        let Some(client) = &mut link.client else { return };
        self.floor.caller = at;
        call(client.as_mut(), &mut link.out, &mut self.floor);
        if !link.dirty && !link.out.is_empty() {
            link.dirty = true;
            self.dirty.push(at);
        }
    }

    /// A lane's turn is over: when its next one starts, if that is known already.
    fn turn_over(&mut self, lane: usize, at: i64) -> Option<i64> {
        self.floor.turn_over(lane, at);
        if let Load::Closed { think, .. } = self.job.plan.load {
            let rng = &mut self.floor.lanes.get_mut(lane)?.rng;
            return Some(at.saturating_add(pause(think, rng)));
        }
        // A lane whose connection was lost in the meantime was not free before it was there again.
        let up_since = self.links.get(self.share.link(lane) as usize).map_or(at, |link| link.up_since);
        self.wait_for_a_turn(lane, at.max(up_since));
        None
    }

    /// A lane waits for a turn that is due.
    pub(super) fn wait_for_a_turn(&mut self, lane: usize, since: i64) {
        let rota = self.rota_of(lane);
        self.floor.set(lane, State::Idle(since, true));
        if let Some(found) = self.rotas.get_mut(rota as usize) {
            found.free.push_back(lane as u32);
            self.served.push(rota);
        }
    }

    fn rota_of(&self, lane: usize) -> u32 {
        match self.job.plan.load {
            Load::Partly { .. } => self.share.station(lane) as u32,
            _ => 0,
        }
    }

    /// Starts the turns of a schedule that are due, as far as there are lanes for them.
    pub(super) fn serve(&mut self, which: u32) {
        loop {
            let end = self.floor.window.1.min(self.limit);
            let Some(rota) = self.rotas.get_mut(which as usize) else { return };
            let due = rota.next();
            if due >= end {
                return;
            }
            let Some(&lane) = rota.free.front() else { return };
            if due > self.now {
                if !rota.armed {
                    rota.armed = true;
                    self.timers.push(due, Timer::Arrival(which));
                }
                return;
            }
            rota.free.pop_front();
            let lane = lane as usize;
            let State::Idle(since, _) = self.floor.state(lane) else { continue };
            let up = self.links.get(self.share.link(lane) as usize).is_some_and(|link| link.state == LinkState::Up);
            if !up {
                self.floor.set(lane, State::Idle(since, false));
                continue;
            }
            rota.take();
            let next = rota.next();
            self.started(lane, (due, next), since);
            self.advance(lane, due);
        }
    }

    /// Counts a turn that starts now, was due at `due` (the one after it at `next`), and whose lane has been free since `since`.
    fn started(&mut self, lane: usize, (due, next): (i64, i64), since: i64) {
        let own = matches!(self.job.plan.load, Load::Partly { .. });
        if let Some(lane) = self.floor.lanes.get_mut(lane) {
            lane.delay.start_turn(due, since);
            lane.turn = Some(TurnClock { due, next: own.then_some(next), waited: since > due, failed: false });
        }
        if !self.floor.measures(due) {
            return;
        }
        self.generator.planned += 1;
        let late = since > due;
        let station = self.share.station(lane);
        if let (true, Some(tally)) = (own, self.floor.tallies.get_mut(station)) {
            tally.due_turns += 1;
            tally.late_turns += u64::from(late);
        }
        if late {
            self.generator.late_starts += 1;
        } else {
            self.lag(due);
        }
    }

    /// A lane has nothing more to do.
    pub(super) fn finish(&mut self, lane: usize, at: i64) {
        if self.floor.state(lane) != State::Over {
            self.floor.set(lane, State::Over);
            self.live -= 1;
            // A turn that started late was meant for an earlier instant than that of what was done before it.
            self.last = self.last.max(at).max(self.now);
        }
    }

    /// What a connection was doing has ended with it: whatever its client has not said itself is said here.
    pub(super) fn end_all(&mut self, link: u32, cause: Cause) {
        for lane in self.share.lanes_of(link) {
            let tag = self.share.tag(lane);
            let owed = self.floor.state(lane) == State::Acting;
            if owed && !self.floor.ended.iter().any(|(_, done)| done.tag == tag) {
                let result = Err(Failure::without_answer(cause));
                self.floor.ended.push_back((link, Done { tag, at: self.now, result }));
            }
        }
    }

    /// Whether anything of the measured phase, or begun in it, is still to come.
    pub(super) fn drained(&mut self) -> bool {
        if self.acting > 0 {
            // All that is outstanding may be held requests. Asking everybody takes a while: not too often.
            if self.now < self.next_count {
                return false;
            }
            self.next_count = self.now + TICK_NS;
            let waiting = self.links.iter().filter(|link| link.state == LinkState::Up);
            let clients = waiting.filter_map(|link| link.client.as_ref());
            return clients.map(|client| client.outstanding()).sum::<usize>() == 0;
        }
        if !self.scheduled() || self.limit <= self.floor.window.1 {
            return true;
        }
        let thinking = self.floor.lanes.iter().any(|lane| lane.state == State::Thinking);
        let waiting = self.rotas.iter().any(|rota| rota.next() < self.floor.window.1 && !rota.free.is_empty());
        !thinking && !waiting
    }

    /// Turns of the measured phase that were never started are counted.
    pub(super) fn count_never_sent(&mut self) {
        let window = self.floor.window;
        let own = matches!(self.job.plan.load, Load::Partly { .. });
        for (station, rota) in self.rotas.iter_mut().enumerate() {
            while rota.next() < window.1 {
                let missed = u64::from(rota.next() >= window.0);
                self.generator.planned += missed;
                self.generator.never_sent += missed;
                if let (true, Some(tally)) = (own, self.floor.tallies.get_mut(station)) {
                    tally.due_turns += missed;
                }
                rota.take();
            }
        }
    }

    /// Whether connections are still made.
    pub(super) fn connects(&self) -> bool {
        matches!(self.phase, Phase::Waiting | Phase::Connecting | Phase::WarmUp | Phase::Measured)
    }
}

/// What an error of the operating system means for an operation.
pub(super) fn cause_of(error: &std::io::Error) -> Cause {
    match error.kind() {
        ErrorKind::ConnectionRefused => Cause::ConnectionRefused,
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => Cause::ConnectionReset,
        ErrorKind::UnexpectedEof | ErrorKind::NotConnected => Cause::ConnectionClosed,
        ErrorKind::TimedOut => Cause::TimedOut,
        ErrorKind::HostUnreachable
        | ErrorKind::NetworkUnreachable
        | ErrorKind::NetworkDown
        | ErrorKind::PermissionDenied
        | ErrorKind::InvalidInput => Cause::Unreachable,
        // EADDRNOTAVAIL: no local port is left. EMFILE, ENFILE, ENOBUFS, ENOMEM, which have no kind in common.
        _ => Cause::OutOfResources,
    }
}
