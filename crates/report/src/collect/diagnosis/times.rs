//! When clients waited.

mod loader;
mod path;

use std::collections::BTreeSet;
use std::net::IpAddr;

use plimsoll_model::{Operation, Symbol};
use plimsoll_stats::Tallies;
use plimsoll_stats::tallies::{Busy, Excess, Long, MIN_COMPARED, PlaceKey, SLOW_MEAN};

use super::super::counts::{plural, thousands};
use super::places::{difference, times};
use super::{Evidence, Found, Kind, NOTICEABLE_NS, clients, percent};
use crate::findings::Rule;
use crate::instant;
use crate::text::duration;

/// Minimum fraction of all time waited in one bin of the series, for a burst.
const BURST_SHARE: f64 = 0.25;
/// Minimum mean time of requests that set connections up, ns: users do not notice a shorter single request (R. B. Miller, 1968).
const SET_UP_NS: f64 = 100_000_000.0;
/// Maximum length of that bin, as a fraction of the time.
pub(super) const BURST_TIME: f64 = 0.1;
/// A client that has this part of the requests in a queue is named.
const CROWD: f64 = 0.75;
/// From this part of the slow requests of a time on their client, or their share, is named.
const NEARLY_ALL: f64 = 0.9;
/// Minimum mean number of outstanding requests of a busy server,
const BUSY_OUTSTANDING: f64 = 4.0;
/// Minimum number of outstanding requests of a busy server, as a multiple of the number in quiet times.
const BUSY_TIMES: f64 = 3.0;
/// Minimum rate of a busy server's answers, relative to quiet times.
const BUSY_LEAST: f64 = 0.8;
/// Maximum rate of a busy server's answers, relative to quiet times.
const BUSY_MOST: f64 = 1.5;
/// Minimum fraction of requests that must be slower if they wait in a queue; fewer wait for another reason.
const BUSY_PART: f64 = 0.25;

/// A server is at its limit if an operation takes this many times as long under load. In an M/M/1 queue with utilisation u it takes 1 /
/// (1 - u) times as long: 10 times at 90 %,
const LIMIT_TIMES: f64 = 10.0;
/// Minimum fraction of service time in the difference, for a server at its limit.
const LIMIT_SERVICE: f64 = 0.75;
/// Maximum fraction of the round trip to the server in the service time, for a server at its limit.
const LIMIT_NEAR: f64 = 0.1;

/// Minimum number of times between answers, for a server that performs one request at a time,
const EVEN_LEAST: u64 = 100;
/// Minimum ratio of the geometric mean to the mean of these times (0.56 for random ones).
const EVEN: f64 = 0.9;
/// Maximum ratio between their mean and the fastest request, in either direction.
const EVEN_NEAR: f64 = 1.5;
/// Minimum fraction of the operation in all time waited.
const EVEN_SHARE: f64 = 0.5;

/// Since when requests take longer, or in which part of the time.
pub(super) fn slow_interval(evidence: &Evidence<'_>) -> Option<Found> {
    let course = evidence.tallies?.course();
    let slow = course.slow_span()?;
    let (excess, (first, behind)) = (slow.excess, slow.bins);
    let share = excess.whole_ns / evidence.waited_ns();
    let explains = excess.ns() / evidence.waited_ns();
    // A client with more outstanding requests waits longer for each.
    if !evidence.is_noticeable(&excess)
        || !Evidence::is_clear(&excess)
        || excess.times() < SLOW_MEAN * slow.load.max(1.0)
    {
        return None;
    }
    // Connections are set up together, when clients begin, and each only once.
    if excess.operation == Operation::Session && excess.mean_ns < SET_UP_NS {
        return None;
    }
    let (from, to) = (course.begins_ns(first)?, course.begins_ns(behind)?);
    let (lasted_ns, lasted) = (to.abs_diff(from), duration(to.abs_diff(from) as f64 / 1e9));
    let when = match (first == 0, behind == course.len()) {
        (false, true) => format!("From {} on", instant::end_of(from, lasted_ns)),
        (true, _) => format!("Until {}", instant::end_of(to, lasted_ns)),
        (false, false) => format!("For {lasted} from {}", instant::end_of(from, lasted_ns)),
    };
    let text = format!(
        "{when}, responses came late: {operation} took {mean} on average ({requests}), {times} as long as at other times ({others}). \
        {difference}All requests in this period account for {share} of all time waited.",
        operation = excess.operation.label(),
        mean = duration(excess.mean_ns / 1e9),
        requests = plural(excess.count, "request"),
        times = times(excess.times()),
        others = duration(excess.others_ns / 1e9),
        difference = format_args!("{}{}", difference(evidence, &excess), whose(evidence, &excess, (from, to))),
        share = percent(share),
    );
    Some(Found::new(Kind::Symptom, Rule::SlowInterval, Some(share), text).explaining(explains))
}

/// The client and the share that have nearly all of the slow requests of this time, where several ask for the operation.
fn whose(evidence: &Evidence<'_>, excess: &Excess, (from_ns, to_ns): (i64, i64)) -> String {
    let Some(tallies) = evidence.tallies else { return String::new() };
    let is_in = |one: &&Long| one.operation == excess.operation && (from_ns..=to_ns).contains(&one.span_ns.1);
    let slow: Vec<&Long> = tallies.long().noted().iter().filter(is_in).collect();
    let waited = |is_of: &dyn Fn(&Long) -> bool| -> f64 {
        slow.iter().filter(|one| is_of(one)).map(|one| one.waited_ns as f64).sum()
    };
    let all = waited(&|_| true);
    if all < excess.ns() / 2.0 {
        return String::new();
    }
    let asks = |key: &PlaceKey| {
        let sum = tallies.sum(|one| one == key);
        sum.iter().any(|(operation, cell)| operation == excess.operation && cell.count > 0)
    };
    let keys: Vec<PlaceKey> = tallies.places().iter().map(|place| place.key).filter(asks).collect();
    let (clients, shares): (BTreeSet<IpAddr>, BTreeSet<Symbol>) =
        (keys.iter().map(|key| key.client).collect(), keys.iter().map(|key| key.share).collect());
    let client = clients.iter().find(|ip| clients.len() > 1 && waited(&|one| one.client == **ip) >= NEARLY_ALL * all);
    let share = shares.iter().find(|name| shares.len() > 1 && waited(&|one| one.share == **name) >= NEARLY_ALL * all);
    let share = share.and_then(|name| evidence.names.text(*name)).map(|name| format!(" to share {name}"));
    let client = client.map(|ip| format!(" from client {ip}"));
    match (share, client) {
        (None, None) => String::new(),
        (share, client) => {
            format!("Nearly all slow requests were{}{}. ", client.unwrap_or_default(), share.unwrap_or_default())
        }
    }
}

/// Busy and quiet times.
fn busy_times(evidence: &Evidence<'_>) -> Option<Busy> {
    evidence.tallies.filter(|_| evidence.has_whole_load())?.course().busy()
}

/// Clients that wait longer while they send more requests: not the fault of one client, but a load on the server.
pub(super) fn load(evidence: &Evidence<'_>) -> Option<Found> {
    let busy = busy_times(evidence)?;
    let ([many, few], [most, least]) = (busy.outstanding, busy.per_second);
    let is_more = many >= BUSY_OUTSTANDING && many >= BUSY_TIMES * few && most > BUSY_MOST * least;
    if !is_more || !is_each(&busy.excess) || busy.excess.times() < SLOW_MEAN || !evidence.is_noticeable(&busy.excess) {
        return None;
    }
    let text = format!(
        "Requests take longer under load: with {many:.0} requests outstanding on average ({rate} responses per second), {operation} \
        took {mean}; with {few} requests outstanding ({few_rate} responses per second), {operation} took {few_mean}.{whose}",
        rate = thousands(most.round() as u64),
        operation = busy.excess.operation.label(),
        mean = duration(busy.excess.mean_ns / 1e9),
        few = on_average(few),
        few_rate = thousands(least.round() as u64),
        few_mean = duration(busy.excess.others_ns / 1e9),
        whose = loader::of(evidence).unwrap_or_default(),
    );
    let share = busy.excess.whole_ns / evidence.waited_ns();
    let explains = busy.excess.ns() / evidence.waited_ns();
    Some(Found::new(Kind::Symptom, Rule::Queue, Some(share), text).explaining(explains).inferred())
}

/// A server that answers no more per second, however many requests wait; and whether data show that they may wait on the path instead.
pub(super) fn queue(evidence: &Evidence<'_>) -> Option<(Found, bool)> {
    let busy = busy_times(evidence)?;
    let ([many, few], [most, least]) = (busy.outstanding, busy.per_second_of_operation);
    let is_busy = many >= BUSY_OUTSTANDING && many >= BUSY_TIMES * few;
    let is_flat = (BUSY_LEAST * least..=BUSY_MOST * least).contains(&most);
    if !is_busy || !is_flat || !is_each(&busy.excess) || !evidence.is_noticeable(&busy.excess) {
        return None;
    }
    if path::is_of_slow_reader(evidence) {
        return None;
    }
    let path = path::of(evidence, busy.excess.operation, busy.excess.mean_ns / 1e9);
    let text = format!(
        "{begin}: with {many:.0} requests outstanding on average, {operation} took {mean}; with {few} requests outstanding, {operation} \
        took {few_mean}. The rate of responses hardly changed ({most:.0} and {least:.0} per second).{why}{crowd}",
        begin = path.as_ref().map_or("The server is busy", |_| path::OR_SERVER),
        why = path.as_ref().map_or("", |path| path.text.as_str()),
        operation = busy.excess.operation.label(),
        mean = duration(busy.excess.mean_ns / 1e9),
        few = on_average(few),
        few_mean = duration(busy.excess.others_ns / 1e9),
        crowd = crowd(evidence, busy.excess.operation),
    );
    let share = busy.excess.whole_ns / evidence.waited_ns();
    let explains = beyond_quiet(evidence, &busy.excess)?;
    let found = Found::new(Kind::Mechanism, Rule::Queue, Some(share), text).explaining(explains).inferred();
    Some((found, path.is_some_and(|path| path.is_narrow)))
}

/// Whether the difference affects many requests: their geometric mean is compared with its value if all of the difference were in
/// [`BUSY_PART`] of them, and the others took as long as without load.
fn is_each(excess: &Excess) -> bool {
    excess.typical >= (1.0 + (excess.times() - 1.0) / BUSY_PART).powf(BUSY_PART)
}

/// The part of all time waited that requests for an operation take beyond their mean without load.
fn beyond_quiet(evidence: &Evidence<'_>, excess: &Excess) -> Option<f64> {
    let all = evidence.tallies?.sum(|_| true);
    let (_, cell) = all.iter().find(|(operation, _)| *operation == excess.operation)?;
    Some((cell.waited_ns as f64 - cell.count as f64 * excess.others_ns).max(0.0) / evidence.waited_ns())
}

/// A server at its limit for an operation: with more outstanding requests it answers more per second than without load, but each takes
/// much longer, and the time grows faster than the rate.
pub(super) fn limit(evidence: &Evidence<'_>) -> Option<(Found, &'static str)> {
    let busy = busy_times(evidence)?;
    let ([many, few], [most, least], excess) = (busy.outstanding, busy.per_second_of_operation, &busy.excess);
    let is_busy = many >= BUSY_OUTSTANDING && many >= BUSY_TIMES * few && most > BUSY_MOST * least;
    let is_limit = excess.times() >= LIMIT_TIMES.max(most / least.max(f64::MIN_POSITIVE));
    let is_service = excess.service_share.is_some_and(|share| share >= LIMIT_SERVICE);
    let trips = evidence.coverage.client_paths.iter().filter_map(|path| path.round_trips[0].median_ns);
    let is_near = trips.max().is_none_or(|ns| ns as f64 <= LIMIT_NEAR * excess.mean_ns);
    let is_near = is_near && !path::is_of_slow_reader(evidence);
    if !is_busy || !is_each(excess) || !is_limit || !is_service || !is_near || !evidence.is_noticeable(excess) {
        return None;
    }
    let all = evidence.tallies?.sum(|_| true);
    let (_, cell) = all.iter().find(|(operation, _)| *operation == excess.operation)?;
    let label = excess.operation.label();
    let others = all.total().without(cell);
    let are_quick = others.count >= MIN_COMPARED && others.mean_ns() * LIMIT_TIMES <= excess.mean_ns;
    let others = match are_quick {
        true => format!(" All other operations took {} on average.", duration(others.mean_ns() / 1e9)),
        false => String::new(),
    };
    let path = path::of(evidence, excess.operation, excess.mean_ns / 1e9);
    let text = format!(
        "{begin} for the operation {label}: with {many:.0} requests outstanding on average, {label} took {mean}; with {few} requests \
        outstanding, {label} took {few_mean}. So {label} took {times} as long, but the rate of responses was only {rate_times} as high \
        ({most:.0} and {least:.0} per second).{why}{others}{crowd}",
        begin = path.as_ref().map_or("Requests queue in the server, which has reached its limit", |_| path::OR_SERVER),
        why = path.as_ref().map_or("", |path| path.text.as_str()),
        mean = duration(excess.mean_ns / 1e9),
        few = on_average(few),
        few_mean = duration(excess.others_ns / 1e9),
        times = times(excess.times()),
        rate_times = times(most / least),
        crowd = crowd(evidence, excess.operation),
    );
    let explains = beyond_quiet(evidence, excess)?;
    let share = cell.waited_ns as f64 / evidence.waited_ns();
    let found = Found::new(Kind::Mechanism, Rule::Queue, Some(share), text);
    Some((found.explaining(explains).look(label, "second").inferred(), label))
}

/// The mean number of outstanding requests in words.
fn on_average(outstanding: f64) -> String {
    if outstanding < 0.05 { "fewer than 0.1".to_owned() } else { format!("{outstanding:.1}") }
}

/// A server that performs one request after the other: while requests wait, answers are evenly spaced, by the time of the fastest
/// request. Also whether data show that the requests may wait on the path instead.
pub(super) fn one_by_one(evidence: &Evidence<'_>) -> Option<(Found, bool)> {
    let tallies = evidence.tallies.filter(|_| evidence.has_whole_load())?;
    let (all, server) = (tallies.sum(|_| true), tallies.places().first()?.key.server.ip);
    let (operation, cell) = all.iter().max_by_key(|(_, cell)| cell.waited_ns)?;
    let answers = tallies.answers(operation);
    let rows = || evidence.findings.operations.iter().filter(|row| row.operation == operation.label());
    let quickest_s = rows().max_by_key(|row| row.count)?.service_time?.min_s;
    let (each_s, mean_s) = (answers.mean_ns() / 1e9, cell.mean_ns() / 1e9);
    let is_even = answers.count() >= EVEN_LEAST && answers.evenness() >= EVEN;
    let is_one = (each_s / EVEN_NEAR..=each_s * EVEN_NEAR).contains(&quickest_s);
    let is_near = evidence.coverage.network.to_server_ns.is_none_or(|ns| ns as f64 / 1e9 <= each_s / 2.0);
    let is_alone = tallies.places().iter().all(|place| place.key.server.ip == server) && is_near;
    let share = cell.waited_ns as f64 / evidence.waited_ns();
    let (before, behind_ns) = (mean_s / each_s, (mean_s - each_s) * 1e9);
    let is_noticeable = behind_ns >= NOTICEABLE_NS && behind_ns * cell.count as f64 >= evidence.least_ns();
    if !is_even
        || !is_one
        || !is_alone
        || !waits_most_of_the_time(evidence)
        || before < BUSY_OUTSTANDING
        || share < EVEN_SHARE
        || !is_noticeable
        || path::is_of_slow_reader(evidence)
    {
        return None;
    }
    let path = path::of(evidence, operation, mean_s);
    let begin = match &path {
        Some(_) => format!("{}: the server", path::OR_SERVER),
        None => "The server is busy and carries out one request at a time: it".to_owned(),
    };
    let text = format!(
        "{begin} answers one {operation} request every {interval}, and the fastest took {fastest}. The {operation} requests took {mean} \
        on average, mostly in the queue.{why}{crowd}",
        why = path.as_ref().map_or("", |path| path.text.as_str()),
        operation = operation.label(),
        interval = duration(each_s),
        fastest = duration(quickest_s),
        mean = duration(mean_s),
        crowd = crowd(evidence, operation),
    );
    let found = Found::new(Kind::Mechanism, Rule::Queue, Some(share), text);
    let found = found.explaining(share * behind_ns / cell.mean_ns()).inferred();
    Some((found, path.is_some_and(|path| path.is_narrow)))
}

/// The client with most of the requests in the queue, if there are others.
fn crowd(evidence: &Evidence<'_>, operation: Operation) -> String {
    let clients = clients::all(evidence);
    let has_others = |tallies: &&Tallies| clients.len() > 1 && tallies.has_all_places();
    let Some(tallies) = evidence.tallies.filter(has_others) else { return String::new() };
    let waited = |is_of: &dyn Fn(&PlaceKey) -> bool| tallies.sum(is_of).only(|one| one == operation).total().waited_ns;
    let all = waited(&|_| true).max(1) as f64;
    let of_clients = clients.iter().map(|&ip| (ip, waited(&|key| key.client == ip) as f64 / all));
    let Some((ip, part)) = of_clients.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, part)| *part >= CROWD) else {
        return String::new();
    };
    format!(
        " On average, {share} of the outstanding {operation} requests belong to client {ip}.",
        share = percent(part),
        operation = operation.label()
    )
}

/// Whether as many requests as a busy server has are outstanding for half of the time in which any is.
fn waits_most_of_the_time(evidence: &Evidence<'_>) -> bool {
    share_from(evidence, BUSY_OUTSTANDING as u64) >= share_from(evidence, 1) / 2.0
}

/// The part of the time in which so many requests or more are outstanding.
fn share_from(evidence: &Evidence<'_>, least: u64) -> f64 {
    let ranges = evidence.findings.queue_depth.over_time.iter();
    ranges.filter(|range| range.from >= least).map(|range| range.share).sum()
}

/// A short time in which clients waited much.
pub(super) fn burst(evidence: &Evidence<'_>) -> Option<Found> {
    let findings = evidence.findings;
    let series = &findings.series;
    let waited: Vec<f64> = series
        .operations
        .iter()
        .zip(&series.response_mean_s)
        .map(|(count, mean)| *count as f64 * mean.unwrap_or(0.0))
        .collect();
    let sum: f64 = waited.iter().sum();
    let (bin, most) = waited.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (share, time) = (most / sum, 1.0 / waited.len() as f64);
    // More requests at once wait longer for each, and are no burst.
    let counts = &series.operations;
    let (mine, all) = (*counts.get(bin)? as f64, counts.iter().sum::<u64>() as f64);
    let others = (all - mine).max(1.0);
    let busy = counts.iter().filter(|&&count| count > 0).count().saturating_sub(1).max(1) as f64;
    let longer = (most / mine.max(1.0)) / ((sum - most) / others).max(f64::MIN_POSITIVE);
    let load = (mine / (others / busy)).max(1.0);
    // A single slow request does not count.
    let slowest_s = findings.slowest.first().map_or(0.0, |one| one.headline_s(findings.headline));
    if sum <= 0.0
        || share < BURST_SHARE
        || time > BURST_TIME
        || longer < SLOW_MEAN * load
        || most * 1e9 < evidence.least_ns()
        || slowest_s > most / 2.0
    {
        return None;
    }
    let at = series.start_ns.checked_add((bin as f64 * series.bin_s * 1e9) as i64)?;
    let text = format!(
        "About {share} of all time waited was for requests that ended in the {length} after {start}.",
        share = percent(share),
        length = duration(series.bin_s),
        start = instant::end_of(at, (series.bin_s * 1e9) as u64),
    );
    Some(Found::new(Kind::Symptom, Rule::Burst, Some(share), text))
}
