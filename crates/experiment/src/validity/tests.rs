//! Each check by itself.

mod schedules;

use super::*;
use crate::tests::connection_failures::refused;
use plimsoll_drive::engine::{ErrorCount, Generator, Unanswered};
use plimsoll_report::findings::Times;

fn times(p50_s: f64, p99_s: f64) -> Option<Times> {
    let (min_s, max_s, mean_s) = (p50_s, p99_s, p50_s);
    let (p90_s, p95_s, p999_s) = (p50_s, p50_s, p99_s);
    Some(Times { count: 9, min_s, max_s, mean_s, stddev_s: None, p50_s, p90_s, p95_s, p99_s, p999_s })
}

fn client(actions: u64, errors: &[(Cause, u64)]) -> ClientTally {
    ClientTally { actions, errors: errors.to_vec(), ..ClientTally::default() }
}

fn level<'a>(generator: &'a Generator, clients: &'a [ClientTally], users: bool) -> Level<'a> {
    let response = times(1e-3, 2e-3);
    let (pauses, unended, status) = (false, 0, None);
    Level { generator, clients, users, pauses, unended, response, status, seconds: 1.0, slots: 1, processors: 2 }
}

fn said(generator: Generator, clients: &[ClientTally]) -> String {
    reasons(&level(&generator, clients, false)).iter().map(|reason| reason.text.as_str()).collect::<Vec<_>>().join("; ")
}

#[test]
fn a_run_that_kept_up_is_valid() {
    let workers = vec![WorkerCpu { user_ns: 5, system_ns: 4, polled_ns: 1, elapsed_ns: 10, ..WorkerCpu::default() }];
    let generator =
        Generator { workers, asked_rate: Some(100.0), achieved_rate: 95.0, planned: 100, ..Generator::default() };
    assert_eq!(said(generator, &[client(99, &[(Cause::Status, 1)])]), "");
}

#[test]
fn users_may_be_late_and_not_fail() {
    let said = |generator: &Generator, clients: &[ClientTally]| {
        reasons(&level(generator, clients, true))
            .iter()
            .map(|reason| reason.text.as_str())
            .collect::<Vec<_>>()
            .join("; ")
    };
    let behind = Generator { asked_rate: Some(100.0), achieved_rate: 50.0, ..Generator::default() };
    assert_eq!(said(&behind, &[client(1000, &[])]), "", "that is what overload says");
    assert!(
        said(&behind, &[client(999, &[(Cause::Status, 1)])])
            .contains("1 of 1000 actions of the workload failed, 0.10 % (limit 0 %)")
    );
}

#[test]
fn what_sends_no_request_does_not_dilute_the_failures() {
    let known = ClientTally { without_request: 128, ..client(3_729, &[(Cause::Status, 256)]) };
    assert!(
        said(Generator::default(), &[known]).contains("256 of 3857 actions of the workload failed, 6.64 % (limit 1 %)")
    );
    let many = ClientTally { without_request: 10_000, ..client(10_095, &[(Cause::Status, 5)]) };
    assert!(said(Generator::default(), &[many]).contains("5 of 100 actions"), "not of 10,100");
}

#[test]
fn each_gate_closes_by_itself() {
    let (fine, none) = ([client(100, &[])], Generator::default);
    let workers = vec![WorkerCpu::default(), WorkerCpu { user_ns: 91, elapsed_ns: 100, ..WorkerCpu::default() }];
    let busy = Generator { workers, ..Generator::default() };
    assert!(said(busy, &fine).starts_with("the load generator is the bottleneck: one of its threads was busy 91 %"));
    let workers = vec![WorkerCpu { user_ns: 96, elapsed_ns: 100, ..WorkerCpu::default() }];
    let failing = Generator { workers, ..Generator::default() };
    let text = said(failing, &[client(0, &[(Cause::Status, 3), (Cause::TooFewCredits, 9)])]);
    assert!(!text.contains("bottleneck"), "it is busy with failing: {text}");
    assert!(text.contains("most frequent cause: needs more SMB2 credits than the server grants"), "{text}");
    let behind = |planned| Generator { asked_rate: Some(100.0), achieved_rate: 94.0, planned, never_sent: 6, ..none() };
    assert!(said(behind(100), &fine).contains("94.0 of 100.0"));
    assert_eq!(said(behind(95), &fine), "", "chance had fewer of them arrive");
    let coarse = Generator { clock_granularity_ns: 1_000_000, ..Generator::default() };
    assert!(said(coarse, &fine).contains("too coarse"));
    assert!(
        said(none(), &[client(98, &[(Cause::TimedOut, 2)])])
            .contains("2 of 100 actions of the workload failed, 2.00 %")
    );
    assert!(said(none(), &[client(1000, &[(Cause::WrongData, 1)])]).ends_with("wrong data 1 time"));
    assert!(said(none(), &[client(9, &[]), client(0, &[])]).contains("1 of 2 clients"));
    assert!(said(none(), &[client(0, &[])]).contains("no action succeeded"));
}

/// Threads that share processors wait for each other, and none of them is busy.
#[test]
fn threads_that_use_all_processors_are_the_bottleneck() {
    let clients = [client(100, &[])];
    let of = |threads: usize, cpu_ms: u64, run_delay_ms: Option<u64>| {
        let run_delay_ns = run_delay_ms.map(|ms| ms * 1_000_000);
        let (user_ns, elapsed_ns) = (cpu_ms * 1_000_000, 1_000_000_000);
        let worker = WorkerCpu { user_ns, elapsed_ns, run_delay_ns, ..WorkerCpu::default() };
        let generator = Generator { workers: vec![worker; threads], ..Generator::default() };
        busy(&level(&generator, &clients, false))
    };
    let said = "the load generator is the bottleneck: its 16 threads used 96 % of the time of its 2 processors (limit 90 %); \
        use a machine with more processors, or less load";
    assert_eq!(of(16, 120, Some(500)).as_deref(), Some(said));
    assert!(of(16, 120, None).is_some(), "the waits are unknown");
    assert_eq!([of(16, 110, Some(500)), of(2, 600, Some(500))], [None, None]);
    assert_eq!(of(16, 120, Some(0)), None, "a CPU limit counts as fewer processors than it is");
}

#[test]
fn clients_without_service_are_found_whenever_they_failed() {
    let closed = Generator::default();
    let found = |clients: &[ClientTally]| unserved(&level(&closed, clients, false));
    let refused_before = ClientTally { connection_failures: vec![refused(false, false, 3)], ..client(0, &[]) };
    let said = "1 of 2 clients completed no action; 1 of the clients without an action failed to connect (3 attempts, most frequent cause: \
        connection refused)";
    assert_eq!(found(&[client(9, &[]), refused_before.clone()]), [said]);
    assert_eq!(found(std::slice::from_ref(&refused_before)).len(), 1, "all of them");
    // It pauses for longer than the phase, or another attempt succeeded, or it worked.
    let connected = ClientTally { connected: true, ..refused_before.clone() };
    let worked = ClientTally { actions: 1, ..refused_before };
    assert_eq!(found(&[client(9, &[]), client(0, &[]), connected, worked]), Vec::<String>::new());
    let cause = Cause::TimedOut;
    let outside = vec![ErrorCount { cause, words: "timed out".to_owned(), count: 1 }];
    let hanging = ClientTally { connected: true, errors_outside: outside, ..client(0, &[]) };
    let said =
        "1 of 2 clients completed no action and failed outside the measured phase (most frequent cause: timed out)";
    assert_eq!(found(&[client(9, &[]), hanging.clone()]), [said]);
    let status = ErrorCount { cause: Cause::Status, words: "error status".to_owned(), count: 1 };
    let paused = [ClientTally { errors_outside: vec![status], ..hanging.clone() }];
    let scheduled = Generator { asked_rate: Some(1.0), ..Generator::default() };
    assert!(unserved(&level(&scheduled, &paused, false)).is_empty(), "it may have had no iteration");
    let pauses = Level { pauses: true, ..level(&closed, &paused, false) };
    assert!(unserved(&pauses).is_empty(), "it may have paused since a failure in the warm-up");
    let hung = [client(9, &[]), hanging];
    assert_eq!(
        unserved(&Level { pauses: true, ..level(&closed, &hung, false) }),
        [said],
        "it waits, and does not pause"
    );
    let wrong_in_warmup = ClientTally { verified_reads: 12, wrong_reads: 5, ..client(1000, &[]) };
    assert!(found(&[wrong_in_warmup])[0].starts_with("the server returned wrong data 5 times"));
}

/// The number of clients of a rate is the same at each rate. That of users is the load.
#[test]
fn clients_that_cannot_connect_miss_only_where_they_are_the_load() {
    let denied = ConnectionFailure { cause: Cause::LogonRefused, ..refused(false, false, 1) };
    let scheduled = Generator { asked_rate: Some(1.0), ..Generator::default() };
    let of = |generator: &Generator, users: bool, connection_failures: &[ConnectionFailure], reconnects: u64| {
        let connection_failures = connection_failures.to_vec();
        let clients = [client(9, &[]), ClientTally { connection_failures, reconnects, ..client(0, &[]) }];
        let level = level(generator, &clients, users);
        (unserved(&level).len(), refused_at_any_rate(&level).is_some())
    };
    assert_eq!(of(&Generator::default(), false, &[denied], 0), (1, false));
    assert_eq!(of(&scheduled, true, &[denied], 0), (1, false));
    for cause in [Cause::LogonRefused, Cause::NoMultichannel, Cause::OtherServer] {
        assert_eq!(of(&scheduled, false, &[ConnectionFailure { cause, ..denied }], 0), (1, true), "{cause:?}");
    }
    // The load may be the cause of these: a lower rate may help.
    assert_eq!(of(&scheduled, false, &[refused(false, true, 3)], 0), (1, false));
    assert_eq!(of(&scheduled, false, &[denied, refused(true, true, 1)], 0), (1, false));
    assert_eq!(of(&scheduled, false, &[denied], 1), (1, false));
}

#[test]
fn a_lack_of_ports_is_no_refusal() {
    let failure = |cause| ConnectionFailure { cause, was_up: false, measured: false, kept: false, count: 10 };
    let of = |causes: &[Cause]| {
        let connection_failures = causes.iter().map(|&cause| failure(cause)).collect();
        let clients = [client(9, &[]), ClientTally { connection_failures, ..client(0, &[]) }];
        unserved(&level(&Generator::default(), &clients, false)).len()
    };
    assert_eq!([of(&[Cause::OutOfResources]), of(&[Cause::RefusedBySystem])], [0, 0]);
    assert_eq!(of(&[Cause::OutOfResources, Cause::ConnectionRefused]), 1, "the server refused it, too");
}

#[test]
fn failures_stand_before_the_faults_of_the_generator() {
    let workers = vec![WorkerCpu { user_ns: 96, elapsed_ns: 100, ..WorkerCpu::default() }];
    let text = said(Generator { workers, ..Generator::default() }, &[client(50, &[(Cause::TimedOut, 50)])]);
    assert!(text.starts_with("50 of 100 actions of the workload failed") && text.contains("bottleneck"), "{text}");
}

#[test]
fn wrong_reads_are_said_with_the_number_of_verified_reads() {
    let wrong =
        |verified_reads| ClientTally { verified_reads, wrong_reads: 1, ..client(1000, &[(Cause::WrongData, 1)]) };
    let text = said(Generator::default(), &[wrong(1)]);
    assert!(text.starts_with("the server returned wrong data 1 time; 1 of 1 verified read was wrong ("), "{text}");
    let text = said(Generator::default(), &[wrong(9), ClientTally { verified_reads: 3, ..client(7, &[]) }]);
    assert!(text.starts_with("the server returned wrong data 1 time; 1 of 12 verified reads were wrong ("), "{text}");
    let in_warmup = ClientTally { verified_reads: 12, wrong_reads: 5, ..client(1000, &[]) };
    let text = said(Generator::default(), std::slice::from_ref(&in_warmup));
    let start = "the server returned wrong data 5 times, 5 of them outside the measured phase; 5 of 12 verified reads were wrong (";
    assert!(text.starts_with(start), "{text}");
}

#[test]
fn a_failed_level_names_the_most_frequent_status() {
    let failing = [client(1162, &[(Cause::Status, 133)])];
    let generator = Generator::default();
    let status = Some("STATUS_DISK_FULL, WRITE (133); free space".to_owned());
    let reasons = reasons(&Level { status: status.clone(), ..level(&generator, &failing, false) });
    assert!(
        reasons[0]
            .text
            .ends_with("(limit 1 %), most frequent cause: error status: STATUS_DISK_FULL, WRITE (133); free space"),
        "{reasons:?}"
    );
    let reasons = super::reasons(&level(&generator, &failing, false));
    assert!(reasons[0].text.ends_with(", most frequent cause: error status"), "{reasons:?}");
    let timeouts = [client(10, &[(Cause::TimedOut, 9), (Cause::Status, 1)])];
    let reasons = super::reasons(&Level { status, ..level(&generator, &timeouts, false) });
    assert!(reasons[0].text.ends_with("most frequent cause: timed out"), "{reasons:?}");
}

#[test]
fn rates_and_times_of_different_requests_are_partial() {
    let reason = |due_before| {
        let answered = Answered { requests: 100, due_before, ..Answered::default() };
        due_before_reason(&Generator { answered, ..Generator::default() })
    };
    assert_eq!(reason(50), None);
    let reason = reason(51).unwrap();
    assert_eq!(reason.verdict, plimsoll_model::Verdict::Partial);
    assert!(
        reason.text.contains("51 of the 100 requests answered in the measured phase were due before it"),
        "{reason:?}"
    );
}

fn due_before_reason(generator: &Generator) -> Option<plimsoll_model::Reason> {
    due_before(&level(generator, &[], false))
}

#[test]
fn users_of_whom_nothing_was_due_have_not_failed() {
    let generator = Generator::default();
    let said = |connected, due_iterations| {
        let clients = [ClientTally { connected, due_iterations, ..client(0, &[]) }];
        let level = Level {
            generator: &generator,
            clients: &clients,
            users: true,
            pauses: false,
            unended: 0,
            response: None,
            status: None,
            seconds: 3.0,
            slots: 1,
            processors: 2,
        };
        nothing(&level).unwrap()
    };
    assert!(said(true, 0).contains("no iteration was due in the measured phase (3.0 s)"));
    assert!(said(true, 1).contains("no action succeeded"));
    assert!(said(false, 0).contains("no action succeeded"), "it never connected");
}

/// Of a rate, and of clients that pause: nothing was due in the phase, so nothing failed.
#[test]
fn a_level_in_which_nothing_was_due_names_the_option() {
    let up = ClientTally { connected: true, ..client(0, &[]) };
    let of = |asked_rate: Option<f64>, planned: u64, count: u64, clients: &[ClientTally]| {
        let unanswered = Unanswered { count, ..Unanswered::default() };
        let generator = Generator { asked_rate, planned, unanswered, ..Generator::default() };
        nothing(&Level { pauses: asked_rate.is_none(), ..level(&generator, clients, false) }).unwrap()
    };
    let (rare, one) = (Some(0.01), std::slice::from_ref(&up));
    let due = "no iteration was due in the measured phase (1.0 s); measure longer with --duration, or use a";
    assert_eq!(of(rare, 0, 0, one), format!("{due} higher --rate"));
    assert_eq!(of(None, 0, 0, one), format!("{due} shorter --think"));
    // Something was due, had no response, or failed, or there was no client.
    let failed = ClientTally { errors: vec![(Cause::TimedOut, 1)], ..up.clone() };
    let (failed, down) = ([failed], [client(0, &[])]);
    assert_eq!([of(rare, 1, 0, one), of(rare, 0, 1, one), of(None, 0, 1, one)], [NO_SUCCESS; 3]);
    assert_eq!([of(rare, 0, 0, &failed), of(None, 0, 0, &failed), of(rare, 0, 0, &down)], [NO_SUCCESS; 3]);
    assert_eq!(of(None, 0, 0, &[up, client(0, &[])]), NO_SUCCESS);
}

#[test]
fn clients_that_could_not_connect_are_said_to() {
    let mut away = client(0, &[]);
    let failure = |cause, count| ConnectionFailure { cause, was_up: false, measured: false, kept: false, count };
    let mut refused = client(0, &[]);
    refused.connection_failures = vec![failure(Cause::LogonRefused, 2)];
    refused.refused_account = Some("user2".to_owned());
    let text = said(Generator::default(), &[client(9, &[]), refused.clone()]);
    assert!(text.ends_with("(2 attempts, most frequent cause: logon refused; account user2)"), "{text}");
    refused.connection_failures = vec![failure(Cause::ShareRefused, 1)];
    let text = said(Generator::default(), &[client(9, &[]), refused]);
    assert!(text.contains("(1 attempt, most frequent cause: ") && text.ends_with("; account user2)"), "{text}");
    for cause in [Cause::ConnectionClosed, Cause::ConnectionReset] {
        let closed = ClientTally { connection_failures: vec![failure(cause, 11)], ..client(0, &[]) };
        let text = said(Generator::default(), &[client(9, &[]), closed]);
        assert!(
            text.ends_with("); the server may have reached its limit of connections (on Samba: max smbd processes)")
        );
    }
    away.connection_failures = vec![failure(Cause::ConnectionReset, 5), failure(Cause::ConnectionRefused, 6)];
    let text = said(Generator::default(), &[client(9, &[]), client(0, &[]), away]);
    assert_eq!(
        text,
        "2 of 3 clients completed no action; 1 of the clients without an action failed to connect (11 attempts, most frequent cause: \
        connection refused)"
    );
}

#[test]
fn a_lost_connection_is_no_operation_that_failed() {
    let mut user = client(2774, &[(Cause::ConnectionReset, 1)]);
    user.connection_failures = vec![refused(false, true, 24), refused(true, true, 6), refused(false, false, 9)];
    let generator = Generator::default();
    let said: Vec<String> =
        reasons(&level(&generator, &[user.clone()], true)).into_iter().map(|reason| reason.text).collect();
    assert_eq!(
        said,
        [
            "1 of 2775 actions of the workload failed, 0.04 % (limit 0 %), most frequent cause: connection reset",
            "connections lost: 6; failed attempts to connect: 24 (limit for the sum: 0 % of 2775 actions)"
        ]
    );
    let told = crate::level::counts::failures(&[user]);
    let told: Vec<(&str, u64)> = told.iter().map(|(cause, count)| (cause.as_str(), *count)).collect();
    assert_eq!(
        told,
        [
            ("connection attempt: connection refused", 24),
            ("connection attempt: connection refused (not in the measured phase)", 9),
            ("connection reset", 1),
            ("lost connection: connection refused", 6),
        ]
    );
}

#[test]
fn nobody_starves_who_had_nothing_to_do() {
    let said = |users, planned, clients: &[ClientTally]| {
        let generator = Generator { asked_rate: Some(1.0), achieved_rate: 1.0, planned, ..Generator::default() };
        reasons(&Level { response: None, ..level(&generator, clients, users) })
            .iter()
            .map(|reason| reason.text.as_str())
            .collect::<Vec<_>>()
            .join("; ")
    };
    let user = |actions, due_iterations| ClientTally { due_iterations, ..client(actions, &[]) };
    assert_eq!(said(true, 1, &[user(3, 1), user(0, 0)]), "");
    assert!(said(true, 2, &[user(3, 1), user(0, 1), user(0, 0)]).contains("1 of 3 clients"));
    assert_eq!(said(false, 1, &[client(1, &[]), client(0, &[])]), "", "one iteration for two");
    assert!(said(false, 2, &[client(1, &[]), client(0, &[])]).contains("1 of 2 clients"));
}
