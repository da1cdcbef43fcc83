//! Whether a load level's numbers may be used: the gates, each with its threshold. MEASUREMENT.md tells them.

use plimsoll_client::operation::Cause;
use plimsoll_drive::engine::{Answered, ClientTally, ConnectionFailure, Generator};
use plimsoll_model::Reason;
use plimsoll_report::findings::{FAILED_ACTIONS, MovedNumber, NO_SUCCESS, Times};
use plimsoll_report::significant;

use super::lateness::{judge, late, stolen, unknown};
use super::wrong_data::wrong;

/// A worker thread busier than this share of its core is the bottleneck itself.
const CPU: f64 = 0.90;
/// Iterations that ended, of those asked for.
const ACHIEVED: f64 = 0.95;
/// Missing iterations that chance alone may explain.
const FEWEST_MISSING: f64 = 3.0;
/// Actions that may fail.
const ERRORS: f64 = 0.01;
/// Maximum fraction of the requests answered in the phase that were due before it.
const MOST_DUE_BEFORE: f64 = 0.5;
/// The clock's step may be this share of the median response time.
const GRANULARITY: f64 = 0.10;

/// Maximum number of accounts in a reason.
const SHOWN_ACCOUNTS: usize = 5;

/// The input of the checks.
pub(super) struct Level<'a> {
    pub(super) generator: &'a Generator,
    pub(super) clients: &'a [ClientTally],
    /// Whether users have schedules: then keeping them is a result, and users do not continue after an error.
    pub(super) users: bool,
    /// Whether clients without a schedule pause between iterations: then one without an action may only have waited.
    pub(super) pauses: bool,
    /// Iterations that were due in the measured phase, began, and had not ended when the drain was over.
    pub(super) unended: u64,
    /// Response times of all operations together.
    pub(super) response: Option<Times>,
    /// The most frequent error status in words.
    pub(super) status: Option<String>,
    /// Length of the measured phase, s.
    pub(super) seconds: f64,
    /// Requests that may be outstanding.
    pub(super) lanes: u64,
    /// Processors that this process may use.
    pub(super) processors: usize,
}

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
    let due: u64 = level.clients.iter().map(|client| client.due_iterations).sum();
    let waits = level.users && due == 0 && level.clients.iter().any(|client| client.connected);
    (actions == 0).then(|| match waits {
        true => format!(
            "no iteration was due in the measured phase ({:.1} s); measure longer with --duration, or use a shorter \
             --every",
            level.seconds
        ),
        false => NO_SUCCESS.to_owned(),
    })
}

/// That the client was too busy. Where nothing succeeds, it is busy with failing.
pub(super) fn busy(level: &Level<'_>) -> Option<String> {
    let workers = &level.generator.workers;
    let most = workers.iter().map(plimsoll_drive::engine::WorkerCpu::utilisation).fold(0.0, f64::max);
    let any = level.clients.iter().any(|client| client.actions > 0);
    (any && most > CPU).then(|| {
        format!(
            "the load generator is the bottleneck: one of its threads was busy {busy:.0} % of the time (limit {limit:.0} %); use more \
            threads, a faster machine, or less load",
            busy = most * 100.0,
            limit = CPU * 100.0
        )
    })
}

/// Fewer iterations were over than were due, and some were not begun on time, or never ended.
pub(super) fn behind(level: &Level<'_>) -> Option<String> {
    let asked = missed_rate(level).filter(|_| !follows_its_schedule(level))?;
    let generator = level.generator;
    let unended = Some(level.unended).filter(|unended| *unended > 0);
    Some(format!(
        "the rate was not reached: {achieved:.1} of {asked:.1} iterations/s (limit: at least {limit:.0} %){missing}{backlog}{remedy}",
        achieved = generator.achieved_rate,
        limit = ACHIEVED * 100.0,
        missing = missing(generator.never_sent, level.unended),
        backlog = backlog(level),
        remedy = unended.map_or("", |_| "; if iterations take longer than the drain, use a longer --warmup")
    ))
}

/// The planned iterations that were never started, and those that never ended.
fn missing(never_started: u64, unended: u64) -> String {
    let planned = |count: u64| match count {
        1 => "1 planned iteration".to_owned(),
        count => format!("{count} planned iterations"),
    };
    let were = if never_started == 1 { "was" } else { "were" };
    match (never_started, unended) {
        (0, 0) => String::new(),
        (0, unended) => format!("; {} never ended", planned(unended)),
        (count, 0) => format!("; {} {were} never started", planned(count)),
        (count, unended) => format!("; {} {were} never started, and {unended} never ended", planned(count)),
    }
}

/// The same, if a load generator that is late or busy may be the only cause: it begins iterations late, or not at all. That those which
/// began never end is the server's fault.
pub(super) fn behind_by_generator(level: &Level<'_>) -> Option<String> {
    behind(level).filter(|_| level.unended as f64 <= (1.0 - ACHIEVED) * level.generator.planned as f64)
}

/// Fewer iterations were over than were due, although they began on time and ended later: the load was as asked for.
pub(super) fn ended_later(level: &Level<'_>) -> Option<String> {
    let asked = missed_rate(level).filter(|_| follows_its_schedule(level))?;
    let planned = level.generator.planned;
    let few = planned as f64 * (1.0 - ACHIEVED) < FEWEST_MISSING;
    let chance = if few { format!(", or it is chance, because only {planned} were due") } else { String::new() };
    Some(format!(
        "iterations began on time, but fewer ended in the measured phase than were due in it: {achieved} of {asked} iterations/s (limit: \
        at least {limit:.0} %); they take longer than the warm-up (use a longer --warmup), or the server falls behind (use a lower \
        rate){chance}",
        achieved = significant(level.generator.achieved_rate),
        asked = significant(asked),
        limit = ACHIEVED * 100.0
    ))
}

/// Why fewer iterations were over than were due, and the share of those due that ended in the phase, if all began on time: they may be too
/// long for the warm-up, or for the drain.
pub(super) fn long_iterations(level: &Level<'_>) -> Option<(String, f64)> {
    let generator = level.generator;
    let (due, began_late) = (generator.planned as f64, (generator.never_sent + generator.late_starts) as f64);
    let why = ended_later(level).or_else(|| behind(level)).filter(|_| began_late <= (1.0 - ACHIEVED) * due)?;
    let ended: u64 = level.clients.iter().map(|client| client.iterations).sum();
    Some((why, ended as f64 / due))
}

/// The rate that was due, if clearly fewer iterations were over. Of arrivals at random, not always as many are due as were asked for.
fn missed_rate(level: &Level<'_>) -> Option<f64> {
    let generator = level.generator;
    let scheduled = !level.users && generator.planned > 0;
    let asked = generator.asked_rate.filter(|_| scheduled)?.min(generator.planned as f64 / level.seconds);
    (generator.achieved_rate < ACHIEVED * asked).then_some(asked)
}

/// Whether the iterations of the schedule found a free slot when they were due, and ended at some time. One that never ended is in no
/// number.
fn follows_its_schedule(level: &Level<'_>) -> bool {
    let generator = level.generator;
    let missing = generator.never_sent + generator.late_starts + level.unended;
    missing as f64 <= (1.0 - ACHIEVED) * generator.planned as f64
}

/// A note about the numbers of a level whose schedule the server could not keep: they seem inconsistent with the length of the phase.
fn backlog(level: &Level<'_>) -> String {
    let generator = level.generator;
    if generator.planned > 0 && generator.never_sent == generator.planned {
        return ", that is, every iteration due in the phase; the requests in the phase belong to earlier iterations"
            .to_owned();
    }
    let longest = generator.lateness.from_intended.measured.moments().max_ns().map(|ns| ns as f64 / 1e9);
    longest.filter(|&longest| longest > level.seconds).map_or_else(String::new, |longest| {
        format!(
            "; response times from the intended start reach {longest:.2} s, which is longer than the phase ({:.2} s): each response time \
             includes the wait for a free client, and some responses came after the phase",
            level.seconds
        )
    })
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
            let status = status.map_or_else(String::new, |status| format!(" {status}"));
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
    let is_final = |failure: &ConnectionFailure| {
        matches!(failure.cause, Cause::LogonRefused | Cause::ShareRefused | Cause::NotOffered | Cause::NoSessionKey)
    };
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
    let had_a_turn = |client: &&ClientTally| if level.users { client.due_iterations > 0 } else { all_had };
    let starved = level.clients.iter().filter(had_a_turn).filter(|client| client.starved()).count();
    let some = starved > 0 && starved < level.clients.len();
    let idle = level.clients.iter().filter(had_a_turn).filter(|client| client.starved());
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
            "; {clients} of the clients without an action failed to connect ({attempts} attempt{s}, most frequent cause: {}{})",
            cause.label(),
            named(accounts),
            s = if attempts == 1 { "" } else { "s" }
        )
    })
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
