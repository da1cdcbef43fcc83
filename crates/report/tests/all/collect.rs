//! Findings made from transactions and coverage.

use plimsoll_model::{
    Anomaly, Coverage, Endpoint, Frames, Names, Outcome, Procedure, Protocol, Reason, Transaction, Validity, Vantage,
    Verdict,
};
use plimsoll_report::findings::{Findings, LevelFacts, Source};
use plimsoll_report::text::Style;
use plimsoll_stats::{Dimension, Options, Statistics};
use std::num::NonZeroU64;

const MS: i64 = 1_000_000;

/// Asked at `at` ms, answered `took` ms later (or never), in frames 2n and 2n+1.
fn transaction(procedure: Procedure, at: i64, took: Option<i64>) -> Transaction {
    let frame = |n: i64| NonZeroU64::new(n as u64);
    let mut t = Transaction {
        client: Endpoint { ip: [10, 0, 0, 1].into(), port: 1025 },
        server: Endpoint { ip: [10, 0, 0, 2].into(), port: 445 },
        id: Some(7),
        payload_bytes: None,
        request_packets: 1,
        response_packets: Some(1),
        frames: Frames {
            request_first: frame(2 * at),
            request_last: frame(2 * at),
            response_first: frame(2 * at + 1),
            response_last: frame(2 * at + 1),
        },
        vantage: Vantage::Wire,
        ..plimsoll_testkit::transaction(procedure, (at + took.unwrap_or(0)) * MS, took.unwrap_or(0) * MS)
    };
    (t.request_bytes, t.response_bytes) = (Some(100), Some(50));
    if took.is_none() {
        (t.outcome, t.status, t.response_bytes, t.response_packets) = (Outcome::Unanswered, None, None, None);
        (t.timeline.response_first, t.timeline.response_last) = (None, None);
        (t.frames.response_first, t.frames.response_last) = (None, None);
    }
    t
}

/// Ten reads of 1000 bytes in messages of 150, 1100 together, and packets of 1400.
#[test]
fn the_overhead_of_a_protocol_is_messages_and_packets_over_file_data() {
    let read = |at| {
        let mut one = transaction(Procedure::of(Protocol::Smb2, 8), at, Some(1));
        (one.payload_bytes, one.request_bytes, one.response_bytes) = (Some(1000), Some(100), Some(1050));
        one
    };
    let reads: Vec<Transaction> = (0..10).map(read).collect();
    let mut coverage = Coverage::default();
    (coverage.packets.total, coverage.packets.wire_bytes) = (40, 14_000);
    let own = collected(&reads, &coverage, &Names::default()).overhead.unwrap();
    assert_eq!((own.payload_bytes, own.message_bytes), (10_000, 11_500));
    assert_eq!((own.message_ratio, own.network_ratio), (1.15, Some(1.4)));
    let text = plimsoll_report::text::to_string(
        &collected(&reads, &coverage, &Names::default()).into(),
        &Style { sections: plimsoll_report::text::Sections::ALL, ..Style::default() },
    );
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains(
            "for each byte of file data, 1.15 bytes in requests and responses (1.40 bytes with the packet headers)."
        ),
        "{words}"
    );
    // The packets include the traffic that a filter left out; without packets it is unknown.
    let mut statistics = Statistics::new(Options::default());
    reads.iter().for_each(|t| statistics.record(t));
    let source = Source { filters: vec!["--share data".to_owned()], ..Source::default() };
    let filtered = Findings::collect(&statistics, &coverage, &Names::default(), source, status_name).overhead.unwrap();
    assert_eq!((filtered.message_ratio, filtered.network_ratio), (1.15, None));
    assert_eq!(collected(&reads, &Coverage::default(), &Names::default()).overhead.unwrap().network_ratio, None);
    // Without file data there is no ratio.
    let nothing = [transaction(Procedure::of(Protocol::Smb2, 5), 0, Some(1))];
    assert_eq!(collected(&nothing, &coverage, &Names::default()).overhead, None);
}

fn status_name(protocol: Protocol, status: u32) -> Option<&'static str> {
    (protocol == Protocol::Smb1 && status == 0xc000_0034).then_some("STATUS_OBJECT_NAME_NOT_FOUND")
}

fn collected(transactions: &[Transaction], coverage: &Coverage, names: &Names) -> Findings {
    let mut statistics = Statistics::new(Options { by: Some(Dimension::Client.into()), ..Options::default() });
    transactions.iter().for_each(|t| statistics.record(t));
    Findings::collect(&statistics, coverage, names, Source::default(), status_name)
}

fn from(transactions: &[Transaction]) -> Findings {
    let coverage = Coverage { first_ns: Some(0), last_ns: Some(1000 * MS), ..Coverage::default() };
    collected(transactions, &coverage, &Names::default())
}

fn find_first() -> Procedure {
    Procedure::of_sub(Protocol::Smb1, 0x32, 1)
}

#[test]
fn a_command_sums_its_subcommands() {
    let other = Procedure::of_sub(Protocol::Smb1, 0x32, 0xfffe);
    assert_eq!(other, find_first().command(), "an unknown subcommand counts for its command");
    let findings = from(&[
        transaction(find_first(), 10, Some(1)),
        transaction(find_first(), 20, Some(3)),
        transaction(other, 30, Some(20)),
    ]);
    let [command, sub] = findings.operations.as_slice() else { panic!("{:#?}", findings.operations) };
    assert_eq!((command.procedure.as_str(), command.parent.as_deref(), command.count), ("TRANSACTION2", None, 3));
    assert_eq!((sub.parent.as_deref(), sub.count), (Some("TRANSACTION2"), 2));
    let (all, subs) = (command.response_time.unwrap(), sub.response_time.unwrap());
    assert_eq!((all.min_s, all.max_s, all.mean_s), (0.001, 0.02, 0.008));
    assert_eq!((subs.max_s, subs.mean_s), (0.003, 0.002));
    // 3 ms to the 0.1 % of a histogram: a median that no combination of summaries could give.
    assert!((all.p50_s - 0.003).abs() < 0.003 * 0.001, "{}", all.p50_s);
    assert_eq!(command.share, 1.0);
    let edges: Vec<(f64, u64)> = command.distribution.iter().map(|b| (b.below_s, b.count)).collect();
    assert_eq!(edges, [(0.01, 2), (0.1, 1)], "1 ms is not below 0.001");
    let breakdown = findings.breakdown.as_ref().unwrap();
    assert_eq!(
        (breakdown.by.as_str(), breakdown.rows[0].key.as_str(), breakdown.rows[0].row.count),
        ("client", "10.0.0.1", 3)
    );
    let text = crate::shown(&findings, &Style::default());
    assert!(text.contains("\nTransaction2 (Find_First):\n"), "{text}");
}

#[test]
fn the_asynchronous_part_of_write_raw_is_packets_only() {
    let mut part = transaction(Procedure::write_raw_async(), 12, None);
    part.request_packets = 25;
    let write_raw = Procedure::write_raw_async().command();
    let findings = from(&[transaction(write_raw, 10, Some(1)), part]);
    let text = crate::shown(&findings, &Style::default());
    let line = text.lines().find(|line| line.trim_start().starts_with("async portion")).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["async", "portion", "25"]);
    assert!(text.contains("Write_Raw (synchronous portion only):"), "{text}");
    assert_eq!(findings.groups.iter().find(|row| row.group == "Write").unwrap().count, 1);
}

#[test]
fn single_operations_can_be_found_in_wireshark() {
    let mut no_frames = transaction(Procedure::of(Protocol::Smb2, 8), 1, Some(5));
    no_frames.frames = Frames::default();
    let findings = from(&[transaction(find_first(), 10, Some(3)), no_frames, transaction(find_first(), 400, None)]);
    let filters: Vec<&str> = findings.slowest.iter().map(|slow| slow.display_filter.as_str()).collect();
    assert_eq!(
        filters,
        ["smb2.msg_id == 7 && tcp.port == 1025 && ip.addr == 10.0.0.1", "frame.number == 20 || frame.number == 21"]
    );
    let [waiting] = findings.unanswered.as_slice() else { panic!() };
    assert_eq!((waiting.response_time_s, waiting.status.as_deref()), (0.6, None));
    assert_eq!(waiting.display_filter, "frame.number == 800");
}

#[test]
fn statuses_have_names_or_numbers() {
    let refused = |status| Transaction {
        status: Some(status),
        outcome: Outcome::Refused,
        ..transaction(find_first(), 10, Some(1))
    };
    let findings = from(&[refused(0xc000_0034), refused(0xc000_0034), refused(0xc0de_0000)]);
    let statuses: Vec<(&str, u64, bool)> =
        findings.operations[0].statuses.iter().map(|s| (s.name.as_str(), s.count, s.error)).collect();
    assert_eq!(statuses, [("STATUS_OBJECT_NAME_NOT_FOUND", 2, true), ("0xc0de0000", 1, true)]);
}

#[test]
fn nothing_found_is_invalid_and_says_what_was_there() {
    let reason = |coverage: &Coverage| {
        let findings = collected(&[], coverage, &Names::default());
        assert!(!findings.validity.valid);
        findings.validity.reasons.join(" ")
    };
    let mut coverage = Coverage::default();
    assert!(reason(&coverage).contains("no packets"));
    coverage.packets.total = 1203;
    coverage.packets.tcp = 1200;
    coverage.packets.udp = 3;
    assert_eq!(
        reason(&coverage),
        "No operation was found: the input has 1,200 TCP packets, 3 UDP packets, none recognised as SMB or RPC."
    );
    coverage.anomalies.add_many(Anomaly::MessageEncrypted, 5);
    coverage.unseen.encrypted = 5;
    coverage.unseen.missing.operations = 5;
    assert!(reason(&coverage).contains("5 request messages are encrypted"), "{}", reason(&coverage));
    assert!(reason(&coverage).contains("give the session keys with --smb-session-key"));
    coverage.anomalies.add_many(Anomaly::MessageUndecryptable, 9);
    let wrong = "the given session keys do not decrypt 9 messages. Check --smb-session-key";
    assert!(reason(&coverage).contains(wrong), "{}", reason(&coverage));
    assert!(from(&[transaction(find_first(), 1, Some(1))]).validity.valid);
}

#[test]
fn a_link_type_that_is_not_known_is_named_with_its_number() {
    let unknown_links = vec![(195, 1_200), (300, 1), (0x8000_0007, 2)];
    let coverage = Coverage { first_ns: Some(0), last_ns: Some(MS), unknown_links, ..Coverage::default() };
    let nothing = collected(&[], &coverage, &Names::default()).validity;
    let told = "1,200 packets not read: link type 195 (IEEE 802.15.4) is not supported; \
                1 packet not read: link type 300 (unnamed) is not supported; \
                2 packets not read: link type 7 of this capture format is not supported";
    assert!(!nothing.valid && nothing.reasons[1].starts_with(told), "{nothing:?}");
    let some = collected(&[transaction(find_first(), 1, Some(1))], &coverage, &Names::default()).validity;
    assert_eq!(some.verdict, plimsoll_model::Verdict::Partial, "operations in these packets are missing");
}

#[test]
fn a_breakdown_of_too_many_keys_says_that_it_has_the_first_ones() {
    let of = |clients: u32| -> Findings {
        let one = |n: u32| {
            let took = if n > 10_000 { 5_000 } else { 1 };
            let client = Endpoint { ip: std::net::Ipv4Addr::from(0x0a00_0000 + n).into(), port: 1025 };
            Transaction { client, ..transaction(find_first(), i64::from(n), Some(took)) }
        };
        let all: Vec<Transaction> = (1..=clients).map(one).collect();
        from(&all)
    };
    let some = of(10_001);
    let breakdown = some.breakdown.as_ref().unwrap();
    assert_eq!((breakdown.first_keys, breakdown.rows.len()), (Some(10_000), 1_000));
    let style = Style { sections: plimsoll_report::text::Sections::ALL, ..Style::default() };
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = words(crate::shown(&some, &style));
    assert!(text.contains("By client, longest waiting first of the first 10,000 keys in the capture, times"), "{text}");
    assert_eq!(crate::against_schema(&crate::value(&some)), Vec::<String>::new());
    let page = plimsoll_report::html::page(&some.into()).unwrap();
    assert!(page.contains("longest waiting first of the first 10,000 keys in the capture."));
    assert_eq!(of(10_000).breakdown.unwrap().first_keys, None);
}

#[test]
fn a_coarse_clock_is_told_only_where_it_is_proven() {
    let mut coverage = Coverage { first_ns: Some(0), last_ns: Some(MS), ..Coverage::default() };
    coverage.clock.estimate_ns = Some(200_000);
    let all = [transaction(find_first(), 1, Some(1))];
    let told = |coverage: &Coverage| collected(&all, coverage, &Names::default()).warnings.join(" ");
    assert!(told(&coverage).contains("resolution of 200 µs"), "{}", told(&coverage));
    coverage.clock.at_most = true;
    assert_eq!(told(&coverage), "");
    coverage.clock.at_most = false;
    coverage.clock.estimate_ns = Some(50_000);
    assert_eq!(told(&coverage), "", "a twentieth of the median");
}

#[test]
fn times_of_zero_show_that_the_clock_is_too_coarse() {
    let mut coverage = Coverage { first_ns: Some(0), last_ns: Some(2_000 * MS), ..Coverage::default() };
    (coverage.clock.estimate_ns, coverage.clock.at_most) = (Some(1_000_000_000), true);
    let mut all: Vec<Transaction> = (1..9).map(|at| transaction(find_first(), at, Some(0))).collect();
    let zero = collected(&all, &coverage, &Names::default()).validity;
    assert_eq!(zero.verdict, Verdict::Invalid);
    assert!(zero.reasons[0].starts_with("Times cannot be measured: each response has"), "{zero:?}");
    all.push(transaction(find_first(), 9, Some(1_000)));
    let some = collected(&all, &coverage, &Names::default());
    assert_eq!(some.validity.verdict, Verdict::Valid);
    let said = some.warnings.join(" ");
    let coarse = "FIND_FIRST2 are 0: the clock of the capture is too coarse for them (resolution 1.00 s or finer).";
    assert!(said.contains(coarse) && said.contains("The median response times of "), "{said}");
    coverage.anomalies.add(Anomaly::NegativeTime);
    let zero = collected(&all[..8], &coverage, &Names::default()).validity;
    assert_eq!(zero.verdict, Verdict::Invalid);
    assert!(zero.reasons[0].contains("or an earlier one"), "the cause is unknown: {zero:?}");
    coverage.late_requests.count = 10;
    let some = collected(&all, &coverage, &Names::default()).warnings.join(" ");
    assert!(!some.contains("too coarse") && some.contains("a timestamp before that of the request"), "{some}");
}

#[test]
fn what_is_collected_keeps_to_the_schema() {
    let mut all: Vec<Transaction> = Procedure::all().map(|procedure| transaction(procedure, 10, Some(2))).collect();
    all.push(transaction(find_first(), 500, None));
    all.push(Transaction { long_lived: true, ..transaction(find_first(), 20, Some(900)) });
    let findings = from(&all);
    assert_eq!(findings.long_lived.len(), 2, "the command and its subcommand");
    let rows = findings.heat_maps[0].edges_s.len() as u32 - 1;
    assert!(findings.heat_maps.iter().flat_map(|map| &map.cells).all(|&(_, row, _)| row < rows));
    assert_eq!(crate::against_schema(&crate::value(&findings)), Vec::<String>::new());
    for line in crate::shown(&findings, &Style::default()).lines() {
        assert!(plimsoll_report::safe::columns(line) <= 80 || line.contains("frame.number"), "{line}");
    }
}

/// The facts of a level with this load in words.
fn level_facts(words: &str, reasons: impl IntoIterator<Item = Reason>) -> LevelFacts {
    LevelFacts { load_name: words.into(), validity: Validity::of(reasons), ..LevelFacts::default() }
}

#[test]
fn a_run_has_all_its_levels_and_one_bad_level_spoils_it() {
    use plimsoll_report::collect::run::{MeasuredLevel, RecordedFacts};
    use plimsoll_report::findings::{LoadLevel, Run};
    let read = Procedure::of(Protocol::Smb2, 8);
    let scheduled = |at: i64, took: i64| {
        let mut t = transaction(read, at, Some(took));
        t.timeline.intended = Some((at - 3) * MS);
        t.payload_bytes = Some(1000);
        t
    };
    let mut logon = transaction(Procedure::of(Protocol::Smb2, 1), 0, Some(50));
    logon.vantage = Vantage::Client;
    let statistics = |transactions: &[Transaction]| {
        let mut statistics = Statistics::new(Options::default());
        transactions.iter().for_each(|t| statistics.record(t));
        statistics
    };
    let first = statistics(&[scheduled(10, 1), scheduled(20, 2), logon]);
    let ended = |ms: i64, outcome: Outcome| Transaction { outcome, status: Some(0xC000_0001), ..scheduled(ms, 5) };
    let (expected, refused, failed) = (Outcome::Expected, Outcome::Refused, Outcome::Failed);
    let second = statistics(&[ended(2010, expected), ended(2020, refused), ended(2030, failed), ended(2040, failed)]);
    let level = |statistics, from: i64, reasons: &[&str]| MeasuredLevel {
        statistics,
        span_ns: (from * MS, (from + 500) * MS),
        iterations: 2,
        about: RecordedFacts {
            facts: level_facts("4 clients", reasons.iter().map(|&reason| plimsoll_model::Reason::invalid(reason))),
            failures: vec![("b".into(), 1), ("a".into(), 2)],
            ..RecordedFacts::default()
        },
        ..MeasuredLevel::default()
    };
    let levels = [level(first, 0, &[]), level(second, 2000, &["it was late"])];
    let run = Run { target: "smb://host".into(), ..Run::default() };
    let findings = Findings::collect_run(run, &levels.each_ref(), &Names::default(), Source::default(), status_name);
    assert_eq!(findings.levels.len(), 2);
    let level = &findings.levels[0];
    assert_eq!(level.count, 2, "logging on is no operation of a user");
    assert_eq!((level.operations_per_s, level.iterations_per_s, level.read_bytes_per_s), (4.0, 4.0, 4000.0));
    assert_eq!(level.response_time.map(|t| t.max_s), Some(0.002));
    assert_eq!(level.response_time_from_intended.map(|t| t.max_s), Some(0.005));
    assert_eq!(level.failures[0].cause, "a", "most frequent first");
    let depths = |level: &LoadLevel| level.queue_depth.at_arrival.iter().filter_map(|share| share.count).sum::<u64>();
    assert_eq!((depths(level), depths(&findings.levels[1])), (3, 4), "each level has its own");
    let classes = |level: &LoadLevel| [level.expected, level.errors, level.refused, level.failed];
    assert_eq!((classes(level), classes(&findings.levels[1])), ([0; 4], [1, 3, 1, 2]));
    let read_row = level.operations.iter().find(|row| row.procedure == "READ").unwrap();
    let octaves: Vec<(f64, u64)> =
        read_row.service_octaves.iter().map(|octave| (octave.below_s, octave.count)).collect();
    assert_eq!(octaves, [(0.001_024, 1), (0.002_048, 1)], "1 ms and 2 ms");
    assert_eq!(read_row.mean_payload(), Some(1000.0));
    let text = crate::shown(&findings, &Style::default());
    for part in [
        "Queue depth at 4 clients:",
        "Operation mix and service time at 4 clients",
        "SMB2 READ: 2 times",
        "once per member",
    ] {
        assert!(text.contains(part) || text.contains(&part.replace("SMB2 ", "")), "no {part} in {text}");
    }
    assert!(level.facts.validity.valid);
    assert_eq!(findings.validity.reasons, ["At 4 clients: it was late"]);
    assert!(!findings.validity.valid);
    assert_eq!(findings.operations.iter().find(|row| row.procedure == "READ").map(|row| row.count), Some(6));
    assert_eq!(findings.span.elapsed_s, Some(2.5));
}

/// Perhaps nobody captured then.
#[test]
fn rates_do_not_include_the_time_between_capture_files() {
    let read = |at| transaction(Procedure::of(Protocol::Smb2, 8), at, Some(1));
    let reads: Vec<Transaction> = (1..=60).map(read).collect();
    let (first_ns, last_ns) = (Some(0), Some(100_000 * MS));
    let mut coverage = Coverage { first_ns, last_ns, ..Coverage::default() };
    coverage.file_gaps.add(10_000 * MS, 90_000 * MS);
    let findings = collected(&reads, &coverage, &Names::default());
    assert_eq!((findings.span.elapsed_s, findings.measured_s()), (Some(100.0), Some(20.0)));
    let style = Style { sections: plimsoll_report::text::Sections::ALL, ..Style::default() };
    let text = crate::shown(&findings, &style);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("averaged over the 20.0 s that the capture files cover):"), "{text}");
    let together = text.lines().find_map(|line| line.trim().strip_prefix("Together")).expect("all of them");
    assert_eq!(together.split_whitespace().take(2).collect::<Vec<_>>(), ["60", "3.00"]);
    assert!(crate::page(&findings).contains("(the capture files cover 20.0"), "the page has the same rates");
}

/// Operations of a local directory are in no sum, no rate and no table of the server.
#[test]
fn calls_in_a_local_directory_are_in_no_sum() {
    use plimsoll_report::collect::run::{MeasuredLevel, RecordedFacts};
    use plimsoll_report::findings::Run;
    use plimsoll_report::findings::calls::{CallPhase, Calls};
    let remote = [1, 2].map(|at| transaction(Procedure::of(Protocol::Smb2, 8), at, Some(2)));
    let local = [1, 2, 3].map(|at| transaction(Procedure::of(Protocol::File, 1), at, Some(1)));
    let statistics = |transactions: &[Transaction]| {
        let mut statistics = Statistics::new(Options::default());
        transactions.iter().for_each(|t| statistics.record(t));
        statistics
    };
    let both = [(statistics(&remote), "random"), (statistics(&local), "random, local")];
    let level = |(statistics, words): (_, &str)| MeasuredLevel {
        statistics,
        span_ns: (0, 500 * MS),
        iterations: 1,
        about: RecordedFacts { facts: level_facts(words, []), ..RecordedFacts::default() },
        ..MeasuredLevel::default()
    };
    let [first, second] = both.map(level);
    let phase = |number, local| CallPhase { level: number, local, call: "random".into(), ..CallPhase::default() };
    let calls = Calls { phases: vec![phase(0, false), phase(1, true)], ..Calls::default() };
    let run = Run { calls: Some(Box::new(calls)), ..Run::default() };
    let findings = Findings::collect_run(run, &[&first, &second], &Names::default(), Source::default(), status_name);
    let counted = |rows: &[plimsoll_report::findings::OperationRow]| {
        rows.iter().map(|row| (row.protocol.clone(), row.count)).collect::<Vec<_>>()
    };
    assert_eq!(counted(&findings.operations), [("SMB2".to_owned(), 2)]);
    assert_eq!(counted(&findings.levels[1].operations), [("FILE".to_owned(), 3)], "it is in its own level");
    let text = crate::shown(&findings, &Style::default());
    let tables: Vec<&str> = text.lines().filter(|line| line.starts_with("Load levels")).collect();
    let times = "(response times of all operations in";
    assert_eq!(tables.len(), 2, "{text}");
    assert!(tables[0].starts_with(&format!("Load levels {times}")), "{tables:?}");
    assert!(tables[1].starts_with("Load levels in a local directory, without the server"), "{tables:?}");
    let page = crate::page(&findings);
    for id in ["levels-local-caption", "generator-local-caption", "silence-local-caption"] {
        assert_eq!(page.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
    }
}

/// A level's reason for being invalid does not apply to other levels, and does not replace its other reasons.
#[test]
fn each_reason_of_a_run_keeps_its_own_verdict() {
    use plimsoll_report::collect::run::{MeasuredLevel, RecordedFacts};
    use plimsoll_report::findings::Run;
    let level = |words: &str, reasons: Vec<Reason>| {
        let mut statistics = Statistics::default();
        statistics.record(&transaction(find_first(), 1, Some(1)));
        let about = RecordedFacts { facts: level_facts(words, reasons), ..RecordedFacts::default() };
        MeasuredLevel { statistics, span_ns: (0, 500 * MS), iterations: 1, about, ..MeasuredLevel::default() }
    };
    let interrupted = || Reason::partial("interrupted");
    let levels =
        [level("1 client", vec![interrupted()]), level("2 clients", vec![interrupted(), Reason::invalid("late")])];
    let findings =
        Findings::collect_run(Run::default(), &levels.each_ref(), &Names::default(), Source::default(), status_name);
    let said: Vec<(Verdict, &str)> = findings.validity.each_reason().collect();
    assert_eq!(said[0], (Verdict::Invalid, "At 2 clients: late"));
    assert_eq!(
        said[1..],
        ["At 1 client: interrupted", "At 2 clients: interrupted"].map(|text| (Verdict::Partial, text))
    );
    let text = crate::shown(&findings, &Style::default());
    let lines: Vec<&str> = text.lines().skip(4).take(3).collect();
    assert_eq!(
        lines,
        ["INVALID: At 2 clients: late", "PARTIAL: At 1 client: interrupted", "PARTIAL: At 2 clients: interrupted"]
    );
}

/// A server that answers in 2 ms and stops for 1.5 s, under a schedule of one request per 10 ms with at most one outstanding: one request
/// waits for the server, 150 wait for that one.
#[test]
fn under_a_schedule_the_time_from_the_intended_start_leads() {
    use plimsoll_report::collect::run::{MeasuredLevel, RecordedFacts};
    use plimsoll_report::findings::{Headline, Run};
    let read = Procedure::of(Protocol::Smb2, 8);
    let collected = |headline: plimsoll_stats::Headline| {
        let mut statistics = Statistics::new(Options { headline, ..Options::default() });
        let mut free = 0;
        for i in 0..500 {
            let intended = i * 10;
            let (begun, mut took) = (free.max(intended), 2);
            if (1_000..1_010).contains(&begun) {
                took += 1_500;
            }
            free = begun + took;
            let mut t = transaction(read, begun, Some(took));
            t.timeline.intended = Some(intended * MS);
            statistics.record(&t);
        }
        let facts = level_facts("100 iterations per second", []);
        let about = RecordedFacts { facts, ..RecordedFacts::default() };
        let span_ns = (0, 5_000 * MS);
        let level = MeasuredLevel { statistics, span_ns, iterations: 500, about, ..MeasuredLevel::default() };
        Findings::collect_run(Run::default(), &[&level], &Names::default(), Source::default(), status_name)
    };
    let closed = collected(plimsoll_stats::Headline::Response);
    let scheduled = collected(plimsoll_stats::Headline::FromIntended);
    assert_eq!((closed.headline, scheduled.headline), (Headline::ResponseTime, Headline::ResponseTimeFromIntended));
    let p95 = |findings: &Findings| findings.levels[0].headline_time().unwrap().p95_s;
    assert!(p95(&closed) < 0.0021 && p95(&scheduled) > 1.0, "{} and {}", p95(&closed), p95(&scheduled));
    let row = &scheduled.operations[0];
    let at = |percentile: f64| row.percentiles.iter().find(|point| point.percentile == percentile).unwrap().value_s;
    assert_eq!(at(95.0), row.response_time_from_intended.unwrap().p95_s, "the percentile curve");
    let slow = |findings: &Findings| -> u64 {
        findings.operations[0].distribution.iter().filter(|b| b.below_s > 0.1).map(|b| b.count).sum()
    };
    assert!(slow(&closed) == 1 && slow(&scheduled) > 100, "decades: {} and {}", slow(&closed), slow(&scheduled));
    let hot = |findings: &Findings| {
        let map = &findings.heat_maps[0];
        map.cells.iter().filter(|cell| map.edges_s[cell.1 as usize] >= 0.1).map(|cell| cell.2).sum::<u64>()
    };
    assert!(hot(&closed) == 1 && hot(&scheduled) > 100, "heat map: {} and {}", hot(&closed), hot(&scheduled));
    let means = |findings: &Findings| findings.series.response_mean_s.iter().flatten().copied().fold(0.0, f64::max);
    assert!(means(&scheduled) > 1.0, "series: {}", means(&scheduled));
    assert!(scheduled.slowest[5].response_time_from_intended_s > Some(1.0), "the slowest");
    assert_eq!(scheduled.levels[0].uncorrected_time(), closed.levels[0].response_time, "it stands beside");
    assert_eq!(closed.levels[0].uncorrected_time(), None);
    let all = Style::plain(200);
    let (before, after) = (crate::shown(&closed, &all), crate::shown(&scheduled, &all));
    assert!(!before.contains("from the intended start per") && before.contains("p99 int."), "{before}");
    for part in [
        "Load levels (response times of all operations from the intended start",
        "Response time from the intended start by operation group (",
        "Response time from the intended start (to the last byte of the response)",
        "Response time, uncorrected (first byte",
        "Response times from the intended start per group",
        "p99 unc.",
    ] {
        assert!(after.contains(part), "no {part} in {after}");
    }
    let page = crate::page(&scheduled);
    assert!(page.contains("Response time from the intended start, ms") && page.contains("p99, uncorrected"));
}
