//! Single operations, and how to find them in Wireshark.

use super::{SECOND, StatusName, rows};
use crate::findings::Slow;
use plimsoll_model::{Names, Protocol, Symbol, Transaction};
use std::net::IpAddr;

pub(super) struct Context<'a> {
    pub(super) names: &'a Names,
    pub(super) status_name: StatusName,
    pub(super) last_ns: Option<i64>,
}

pub(super) fn slow(t: &Transaction, context: &Context<'_>) -> Slow {
    let row = t.procedure.row();
    let text = |symbol: Symbol| context.names.text(symbol).map(str::to_owned);
    let at_ns = t.timeline.request_first.unwrap_or(0);
    // Without an answer, the request waited until the end of the capture.
    let took = t.timeline.response_time().or_else(|| context.last_ns?.checked_sub(at_ns)).unwrap_or(0);
    Slow {
        protocol: row.protocol.label().to_owned(),
        procedure: t.procedure.name(),
        response_time_s: took as f64 / SECOND,
        response_time_from_intended_s: t.timeline.response_time_from_intended().map(|ns| ns as f64 / SECOND),
        service_time_s: t.timeline.service_time().map(|ns| ns as f64 / SECOND),
        at_ns,
        client: t.client.to_string(),
        server: t.server.to_string(),
        share: text(t.share),
        path: text(t.path),
        user: text(t.user),
        status: t.status.map(|status| rows::name_of(row.protocol, status, context.status_name)),
        request_frame: t.frames.request_first.map(Into::into),
        response_frame: t.frames.response_last.map(Into::into),
        display_filter: display_filter(t),
    }
}

/// By frame number, which does not depend on how Wireshark decodes the packets: the frame where the time began, the frame where the
/// request was complete (Wireshark shows it there), the frame that completed the response. Without frame numbers, by the protocol's id
/// and the client's port; empty if neither is known.
fn display_filter(t: &Transaction) -> String {
    let mut frames: Vec<u64> = [t.frames.request_first, t.frames.request_last, t.frames.response_last]
        .into_iter()
        .flatten()
        .map(Into::into)
        .collect();
    frames.sort_unstable();
    frames.dedup();
    if !frames.is_empty() {
        let terms: Vec<String> = frames.iter().map(|frame| format!("frame.number == {frame}")).collect();
        return terms.join(" || ");
    }
    let Some(id) = t.id else { return String::new() };
    let ip = if matches!(t.client.ip, IpAddr::V4(_)) { "ip" } else { "ipv6" };
    let who = format!("{ip}.addr == {}", t.client.ip);
    match t.procedure.row().protocol {
        Protocol::Smb1 => format!("smb.pid == {} && smb.mid == {} && {who}", id >> 16, id & 0xffff),
        Protocol::Smb2 => format!("smb2.msg_id == {id} && tcp.port == {} && {who}", t.client.port),
        Protocol::File => String::new(),
        _ => format!("rpc.xid == {id:#010x} && {who}"),
    }
}
