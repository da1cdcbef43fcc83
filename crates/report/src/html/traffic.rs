//! Packets, and traffic that could not be decoded.

use super::table::scrolled;
use super::units::{bytes, count, duration, percent_of, percentage};
use super::untrusted::Untrusted;
use crate::collect::missing;
use crate::findings::Findings;
use crate::shares;
use crate::text::unseen_rows as rows;
use maud::{Markup, html};

/// Packet counts, in Swartz's (1997) order.
pub(super) fn packets(findings: &Findings) -> Option<Markup> {
    let p = &findings.packets;
    // Nested lines are parts of the line above them; shares are of all packets, or of those from clients.
    let alone = |name: &'static str, n, sub| (name, n, percent_of(n, p.total), sub);
    let mut lines = vec![alone("Packets", p.total, false)];
    let kinds = [
        ("TCP with data", p.tcp_data),
        ("TCP acknowledgement only", p.ack_only),
        ("TCP acknowledgement repeated", p.ack_repeated),
        ("UDP", p.udp),
        ("Neither TCP nor UDP", p.other),
    ];
    lines.extend(parts(kinds, p.total));
    lines.extend([
        alone("Retransmitted", p.retransmitted, true),
        alone("Out of order", p.out_of_order, true),
        alone("Cut short by the capture", p.truncated, true),
        alone("Continuing a message", p.continued, true),
        alone("From clients, on file server connections", p.commands, false),
    ]);
    let from_clients = [
        ("Beginning a request", p.command_first),
        ("Continuing a request that gets a response", p.command_continued_sync),
        ("Continuing a request that gets no response (Write_Raw)", p.command_continued_async),
        ("Acknowledging only", p.command_ack),
        ("Retransmissions and repeated acknowledgements", p.command_retry),
    ];
    lines.extend(parts(from_clients, p.commands));
    (p.total > 0).then(|| {
        html! {
            p {
                (bytes(p.wire_bytes as f64)) " on the wire, " (bytes(p.captured_bytes as f64)) " captured, "
                (plural(findings.connections, "connection")) " with file server traffic, "
                (plural(findings.one_way, "one-way message")) " (breaks, cancels)."
            }
            (scrolled("packets-caption", "packets", html! { "Packets by kind. A packet may count in several rows." }, html! {
                thead { tr { th scope="col" { "Kind" } th scope="col" { "Packets" } th scope="col" { "Share" } } }
                tbody {
                    @for (name, n, share, sub) in lines {
                        tr.sub[sub] { th scope="row" { (name) } td { (count(n)) } td { (share) } }
                    }
                }
            }))
        }
    })
}

/// Lines for the parts of a whole: name, count, share; nested.
fn parts<const N: usize>(of: [(&'static str, u64); N], whole: u64) -> Vec<(&'static str, u64, String, bool)> {
    let shares = shares::of_counts(of.iter().map(|(_, n)| *n), whole);
    of.into_iter().zip(shares).map(|((name, n), share)| (name, n, percentage(share), true)).collect()
}

/// Everything that was lost, cut, odd or uncertain.
pub(super) fn unseen(findings: &Findings) -> Markup {
    let p = &findings.packets;
    let lines = rows(&findings.unseen).into_iter().filter(|&(_, n, always)| always || n > 0);
    let is_run = findings.run.is_some();
    html! {
        p {
            (missing::headline(findings)) " "
            @if p.missing_bytes > 0 {
                @if let Some((estimate, least)) = missing::dropped_packets(findings) {
                    "About " (count(estimate)) " packets with data (" (bytes(p.missing_bytes as f64)) ") are missing from the capture. \
                    The lower bound is "
                    (count(least)) " packets: it assumes that each missing packet was as large as the largest packet in its direction. "
                } @else {
                    (bytes(p.missing_bytes as f64)) " of data are missing from the capture. " (missing::PACKETS_UNKNOWN) " "
                }
            }
            (clock(findings))
            @if let (Some(n), Some(s)) = (findings.resent.operations, findings.resent.wait_s) && n > 0 {
                " The network lost packets: " (plural(n, "operation")) " waited for retransmissions, " (duration(s)) " in all."
            }
        }
        div.columns {
            @if !is_run { table.plain {
                caption { "Requests and responses, paired and unpaired" }
                thead { tr { th scope="col" { "What" } th scope="col" { "Count" } } }
                tbody { @for (name, n, _) in lines { tr { th scope="row" { (name) } td { (count(n)) } } } }
            } }
            @if !findings.anomalies.is_empty() {
                table.plain {
                    caption { "Anomalies in the input" }
                    thead { tr { th scope="col" { "What" } th scope="col" { "Count" } } }
                    tbody { @for anomaly in &findings.anomalies {
                        tr {
                            th scope="row" { (Untrusted(&anomaly.text)) " " small { code { (Untrusted(&anomaly.kind)) } } }
                            td { (count(anomaly.count)) }
                        }
                    } }
                }
            }
        }
    }
}

fn clock(findings: &Findings) -> Markup {
    let clock = &findings.clock;
    html! {
        @match clock.granularity_s {
            None => "The resolution of the clock is not known (too few packets).",
            Some(s) => {
                @if findings.run.is_some() { "The client's" } @else { "The capture" } " clock has a resolution of " (duration(s))
                @if clock.at_most { " or finer" }
                "; times cannot be more precise."
            }
        }
        @if clock.backward_steps > 0 { " The timestamps go back by more than 100 ms in " (plural(clock.backward_steps, "place")) "." }
    }
}

pub(super) fn plural(number: u64, what: &str) -> String {
    format!("{} {what}{}", count(number), if number == 1 { "" } else { "s" })
}
