//! Data missing from the numbers of a capture, with causes and remedies. Text, page and JSON use the same sentences.

use super::counts::{are, plural};
use super::input;
use super::rpc_tls;
use super::share_words::tenths;
use crate::findings::{Findings, Unseen};
use plimsoll_model::{Anomaly, Reason, Verdict};

/// Maximum fraction of missing operations; beyond it the numbers of a capture are INVALID.
const INVALID_ABOVE: f64 = 0.5;
/// Connections named in a sentence.
const NAMED: usize = 3;
/// Why a report has no number of missing packets.
pub(crate) const PACKETS_UNKNOWN: &str = "The number of packets cannot be estimated: the capturing program reported fewer lost packets than the \
    sizes of the captured packets suggest.";

/// How much is missing, in a sentence.
pub(crate) fn headline(findings: &Findings) -> String {
    let unseen = &findings.unseen;
    if findings.run.is_some() {
        return "The numbers contain every request of the measured phases, with or without a response.".to_owned();
    }
    match (unseen.share_missing, unseen.share_missing_low, unseen.share_missing_high) {
        (Some(share), Some(low), Some(high)) if unseen.missing > 0 => {
            let (share, low, high, part) = (tenths(share), tenths(low), tenths(high), of_what(findings));
            match findings.source.filters.is_empty() {
                true if low == high => format!("{share} of the operations{part} are missing from these numbers."),
                // What is known to be missing is often the best estimate as well.
                true if share == low => {
                    format!("{low} to {high} of the operations{part} are missing from these numbers (95 % interval).")
                }
                true => format!(
                    "About {share} of the operations{part} are missing from these numbers (95 % interval: {low} to {high})."
                ),
                false => format!(
                    "About {share} of the operations of the whole capture are missing (95 % interval: {low} to {high}). Of the \
                    operations that match the filters, a larger or smaller share may be missing."
                ),
            }
        }
        (Some(_), _, Some(high)) if high > 0.0 => {
            format!(
                "No operation is known to be missing{of_what}, but up to {share} of the operations{of_all} may be missing (upper end \
                of the 95 % interval).",
                of_what = of_what(findings),
                share = tenths(high),
                of_all = of_all(findings)
            )
        }
        (Some(_), ..) => format!("No operation is known to be missing{}.", of_what(findings)),
        (None, ..) => "It is not known how many operations are missing from these numbers.".to_owned(),
    }
}

/// The missing part is known for all operations, not for those that match a filter.
fn of_all(findings: &Findings) -> &'static str {
    if findings.source.filters.is_empty() { "" } else { " of the whole capture" }
}

/// The subject of a statement about completeness, without unreadable parts.
fn of_what(findings: &Findings) -> &'static str {
    let unread = [
        Anomaly::ReadingInterrupted,
        Anomaly::CaptureFileTruncated,
        Anomaly::CaptureRecordBad,
        Anomaly::PacketWithoutTime,
        Anomaly::TimeOutlier,
        Anomaly::LinkTypeUnknown,
    ];
    let is_unread = |kind: &Anomaly| findings.anomalies.iter().any(|one| one.kind == kind.label());
    if unread.iter().any(is_unread) { " in the part that was read" } else { "" }
}

/// The reasons why a capture is partial or invalid: the missing amount, and every cause with its remedy.
pub(super) fn reasons(findings: &Findings) -> Vec<Reason> {
    let unseen = &findings.unseen;
    let causes: Vec<String> = [
        dropped(findings),
        dropped_without_gap(findings),
        cut(findings),
        cut_connections(findings),
        without_fragments(findings),
        one_sided(unseen),
        unexplained(unseen),
        rpc_tls::reason(findings),
        encrypted(findings),
        compressed(unseen),
    ]
    .into_iter()
    .flatten()
    .collect();
    if causes.is_empty() && unseen.missing == 0 {
        return Vec::new();
    }
    let verdict = match unseen.share_missing {
        Some(share) if share <= INVALID_ABOVE && unseen.paired > 0 => Verdict::Partial,
        None if unseen.paired > 0 => Verdict::Partial,
        _ => Verdict::Invalid,
    };
    let text = match unseen.share_missing_high {
        _ if unseen.paired == 0 => Some("No request was seen with its response.".to_owned()),
        _ if unseen.missing > 0 => Some(format!("{} The missing operations may be the slowest.", headline(findings))),
        Some(high) if high > 0.0 => {
            let of_all = of_all(findings);
            let part = of_what(findings);
            Some(format!(
                "Up to {} of the operations{of_all}{part} may be missing (upper end of the 95 % interval).",
                tenths(high)
            ))
        }
        // That nothing is known to be missing speaks against no number: the causes do.
        Some(_) => None,
        None => Some(headline(findings)),
    };
    let mut reasons: Vec<Reason> = text.map(|text| Reason { verdict, text }).into_iter().collect();
    reasons.extend(causes.into_iter().map(|text| Reason { verdict, text }));
    reasons
}

/// How many packets with data are missing: the estimate, and the minimum. Both follow from the sizes of captured packets. They are wrong
/// if the capturing program reported fewer: then the capture lost larger packets than it has.
pub(crate) fn dropped_packets(findings: &Findings) -> Option<(u64, u64)> {
    let (packets, reported) = (&findings.packets, count(findings, Anomaly::CaptureDropsReported));
    let (estimate, least) = (packets.dropped_estimate, packets.dropped_at_least);
    (reported == 0 || estimate.max(least) <= reported).then_some((estimate, least))
}

/// Packets that the capture dropped, or data in which no message was recognised.
fn dropped(findings: &Findings) -> Option<String> {
    let (packets, unseen) = (&findings.packets, &findings.unseen);
    let halves = unseen.requests_after_gap.saturating_add(unseen.responses_after_gap);
    (packets.missing_bytes > 0 || halves > 0).then(|| {
        let late = count(findings, Anomaly::SegmentLate);
        if packets.missing_bytes == 0 && late > 0 {
            return format!(
                "{} came too late to fill gaps in the TCP streams, so the request or the response of {} is missing.",
                plural(late, "packet"),
                plural(halves, "operation")
            );
        }
        if packets.missing_bytes == 0 {
            return format!(
                "Part of the captured data contains no recognised message, so the request or the response of {} is missing. Start the \
                capture before the clients connect.",
                plural(halves, "operation")
            );
        }
        let bytes = plural(packets.missing_bytes, "byte");
        let size = match dropped_packets(findings) {
            Some((estimate, _)) => format!("about {} with data ({bytes})", plural(estimate, "packet")),
            None => format!("{bytes} of data"),
        };
        let (outliers, disorder) = (count(findings, Anomaly::TimeOutlier), disorder(findings));
        let down = count(findings, Anomaly::InterfaceDown) > 0;
        match (outliers, disorder) {
            _ if down => format!(
                "The TCP streams have gaps of {size}: these packets passed while the interface was down, or the capture dropped them."
            ),
            _ if input::has_two_clocks(count(findings, Anomaly::NegativeTime), unseen.paired) => format!(
                "The TCP streams have gaps of {size}. The missing packets may be packets whose timestamps are too late, because the \
                directions have different clocks."
            ),
            (1.., _) => format!(
                "The TCP streams have gaps of {size}. Plimsoll left out {} because of their timestamps: these may be the missing packets. \
                If not, the capture dropped the missing packets.",
                plural(outliers, "packet")
            ),
            (_, 1..) => format!(
                "The TCP streams have gaps of {size} in total. Packets are out of order in the capture: the timestamps go back {}, too \
                far for Plimsoll to sort the packets. The missing packets may be elsewhere in the capture: sort the capture with \
                reordercap IN OUT, then analyze OUT.",
                plural(disorder, "time")
            ),
            _ => format!("The capture dropped {size}: use a larger capture buffer (tcpdump -B 65536, plimsoll watch --buffer 256MiB)."),
        }
    })
}

/// Lost packets of which the streams have no gap: see [`plimsoll_model::Coverage::unexplained_drops`].
fn dropped_without_gap(findings: &Findings) -> Option<String> {
    let (packets, reported) = (&findings.packets, count(findings, Anomaly::CaptureDropsReported));
    let is_unexplained = findings.unseen.share_missing.is_none() && reported > 2 * packets.dropped_estimate;
    is_unexplained.then(|| {
        format!(
            "The capturing program reported {lost} as lost, but the gaps in the TCP streams account for only {gaps} with data. \
            Connections that began or ended during the loss leave no gap. Use a larger capture buffer (tcpdump -B 65536, plimsoll watch --buffer 256MiB).",
            lost = plural(reported, "packet"),
            gaps = plural(packets.dropped_estimate, "packet")
        )
    })
}

/// Responses without a captured request, for an unknown cause.
fn unexplained(unseen: &Unseen) -> Option<String> {
    (unseen.responses_unexplained > 0).then(|| {
        format!(
            "{} without a request, for an unknown reason: the capture may have dropped the requests, or started after them.",
            plural(unseen.responses_unexplained, "response")
        )
    })
}

/// Message headers that the snap length cut off.
fn cut(findings: &Findings) -> Option<String> {
    let (packets, unseen) = (&findings.packets, &findings.unseen);
    let halves = unseen.requests_after_cut.saturating_add(unseen.responses_after_cut);
    // Where requests and responses are cut alike, no half is left of an operation.
    let headers = count(findings, Anomaly::HeaderCutShort);
    (halves > 0 || headers > 0).then(|| {
        let therefore = match halves {
            0 => "their operations could not be read".to_owned(),
            _ => format!("the request or the response of {} is missing", plural(halves, "operation")),
        };
        format!(
            "The snap length truncated {packets} and cut off {headers}: {therefore}. Use a snap length of at least {largest} bytes, the \
            size of the largest packet (tcpdump -s 0: no limit).",
            packets = plural(packets.truncated, "packet"),
            headers = plural(headers, "message header"),
            largest = packets.largest
        )
    })
}

/// Messages over UDP that were not put together from IP fragments.
fn without_fragments(findings: &Findings) -> Option<String> {
    let messages = Some(count(findings, Anomaly::MessageFragmentsIncomplete)).filter(|&messages| messages > 0)?;
    Some(format!(
        "Plimsoll could not read {}, which may contain RPC requests or responses: IP fragments are missing, or the snap length cut them \
        off. Capture whole packets (tcpdump -s 0) and do not filter by port, because only the first fragment contains the port.",
        plural(messages, "UDP datagram")
    ))
}

/// Connections of which the snap length left too little to recognise.
fn cut_connections(findings: &Findings) -> Option<String> {
    let connections = Some(count(findings, Anomaly::ConnectionCutShort)).filter(|&connections| connections > 0)?;
    Some(format!(
        "The snap length truncated {packets}: no message was recognised on {connections} to a file server's port (445, 139, 2049 or \
        111). Use a snap length of at least {largest} bytes, the size of the largest packet (tcpdump -s 0: no limit).",
        packets = plural(findings.packets.truncated, "packet"),
        connections = plural(connections, "connection"),
        largest = findings.packets.largest
    ))
}

/// How often time goes back where packets were not sorted.
fn disorder(findings: &Findings) -> u64 {
    count(findings, Anomaly::PacketOutOfOrder).saturating_add(findings.clock.backward_steps)
}

fn count(findings: &Findings, kind: Anomaly) -> u64 {
    findings.anomalies.iter().find(|one| one.kind == kind.label()).map_or(0, |one| one.count)
}

fn one_sided(unseen: &Unseen) -> Option<String> {
    (unseen.one_sided > 0).then(|| {
        let named = unseen.one_sided_connections.iter().take(NAMED);
        let named: Vec<String> = named.map(|one| format!("{} to {}", one.from, one.to)).collect();
        let more = unseen.one_sided.saturating_sub(named.len() as u64);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!(
            "The capture has only one direction of {connections} ({named}{more}): {requests} without a response, {responses} without \
            a request. Capture where both directions pass.",
            connections = plural(unseen.one_sided, "connection"),
            named = named.join(", "),
            requests = plural(unseen.requests_one_sided, "request"),
            responses = plural(unseen.responses_one_sided, "response")
        )
    })
}

fn encrypted(findings: &Findings) -> Option<String> {
    let encrypted = Some(findings.unseen.encrypted).filter(|&encrypted| encrypted > 0)?;
    let refused = count(findings, Anomaly::MessageUndecryptable);
    let remedy = if refused > 0 {
        format!(
            "the given session keys do not decrypt {}. Check --smb-session-key and --smb-session-keys: every session needs its own key.",
            plural(refused, "message")
        )
    } else {
        "give the session keys with --smb-session-key or --smb-session-keys. Samba logs session keys with `debug encryption = \
        yes`, and `smbinfo keys` prints the keys of a Linux mount. Without keys, --full still shows the rate and the mean \
        response time of the encrypted messages."
            .to_owned()
    };
    Some(format!("About {} encrypted and could not be read{SEVERAL}: {remedy}", are(encrypted, MESSAGE)))
}

fn compressed(unseen: &Unseen) -> Option<String> {
    (unseen.compressed > 0).then(|| {
        let are = are(unseen.compressed, MESSAGE);
        format!("About {are} compressed and could not be read{SEVERAL}: capture without SMB compression.")
    })
}

/// The counted unit if contents are encrypted, because the number of requests in a message is unknown.
const MESSAGE: &str = "request message";
const SEVERAL: &str = " (a message contains one request or more)";

#[cfg(test)]
mod tests {
    use super::{Anomaly, Verdict, cut, reasons};
    use super::{Findings, dropped, headline};

    #[test]
    fn with_filters_what_is_missing_is_that_of_the_whole_capture() {
        let mut findings = Findings::default();
        let unseen = &mut findings.unseen;
        (unseen.missing, unseen.paired) = (10, 90);
        (unseen.share_missing, unseen.share_missing_low, unseen.share_missing_high) = (Some(0.1), Some(0.1), Some(0.1));
        assert!(headline(&findings).contains("are missing from these numbers"));
        findings.source.filters = vec!["--to 1s".to_owned()];
        let said = headline(&findings);
        assert!(said.contains("of the whole capture are missing") && !said.contains("these numbers"), "{said}");
        findings.unseen.missing = 0;
        let said = headline(&findings);
        assert!(said.contains("up to 10.0 % of the operations of the whole capture may be missing"), "{said}");
    }

    #[test]
    fn an_estimate_of_dropped_packets_does_not_exceed_the_reported_number() {
        let mut findings = Findings::default();
        let packets = &mut findings.packets;
        (packets.missing_bytes, packets.dropped_estimate, packets.dropped_at_least) = (8_000_000, 7_714, 4_910);
        let said = dropped(&findings).unwrap();
        assert!(said.starts_with("The capture dropped about 7,714 packets with data (8,000,000 bytes): "), "{said}");
        let anomaly = plimsoll_model::Anomaly::CaptureDropsReported;
        let (kind, text) = (anomaly.label().to_owned(), anomaly.text().to_owned());
        findings.anomalies = vec![crate::findings::AnomalyCount { kind, count: 568, text }];
        let said = dropped(&findings).unwrap();
        assert!(said.starts_with("The capture dropped 8,000,000 bytes of data: "), "{said}");
        findings.anomalies[0].count = 9_000;
        assert!(dropped(&findings).unwrap().contains("about 7,714 packets"), "packets without data are reported too");
    }

    #[test]
    fn packets_that_came_late_were_not_dropped() {
        let mut findings = Findings::default();
        findings.unseen.responses_after_gap = 2;
        assert!(dropped(&findings).unwrap().starts_with("Part of the captured data contains no recognised message"));
        let (kind, text) = (Anomaly::SegmentLate.label().to_owned(), Anomaly::SegmentLate.text().to_owned());
        findings.anomalies = vec![crate::findings::AnomalyCount { kind, count: 3, text }];
        let expected = "3 packets came too late to fill gaps in the TCP streams, so the request or the response of 2 \
            operations is missing.";
        assert_eq!(dropped(&findings).as_deref(), Some(expected));
    }

    #[test]
    fn the_estimate_is_one_of_what_was_read() {
        let mut findings = Findings::default();
        let unseen = &mut findings.unseen;
        (unseen.missing, unseen.paired) = (10, 90);
        (unseen.share_missing, unseen.share_missing_low, unseen.share_missing_high) = (Some(0.1), Some(0.1), Some(0.2));
        let anomaly = plimsoll_model::Anomaly::CaptureRecordBad;
        findings.anomalies = vec![crate::findings::AnomalyCount {
            kind: anomaly.label().to_owned(),
            count: 1,
            text: anomaly.text().to_owned(),
        }];
        let said = headline(&findings);
        assert!(said.starts_with("10.0 % to 20.0 % of the operations in the part that was read are missing"), "{said}");
    }

    fn with(kind: Anomaly, count: u64) -> Findings {
        let (label, text) = (kind.label().to_owned(), kind.text().to_owned());
        let anomalies = vec![crate::findings::AnomalyCount { kind: label, count, text }];
        Findings { anomalies, ..Findings::default() }
    }

    #[test]
    fn messages_without_all_fragments_are_a_reason() {
        let mut findings = with(Anomaly::MessageFragmentsIncomplete, 270);
        findings.unseen.paired = 30;
        let said = reasons(&findings);
        assert!(said.iter().all(|reason| reason.verdict == Verdict::Partial), "{said:?}");
        assert!(said[0].text.starts_with("It is not known how many operations are missing"), "{said:?}");
        assert!(said[1].text.starts_with("Plimsoll could not read 270 UDP datagrams, which may"), "{said:?}");
        let other = reasons(&with(Anomaly::FragmentsIncomplete, 270));
        assert!(other.is_empty(), "of TCP, or of other traffic: {other:?}");
    }

    #[test]
    fn without_a_captured_half_the_cut_counts_no_operations() {
        let mut findings = with(Anomaly::HeaderCutShort, 108);
        let said = cut(&findings).unwrap();
        assert!(said.contains("cut off 108 message headers: their operations could not be read. Use"), "{said}");
        findings.unseen.requests_after_cut = 2;
        let said = cut(&findings).unwrap();
        assert!(said.contains("message headers: the request or the response of 2 operations is missing."), "{said}");
    }
}
