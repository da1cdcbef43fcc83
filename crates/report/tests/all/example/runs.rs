//! Runs made by hand: load levels, curves, repeats and shares.

use super::*;
use plimsoll_report::findings::comparison::ComparedVerdict;

/// A level of [`run`].
fn level(rich: &Findings, number: u32, clients: u64, reasons: &[&str]) -> LoadLevel {
    LoadLevel {
        facts: LevelFacts {
            pace: vec!["no think time".to_owned(), "timeout 30.0 s".to_owned()],
            load_name: format!("{clients} clients"),
            varied: (number == 1).then(parameter),
            clients,
            depth: 4,
            connections: clients,
            asked_per_s: (number == 1).then_some(2000.0),
            validity: Validity::of(reasons.iter().map(|&reason| Reason::invalid(reason))),
            operations_per_s_interval: (number == 0).then_some(Interval { low: 1200.0, high: 1268.0 }),
            generator: generator(rich, number),
            fairness: fairness(clients, number == 0),
            spread: if clients > 1 { spread() } else { ClientSpread::default() },
            server: (number == 0).then(server),
            counters: (number == 0).then(server_counters),
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
            ..LevelFacts::default()
        },
        number,
        outstanding: 4 * clients,
        iterations_per_s: 1234.5,
        span: rich.span,
        count: 2469,
        errors: 1,
        refused: 1,
        unanswered: 1,
        operations_per_s: 1234.0,
        read_bytes_per_s: 5e6,
        write_bytes_per_s: 1e6,
        response_time: rich.operations[0].response_time,
        response_time_from_intended: (number == 1).then_some(rich.operations[0].response_time).flatten(),
        operations: rich.operations.clone(),
        groups: rich.groups.clone(),
        queue_depth: rich.queue_depth.clone(),
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
        ..LoadLevel::default()
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
        channels_given_up: u64::from(number),
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
        levels: vec![level(&rich, 0, 1, &[]), level(&rich, 1, 64, &["the generator was busy 97 % of the time"])],
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
    let point = |level: u32, load: f64, used: bool| CurvePoint {
        level,
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
            level: 0,
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
        load_name: "1 client".into(),
        curve: None,
        valid: true,
        levels: vec![0, 1, 2],
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
    let odd = |client, how, mean_s, errors| OutlierClient {
        client,
        how,
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
        outliers: vec![odd(4, OutlierKind::Slower, 0.0156, 0), odd(12, OutlierKind::Lossy, 0.008, 9)],
        outlier_clients: 2,
        errors: vec![ClientErrors { client: 12, errors: 9, attempts: 40 }],
        clients_with_errors: 1,
        unjudged_clients: 3,
    }
}

/// Five sizes, the middle one slow.
fn size_curve() -> SizeCurve {
    let point = |level, bytes, mean_s, expected_s: Option<f64>| SizePoint {
        level,
        value: format!("{bytes}B"),
        bytes,
        mean_s,
        interval: None,
        expected_s,
        outlier: (bytes == 1500).then(|| "slower".into()),
    };
    let ends = [(0, 500), (0, 1000), (1, 2000), (1, 2500)].map(|(level, bytes)| point(level, bytes, 0.001, None));
    let [a, b, c, d] = ends;
    let points = vec![a, b, point(0, 1500, 0.03, Some(0.001)), c, d];
    SizeCurve { parameter: "block".into(), load_name: "1 client".into(), points }
}

/// A run of two workloads at the same time.
pub(crate) fn shared() -> Findings {
    let mut findings = run();
    let share =
        WorkloadShare { workload: "home-folders".into(), place: 0, beside: vec!["stream-read".into()], round: 0 };
    findings.levels[1].facts.share = Some(share);
    findings.interference = vec![interference()];
    findings
}

fn interference() -> Interference {
    let number = |metric: &str, unit: &str, alone: f64, beside: f64, known: bool| InterferedNumber {
        metric: metric.into(),
        unit: serde_json::from_value(unit.into()).unwrap(),
        alone,
        beside,
        change: Some(beside / alone - 1.0),
        change_interval: known.then_some(Interval { low: 0.5, high: 1.5 }),
        p_value: known.then_some(0.001),
        verdict: known.then_some(ComparedVerdict::Worse),
    };
    Interference {
        workload: "home-folders".into(),
        load: "20 users".into(),
        beside: vec!["stream-read".into()],
        rounds: 5,
        numbers: vec![number("p95", "s", 0.003, 0.006, true), number("bytes", "B/s", 1e6, 9e5, false)],
    }
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
