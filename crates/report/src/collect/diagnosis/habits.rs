//! Avoidable requests of clients: missing names, flushes, small pieces, long directories, new connections.

use std::collections::HashMap;

use plimsoll_model::{Operation, Symbol};
use plimsoll_stats::Tallies;
use plimsoll_stats::tallies::{Cell, Listing};

use super::super::counts::{plural, thousands};
use super::network::are_one_at_a_time;
use super::{Evidence, Found, Kind, NOTICEABLE_NS, percent};
use crate::findings::Rule;
use crate::text::{duration, size};

/// A habit of clients is worth saying from this part of all time waited on.
const HABIT_SHARE: f64 = 0.25;
/// Minimum number of requests for missing names.
const ABSENT_LEAST: u64 = 100;
/// Minimum fraction of missing names among the requests that look for names.
const ABSENT_PART: f64 = 0.5;
/// Minimum number of flushes.
const FLUSH_LEAST: u64 = 50;
/// Minimum number of flushes per write.
const FLUSH_PER_WRITE: f64 = 0.5;
/// Minimum fraction of the flushes for files that are flushed again and again while they are open.
const FLUSH_AGAIN: f64 = 0.5;
/// Minimum number of notes of flushes of such a file.
const FLUSH_NOTES: u32 = 4;
/// With this number of requests that open, close or look at a file for each flush, the flush belongs to its close: clients flush a file
/// that they wrote before they close it.
const FLUSH_CLOSED: f64 = 0.5;
/// Minimum number of small requests.
const SMALL_LEAST: u64 = 1_000;
/// Maximum mean size of small requests, bytes.
const SMALL_BYTES: f64 = 4_096.0;
/// Minimum number of small requests per file, so that the files themselves are not small.
const SMALL_PER_FILE: u64 = 100;
/// Minimum number of notes of small requests, so that it is not chance.
const SMALL_NOTES: u32 = 20;
/// Minimum fraction of the requests that are for such files.
const SMALL_PART: f64 = 0.75;
/// Minimum fraction of small requests in all time waited.
const SMALL_SHARE: f64 = 0.5;
/// Size of the requests that they are compared with, bytes.
const LARGE: u64 = 65_536;
/// Minimum number of list requests for a long directory.
const LIST_LEAST: u64 = 20;
/// A directory is long if its responses have this mean size or more, bytes.
const LIST_LONG: u64 = 8_192;
/// Minimum number of list requests for a directory that is not long.
const LIST_AGAIN: u64 = 100;
/// Minimum number of a client's connections.
const CONNECTIONS_LEAST: u64 = 20;
/// Minimum fraction of a client's requests that set up sessions.
const SESSION_PART: f64 = 0.25;

/// Results of the rules.
pub(super) fn habits(evidence: &Evidence<'_>) -> Vec<Found> {
    let Some(tallies) = evidence.tallies else { return Vec::new() };
    let rules = [absent, flushes, listing, reconnects];
    let small = [Operation::Read, Operation::Write].into_iter().filter_map(|one| small(evidence, tallies, one));
    rules.into_iter().filter_map(|rule| rule(evidence, tallies)).chain(small).collect()
}

/// The part of all time waited, if it is worth saying.
fn share_of(evidence: &Evidence<'_>, waited_ns: u64) -> Option<f64> {
    let share = waited_ns as f64 / evidence.waited_ns();
    (share >= HABIT_SHARE && waited_ns as f64 >= evidence.least_ns()).then_some(share)
}

fn found(rule: Rule, share: f64, text: String, (operation, by): (&'static str, &'static str)) -> Found {
    Found::new(Kind::Habit, rule, Some(share), text).look(operation, by)
}

/// Requests for names that are not there.
fn absent(evidence: &Evidence<'_>, tallies: &Tallies) -> Option<Found> {
    let all = tallies.sum(|_| true);
    let absent = tallies.absent().total();
    let looks: u64 = all
        .iter()
        .zip(tallies.absent().iter())
        .filter(|(_, (_, one))| one.count > 0)
        .map(|((_, cell), _)| cell.count)
        .sum();
    let part = absent.count as f64 / looks.max(1) as f64;
    let share = share_of(evidence, absent.waited_ns)?;
    if absent.count < ABSENT_LEAST || part < ABSENT_PART {
        return None;
    }
    let (operation, _) = tallies.absent().iter().max_by_key(|(_, cell)| cell.count)?;
    let text = format!(
        "Clients look for names that do not exist: {requests} ({part} of all requests for the same operations) took {mean} each \
        on average, together {share} of all time waited. A program that searches several folders for a file sends such requests.",
        requests = plural(absent.count, "request"),
        part = percent(part),
        mean = duration(absent.mean_ns() / 1e9),
        share = percent(share),
    );
    Some(found(Rule::AbsentNames, share, text, (operation.label(), "path")))
}

/// Writes with a flush after each.
fn flushes(evidence: &Evidence<'_>, tallies: &Tallies) -> Option<Found> {
    let all = tallies.sum(|_| true);
    let of = |operation: Operation| all.iter().find(|(one, _)| *one == operation).map(|(_, cell)| *cell);
    let (flush, write) = of(Operation::Flush).zip(of(Operation::Write))?;
    let share = share_of(evidence, flush.waited_ns)?;
    let are_many = flush.count >= FLUSH_LEAST && flush.count as f64 >= FLUSH_PER_WRITE * write.count as f64;
    if !are_many || write.count == 0 || !are_of_open_files(tallies) {
        return None;
    }
    let text = format!(
        "Clients flush after every few writes: {flushes} ({flush_mean} each on average) for {writes} ({write_mean} each). The \
        flushes account for {share} of all time waited, because each flush waits until the data are on stable storage.",
        flushes = plural(flush.count, "flush request"),
        flush_mean = duration(flush.mean_ns() / 1e9),
        writes = plural(write.count, "write request"),
        write_mean = duration(write.mean_ns() / 1e9),
        share = percent(share),
    );
    Some(found(Rule::Flushes, share, text, (Operation::Flush.label(), "path")))
}

/// Whether most flushes are for files that are flushed several times while they are open.
fn are_of_open_files(tallies: &Tallies) -> bool {
    #[derive(Default)]
    struct File {
        notes: u32,
        flushes: u64,
        others: u64,
    }
    let mut files: HashMap<(Symbol, Symbol), File> = HashMap::new();
    for row in tallies.paths().rows() {
        let file = files.entry((row.share, row.path)).or_default();
        match row.operation {
            Operation::Flush => (file.notes, file.flushes) = (row.notes[0], row.cell.count),
            Operation::Read | Operation::Write => {}
            _ => file.others += row.cell.count,
        }
    }
    let is_open = |file: &&File| file.notes >= FLUSH_NOTES && (file.others as f64) < FLUSH_CLOSED * file.flushes as f64;
    let again: u64 = files.values().filter(is_open).map(|file| file.flushes).sum();
    let all: u64 = files.values().map(|file| file.flushes).sum();
    all > 0 && again as f64 >= FLUSH_AGAIN * all as f64
}

/// Sequential reads or writes of few bytes, each of them fast.
fn small(evidence: &Evidence<'_>, tallies: &Tallies, operation: Operation) -> Option<Found> {
    let all = tallies.sum(|_| true);
    let (_, cell) = all.iter().find(|(one, _)| *one == operation)?;
    let share = cell.waited_ns as f64 / evidence.waited_ns();
    let each = cell.payload as f64 / cell.count.max(1) as f64;
    let is_small = cell.count >= SMALL_LEAST && each > 0.0 && each <= SMALL_BYTES && cell.mean_ns() < NOTICEABLE_NS;
    let is_cause = share >= SMALL_SHARE && cell.waited_ns as f64 >= evidence.least_ns();
    if !is_small
        || !is_cause
        || !evidence.has_all_requests()
        || !are_one_at_a_time(evidence)
        || !wait_most_of_the_time(evidence)
        || !are_of_large_files(tallies, operation, cell)
    {
        return None;
    }
    let text = format!(
        "Clients {operation} in small pieces, one at a time: {requests} ({bytes} each on average) took {mean} each, together {share} of \
        all time waited. Most of these requests are for files with {SMALL_PER_FILE} such requests or more. The same data would fit \
        into {large_requests} of {size}.",
        operation = operation.label(),
        requests = plural(cell.count, &format!("{} request", operation.label())),
        bytes = size(each.round() as u64),
        mean = duration(cell.mean_ns() / 1e9),
        share = percent(share),
        large_requests = plural(cell.payload.div_ceil(LARGE), "request"),
        size = size(LARGE),
    );
    Some(found(Rule::SmallRequests, share, text, (operation.label(), "path")))
}

/// Whether most of the requests are for files with many of them.
fn are_of_large_files(tallies: &Tallies, operation: Operation, cell: &Cell) -> bool {
    let rows = tallies.paths().rows().iter().filter(|row| row.operation == operation);
    let large = rows.filter(|row| row.notes[0] >= SMALL_NOTES && row.cell.count >= SMALL_PER_FILE);
    large.map(|row| row.cell.count).sum::<u64>() as f64 >= SMALL_PART * cell.count as f64
}

/// Whether a request is outstanding for most of the time.
fn wait_most_of_the_time(evidence: &Evidence<'_>) -> bool {
    super::operations::idle_share(evidence.findings).is_some_and(|idle| idle <= 0.5)
}

/// A directory whose listing clients wait for.
fn listing(evidence: &Evidence<'_>, tallies: &Tallies) -> Option<Found> {
    let most = tallies.listings().rows().iter().max_by_key(|row| row.cell.waited_ns)?;
    let share = share_of(evidence, most.cell.waited_ns)?;
    let path = evidence.names.text(most.path).filter(|path| !path.is_empty()).unwrap_or("the root");
    let on = evidence.names.text(most.share).map_or_else(String::new, |name| format!(" of share {name}"));
    let Listing { cell, bytes, .. } = most;
    let is_long = bytes / cell.count.max(1) >= LIST_LONG;
    if cell.count < if is_long { LIST_LEAST } else { LIST_AGAIN } {
        return None;
    }
    let what =
        if is_long { "Listing a large directory takes long" } else { "Clients list the same directory many times" };
    let text = format!(
        "{what}: {requests} for {path}{on} returned {size} in all. They took {mean} each on average, together {share} of all time waited.",
        requests = plural(cell.count, "list request"),
        size = size(*bytes),
        mean = duration(cell.mean_ns() / 1e9),
        share = percent(share),
    );
    Some(found(Rule::Listing, share, text, (Operation::List.label(), "client")))
}

/// A client that makes a new connection for every few requests.
fn reconnects(evidence: &Evidence<'_>, tallies: &Tallies) -> Option<Found> {
    if !evidence.findings.source.filters.is_empty() {
        return None;
    }
    let costs =
        evidence.coverage.client_paths.iter().filter(|path| path.handshakes >= CONNECTIONS_LEAST).filter_map(|path| {
            let sum = tallies.sum(|key| key.client == path.client);
            let (_, sessions) = sum.iter().find(|(one, _)| *one == Operation::Session)?;
            let all = sum.total();
            let is_much = sessions.count as f64 >= SESSION_PART * all.count as f64;
            (is_much && all.count > 0).then_some((path, *sessions, all))
        });
    let (path, sessions, all) = costs.max_by_key(|(_, sessions, _)| sessions.waited_ns)?;
    let share = share_of(evidence, sessions.waited_ns)?;
    let text = format!(
        "Client {client} connects again and again: {connections} new connections with {each:.0} {requests} each on average. Of these \
        requests, {part} negotiate, log on or connect to shares. The client waited {waited} for this set-up: {share} of all time waited.",
        client = path.client,
        connections = thousands(path.handshakes),
        each = all.count as f64 / path.handshakes as f64,
        requests = counted(evidence),
        part = percent(sessions.count as f64 / all.count as f64),
        waited = duration(sessions.waited_ns as f64 / 1e9),
        share = percent(share),
    );
    Some(
        found(Rule::Reconnects, share, text, (Operation::Session.label(), "connection"))
            .only("--client", path.client.to_string()),
    )
}

/// Which requests a response time counts for: the sums lack encrypted ones, and those without a response.
fn counted(evidence: &Evidence<'_>) -> &'static str {
    let are_encrypted = evidence.coverage.encrypted.messages[0] > 0;
    let are_unanswered = evidence.findings.operations.iter().any(|row| row.unanswered > 0);
    match (are_encrypted, are_unanswered) {
        (false, false) => "requests",
        (false, true) => "answered requests",
        (true, false) => "readable requests",
        (true, true) => "readable and answered requests",
    }
}
