//! The load generator's own lateness and cost.

use plimsoll_client::operation::Cause;
use plimsoll_model::add_fields;
use plimsoll_stats::Times;
use serde::{Deserialize, Serialize};

use super::lateness::Lateness;
use super::session_requests::SessionRequests;
use super::tally::{Answered, Unanswered};
use crate::network::RoundTrip;

/// How well the load generator itself kept up, in the measured phase except where a field says otherwise.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Generator {
    /// CPU time of each worker.
    pub workers: Vec<WorkerCpu>,
    /// Answered requests.
    pub answered: Answered,
    /// Unanswered requests.
    pub unanswered: Unanswered,
    /// Schedule lag, ns: delay of planned and timed actions. Waiting for a free slot is not included, because the server causes it.
    pub schedule_lag: Times,
    /// Wake-up lag: from when the kernel had the bytes to when the generator had read them, ns. Empty where the kernel
    /// was not asked.
    pub wake_up_lag: Times,
    /// Effect of the generator's lateness on the measured times.
    pub lateness: Lateness,
    /// The longest time for which a worker did not look for answers, ns; 0 if none was 10 ms or longer.
    #[serde(default)]
    pub longest_stall_ns: u64,
    /// Steal time of this machine, summed over all processors, ns; `None` if the kernel does not report it.
    pub stolen_ns: Option<u64>,
    /// How long the CPU limit of this process's control group stopped it, summed over all processors, ns; `None` without one.
    #[serde(default)]
    pub throttled_ns: Option<u64>,
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
    /// From the end of the measured phase until the last iteration that was due in it had ended or was given up, ns.
    #[serde(default)]
    pub overtime_ns: u64,
    /// Actions that had no answer in time, whole run.
    pub overdue: u64,
    /// Answers that belonged to no request, whole run.
    pub unmatched_responses: u64,
    /// Requests that a lease made unnecessary, whole run.
    pub requests_avoided: u64,
    /// Connections closed without logging off, because the time for that was over, whole run.
    pub left_rudely: u64,
    /// No server sent anything during the drain, although actions were outstanding.
    #[serde(default)]
    pub servers_hang: bool,
    /// Connections that were lost while their session continued on others, whole run.
    #[serde(default)]
    pub channels_lost: u64,
    /// Further connections of sessions that the server did not bind at the first attempt, by attempt, whole run.
    #[serde(default)]
    pub bindings_repeated: u64,
    /// Further connections of sessions that were lost in the load and not bound again, by the cause of the last attempt. A short list: one
    /// entry per cause.
    #[serde(default)]
    pub channels_given_up: Vec<(Cause, u64)>,
    /// The bindings when the run was stopped before the load began; none otherwise.
    #[serde(default)]
    pub bindings_at_stop: Bindings,
    /// Session requests outside of the measured phase.
    #[serde(default)]
    pub session_requests: SessionRequests,
    /// Requests that went out again because the connection that they had gone out on was lost, whole run.
    #[serde(default)]
    pub sent_again: u64,
}

impl Generator {
    /// Adds another worker's counts. Rates, CPU and granularity belong to the run, not to a worker.
    pub(super) fn add(&mut self, other: &Generator) {
        self.schedule_lag.merge(&other.schedule_lag);
        self.wake_up_lag.merge(&other.wake_up_lag);
        self.lateness.merge(&other.lateness);
        // Each worker read the same counter of the whole machine.
        self.stolen_ns = self.stolen_ns.max(other.stolen_ns);
        self.throttled_ns = self.throttled_ns.max(other.throttled_ns);
        self.round_trips.merge(&other.round_trips);
        self.answered.requests += other.answered.requests;
        self.answered.due_before += other.answered.due_before;
        self.answered.read_bytes += other.answered.read_bytes;
        self.answered.written_bytes += other.answered.written_bytes;
        self.unanswered.add(&other.unanswered);
        add_fields!(self, other;
            planned, late_starts, never_sent, sent_again, overdue, unmatched_responses, requests_avoided, left_rudely,
            channels_lost, bindings_repeated
        );
        other.channels_given_up.iter().for_each(|&(cause, count)| self.give_up_channels(cause, count));
        add_fields!(self.bindings_at_stop, other.bindings_at_stop; channels, unbound);
        self.longest_stall_ns = self.longest_stall_ns.max(other.longest_stall_ns);
        self.overtime_ns = self.overtime_ns.max(other.overtime_ns);
        self.session_requests.add(&other.session_requests);
        // The workers of a process agree.
        self.servers_hang |= other.servers_hang;
    }

    /// Further connections of sessions were given up.
    pub(super) fn give_up_channels(&mut self, cause: Cause, count: u64) {
        match self.channels_given_up.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, sum)) => *sum += count,
            None => self.channels_given_up.push((cause, count)),
        }
    }
}

/// Connections of sessions that may have several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bindings {
    /// Connections of sessions that are up, existing or planned.
    pub channels: u64,
    /// Those of them that are not bound.
    pub unbound: u64,
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
    /// Adds the round trips of another connection.
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

/// CPU time and run-queue wait of a worker thread in the measured phase. Busy-polling before a start is counted separately, because a
/// busier worker polls less.
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
    /// Fraction of one core without busy-polling, 0 to 1.
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
