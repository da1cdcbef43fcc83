//! Delays by transfers and retransmissions, and the parts of the waiting.

use plimsoll_model::ClientPath;

use super::super::counts::plural;
use super::{Evidence, Found, Kind, percent};
use crate::findings::{Findings, Rule};
use crate::text::duration;

/// Retransmission: this part of all time waited.
const RESENT_SHARE: f64 = 0.05;

/// Minimum fraction of retransmissions of captured segments among the data segments of a direction.
const LOST_PART: f64 = 0.01;
/// Minimum number of these retransmissions.
const LOST_LEAST: u64 = 10;
/// Minimum fraction of segments that came after later ones, on a path that changes the order of packets.
const REORDERED_PART: f64 = 0.005;
/// The delays before them are at least this fraction of all time waited or of the elapsed time.
const LOST_DELAY: f64 = 0.1;
/// A client waits for sending and receiving if its service time is at most this part of its waiting.
const MOSTLY_TRANSFER: f64 = 0.25;
/// With this part of the packets repeated, each packet may have been captured twice.
const COPIED_PART: f64 = 0.2;

/// Waiting for bytes that were sent again.
pub(super) fn retransmission(findings: &Findings, waited_s: f64) -> Option<Found> {
    let (wait_s, operations) = findings.resent.wait_s.zip(findings.resent.operations)?;
    let share = wait_s / waited_s;
    if !(RESENT_SHARE..=1.0).contains(&share) {
        return None;
    }
    let text = format!(
        "Of all time waited, {share} ({time} in {requests}) was for TCP retransmissions: the network loses packets.",
        share = percent(share),
        time = duration(wait_s),
        requests = plural(operations, "request"),
    );
    Some(Found::new(Kind::Explanation, Rule::Retransmission, Some(share), text).inferred())
}

/// Retransmissions of captured data: packets that were lost after the capture point. The capture has whole messages at the first copy, so
/// no response time shows the loss.
pub(super) fn lost_behind(evidence: &Evidence<'_>, waited_s: f64) -> Option<Found> {
    let (coverage, network) = (evidence.coverage, &evidence.coverage.network);
    let is_copied = is_part(coverage.packets.retransmitted, coverage.packets.tcp_data, COPIED_PART);
    if !evidence.findings.source.filters.is_empty() || is_copied {
        return None;
    }
    // Other clients' segments do not improve the path of one client.
    let is_lossy_for_one = |at: usize| {
        let mut paths = coverage.client_paths.iter().map(|path| (path.resent_segments[at], path.data_segments[at]));
        paths.any(|(resent, all)| resent >= LOST_LEAST && is_part(resent, all, LOST_PART))
    };
    let is_lossy = |&at: &usize| {
        let (resent, all) = (network.resent_segments[at], network.data_segments[at]);
        resent >= LOST_LEAST && (is_part(resent, all, LOST_PART) || is_lossy_for_one(at))
    };
    let lossy: Vec<usize> = (0..2).filter(is_lossy).collect();
    let delays_s = lossy.iter().map(|&at| network.resent_wait_ns[at] as f64).sum::<f64>() / 1e9;
    let elapsed_s = coverage.first_ns.zip(coverage.last_ns).map(|(first, last)| first.abs_diff(last) as f64 / 1e9);
    let of_elapsed = elapsed_s.filter(|&elapsed_s| elapsed_s > 0.0).map_or(0.0, |elapsed_s| delays_s / elapsed_s);
    let share = delays_s / waited_s;
    if lossy.is_empty() || share.max(of_elapsed) < LOST_DELAY || delays_s * 1e9 < evidence.least_ns() {
        return None;
    }
    let text = format!(
        "{cause}{client} The delays between \
        the original segments and their retransmissions add up to at least {delays}, which is {share}.",
        cause = cause(evidence, &lossy.iter().map(|&at| segments(evidence, at)).collect::<Vec<_>>().join(" and ")),
        client = most_resent(evidence),
        delays = duration(delays_s),
        share = if share <= 1.0 {
            format!("{} of all time waited", percent(share))
        } else {
            format!("{} of the elapsed time", percent(of_elapsed))
        },
    );
    let said = (share <= 1.0).then_some(share);
    Some(Found::new(Kind::Mechanism, Rule::Retransmission, said, text).explaining(share.min(1.0)).inferred())
}

/// Packets that overtake each other look like losses to TCP. On a path that loses packets, few of the segments that come late are too early
/// for a retransmission: those whose handshake took longer than a later round trip.
fn cause(evidence: &Evidence<'_>, segments: &str) -> String {
    let most = evidence.coverage.network.most_resent.client;
    let paths = evidence.coverage.client_paths.iter().filter(|path| most.is_none_or(|client| path.client == client));
    let sum = |of: fn(&ClientPath) -> [u64; 2], at: usize| paths.clone().map(|path| of(path)[at]).sum::<u64>();
    let is_reordered = |&at: &usize| {
        let (late, all) = (sum(|path| path.reordered_segments, at), sum(|path| path.data_segments, at));
        late >= LOST_LEAST && is_part(late, all, REORDERED_PART)
    };
    let late: Vec<usize> = (0..2).filter(is_reordered).collect();
    let is_most = |late: &[usize]| {
        let early: u64 = late.iter().map(|&at| sum(|path| path.reordered_segments, at)).sum();
        2 * early >= evidence.coverage.packets.out_of_order
    };
    if late.is_empty() || !is_most(&late) {
        return format!("TCP retransmitted {segments}: packets were lost after the capture point.");
    }
    let late = late.into_iter().map(|at| sum(|path| path.reordered_segments, at)).sum();
    let on = most.map_or_else(String::new, |client| format!(" on the path of client {client}"));
    format!(
        "Packets{on} arrive out of order: {late} came after segments that were sent later, and too soon for retransmissions. TCP assumes that \
        such segments are lost: it retransmitted {segments}. Check whether the path uses several links or routes at the same time.",
        late = plural(late, "captured segment"),
    )
}

/// `92 segments of responses (3.1 %)`.
fn segments(evidence: &Evidence<'_>, at: usize) -> String {
    let network = &evidence.coverage.network;
    let (resent, all) = (network.resent_segments[at], network.data_segments[at]);
    let what = if at == 0 { "requests" } else { "responses" };
    format!("{} of {what} ({})", plural(resent, "segment"), percent(resent as f64 / all.max(1) as f64))
}

fn most_resent(evidence: &Evidence<'_>) -> String {
    let network = &evidence.coverage.network;
    let (most, all) = (network.most_resent, network.resent_segments.iter().sum::<u64>());
    let client = most.client.filter(|_| 2 * most.lead > all);
    let Some(client) = client else { return String::new() };
    let part = if most.lead == all { "All" } else { "Most" };
    let path = evidence.coverage.client_paths.iter().find(|path| path.client == client);
    let sent = path.map_or(0, |path| path.data_segments.iter().sum::<u64>());
    let resent = path.map_or(0, |path| path.resent_segments.iter().sum::<u64>());
    let of_its = if sent > 0 && evidence.coverage.client_paths.len() > 1 {
        format!(" ({} of the segments on its connections)", percent(resent as f64 / sent as f64))
    } else {
        String::new()
    };
    format!(" {part} of these segments belong to client {client}{of_its}.")
}

/// A client whose waiting is mostly sending and receiving, and whose packets are lost, waits because of that.
pub(super) fn explain_client(evidence: &Evidence<'_>, found: &mut [Found]) {
    let network = &evidence.coverage.network;
    let all: u64 = network.resent_segments.iter().sum();
    let Some(client) = network.most_resent.client.filter(|_| 2 * network.most_resent.lead > all) else { return };
    let sum = evidence.tallies.map(|tallies| tallies.sum(|key| key.client == client).total());
    let is_transfer = sum.and_then(|sum| sum.service_share()).is_some_and(|share| share <= MOSTLY_TRANSFER);
    let is_client = |one: &&Found| {
        let only = one.look.as_ref().and_then(|look| look.only.as_ref());
        one.statement.rule == Rule::SlowClient && only.is_some_and(|(_, ip)| *ip == client.to_string())
    };
    let Some(explains) = found.iter().find(is_client).map(|one| one.explains).filter(|_| is_transfer) else { return };
    let losses = found.iter_mut().filter(|one| one.statement.rule == Rule::Retransmission);
    losses.for_each(|one| one.explains = one.explains.max(explains));
}

fn is_part(count: u64, all: u64, part: f64) -> bool {
    all > 0 && count as f64 >= part * all as f64
}

/// Divides the waiting between the server side and sending and receiving.
pub(super) fn split(evidence: &Evidence<'_>) -> Option<Found> {
    let waiting = evidence.waiting;
    let (share, sending) = waiting.service_share().zip(waiting.sending_share())?;
    let receiving = (1.0 - share - sending).max(0.0);
    // From the intended start, the rest is known only as a whole.
    let rest = match evidence.is_from_intended() {
        true => {
            ". The other time passed between the intended start and the sending of the request, or while responses were received"
                .to_owned()
        }
        false => format!(", receiving responses {}", percent(receiving)),
    };
    let text = format!(
        "Of all time waited, {service} was service time (last byte of request to first byte of response), spent in the server and in the \
        network between server and capture point. Sending requests took {sending}{rest}.",
        service = percent(share),
        sending = percent(sending),
    );
    Some(Found::new(Kind::Remark, Rule::ServiceTime, Some(share), text))
}
