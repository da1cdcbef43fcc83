//! Findings made by hand: every part of a report is in the rich one, nothing in the empty one.

pub(crate) mod bless;
mod calls;
mod channels;
mod profile;

use plimsoll_report::findings::calls::ServerCounter;
use plimsoll_report::findings::*;

use calls::calls;
use channels::channels;

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

/// All but one near the mean, and one that took eight times as long.
fn octaves(n: u64, mean_s: f64) -> Vec<Octave> {
    let power = (mean_s * 1e6).log2().ceil() as i32;
    let octave = |more: i32, count: u64| Octave {
        below_s: 2_f64.powi(power + more) / 1e6,
        count,
        total_s: mean_s * 2_f64.powi(more) * count as f64,
    };
    vec![octave(0, n - 1), octave(1, 0), octave(2, 0), octave(3, 1)]
}

fn heat_maps() -> Vec<HeatMap> {
    let map = |(group, n): (&str, u64)| HeatMap {
        group: group.into(),
        start_ns: 870_000_000_000_000_000,
        column_s: 10.0,
        columns: 2,
        edges_s: vec![0.001, 0.002, 0.004, 0.008, 0.016, 0.032],
        cells: vec![(0, 0, 5 * n), (1, 1, 70 * n), (0, 1, 8), (1, 2, 30), (1, 4, 1)],
    };
    [("All", 3), ("Read", 1), ("Write", 2)].map(map).to_vec()
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

#[allow(clippy::too_many_lines, reason = "rows of a table")]
fn operations() -> Vec<OperationRow> {
    let mut rows = vec![
        row(
            "Check_Directory",
            "CHECK_DIRECTORY",
            "Other.Directory",
            235,
            2.0,
            [0.00032, 0.0382, 0.00724, 0.0089, 0.0049],
            [4, 155, 76, 0, 0],
        ),
        row(
            "Delete_File",
            "DELETE",
            "Other.Directory",
            269,
            2.004,
            [0.00096, 1.64518, 0.00811, 0.04184, 0.1945],
            [1, 159, 101, 4, 4],
        ),
        row(
            "Read+X",
            "READ_ANDX",
            "Read",
            8735,
            3.6,
            [0.0002, 0.17699, 0.00732, 0.01063, 0.0126],
            [105, 6031, 2562, 37, 0],
        ),
        row(
            "Set_File_Attributes",
            "SET_INFORMATION",
            "Other.Attributes",
            1,
            2.0,
            [0.0139, 0.0139, 0.0139, 0.0139, 0.0],
            [0, 0, 1, 0, 0],
        ),
        row(
            "Transaction2",
            "TRANSACTION2",
            "Other.Directory",
            820,
            2.001,
            [0.00032, 0.09482, 0.00779, 0.00967, 0.006],
            [3, 519, 298, 0, 0],
        ),
        row(
            "Find_First",
            "TRANSACTION2 FIND_FIRST2",
            "Other.Directory",
            469,
            2.0,
            [0.00073, 0.09482, 0.00755, 0.00943, 0.0063],
            [1, 320, 148, 0, 0],
        ),
        row(
            "",
            "TRANSACTION2 SET_FS_INFORMATION",
            "Other.Attributes",
            85,
            2.0,
            [0.0039, 0.03716, 0.00792, 0.00997, 0.0056],
            [0, 53, 32, 0, 0],
        ),
        row(
            "Write_Raw",
            "WRITE_RAW",
            "Write",
            261,
            7.1,
            [0.00699, 0.20911, 0.02325, 0.02672, 0.0157],
            [0, 3, 257, 1, 0],
        ),
    ];
    for child in &mut rows[5..7] {
        child.parent = Some("TRANSACTION2".into());
    }
    (rows[1].errors, rows[1].refused, rows[1].expected) = (3, 3, 1);
    rows[1].statuses = vec![
        StatusCount {
            status: 0xc000_0022,
            name: "STATUS_ACCESS_DENIED".into(),
            count: 3,
            error: true,
            outcome: "refused".into(),
        },
        StatusCount {
            status: 0x8000_0005,
            name: "STATUS_BUFFER_OVERFLOW".into(),
            count: 1,
            error: false,
            outcome: "expected".into(),
        },
    ];
    rows.push(OperationRow {
        parent: Some("WRITE_RAW".into()),
        answered: 0,
        response_time: None,
        service_time: None,
        ..row("async portion", "WRITE_RAW async portion", "Write", 263, 25.5, [0.0; 5], [0; 5])
    });
    rows.push(OperationRow {
        protocol: "NFS3".into(),
        answered: 0,
        unanswered: 2,
        packets_mean: None,
        response_time: None,
        service_time: None,
        distribution: vec![],
        percentiles: vec![],
        ..row("", "READDIRPLUS", "Other.Directory", 2, 2.0, [0.0; 5], [0; 5])
    });
    rows
}

fn groups() -> Vec<OperationRow> {
    vec![
        row("", "", "Open/Close", 3275, 2.0001, [0.00021, 0.04957, 0.00739, 0.00893, 0.0048], [46, 2206, 1023, 0, 0]),
        row("", "", "Other", 5455, 2.0, [0.00016, 1.64518, 0.00727, 0.01043, 0.0441], [80, 3702, 1664, 5, 4]),
        row("", "", "Other.Attributes", 3412, 2.0, [0.00026, 0.1525, 0.00719, 0.00866, 0.0052], [60, 2343, 1008, 1, 0]),
        row("", "", "Other.Directory", 1754, 2.0, [0.00016, 1.64518, 0.00751, 0.01422, 0.0773], [16, 1140, 590, 4, 4]),
        row("", "", "Read", 8735, 3.6, [0.0002, 0.17699, 0.00732, 0.01063, 0.0126], [105, 6031, 2562, 37, 0]),
        row("", "", "Write", 6042, 3.02, [0.00034, 0.77066, 0.00789, 0.0108, 0.0181], [54, 3756, 2225, 7, 0]),
    ]
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
        others: 22_597,
        others_waited_s: 2.5,
        others_waited_share: Some(0.25),
        start_ns: 870_000_012_000_000_000,
        bin_s: 0.256,
        bins: 5,
    }
}

/// Sequential reads of 64 KiB; small random writes, half of them to blocks written before.
fn file_io() -> FileIo {
    let reads = IoDirection {
        requests: 1_000,
        bytes: 65_536_000,
        sizes: vec![SizeShare { from: 65_536, to: 131_071, count: 1_000, bytes: 65_536_000 }],
        first: 10,
        sequential: 980,
        strided: 4,
        random: 6,
        run_mean_bytes: Some(3_276_800.0),
        run_mean_requests: Some(50.0),
        runs: vec![RunShare { from: 32, to: 63, count: 20 }],
    };
    let writes = IoDirection {
        requests: 200,
        bytes: 102_400,
        sizes: vec![SizeShare { from: 512, to: 1023, count: 200, bytes: 102_400 }],
        first: 5,
        random: 195,
        run_mean_bytes: Some(512.0),
        run_mean_requests: Some(1.0),
        runs: vec![RunShare { from: 1, to: 1, count: 200 }],
        ..IoDirection::default()
    };
    let caches = vec![CacheShare { bytes: 1 << 20, hits: 0.25 }, CacheShare { bytes: 1 << 26, hits: 0.5 }];
    let working_set = WorkingSet {
        block_bytes: 4096,
        accesses: 16_200,
        bytes: Some(33_177_600),
        reused: Some(0.5),
        sampled: 0.5,
        relative_error: Some(0.011),
        caches,
    };
    FileIo { reads, writes, unknown: 3, working_set }
}

fn queue_depth() -> QueueDepth {
    let share = |from, to, count, share| DepthShare { from, to, count, share };
    QueueDepth {
        at_arrival: vec![share(0, 0, Some(20_000), 0.85), share(1, 1, Some(3000), 0.13), share(2, 3, Some(507), 0.02)],
        over_time: vec![share(0, 0, None, 0.6), share(1, 1, None, 0.35), share(2, 3, None, 0.05)],
        mean: Some(0.45),
        max: Some(3),
        entered_late: 1,
    }
}

fn slow() -> Slow {
    Slow {
        protocol: "SMB1".into(),
        procedure: "DELETE".into(),
        response_time_s: 1.645_18,
        service_time_s: Some(1.645_1),
        at_ns: 870_000_012_345_678_900,
        client: "10.0.0.1:1025".into(),
        server: "10.0.0.2:139".into(),
        share: Some(r"\\F630\BENCH".into()),
        path: Some("\\CLIENTS\\CLIENT1\\\x1b[31mRED\u{202e}TXT.EXE\nINVALID".into()),
        user: Some("tester".into()),
        status: Some("STATUS_SUCCESS".into()),
        request_frame: Some(12),
        response_frame: Some(15),
        display_filter: "frame.number == 12 || frame.number == 15".into(),
        ..Slow::default()
    }
}

fn waiting() -> Slow {
    Slow {
        procedure: "READ_ANDX".into(),
        service_time_s: None,
        status: None,
        path: None,
        user: None,
        request_frame: Some(91_000),
        response_frame: None,
        display_filter: "frame.number == 91000".into(),
        ..slow()
    }
}

fn anomaly(kind: &str, count: u64, text: &str) -> AnomalyCount {
    AnomalyCount { kind: kind.into(), count, text: text.into() }
}

/// A server's own metrics.
fn session_requests() -> SessionRequests {
    let before = OutsidePhase {
        requests: 22,
        errors: 1,
        unanswered: 1,
        response_mean_s: Some(0.004),
        response_max_s: Some(0.02),
    };
    SessionRequests { procedure: "TREE_CONNECT".into(), before, after: OutsidePhase::default() }
}

fn server_counters() -> ServerCounters {
    let counter =
        |name: &str, count, mean_s, waiting_mean_s| ServerCounter { name: name.into(), count, mean_s, waiting_mean_s };
    ServerCounters {
        source: "smbstatus --profile".into(),
        counters: vec![
            counter("smb2_close", 3, None, None),
            counter("smb2_read", 12_345, Some(12e-6), Some(2e-6)),
            counter("syscall_pread", 12_345, Some(9e-6), None),
        ],
        why_missing: None,
    }
}

fn server() -> ServerSide {
    ServerSide {
        source: "process 7 and its children".into(),
        cores_busy: Some(1.25),
        cpu_per_operation_s: Some(1e-3),
        disk_write_bytes_per_s: Some(1e6),
        ..ServerSide::default()
    }
}

/// A level of [`run`].
fn stage(rich: &Findings, number: u32, clients: u64, reasons: &[&str]) -> Stage {
    Stage {
        pace: vec!["no think time".to_owned(), "time-out 30.0 s".to_owned()],
        number,
        level: format!("{clients} clients"),
        varied: (number == 1).then(parameter),
        clients,
        depth: 4,
        outstanding: 4 * clients,
        connections: clients,
        asked_per_s: (number == 1).then_some(2000.0),
        iterations_per_s: 1234.5,
        span: rich.span,
        validity: Validity::of(reasons.iter().map(|&reason| Reason::invalid(reason))),
        count: 2469,
        errors: 1,
        refused: 1,
        unanswered: 1,
        operations_per_s: 1234.0,
        operations_per_s_interval: (number == 0).then_some(Interval { low: 1200.0, high: 1268.0 }),
        read_bytes_per_s: 5e6,
        write_bytes_per_s: 1e6,
        response_time: rich.operations[0].response_time,
        response_time_from_intended: (number == 1).then_some(rich.operations[0].response_time).flatten(),
        operations: rich.operations.clone(),
        groups: rich.groups.clone(),
        queue_depth: rich.queue_depth.clone(),
        generator: generator(rich, number),
        fairness: fairness(clients, number == 0),
        spread: if clients > 1 { spread() } else { ClientSpread::default() },
        server: (number == 0).then(server),
        counters: (number == 0).then(server_counters),
        channels: (number == 1).then(channels),
        failures: vec![FailureCount { cause: "timed out".into(), count: 2 }],
        users: (number == 1).then_some(Users {
            users: 22,
            due: 40,
            late: 10,
            overload: 0.25,
            failed: 1,
            failed_share: 0.025,
            duration_s: Some(4.5),
            bytes_per_s: Some(81_250.0),
        }),
        iterations: vec![IterationKind {
            name: "upload, unmapped".into(),
            ended: 38,
            unended: 1,
            failed: 1,
            late: 9,
            late_from_before: 4,
            mean_s: Some(10.5),
            overrun_mean_s: Some(1.5),
            overrun_max_s: Some(6.0),
        }],
        session_requests: vec![session_requests()],
        ..Stage::default()
    }
}

/// Clients that are served nearly alike.
fn fairness(clients: u64, attributable: bool) -> Fairness {
    let (min, max, stddev, jain) = (Some(0.9), Some(1.1), Some(0.05), Some(0.997));
    Fairness { clients, starved: 0, min, max, stddev, jain, attributable }
}

/// Whether the generator of a level kept up.
fn generator(rich: &Findings, number: u32) -> Generator {
    Generator {
        cpu_s: 1.5,
        cpu_share: 0.75,
        cpu_per_operation_s: Some(9e-6),
        polling_share: (number == 1).then_some(0.05),
        schedule_lag: rich.operations[0].service_time,
        round_trip: (number == 0).then_some(RoundTrip { least_s: 1e-5, smoothed_s: 4e-5 }),
        clock_granularity_s: Some(1e-9),
        never_sent: 3,
        requests_avoided: 12 * u64::from(number),
        channels_lost: u64::from(number),
        bindings_repeated: 2 * u64::from(number),
        sent_again: 3 * u64::from(number),
        run_delay_s: Some(0.25),
        late_requests: Some(3),
        moved: vec![MovedNumber { number: "p99.9".into(), reported: 0.0084, on_time: 0.0021 }],
        ..Generator::default()
    }
}

/// A run of two load levels, the second beyond the generator's limit.
pub(crate) fn run() -> Findings {
    let rich = rich();
    Findings {
        source: Source {
            tool: "plimsoll 0.1.0".into(),
            inputs: vec!["smb://u@host/share".into()],
            vantage: "client".into(),
            ..Source::default()
        },
        packets: PacketCounts::default(),
        run: Some(Run {
            target: "smb://u@host/share".into(),
            workload: "mixed".into(),
            description: "a quick <b>taste</b>".into(),
            workload_sha256: "00".repeat(32),
            seed: 7,
            threads: 2,
            warmup_s: 1.0,
            facts: vec!["SMB 3.1.1".into()],
            parameters: vec![parameter()],
            calls: Some(Box::new(calls())),
            ..Run::default()
        }),
        stages: vec![stage(&rich, 0, 1, &[]), stage(&rich, 1, 64, &["the generator was busy 97 % of the time"])],
        curves: vec![load_curve()],
        sizes: vec![size_curve()],
        repeats: vec![repeated_level()],
        interference: vec![],
        validity: Validity::invalid("At 64 clients: the generator was busy 97 % of the time"),
        ..rich
    }
}

fn parameter() -> Parameter {
    Parameter { name: "block".into(), value: "6kB".into(), bytes: Some(6_000) }
}

/// A curve through both levels of [`run`], as if there were more of them.
fn load_curve() -> LoadCurve {
    let point = |stage: u32, load: f64, used: bool| CurvePoint {
        stage,
        load,
        used,
        law_per_s: Some(1200.0),
        residual: used.then_some(0.028),
    };
    LoadCurve {
        curve: None,
        load: LOADS[1].into(),
        points: vec![point(0, 4.0, true), point(1, 256.0, false)],
        maximum: Some(CurveMaximum {
            stage: 0,
            load: 4.0,
            operations_per_s: 1234.0,
            interval: Some(Interval { low: 1200.0, high: 1268.0 }),
            not_shown_lower: vec![1],
        }),
        law: Some(FittedLaw { lambda_per_s: 320.0, sigma: 0.05, kappa: 0.002, deviation: 0.021 }),
        knee: Knee { load: Some(21.8), interval: Some(Interval { low: 20.1, high: 23.9 }), missing: None },
        overall_response_time_s: Some(0.0061),
    }
}

/// Three runs of the first level of [`run`], as if there had been three.
fn repeated_level() -> RepeatedLevel {
    let spread = |mean: f64, half: f64| Spread {
        mean,
        interval: Interval { low: mean - half, high: mean + half },
        min: mean - half / 2.0,
        max: mean + half / 3.0,
    };
    RepeatedLevel {
        level: "1 client".into(),
        curve: None,
        valid: true,
        stages: vec![0, 1, 2],
        operations_per_s: Some(spread(1234.0, 37.0)),
        response_mean_s: Some(spread(0.0081, 0.0003)),
        response_p50_s: Some(spread(0.0052, 0.0002)),
        response_p99_s: None,
    }
}

/// One of 64 clients: the fourth is slow, the twelfth is lossy.
fn client_row(client: u32) -> ClientRow {
    let (mean_s, errors) = (if client == 4 { 0.0156 } else { 0.008 }, if client == 12 { 9 } else { 0 });
    let (iterations, iterations_ratio) = if client == 4 { (20, Some(0.51)) } else { (40, Some(1.01)) };
    ClientRow {
        client,
        thread: client % 2,
        iterations,
        iterations_ratio,
        actions: 40 - errors,
        errors,
        mean_s: Some(mean_s),
        mean_ratio: Some(mean_s / 0.0082),
    }
}

/// Of 64 clients, one slow and one lossy.
fn spread() -> ClientSpread {
    let odd = |client, how: &str, mean_s, errors| OutlierClient {
        client,
        how: how.into(),
        mean_s: Some(mean_s),
        usual_s: Some(0.008),
        errors,
        attempts: 40,
        thread: client % 2,
    };
    ClientSpread {
        mean_s: Some(0.0082),
        min: Some(0.95),
        max: Some(1.9),
        stddev: Some(0.12),
        clients: (1..=64).map(client_row).collect(),
        outliers: vec![odd(4, "slower", 0.0156, 0), odd(12, "lossy", 0.008, 9)],
        outlier_clients: 2,
        errors: vec![ClientErrors { client: 12, errors: 9, attempts: 40 }],
        clients_with_errors: 1,
        unjudged_clients: 3,
    }
}

/// Five sizes, the middle one slow.
fn size_curve() -> SizeCurve {
    let point = |stage, bytes, mean_s, expected_s: Option<f64>| SizePoint {
        stage,
        value: format!("{bytes}B"),
        bytes,
        mean_s,
        interval: None,
        expected_s,
        outlier: (bytes == 1500).then(|| "slower".into()),
    };
    let ends = [(0, 500), (0, 1000), (1, 2000), (1, 2500)].map(|(stage, bytes)| point(stage, bytes, 0.001, None));
    let [a, b, c, d] = ends;
    let points = vec![a, b, point(0, 1500, 0.03, Some(0.001)), c, d];
    SizeCurve { parameter: "block".into(), level: "1 client".into(), points }
}

/// A run of two workloads at the same time.
pub(crate) fn shared() -> Findings {
    let mut findings = run();
    let share =
        WorkloadShare { workload: "home-folders".into(), place: 0, beside: vec!["stream-read".into()], round: 0 };
    findings.stages[1].share = Some(share);
    findings.interference = vec![interference()];
    findings
}

fn interference() -> Interference {
    let number = |metric: &str, unit: &str, alone: f64, beside: f64, known: bool| InterferedNumber {
        metric: metric.into(),
        unit: unit.into(),
        alone,
        beside,
        change: Some(beside / alone - 1.0),
        change_interval: known.then_some(Interval { low: 0.5, high: 1.5 }),
        p_value: known.then_some(0.001),
        verdict: known.then(|| "worse".into()),
    };
    Interference {
        workload: "home-folders".into(),
        load: "20 users".into(),
        beside: vec!["stream-read".into()],
        rounds: 5,
        numbers: vec![number("p95", "s", 0.003, 0.006, true), number("bytes", "B/s", 1e6, 9e5, false)],
    }
}
