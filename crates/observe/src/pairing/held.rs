//! Requests that wait until a client gives up a lease or oplock of their file.

/// A request causes a break within this time, ns.
const CAUSES_NS: i64 = 1_000_000_000;
/// A server goes on without an acknowledgement after this time at the latest, ns: Windows and Samba after 35 s.
const GIVES_UP_NS: i64 = 60_000_000_000;

/// Until when, ns, a request may wait for a client, not for the server. The request was sent at `asked_ns`. At `broken_ns` the server told
/// the client to give up a lease or oplock. `None` if `broken_ns` is so late that another request caused the break.
pub(super) fn held_until(asked_ns: i64, broken_ns: i64) -> Option<i64> {
    (broken_ns <= asked_ns.saturating_add(CAUSES_NS)).then(|| broken_ns.saturating_add(GIVES_UP_NS))
}
