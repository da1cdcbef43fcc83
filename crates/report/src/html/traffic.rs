//! The traffic as such: queue depth, packets, and what could not be seen of it.

use super::chart::{Axis, Chart, Series, Shape, Unit};
use super::figure::Figure;
use super::sides::{Side, label};
use super::units::{UNKNOWN, bytes, count, duration, optional, percent, percent_of};
use super::untrusted::Untrusted;
use crate::findings::{DepthShare, Findings};
use maud::{Markup, html};

/// How many requests were outstanding at once, as a chart.
pub(super) fn queue_depths<'a>(sides: &[Side<'a>]) -> Option<Figure<'a>> {
    let names: Vec<(u64, u64)> = ranges(sides.iter().map(|side| side.findings));
    let place = |range: &DepthShare| names.iter().position(|name| *name == (range.from, range.to)).unwrap_or(0) as f64;
    let mut series = Vec::new();
    for side in sides {
        let depth = &side.findings.queue_depth;
        for (name, list) in [("As arrivals find it", &depth.at_arrival), ("Over time", &depth.over_time)] {
            let color = series.len();
            series.push(Series {
                x: list.iter().map(place).collect(),
                y: list.iter().map(|range| Some(range.share * 100.0)).collect(),
                counts: list.iter().filter_map(|range| range.count).collect(),
                ..Series::new(label(sides, side, name), Shape::Bars, color)
            });
        }
    }
    let highest = series.iter().flat_map(|series| series.y.iter().flatten()).copied().fold(0.0, f64::max);
    let means = sides
        .iter()
        .filter_map(|side| Some(label(sides, side, &format!("mean {:.2}", side.findings.queue_depth.mean?))));
    let summary = format!("Requests outstanding at once: {}.", means.collect::<Vec<_>>().join("; "));
    let x = Axis { name: "requests outstanding".into(), ..Axis::names(names.into_iter().map(range_text).collect()) };
    let chart = Chart { x, y: Axis::linear(Unit::Percent, "", highest)?, series };
    let explanation =
        "How many other requests an arriving one found outstanding, and for which share of the time that many were.";
    Figure::of(("depth", "Queue depth"), explanation, summary, chart)
}

/// All ranges of depths in use, rising.
fn ranges<'f>(all: impl Iterator<Item = &'f Findings>) -> Vec<(u64, u64)> {
    let of = |findings: &'f Findings| findings.queue_depth.at_arrival.iter().chain(&findings.queue_depth.over_time);
    let mut ranges: Vec<(u64, u64)> = all.flat_map(of).map(|range| (range.from, range.to)).collect();
    ranges.sort_unstable();
    ranges.dedup();
    ranges
}

/// How many requests were outstanding at once.
pub(super) fn queue_depth(findings: &Findings) -> Option<Markup> {
    let depth = &findings.queue_depth;
    let ranges = ranges(std::iter::once(findings));
    let find = |list: &[DepthShare], range: (u64, u64)| list.iter().find(|r| (r.from, r.to) == range).copied();
    (!ranges.is_empty()).then(|| {
        html! {
            p {
                "Mean depth over time " strong { (optional(depth.mean, |n| format!("{n:.2}"))) } ", highest "
                strong { (count(depth.max)) } ". Held requests are not counted."
                @if depth.entered_late > 0 { " " (count(depth.entered_late)) " long requests were entered late." }
            }
            div.scroll tabindex="0" role="region" aria-labelledby="depth-caption" {
                table.depth {
                    caption #depth-caption { "Requests outstanding at once: as an arriving request finds it, and over time." }
                    thead { tr {
                        th scope="col" { "Outstanding" } th scope="col" { "Arrivals" }
                        th scope="col" { "Share of arrivals" } th scope="col" { "Share of time" }
                    } }
                    tbody { @for range in ranges {
                        @let arrivals = find(&depth.at_arrival, range);
                        tr {
                            th scope="row" { (range_text(range)) }
                            td { (optional(arrivals.and_then(|r| r.count), count)) }
                            (bar(arrivals.map(|r| r.share)))
                            (bar(find(&depth.over_time, range).map(|r| r.share)))
                        }
                    } }
                }
            }
        }
    })
}

fn range_text((from, to): (u64, u64)) -> String {
    match to {
        _ if from == to => count(from),
        u64::MAX => format!("{} and more", count(from)),
        _ => format!("{} – {}", count(from), count(to)),
    }
}

fn bar(share: Option<f64>) -> Markup {
    html! {
        @match share {
            None => td { (UNKNOWN) },
            Some(share) => td.bar style=(format!("--w:{:.1}%", share * 100.0)) { (percent(share)) },
        }
    }
}

/// Packet counts, in the first seed's order.
pub(super) fn packets(findings: &Findings) -> Option<Markup> {
    let p = &findings.packets;
    // Nested lines are parts of the line above them; shares are of all packets, or of those from clients.
    let lines = [
        ("Packets", p.total, p.total, false),
        ("TCP with data", p.tcp_data, p.total, true),
        ("TCP acknowledgement only", p.ack_only, p.total, true),
        ("TCP acknowledgement repeated", p.ack_repeated, p.total, true),
        ("UDP", p.udp, p.total, true),
        ("Neither", p.other, p.total, true),
        ("Retransmitted", p.retransmitted, p.total, true),
        ("Out of order", p.out_of_order, p.total, true),
        ("Cut short by the capture", p.truncated, p.total, true),
        ("Continuing a message", p.continued, p.total, true),
        ("From clients, on file server connections", p.commands, p.total, false),
        ("Beginning a request", p.command_first, p.commands, true),
        ("Continuing a request that is answered", p.command_continued_sync, p.commands, true),
        ("Continuing a part that is not answered (Write_Raw)", p.command_continued_async, p.commands, true),
        ("Acknowledging only", p.command_ack, p.commands, true),
        ("Sent again, or acknowledging again", p.command_retry, p.commands, true),
    ];
    (p.total > 0).then(|| {
        html! {
            p {
                (bytes(p.wire_bytes as f64)) " on the wire, " (bytes(p.captured_bytes as f64)) " captured, "
                (count(findings.connections)) " connections with file server traffic, "
                (count(findings.one_way)) " one-way messages (breaks, cancels)."
            }
            div.scroll tabindex="0" role="region" aria-labelledby="packets-caption" {
                table.packets {
                    caption #packets-caption { "Packets by kind; a packet may be of several kinds." }
                    thead { tr { th scope="col" { "Kind" } th scope="col" { "Packets" } th scope="col" { "Share" } } }
                    tbody {
                        @for (name, n, whole, sub) in lines {
                            tr.sub[sub] { th scope="row" { (name) } td { (count(n)) } td { (percent_of(n, whole)) } }
                        }
                    }
                }
            }
        }
    })
}

/// Everything that was lost, cut, odd or uncertain.
pub(super) fn unseen(findings: &Findings) -> Markup {
    let u = &findings.unseen;
    let lines = [
        ("Requests and answers paired", u.paired),
        ("Packets the capture dropped, at least", findings.packets.dropped_at_least),
        ("Requests whose answer fell into a hole", u.requests_after_gap),
        ("Answers whose request fell into a hole", u.responses_after_gap),
        ("Requests still waiting at the end", u.requests_waiting),
        ("Answers to requests from before the start", u.responses_before_start),
    ];
    let is_run = findings.run.is_some();
    html! {
        p {
            @if u.share_lost_at_least > 0.0 {
                "At least " strong { (percent(u.share_lost_at_least)) } " of the operations could not be measured."
            } @else if is_run {
                "Every request that was sent is in these numbers, answered or not."
            } @else {
                "No operation is known to be missing."
            }
            " " (clock(findings))
        }
        div.columns {
            @if !is_run { table.plain {
                caption { "Halves that found no partner" }
                thead { tr { th scope="col" { "What" } th scope="col" { "Count" } } }
                tbody { @for (name, n) in lines { tr { th scope="row" { (name) } td { (count(n)) } } } }
            } }
            @if !findings.anomalies.is_empty() {
                table.plain {
                    caption { "Anomalies: what could not be seen or understood" }
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
            None => "The granularity of the clock is not known.",
            Some(s) => {
                @if findings.run.is_some() { "The client's" } @else { "The capture" } " clock ticks every " (duration(s))
                @if clock.at_most { " or finer" }
                "; times are not known better than that."
            }
        }
        @if clock.backward_steps > 0 { " It stepped backwards " (count(clock.backward_steps)) " times." }
    }
}
