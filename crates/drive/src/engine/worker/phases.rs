//! Connect, warm-up, measured, drain, leave.

use std::io;

use plimsoll_client::operation::Cause;
use plimsoll_model::Sink;
use plimsoll_workload::{Load, Rng, seed_of};

use super::super::link::LinkState;
use super::super::timers::Timer;
use super::super::{Generator, Phase};
use super::{Brought, TICK_NS, Worker};
use crate::network::Network;
use crate::station::delay::Delay;
use crate::station::lane::{Lane, State};
use crate::station::pacing::{Schedule, first_pause};
use crate::station::rota::{Due, Rota};

/// Pauses have seeds of their own, so that they are the same whatever scenarios draw.
const PAUSES: u64 = 0x7061_7573_6573_2121;

impl<S: Sink, N: Network> Worker<'_, S, N> {
    /// Runs from connecting to leaving.
    pub(in super::super) fn run(mut self) -> io::Result<Brought<S>> {
        self.populate();
        self.connect_all()?;
        let up = self.links.iter().filter(|link| link.state == LinkState::Up).count() as u32;
        match self.job.crew.gather(self.now, up, self.job.watch) {
            Some(start) => {
                self.start(start);
                self.load()?;
                self.drain()?;
            }
            None => {
                self.floor.window = (self.now, self.now);
                self.stopped = self.job.watch.stopped();
            }
        }
        self.leave_all()?;
        let fresh = self.floor.fresh;
        self.job.watch.add(fresh.turns, fresh.actions, fresh.errors, fresh.bytes);
        Ok(Brought {
            measured: self.floor.window,
            sink: self.floor.sink,
            tallies: self.floor.tallies,
            turns: self.floor.turns.into_vec(),
            generator: Generator {
                answered: self.floor.answered,
                unanswered: self.floor.unanswered,
                lateness: self.floor.lateness,
                ..self.generator
            },
            gaps: self.floor.gaps.take(),
            cpu: self.cpu,
            stopped: self.stopped,
        })
    }

    /// Makes the lanes.
    fn populate(&mut self) {
        let plan = self.job.plan;
        for station in self.share.stations() {
            for lane in 0..plan.lanes {
                let scenario = self.job.setup.scenario(station, lane, seed_of(plan.seed, station, lane));
                self.floor.lanes.push(Lane {
                    scenario: Some(scenario),
                    // Until it starts, nobody waits for its connection.
                    state: State::Thinking,
                    intended: 0,
                    begun: 0,
                    asked_bytes: None,
                    delay: Delay::default(),
                    turn: None,
                    rng: Rng::new(seed_of(plan.seed ^ PAUSES, station, lane)),
                });
            }
        }
        self.live = self.floor.lanes.len() as u32;
    }

    fn connect_all(&mut self) -> io::Result<()> {
        self.now = self.net.now();
        let until = after(self.now, self.job.plan.phases.connect_ns);
        self.phase = Phase::Connecting;
        self.job.watch.enter(Phase::Connecting, self.now, until);
        while self.unsettled > 0 && self.now < until && !self.job.watch.stopped() && !self.job.crew.failed() {
            self.step(until)?;
        }
        Ok(())
    }

    /// Sets every lane's first turn.
    fn start(&mut self, start: i64) {
        let phases = self.job.plan.phases;
        let begin = after(start, phases.warmup_ns);
        let end = phases.measured_ns.map_or(i64::MAX, |measured| after(begin, measured));
        self.floor.window = (begin, end);
        self.limit = if self.scheduled() { after(end, phases.drain_ns) } else { end };
        self.phase = Phase::WarmUp;
        self.last = start;
        self.job.watch.enter(Phase::WarmUp, start, begin);
        self.timers.push(begin, Timer::Measure);
        match self.job.plan.load {
            Load::Closed { think, .. } => {
                let lanes = u64::from(self.job.plan.lanes);
                let all = u64::from(self.job.plan.load.stations()) * lanes;
                for at in 0..self.floor.lanes.len() {
                    let tag = self.share.tag(at).0;
                    let number = (tag >> 32) * lanes + (tag & u64::from(u32::MAX));
                    let Some(lane) = self.floor.lanes.get_mut(at).filter(|lane| lane.state != State::Over) else {
                        continue;
                    };
                    let pause = first_pause(think, number, all, &mut lane.rng);
                    self.timers.push(start.saturating_add(pause), Timer::Lane(at as u32));
                }
            }
            Load::Open { .. } | Load::Partly { .. } => self.start_schedules(start),
        }
    }

    fn start_schedules(&mut self, start: i64) {
        let (plan, share) = (self.job.plan, self.share);
        match plan.load {
            Load::Open { stations, rate, arrivals } => {
                let schedule = Schedule::open(start, rate, arrivals, plan.seed);
                let mine = (0..stations).map(|station| share.is_mine(station)).collect();
                self.rotas.push(Rota::new(Due::Some { schedule, next: 0, mine }));
            }
            Load::Partly { users, every_ns, arrivals } => {
                let schedule = |user| Schedule::of_user(start, user, users, every_ns, arrivals, plan.seed);
                self.rotas = share.stations().map(|user| Rota::new(Due::All(schedule(user)))).collect();
            }
            Load::Closed { .. } => {}
        }
        // First the first lane of every station, then the second: turns are spread over stations before they share one.
        for nth in 0..plan.lanes as usize {
            for lane in (nth..self.floor.lanes.len()).step_by(plan.lanes as usize) {
                if self.floor.state(lane) != State::Over {
                    self.wait_for_a_turn(lane, start);
                }
            }
        }
    }

    /// Warm-up and the measured phase.
    fn load(&mut self) -> io::Result<()> {
        loop {
            let end = self.floor.window.1.min(self.job.crew.end());
            if end < self.floor.window.1 {
                self.end_early(end);
            }
            if self.now >= end {
                break;
            }
            if self.live == 0 && !self.told_idle {
                self.told_idle = true;
                self.job.crew.idle(self.last);
                continue;
            }
            self.step(end)?;
        }
        self.stopped |= self.job.watch.stopped();
        let end = self.floor.window.1;
        let due = self.rotas.iter().map(Rota::next).filter(|due| *due < end).min();
        let mut gaps = std::mem::take(&mut self.floor.gaps);
        self.floor.end_gaps(&mut gaps, end, due);
        self.floor.gaps = gaps;
        self.take_round_trips();
        for (tally, up) in self.floor.tallies.iter_mut().zip(&self.up) {
            tally.connected = *up > 0;
        }
        let until_now = self.reading();
        self.cpu = self.begin.map_or_else(Default::default, |begin| until_now.since(&begin));
        self.cpu.wake_up_ns = self.generator.wake_up_lag.moments().mean_ns().map(|mean| mean as u64);
        self.generator.stolen_ns = self.begin.and_then(|begin| until_now.stolen_since(&begin));
        Ok(())
    }

    /// The measured phase ends sooner than planned: nothing new is begun from then on.
    fn end_early(&mut self, end: i64) {
        self.floor.window.1 = end;
        self.floor.window.0 = self.floor.window.0.min(end);
        self.limit = end;
    }

    /// Waits for what is outstanding, as long as the plan allows.
    fn drain(&mut self) -> io::Result<()> {
        let until = after(self.now.max(self.floor.window.1), self.job.plan.phases.drain_ns);
        self.phase = Phase::Drain;
        self.job.watch.enter(Phase::Drain, self.now, until);
        // Whoever stops the drain wants its end; whoever stopped the load has not waited for it yet.
        let stopped = self.stopped;
        while self.now < until && !self.gone() && (stopped || !self.job.watch.stopped()) && !self.drained() {
            self.step(until)?;
        }
        // Whatever has no answer now has none.
        self.limit = self.floor.window.1;
        self.count_never_sent();
        for at in 0..self.links.len() as u32 {
            let now = self.now;
            if self.acting > 0 && self.links.get(at as usize).is_some_and(|link| link.state == LinkState::Up) {
                self.with_client(at, |client, _, floor| client.overdue(i64::MAX, now, floor));
            }
        }
        while !self.settle() {}
        // Behind the failures of what had no answer: they are their turns'.
        self.floor.count_unended();
        self.flush_all();
        self.job.crew.drained();
        while !self.job.crew.all_drained() && !self.gone() {
            self.step(self.now.saturating_add(TICK_NS))?;
        }
        Ok(())
    }

    /// Nobody wants to wait for anything any more.
    fn gone(&self) -> bool {
        self.job.watch.abandoned() || self.job.crew.failed()
    }

    /// Logs off wherever somebody is logged on, and closes every connection.
    fn leave_all(&mut self) -> io::Result<()> {
        self.phase = Phase::Leaving;
        self.limit = i64::MIN;
        let until = after(self.now, self.job.plan.phases.connect_ns);
        self.job.watch.enter(Phase::Leaving, self.now, until);
        for at in 0..self.links.len() as u32 {
            match self.links.get(at as usize).map(|link| link.state) {
                Some(LinkState::Opening | LinkState::LoggingOn) => {
                    self.busy -= 1;
                    self.close(at, Cause::Ended, LinkState::Closed);
                }
                Some(LinkState::Waiting) => self.close(at, Cause::Ended, LinkState::Closed),
                _ => {}
            }
        }
        self.queue = (0..self.links.len() as u32).collect();
        while (self.busy > 0 || !self.queue.is_empty()) && self.now < until && !self.gone() {
            self.step(until)?;
        }
        for at in 0..self.links.len() as u32 {
            let Some(state) = self.links.get(at as usize).map(|link| link.state) else { continue };
            if matches!(state, LinkState::Up | LinkState::Leaving) {
                self.generator.left_rudely += 1;
                self.close(at, Cause::Ended, LinkState::Closed);
            }
        }
        while !self.settle() {}
        Ok(())
    }
}

/// So many ns after an instant.
fn after(at: i64, ns: u64) -> i64 {
    at.saturating_add(i64::try_from(ns).unwrap_or(i64::MAX))
}
