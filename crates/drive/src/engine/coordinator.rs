//! Coordinates the workers of a run: the common start and end.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_client::operation::Failure;

use super::partition::WorkerPartition;
use super::rendezvous::Rendezvous;
use super::{Plan, Watch};

/// Interval at which waiting workers check whether the run was stopped.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// Time that workers need to wake up before the common start, ns.
const WAKING_UP_NS: i64 = 1_000_000;

/// State shared by the workers of a run.
#[derive(Debug)]
pub(super) struct RunCoordinator {
    size: u32,
    barrier: Mutex<BarrierState>,
    gathered: Condvar,
    /// The agreed end of the measured phase; `i64::MAX` without one.
    end: AtomicI64,
    /// Number of workers without remaining work, and the time of their last action.
    idle: AtomicU32,
    last: AtomicI64,
    drained: AtomicU32,
    /// Whether a server sent something during the drain of any worker, and whether a worker waited in vain to its end.
    heard: AtomicBool,
    in_vain: AtomicBool,
    failed: AtomicBool,
    /// The number of the next reconnected connection, and the step to the one after it.
    next_connection: AtomicU32,
    connection_step: u32,
    /// The common start that was asked for, ns.
    start_at: Option<i64>,
    /// How long after it all had gathered, ns; 0: in time.
    late_ns: AtomicI64,
    /// Where other runs wait that are to begin at the same instant.
    rendezvous: Option<Arc<Rendezvous>>,
}

/// Why a client could not connect, and its account, if the server refused this one of several.
pub(super) type ConnectFailure = (Failure, Option<String>);

#[derive(Debug, Default)]
struct BarrierState {
    arrived: u32,
    latest: i64,
    up: u32,
    first_failure: Option<(i64, ConnectFailure)>,
    machine: Option<(&'static str, io::Error)>,
    /// Whether all begin, and when: the first worker that knows decides for all.
    begin: Option<Option<i64>>,
}

impl RunCoordinator {
    /// A coordinator for `size` workers. Numbers of reconnections start after those of all connections of the plan.
    pub(super) fn new(size: u32, plan: &Plan) -> Self {
        let connections = WorkerPartition::units_of_all(plan) * plan.connections;
        // The other parts use the numbers in between.
        let (first, step) = plan.part.map_or((0, 1), |part| (part.number() - 1, part.parts()));
        Self {
            size,
            barrier: Mutex::default(),
            gathered: Condvar::new(),
            end: AtomicI64::new(i64::MAX),
            idle: AtomicU32::new(0),
            last: AtomicI64::new(i64::MIN),
            drained: AtomicU32::new(0),
            heard: AtomicBool::new(false),
            in_vain: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            next_connection: AtomicU32::new(connections + first),
            connection_step: step,
            start_at: plan.start_at_ns,
            late_ns: AtomicI64::new(0),
            rendezvous: plan.rendezvous.clone(),
        }
    }

    /// Waits until every worker has connected; returns the time at which all begin. `None` if no client is connected or the run was
    /// stopped.
    pub(super) fn wait_at_barrier(&self, now: i64, up: u32, watch: &Watch) -> Option<i64> {
        let mut barrier = self.lock();
        barrier.arrived += 1;
        barrier.latest = barrier.latest.max(now);
        barrier.up += up;
        self.gathered.notify_all();
        while barrier.arrived < self.size && !self.failed() && !watch.abandoned() {
            let waited = self.gathered.wait_timeout(barrier, CHECK_INTERVAL);
            barrier = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if let Some(decided) = barrier.begin {
            return decided;
        }
        let complete = barrier.arrived == self.size && barrier.up > 0 && !self.failed() && !watch.stopped();
        let waking_up = if self.size > 1 { WAKING_UP_NS } else { 0 };
        let ready = barrier.latest + waking_up;
        let common = self.rendezvous.as_ref().filter(|_| complete).map(|rendezvous| rendezvous.meet(ready, watch));
        let complete = complete && common != Some(None);
        let begin = self.start_at.or(common.flatten()).unwrap_or(ready);
        self.late_ns.store((ready - begin).max(0), SeqCst);
        // One decision for all workers: if each checked for itself, one might see the stop and leave, and the others would wait for it
        // forever.
        let decided = (complete && ready <= begin).then_some(begin);
        barrier.begin = Some(decided);
        decided
    }

    /// Ends the measured phase at `at`, unless an earlier end is set.
    pub(super) fn end_at(&self, at: i64) {
        self.end.fetch_min(at, SeqCst);
    }

    /// The agreed end.
    pub(super) fn end(&self) -> i64 {
        self.end.load(SeqCst)
    }

    /// A worker has nothing left to do since `last`. The last one to say so ends the run for all.
    pub(super) fn idle(&self, last: i64) {
        self.last.fetch_max(last, SeqCst);
        if self.idle.fetch_add(1, SeqCst) + 1 == self.size {
            // The last action still belongs to the run.
            self.end_at(self.last.load(SeqCst).saturating_add(1));
        }
    }

    /// A worker has nothing outstanding any more; whether a server sent something to it during the drain, and whether it waited in vain.
    pub(super) fn drained(&self, heard: bool, in_vain: bool) {
        self.heard.fetch_or(heard, SeqCst);
        self.in_vain.fetch_or(in_vain, SeqCst);
        self.drained.fetch_add(1, SeqCst);
    }

    /// Whether no server sent anything during the drain of any worker, although one waited for it. Known when all have drained.
    pub(super) fn servers_hang(&self) -> bool {
        self.in_vain.load(SeqCst) && !self.heard.load(SeqCst)
    }

    /// No worker has anything outstanding.
    pub(super) fn all_drained(&self) -> bool {
        self.drained.load(SeqCst) >= self.size || self.failed()
    }

    /// A client could not connect; `account`: the server refused this one of several accounts.
    pub(super) fn on_connect_failure(&self, at: i64, failure: Failure, account: Option<String>) {
        let mut barrier = self.lock();
        if barrier.first_failure.as_ref().is_none_or(|(first, _)| at < *first) {
            barrier.first_failure = Some((at, (failure, account)));
        }
    }

    /// How long after the common start all had gathered, ns; `None` where they were in time.
    pub(super) fn late(&self) -> Option<i64> {
        Some(self.late_ns.load(SeqCst)).filter(|late| *late > 0)
    }

    /// The failure of the first client that could not connect.
    pub(super) fn first_failure(&self) -> Option<ConnectFailure> {
        self.lock().first_failure.as_ref().map(|(_, failure)| failure.clone())
    }

    /// Whether anybody was connected when all had gathered.
    pub(super) fn anybody_up(&self) -> bool {
        self.lock().up > 0
    }

    /// A worker cannot go on: the run ends for all.
    pub(super) fn fail(&self, doing: &'static str, source: io::Error) {
        self.failed.store(true, SeqCst);
        self.end_at(i64::MIN);
        self.lock().machine.get_or_insert((doing, source));
        self.gathered.notify_all();
    }

    /// A worker could not go on.
    pub(super) fn failed(&self) -> bool {
        self.failed.load(SeqCst)
    }

    /// Why a worker could not go on.
    pub(super) fn failure(&self) -> Option<(&'static str, io::Error)> {
        self.lock().machine.take()
    }

    /// A number for a connection that is made again.
    pub(super) fn next_connection(&self) -> u32 {
        self.next_connection.fetch_add(self.connection_step, SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, BarrierState> {
        self.barrier.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_workload::{Load, Pause};

    use super::*;

    fn plan() -> Plan {
        Plan::new(Load::Closed { clients: 8, think: Pause::None })
    }

    #[test]
    fn a_common_start_is_kept_or_missed() {
        let at = |start_at, now| {
            let coordinator = RunCoordinator::new(1, &Plan { start_at_ns: Some(start_at), ..plan() });
            (coordinator.wait_at_barrier(now, 1, &Watch::new()), coordinator.late())
        };
        assert_eq!(at(100, 7), (Some(100), None));
        assert_eq!(at(100, 100), (Some(100), None));
        assert_eq!(at(100, 130), (None, Some(30)));
    }

    /// A worker with nothing outstanding says nothing of the servers.
    #[test]
    fn servers_hang_only_if_they_send_nothing_to_any_worker() {
        let hang = |drains: [(bool, bool); 2]| {
            let coordinator = RunCoordinator::new(2, &plan());
            drains.iter().for_each(|&(heard, in_vain)| coordinator.drained(heard, in_vain));
            assert!(coordinator.all_drained());
            coordinator.servers_hang()
        };
        assert!(hang([(false, true), (false, true)]) && hang([(false, true), (false, false)]));
        assert!(!hang([(false, true), (true, false)]) && !hang([(false, false), (false, false)]));
    }

    #[test]
    fn connections_that_parts_make_again_have_numbers_of_their_own() {
        let numbers = |part: Option<&str>| {
            let part = part.map(|part| part.parse().unwrap());
            let coordinator = RunCoordinator::new(1, &Plan { part, ..plan() });
            [(); 3].map(|()| coordinator.next_connection())
        };
        assert_eq!(numbers(None), [8, 9, 10]);
        assert_eq!((numbers(Some("1/2")), numbers(Some("2/2"))), ([8, 10, 12], [9, 11, 13]));
    }

    #[test]
    fn all_begin_or_none() {
        for _ in 0..100 {
            let (coordinator, watch) = (RunCoordinator::new(2, &plan()), Watch::new());
            std::thread::scope(|scope| {
                let other = scope.spawn(|| coordinator.wait_at_barrier(5, 1, &watch));
                let mine = coordinator.wait_at_barrier(7, 1, &watch);
                // The run is stopped after one worker has begun, while the other is waking up.
                watch.stop();
                assert_eq!((mine, other.join().unwrap()), (Some(7 + WAKING_UP_NS), mine));
            });
        }
    }
}
