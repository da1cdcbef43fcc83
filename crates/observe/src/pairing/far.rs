//! Responses on their way to a far client: they reach the client after they pass the capture.

/// A shorter round trip between capture and client does not matter, ns.
const NEAR_NS: u64 = 1_000_000;
/// The shortest round trip, in percent of the handshake's.
const SHORTEST: u64 = 90;
/// Variation of the round trip, in percent of it.
const VARIES: u64 = 20;

/// When requests can arrive, at the earliest, that the client sends once it has a response that passes now, and by how much this varies,
/// ns. `None` if the client is near.
pub(super) fn sent_after(now_ns: i64, to_client_ns: u64) -> Option<(i64, i64)> {
    let at_ns = now_ns.saturating_add_unsigned(to_client_ns.saturating_mul(SHORTEST) / 100);
    let varies_ns = (to_client_ns / 100).saturating_mul(VARIES).cast_signed();
    (to_client_ns >= NEAR_NS).then_some((at_ns, varies_ns))
}
