//! The text of a scrape.

use std::collections::HashSet;

use plimsoll_model::{Procedure, Protocol, Sink as _};
use plimsoll_stats::Headline;
use plimsoll_testkit::transaction;

use super::*;

fn text(totals: &Totals, names: &Names) -> String {
    text_of(totals, names, &WaitingNow::default())
}

fn text_of(totals: &Totals, names: &Names, waiting: &WaitingNow) -> String {
    let state = InterfaceState::Up;
    text_with(totals, names, waiting, LiveLosses { kernel: 7, freezes: 2, state, ..LiveLosses::default() })
}

fn text_with(totals: &Totals, names: &Names, waiting: &WaitingNow, losses: LiveLosses) -> String {
    let mut out = Vec::new();
    let metrics = LiveMetrics {
        tool: "plimsoll",
        input: "interface eth0",
        filters: "--client 10.0.0.3",
        totals,
        names,
        losses: Some(losses),
        waiting: Some((waiting, 20_000_000_000)),
        outputs: &[("save", true), ("record", false)],
    };
    metrics.write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn totals(names: &mut Names, shares: &[&str]) -> Totals {
    let mut totals = Totals::default();
    for (number, share) in shares.iter().enumerate() {
        let mut t = transaction(Procedure::of(Protocol::Smb2, 8), number as i64 * 1_000_000, 3_000_000);
        t.share = names.intern(share);
        totals.transaction(&t, names);
    }
    totals
}

#[test]
fn sums_losses_and_distributions_have_their_labels() {
    let mut names = Names::default();
    let totals = totals(&mut names, &["\\\\server\\data", "\\\\server\\data", "", "x\"} 1\n# EOF\n"]);
    let text = text(&totals, &names);
    for line in [
        "plimsoll_watch_info{tool=\"plimsoll\",input=\"interface eth0\",filters=\"--client 10.0.0.3\"} 1",
        "plimsoll_capture_lost_packets_total{by=\"kernel\"} 7",
        "plimsoll_capture_freezes_total 2",
        "plimsoll_watch_output_failed{output=\"save\"} 1",
        "plimsoll_watch_output_failed{output=\"record\"} 0",
        "plimsoll_share_requests_total{share=\"\\\\\\\\server\\\\data\"} 2",
        "plimsoll_share_requests_total{share=\"unknown\"} 1",
        "plimsoll_share_requests_total{share=\"x\\\"} 1\\n# EOF\\n\"} 1",
        "plimsoll_operation_waited_seconds_total{operation=\"read\"} 0.012",
        "plimsoll_share_response_time_seconds_bucket{share=\"unknown\",le=\"0.002097151\"} 0",
        "plimsoll_share_response_time_seconds_bucket{share=\"unknown\",le=\"0.004194303\"} 1",
        "plimsoll_share_response_time_seconds_sum{share=\"unknown\"} 0.003",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}\n{text}");
    }
    assert!(text.ends_with("# EOF\n") && text.matches("\n# EOF\n").count() == 1);
}

#[test]
fn who_lost_packets_and_whether_the_interface_is_up_is_said_as_far_as_it_is_known() {
    let said = |losses, name: &str| {
        let text = text_with(&Totals::default(), &Names::default(), &WaitingNow::default(), losses);
        text.lines().filter_map(|line| line.strip_prefix(name).map(str::to_owned)).collect::<Vec<_>>()
    };
    let of = |state| LiveLosses { kernel: 7, interface: 1, reported: 3, state, ..LiveLosses::default() };
    let [pipe, up, down] = [InterfaceState::NoInterface, InterfaceState::Up, InterfaceState::DownSince(1)].map(of);
    let is_up = |losses| said(losses, "plimsoll_capture_interface_up ").concat();
    assert_eq!([pipe, up, down].map(is_up), ["", "1", "0"]);
    let lost = "plimsoll_capture_lost_packets_total";
    assert_eq!(said(pipe, lost), ["{by=\"unknown\"} 3"]);
    assert_eq!(said(up, lost), ["{by=\"kernel\"} 7", "{by=\"interface\"} 1"]);
    assert_eq!(said(LiveLosses { interface_unknown: true, ..up }, lost), ["{by=\"kernel\"} 7"]);
}

#[test]
fn buckets_of_operations_have_the_frame_of_their_latest_request() {
    let (mut totals, names) = (Totals::default(), Names::default());
    for (frame, response_ns) in [(7, 3_000_000), (8, 500), (9, 3_100_000), (0, 3_200_000), (10, 2_000_000_000_000)] {
        let mut t = transaction(Procedure::of(Protocol::Smb2, 8), 1_500_000_000, response_ns);
        t.frames.request_first = std::num::NonZeroU64::new(frame);
        totals.transaction(&t, &names);
    }
    let text = text(&totals, &names);
    for line in [
        "bucket{operation=\"read\",le=\"1.023e-06\"} 1 # {frame=\"8\"} 0.0000005 1.500000000",
        "bucket{operation=\"read\",le=\"2.047e-06\"} 1",
        "bucket{operation=\"read\",le=\"0.003145727\"} 3 # {frame=\"9\"} 0.0031 1.500000000",
        "bucket{operation=\"read\",le=\"0.003670015\"} 4",
        "bucket{operation=\"read\",le=\"0.004194303\"} 4",
        "bucket{operation=\"read\",le=\"+Inf\"} 5 # {frame=\"10\"} 2000 1.500000000",
    ] {
        let line = format!("plimsoll_operation_response_time_seconds_{line}");
        assert!(text.lines().any(|other| other == line), "{line}\n{text}");
    }
    assert!(!text.contains("plimsoll_client_response_time_seconds_bucket{client=\"10.0.0.1\",le=\"1.023e-06\"} 1 #"));
}

#[test]
fn servers_have_the_requests_that_wait_now_and_the_age_of_the_oldest() {
    let mut names = Names::default();
    let (totals, mut waiting) = (totals(&mut names, &["a"]), WaitingNow::default());
    let mut t = transaction(Procedure::of(Protocol::Smb2, 8), 8_000_000_000, 1);
    t.timeline.request_first = Some(8_000_000_000);
    let known = t.server;
    waiting.add(&t);
    t.timeline.request_first = Some(18_000_000_000);
    waiting.add(&t);
    t.server.port = 4450;
    waiting.add(&t);
    for server in 0..250_u16 {
        t.server.port = 10_000 + server;
        waiting.add(&t);
    }
    let text = text_of(&totals, &names, &waiting);
    let other = Endpoint { port: 4450, ..known };
    for line in [
        format!("plimsoll_server_waiting_requests{{server=\"{known}\"}} 2"),
        format!("plimsoll_server_oldest_wait_seconds{{server=\"{known}\"}} 12"),
        format!("plimsoll_server_oldest_wait_seconds{{server=\"{other}\"}} 2"),
        "plimsoll_server_waiting_requests{server=\"other\"} 152".to_owned(),
    ] {
        assert!(text.lines().any(|other| other == line), "{line}\n{text}");
    }
    let idle = text_of(&totals, &names, &WaitingNow::default());
    assert!(idle.contains(&format!("plimsoll_server_waiting_requests{{server=\"{known}\"}} 0\n")), "{idle}");
}

/// The largest text that there can be, but for operations and longer names.
#[test]
fn a_scrape_of_the_most_keys_stays_small() {
    let (mut names, mut totals) = (Names::default(), Totals::default());
    for number in 0..u16::try_from(2 * MAX_TOTAL_KEYS).unwrap() {
        let mut t = transaction(Procedure::of(Protocol::Smb2, 8 + number % 2), 1, 3_000_000);
        (t.server.port, t.client.ip) = (number, std::net::Ipv4Addr::from(0x0a00_0000 + u32::from(number)).into());
        t.share = names.intern(&format!("\\\\fileserver.example\\departments-{number}"));
        totals.transaction(&t, &names);
    }
    let text = text(&totals, &names);
    let series = text.lines().filter(|line| !line.starts_with('#')).count();
    assert!(text.len() < 4_000_000 && series < 40_000, "{} bytes, {series} series", text.len());
    let buckets = |of: &str| text.lines().filter(|line| line.contains("_seconds_bucket{") && line.contains(of)).count();
    assert_eq!([buckets("{operation=\"read\","), buckets("{client=\"10.0.0.7\",")], [122, 62]);
}

/// Names that give the same label, reserved names, and too many names.
#[test]
fn no_series_appears_twice_and_there_are_at_most_so_many() {
    let mut names = Names::default();
    let many: Vec<String> = (0..200).map(|number| format!("share{number}")).collect();
    let mut shares = vec!["other", "unknown", "", "a\u{0}", "a\\u{0}"];
    shares.extend(many.iter().map(String::as_str));
    let text = text(&totals(&mut names, &shares), &names);
    let mut seen = HashSet::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        assert!(seen.insert(line.rsplit_once(' ').unwrap().0), "twice: {line}");
    }
    let counts = |line: &str| line.starts_with("plimsoll_share_requests_total");
    let rows: Vec<&str> = text.lines().filter(|line| counts(line)).collect();
    let sum: u64 = rows.iter().map(|row| row.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!((rows.len() <= 101, sum), (true, shares.len() as u64), "{rows:#?}");
}

/// The server was away for 7.997 s, in which the client could not send: only the time from the intended start shows it.
#[test]
fn a_schedule_has_times_from_the_intended_start() {
    let (mut part, mut all, names) = (Totals::of(Headline::FromIntended), Totals::default(), Names::default());
    let mut t = transaction(Procedure::of(Protocol::Smb2, 8), 10_000_000_000, 3_000_000);
    t.timeline.intended = Some(2_000_000_000);
    // What was taken takes no times from later ones.
    for _ in 0..2 {
        part.transaction(&t, &names);
        all.merge(&part.take());
    }
    let text = text(&all, &names);
    for line in
        ["response_time_seconds_sum{operation=\"read\"} 0.006", "response_time_seconds_count{operation=\"read\"} 2"]
    {
        let intended = line.replace("response_time", "response_time_from_intended").replace(" 0.006", " 16");
        for line in [line, &intended] {
            assert!(text.lines().any(|other| other == format!("plimsoll_operation_{line}")), "{line}\n{text}");
        }
    }
    let mut captured = Totals::default();
    captured.transaction(&t, &names);
    assert!(!self::text(&captured, &names).contains("from_intended"));
}

/// A share may be named as requests without a share are.
#[test]
fn no_sum_falls_when_keys_with_the_same_label_change_their_order() {
    let (mut totals, mut names) = (Totals::default(), Names::default());
    let mut add = |totals: &mut Totals, share: &str, response_ns: i64| {
        let mut t = transaction(Procedure::of(Protocol::Smb2, 8), 1_000_000, response_ns);
        t.share = names.intern(share);
        totals.transaction(&t, &names);
        let text = text(totals, &names);
        let requests = |line: &str| line.strip_prefix("plimsoll_share_requests_total").map(str::to_owned);
        text.lines().filter_map(requests).collect::<Vec<_>>()
    };
    for (count, (share, response_ns)) in
        (1..).zip([("unknown", 2_000_000), ("unknown", 2_000_000), ("", 1_000_000), ("", 50_000_000)])
    {
        assert_eq!(add(&mut totals, share, response_ns), [format!("{{share=\"unknown\"}} {count}")]);
    }
}
