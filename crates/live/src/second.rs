//! The seconds of a capture's clock.

pub(super) const SECOND_NS: i64 = 1_000_000_000;
/// Time after the end of a second during which its last packets may still arrive, ns. The kernel passes them on after 50 ms at most.
pub(super) const SETTLED_NS: i64 = 200_000_000;

/// The start of the second of an instant.
pub(super) fn second_of(ns: i64) -> i64 {
    ns.div_euclid(SECOND_NS) * SECOND_NS
}

/// End of the latest complete second.
pub fn latest_ns(now_ns: i64) -> i64 {
    second_of(now_ns - SETTLED_NS)
}
