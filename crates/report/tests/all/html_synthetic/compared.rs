//! A comparison of two subjects at three load levels: one that is slower, of which the last level proves nothing.

use super::NASTY;
use plimsoll_report::findings::comparison::*;
use plimsoll_report::findings::{Diagnosis, Findings, Kind, Report, Run, SCHEMA};

/// Reads are slower by a tenth in B; its name is nasty.
pub(crate) fn compared() -> Report {
    let side = |letter: &str, name: &str| Findings {
        letter: letter.into(),
        name: name.into(),
        kind: Kind::Run,
        run: Some(Run {
            target: "smb://server/share".into(),
            workload: "mixed".into(),
            facts: vec![NASTY[5].into()],
            ..Run::default()
        }),
        ..Findings::default()
    };
    Report {
        schema: SCHEMA.into(),
        tool: "plimsoll 0.1.0".into(),
        sides: vec![side("A", "runs/before"), side("B", NASTY[1])],
        comparison: Some(comparison()),
    }
}

/// The same with the findings of each side.
pub(crate) fn compared_in_full(found: [Findings; 2]) -> Report {
    let mut report = compared();
    for (side, found) in report.sides.iter_mut().zip(found) {
        *side = Findings { letter: side.letter.clone(), name: side.name.clone(), ..found };
    }
    report
}

fn comparison() -> Comparison {
    Comparison {
        diagnosis: Diagnosis::default(),
        warnings: vec!["The workloads differ.".into(), NASTY[0].into()],
        guarantees: Vec::new(),
        refused: None,
        method: Method { confidence: 0.95, tested: 18, by_chance: 0.9, notes: vec!["Batch means.".into()] },
        capacities: Vec::new(),
        ranking: None,
        levels: [1.0, 4.0, 16.0].into_iter().map(level).collect(),
        conditions: vec![Condition {
            text: "read.p99 > +10%".into(),
            outcome: "failed".into(),
            because: vec!["At 4 clients the interval is from +11.0 % to +14.0 %.".into()],
        }],
    }
}

/// The seven load levels of Swartz's (1997) runs, and all of its groups: B is quicker, and its reads are so only under load.
pub(crate) fn points() -> Report {
    let groups = ["Open/Close", "Other", "Other.Attributes", "Other.Directory", "Other.Locking", "Read", "Write"];
    let level = |clients: f64| {
        let mean = |slow: f64, change| metric("mean", "s", false, slow * clients.sqrt(), change);
        let row = |scope: &str, name: &str, metrics| ComparedRow {
            scope: scope.into(),
            name: name.into(),
            protocol: String::new(),
            metrics,
        };
        let rates = vec![
            metric("throughput", "1/s", true, 900.0 * clients.sqrt(), 0.6),
            metric("bytes", "B/s", true, 3.2e6 * clients.sqrt(), 0.6),
            mean(0.000_9, -0.4),
        ];
        let reads = if clients > 50.0 { -0.5 } else { 0.001 };
        let all = (1_u32..).zip(groups).map(|(i, name)| {
            let change = if name == "Read" { reads } else { -0.4 };
            row("group", name, vec![mean(0.000_3 * f64::from(i), change)])
        });
        ComparedLevel {
            level_name: format!("{clients} clients"),
            rows: [row("all", "All", rates)].into_iter().chain(all).collect(),
            ..level(clients)
        }
    };
    let comparison = Comparison {
        warnings: vec!["A and B had different conditions (only the first: SMB 3.1.1; only the second: SMB 3.0)".into()],
        conditions: vec![],
        levels: [10.0, 20.0, 40.0, 60.0, 80.0, 120.0, 200.0].into_iter().map(level).collect(),
        ..comparison()
    };
    Report { comparison: Some(comparison), ..compared() }
}

fn level(clients: f64) -> ComparedLevel {
    let row = |scope: &str, name: &str, slower: f64| ComparedRow {
        scope: scope.into(),
        name: name.into(),
        protocol: String::new(),
        metrics: vec![
            metric("throughput", "1/s", true, 900.0 * clients, -slower),
            metric("mean", "s", false, 0.000_9 * clients.sqrt(), slower),
            metric("p99", "s", false, 0.004 * clients.sqrt(), slower),
        ],
    };
    ComparedLevel {
        level_name: format!("{clients} clients"),
        runs: vec![1, 1],
        seconds: vec![60.0, 60.0],
        from: "batches".into(),
        invalid: Vec::new(),
        moved: Vec::new(),
        other_loads: vec![None],
        mixes: vec![None],
        rows: vec![row("all", "All", 0.05), row("group", "Read", 0.1), row("group", NASTY[0], 0.001)],
    }
}

fn metric(metric: &str, unit: &str, more_is_better: bool, value: f64, change: f64) -> ComparedMetric {
    let estimate =
        |value: f64| Estimate { value, low: Some(value * 0.98), high: Some(value * 1.02), of: Some(30), missing: None };
    let shown = change.abs() > 0.02;
    let verdict = match (shown, (change > 0.0) == more_is_better) {
        (false, _) => ComparedVerdict::NotShown,
        (true, true) => ComparedVerdict::Better,
        (true, false) => ComparedVerdict::Worse,
    };
    ComparedMetric {
        metric: metric.into(),
        unit: serde_json::from_value(unit.into()).unwrap(),
        more_is_better,
        estimates: vec![Some(estimate(value)), Some(estimate(value * (1.0 + change)))],
        differences: vec![Some(Difference {
            value: value * change,
            low: value * (change - 0.02),
            high: value * (change + 0.02),
            relative: Some(change),
            relative_low: Some(change - 0.02),
            relative_high: Some(change + 0.02),
            verdict,
            p_value: if shown { 0.000_1 } else { 0.9 },
            holm_significant: shown,
            detectable: Some(0.03),
        })],
        possible: vec![None, None],
    }
}
