//! A server, or the path to it, without any answer.

use plimsoll_model::ClientPath;

use super::super::counts::plural;
use super::{CAUSE_SHARE, Evidence, Found, Kind, NAMED};
use crate::findings::Rule;
use crate::instant;
use crate::text::{duration, size};

/// The clients whose requests TCP sent again and again without any packet in return.
pub(super) fn unanswered(evidence: &Evidence<'_>, waited_s: f64) -> Option<Found> {
    if !evidence.findings.source.filters.is_empty() || evidence.coverage.one_sided > 0 {
        return None;
    }
    let mut paths: Vec<&ClientPath> =
        evidence.coverage.client_paths.iter().filter(|path| path.unanswered.segments > 0).collect();
    paths.sort_by_key(|path| std::cmp::Reverse(path.unanswered.ns));
    let sum_s = paths.iter().map(|path| path.unanswered.ns as f64).sum::<f64>() / 1e9;
    let share = sum_s / (sum_s + waited_s);
    if share < CAUSE_SHARE || sum_s * 1e9 < evidence.least_ns() {
        return None;
    }
    let named: Vec<String> = paths.iter().take(NAMED).map(|path| path.client.to_string()).collect();
    let named = named.join(", ");
    let more = if paths.len() > NAMED { format!(" and {} more", paths.len() - NAMED) } else { String::new() };
    let segments = paths.iter().map(|path| path.unanswered.segments).sum();
    // A connection may have several of them.
    let connections = match (paths.len(), segments) {
        (1, 1) => "one connection",
        (1, _) => "at least one connection",
        _ => "some connections",
    };
    let since = paths.iter().filter_map(|path| path.unanswered_from_ns).min();
    let text = format!(
        "{who} {named}{more} received no packets from the server on {connections}{since}: TCP sent {segments} ({size} or larger) \
        up to {times} times within {time} without an answer.{too_large} Response times do not show this. Check whether the server or \
        the network path to the server was down.",
        who = if paths.len() == 1 { "Client" } else { "Clients" },
        since = since.map_or_else(String::new, |ns| format!(" from {} on", instant::second(ns))),
        segments = plural(segments, "request segment"),
        size = size(u64::from(paths.iter().map(|path| path.unanswered.bytes).min()?)),
        times = paths.iter().map(|path| path.unanswered.copies).max()?,
        time = duration(paths.iter().map(|path| path.unanswered.ns).max()? as f64 / 1e9),
        too_large = too_large(&paths),
    );
    let without =
        format!("Requests of {named}{more} got no response, because no packets came from the server on {connections}");
    let found = Found::new(Kind::Trouble, Rule::Unanswered, None, text).explaining(share);
    Some(found.unanswered(&without).inferred())
}

/// That only large segments are concerned: then the path may pass small ones.
fn too_large(paths: &[&ClientPath]) -> String {
    let passed = paths.iter().map(|path| path.largest_acknowledged[0]).max().unwrap_or(0);
    let is_larger =
        |path: &&ClientPath| path.unanswered.bytes >= super::black_hole::LARGE && path.unanswered.bytes > passed;
    if passed == 0 || !paths.iter().all(is_larger) {
        return String::new();
    }
    format!(
        " Before that, the server had acknowledged only smaller segments, of up to {}. A path that drops large packets has the same \
        effect: check the MTU of the path.",
        size(u64::from(passed)),
    )
}
