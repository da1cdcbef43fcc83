//! Whether the numbers may be used, and warnings about them.

mod bindings;

use super::counts::{plural, thousands};
use super::{input, links, missing};
use crate::findings::{Findings, PacketCounts, Times};
use crate::instant;
use crate::text::time;
use plimsoll_model::{Anomaly, Coverage, Reason, Validity, Verdict};
use plimsoll_stats::Statistics;

/// A clock step coarser than this share of a median makes the times of that row guesses (Swartz 1997, section 3).
const COARSE: f64 = 0.1;
/// Above this share of the packets with data, repeated ones are as likely the capture's doing as the network's.
const REPEATED: f64 = 0.2;
/// Rows named in one warning.
const NAMED: usize = 3;

/// Invalid without operations or if most are missing, partial if some are; the reasons name the missing part and its cause.
pub(super) fn judge(statistics: &Statistics, coverage: &Coverage, findings: &Findings) -> Validity {
    let all = statistics.operations().chain(statistics.long_lived()).chain(statistics.members());
    let any = all.map(|(_, sums)| sums.count()).sum::<u64>() > 0;
    let mut missing = missing::reasons(findings);
    if !any {
        let filtered = filtered(coverage, &findings.source.filters);
        // The missing part itself explains why nothing was found.
        let nothing = filtered.or_else(|| missing.is_empty().then(|| instead(coverage)));
        missing.extend(nothing.map(Reason::invalid));
    }
    // First, because the estimate of the missing part is one of what was read.
    let mut input = input::reasons(coverage, any);
    if input.iter().all(|reason| reason.verdict != Verdict::Invalid) {
        input.extend(all_zero(findings, coverage));
    }
    Validity::of(input.into_iter().chain(links::unknown(coverage)).chain(clock_set(coverage)).chain(missing))
}

/// No response comes in the instant of its request, so a clock that shows this for all of them measures nothing.
fn all_zero(findings: &Findings, coverage: &Coverage) -> Option<Reason> {
    let times = || findings.operations.iter().filter_map(|row| row.response_time);
    let is_zero = times().next().is_some() && times().all(|times| times.max_s <= 0.0);
    let is_negative = coverage.anomalies.count(Anomaly::NegativeTime) > 0;
    is_zero.then(|| {
        Reason::invalid(if is_negative {
            "Times cannot be measured: each response has the same timestamp as its request, or an earlier one. The clock is too coarse, or \
             requests and responses have different clocks. Capture both directions with the same clock and finer timestamps."
        } else {
            "Times cannot be measured: each response has the same timestamp as its request, because the clock of the capture is too coarse. \
             Capture again with a program that records finer timestamps."
        })
    })
}

/// Times from before to behind a step of the clock are wrong, and nothing tells which.
fn clock_set(coverage: &Coverage) -> Option<Reason> {
    let steps = Some(coverage.clock.backward_steps).filter(|&steps| steps > 0)?;
    Some(Reason::partial(format!(
        "The timestamps of the capture go back by more than 100 ms in {}: the clock was set, files overlap in time, or packets are far \
         out of order. Times of operations across such a place are wrong.",
        plural(steps, "place")
    )))
}

/// The filters let nothing through: how many transactions there are, and when. `None` where they kept nothing out.
fn filtered(coverage: &Coverage, filters: &[String]) -> Option<String> {
    let all = (coverage.filtered_out > 0).then(|| plural(coverage.filtered_out, "operation"))?;
    let span = coverage.capture_ns.map_or_else(String::new, |(first, last)| {
        format!(", from {} to {}", instant::microsecond(first), instant::microsecond(last))
    });
    Some(format!("No operation matches {}: the capture has {all}{span}; change or remove a filter.", filters.join(" ")))
}

fn instead(coverage: &Coverage) -> String {
    let p = &coverage.packets;
    let unpaired = coverage.unseen.orphans();
    let timeless = coverage.anomalies.count(Anomaly::PacketWithoutTime);
    if p.total == 0 {
        "No operation was found: the input has no packets.".to_owned()
    } else if timeless >= p.total {
        "No operation was found: no packet has a usable timestamp. Capture again with timestamps.".to_owned()
    } else if unpaired > 0 {
        format!("No operation was found: the input has {}, none with its request.", plural(unpaired, "response"))
    } else {
        let mut seen = Vec::new();
        let other = p.other.saturating_sub(timeless);
        for (count, what) in [(p.tcp, "TCP packet"), (p.udp, "UDP packet"), (other, "other packet")] {
            if count > 0 {
                seen.push(plural(count, what));
            }
        }
        let cut = match p.truncated {
            0 => String::new(),
            cut => format!(
                " The snap length truncated {}: use at least {} bytes, the size of the largest packet (tcpdump -s 0: no limit).",
                plural(cut, "packet"),
                p.largest
            ),
        };
        format!("No operation was found: the input has {}, none recognised as SMB or RPC.{cut}", seen.join(", "))
    }
}

pub(super) fn warnings(findings: &Findings, coverage: &Coverage) -> Vec<String> {
    let mut warnings = input::warnings(coverage);
    warnings.extend(statuses_unseen(findings));
    warnings.extend(coarse_clock(findings, coverage));
    warnings.extend(repeated(&findings.packets));
    warnings.extend(whole_and_part(findings));
    let resent = &coverage.resent;
    if resent.operations > 0 {
        warnings.push(format!(
            "The network lost packets: {} waited for retransmissions, {} in total.",
            plural(resent.operations, "operation"),
            time(resent.wait_ns as f64 / 1e9),
        ));
    }
    warnings.extend(cut(findings.packets.truncated, has_smb(findings)));
    warnings.extend(bindings::unanswered(coverage));
    let early = coverage.anomalies.count(Anomaly::NegativeTime);
    if early > 0 {
        let responses = plural(early, "response");
        warnings
            .push(format!("{responses} with a timestamp before that of the request: left out of all response times."));
    }
    let disorder = coverage.anomalies.count(Anomaly::PacketOutOfOrder);
    if disorder > 0 {
        warnings.push(format!(
            "{} too far out of order for Plimsoll to sort. Because of this, operations may appear unpaired and packets may appear \
            dropped. Sort the capture by time with reordercap IN OUT, then analyze OUT.",
            plural(disorder, "packet"),
        ));
    }
    warnings
}

/// The unknown data after the cut. In NFS no request waits by design.
fn cut(truncated: u64, smb: bool) -> Option<String> {
    let waiting = if smb {
        " Requests that wait by design (reads of pipes, locks, change notifications) may be counted as ordinary requests."
    } else {
        ""
    };
    (truncated > 0).then(|| {
        format!(
            "The snap length truncated {}: names, sizes and subcommands after the cut are not known (tcpdump -s 0 captures whole \
            packets).{waiting}",
            plural(truncated, "packet")
        )
    })
}

fn has_smb(findings: &Findings) -> bool {
    findings.operations.iter().chain(&findings.long_lived).any(|row| row.protocol.starts_with("SMB"))
}

/// If both a bridge and its port were captured, each packet occurs twice, which looks like retransmission.
fn repeated(packets: &PacketCounts) -> Option<String> {
    (packets.retransmitted as f64 > REPEATED * packets.tcp_data as f64).then(|| {
        format!(
            "{duplicates} of {packets} are duplicates: either TCP sent them again, or the capture has packets twice (for example from a \
            bridge and its port, or with tcpdump -i any). If the capture has packets twice, capture only one interface, or remove the \
            copies (editcap -d IN OUT).",
            duplicates = thousands(packets.retransmitted),
            packets = plural(packets.tcp_data, "data packet")
        )
    })
}

/// The parts of a filtered report that are not filtered.
fn whole_and_part(findings: &Findings) -> Option<String> {
    let filters = &findings.source.filters;
    (!filters.is_empty()).then(|| {
        format!(
            "Operations, times, rates and queue depth cover only requests that match {}. Packets, connections, missing operations \
            and warnings cover the whole capture.",
            filters.join(" ")
        )
    })
}

/// Answers without a status that was seen are no errors here, and may be.
fn statuses_unseen(findings: &Findings) -> Option<String> {
    let rows = findings.operations.iter().chain(&findings.long_lived).filter(|row| row.is_counted_once());
    let unseen = rows.map(|row| row.status_unknown).fold(0, u64::saturating_add);
    (unseen > 0).then(|| {
        let answers = plural(unseen, "response");
        format!("The status of {answers} is not known: the snap length cut off the status or the request, or the message is \
        encrypted. Unknown statuses do not count as errors.")
    })
}

fn coarse_clock(findings: &Findings, coverage: &Coverage) -> Option<String> {
    let (step, at_most) = (findings.clock.granularity_s?, findings.clock.at_most);
    // An upper bound proves no coarseness, but a median of 0 does.
    if at_most && input::has_two_clocks(coverage.late_requests.count, coverage.unseen.paired) {
        return None;
    }
    let is_coarse = |t: Times| if at_most { t.p50_s <= 0.0 } else { step > t.p50_s * COARSE };
    let coarse: Vec<&str> = findings
        .operations
        .iter()
        .filter(|row| row.response_time.is_some_and(is_coarse))
        .map(|row| row.procedure.as_str())
        .collect();
    let (first, rest) = (coarse.iter().take(NAMED).copied().collect::<Vec<_>>(), coarse.len().saturating_sub(NAMED));
    (!first.is_empty()).then(|| {
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let (operations, step) = (first.join(", "), time(step));
        if at_most {
            let (times, them) = if coarse.len() > 1 { ("times", "them") } else { ("time", "it") };
            let are = if coarse.len() > 1 { "are" } else { "is" };
            return format!(
                "The median response {times} of {operations}{more} {are} 0: the clock of the capture is too coarse for {them} (resolution \
                 {step} or finer)."
            );
        }
        format!(
            "The capture's clock has a resolution of {step}, coarser than a tenth of the median response time of {operations}{more}."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{Anomaly, Coverage, input, instead};
    use super::{Findings, PacketCounts, cut, repeated, whole_and_part};

    #[test]
    fn packets_that_are_there_twice_are_no_proof_of_loss() {
        let packets = |retransmitted| PacketCounts { retransmitted, tcp_data: 1_000, ..PacketCounts::default() };
        assert_eq!((repeated(&packets(200)), repeated(&PacketCounts::default())), (None, None));
        assert!(repeated(&packets(500)).is_some_and(|said| said.contains("or the capture has packets twice")));
    }

    #[test]
    fn packets_without_a_time_are_no_other_traffic() {
        let mut coverage = Coverage::default();
        (coverage.packets.total, coverage.packets.other) = (4_381, 4_381);
        coverage.anomalies.add_many(Anomaly::PacketWithoutTime, 4_381);
        let said = instead(&coverage);
        assert!(said.starts_with("No operation was found: no packet has a usable timestamp."), "{said}");
        (coverage.packets.total, coverage.packets.tcp) = (4_384, 3);
        let said = instead(&coverage);
        assert!(said.contains("the input has 3 TCP packets, none"), "{said}");
        let partial = input::reasons(&coverage, true);
        assert!(partial.iter().any(|reason| reason.text.starts_with("4,381 packets: left out because")), "{partial:?}");
    }

    #[test]
    fn only_smb_has_requests_that_wait_by_design() {
        assert_eq!(cut(0, true), None);
        assert!(cut(3, true).is_some_and(|said| said.contains("truncated 3 packets:") && said.contains("by design")));
        assert!(cut(3, false).is_some_and(|said| said.ends_with("captures whole packets).")));
    }

    #[test]
    fn filters_say_what_they_leave_whole() {
        let mut findings = Findings::default();
        assert_eq!(whole_and_part(&findings), None);
        findings.source.filters = vec!["--operation read".to_owned()];
        let said = whole_and_part(&findings).unwrap();
        assert!(said.contains("cover only requests that match --operation read."), "{said}");
    }
}
