//! Starts that are on time though the system wakes sleepers late: workers are awake before, and only then.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use plimsoll_drive::engine::{Plan, Watch, run_on};
use plimsoll_drive::network::memory::Memory;
use plimsoll_drive::network::{ConnectionKey, Network, Ready, Received, Take};
use plimsoll_workload::{Arrivals, Load, Pause};

use super::memory::{MS, Over, all, over, phases, steady};
use super::toy::{Do, Toys};

const ITERATION: [Do; 2] = [Do::Null, Do::IterationOver];
/// How late a sleeper is woken, ns.
const LATE: i64 = 130_000;
/// The longest that a worker may be awake for one start, ns.
const LONGEST: i64 = 200_000;

/// Periods in which a worker was awake, at most.
type Polls = Arc<Mutex<Vec<(i64, i64)>>>;

/// A memory network whose sleeping threads wake up late, as on an idle processor. Events wake them at once.
struct Sleepy {
    net: Memory,
    polls: Polls,
}

impl Network for Sleepy {
    fn now(&mut self) -> i64 {
        self.net.now()
    }

    fn connect(&mut self, key: ConnectionKey, to: SocketAddr) -> io::Result<()> {
        self.net.connect(key, to)
    }

    fn local(&self, key: ConnectionKey) -> io::Result<SocketAddr> {
        self.net.local(key)
    }

    fn send(&mut self, key: ConnectionKey, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.net.send(key, slices)
    }

    fn receive(&mut self, key: ConnectionKey, buffer: &mut [u8], take: Take) -> io::Result<Received> {
        self.net.receive(key, buffer, take)
    }

    fn discard(&mut self, key: ConnectionKey, count: usize) -> io::Result<Received> {
        self.net.discard(key, count)
    }

    fn want_writable(&mut self, key: ConnectionKey, wanted: bool) -> io::Result<()> {
        self.net.want_writable(key, wanted)
    }

    fn wait(&mut self, until: Option<i64>, ready: &mut Vec<Ready>) -> io::Result<()> {
        let slept = until.is_none_or(|until| until > self.net.now());
        self.net.wait(until, ready)?;
        if slept && ready.is_empty() {
            let woken = self.net.now() + LATE;
            self.net.wait(Some(woken), ready)?;
        }
        Ok(())
    }

    fn poll(&mut self, until: i64, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.polls.lock().unwrap().push((self.net.now(), until));
        self.net.wait(Some(until), ready)
    }

    fn close(&mut self, key: ConnectionKey) {
        self.net.close(key);
    }
}

/// Runs on a memory network with late wake-ups; returns the polling periods.
fn sleepy(plan: &Plan, latency: i64) -> (Over, Vec<(i64, i64)>) {
    let (toys, polls) = (Toys::new(&ITERATION), Polls::default());
    let net = |_| Ok(Sleepy { net: steady(latency), polls: Arc::clone(&polls) });
    let ran = run_on(plan, &toys, |_| Vec::new(), &Watch::new(), net, None).unwrap();
    let polls = std::mem::take(&mut *polls.lock().unwrap());
    (ran, polls)
}

fn plan(load: Load) -> Plan {
    Plan { threads: 1, phases: phases(20, 200, 50), level: 3, ..Plan::new(load) }
}

fn open(clients: u32) -> Plan {
    plan(Load::Open { clients, rate: 500.0, arrivals: Arrivals::Poisson })
}

/// Connection, and the instants, of every request.
fn requests(ran: &Over) -> Vec<(u32, [Option<i64>; 3])> {
    let instants = |t: &plimsoll_model::Timeline| [t.intended, t.request_first, t.response_last];
    all(ran).iter().map(|t| (t.connection, instants(&t.timeline))).collect()
}

#[test]
fn starts_are_on_time_and_everything_is_as_if_nobody_slept() {
    // Answers come during sleep, during polling, and together with starts.
    for latency in [50_000, 300_000, MS, 2 * MS, 7 * MS] {
        let (ran, polls) = sleepy(&open(20), latency);
        let lag = &ran.generator.schedule_lag;
        assert_eq!(
            (lag.moments().count(), lag.moments().max_ns()),
            (ran.generator.planned, Some(0)),
            "answers after {latency} ns"
        );
        let (requests, idle_inhibitor) =
            (requests(&ran), requests(&over(&open(20), &Toys::new(&ITERATION), |_| steady(latency))));
        let differs = requests.iter().zip(&idle_inhibitor).find(|(one, other)| one != other);
        assert_eq!((differs, requests.len()), (None, idle_inhibitor.len()), "answers after {latency} ns");
        assert!(polls.len() as u64 > ran.generator.planned / 2, "{} of {}", polls.len(), ran.generator.planned);
        let too_long = polls.iter().find(|(from, until)| until - from > LONGEST);
        assert_eq!(too_long, None);
        let starts: Vec<i64> = all(&ran).iter().filter_map(|t| t.timeline.intended).collect();
        let for_nothing = polls.iter().find(|(_, until)| starts.binary_search(until).is_err());
        assert_eq!(for_nothing, None, "nobody is awake but for a start");
    }
}

#[test]
fn workers_that_share_a_core_sleep_and_are_late() {
    let cores = std::thread::available_parallelism().unwrap().get() as u32;
    let crowd = Plan { threads: cores + 1, ..open(cores + 1) };
    let (ran, polls) = sleepy(&crowd, 50_000);
    assert_eq!(polls, []);
    // A worker that is busy with another start is not late for the next.
    let lag = ran.generator.schedule_lag;
    assert!(
        lag.moments().max_ns() == Some(LATE as u64) && lag.percentile_ns(50.0) >= Some(LATE as u64 - 1_000),
        "{lag:?}"
    );
}

#[test]
fn nobody_is_awake_where_nothing_is_scheduled() {
    let closed = |think| plan(Load::Closed { clients: 4, think });
    assert_eq!(sleepy(&closed(Pause::None), MS).1, []);
    let (ran, polls) = sleepy(&closed(Pause::Constant(5 * MS as u64)), MS);
    assert!(!polls.is_empty());
    assert_eq!(ran.generator.schedule_lag.moments().max_ns(), Some(0));
}
