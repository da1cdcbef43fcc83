//! Claims of reports about incomplete captures: counts, sentences and verdicts must agree with the capture.

use std::path::Path;
use std::process::Command;

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, rpc, shared_capture};
use serde_json::Value;

/// Text, page and JSON of an analysis.
struct Report {
    text: String,
    page: String,
    json: Value,
}

impl Report {
    /// `None` where the capture is not there.
    fn of(name: &str) -> Option<Report> {
        Some(Report::of_file(&shared_capture(name)?, name))
    }

    fn of_file(capture: &Path, name: &str) -> Report {
        let scratch = Scratch::new(&format!("claims-{name}"));
        let [page, json] = ["page.html", "report.json"].map(|name| scratch.path().join(name));
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        let done =
            output(command.args(["analyze", "--full"]).arg(capture).arg("--html").arg(&page).arg("--json").arg(&json));
        let text = String::from_utf8(done.stdout).unwrap();
        // A line is broken where it is full: sentences are looked for, not lines.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (page, json) = (std::fs::read_to_string(page).unwrap(), std::fs::read(json).unwrap());
        Report { text, page, json: crate::only_side(&json) }
    }

    fn number(&self, path: &str) -> u64 {
        self.json.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path}"))
    }

    fn verdict(&self) -> &str {
        self.json["validity"]["verdict"].as_str().unwrap()
    }

    /// The first of `rows` of which `key` is `name`.
    fn row(&self, rows: &str, key: &str, name: &str) -> Option<&Value> {
        self.json[rows].as_array().unwrap().iter().find(|row| row[key] == name)
    }
}

/// By hand: 12 WRITEs of 16,384 bytes each, 11 answered; 6 replies have no call; one reply precedes its call, which another answers.
#[test]
fn over_udp_replies_without_calls_are_missing_operations_and_commands_are_counted() {
    let Some(report) = Report::of("nfs3-udp-duplicates.pcap") else { return };
    assert!(report.text.contains("16.4 kB") && !report.text.contains("17.9 kB"), "the size of a write");
    assert_eq!(report.row("groups", "group", "Write").unwrap()["payload_bytes"], 11 * 16_384);
    assert_eq!((report.verdict(), report.number("/unseen/missing")), ("partial", 6));
    assert_eq!(report.number("/unseen/responses_unexplained"), 6, "the reply before its call is not one of them");
    assert_eq!((report.number("/unseen/responses_before_start"), report.number("/unseen/requests_waiting")), (0, 0));
    assert!(!report.text.contains("No operation is known to be missing"), "{}", report.text);
    assert!(
        report.text.contains("(12 requests; mean of the 11 with a known response time: 110 ms)"),
        "{}",
        report.text
    );
    assert!(report.text.contains("1 response with a timestamp before that of the request"), "{}", report.text);
    assert_eq!((report.number("/packets/command_first"), report.number("/packets/commands")), (12, 180));
}

/// tshark: 23 of 46 packets are the client's, each of them with a request.
#[test]
fn commands_before_the_client_was_known_count() {
    let Some(report) = Report::of("smb3-encrypted-midstream.pcap") else { return };
    assert_eq!((report.number("/packets/command_first"), report.number("/packets/commands")), (23, 23));
}

/// The holes of this capture are in connections of a cluster daemon; the SMB connections have none.
#[test]
fn losses_of_other_traffic_are_not_the_file_servers() {
    let Some(report) = Report::of("smb1-linux-cooked.cap") else { return };
    assert_eq!(
        (report.verdict(), report.number("/packets/missing_bytes"), report.number("/unseen/missing")),
        ("valid", 0, 0)
    );
    assert!(
        report.page.contains("<strong>86 requests</strong> to file servers were seen on 4 connections; 33 of them")
    );
    assert!(report.page.contains("3 long-lived requests had no captured response."));
}

#[test]
fn what_is_not_known_is_not_said_to_be_none() {
    let Some(report) = Report::of("nfs3-snaplen96-stalls.cap") else { return };
    assert!(
        report
            .text
            .contains("Responses with a status other than success: none found; the status of 104 responses is unknown")
    );
    assert!(report.page.contains("<dt>Errors</dt><dd><strong>unknown</strong>"), "104 of 108 statuses were cut off");
    assert!(!report.page.contains("unknown in all"));
}

#[test]
fn that_nothing_is_missing_is_no_reason_against_a_capture() {
    let Some(report) = Report::of("smb2-two-packets-lost.pcap") else { return };
    let reasons = report.json["validity"]["reasons"].as_array().unwrap();
    assert_eq!(report.verdict(), "partial");
    assert!(reasons.iter().all(|reason| !reason.as_str().unwrap().contains("No operation")), "{reasons:?}");
    assert!(report.number("/packets/dropped_estimate") <= 3, "two packets were taken out");
}

/// tshark: all 69 WRITEs and 64 READs are remote procedure calls on pipes.
#[test]
fn calls_on_pipes_are_no_file_data() {
    let Some(report) = Report::of("smb2-pending-cancel-notify.pcap") else { return };
    assert_eq!(report.row("operations", "procedure", "PIPE_WRITE").unwrap()["count"], 69);
    assert_eq!(report.row("long_lived", "procedure", "PIPE_READ").unwrap()["count"], 64);
    for group in ["Read", "Write"] {
        assert!(report.row("groups", "group", group).is_none(), "no byte of file data was moved");
    }
}

/// The capture begins with its connections and all of their requests; 221 TRANSACTION2 and 8 NT_TRANSACT lose their subcommands.
#[test]
fn subcommands_that_were_cut_off_are_unknown() {
    let Some(capture) = shared_capture("smb1-vlan-files.pcap") else { return };
    let whole = std::fs::read(capture).unwrap();
    let scratch = Scratch::new("claims-cut");
    let path = scratch.path().join("cut.pcap");
    std::fs::write(&path, cut(&whole, 96)).unwrap();
    let report = Report::of_file(&path, "cut");
    assert_eq!(report.row("groups", "group", "Unknown").unwrap()["count"], 229);
    let row = report.row("operations", "procedure", "TRANSACTION2").unwrap();
    assert_eq!((row["group"].as_str(), row["refused"].as_u64()), (Some("Unknown"), Some(0)), "{row}");
    assert_eq!(report.number("/unseen/responses_before_start"), 0);
    assert!(report.text.contains("Requests that wait by design"), "{}", report.text);
}

/// The report of a capture modified by `change`.
fn changed(name: &str, change: impl Fn(&[u8]) -> Vec<u8>) -> Option<Report> {
    let whole = std::fs::read(shared_capture(name)?).unwrap();
    let scratch = Scratch::new(&format!("claims-changed-{name}"));
    let path = scratch.path().join("changed.pcap");
    std::fs::write(&path, change(&whole)).unwrap();
    Some(Report::of_file(&path, &format!("changed-{name}")))
}

/// 7 of 56 requests are left: those over UDP. Of NFS, over TCP, every header is cut.
#[test]
fn connections_whose_headers_were_all_cut_are_missing() {
    let Some(report) = changed("nfs3-write.pcap", |whole| cut(whole, 70)) else { return };
    assert_eq!((report.verdict(), report.number("/unseen/paired")), ("partial", 7));
    assert!(report.json["unseen"]["share_missing"].is_null(), "nobody knows how many");
    assert!(report.text.contains("no message was recognised"), "{}", report.text);
    let Some(report) = changed("smb2-clean.pcap", |whole| cut(whole, 70)) else { return };
    assert_eq!(report.verdict(), "invalid");
    assert!(report.text.contains("The snap length truncated 653 packets"), "{}", report.text);
}

/// Message id 0 is that of the SMB1 request in frame 219, answered in frame 220.
#[test]
fn a_negotiate_answered_in_smb2_is_an_operation() {
    let Some(report) = Report::of("smb2-mixed.pcap") else { return };
    let rows = report.json["operations"].as_array().unwrap();
    let negotiates: Vec<&Value> = rows.iter().filter(|row| row["procedure"] == "NEGOTIATE").collect();
    assert_eq!((negotiates.len(), report.number("/unseen/paired")), (2, 31), "{negotiates:?}");
    assert_eq!(report.verdict(), "valid");
}

/// tshark: two datagrams lack pieces (frames 2604 and 2969 ff.); of 113 whole ones some pieces came twice.
#[test]
fn second_copies_of_ip_fragments_are_not_missing() {
    let Some(report) = Report::of("nfs3-udp-ip-fragments.pcap") else { return };
    assert_eq!(report.row("anomalies", "kind", "fragments_incomplete").unwrap()["count"], 2);
}

/// READs over UDP whose replies come in three IP fragments each; `kept` says which of them the capture has.
fn fragmented(name: &str, snaplen: usize, kept: impl Fn(usize) -> bool) -> Report {
    let mut traffic = Traffic::new(Link::Ethernet);
    traffic.snaplen = snaplen;
    let (client, server) = (([10, 0, 0, 1], 700).into(), ([10, 0, 0, 2], 2049).into());
    for xid in 1..41 {
        traffic.udp(client, server, &rpc::getattr(xid, &[7; 16]), None);
        traffic.udp(server, client, &rpc::reply(xid, &rpc::words(&[0; 22])), None);
    }
    for xid in 41..71 {
        traffic.udp(client, server, &rpc::read(xid, &[7; 16], 4_000), None);
        let before = traffic.frames.len();
        traffic.udp(server, client, &rpc::read_reply(xid, &[3; 4_000]), Some(1_480));
        let fragments = traffic.frames.split_off(before);
        assert_eq!(fragments.len(), 3);
        traffic.frames.extend(fragments.into_iter().enumerate().filter(|(at, _)| kept(*at)).map(|(_, frame)| frame));
    }
    let scratch = Scratch::new(&format!("claims-{name}"));
    let capture = scratch.path().join("capture.pcap");
    std::fs::write(&capture, traffic.pcap()).unwrap();
    Report::of_file(&capture, name)
}

/// A short snap length, a filter by port, and a lost fragment.
#[test]
fn replies_over_udp_without_all_fragments_make_the_verdict_partial() {
    let whole = fragmented("fragments-whole", usize::MAX, |_| true);
    assert_eq!((whole.verdict(), whole.number("/unseen/paired")), ("valid", 70), "{}", whole.text);
    // At an end of the capture, one datagram may lack its beginning or its end.
    let partial = [
        (30, fragmented("fragments-cut", 128, |_| true)),
        (29, fragmented("fragments-filtered", usize::MAX, |at| at == 0)),
        (30, fragmented("fragments-lost", usize::MAX, |at| at != 1)),
        (29, fragmented("fragments-first-lost", usize::MAX, |at| at != 0)),
    ];
    for (count, report) in partial {
        assert_eq!((report.verdict(), report.number("/unseen/paired")), ("partial", 40), "{}", report.text);
        assert!(report.json["unseen"]["share_missing"].is_null(), "{}", report.text);
        let said = "UDP datagrams, which may contain RPC requests or responses: IP fragments";
        assert!(report.text.contains(&format!("could not read {count} {said}")), "{}", report.text);
        assert!(!report.text.contains("No operation is known to be missing"), "{}", report.text);
    }
}

/// The capture begins inside one response and ends inside another.
#[test]
fn datagrams_at_the_ends_of_the_capture_are_not_said_to_lack_fragments() {
    let mut traffic = Traffic::new(Link::Ethernet);
    let (client, server) = (([10, 0, 0, 1], 700).into(), ([10, 0, 0, 2], 2049).into());
    let fragments = |traffic: &mut Traffic, xid| {
        traffic.udp(server, client, &rpc::read_reply(xid, &[3; 4_000]), Some(1_480));
    };
    fragments(&mut traffic, 1);
    traffic.frames.remove(0);
    for xid in 2..42 {
        traffic.udp(client, server, &rpc::read(xid, &[7; 16], 4_000), None);
        fragments(&mut traffic, xid);
    }
    traffic.frames.pop();
    let scratch = Scratch::new("claims-fragments-at-the-ends");
    let capture = scratch.path().join("capture.pcap");
    std::fs::write(&capture, traffic.pcap()).unwrap();
    let report = Report::of_file(&capture, "fragments-at-the-ends");
    assert_eq!(report.number("/unseen/paired"), 39);
    assert_eq!(report.row("anomalies", "kind", "fragments_incomplete").unwrap()["count"], 2);
    assert!(report.row("anomalies", "kind", "message_fragments_incomplete").is_none(), "{}", report.text);
    assert!(!report.text.contains("which may contain RPC"), "{}", report.text);
}

/// The capture begins inside a response; later ones begin or end neither at a segment boundary nor at the end of the previous one.
#[test]
fn data_in_which_no_message_was_recognised_are_not_said_to_be_dropped() {
    let mut traffic = Traffic::new(Link::Ethernet);
    let mut tcp = Tcp::new(([10, 0, 0, 1], 700).into(), ([10, 0, 0, 2], 2049).into());
    (1..5).for_each(|xid| traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::getattr(xid, &[7; 16]))));
    let mut stream = vec![0x55; 3_000];
    (1..5).for_each(|xid| stream.extend([rpc::record(&rpc::reply(xid, &[0x55; 4_976])), vec![0x55; 100]].concat()));
    stream.truncate(stream.len() - 200);
    stream.chunks(1_448).for_each(|piece| traffic.send(&mut tcp, Side::Server, piece));
    let mut other = Tcp::new(([10, 0, 0, 3], 700).into(), ([10, 0, 0, 2], 2049).into());
    for xid in 1..41 {
        traffic.send(&mut other, Side::Client, &rpc::record(&rpc::getattr(xid, &[7; 16])));
        traffic.send(&mut other, Side::Server, &rpc::record(&rpc::reply(xid, &rpc::words(&[0; 22]))));
    }
    let scratch = Scratch::new("claims-unrecognised");
    let capture = scratch.path().join("capture.pcap");
    std::fs::write(&capture, traffic.pcap()).unwrap();
    let report = Report::of_file(&capture, "unrecognised");
    assert_eq!((report.number("/unseen/paired"), report.number("/unseen/missing")), (40, 4));
    assert_eq!(report.verdict(), "partial", "{}", report.text);
    assert!(report.text.contains("Part of the captured data"), "{}", report.text);
    assert!(!report.text.contains("larger capture buffer"), "{}", report.text);
}

/// Blocks of 20 packets in reverse order: nothing was dropped.
#[test]
fn packets_out_of_order_are_not_said_to_be_dropped() {
    let Some(report) = changed("smb2-clean.pcap", |whole| reversed(whole, 20)) else { return };
    assert!(!report.text.contains("larger capture buffer"), "{}", report.text);
    assert!(report.text.contains("reordercap"), "{}", report.text);
}

/// One reply of one connection was captured, and 43 of the other.
#[test]
fn a_connection_with_one_reply_and_no_request_counts() {
    let responses = |whole: &[u8]| {
        let (head, mut rest) = whole.split_at(24);
        let mut kept = head.to_vec();
        while rest.len() >= 16 {
            let len = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
            let (record, next) = rest.split_at(16 + len);
            // Ethernet and IPv4 without options.
            if record.len() > 54 && record[16 + 23] == 6 && record[16 + 36..16 + 38] != 2_049_u16.to_be_bytes() {
                kept.extend_from_slice(record);
            }
            rest = next;
        }
        kept
    };
    let Some(report) = changed("nfs3-write.pcap", responses) else { return };
    assert!(report.text.contains("The capture has only one direction of 2 connections"), "{}", report.text);
}

/// A pcap file with its packets in reverse order, block by block.
fn reversed(pcap: &[u8], block: usize) -> Vec<u8> {
    let (head, mut rest) = pcap.split_at(24);
    let mut records = Vec::new();
    while rest.len() >= 16 {
        let len = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let (record, next) = rest.split_at(16 + len);
        records.push(record);
        rest = next;
    }
    records.chunks_mut(block).for_each(<[&[u8]]>::reverse);
    [head, &records.concat()].concat()
}

/// A pcap file with packets of `snaplen` bytes at most.
fn cut(pcap: &[u8], snaplen: usize) -> Vec<u8> {
    let (head, mut rest) = pcap.split_at(24);
    let mut short = head.to_vec();
    while let Some((record, behind)) = rest.split_at_checked(16) {
        let len = u32::from_le_bytes(record[8..12].try_into().unwrap()) as usize;
        let (packet, next) = behind.split_at(len);
        let kept = len.min(snaplen);
        short.extend_from_slice(&record[..8]);
        short.extend_from_slice(&(kept as u32).to_le_bytes());
        short.extend_from_slice(&record[12..]);
        short.extend_from_slice(&packet[..kept]);
        rest = next;
    }
    short
}
