//! Each rule where it holds and where it does not.

mod built;
mod channels;
mod client_paths;
mod errors;
mod fixed_delay;
mod grace;
mod habits;
mod handshakes;
mod locks;
mod name_service;
mod network;
mod nothing;
mod operations;
mod places;
mod protocol_waits;
mod queues;
mod refusals;
mod resets;
mod restart;
mod rhythm;
mod set_up;
mod silences;
mod slots;
mod times;
mod transfers;
mod unanswered;
mod unfinished;
mod unopened;

use super::*;
use crate::findings::{
    Breakdown, BreakdownRow, BreakdownSeries, Clock, OperationRow, Resent, Slow, StatusCount, Times, Validity,
};
use plimsoll_model::{Coverage, Names, Reason};
use plimsoll_stats::Waiting;

fn row(operation: &str, procedure: &str, count: u64, waited_s: f64) -> OperationRow {
    OperationRow {
        response_time: Some(Times::alike(count, waited_s / count as f64)),
        protocol: "SMB2".to_owned(),
        procedure: procedure.to_owned(),
        operation: operation.to_owned(),
        count,
        waited_s,
        ..OperationRow::default()
    }
}

fn slow(procedure: &str, response_time_s: f64) -> Slow {
    Slow {
        protocol: "SMB2".to_owned(),
        procedure: procedure.to_owned(),
        response_time_s,
        service_time_s: Some(response_time_s),
        at_ns: 1_700_000_000_000_000_000,
        client: "10.0.0.1:700".to_owned(),
        server: "10.0.0.2:445".to_owned(),
        path: Some("a.txt".to_owned()),
        status: Some("STATUS_SHARING_VIOLATION".to_owned()),
        request_frame: Some(1),
        response_frame: Some(2),
        ..Slow::default()
    }
}

/// A thousand reads that took a second together, and as many writes.
fn even() -> Findings {
    let mut findings = Findings {
        operations: vec![row("read", "READ", 1_000, 1.0), row("write", "WRITE", 1_000, 0.9)],
        ..Findings::default()
    };
    findings.source.inputs = vec!["it's.pcap".to_owned()];
    findings
}

fn diagnosed(findings: &Findings) -> Diagnosis {
    let names = Names::default();
    let coverage = Coverage::default();
    let evidence = Evidence {
        findings,
        waiting: Waiting::default(),
        tallies: None,
        coverage: &coverage,
        names: &names,
        status_name: |_, _| None,
    };
    diagnose(&evidence).0
}

fn rules(findings: &Findings) -> Vec<Rule> {
    diagnosed(findings).statements.iter().map(|statement| statement.rule).collect()
}

fn text(findings: &Findings, rule: Rule) -> String {
    let diagnosis = diagnosed(findings);
    diagnosis.statements.into_iter().find(|statement| statement.rule == rule).unwrap().text
}

#[test]
fn where_nothing_is_wrong_nothing_is_said_to_be() {
    let healthy = Findings {
        operations: vec![row("read", "READ", 1_000, 1.0), row("write", "WRITE", 1_000, 1.1)],
        ..Findings::default()
    };
    assert_eq!(rules(&healthy), [Rule::Operation], "writes are more than half of it");
    let mut even = healthy.clone();
    even.operations.push(row("open", "CREATE", 10, 0.3));
    assert_eq!(rules(&even), [Rule::Operation, Rule::Nothing]);
    assert_eq!(rules(&Findings::default()), []);
    let invalid = Findings { validity: Validity::of(vec![Reason::invalid("half is missing")]), ..even };
    assert_eq!(rules(&invalid), [], "numbers that must not be used are not explained");
}

#[test]
fn the_operation_that_clients_waited_for_longest_leads() {
    let mut findings = even();
    let diagnosis = diagnosed(&findings);
    assert_eq!(diagnosis.waited_s, Some(1.9));
    let lead = &diagnosis.statements[0].text;
    assert_eq!(
        lead,
        "Clients waited 1.90 s for 2,000 requests: 53 % of this time for the operation read (1,000 requests, 1.00 ms each on average)."
    );
    assert_eq!(diagnosis.next.as_deref(), Some(r"plimsoll analyze 'it'\''s.pcap' --operation read --by client"));
    // How long clients waited for responses that were not seen is not known.
    findings.operations[0].unanswered = 8;
    let lead = text(&findings, Rule::Operation);
    assert!(lead.starts_with("Clients waited 1.90 s for the responses to 1,992 of 2,000 requests: 53 %"), "{lead}");
    findings.operations[0].unanswered = 0;
    // A command with subcommands is not counted twice.
    let child =
        OperationRow { parent: Some("TRANSACTION2".to_owned()), ..row("list", "TRANSACTION2 FIND_FIRST2", 10, 5.0) };
    findings.operations.extend([row("control", "TRANSACTION2", 12, 5.5), child]);
    let lead = text(&findings, Rule::Operation);
    assert!(
        lead.starts_with(
            "Clients waited 7.40 s for 2,012 requests: 68 % of this time for the operation list (10 requests"
        ),
        "{lead}"
    );
}

/// The mean of a few requests is the time of none of them.
#[test]
fn one_request_that_is_most_of_the_time_is_named() {
    let mut findings = even();
    let mut session = row("session", "NEGOTIATE", 4, 10.04);
    session.response_time.as_mut().unwrap().max_s = 10.0;
    findings.operations.push(session);
    let lead = text(&findings, Rule::Operation);
    assert!(lead.ends_with("for the operation session (4 requests; the longest took 10.0 s)."), "{lead}");
    // The group has other operations, too.
    findings.groups = vec![OperationRow { group: "Session".to_owned(), count: 11, ..OperationRow::default() }];
    let lead = text(&findings, Rule::Operation);
    assert!(lead.contains("for the operation session (a part of the group Session; 4 requests; "), "{lead}");
    findings.groups[0].count = 4;
    assert!(text(&findings, Rule::Operation).contains("for the operation session (4 requests; "));
}

#[test]
fn the_next_command_means_the_same_capture_and_times() {
    let mut findings = even();
    findings.source.filters = vec!["--from 08:00:00".to_owned(), "--client nas".to_owned()];
    findings.source.options = vec!["--utc".to_owned(), "--hosts 'my hosts'".to_owned()];
    assert_eq!(
        diagnosed(&findings).next.as_deref(),
        Some(
            r"plimsoll analyze 'it'\''s.pcap' --utc --hosts 'my hosts' --from 08:00:00 --client nas --operation read --by path"
        )
    );
    assert_eq!(findings.source.filter_words(), "--from 08:00:00 --client nas --utc");
    findings.source.filters.remove(0);
    assert_eq!(findings.source.filter_words(), "--client nas", "no time of day");
    findings.source.inputs = vec!["-x.pcap".to_owned()];
    assert!(diagnosed(&findings).next.unwrap().starts_with("plimsoll analyze ./-x.pcap --utc"), "no option");
    findings.source.options.push("--smb-session-key".to_owned());
    assert_eq!(diagnosed(&findings).next, None, "the key is not shown");
}

#[test]
fn the_next_command_asks_nothing_that_is_answered() {
    let by = |filters: &[&str], shown: Option<&str>| {
        let mut findings = even();
        findings.source.filters = filters.iter().map(|&filter| filter.to_owned()).collect();
        findings.breakdown = shown.map(|by| Breakdown { by: by.to_owned(), ..Breakdown::default() });
        let next = diagnosed(&findings).next?;
        next.rsplit_once("--by ").map(|(_, by)| by.to_owned())
    };
    for (filters, shown, expected) in [
        (&[][..], None, "client"),
        (&[], Some("client"), "path"),
        (&[], Some("path"), "client"),
        (&["--client 10.0.0.1"], None, "path"),
        (&["--client 10.0.0.1"], Some("path"), "second"),
        (&["--client 10.0.0.0/8"], None, "client"),
        (&["--client 10.0.0.0/8"], Some("path"), "client"),
        (&["--client '!10.0.0.1'"], Some("path"), "client"),
        (&["--path '*.docx'"], Some("client"), "path"),
        (&["--client 10.0.0.1", "--path a.txt"], Some("second"), "connection"),
    ] {
        assert_eq!(by(filters, shown).as_deref(), Some(expected), "{filters:?}, {shown:?}");
    }
}

#[test]
fn the_mean_is_of_all_requests_though_clients_wait_for_some_with_others() {
    let mut findings = even();
    // 900 of them came in compounds after another command.
    findings.operations[0].waited_s /= 10.0;
    findings.operations[1].waited_s /= 10.0;
    let lead = text(&findings, Rule::Operation);
    assert_eq!(
        lead,
        "Clients waited 190 ms for 2,000 requests: 53 % of this time for the operation read (1,000 requests, 1.00 ms each on average)."
    );
}

#[test]
fn few_slow_requests_are_named() {
    let mut findings = even();
    findings.slowest = vec![slow("READ", 0.26), slow("READ", 0.25), slow("WRITE", 0.01)];
    let said = text(&findings, Rule::FewSlowRequests);
    let expected = "2 READ requests took 255 ms each on average: 27 % of all time waited. The first began at 2023-11-14 22:13:20 UTC; status \
                    STATUS_SHARING_VIOLATION; client 10.0.0.1 on 1 connection; path a.txt. Service time was 100 % of the time that these requests took.";
    assert_eq!(said, expected);
    findings.slowest.pop();
    assert!(
        text(&findings, Rule::FewSlowRequests).starts_with("At least 2 READ requests"),
        "the list may have been too short"
    );
    findings.slowest.push(slow("WRITE", 0.01));
    (findings.clock.granularity_s, findings.clock.at_most) = (Some(0.1), true);
    assert!(rules(&findings).contains(&Rule::FewSlowRequests), "the clock may be finer");
    findings.clock.at_most = false;
    assert!(!rules(&findings).contains(&Rule::FewSlowRequests), "less than three steps of the clock");
    findings.clock = Clock::default();
    findings.slowest = vec![slow("READ", 0.2), slow("READ", 0.2), slow("READ", 0.01)];
    assert!(!rules(&findings).contains(&Rule::FewSlowRequests), "a fifth of the waiting");
    findings.operations = vec![row("read", "READ", 3, 0.5)];
    assert!(!rules(&findings).contains(&Rule::FewSlowRequests), "two of three are not few");
}

#[test]
fn a_burst_is_many_requests_in_a_short_time() {
    let mut findings = even();
    findings.series.bin_s = 1.0;
    findings.series.start_ns = 1_700_000_000_000_000_000;
    findings.series.operations = vec![100; 20];
    findings.series.response_mean_s = vec![Some(0.0005); 20];
    assert!(!rules(&findings).contains(&Rule::Burst));
    findings.series.response_mean_s[3] = Some(0.02);
    let said = text(&findings, Rule::Burst);
    assert_eq!(
        said,
        "About 68 % of all time waited was for requests that ended in the 1.00 s after 2023-11-14 22:13:23.000 UTC."
    );
    findings.series.bin_s = 1.0 / 64.0;
    let said = text(&findings, Rule::Burst);
    assert!(
        said.ends_with("that ended in the 15.6 ms after 2023-11-14 22:13:20.046 UTC."),
        "a second is 64 bins: {said}"
    );
    findings.series.bin_s = 1.0;
    findings.slowest = vec![slow("READ", 1.1)];
    assert!(!rules(&findings).contains(&Rule::Burst), "one request is no burst");
}

#[test]
fn the_worst_minute_of_a_long_capture_is_named() {
    let mut findings = even();
    (findings.series.bin_s, findings.series.start_ns) = (8.0, 1_700_000_000_000_000_000);
    (findings.series.operations, findings.series.response_mean_s) = (vec![100; 150], vec![Some(0.001); 150]);
    assert!(!rules(&findings).contains(&Rule::WorstMinute), "all minutes are alike");
    findings.series.response_mean_s[70..76].fill(Some(0.004));
    let expected = "The worst 64.0 s began at 2023-11-14 22:22:40 UTC: the 800 requests that ended in this interval account for 15 % of all time waited (3.25 ms each on average). An average interval of this length accounts for 5.3 %.";
    assert_eq!(text(&findings, Rule::WorstMinute), expected);
    // Of these 20 min, only the first four and the last four were captured.
    let mut parts = findings.clone();
    parts.series.operations[30..120].fill(0);
    parts.series.response_mean_s = vec![Some(0.001); 150];
    assert!(!rules(&parts).contains(&Rule::WorstMinute), "all minutes with requests are alike");
    parts.series.response_mean_s[8..16].fill(Some(0.01));
    assert!(text(&parts, Rule::WorstMinute).contains("An average interval of this length with requests accounts for"));
    findings.series.bin_s = 1.0;
    assert!(!rules(&findings).contains(&Rule::WorstMinute), "150 s");
}

#[test]
fn retransmissions_failures_and_keys_are_told_where_they_matter() {
    let mut findings = even();
    findings.resent = Resent { operations: Some(3), wait_s: Some(0.09), ..Resent::default() };
    assert!(!rules(&findings).contains(&Rule::Retransmission), "below 5 %");
    findings.resent.wait_s = Some(0.38);
    findings.source.filters = vec!["--operation read".to_owned()];
    assert!(!rules(&findings).contains(&Rule::Retransmission), "of all traffic, not of what a filter leaves");
    findings.source.filters.clear();
    assert!(
        text(&findings, Rule::Retransmission)
            .starts_with("Of all time waited, 20 % (380 ms in 3 requests) was for TCP")
    );

    assert!(!rules(&findings).contains(&Rule::Failures));
    let status = |name: &str, count, outcome: &str| StatusCount {
        status: 1,
        name: name.to_owned(),
        count,
        error: true,
        outcome: outcome.to_owned(),
    };
    findings.operations[0].failed = 4;
    findings.operations[0].statuses =
        vec![status("STATUS_DISK_FULL", 4, "failed"), status("STATUS_ACCESS_DENIED", 9, "refused")];
    findings.operations.iter_mut().for_each(|row| row.answered = row.count);
    assert_eq!(text(&findings, Rule::Failures), "4 requests failed: STATUS_DISK_FULL 4.");
    let skipped = OperationRow { protocol: "SMB1".to_owned(), failed: 1, ..row("read", "READ_ANDX", 1, 0.0) };
    findings.operations.push(skipped);
    assert_eq!(
        text(&findings, Rule::Failures),
        "5 requests failed: STATUS_DISK_FULL 4. Without a status: READ_ANDX 1. An earlier command of the same message failed, so the \
         server did not process the rest of the message."
    );
    findings.operations.pop();

    let key = |key: &str, share, waited_s| BreakdownRow {
        key: key.to_owned(),
        keys: vec![Some(key.to_owned())],
        waited_share: None,
        bytes_per_s: None,
        series: BreakdownSeries::default(),
        row: OperationRow { share, waited_s, ..OperationRow::default() },
    };
    let breakdown = |rows| {
        let dimensions = vec!["client".to_owned()];
        Some(Breakdown { by: "client".to_owned(), dimensions, rows, ..Breakdown::default() })
    };
    findings.breakdown = breakdown(vec![key("10.0.0.1", 0.8, 1.0), key("10.0.0.9", 0.2, 0.9)]);
    assert!(!rules(&findings).contains(&Rule::Key), "most of the waiting, and most of the requests");
    findings.breakdown = breakdown(vec![key("10.0.0.1", 0.8, 0.9), key("10.0.0.9", 0.2, 1.0)]);
    assert_eq!(
        text(&findings, Rule::Key),
        "client 10.0.0.9 accounts for 53 % of all time waited, but only for 20 % of the requests."
    );
    assert_eq!(
        diagnosed(&findings).next.as_deref(),
        Some(r"plimsoll analyze 'it'\''s.pcap' --operation read --by path")
    );
}
