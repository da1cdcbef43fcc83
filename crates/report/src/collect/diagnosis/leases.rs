//! Waits that SMB2 itself causes: other clients' leases and oplocks, and credits.

use plimsoll_model::Breaks;

use super::super::counts::plural;
use super::{CAUSE_SHARE, Evidence, Found, Kind, percent};
use crate::findings::Rule;
use crate::text::duration;

/// Minimum number of a client's waits for credits.
const CREDIT_WAITS: u64 = 50;
/// Minimum fraction of the time with outstanding requests in waits for credits.
const CREDIT_TIME: f64 = 0.2;
/// Minimum fraction of these waits in all time waited. Two to 32 requests wait meanwhile.
const CREDIT_WAITING: f64 = 0.02;

/// Clients that have fewer credits than they have requests to send.
pub(super) fn credits(evidence: &Evidence<'_>, waited_s: f64) -> Option<Found> {
    let credits = &evidence.coverage.credits;
    let time = credits.wait_ns as f64 / credits.busy_ns.max(1) as f64;
    if !evidence.findings.source.filters.is_empty()
        || credits.waits < CREDIT_WAITS
        || (credits.wait_ns as f64) < evidence.least_ns().max(CREDIT_WAITING * waited_s * 1e9)
        || !(CREDIT_TIME..=1.0).contains(&time)
    {
        return None;
    }
    let text = format!(
        "Clients ran out of SMB2 credits {times}, and sent the next request as soon as the server granted more credits. The affected \
        connections lacked credits for {share} of the time in which they had outstanding requests. Response times do not include this wait. Configure \
        the server so that it grants more credits.",
        times = plural(credits.waits, "time"),
        share = percent(time),
    );
    // The part of the waiting that is of these connections.
    let part = (credits.requests_ns as f64 / (waited_s * 1e9)).min(1.0);
    Some(Found::new(Kind::Explanation, Rule::CreditsExhausted, None, text).explaining(time * part).inferred())
}

/// Opens during which the server broke a lease.
pub(super) fn breaks(evidence: &Evidence<'_>, waited_s: f64) -> Option<Found> {
    let breaks = &evidence.coverage.breaks;
    let held_s = breaks.wait_ns as f64 / 1e9;
    let share = held_s / waited_s;
    if !evidence.findings.source.filters.is_empty()
        || !(CAUSE_SHARE..=1.0).contains(&share)
        || held_s * 1e9 < evidence.least_ns()
    {
        return None;
    }
    let file = evidence.names.text(breaks.path).map(|path| format!(" of {path}"));
    let longest = match (breaks.holder, file) {
        (None, None) => String::new(),
        (holder, file) => format!(
            " The longest wait, {longest}, was for a lease or oplock{file}{holder}.{unanswered}",
            longest = duration(breaks.longest_ns as f64 / 1e9),
            file = file.unwrap_or_default(),
            holder = holder.map_or_else(String::new, |ip| format!(", which client {ip} held")),
            unanswered = unanswered(evidence, breaks)
        ),
    };
    let text = format!(
        "{opens} waited {mean}{each} until a client gave up a lease or oplock: in total {share} of all time waited. The server sent \
        {notifications} and delayed the opens until the clients acknowledged the break or a timeout expired.{longest}",
        opens = plural(breaks.opens, "open request"),
        mean = duration(held_s / breaks.opens.max(1) as f64),
        each = if breaks.opens > 1 { " each on average" } else { "" },
        share = percent(share),
        notifications = plural(breaks.notified, "break notification"),
    );
    Some(Found::new(Kind::Explanation, Rule::LeaseBreaks, Some(share), text).look("open", "path").inferred())
}

/// That the holder of the longest wait did not answer, where the capture has all that it sent.
fn unanswered(evidence: &Evidence<'_>, breaks: &Breaks) -> String {
    let packets = &evidence.coverage.packets;
    let is_whole = packets.missing_bytes == 0 && packets.dropped_at_least == 0 && evidence.coverage.one_sided == 0;
    if !breaks.is_longest_unanswered || !is_whole {
        return String::new();
    }
    let others = match breaks.unanswered {
        0 | 1 => String::new(),
        all => format!(" In all, this happened to {}.", plural(all, "open request")),
    };
    format!(
        " The client neither acknowledged the break nor closed the file before the server answered the open request: check whether this \
         client is suspended or hangs.{others}"
    )
}
