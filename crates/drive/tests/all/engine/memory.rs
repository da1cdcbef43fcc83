//! Runs over memory.

use plimsoll_drive::engine::{EngineError, EngineResult, Plan, Watch, run_on};
use plimsoll_drive::network::ConnectionKey;
use plimsoll_drive::network::memory::{Accept, Delivery, Memory, Reply, Server};
use plimsoll_model::Transaction;
use plimsoll_workload::Phases;

use super::toy::{Toys, answer, head};

pub(crate) const MS: i64 = 1_000_000;
pub(crate) const S: i64 = 1_000_000_000;
/// When every clock starts, ns since the Unix epoch.
pub(crate) const START: i64 = 1_700_000_000 * S;

/// Answers requests one after the other, each after `latency` (of its arrival time).
pub(crate) struct ToyServer<L> {
    bytes: Vec<u8>,
    latency: L,
}

impl<L: FnMut(i64) -> i64 + Send> ToyServer<L> {
    pub(crate) fn new(latency: L) -> Self {
        Self { bytes: Vec::new(), latency }
    }
}

impl<L: FnMut(i64) -> i64 + Send> Server for ToyServer<L> {
    fn received(&mut self, at: i64, bytes: &[u8], replies: &mut Vec<Reply>) {
        self.bytes.extend_from_slice(bytes);
        while let Some((length, id, word)) = head(&self.bytes).filter(|(length, ..)| self.bytes.len() >= *length) {
            self.bytes.drain(..length);
            let latency = (self.latency)(at);
            replies.extend(answer(id, word).map(|bytes| Reply { at: at + latency, what: Delivery::Bytes(bytes) }));
        }
    }
}

/// A network in which every connection is served with the same latency.
pub(crate) fn steady(latency: i64) -> Memory {
    Memory::new(START, move |_, _, _| Accept::Serve(Box::new(ToyServer::new(move |_| latency)), 0))
}

/// Phases in ms: warm-up, measured, drain.
pub(crate) fn phases(warmup: u64, measured: u64, drain: u64) -> Phases {
    let ms = MS as u64;
    Phases { connect_ns: 10_000 * ms, warmup_ns: warmup * ms, measured_ns: Some(measured * ms), drain_ns: drain * ms }
}

pub(crate) type Over = EngineResult<Vec<Transaction>>;

pub(crate) fn try_over(plan: &Plan, toys: &Toys, net: impl Fn(u32) -> Memory + Sync) -> Result<Over, EngineError> {
    run_on(plan, toys, |_| Vec::new(), &Watch::new(), |worker| Ok(net(worker)), None)
}

/// Runs over memory, and checks what holds for every run.
pub(crate) fn over(plan: &Plan, toys: &Toys, net: impl Fn(u32) -> Memory + Sync) -> Over {
    let ran = try_over(plan, toys, net).unwrap();
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(count(&toys.seen.begun), count(&toys.seen.done), "everything begun is done, once");
    assert_eq!(ran.clients.len(), plan.load.clients() as usize);
    ran
}

/// A door that serves as `serve` says.
pub(crate) fn door(serve: impl FnMut(ConnectionKey, u32, i64) -> Accept + Send + 'static) -> Memory {
    Memory::new(START, serve)
}

/// Every transaction, in the order in which they were intended.
pub(crate) fn all(ran: &Over) -> Vec<Transaction> {
    let mut all: Vec<Transaction> = ran.sinks.iter().flatten().cloned().collect();
    all.sort_by_key(|transaction| (transaction.timeline.intended, transaction.connection, transaction.id));
    all
}
