//! What a run brought.

use plimsoll_client::operation::Cause;
use plimsoll_model::{Group, Transaction};
use plimsoll_stats::{Moments, Times};
use serde::{Deserialize, Serialize};

use super::encoded;
use super::lateness::Lateness;
use super::worker::WorkerResult;
use crate::network::RoundTrip;
use crate::simulated_client::silence::Gap;

/// What a run brought.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EngineResult<S> {
    /// The sinks, in the order of the workers.
    pub sinks: Vec<S>,
    /// Every client, in order.
    pub clients: Vec<ClientTally>,
    /// Iterations by kind, as [`plimsoll_workload::scenario::Scenario::kind`] numbers them.
    pub iterations: Vec<IterationTally>,
    /// How well the load generator itself kept up.
    pub generator: Generator,
    /// Begin and end of the measured phase, ns since the Unix epoch. Equal where it was stopped before it began.
    pub measured: (i64, i64),
    /// Times without an answer that all workers share.
    pub gaps: Vec<Gap>,
    /// Times of 10 ms or more in the measured phase without any answer, although a request was outstanding or due: from, to, ns since
    /// the Unix epoch, in their order.
    pub silences: Vec<(i64, i64)>,
    /// Somebody stopped it before its time.
    pub stopped: bool,
}

impl<S> EngineResult<S> {
    /// The sinks, and all else.
    pub fn split(mut self) -> (Vec<S>, EngineResult<()>) {
        let sinks = std::mem::take(&mut self.sinks);
        let Self { clients, iterations, generator, measured, gaps, silences, stopped, .. } = self;
        (sinks, EngineResult { sinks: Vec::new(), clients, iterations, generator, measured, gaps, silences, stopped })
    }
}

/// What one worker has so far ([`run_with_checkpoints`](super::run_with_checkpoints)).
#[derive(Clone, Debug)]
pub struct Part(pub(super) WorkerResult<()>);

/// One client. Unless told otherwise it counts actions that belong to the measured phase: intended within it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientTally {
    /// Which one, from 0.
    pub client_index: u32,
    /// The worker that ran it: its place in [`Generator::workers`].
    pub worker: u32,
    /// Iterations that ended in the measured phase.
    pub iterations: u64,
    /// Actions that succeeded.
    pub actions: u64,
    /// Those of them that sent no request, as the client knew the answer: they cannot fail.
    pub without_request: u64,
    /// Actions that did not succeed, by what happened. Few kinds.
    pub errors: Vec<(Cause, u64)>,
    /// The same outside of the measured phase (connecting, warm-up, drain).
    pub errors_outside: Vec<(Cause, u64)>,
    /// Connections that were lost or could not be made: no actions, whatever was outstanding on them. Few kinds.
    pub connection_failures: Vec<ConnectionFailure>,
    /// File data read and written, bytes.
    pub payload_bytes: u64,
    /// Reads that succeeded; those of scenarios that know what comes back are not here, nor below.
    pub reads: u64,
    /// Those that returned fewer bytes than asked for, but some.
    pub short_reads: u64,
    /// Those that returned nothing.
    pub empty_reads: u64,
    /// Response times of the actions that succeeded: from when an operation was begun to its last answer.
    #[serde(with = "encoded::moments")]
    pub responses: Moments,
    /// Iterations of its own schedule that were due in the measured phase (partly open load).
    pub due_iterations: u64,
    /// Iterations that were due and found no slot free (partly open load), in the measured phase.
    pub late_iterations: u64,
    /// Times a connection was made again after a loss, whole run.
    pub reconnects: u64,
    /// It was logged on when the measured phase ended.
    pub connected: bool,
}

/// Connections of a client that were lost or could not be made for the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionFailure {
    /// What happened.
    pub cause: Cause,
    /// It was there and is lost; else it could not be made.
    pub was_up: bool,
    /// It happened in the measured phase.
    pub measured: bool,
    /// How often.
    pub count: u64,
}

impl ClientTally {
    /// It got nothing done in the measured phase.
    #[must_use]
    pub fn starved(&self) -> bool {
        self.actions == 0
    }

    /// Connections that failed in the measured phase: attempts, and those that were lost.
    #[must_use]
    pub fn connections_failed(&self) -> [u64; 2] {
        [false, true].map(|was_up| {
            let of = self.connection_failures.iter().filter(|one| one.measured && one.was_up == was_up);
            of.map(|one| one.count).sum()
        })
    }

    /// Actions of the measured phase that asked the server, whatever it answered.
    #[must_use]
    pub fn asked(&self) -> u64 {
        self.actions.saturating_sub(self.without_request) + self.error_count()
    }

    /// Actions of the measured phase that failed.
    #[must_use]
    pub fn error_count(&self) -> u64 {
        self.errors.iter().map(|(_, count)| count).sum()
    }
}

/// The iterations of one kind that were due in the measured phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationTally {
    /// Those that ended.
    pub ended: u64,
    /// Those that were begun and had not ended when the drain was over.
    pub unended: u64,
    /// Those of which an operation failed.
    pub failed: u64,
    /// Those that ended after the user's next one was due (partly open load only).
    pub late: u64,
    /// Late ones that had begun late, because the one before had not ended.
    pub late_from_before: u64,
    /// Sum of the times from due to ended, ns.
    pub duration_sum_ns: u64,
    /// How long after the user's next one was due they ended: sum over the late ones, ns.
    pub overrun_sum_ns: u64,
    /// The longest of these, ns.
    pub overrun_max_ns: u64,
}

impl IterationTally {
    /// Adds those of another part of the run.
    pub fn add(&mut self, other: &IterationTally) {
        self.ended += other.ended;
        self.unended += other.unended;
        self.failed += other.failed;
        self.late += other.late;
        self.late_from_before += other.late_from_before;
        self.duration_sum_ns = self.duration_sum_ns.saturating_add(other.duration_sum_ns);
        self.overrun_sum_ns = self.overrun_sum_ns.saturating_add(other.overrun_sum_ns);
        self.overrun_max_ns = self.overrun_max_ns.max(other.overrun_max_ns);
    }
}

/// What a server did in the measured phase: requests that users ask for, answered in it, whenever they were meant. (A
/// transaction's stage goes by when it was meant: of a server that falls behind, much of that comes after the phase.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// How many.
    pub requests: u64,
    /// File data read, bytes.
    pub read_bytes: u64,
    /// File data written, bytes.
    pub written_bytes: u64,
}

impl Answered {
    /// Counts a request that was answered in the phase.
    pub(crate) fn count(&mut self, transaction: &Transaction) {
        let row = transaction.procedure.row();
        if transaction.long_lived || !row.is_asked_for() {
            return;
        }
        self.requests += 1;
        let bytes = transaction.moved_bytes().unwrap_or(0);
        match row.group {
            Group::Read => self.read_bytes += bytes,
            Group::Write => self.written_bytes += bytes,
            _ => {}
        }
    }
}

/// Actions meant for the measured phase that had no answer, and how long they had waited when they were given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unanswered {
    /// How many.
    pub count: u64,
    /// The longest wait since the operation was begun, ns.
    pub longest_ns: u64,
    /// The longest wait since the operation was meant to begin, ns.
    pub longest_from_intended_ns: u64,
}

impl Unanswered {
    /// Adds those of another worker.
    pub(crate) fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.longest_from_intended_ns = self.longest_from_intended_ns.max(other.longest_from_intended_ns);
    }
}

/// How well the load generator itself kept up. Of the measured phase, unless told otherwise.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Generator {
    /// CPU time of each worker.
    pub workers: Vec<WorkerCpu>,
    /// What was answered.
    pub answered: Answered,
    /// What was not.
    pub unanswered: Unanswered,
    /// Schedule lag: how much later than planned the generator got to what a timer or a schedule had planned, ns. Waiting
    /// for a free slot is not in it: that is the server's.
    #[serde(with = "encoded::times")]
    pub schedule_lag: Times,
    /// Wake-up lag: from when the kernel had the bytes to when the generator had read them, ns. Empty where the kernel
    /// was not asked.
    #[serde(with = "encoded::times")]
    pub wake_up_lag: Times,
    /// What the generator's lateness did to the times that it measured.
    pub lateness: Lateness,
    /// Time for which a hypervisor kept this machine's processors from working, over all of them, ns; `None` where nobody says.
    pub stolen_ns: Option<u64>,
    /// Round trips of the connections, as the kernel measured them until the end of the measured phase.
    pub round_trips: RoundTrips,
    /// The smallest step of the clock that was seen, ns.
    pub clock_granularity_ns: u64,
    /// This machine's processors were kept from sleeping.
    pub no_cpu_idle: bool,
    /// Iterations per second that the schedule asked for; `None` in a closed loop.
    pub asked_rate: Option<f64>,
    /// Iterations that the schedule planned for the measured phase.
    pub planned: u64,
    /// Iterations per second that were over in the measured phase.
    pub achieved_rate: f64,
    /// Planned iterations that found no free slot and had to wait.
    pub late_starts: u64,
    /// Planned iterations that were due in the measured phase and not started when the drain ended.
    pub never_sent: u64,
    /// Actions that had no answer in time, whole run.
    pub overdue: u64,
    /// Answers that belonged to no request, whole run.
    pub unmatched_responses: u64,
    /// Requests that a lease made unnecessary, whole run.
    pub requests_avoided: u64,
    /// Connections closed without logging off, because the time for that was over, whole run.
    pub left_rudely: u64,
}

impl Generator {
    /// Adds what another worker counted. Rates, CPU and granularity are of the run, not of a worker.
    pub(super) fn add(&mut self, other: &Generator) {
        self.schedule_lag.merge(&other.schedule_lag);
        self.wake_up_lag.merge(&other.wake_up_lag);
        self.lateness.merge(&other.lateness);
        // Each worker read the same counter of the whole machine.
        self.stolen_ns = self.stolen_ns.max(other.stolen_ns);
        self.round_trips.merge(&other.round_trips);
        self.answered.requests += other.answered.requests;
        self.answered.read_bytes += other.answered.read_bytes;
        self.answered.written_bytes += other.answered.written_bytes;
        self.unanswered.add(&other.unanswered);
        self.planned += other.planned;
        self.late_starts += other.late_starts;
        self.never_sent += other.never_sent;
        self.overdue += other.overdue;
        self.unmatched_responses += other.unmatched_responses;
        self.requests_avoided += other.requests_avoided;
        self.left_rudely += other.left_rudely;
    }
}

/// Round trips of several connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTrips {
    /// Connections that had one.
    connections: u64,
    /// The least of all, ns.
    least_ns: u64,
    /// Sum of the smoothed ones, ns.
    smoothed_sum_ns: u64,
}

impl RoundTrips {
    /// Those of one more connection.
    pub fn add(&mut self, one: RoundTrip) {
        self.merge(&Self { connections: 1, least_ns: one.least_ns, smoothed_sum_ns: one.smoothed_ns });
    }

    fn merge(&mut self, other: &Self) {
        self.least_ns = match (self.connections, other.connections) {
            (0, _) => other.least_ns,
            (_, 0) => self.least_ns,
            _ => self.least_ns.min(other.least_ns),
        };
        self.connections += other.connections;
        self.smoothed_sum_ns = self.smoothed_sum_ns.saturating_add(other.smoothed_sum_ns);
    }

    /// The least of all connections, and the mean of the smoothed ones; `None` where no connection had one.
    #[must_use]
    pub fn summary(&self) -> Option<RoundTrip> {
        let smoothed_ns = self.smoothed_sum_ns.checked_div(self.connections)?;
        Some(RoundTrip { least_ns: self.least_ns, smoothed_ns })
    }
}

/// CPU time that a worker thread took in the measured phase, and how long it waited for it. What it polled, with nothing else to do, because a start was near, is
/// counted by itself: a busier worker polls less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerCpu {
    /// In user space, ns.
    pub user_ns: u64,
    /// In the kernel, ns.
    pub system_ns: u64,
    /// Polled shortly before starts, ns; in neither of the two above.
    pub polled_ns: u64,
    /// How long it measured, ns.
    pub elapsed_ns: u64,
    /// Ready to run, and without a processor, ns; `None` where the system does not say.
    pub run_delay_ns: Option<u64>,
    /// Mean wake-up lag of its receives, ns; `None` where the kernel was not asked.
    pub wake_up_ns: Option<u64>,
}

impl WorkerCpu {
    /// Its share of one core without what it polled, 0 to 1.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { (self.user_ns + self.system_ns) as f64 / self.elapsed_ns as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_of_connections_together() {
        let (mut all, mut part) = (RoundTrips::default(), RoundTrips::default());
        all.merge(&part);
        assert_eq!(all.summary(), None);
        part.add(RoundTrip { least_ns: 20, smoothed_ns: 30 });
        all.merge(&part);
        all.add(RoundTrip { least_ns: 10, smoothed_ns: 50 });
        all.merge(&RoundTrips::default());
        assert_eq!(all.summary(), Some(RoundTrip { least_ns: 10, smoothed_ns: 40 }));
    }
}
