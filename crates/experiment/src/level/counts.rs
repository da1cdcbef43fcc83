//! Converts workers' counts of a level for reports, besides its transactions.

use std::collections::BTreeMap;

use plimsoll_client::operation::Cause;
use plimsoll_drive::engine::{self, ClientTally, ConnectionFailure, IterationTally, WorkerCpu};
use plimsoll_report::collect::run::Answered;
use plimsoll_report::collect::times_of;
use plimsoll_report::findings::{CONNECTION_ATTEMPT, KEPT_OPERATIONS, LOST_CONNECTION};
use plimsoll_report::findings::{
    Fairness, Generator, IterationKind, OUTSIDE_THE_PHASE, OutsidePhase, RoundTrip, SessionRequests, Times,
};
use plimsoll_stats::curve::ClientTotals;

use crate::lateness;
use crate::validity::{Level, could_not_connect, is_of_this_machine};

/// The iterations of one kind; the caller knows its name.
pub(crate) fn iteration_kind(tally: &IterationTally) -> IterationKind {
    let seconds = |sum_ns: u64, of: u64| (of > 0).then(|| sum_ns as f64 / of as f64 / 1e9);
    IterationKind {
        name: String::new(),
        ended: tally.ended,
        unended: tally.unended,
        failed: tally.failed,
        late: tally.late,
        late_from_before: tally.late_from_before,
        mean_s: seconds(tally.duration_sum_ns, tally.ended),
        overrun_mean_s: seconds(tally.overrun_sum_ns, tally.late),
        overrun_max_s: (tally.late > 0).then_some(tally.overrun_max_ns as f64 / 1e9),
    }
}

/// Session requests outside of the measured phase, in the order of their first use.
pub(crate) fn session_requests(counted: &engine::SessionRequests) -> Vec<SessionRequests> {
    let mut all: Vec<SessionRequests> = Vec::new();
    let phases = [&counted.before, &counted.after];
    for (after, tally) in
        phases.into_iter().enumerate().flat_map(|(at, tallies)| tallies.iter().map(move |one| (at > 0, one)))
    {
        let seconds = |ns: f64| ns / 1e9;
        let outside = OutsidePhase {
            requests: tally.requests,
            errors: tally.errors,
            unanswered: tally.unanswered,
            response_mean_s: tally.responses.mean_ns().map(seconds),
            response_max_s: tally.responses.max_ns().map(|ns| seconds(ns as f64)),
        };
        let known = all.iter().position(|one| one.procedure == tally.procedure);
        let at = known.unwrap_or_else(|| {
            all.push(SessionRequests { procedure: tally.procedure.clone(), ..SessionRequests::default() });
            all.len() - 1
        });
        if let Some(row) = all.get_mut(at) {
            *(if after { &mut row.after } else { &mut row.before }) = outside;
        }
    }
    all
}

/// Whether the load generator kept up, as far as numbers tell.
pub(crate) fn keeping_up(level: &Level<'_>) -> Generator {
    let generator = level.generator;
    let cpu = |worker: &WorkerCpu| (worker.user_ns + worker.system_ns) as f64 / 1e9;
    let cpu_s: f64 = generator.workers.iter().map(cpu).sum();
    let polled_s: f64 = generator.workers.iter().map(|worker| worker.polled_ns as f64 / 1e9).sum();
    let elapsed_s: f64 = generator.workers.iter().map(|worker| worker.elapsed_ns as f64 / 1e9).sum();
    Generator {
        cpu_s,
        cpu_share: if elapsed_s > 0.0 { cpu_s / elapsed_s } else { 0.0 },
        cpu_per_operation_s: None,
        polling_share: (elapsed_s > 0.0).then(|| polled_s / elapsed_s),
        schedule_lag: times_of(&generator.schedule_lag),
        wake_up_lag: times_of(&generator.wake_up_lag),
        clock_granularity_s: (generator.clock_granularity_ns > 0).then(|| generator.clock_granularity_ns as f64 / 1e9),
        round_trip: generator.round_trips.summary().map(|found| RoundTrip {
            least_s: found.least_ns as f64 / 1e9,
            smoothed_s: found.smoothed_ns as f64 / 1e9,
        }),
        never_sent: generator.never_sent,
        unmatched_responses: generator.unmatched_responses,
        requests_avoided: generator.requests_avoided,
        channels_lost: generator.channels_lost,
        bindings_repeated: generator.bindings_repeated,
        channels_given_up: generator.channels_given_up.iter().map(|(_, count)| count).sum(),
        sent_again: generator.sent_again,
        run_delay_s: lateness::run_delay_s(level),
        stolen_s: generator.stolen_ns.map(|ns| ns as f64 / 1e9),
        late_requests: (generator.lateness.unstamped == 0).then_some(generator.lateness.requests),
        moved: lateness::judge(level).moved_numbers(),
    }
}

/// The server's work in the measured phase.
pub(crate) fn answered_in_it(generator: &engine::Generator) -> Answered {
    let engine::Answered { requests, read_bytes, written_bytes, .. } = generator.answered;
    Answered { requests, read_bytes, written_bytes }
}

/// How the server shared itself among the clients: iterations of each, over their mean. `attributable`: clients of different threads can be
/// compared. Where most of the differences come from clients that could not connect, they are the server's in any case.
pub(crate) fn fairness(clients: &[ClientTally], attributable: bool) -> Fairness {
    let count = clients.len() as f64;
    let iterations = || clients.iter().map(|client| client.iterations as f64);
    let mean = iterations().sum::<f64>() / count;
    let starved = clients.iter().filter(|client| client.iterations == 0).count() as u64;
    let left_out = left_out(clients);
    let clients = clients.len() as u64;
    if clients == 0 || mean == 0.0 {
        return Fairness { clients, starved, attributable, ..Fairness::default() };
    }
    let squares: f64 = iterations().map(|iterations| iterations * iterations).sum();
    let spread = squares_of_differences(iterations()) / (count - 1.0);
    Fairness {
        clients,
        starved,
        attributable: attributable || left_out,
        min: iterations().reduce(f64::min).map(|iterations| iterations / mean),
        max: iterations().reduce(f64::max).map(|iterations| iterations / mean),
        stddev: (clients > 1).then(|| spread.sqrt() / mean),
        jain: Some((mean * count).powi(2) / (count * squares)),
    }
}

/// Whether clients that ended no iteration because they could not connect make at least half of the differences between clients.
fn left_out(clients: &[ClientTally]) -> bool {
    let could_not = |client: &ClientTally| {
        client.iterations == 0 && client.connection_failures.iter().any(|failure| !failure.was_up)
    };
    let all = clients.iter().map(|client| client.iterations as f64);
    let others = clients.iter().filter(|client| !could_not(client)).map(|client| client.iterations as f64);
    let any = clients.iter().any(could_not);
    any && squares_of_differences(others) <= squares_of_differences(all) / 2.0
}

/// Sum of the squares of the differences from the mean.
fn squares_of_differences(of: impl Iterator<Item = f64> + Clone) -> f64 {
    let mean = of.clone().sum::<f64>() / of.clone().count() as f64;
    of.map(|one| (one - mean).powi(2)).sum()
}

/// A client's actions, errors and mean response time.
pub(crate) fn share(client: &ClientTally) -> ClientTotals {
    let responses = &client.responses;
    let error_ns = responses.stddev_ns().map(|stddev| stddev / (responses.count() as f64).sqrt());
    ClientTotals {
        client_index: client.client_index,
        thread: client.worker,
        iterations: client.iterations,
        actions: client.actions,
        errors: client.error_count(),
        mean_s: responses.mean_ns().unwrap_or(0.0) / 1e9,
        // A single response time has no scatter.
        error_s: error_ns.unwrap_or(f64::INFINITY) / 1e9,
    }
}

/// Maximum difference between threads in the fraction of time that they waited for a processor, and in mean wake-up lag relative to the
/// mean response time: half of the difference of an outlier.
const ALIKE: f64 = 0.05;

/// Whether the threads that made the load were equally on time, as far as anybody can tell: then clients of different threads can be
/// compared.
pub(crate) fn alike(generator: &engine::Generator, response: Option<Times>) -> bool {
    let workers = &generator.workers;
    let within = |values: Vec<Option<f64>>, limit: f64| {
        let known: Option<Vec<f64>> = values.into_iter().collect();
        known.is_some_and(|known| {
            let (low, high) = known.iter().fold((f64::MAX, 0.0_f64), |(low, high), &one| (low.min(one), high.max(one)));
            high - low <= limit
        })
    };
    let waited = |worker: &WorkerCpu| Some(worker.run_delay_ns? as f64 / worker.elapsed_ns.max(1) as f64);
    let woken = |worker: &WorkerCpu| Some(worker.wake_up_ns? as f64 / 1e9);
    // Clients that block read no sockets.
    let blocking = workers.iter().all(|worker| worker.wake_up_ns.is_none());
    let as_late = |times: Times| blocking || within(workers.iter().map(woken).collect(), ALIKE * times.mean_s);
    workers.len() < 2 || within(workers.iter().map(waited).collect(), ALIKE) && response.is_some_and(as_late)
}

/// Failed actions: cause and number.
pub(crate) fn failures(clients: &[ClientTally]) -> Vec<(String, u64)> {
    let mut sums = BTreeMap::new();
    for client in clients {
        for &(cause, count) in &client.errors {
            let of_cause = client.error_statuses.iter().filter(|error| error.cause == cause);
            let in_words: u64 = of_cause.map(|error| error.count).sum();
            // A client that was recorded by an earlier version has no words.
            if count > in_words {
                *sums.entry(cause.label().to_owned()).or_insert(0) += count - in_words;
            }
        }
        for error in &client.error_statuses {
            *sums.entry(error.words.clone()).or_insert(0) += error.count;
        }
        // A failure before or after the measured phase does not affect any number, but is reported.
        for error in &client.errors_outside {
            *sums.entry(format!("{}{OUTSIDE_THE_PHASE}", error.words)).or_insert(0) += error.count;
        }
        for failure in &client.connection_failures {
            let kind = if failure.was_up { LOST_CONNECTION } else { CONNECTION_ATTEMPT };
            let kept = if failure.kept { KEPT_OPERATIONS } else { "" };
            let outside = if failure.measured { "" } else { OUTSIDE_THE_PHASE };
            *sums.entry(format!("{kind}{}{kept}{outside}", failure.cause.label())).or_insert(0) += failure.count;
        }
    }
    sums.into_iter().collect()
}

/// Whether actions or connections failed in the measured phase for a reason that is not the generator's, or before it so that a client made
/// no load; or whether data were wrong. A generator that is late may see an answer only after the timeout; it gets no error status and
/// closes no connection of the server. Unknown locks follow a timeout.
pub(super) fn server_failed(clients: &[ClientTally]) -> bool {
    let late = |cause: Cause| matches!(cause, Cause::TimedOut | Cause::LocksUnknown | Cause::Ended);
    let servers = |cause: Cause| !is_of_this_machine(cause) && !late(cause);
    clients
        .iter()
        .any(|client| failed(client).any(servers) || client.wrong_reads > 0 || client.count_of(Cause::WrongData) > 0)
}

/// That clients failed because this machine lacks ports, open files or memory, or refuses calls: the load was not made, whatever the server.
pub(super) fn machines_fault(clients: &[ClientTally]) -> Option<String> {
    let causes = |client: &ClientTally| failed(client).find(|cause| is_of_this_machine(*cause));
    let cause = clients.iter().find_map(causes)?;
    let count = clients.iter().filter_map(causes).count();
    Some(format!("{count} of {} clients failed, but not by the server: {}", clients.len(), cause.label()))
}

/// Causes of the failures of a client in the measured phase, and before it if the client then made no load.
fn failed(client: &ClientTally) -> impl Iterator<Item = Cause> {
    let unconnected = could_not_connect(client);
    let counts = move |failure: &&ConnectionFailure| failure.measured || unconnected && !failure.was_up;
    let connections = client.connection_failures.iter().filter(counts).map(|failure| failure.cause);
    client.errors.iter().map(|(cause, _)| *cause).chain(connections)
}

#[cfg(test)]
mod tests {
    use plimsoll_drive::engine::ErrorCount;

    use super::*;

    /// Of 1 to 5 ms: the sample's deviation is √2.5 ms, the population's √2 ms; of one value there is none.
    #[test]
    fn deviations_are_those_of_samples() {
        let mut generator = engine::Generator::default();
        let mut client = ClientTally::default();
        let mut take = |generator: &mut engine::Generator, ms: i64| {
            generator.schedule_lag.record(ms * 1_000_000);
            client.responses.record(ms.unsigned_abs() * 1_000_000);
            let level = Level {
                generator,
                clients: &[],
                users: false,
                pauses: false,
                unended: 0,
                response: None,
                status: None,
                seconds: 1.0,
                slots: 1,
                processors: 1,
            };
            (keeping_up(&level), share(&client))
        };
        let (one, alone) = take(&mut generator, 1);
        let lag = one.schedule_lag.unwrap();
        assert_eq!((lag.count, lag.mean_s, lag.stddev_s, alone.error_s), (1, 0.001, None, f64::INFINITY));
        assert!(one.wake_up_lag.is_none());
        let (all, together) = (2..=5).map(|ms| take(&mut generator, ms)).last().unwrap();
        let lag = all.schedule_lag.unwrap();
        let near = |found: f64, exact: f64| (found / exact - 1.0).abs() < 1e-12;
        assert!(near(lag.stddev_s.unwrap(), 2.5f64.sqrt() / 1e3) && near(lag.mean_s, 0.003), "{lag:?}");
        // The third of five is the median, to 0.1 %.
        assert!((lag.p50_s / 0.003 - 1.0).abs() <= 1e-3, "{lag:?}");
        assert!(near(together.error_s, 0.5f64.sqrt() / 1e3) && near(together.mean_s, 0.003), "{together:?}");
    }

    #[test]
    fn fairness_of_equals_and_of_one_who_has_all() {
        let clients = |iterations: &[u64]| -> Vec<ClientTally> {
            iterations.iter().map(|&iterations| ClientTally { iterations, ..ClientTally::default() }).collect()
        };
        let equal = fairness(&clients(&[5, 5, 5, 5]), true);
        assert_eq!((equal.jain, equal.min, equal.max, equal.stddev), (Some(1.0), Some(1.0), Some(1.0), Some(0.0)));
        let one = fairness(&clients(&[8, 0, 0, 0]), true);
        assert_eq!((one.jain, one.starved, one.max), (Some(0.25), 3, Some(4.0)));
        assert_eq!(fairness(&clients(&[0, 0]), true).jain, None);
        assert_eq!(fairness(&[], true).clients, 0);
    }

    #[test]
    fn clients_that_could_not_connect_are_no_fault_of_the_generator() {
        let refused =
            ConnectionFailure { cause: Cause::ConnectionReset, was_up: false, measured: false, kept: false, count: 11 };
        let attributable = |iterations: &[u64], failures: &[ConnectionFailure]| {
            let failures_of = |iterations: u64| if iterations == 0 { failures.to_vec() } else { Vec::new() };
            let clients: Vec<ClientTally> = iterations
                .iter()
                .map(|&iterations| ClientTally {
                    iterations,
                    connection_failures: failures_of(iterations),
                    ..ClientTally::default()
                })
                .collect();
            fairness(&clients, false).attributable
        };
        let few = [100, 98, 103, 0, 0, 0, 0, 0, 0, 0];
        assert!(attributable(&few, &[refused]));
        assert!(!attributable(&few, &[]), "they were connected");
        assert!(!attributable(&few, &[ConnectionFailure { was_up: true, ..refused }]), "they were connected and lost");
        assert!(!attributable(&[900, 10, 20, 950, 15, 870, 0], &[refused]), "the others differ as well");
    }

    #[test]
    fn failures_with_an_error_status_name_it() {
        let full =
            || ErrorCount { cause: Cause::Status, words: "error status: NFS3ERR_NOSPC, WRITE".to_owned(), count: 2 };
        let errors = vec![(Cause::Status, 3), (Cause::TimedOut, 1)];
        let client = |errors_outside| ClientTally {
            errors: errors.clone(),
            error_statuses: vec![full()],
            errors_outside,
            ..ClientTally::default()
        };
        let found = failures(&[client(vec![full()]), client(Vec::new())]);
        let found: Vec<(&str, u64)> = found.iter().map(|(cause, count)| (cause.as_str(), *count)).collect();
        assert_eq!(
            found,
            [
                ("error status", 2),
                ("error status: NFS3ERR_NOSPC, WRITE", 4),
                ("error status: NFS3ERR_NOSPC, WRITE (not in the measured phase)", 2),
                ("timed out", 2),
            ]
        );
    }

    #[test]
    fn a_late_generator_closes_no_connection_of_the_server() {
        let failed = |errors: &[(Cause, u64)], lost: Option<(Cause, bool)>| {
            let failure =
                |(cause, measured)| ConnectionFailure { cause, was_up: true, measured, kept: false, count: 1 };
            let connection_failures = lost.map(failure).into_iter().collect();
            server_failed(&[ClientTally { errors: errors.to_vec(), connection_failures, ..ClientTally::default() }])
        };
        assert!(failed(&[(Cause::Status, 1)], None) && failed(&[], Some((Cause::ConnectionClosed, true))));
        assert!(failed(&[(Cause::TimedOut, 9)], Some((Cause::ConnectionRefused, true))));
        assert!(!failed(&[(Cause::TimedOut, 9)], Some((Cause::OutOfResources, true))));
        assert!(!failed(&[(Cause::TimedOut, 9), (Cause::LocksUnknown, 2)], None), "they follow the timeouts");
        assert!(!failed(&[], Some((Cause::ConnectionReset, false))), "not in the measured phase");
    }

    #[test]
    fn a_lack_of_this_machine_is_no_failure_of_the_server() {
        let failure = |cause| ConnectionFailure { cause, was_up: false, measured: false, kept: false, count: 10 };
        let client = |cause| ClientTally { connection_failures: vec![failure(cause)], ..ClientTally::default() };
        let (without, refused) = (client(Cause::OutOfResources), client(Cause::LogonRefused));
        let connected = ClientTally { connected: true, ..without.clone() };
        let said = "2 of 3 clients failed, but not by the server: this machine ran out of ports, open files or memory";
        let clients = [without.clone(), without.clone(), refused.clone()];
        assert_eq!(machines_fault(&clients).as_deref(), Some(said));
        assert_eq!(machines_fault(&[refused, connected]), None, "another attempt succeeded");
        let errors = vec![(Cause::OutOfResources, 1)];
        let in_the_phase = ClientTally { actions: 9, errors, ..ClientTally::default() };
        assert!(machines_fault(std::slice::from_ref(&in_the_phase)).is_some() && !server_failed(&[in_the_phase]));
    }

    #[test]
    fn a_late_generator_refuses_no_logon_and_returns_no_wrong_data() {
        let refused = |cause| ConnectionFailure { cause, was_up: false, measured: false, kept: false, count: 1 };
        let client = |cause| ClientTally { connection_failures: vec![refused(cause)], ..ClientTally::default() };
        assert!(server_failed(&[client(Cause::LogonRefused)]));
        assert!(!server_failed(&[client(Cause::OutOfResources)]));
        let connected = ClientTally { connected: true, ..client(Cause::ConnectionReset) };
        assert!(!server_failed(&[connected]), "another attempt succeeded");
        assert!(server_failed(&[ClientTally { wrong_reads: 1, ..ClientTally::default() }]));
    }
}
