//! Requests that wait until a client gives up a lease or oplock of their file.

/// A request causes a break within this time, ns.
const CAUSES_NS: i64 = 1_000_000_000;
/// A server goes on without an acknowledgement after this time at the latest, ns: Windows and Samba after 35 s.
const GIVES_UP_NS: i64 = 60_000_000_000;

/// Until when a request that was sent at `asked_ns` may wait for a client that the server told at `broken_ns` to give up a lease or oplock,
/// ns; `None` if the break came later for another reason.
pub(super) fn held_until(asked_ns: i64, broken_ns: i64) -> Option<i64> {
    (broken_ns <= asked_ns.saturating_add(CAUSES_NS)).then(|| broken_ns.saturating_add(GIVES_UP_NS))
}
