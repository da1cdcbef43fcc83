//! A run of two servers at five loads each: a closed queueing model, so that curves bend as real ones do.

use super::{NASTY, busy, times};
use plimsoll_report::findings::*;

const CLIENTS: [u32; 5] = [1, 2, 4, 8, 16];

/// A run with two load curves; its last level is not valid, and its target has a nasty name.
pub(crate) fn run() -> Findings {
    let capture = busy();
    let curves = [("SMB", 0.000_9, 4.0), ("NFS", 0.000_7, 6.0)];
    let loads = curves.iter().flat_map(|curve| CLIENTS.map(|clients| (*curve, clients)));
    let mut levels: Vec<LoadLevel> = (0..).zip(loads).map(|(number, load)| level(number, load, &capture)).collect();
    if let Some(last) = levels.last_mut() {
        last.facts.validity = Validity::invalid("the generator used 96 % of its processors");
        last.failures = vec![FailureCount { cause: NASTY[0].into(), count: 12 }];
    }
    Findings {
        source: Source {
            inputs: vec!["smb://server/share".into()],
            vantage: "client".into(),
            ..capture.source.clone()
        },
        packets: PacketCounts::default(),
        unseen: Unseen::default(),
        resent: Default::default(),
        anomalies: vec![],
        warnings: vec![],
        run: Some(Run {
            target: NASTY[1].into(),
            workload: "mixed".into(),
            description: "small files: read, write, list".into(),
            workload_sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".into(),
            seed: 1,
            threads: 2,
            warmup_s: 0.5,
            facts: vec!["SMB 3.1.1".into(), NASTY[5].into()],
            ..Run::default()
        }),
        curves: plimsoll_report::collect::curves::curves(&levels),
        levels,
        ..capture
    }
}

/// A group's row whose mean grows with the load.
fn slower(row: &OperationRow, times: f64) -> OperationRow {
    let response_time = row.response_time.map(|of| Times { mean_s: of.mean_s * times, ..of });
    OperationRow { response_time, ..row.clone() }
}

fn level(
    number: u32,
    ((curve, service_s, servers), clients): ((&str, f64, f64), u32),
    capture: &Findings,
) -> LoadLevel {
    // Asymptotic bounds of a closed network, smoothed: throughput rises with the clients up to a limit.
    let (n, think_s) = (f64::from(clients), 0.002);
    let full = servers / service_s;
    let rate = 1.0 / ((service_s + think_s) / n + 1.0 / full);
    let mean_s = n / rate - think_s;
    let sample: Vec<f64> = (1..2000).map(|i| -mean_s * (1.0 - f64::from(i) / 2000.0).ln()).collect();
    let spread = 0.02 * n.sqrt();
    LoadLevel {
        facts: LevelFacts {
            pace: vec!["no think time".to_owned(), "timeout 30.0 s".to_owned()],
            load_name: format!("{curve}, {clients} clients"),
            curve: Some(curve.into()),
            clients: u64::from(clients),
            depth: 1,
            connections: u64::from(clients),
            operations_per_s_interval: Some(Interval { low: rate * 0.98, high: rate * 1.02 }),
            generator: Generator { cpu_s: 0.4 * n / 16.0, cpu_share: 0.4 * n / 16.0, ..Generator::default() },
            fairness: Fairness {
                clients: u64::from(clients),
                starved: 0,
                min: Some(1.0 - spread),
                max: Some(1.0 + spread),
                stddev: Some(spread / 2.0),
                jain: Some(1.0 / (1.0 + spread * spread / 4.0)),
                attributable: true,
            },
            ..LevelFacts::default()
        },
        number,
        outstanding: u64::from(clients),
        iterations_per_s: rate,
        span: capture.span,
        count: (rate * 3.0) as u64,
        operations_per_s: rate,
        read_bytes_per_s: rate * 9_000.0,
        write_bytes_per_s: rate * 2_500.0,
        response_time: times(&sample),
        response_time_from_intended: times(&sample),
        operations: capture.operations.clone(),
        groups: capture.groups.iter().map(|row| slower(row, n.sqrt())).collect(),
        queue_depth: capture.queue_depth.clone(),
        ..LoadLevel::default()
    }
}
