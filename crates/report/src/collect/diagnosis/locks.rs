//! Requests that waited for byte-range locks. They are long-lived, and so in no response time.

use plimsoll_stats::tallies::LockWaits;

use super::super::counts::plural;
use super::{CAUSE_SHARE, Evidence, Found, Kind, percent};
use crate::findings::Rule;
use crate::text::duration;

/// The longest wait is so long, s: less of a single request is not felt (R. B. Miller, 1968).
const FELT_S: f64 = 0.1;
/// A file, or a holder, is named that has this part of these waits.
const MOSTLY: f64 = 0.5;

/// Clients that waited for locks.
pub(super) fn waits(evidence: &Evidence<'_>, waited_s: f64) -> Option<Found> {
    let all = evidence.tallies?.lock_waits();
    let (requests, sum_ns) =
        all.iter().fold((0u64, 0.0), |sum, one| (sum.0.saturating_add(one.requests), sum.1 + one.waited_ns as f64));
    let most = all.iter().max_by_key(|one| one.waited_ns)?;
    let sum_s = sum_ns / 1e9;
    let share = sum_s / (waited_s + sum_s);
    if share < CAUSE_SHARE || sum_ns < evidence.least_ns() || (most.longest_ns as f64) < FELT_S * 1e9 {
        return None;
    }
    let text = format!(
        "Clients waited {} in {} for byte-range locks{}. Response times exclude these waits, and so do the shares of all waiting.",
        duration(sum_s),
        plural(requests, "LOCK request"),
        file(evidence, most, sum_ns).unwrap_or_default(),
    );
    Some(Found::new(Kind::Explanation, Rule::LockWaits, None, text).explaining(share).look("lock", "path").inferred())
}

/// The file that most of them waited for, and the client that had a lock on it.
fn file(evidence: &Evidence<'_>, most: &LockWaits, sum_ns: f64) -> Option<String> {
    let waited_ns = most.waited_ns as f64;
    let path = evidence.names.text(most.path).filter(|_| waited_ns >= MOSTLY * sum_ns)?;
    let share = evidence.names.text(most.share).map(|share| format!(" of share {share}")).unwrap_or_default();
    let part =
        if waited_ns < sum_ns { format!(", {} of this time", percent(waited_ns / sum_ns)) } else { String::new() };
    let holder = most.holders.iter().find(|(_, ns)| *ns as f64 >= MOSTLY * waited_ns).map(|(ip, ns)| {
        format!(
            "; client {ip} held a lock on this file for {} of {}",
            percent(*ns as f64 / waited_ns),
            match part.is_empty() {
                true => "this time",
                false => "the time waited for it",
            }
        )
    });
    Some(format!("{part} on {path}{share}{}", holder.unwrap_or_default()))
}
