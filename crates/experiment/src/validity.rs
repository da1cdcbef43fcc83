//! Whether a load level's numbers may be used: the gates, each with its threshold. MEASUREMENT.md tells them.

mod input;
mod schedule;

use plimsoll_client::operation::Cause;
use plimsoll_drive::engine::{Answered, ClientTally, ConnectionFailure, WorkerCpu};
use plimsoll_model::Reason;
use plimsoll_report::findings::{FAILED_ACTIONS, MovedNumber, NO_SUCCESS};

use super::lateness::{TOLERANCE, judge, late, run_delay_s, stolen, unknown};
use super::wrong_data::wrong;

pub(super) use input::Level;
pub(super) use schedule::{behind, behind_by_generator, ended_later, long_iterations};

/// A worker thread busier than this share of its core is the bottleneck itself, and so are threads that use this share of all cores.
const CPU: f64 = 0.90;
/// Actions that may fail.
const ERRORS: f64 = 0.01;
/// Maximum fraction of the requests answered in the phase that were due before it.
const MOST_DUE_BEFORE: f64 = 0.5;
/// The clock's step may be this share of the median response time.
const GRANULARITY: f64 = 0.10;

/// Maximum number of accounts in a reason.
const SHOWN_ACCOUNTS: usize = 5;

/// The fault of the load generator; `None` if it kept up.
pub(super) fn generators_fault(level: &Level<'_>) -> Option<String> {
    let late = || [late, stolen].iter().find_map(|gate| gate(level)).map(|reason| reason.text);
    busy(level).or_else(late).or_else(|| coarse(level))
}

/// The numbers if the generator had been on time, provided that lateness is its only fault; `None` if it kept up, or if unknown.
pub(super) fn on_time(level: &Level<'_>) -> Option<Vec<MovedNumber>> {
    let other = busy(level).is_some() || stolen(level).is_some() || coarse(level).is_some();
    (!other && late(level).is_some()).then(|| judge(level).all())
}

/// Reasons against the numbers, those about the server first, because the generator's may follow from them; empty if there are none.
pub(super) fn reasons(level: &Level<'_>) -> Vec<Reason> {
    let gates = [nothing, failing, disconnected, wrong, starving, busy, behind, coarse];
    let of_the_generator = [late, stolen, unknown].into_iter().filter_map(|gate| gate(level));
    let invalid = gates.iter().filter_map(|gate| gate(level)).map(Reason::invalid);
    let partial = ended_later(level).map(Reason::partial);
    invalid.chain(of_the_generator).chain(partial).chain(due_before(level)).collect()
}

/// Reasons against the load generator alone, which show the faulty one of several.
pub(super) fn reasons_of_the_generator(level: &Level<'_>) -> Vec<Reason> {
    let gates = [busy, coarse].into_iter().filter_map(|gate| gate(level)).map(Reason::invalid);
    gates.chain([late, stolen, unknown].into_iter().filter_map(|gate| gate(level))).collect()
}

fn nothing(level: &Level<'_>) -> Option<String> {
    let actions: u64 = level.clients.iter().map(|client| client.actions).sum();
    (actions == 0).then(|| match nothing_due(level) {
        Some(remedy) => format!(
            "no iteration was due in the measured phase ({:.1} s); measure longer with --duration, or use a {remedy}",
            level.seconds
        ),
        None => NO_SUCCESS.to_owned(),
    })
}

/// If no iteration was due, and no action failed or had no response: the option with which more are due.
fn nothing_due(level: &Level<'_>) -> Option<&'static str> {
    let Level { generator, clients, .. } = level;
    let is_up = |client: &ClientTally| client.connected;
    let due: u64 = clients.iter().map(|client| client.due_iterations).sum();
    let (nothing, remedy) = match (level.users, generator.asked_rate) {
        (true, _) => (due == 0, "shorter --every"),
        (false, Some(_)) => (generator.planned == 0, "higher --rate"),
        // A client that gave up its connection waits for nothing.
        (false, None) => (level.pauses && clients.iter().all(is_up), "shorter --think"),
    };
    let has_failed = |client: &ClientTally| client.error_count() + client.count_of(Cause::TimedOut) > 0;
    let failed = generator.unanswered.count > 0 || clients.iter().any(has_failed);
    (nothing && !failed && clients.iter().any(is_up)).then_some(remedy)
}

/// That the client was too busy. Where nothing succeeds, it is busy with failing.
pub(super) fn busy(level: &Level<'_>) -> Option<String> {
    let any = level.clients.iter().any(|client| client.actions > 0);
    let (who, remedy) = busy_thread(level).or_else(|| busy_processors(level)).filter(|_| any)?;
    let limit = CPU * 100.0;
    Some(format!("the load generator is the bottleneck: {who} (limit {limit:.0} %); {remedy}"))
}

/// The thread that was too busy, and the remedy.
fn busy_thread(level: &Level<'_>) -> Option<(String, &'static str)> {
    let most = level.generator.workers.iter().map(WorkerCpu::utilisation).fold(0.0, f64::max);
    let who = || format!("one of its threads was busy {:.0} % of the time", most * 100.0);
    (most > CPU).then(|| (who(), "use more threads, a faster machine, or less load"))
}

/// The same of threads that share processors: they wait for each other, so no single one is busy.
fn busy_processors(level: &Level<'_>) -> Option<(String, &'static str)> {
    let (workers, processors) = (&level.generator.workers, level.processors.max(1));
    let share = workers.iter().map(WorkerCpu::utilisation).sum::<f64>() / processors as f64;
    // A CPU limit of 1.5 processors counts as one: threads that do not wait have more than that.
    let wait = run_delay_s(level).is_none_or(|waited| waited > TOLERANCE * level.seconds * processors as f64);
    let all = if processors == 1 { "its processor".to_owned() } else { format!("its {processors} processors") };
    let threads = workers.len();
    let who = || format!("its {threads} threads used {:.0} % of the time of {all}", share.min(1.0) * 100.0);
    (share > CPU && wait).then(|| (who(), "use a machine with more processors, or less load"))
}

fn failing(level: &Level<'_>) -> Option<String> {
    // Actions without a request cannot fail, and say nothing about the server.
    let all: u64 = level.clients.iter().map(ClientTally::asked).sum();
    let errors: u64 = level.clients.iter().map(ClientTally::error_count).sum();
    let limit = if level.users { 0.0 } else { ERRORS };
    (errors as f64 > limit * all as f64).then(|| {
        let share = 100.0 * errors as f64 / all as f64;
        let most = most_frequent(level).map_or_else(String::new, |cause| {
            let status = level.status.as_ref().filter(|_| cause == Cause::Status);
            let status = status.map_or_else(String::new, |status| format!(": {status}"));
            format!(", most frequent cause: {}{status}", cause.label())
        });
        format!("{errors} of {all}{FAILED_ACTIONS}{share:.2} % (limit {:.0} %){most}", limit * 100.0)
    })
}

/// Why most of the actions that failed did.
fn most_frequent(level: &Level<'_>) -> Option<Cause> {
    let mut causes: Vec<(Cause, u64)> = Vec::new();
    for &(cause, count) in level.clients.iter().flat_map(|client| &client.errors) {
        add(&mut causes, cause, count);
    }
    causes.into_iter().max_by_key(|&(_, count)| count).map(|(cause, _)| cause)
}

/// Connections are no actions: one that is lost or refused is said by itself.
fn disconnected(level: &Level<'_>) -> Option<String> {
    let actions: u64 = level.clients.iter().map(ClientTally::asked).sum();
    let [attempts, lost] = [0, 1].map(|kind| -> u64 {
        level.clients.iter().map(|client| client.connections_failed().get(kind).copied().unwrap_or(0)).sum()
    });
    let limit = if level.users { 0.0 } else { ERRORS };
    ((attempts + lost) as f64 > limit * actions as f64).then(|| {
        format!(
            "connections lost: {lost}; failed attempts to connect: {attempts} (limit for the sum: {limit:.0} % of {actions} action{s})",
            limit = limit * 100.0,
            s = if actions == 1 { "" } else { "s" }
        )
    })
}

/// That op/s and response times describe different requests: op/s counts the requests that were answered in the phase, the tables those that
/// were due in it.
fn due_before(level: &Level<'_>) -> Option<Reason> {
    let Answered { requests, due_before, .. } = level.generator.answered;
    // A schedule that was not kept says more.
    let most = due_before as f64 > MOST_DUE_BEFORE * requests as f64 && behind(level).is_none();
    most.then(|| {
        Reason::partial(format!(
            "op/s and response times describe different requests: {due_before} of the {requests} requests answered in the measured phase \
            were due before it (limit {limit:.0} %), so the response times of the others include requests answered after it; use a longer \
            --duration, a longer --warmup, or a smaller --depth",
            limit = MOST_DUE_BEFORE * 100.0
        ))
    })
}

/// Faults of the server with which the run misses any objective. Failures in the measured phase are counted apart: they do not include
/// clients that gave up before it.
pub(super) fn unserved(level: &Level<'_>) -> Vec<String> {
    let closed = level.generator.asked_rate.is_none();
    // A client whose next iteration is due later has no action either.
    let failed = failed_outside(level).filter(|_| closed);
    refused(level).into_iter().chain(failed).chain(wrong(level)).collect()
}

/// That the server finally refused clients of a common schedule, which were never connected. It has as many clients at each rate, so no
/// rate changes that. Connections that were lost or not made in time may be an effect of the load.
pub(super) fn refused_at_any_rate(level: &Level<'_>) -> Option<String> {
    let scheduled = level.generator.asked_rate.is_some() && !level.users;
    let is_final = |failure: &ConnectionFailure| failure.cause.is_final();
    let never_up = |client: &ClientTally| {
        client.reconnects == 0 && client.connection_failures.iter().all(|failure| !failure.was_up)
    };
    let denied = |client: &ClientTally| {
        could_not_connect(client) && never_up(client) && client.connection_failures.iter().any(is_final)
    };
    refused(level).filter(|_| scheduled && level.clients.iter().any(denied))
}

/// That clients made no load because the server did not let them connect, in any phase.
fn refused(level: &Level<'_>) -> Option<String> {
    let servers = |failure: &ConnectionFailure| !failure.was_up && !is_of_this_machine(failure.cause);
    let refused = |client: &&ClientTally| could_not_connect(client) && client.connection_failures.iter().any(servers);
    let idle = || level.clients.iter().filter(refused);
    let all = level.clients.len();
    let found = Some(idle().count()).filter(|found| *found > 0)?;
    Some(format!("{found} of {all} clients completed no action{}", unconnected(idle())))
}

/// That connected clients completed no action in the phase, and failed outside of it. A client that pauses longer than the phase may have
/// failed before its pause: then only actions without an answer count.
fn failed_outside(level: &Level<'_>) -> Option<String> {
    let (all, mut found) = (level.clients.len(), 0_u64);
    let mut causes: Vec<(Cause, u64)> = Vec::new();
    for client in level.clients.iter().filter(|client| client.starved() && !could_not_connect(client)) {
        let counts = |cause: Cause| !is_of_this_machine(cause) && (cause == Cause::TimedOut || !level.pauses);
        let servers = client.errors_outside.iter().filter(|error| counts(error.cause));
        found += u64::from(servers.clone().count() > 0);
        servers.for_each(|error| add(&mut causes, error.cause, error.count));
    }
    let (cause, _) = causes.into_iter().max_by_key(|&(_, count)| count)?;
    Some(format!(
        "{found} of {all} clients completed no action and failed outside the measured phase (most frequent cause: {})",
        cause.label()
    ))
}

/// Whether this machine failed, and not the server.
pub(super) fn is_of_this_machine(cause: Cause) -> bool {
    matches!(cause, Cause::OutOfResources | Cause::RefusedBySystem)
}

/// Whether a client made no load because it could not connect, in any phase.
pub(super) fn could_not_connect(client: &ClientTally) -> bool {
    client.starved() && !client.connected && client.connection_failures.iter().any(|failure| !failure.was_up)
}

fn starving(level: &Level<'_>) -> Option<String> {
    let generator = level.generator;
    // A common schedule distributes its iterations: with fewer iterations than clients, some clients have none.
    let all_had = generator.asked_rate.is_none() || generator.planned >= level.clients.len() as u64;
    let had_an_iteration = |client: &&ClientTally| if level.users { client.due_iterations > 0 } else { all_had };
    let starved = level.clients.iter().filter(had_an_iteration).filter(|client| client.starved()).count();
    let some = starved > 0 && starved < level.clients.len();
    let idle = level.clients.iter().filter(had_an_iteration).filter(|client| client.starved());
    some.then(|| format!("{starved} of {} clients completed no action{}", level.clients.len(), unconnected(idle)))
}

/// A note that clients without a completed action had failed to connect, in any phase: clients that gave up in the warm-up have no
/// attempt in the measured phase.
fn unconnected<'a>(idle: impl Iterator<Item = &'a ClientTally>) -> String {
    let mut causes: Vec<(Cause, u64)> = Vec::new();
    let mut accounts: Vec<&str> = Vec::new();
    let mut clients = 0_u64;
    for client in idle {
        accounts.extend(client.refused_account.as_deref());
        let failed = client.connection_failures.iter().filter(|one| !one.was_up);
        let mut any = false;
        for &ConnectionFailure { cause, count, .. } in failed {
            any = true;
            add(&mut causes, cause, count);
        }
        clients += u64::from(any);
    }
    let attempts: u64 = causes.iter().map(|(_, count)| count).sum();
    causes.into_iter().max_by_key(|&(_, count)| count).map_or_else(String::new, |(cause, _)| {
        format!(
            "; {clients} of the clients without an action failed to connect ({attempts} attempt{s}, most frequent cause: {}{}){}",
            cause.label(),
            named(accounts),
            limit(cause),
            s = if attempts == 1 { "" } else { "s" }
        )
    })
}

/// A server that serves some clients, and closes the connections of others before they are logged on, is probably at a limit.
fn limit(cause: Cause) -> &'static str {
    match cause {
        Cause::ConnectionClosed | Cause::ConnectionReset => {
            "; the server may have reached its limit of connections (on Samba: max smbd processes)"
        }
        _ => "",
    }
}

/// The accounts whose logons or shares were refused; empty if there are none.
fn named(mut accounts: Vec<&str>) -> String {
    accounts.sort_unstable();
    accounts.dedup();
    let (shown, more) = accounts.split_at(accounts.len().min(SHOWN_ACCOUNTS));
    let s = if accounts.len() == 1 { "" } else { "s" };
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    if accounts.is_empty() { String::new() } else { format!("; account{s} {}{more}", shown.join(", ")) }
}

pub(super) fn add(causes: &mut Vec<(Cause, u64)>, cause: Cause, count: u64) {
    match causes.iter_mut().find(|(known, _)| *known == cause) {
        Some((_, sum)) => *sum += count,
        None => causes.push((cause, count)),
    }
}

fn coarse(level: &Level<'_>) -> Option<String> {
    let step = level.generator.clock_granularity_ns as f64 / 1e9;
    let median = level.response?.p50_s;
    (step > GRANULARITY * median).then(|| {
        format!(
            "the clock resolution of {:.3} µs is too coarse for a median response time of {:.3} µs",
            step * 1e6,
            median * 1e6
        )
    })
}

#[cfg(test)]
mod tests;
