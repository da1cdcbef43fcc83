use super::*;
use crate::findings::calls::{CallPart, CallPhase, Calls, LocalCall, PartSource};
use crate::findings::capacity::{Capacity, CapacityOutcome, Trial};
use crate::findings::comparison::{
    ComparedLevel, ComparedMetric, ComparedRow, ComparedUnit, ComparedVerdict, Difference,
};
use crate::findings::{
    CurveMaximum, CurvePoint, FailureCount, Generator, Interval, IterationKind, Knee, LevelFacts, LoadCurve, LoadLevel,
    OperationRow, RoundTrip, Rule, Run, Span, StatusCount, Times, Users, Validity, letter,
};

fn times(mean_s: f64) -> Times {
    let p = mean_s;
    let alike = Times::alike(1000, p);
    Times { min_s: p / 2.0, max_s: p * 10.0, p90_s: p * 2.0, p95_s: p * 3.0, p99_s: p * 4.0, p999_s: p * 5.0, ..alike }
}

/// A level of a run with this number of clients and operations per second, of 1 ms each.
fn level(number: u32, clients: u64, per_s: f64) -> LoadLevel {
    LoadLevel {
        facts: LevelFacts {
            load_name: format!("{clients} clients"),
            clients,
            depth: 1,
            generator: Generator { cpu_share: 0.2, ..Generator::default() },
            operations_per_s_interval: Some(Interval { low: per_s * 0.99, high: per_s * 1.01 }),
            ..LevelFacts::default()
        },
        number,
        span: Span { first_ns: Some(0), last_ns: Some(1_000_000_000), elapsed_s: Some(1.0), between_files_s: 0.0 },
        operations_per_s: per_s,
        iterations_per_s: per_s,
        response_time: Some(times(0.001)),
        ..LoadLevel::default()
    }
}

fn run(levels: Vec<LoadLevel>) -> Findings {
    let run = Run { target: "smb://u@host/share".into(), ..Run::default() };
    Findings { run: Some(run), levels, ..Findings::default() }
}

fn said(findings: &Findings, rule: Rule) -> Option<String> {
    let found = of_run(findings, Diagnosis::default()).statements;
    found.into_iter().find(|one| one.rule == rule).map(|one| one.text)
}

fn curve(levels: &[LoadLevel], knee: Knee, not_shown_lower: Vec<u32>) -> LoadCurve {
    let best = levels.iter().max_by(|a, b| a.operations_per_s.total_cmp(&b.operations_per_s)).unwrap();
    let point = |level: &LoadLevel| CurvePoint {
        level: level.number,
        load: level.load(),
        used: true,
        law_per_s: None,
        residual: None,
    };
    let interval = Interval { low: best.operations_per_s * 0.99, high: best.operations_per_s * 1.01 };
    LoadCurve {
        curve: None,
        load: "clients".into(),
        points: levels.iter().map(point).collect(),
        maximum: Some(CurveMaximum {
            level: best.number,
            load: best.load(),
            operations_per_s: best.operations_per_s,
            interval: Some(interval),
            not_shown_lower,
        }),
        law: None,
        knee,
        overall_response_time_s: None,
    }
}

#[test]
fn a_curve_has_its_highest_throughput_and_its_knee() {
    let mut findings = run(vec![level(0, 1, 500.0), level(1, 8, 2000.0), level(2, 16, 1900.0)]);
    let interval = Some(Interval { low: 7.123, high: 9.876 });
    let knee = Knee { load: Some(8.44), interval, missing: None };
    findings.curves = vec![curve(&findings.levels, knee, vec![2])];
    let highest = said(&findings, Rule::Throughput).unwrap();
    let expected = "Highest throughput: 2,000 op/s at 8 clients, with p50 1.00 ms and p99 4.00 ms; throughput at 16 clients is not significantly lower.";
    assert_eq!(highest, expected);
    let knee = said(&findings, Rule::Knee).unwrap();
    assert_eq!(
        knee,
        "The knee is at 8.44 clients (95 % interval 7.12 to 9.88): a higher load does not raise throughput."
    );
    // No knee was found, and the highest load is not the best: nothing is said of a limit.
    findings.curves = vec![curve(&findings.levels, Knee::default(), Vec::new())];
    assert_eq!(said(&findings, Rule::Knee), None);
    // The highest load is better than every other.
    findings.levels[2].operations_per_s = 4000.0;
    findings.curves = vec![curve(&findings.levels, Knee::default(), Vec::new())];
    assert!(said(&findings, Rule::Knee).unwrap().contains("still rose at the highest load, 16 clients"));
    findings.curves = vec![curve(&findings.levels, Knee::default(), vec![1])];
    assert_eq!(said(&findings, Rule::Knee), None, "another level may be as good");
    findings.curves = vec![curve(&findings.levels, Knee::default(), Vec::new())];
    findings.levels[1].facts.operations_per_s_interval = None;
    assert_eq!(said(&findings, Rule::Knee), None, "a level without an interval was not compared");
    findings.levels[1] = level(1, 8, 2000.0);
    findings.curves[0].points[1].used = false;
    assert_eq!(said(&findings, Rule::Knee), None, "nor one that must not be used");
}

#[test]
fn a_p99_of_few_requests_is_in_no_sentence() {
    let sentence = |count: u64| {
        let mut one = level(0, 1, 70.0);
        one.response_time = Some(Times { count, ..times(0.001) });
        said(&run(vec![one]), Rule::Throughput).unwrap()
    };
    assert_eq!(sentence(999), "70.0 op/s at 1 clients: response time p50 1.00 ms, max 10.0 ms.");
    assert_eq!(sentence(1_000), "70.0 op/s at 1 clients: response time p50 1.00 ms, p99 4.00 ms, max 10.0 ms.");
}

#[test]
fn the_bottleneck_is_named_where_it_is_proven() {
    let with = |cpu_share: f64, trip: Option<(f64, f64)>| {
        let mut one = level(0, 4, 1000.0);
        let round_trip = trip.map(|(least_s, smoothed_s)| RoundTrip { least_s, smoothed_s });
        one.facts.generator = Generator { cpu_share, round_trip, ..Generator::default() };
        said(&run(vec![one]), Rule::Bottleneck)
    };
    assert!(with(0.95, None).unwrap().starts_with("The load generator is the bottleneck: at 4 clients"));
    let mut nothing = level(0, 4, 0.0);
    nothing.facts.generator = Generator { cpu_share: 0.96, ..Generator::default() };
    assert_eq!(said(&run(vec![nothing]), Rule::Bottleneck), None, "it was busy with failing");
    let server = with(0.2, Some((0.00002, 0.00005))).unwrap();
    assert!(
        server.contains("5.0 % of the mean response time")
            && server.ends_with("most of the time is spent in the server."),
        "{server}"
    );
    assert!(with(0.2, Some((0.0007, 0.0008))).unwrap().ends_with("the network is the bottleneck."));
    assert_eq!(with(0.2, None), None, "nobody measured the network");
    assert_eq!(with(0.7, Some((0.00002, 0.00005))), None, "the load generator may have been it");
    assert_eq!(with(0.2, Some((0.0001, 0.0003))), None, "neither");
    assert_eq!(with(0.2, Some((0.00002, 0.0008))), None, "acknowledgements that wait for answers are no network");
}

/// READs of 1 MiB over a slow link: its own small packets make a short round trip, and the first byte of a response comes early.
#[test]
fn the_transfer_of_responses_is_no_time_in_the_server() {
    let with = |service_s: f64| {
        let mut one = level(0, 1, 100.0);
        one.response_time = Some(times(0.009));
        let (response_time, service_time) = (Some(times(0.009)), Some(times(service_s)));
        one.operations = vec![OperationRow { response_time, service_time, ..row() }];
        let round_trip = Some(RoundTrip { least_s: 0.0002, smoothed_s: 0.0007 });
        one.facts.generator = Generator { cpu_share: 0.1, round_trip, ..Generator::default() };
        said(&run(vec![one]), Rule::Bottleneck)
    };
    assert_eq!(with(0.0005), None);
    assert!(with(0.006).unwrap().ends_with("most of the time is spent in the server."));
}

#[test]
fn schedules_and_users() {
    let asked = |ended: f64| {
        let mut one = LoadLevel { iterations_per_s: ended, ..level(0, 1, 900.0) };
        one.facts.asked_per_s = Some(1000.0);
        said(&run(vec![one]), Rule::Schedule)
    };
    assert!(asked(800.0).unwrap().contains("asked for 1,000 iterations/s, but only 800 iterations/s ended (80 %)"));
    assert_eq!(asked(995.0), None);
    // Of a workload without kinds of iterations, only those that were never sent are counted.
    let mut unnamed = LoadLevel { iterations_per_s: 400.0, ..level(0, 1, 900.0) };
    (unnamed.facts.asked_per_s, unnamed.facts.generator.never_sent) = (Some(1000.0), 300);
    assert!(said(&run(vec![unnamed]), Rule::Schedule).unwrap().contains("but only 400 iterations/s ended (40 %)"));
    // Arrivals at random: 960 were due, and all of them ended.
    let drawn = |ended: f64| {
        let mut one = LoadLevel { iterations_per_s: ended, ..level(0, 1, 900.0) };
        one.facts.asked_per_s = Some(1000.0);
        one.facts.iterations = vec![IterationKind { ended: 950, ..IterationKind::default() }];
        one.facts.generator.never_sent = 10;
        said(&run(vec![one]), Rule::Schedule)
    };
    assert_eq!(drawn(950.0), None);
    assert!(drawn(800.0).unwrap().contains("asked for 960 iterations/s, but only 800 iterations/s ended (83 %)"));
    let users = |late: u64| {
        let users = Users { users: 5, due: 40, late, overload: late as f64 / 40.0, ..Users::default() };
        said(&run(vec![LoadLevel { users: Some(users), ..level(0, 5, 40.0) }]), Rule::Schedule).unwrap()
    };
    assert_eq!(users(0), "At 5 clients, all 40 iterations ended before the user's next one was due.");
    assert!(users(10).contains("10 of 40 iterations ended late or not at all (25 %)"), "{}", users(10));
}

#[test]
fn responses_that_ask_to_try_again_later_are_counted() {
    let status = |status, name: &str, count| {
        let (name, outcome) = (name.to_owned(), "refused".to_owned());
        StatusCount { status, name, count, error: true, outcome }
    };
    let of = |protocol: &str, statuses: Vec<StatusCount>| {
        let operations = vec![OperationRow { protocol: protocol.into(), statuses, ..row() }];
        said(&run(vec![LoadLevel { count: 948, operations, ..level(0, 1, 47.4) }]), Rule::ErrorStatuses)
    };
    let grace = || vec![status(10_013, "NFS4ERR_GRACE", 99), status(2, "NFS4ERR_NOENT", 500)];
    assert_eq!(
        of("NFS4", grace()).unwrap(),
        "At 1 clients, 99 of 948 responses only asked the client to try again later (NFS4ERR_GRACE): op/s and percentiles \
        include these responses, but not the waits before the client tried again."
    );
    assert_eq!(of("SMB2", grace()), None, "there it has another meaning");
    assert_eq!(of("NFS4", vec![status(10_008, "NFS4ERR_DELAY", 9)]), None, "fewer than 1 %");
}

#[test]
fn failures_of_actions_alone() {
    let mut one = level(0, 1, 100.0);
    assert_eq!(said(&run(vec![one.clone()]), Rule::Failures), None);
    let failure = |cause: &str, count| FailureCount { cause: cause.into(), count };
    one.failures = vec![failure("connection attempt: refused", 9)];
    assert_eq!(said(&run(vec![one.clone()]), Rule::Failures), None);
    one.failures.push(failure("timed out", 2));
    assert_eq!(said(&run(vec![one]), Rule::Failures).unwrap(), "2 actions failed: timed out (2).");
}

#[test]
fn nothing_follows_from_invalid_numbers() {
    let mut findings = run(vec![level(0, 1, 100.0)]);
    assert!(said(&findings, Rule::Throughput).is_some());
    assert_eq!(of_run(&findings, Diagnosis::default()).next.as_deref(), Some("plimsoll breakdown smb://u@host/share"));
    findings.validity = Validity::invalid("late");
    assert_eq!(of_run(&findings, Diagnosis::default()), Diagnosis::default());
}

fn trial(level: u64, load: f64, met: bool) -> Trial {
    let because = if met { Vec::new() } else { vec!["p99 < 50 ms: it was 61.0 ms".to_owned()] };
    Trial { level, load, brief: false, seconds: 10.0, met: Some(met), because }
}

fn searched(capacity: Capacity) -> Findings {
    let mut findings = run(vec![level(0, 40, 500.0), level(1, 44, 520.0)]);
    let row = |operation: &str, waited_s: f64| OperationRow { operation: operation.into(), waited_s, ..row() };
    findings.levels[1].operations = vec![row("open", 3.0), row("read", 1.0)];
    findings.run.as_mut().unwrap().capacity = Some(Box::new(capacity));
    findings
}

fn row() -> OperationRow {
    serde_json::from_value(serde_json::json!({
        "protocol": "SMB2", "procedure": "CREATE", "netbench_name": null, "parent": null, "operation": "", "group": "", "count": 1,
        "share": 1.0, "answered": 1, "unanswered": 0, "errors": 0, "packets_mean": null, "payload_bytes": null, "wire_bytes": null,
        "response_time": null, "service_time": null, "response_time_from_intended": null, "distribution": [], "statuses": [],
        "percentiles": []
    }))
    .unwrap()
}

#[test]
fn a_capacity_says_how_much_and_the_first_objective_missed() {
    let found = Capacity {
        unit: "users".into(),
        objectives: vec!["p99 < 50 ms".into()],
        outcome: CapacityOutcome::Found,
        low: Some(40.0),
        high: Some(44.0),
        trials: vec![trial(0, 40.0, true), trial(1, 44.0, false)],
        ..Capacity::default()
    };
    let all = of_run(&searched(found.clone()), Diagnosis::default());
    let text: Vec<&str> = all.statements.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(text[0], "The highest load that meets the objective (p99 < 50 ms) is 40 users; 95 % interval 40 to 44.");
    assert!(
        text[1].starts_with(
            "The lowest load above 40 that missed the objective is 44 users (p99 < 50 ms: it was 61.0 ms)."
        ),
        "{text:?}"
    );
    assert_eq!(text[2], "At 44 clients, the operation open accounts for 75 % of all time waited.");
    assert!(text[3].starts_with("At 40 clients, the server answered 500 op/s"), "{text:?}");
    // The short run that came first has another value than the run that decided.
    let mut probed = found.clone();
    let because = vec!["p99 < 50 ms: it was 90.0 ms".to_owned()];
    probed.trials.insert(0, Trial { brief: true, seconds: 2.5, because, ..trial(1, 44.0, false) });
    let text = of_run(&searched(probed), Diagnosis::default()).statements[1].text.clone();
    assert!(text.contains("is 44 users (p99 < 50 ms: it was 61.0 ms; last run of 10.0 s)."), "{text}");
    // A load that met the objective in all confirming runs may have missed it once before.
    let mut once = found.clone();
    (once.low, once.low_tested, once.slack) = (Some(39.0), Some(40.0), Some(0.01));
    once.trials.push(trial(1, 40.0, false));
    let text = of_run(&searched(once), Diagnosis::default()).statements[1].text.clone();
    assert!(text.starts_with("The lowest load above 40 that missed the objective is 44 users"), "{text}");
    let more = |low| Capacity { outcome: CapacityOutcome::AtLeast, low: Some(low), ..found.clone() };
    let text = |low| of_run(&searched(more(low)), Diagnosis::default()).statements[0].text.clone();
    assert!(
        text(40.0).starts_with(
            "At least 40 users meet the objective (p99 < 50 ms). The highest load that meets it is not known"
        ),
        "{}",
        text(40.0)
    );
    assert!(text(1.0).starts_with("At least 1 user meets the objective"), "{}", text(1.0));
    let why = Some("even 1 user met the objective in only 2 of 10 runs".to_owned());
    let trials = vec![trial(1, 1.0, false)];
    let none = Capacity { outcome: CapacityOutcome::NoLoad, low: None, why, trials, ..found.clone() };
    let text = of_run(&searched(none), Diagnosis::default()).statements[0].text.clone();
    assert!(text.ends_with("(p99 < 50 ms): even 1 user met the objective in only 2 of 10 runs."), "{text}");
    let undecided = Capacity { outcome: CapacityOutcome::Undecided, low: None, high: None, ..found };
    assert!(of_run(&searched(undecided), Diagnosis::default()).statements.is_empty());
}

fn broken_down(parts: &[(&str, f64, bool)], local_s: f64) -> Findings {
    let part = |&(name, seconds, adds): &(&str, f64, bool)| CallPart {
        part: name.into(),
        seconds: Some(seconds),
        how: PartSource::Measured,
        why: String::new(),
        adds,
        over_above_s: None,
    };
    let phase = CallPhase {
        call: "getattr".into(),
        whole_s: 1e-4,
        outstanding: 1,
        parts: parts.iter().map(part).collect(),
        ..CallPhase::default()
    };
    let beside_local = vec![LocalCall { call: "getattr".into(), remote_s: 1e-4, local_s }];
    let mut findings = run(vec![level(0, 1, 100.0)]);
    findings.run.as_mut().unwrap().calls =
        Some(Box::new(Calls { phases: vec![phase], beside_local, ..Calls::default() }));
    findings
}

#[test]
fn a_breakdown_names_the_largest_part() {
    let parts =
        [("client CPU", 2e-5, true), ("client wait", 8e-5, false), ("server CPU", 6e-5, true), ("network", 1e-5, true)];
    let findings = broken_down(&parts, 2e-5);
    assert_eq!(said(&findings, Rule::Part).unwrap(), "The mean getattr call takes 100 µs: 60 % is server CPU.");
    assert!(said(&findings, Rule::Local).unwrap().starts_with("getattr takes 5.0 times as long on the server"));
    let even = [("client CPU", 2e-5, true), ("network", 2e-5, true)];
    let findings = broken_down(&even, 9.9e-5);
    assert_eq!((said(&findings, Rule::Part), said(&findings, Rule::Local)), (None, None));
}

/// A warm server beside a cold disk says nothing of being remote.
#[test]
fn a_breakdown_warns_of_unlike_caches() {
    let read = |remote: Option<f64>, local: Option<f64>| {
        let mut findings = broken_down(&[], 2e-5);
        let calls = findings.run.as_mut().unwrap().calls.as_mut().unwrap();
        let phase = |local, from_disk| CallPhase { call: "random".into(), local, from_disk, ..CallPhase::default() };
        calls.phases = vec![phase(false, remote), phase(true, local)];
        calls.beside_local = vec![LocalCall { call: "random".into(), remote_s: 2e-4, local_s: 1e-4 }];
        said(&findings, Rule::Local).unwrap()
    };
    let warned = read(Some(0.02), Some(0.94));
    assert!(
        warned.contains("are not comparable") && warned.contains("random: server 2.0 %, local directory 94 %"),
        "{warned}"
    );
    assert!(read(None, Some(0.94)).contains("random: server unknown, local directory 94 %"));
    assert_eq!(
        read(Some(0.95), Some(0.94)),
        "random takes 2.0 times as long on the server as in a local directory (200 µs against 100 µs)."
    );
}

fn difference(relative: f64, verdict: ComparedVerdict) -> Difference {
    Difference {
        value: relative,
        low: relative - 0.02,
        high: relative + 0.02,
        relative: Some(relative),
        relative_low: Some(relative - 0.02),
        relative_high: Some(relative + 0.02),
        verdict,
        p_value: 0.01,
        holm_significant: verdict != ComparedVerdict::NotShown,
        detectable: Some(0.03),
    }
}

fn compared(verdict: ComparedVerdict) -> ComparedLevel {
    let metric = |name: &str, relative: f64, verdict: ComparedVerdict| ComparedMetric {
        metric: name.into(),
        unit: if name == "throughput" { ComparedUnit::PerSecond } else { ComparedUnit::Seconds },
        more_is_better: name == "throughput",
        estimates: Vec::new(),
        differences: vec![Some(difference(relative, verdict))],
        possible: Vec::new(),
    };
    let of = |scope: &str, name: &str, metrics: Vec<ComparedMetric>| ComparedRow {
        scope: scope.into(),
        name: name.into(),
        protocol: "NFS3".into(),
        metrics,
    };
    let all = vec![metric("throughput", 0.0, ComparedVerdict::NotShown), metric("mean", 0.2, verdict)];
    ComparedLevel {
        level_name: "whole capture".into(),
        runs: vec![1, 1],
        seconds: vec![10.0, 10.0],
        from: "batches".into(),
        invalid: Vec::new(),
        moved: Vec::new(),
        other_loads: vec![None],
        mixes: vec![None],
        rows: vec![of("all", "All", all), of("procedure", "GETATTR", vec![metric("mean", 0.45, verdict)])],
    }
}

#[test]
fn a_mix_is_told_only_if_a_time_has_no_verdict_because_of_it() {
    let sides: Vec<Findings> = (0..2).map(|at| Findings { letter: letter(at), ..Findings::default() }).collect();
    let text = |level: ComparedLevel| {
        let level = ComparedLevel { mixes: vec![Some("READ 50 % → 10 %".to_owned())], ..level };
        let found = comparison::diagnose(&sides, &[level], None);
        found.statements.into_iter().map(|one| one.text).collect::<Vec<_>>()
    };
    let mix = "The mix of operations differs between B and A (READ 50 % → 10 %), so there is no verdict on";
    assert_eq!(
        text(compared(ComparedVerdict::CannotTell)),
        [format!("{mix} the times of all operations together. No single operation was shown to differ.")]
    );
    let mut worse = compared(ComparedVerdict::Worse);
    let kept = text(worse.clone());
    assert!(kept.len() == 2 && kept.iter().all(|text| !text.contains("mix of operations")), "{kept:?}");
    worse.rows[0].metrics.push(ComparedMetric {
        metric: "p99".into(),
        unit: ComparedUnit::Seconds,
        more_is_better: false,
        estimates: Vec::new(),
        differences: vec![Some(difference(0.1, ComparedVerdict::CannotTell))],
        possible: Vec::new(),
    });
    let some = text(worse);
    assert_eq!((some[0].as_str(), &some[1]), (kept[0].as_str(), &format!("{mix} p99 of all operations together.")));
}

#[test]
fn a_comparison_says_what_differs_or_that_nothing_was_shown() {
    let sides: Vec<Findings> = (0..2).map(|at| Findings { letter: letter(at), ..Findings::default() }).collect();
    let text = |level: ComparedLevel| {
        let found = comparison::diagnose(&sides, &[level], None);
        found.statements.into_iter().map(|one| one.text).collect::<Vec<_>>()
    };
    let worse = text(compared(ComparedVerdict::Worse));
    assert_eq!(worse[0], "B is worse than A: mean response time +20 % (+18 … +22).");
    assert!(worse[1].contains("NFS3 GETATTR: mean response time +45 %") && worse.len() == 2, "{worse:?}");
    let same = text(compared(ComparedVerdict::NotShown));
    assert_eq!(
        same,
        ["No difference was shown between B and A. Runs of this length detect a change for the worse in 9 of 10 \
             cases if it is at least 3.0 % of throughput or 3.0 % of mean response time. They can miss smaller changes."]
    );
    let invalid = ComparedLevel { invalid: vec!["B".into()], ..compared(ComparedVerdict::Worse) };
    assert!(text(invalid).is_empty());
    let loads = Some("A had 4 clients, B had 8 clients: the loads differ".to_owned());
    let unlike = ComparedLevel { other_loads: vec![loads], ..compared(ComparedVerdict::CannotTell) };
    assert_eq!(
        text(unlike),
        ["A had 4 clients, B had 8 clients: the loads differ, so no difference is called better or worse."]
    );
    let late = ComparedLevel { moved: vec![vec!["mean".into()], Vec::new()], ..compared(ComparedVerdict::CannotTell) };
    let late = text(late);
    assert!(late[0].starts_with("No difference was shown"), "of the throughput: {late:?}");
    assert_eq!(late[1..], ["Not compared, because the load generator was late: mean of A."]);
    let with_bytes = |verdict: ComparedVerdict, bytes: ComparedVerdict, holm_significant: bool| {
        let mut level = compared(verdict);
        level.rows[0].metrics.push(ComparedMetric {
            metric: "bytes".into(),
            unit: ComparedUnit::BytesPerSecond,
            more_is_better: true,
            estimates: Vec::new(),
            differences: vec![Some(Difference { holm_significant, ..difference(6.62, bytes) })],
            possible: Vec::new(),
        });
        text(level).swap_remove(0)
    };
    assert_eq!(
        with_bytes(ComparedVerdict::Worse, ComparedVerdict::Better, true),
        "B is different from A: MB/s +662 % (+660 … +664), mean response time +20 % (+18 … +22)."
    );
    assert_eq!(with_bytes(ComparedVerdict::Worse, ComparedVerdict::Better, false), worse[0], "it may be chance");
    assert_eq!(
        with_bytes(ComparedVerdict::Better, ComparedVerdict::Better, true),
        worse[0].replace("worse", "better"),
        "it contradicts nothing"
    );
    let alone = with_bytes(ComparedVerdict::NotShown, ComparedVerdict::Better, true);
    assert_eq!(alone, "B is better than A: MB/s +662 % (+660 … +664).");
}
