//! The diagnosis of a capture: rules over its findings, each with a threshold. They are in docs/diagnosis.md.
//!
//! Each file contains the rules of a family; each rule returns what it [`Found`], or nothing.

mod began;
mod black_hole;
mod busy_client;
mod channels;
mod client_paths;
mod clients;
mod durable;
mod errors;
mod evidence;
mod few;
mod found;
mod habits;
mod handshakes;
mod hanging;
mod leases;
mod locks;
mod name_service;
mod network;
mod next;
mod operations;
mod paths;
mod places;
mod resets;
mod restart;
mod rhythm;
mod set_up;
mod silence;
mod slots;
mod times;
mod transfer;
mod unanswered;
mod unfinished;
mod unopened;
mod worst_minute;

use plimsoll_model::{Operation, Reason};
use plimsoll_stats::tallies::Long;

use super::percent;
use crate::findings::{Diagnosis, Findings, Rule, Slow, Verdict};
pub(super) use evidence::Evidence;
use evidence::{CAUSE_SHARE, NOTICEABLE_NS};
use few::Few;
use found::{Found, Kind, Look, NAMED};

/// The diagnosis of a capture, empty where the numbers must not be used; and why its response times are incomplete: a part of the requests
/// never got a response, as in a run.
pub(super) fn diagnose(evidence: &Evidence<'_>) -> (Diagnosis, Vec<Reason>) {
    let findings = evidence.findings;
    let waited_s = evidence.waited_s();
    let operations = operations::by_operation(&findings.operations);
    if findings.validity.verdict == Verdict::Invalid {
        return Default::default();
    }
    let Some(first) = operations.first().filter(|_| waited_s > 0.0) else {
        // Nobody waited for a response that came: maybe because none did.
        let mut found = outages(evidence, waited_s, &[]);
        let reasons = unanswered_requests(&found);
        sort(&mut found);
        let statements = found.into_iter().map(|found| found.statement).collect();
        return (Diagnosis { statements, ..Diagnosis::default() }, reasons);
    };
    let mut found = found(evidence, waited_s);
    let reasons = unanswered_requests(&found);
    sort(&mut found);
    let next = next::next(evidence, first.label, found.iter().find_map(|one| one.look.as_ref()));
    let lead = operations::operation(findings, waited_s, first);
    let is_alone = found.is_empty() && !operations::leads_alone(first, waited_s);
    let (causes, others): (Vec<Found>, Vec<Found>) = found.into_iter().partition(|one| one.kind != Kind::Remark);
    // First causes, then the subject of all of them, then the rest.
    let rest = others
        .into_iter()
        .chain(is_alone.then(|| operations::nothing(evidence)))
        .chain(worst_minute::worst_minute(evidence))
        .chain(transfer::split(evidence));
    let all = causes.into_iter().chain([lead]).chain(rest);
    // Sums of binary fractions have digits that say nothing.
    let whole_ns = (waited_s * 1e9).round() / 1e9;
    (Diagnosis { waited_s: Some(whole_ns), statements: all.map(|one| one.statement).collect(), next }, reasons)
}

/// The most important first.
fn sort(found: &mut [Found]) {
    found.sort_by(|a, b| b.rank().0.cmp(&a.rank().0).then(b.rank().1.total_cmp(&a.rank().1)));
}

fn unanswered_requests(found: &[Found]) -> Vec<Reason> {
    found.iter().filter_map(|one| one.unanswered.as_deref()).map(Reason::partial).collect()
}

/// The results of all rules.
fn found(evidence: &Evidence<'_>, waited_s: f64) -> Vec<Found> {
    let findings = evidence.findings;
    let (mut found, are_breaks) = beside_the_server(evidence, waited_s);
    let waits_for_break = |one: &Long| are_breaks && one.operation == Operation::Open;
    // A server that is only slow acknowledges requests. If they are sent again and again, they did not arrive.
    let mut silence = silence::silence(evidence, waits_for_break)
        .filter(|silence| !explains_half(&found, Rule::Retransmission, silence));
    let slow_interval = times::slow_interval(evidence);
    let few = few::few_slow(findings, waited_s);
    let set_up = set_up::slow(evidence, waited_s);
    let is_set_up = set_up.is_some() && few.as_ref().is_some_and(|few| set_up::are(findings, few));
    let names = name_service::waits(evidence, waited_s);
    // A cause in the server is more specific than the clients that wait for it.
    let set_up = set_up.filter(|one| names.as_ref().is_none_or(|names| 2.0 * names.explains < one.explains));
    let told = is_set_up || few.as_ref().is_some_and(|few| are_told(findings, few, found.iter().chain(&silence)));
    let places = places::slow(evidence);
    found.extend(paths::beside(evidence, places, few.as_ref(), told));
    remove_far_remark(&mut found);
    let queue = requests_in_queue(evidence, &mut found);
    // If requests are slow only at certain times, or in a queue, this is not a property of the operation.
    let is_of_time = |one: &Found| slow_interval.as_ref().is_some_and(|when| 2.0 * when.explains >= one.explains);
    let slow_part = || operations::slow_part(evidence).filter(|one| queue.is_none() && !is_of_time(one));
    if !found.iter().any(|one| one.kind == Kind::Place) {
        let slow = operations::slow(evidence).or_else(slow_part);
        // The requests of a client that reads slowly are slow, whatever the operation.
        found.extend(slow.filter(|slow| !explains_half(&found, Rule::ZeroWindow, slow) && !are_refused(&found, slow)));
    }
    durable::writes(evidence)
        .into_iter()
        .chain(set_up)
        .chain(names)
        .for_each(|cause| replace_places(&mut found, cause));
    found.extend(places::key(findings, waited_s).filter(|_| !found.iter().any(|one| one.kind == Kind::Place)));
    // A place whose requests are slow explains when they are.
    let is_place = |one: &Found, of: &Found| one.kind == Kind::Place && 2.0 * one.explains >= of.explains;
    let stands = |one: &Found| !found.iter().any(|place| is_place(place, one));
    let after_pause = rhythm::after_pause(evidence).filter(|one| stands(one));
    let periodic = rhythm::periodic(evidence).filter(|one| stands(one));
    // The intervals are those of the pauses.
    let periodic = periodic.filter(|one| after_pause.as_ref().is_none_or(|pause| 2.0 * pause.explains < one.explains));
    silence = silence.filter(|_| periodic.is_none());
    found.extend(after_pause.into_iter().chain(periodic));
    let is_few = few.is_some();
    found.extend(few.filter(|_| !told).and_then(|few| few::sentence(evidence, &few)));
    let burst = times::burst(evidence).filter(|_| slow_interval.is_none() && silence.is_none());
    let when: Vec<Found> =
        slow_interval.into_iter().chain(burst).filter(|one| !is_from_elsewhere(one, &found)).collect();
    let is_silence = |one: &Found| silence.as_ref().is_some_and(|silence| 2.0 * silence.explains >= one.explains);
    let when = when.into_iter().filter(|one| !is_silence(one));
    found.extend(when);
    found.extend(silence);
    if let Some(queue) = queue {
        // In a queue some requests wait longer than others by chance.
        let is_place = |one: &Found| one.kind == Kind::Place && one.statement.rule != Rule::SlowOperation;
        found.retain(|one| !is_place(one) || 2.0 * one.explains > queue.explains);
        // More requests in the queue would not be carried out sooner.
        found.retain(|one| one.statement.rule != Rule::SlotsExhausted);
        // The time in the queue is not the operation's own time.
        let slow = found.iter_mut().filter(|one| one.statement.rule == Rule::SlowOperation);
        slow.filter(|one| 2.0 * queue.explains >= one.explains).for_each(|one| one.explains -= queue.explains);
        found.push(queue);
    } else if let Some((limit, operation)) = times::limit(evidence) {
        // It is quick without load.
        let is_it = |one: &Found| one.look.as_ref().is_some_and(|look| look.operation == operation);
        found.retain(|one| one.statement.rule != Rule::SlowOperation || !is_it(one));
        found.push(limit);
    } else if let Some(load) = times::load(evidence) {
        // The load shows when requests take long, but not why: a cause that explains half of it is more specific.
        let is_explained = found.iter().any(|one| 2.0 * one.explains >= load.explains);
        found.extend((!is_explained).then_some(load));
    }
    // The time of the requests of several operations has another cause if any explains half of it.
    let several = few::several(evidence).filter(|_| !is_few);
    let is_known = |several: &Found| found.iter().any(|one| 2.0 * one.explains >= several.explains);
    found.extend(several.filter(|several| !is_known(several)));
    transfer::explain_client(evidence, &mut found);
    // The client that flushes does not explain why flushes are slow.
    let slow = found.iter().any(|one| one.statement.rule == Rule::SlowOperation);
    found.extend(busy_client::busy_client(evidence));
    found.extend(habits::habits(evidence).into_iter().filter(|one| !slow || one.statement.rule != Rule::Flushes));
    found
}

/// Causes outside of the server's own work: statuses, the network, other clients. Also returns whether opens waited for other clients.
fn beside_the_server(evidence: &Evidence<'_>, waited_s: f64) -> (Vec<Found>, bool) {
    let findings = evidence.findings;
    let mut found: Vec<Found> = Vec::new();
    let refused_locks = locks::refused(evidence, waited_s);
    found.extend(errors::trouble(evidence, refused_locks.is_some()));
    found.extend(errors::retries(evidence));
    let outages = outages(evidence, waited_s, &found);
    found.extend(errors::failures(findings));
    found.extend(resets::refused_versions(evidence));
    let is_all = findings.source.filters.is_empty();
    // Waits for retransmitted bytes are known only for all traffic.
    let resent = transfer::retransmission(findings, waited_s).filter(|_| is_all);
    let is_black_hole = outages.iter().any(|one| one.statement.rule == Rule::BlackHole);
    // Segments that are too large for the path are retransmitted as well.
    found.extend(resent.or_else(|| transfer::lost_behind(evidence, waited_s).filter(|_| !is_black_hole)));
    found.extend(outages);
    found.extend(network::network(evidence, waited_s));
    let client_paths = client_paths::client_paths(evidence, waited_s);
    // A client that is further away than others is more specific than the round trip of the nearest one.
    let is_far = client_paths.iter().any(|one| one.statement.rule == Rule::FarClient);
    found.retain(|one| !is_far || one.statement.rule != Rule::RoundTrip || one.statement.share.is_some());
    found.extend(client_paths);
    let breaks = leases::breaks(evidence, waited_s);
    let are_breaks = breaks.is_some();
    if let Some(breaks) = breaks {
        // The end of an open that waited for a break (the server refuses, or the client gives up) is not a separate cause.
        let of_ends = |one: &&mut Found| one.kind == Kind::Explanation && one.statement.rule == Rule::ErrorStatuses;
        found.iter_mut().filter(of_ends).for_each(|one| one.kind = Kind::Symptom);
        found.push(breaks);
    }
    found.extend(locks::waits(evidence, waited_s));
    found.extend(refused_locks);
    found.extend(channels::channels(evidence));
    if let Some(credits) = leases::credits(evidence, waited_s) {
        // With more outstanding the round trip would not count for every request.
        found.retain(|one| one.statement.rule != Rule::RoundTrip || one.explains > 2.0 * credits.explains);
        found.push(credits);
    }
    found.extend(slots::exhausted(evidence));
    (found, are_breaks)
}

/// Servers and paths that were away, and connections that began late or ended while in use. No response time shows these, so no request
/// needs a response. `statuses` may follow from a restart.
fn outages(evidence: &Evidence<'_>, waited_s: f64, statuses: &[Found]) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    found.extend(restart::restart(evidence, waited_s, statuses));
    found.extend(resets::resets(evidence));
    found.extend(black_hole::black_hole(evidence, waited_s));
    let unanswered = unanswered::unanswered(evidence, waited_s);
    // If nothing comes back from the server, no request gets a response.
    let no_response = unfinished::no_response(evidence, waited_s);
    found.extend(no_response.into_iter().chain(hanging::hanging(evidence, waited_s)).filter(|_| unanswered.is_none()));
    found.extend(hanging::silent(evidence, waited_s, unanswered.is_some()));
    // A server that is away does not let clients connect either.
    let is_away = unanswered.is_some() || found.iter().any(|one| one.statement.rule == Rule::Restart);
    found.extend(unopened::unopened(evidence, waited_s).filter(|_| !is_away));
    found.extend(unanswered);
    found.extend(unfinished::cut_off(evidence));
    found.extend(handshakes::late(evidence, waited_s));
    found
}

/// A queue of requests. Where they may wait on a narrow path, the rule about this path explains as much.
fn requests_in_queue(evidence: &Evidence<'_>, found: &mut [Found]) -> Option<Found> {
    let (queue, is_on_path) = times::queue(evidence).or_else(|| times::one_by_one(evidence))?;
    let narrow = found.iter_mut().filter(|one| is_on_path && one.statement.rule == Rule::NarrowPath);
    narrow.for_each(|one| one.explains = one.explains.max(queue.explains));
    Some(queue)
}

/// Removes a remark that a cause covers.
fn remove_far_remark(found: &mut Vec<Found>) {
    let is_remark = |one: &Found| one.statement.rule == Rule::FarClient && one.kind == Kind::Remark;
    let is_cause = found.iter().any(|one| one.statement.rule == Rule::FarClient && !is_remark(one));
    found.retain(|one| !is_cause || !is_remark(one));
}

/// Adds a cause that delays all requests of a place for one operation; the place is then not at fault.
fn replace_places(found: &mut Vec<Found>, cause: Found) {
    let operation = cause.look.as_ref().map(|look| look.operation);
    let is_same = |one: &Found| one.look.as_ref().map(|look| look.operation) == operation;
    found.retain(|one| one.kind != Kind::Place || !is_same(one) || one.explains > 2.0 * cause.explains);
    found.push(cause);
}

/// Whether the network or the leases of other clients explain half of an interval's additional time: then it is the same cause.
fn is_from_elsewhere(interval: &Found, found: &[Found]) -> bool {
    const ELSEWHERE: [Rule; 7] = [
        Rule::ZeroWindow,
        Rule::SmallWindow,
        Rule::DelayedAcknowledgement,
        Rule::NarrowPath,
        Rule::FarClient,
        Rule::LeaseBreaks,
        Rule::Retransmission,
    ];
    found.iter().any(|one| ELSEWHERE.contains(&one.statement.rule) && 2.0 * one.explains >= interval.explains)
}

/// Whether a statement of this rule explains at least half of what another one does.
fn explains_half(found: &[Found], rule: Rule, of: &Found) -> bool {
    found.iter().any(|one| one.statement.rule == rule && 2.0 * one.explains >= of.explains)
}

/// Whether half of the time of a slow operation was spent on refused requests, of which the sentence about their status speaks.
fn are_refused(found: &[Found], slow: &Found) -> bool {
    let operation = |one: &Found| one.look.as_ref().map(|look| look.operation);
    let is_most = |one: &Found| one.statement.share.is_some_and(|share| 2.0 * share >= slow.explains);
    let mut statuses = found.iter().filter(|one| one.is_of_statuses());
    statuses.any(|one| operation(one) == operation(slow) && is_most(one))
}

/// Whether another sentence speaks of the same few requests, and says why they were slow.
fn are_told<'f>(findings: &Findings, few: &Few<'_>, mut found: impl Iterator<Item = &'f Found>) -> bool {
    let are_opens = || few.alike.iter().all(|one| is_open(findings, one));
    found.any(|one| match one.statement.rule {
        Rule::ErrorStatuses | Rule::Grace => few.are_errors(findings, one.statement.share.unwrap_or(0.0)),
        Rule::LeaseBreaks => few.share <= few::ALMOST * one.explains && are_opens(),
        // It is the silence that the rule finds here.
        Rule::Burst => few.share <= few::ALMOST * one.explains,
        // A path that is narrow has its own rate.
        Rule::NarrowPath => few.are_transfers_of(one.look.as_ref().and_then(|look| look.only.as_ref())),
        _ => false,
    })
}

fn is_open(findings: &Findings, slow: &Slow) -> bool {
    let mut rows = findings.operations.iter().filter(|row| row.procedure == slow.procedure);
    rows.any(|row| row.protocol == slow.protocol && row.operation == Operation::Open.label())
}

#[cfg(test)]
mod tests;
