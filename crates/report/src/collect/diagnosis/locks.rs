//! Requests that waited for byte-range locks, and requests that were refused because of them. The former wait by design, so no response
//! time includes them; for the latter the client waits between its requests.

use std::collections::BTreeSet;
use std::net::IpAddr;

use plimsoll_model::WaitEnd;
use plimsoll_stats::tallies::{LockHolder, LockRefusals, LockWaits};

use super::super::counts::{plural, thousands};
use super::unfinished::{ended_by, was_seen};
use super::{CAUSE_SHARE, Evidence, Found, Kind, clients, percent};
use crate::findings::Rule;
use crate::instant;
use crate::text::duration;

/// Minimum length of the longest wait, s: users do not notice a shorter single wait (R. B. Miller, 1968).
const NOTICEABLE_S: f64 = 0.1;
/// A file, or a holder, is named that has this part of these waits.
const MOSTLY: f64 = 0.5;
/// Refused requests, at least.
const REFUSED_LEAST: u64 = 3;

/// Clients that waited for locks.
pub(super) fn waits(evidence: &Evidence<'_>, waited_s: f64) -> Option<Found> {
    let mut all = evidence.tallies?.lock_waits();
    let waiting = add_waiting(evidence, &mut all);
    let (requests, sum_ns) =
        all.iter().fold((0u64, 0.0), |sum, one| (sum.0.saturating_add(one.requests), sum.1 + one.waited_ns as f64));
    let most = all.iter().max_by_key(|one| one.waited_ns)?;
    let sum_s = sum_ns / 1e9;
    let share = sum_s / (waited_s + sum_s);
    if share < CAUSE_SHARE || sum_ns < evidence.least_ns() || (most.longest_ns as f64) < NOTICEABLE_S * 1e9 {
        return None;
    }
    let text = format!(
        "Clients waited {at_least}{time} in all for byte-range locks ({requests}).{still}{file} Response times and percentages of all \
        time waited do not include these waits.",
        at_least = if waiting > 0 { "at least " } else { "" },
        time = duration(sum_s),
        requests = plural(requests, "LOCK request"),
        still = match (waiting, requests) {
            (0, _) => String::new(),
            (1, 1) => " This request still waited at the end of the capture.".to_owned(),
            (waiting, all) if waiting == all => " All of them still waited at the end of the capture.".to_owned(),
            (waiting, _) => format!(" Of these, {} still waited at the end of the capture.", thousands(waiting)),
        },
        file = file(evidence, most, sum_ns).unwrap_or_default(),
    );
    Some(Found::new(Kind::Explanation, Rule::LockWaits, None, text).explaining(share).look("lock", "path").inferred())
}

/// Adds the requests that still waited when the capture ended; returns their number.
fn add_waiting(evidence: &Evidence<'_>, all: &mut Vec<LockWaits>) -> u64 {
    let mut count: u64 = 0;
    let rows = ended_by(evidence, WaitEnd::CaptureLocked).unwrap_or_default();
    for one in rows.into_iter().filter(|one| was_seen(evidence, one)) {
        let ns = one.end_ns.abs_diff(one.first_ns);
        count = count.saturating_add(one.requests);
        let (server, share, path) = (one.server.ip, one.share, one.path);
        match all.iter_mut().find(|file| (file.server, file.share, file.path) == (server, share, path)) {
            Some(file) => {
                file.requests = file.requests.saturating_add(one.requests);
                file.waited_ns = file.waited_ns.saturating_add(ns);
                file.longest_ns = file.longest_ns.max(ns);
            }
            None => all.push(LockWaits {
                server,
                share,
                path,
                requests: one.requests,
                waited_ns: ns,
                longest_ns: ns,
                holders: Vec::new(),
            }),
        }
    }
    count
}

/// The file that most of them waited for, and the client with a lock on it.
fn file(evidence: &Evidence<'_>, most: &LockWaits, sum_ns: f64) -> Option<String> {
    let waited_ns = most.waited_ns as f64;
    let path = evidence.names.text(most.path).filter(|_| waited_ns >= MOSTLY * sum_ns)?;
    let share = evidence.names.text(most.share).map(|share| format!(" on share {share}")).unwrap_or_default();
    let (part, of) = match waited_ns < sum_ns {
        true => (format!("Of this time, {}", percent(waited_ns / sum_ns)), "the time waited for this file"),
        false => ("All of this time".to_owned(), "this time"),
    };
    let holder = most.holders.iter().find(|(_, ns)| *ns as f64 >= MOSTLY * waited_ns).map(|(ip, ns)| {
        format!(
            " Client {ip} held a lock on this file during {share} of {of}.",
            share = percent(*ns as f64 / waited_ns),
        )
    });
    Some(format!(" {part} was for the file {path}{share}.{}", holder.unwrap_or_default()))
}

/// Refused locks, and their holders.
pub(super) fn refused(evidence: &Evidence<'_>, waited_s: f64) -> Option<Found> {
    let all = evidence.tallies?.lock_refusals();
    let most = all.iter().max_by_key(|one| one.tried_ns)?;
    let sum_ns: f64 = all.iter().map(|one| one.tried_ns as f64).sum();
    let (requests, sum_s) = (all.iter().map(|one| one.requests).sum::<u64>(), sum_ns / 1e9);
    let share = sum_s / (waited_s + sum_s);
    let is_noticeable = most.longest_ns as f64 >= NOTICEABLE_S * 1e9 && sum_ns >= evidence.least_ns();
    if requests < REFUSED_LEAST || share < CAUSE_SHARE || !is_noticeable {
        return None;
    }
    let part = most.tried_ns as f64 / sum_ns;
    let path = evidence.names.text(most.path).filter(|_| part >= MOSTLY);
    let on = evidence.names.text(most.share).map(|share| format!(" on share {share}")).unwrap_or_default();
    let status = (evidence.status_name)(most.protocol, most.status);
    let clients: BTreeSet<IpAddr> = all.iter().flat_map(|one| one.clients.iter().copied()).collect();
    let text = format!(
        "Clients wait for byte-range locks{file}: the server refused {requests}{status}, the first at {first}. {clients} repeated \
        the requests for {time} in all (at most {longest} at a time), until the server granted the lock or the client gave \
        up.{of_file}{holder} Response times do not include this time.",
        file = path.map_or_else(String::new, |path| format!(" on the file {path}{on}")),
        requests = plural(requests, "request"),
        status = status.map_or_else(String::new, |status| format!(" ({status})")),
        first = instant::second(all.iter().map(|one| one.first_ns).min()?),
        clients = sentence_case(&clients::named(evidence, &clients)),
        time = duration(sum_s),
        longest = duration(all.iter().map(|one| one.longest_ns).max()? as f64 / 1e9),
        of_file = match path {
            Some(_) if part < 1.0 => format!(" Of this time, {} was for this file.", percent(part)),
            _ => String::new(),
        },
        holder = path.map_or_else(String::new, |_| holder(evidence, most)),
    );
    let found = Found::new(Kind::Explanation, Rule::LockWaits, None, text);
    Some(found.explaining(share).look("lock", "path").inferred())
}

/// The client that had the lock.
fn holder(evidence: &Evidence<'_>, of: &LockRefusals) -> String {
    let met = |ip: IpAddr| of.holders.iter().filter(move |one| one.client == ip);
    let count = |ip: IpAddr| met(ip).map(|one| one.requests).sum::<u64>();
    let Some(&LockHolder { client: ip, user, .. }) = of.holders.iter().max_by_key(|one| count(one.client)) else {
        return String::new();
    };
    if (count(ip) as f64) < MOSTLY * of.requests as f64 {
        return String::new();
    }
    let user = evidence.names.text(user).filter(|_| met(ip).count() == 1);
    format!(
        " Client {ip}{} held a lock on this file during {} of the refusals.",
        user.map_or_else(String::new, |user| format!(" (user {user})")),
        percent(count(ip) as f64 / of.requests as f64),
    )
}

fn sentence_case(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
