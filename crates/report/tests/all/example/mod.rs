//! Findings made by hand: every part of a report is in the rich one, nothing in the empty one.

pub(crate) mod bless;
mod calls;
mod channels;
mod operations;
mod profile;
mod runs;

use plimsoll_report::findings::calls::ServerCounter;
use plimsoll_report::findings::*;

use calls::calls;
use channels::channels;
use operations::{file_io, groups, heat_maps, octaves, operations, queue_depth, slow, waiting};
pub(crate) use runs::{run, shared};

/// Nothing was seen.
pub(crate) fn empty() -> Findings {
    Findings {
        overhead: Some(Overhead {
            payload_bytes: 1_000_000,
            message_bytes: 1_010_000,
            message_ratio: 1.01,
            network_ratio: Some(1.06),
        }),
        letter: "A".to_owned(),
        name: "example".to_owned(),
        source: Source { tool: "plimsoll 0.1.0".into(), vantage: "wire".into(), ..Source::default() },
        validity: Validity::invalid("no packets"),
        ..Findings::default()
    }
}

/// A row as Appendix A has it: count, share, packets, then fastest, slowest, median, average, deviation (s), and counts
/// below 0.001, 0.01, 0.1, 1, 10 s.
pub(crate) fn row(
    seed: &str,
    procedure: &str,
    group: &str,
    n: u64,
    packets: f64,
    times: [f64; 5],
    decades: [u64; 5],
) -> OperationRow {
    let [min_s, max_s, p50_s, mean_s, deviation] = times;
    let edges = [0.001, 0.01, 0.1, 1.0, 10.0];
    let all: Vec<Bucket> = edges.iter().zip(decades).map(|(&below_s, count)| Bucket { below_s, count }).collect();
    let first = all.iter().position(|bucket| bucket.count > 0).unwrap_or(0);
    let last = all.iter().rposition(|bucket| bucket.count > 0).unwrap_or(0);
    let times = Times {
        count: n,
        min_s,
        max_s,
        mean_s,
        stddev_s: (n > 1).then_some(deviation),
        p50_s,
        p90_s: mean_s * 1.5,
        p95_s: mean_s * 1.8,
        p99_s: (mean_s * 2.5).min(max_s),
        p999_s: (mean_s * 3.5).min(max_s),
    };
    OperationRow {
        protocol: if procedure.is_empty() { String::new() } else { "SMB1".into() },
        procedure: procedure.into(),
        netbench_name: (!seed.is_empty()).then(|| seed.into()),
        operation: if procedure.is_empty() { String::new() } else { "other".into() },
        group: group.into(),
        count: n,
        share: n as f64 / 23_507.0,
        answered: n,
        packets_mean: Some(packets),
        payload_bytes: Some(if group == "Read" || group == "Write" { n * 4096 } else { 0 }),
        wire_bytes: Some(n * 4300),
        response_time: Some(times),
        service_time: Some(Times { min_s: min_s * 0.5, mean_s: mean_s * 0.5, p50_s: p50_s * 0.5, ..times }),
        service_octaves: if procedure.is_empty() || decades == [0; 5] { vec![] } else { octaves(n, mean_s * 0.5) },
        distribution: if decades == [0; 5] { vec![] } else { all[first..=last].to_vec() },
        percentiles: vec![
            PercentilePoint { percentile: 50.0, value_s: p50_s },
            PercentilePoint { percentile: 100.0, value_s: max_s },
        ],
        ..OperationRow::default()
    }
}

/// Three operations that waited long, twelve that hardly did, and one of which it is not known.
fn resent() -> Resent {
    Resent {
        operations: Some(3),
        wait_s: Some(0.65),
        brief_operations: Some(12),
        brief_wait_s: Some(0.0004),
        unknown: Some(1),
    }
}

/// Part of Swartz's (1997) Appendix A, and something of everything that it does not have. File names are nasty.
#[allow(clippy::too_many_lines, reason = "one field after the other")]
pub(crate) fn rich() -> Findings {
    Findings {
        source: Source {
            tool: "plimsoll 0.1.0".into(),
            inputs: vec!["f630 - 80 clients".into()],
            filters: vec!["--server 10.0.0.2".into()],
            vantage: "wire".into(),
            ..Source::default()
        },
        diagnosis: Diagnosis {
            waited_s: Some(1_234.0),
            statements: vec![Statement {
                rule: Rule::Operation,
                text: "Clients waited 1234 s for 23,507 requests: 52 % of it for the operation read\u{1b}[2J.".into(),
                share: Some(0.52),
                confidence: Confidence::Measured,
            }],
            next: Some("plimsoll analyze 'f630 - 80 clients' --operation read --by client".into()),
        },
        validity: Validity::default(),
        span: Span {
            first_ns: Some(870_000_000_000_000_000),
            last_ns: Some(870_000_651_795_400_000),
            elapsed_s: Some(651.795_4),
            between_files_s: 0.0,
        },
        packets: packets(),
        clock: Clock { granularity_s: Some(4e-6), at_most: true, backward_steps: 1 },
        resent: resent(),
        unseen: Unseen {
            paired: 23_507,
            requests_after_gap: 100,
            responses_after_gap: 37,
            requests_waiting: 2,
            responses_before_start: 1,
            share_missing: Some(0.0058),
            share_missing_low: Some(0.0051),
            share_missing_high: Some(0.0071),
            missing: 137,
            ..Unseen::default()
        },
        operations: operations(),
        groups: groups(),
        members: vec![],
        long_lived: vec![row(
            "",
            "NT_TRANSACT NOTIFY_CHANGE",
            "Other.Directory",
            3,
            2.0,
            [1.5, 600.0, 30.0, 210.5, 337.0],
            [0; 5],
        )],
        breakdown: Some(breakdown()),
        queue_depth: queue_depth(),
        io: Some(file_io()),
        slowest: vec![slow()],
        unanswered: vec![waiting()],
        series: Series {
            start_ns: 870_000_000_000_000_000,
            bin_s: 10.0,
            operations: vec![1, 2],
            errors: vec![0, 1],
            read_bytes: vec![0, 4096],
            write_bytes: vec![0, 0],
            payload_unknown: vec![0, 0],
            response_mean_s: vec![None, Some(0.01)],
        },
        heat_maps: heat_maps(),
        anomalies: vec![
            anomaly("gap_in_capture", 7065, "preceding packet(s) dropped by the capture"),
            anomaly("request_end_missing", 24, "final packet of request missing"),
            anomaly("response_mismatch", 137, "response with a matching ID, but for another kind of request"),
        ],
        warnings: vec![
            "The capture dropped 7065 packets or more: at least 0.6 % of the operations could not be paired.".into(),
        ],
        one_way: 5,
        connections: 80,
        ..empty()
    }
}

fn packets() -> PacketCounts {
    PacketCounts {
        total: 91_748,
        tcp: 91_748,
        tcp_data: 74_112,
        ack_only: 17_623,
        ack_repeated: 13,
        retransmitted: 6,
        out_of_order: 2,
        dropped_at_least: 7065,
        dropped_estimate: 9204,
        missing_bytes: 6_400_000,
        largest: 1_514,
        truncated: 1,
        continued: 26_787,
        commands: 44_510,
        command_first: 23_665,
        command_continued_sync: 5907,
        command_continued_async: 6707,
        command_ack: 8219,
        command_retry: 13,
        captured_bytes: 60_000_000,
        wire_bytes: 61_234_567,
        ..PacketCounts::default()
    }
}

fn breakdown() -> Breakdown {
    let entry = |key: Option<&str>, n, waited_share, waited_s: [f64; 3]| BreakdownRow {
        key: format!("{}, delete", key.unwrap_or("(unknown)")),
        keys: vec![key.map(str::to_owned), Some("delete".into())],
        waited_share: Some(waited_share),
        bytes_per_s: Some(n as f64 * 100.0),
        series: BreakdownSeries {
            first_bin: 1,
            operations: vec![n - 1, 0, 1],
            errors: vec![0, 0, 1],
            waited_s: waited_s.into(),
            response_mean_s: vec![Some(waited_s[0] / (n - 1) as f64), None, Some(waited_s[2])],
        },
        row: row("", "", "", n, 2.0, [0.0002, 0.2, 0.007, 0.01, 0.01], [1, n - 1, 0, 0, 0]),
    };
    Breakdown {
        by: "path,operation".into(),
        dimensions: vec!["path".into(), "operation".into()],
        rows: vec![
            entry(Some(r"\\f630\share\a rather long directory name\with a file in it.doc"), 900, 0.6, [6.0, 0.0, 0.3]),
            entry(Some("\x1b]0;owned\x07\u{202e}fdp.exe"), 10, 0.1, [0.05, 0.0, 0.02]),
            entry(None, 3, 0.05, [0.02, 0.0, 0.02]),
        ],
        first_keys: None,
        others: 22_597,
        others_waited_s: 2.5,
        others_waited_share: Some(0.25),
        start_ns: 870_000_012_000_000_000,
        bin_s: 0.256,
        bins: 5,
    }
}

fn anomaly(kind: &str, count: u64, text: &str) -> AnomalyCount {
    AnomalyCount { kind: kind.into(), count, text: text.into() }
}
