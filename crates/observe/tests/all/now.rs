//! The requests that wait after any packet are those whose response comes later, or never.

use std::collections::BTreeSet;
use std::path::Path;

use plimsoll_model::Transaction;
use plimsoll_observe::capture::{Captures, Frame, Input};
use plimsoll_observe::{Observed, Observer};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, nbss, rpc, smb2};

/// The place of a request: its connection, its first frame, and the place in its compound.
type Request = (u32, u64, Option<u16>);

fn place(t: &Transaction) -> Request {
    (t.connection, t.frames.request_first.map_or(0, u64::from), t.compound_position)
}

/// Requests that wait after each frame, and all transactions at the end.
fn read(capture: &Path) -> (Vec<BTreeSet<Request>>, Vec<Transaction>) {
    let mut captures = Captures::open(vec![Input::File(capture.to_owned())]).unwrap();
    let (mut observer, mut waiting) = (Observer::new(Vec::new()), vec![BTreeSet::new()]);
    while let Some(frame) = captures.next().unwrap() {
        observer.frame(&frame);
        let mut now = BTreeSet::new();
        observer.waiting((i64::MIN, frame.time_ns.unwrap()), |_, _, t| assert!(now.insert(place(t)), "twice: {t:?}"));
        waiting.push(now);
    }
    (waiting, observer.finish().sink)
}

#[test]
fn what_waits_is_what_is_answered_later() {
    for name in ["nfs-ganesha", "smb2-samba"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
        let (waiting, rows) = read(&root.join(name).join("capture.pcap.zst"));
        let mut checked = 0;
        for t in rows.iter().filter(|t| t.counted && !t.long_lived) {
            let (Some(sent), Some(answered)) = (t.frames.request_last, t.frames.response_last) else { continue };
            // Of several packets in one frame the last one counts.
            let (sent, answered) = (u64::from(sent) as usize, u64::from(answered) as usize);
            for (at, now) in waiting.iter().enumerate() {
                let waits = (sent..answered).contains(&at);
                let is_last = ["LOGOFF", "TREE_DISCONNECT"].contains(&t.procedure.row().name);
                assert_eq!(now.contains(&place(t)), waits && !is_last, "{name}, after frame {at}: {t:?}");
            }
            checked += answered - sent;
        }
        assert!(checked > 100, "{name}: {checked}");
    }
}

/// A client that sends three calls, of which the server answers the first.
fn hanging(answers: bool) -> Traffic {
    let mut traffic = Traffic::new(Link::Ethernet);
    traffic.step_ns = 1_000_000;
    let mut tcp = Tcp::between_ports(700, 2049);
    if answers {
        traffic.all(&tcp.handshake());
    }
    for xid in 1..=3 {
        traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::getattr(xid, b"root")));
        if answers && xid == 1 {
            traffic.send(&mut tcp, Side::Server, &rpc::record(&rpc::reply(xid, &rpc::words(&[0]))));
        }
    }
    traffic
}

/// The observer of this traffic, and the time of the last packet, ns.
fn observer_of(traffic: &Traffic) -> (Observer<Vec<Transaction>>, i64) {
    let bytes = traffic.pcap();
    let scratch = plimsoll_testkit::servers::Scratch::new("now");
    let path = scratch.path().join("now.pcap");
    std::fs::write(&path, bytes).unwrap();
    let mut captures = Captures::open(vec![Input::File(path)]).unwrap();
    let mut observer = Observer::new(Vec::new());
    let mut last_ns = 0;
    while let Some(frame) = captures.next().unwrap() {
        let Frame { time_ns, .. } = frame;
        last_ns = time_ns.unwrap();
        observer.frame(&frame);
    }
    (observer, last_ns)
}

/// How many requests wait some time after the last packet, and the age of the unfinished ones at the end if the capture ends then, ns.
fn at_the_end(traffic: &Traffic, later_ns: i64) -> (usize, Vec<u64>) {
    let (mut observer, last_ns) = observer_of(traffic);
    let (now_ns, mut count) = (last_ns + later_ns, 0);
    observer.waiting((i64::MIN, now_ns), |_, _, _| count += 1);
    let unfinished = observer.unfinished(now_ns);
    observer.captured_until(now_ns);
    let Observed { coverage, .. } = observer.finish();
    if count > 0 {
        assert_eq!(unfinished, coverage.unfinished);
    }
    (count, coverage.unfinished.iter().map(|one| one.end_ns.abs_diff(last_ns)).collect())
}

/// A client that reads, and what the server sends then.
fn reading(then: impl Fn(&mut Traffic, &mut Tcp)) -> Traffic {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 445));
    traffic.all(&tcp.handshake());
    traffic.exchange(&mut tcp, &nbss(&smb2::echo(1).bytes()), &nbss(&smb2::echoed(1).bytes()));
    traffic.send(&mut tcp, Side::Client, &nbss(&smb2::read(2, smb2::file(1), 3_000).bytes()));
    then(&mut traffic, &mut tcp);
    traffic
}

#[test]
fn a_request_does_not_wait_whose_response_may_be_lost_or_cannot_be_read() {
    let waits = |then: fn(&mut Traffic, &mut Tcp)| at_the_end(&reading(then), 19_000_000_000).0;
    assert_eq!(waits(|traffic, tcp| traffic.tcp(&tcp.ack(Side::Server))), 1);
    let compressed = |traffic: &mut Traffic, tcp: &mut Tcp| {
        traffic.send(tcp, Side::Server, &nbss(&[&b"\xfcSMB"[..], &[0; 100]].concat()));
    };
    assert_eq!(waits(compressed), 0);
    let lost = |traffic: &mut Traffic, tcp: &mut Tcp| {
        tcp.data(Side::Server, &nbss(&smb2::read_answer(2, &[7; 100]).bytes()));
        traffic.tcp(&tcp.ack(Side::Client));
    };
    assert_eq!(waits(lost), 0, "the client acknowledges what the capture lacks");
}

/// A port is down from 0.5 s to 5.5 s after a READ. A packet of the client passes at 60 s, or none.
#[test]
fn a_request_from_before_a_downtime_may_have_its_response_in_it() {
    const SECOND: i64 = 1_000_000_000;
    let waits_since = |since_s: i64, then: &dyn Fn(&mut Traffic, &mut Tcp)| {
        let traffic = reading(|traffic, tcp| {
            traffic.time_ns += 60 * SECOND;
            then(traffic, tcp);
        });
        let sent_ns =
            traffic.frames.iter().map(|frame| frame.time_ns).filter(|ns| *ns < traffic.time_ns - SECOND).max();
        let (mut observer, mut count) = (observer_of(&traffic).0, 0);
        let times = (sent_ns.unwrap() + since_s * SECOND + SECOND / 2, sent_ns.unwrap() + 75 * SECOND);
        observer.waiting(times, |_, _, _| count += 1);
        count
    };
    assert_eq!(waits_since(-1, &|_, _| ()), 1, "the downtime was before the request");
    assert_eq!(waits_since(5, &|_, _| ()), 0, "the client is idle");
    assert_eq!(waits_since(5, &|traffic, tcp| traffic.tcp(&tcp.ack(Side::Client))), 1, "it received nothing");
    let received = |traffic: &mut Traffic, tcp: &mut Tcp| {
        tcp.data(Side::Server, &nbss(&smb2::read_answer(2, &[7; 100]).bytes()));
        traffic.tcp(&tcp.ack(Side::Client));
    };
    assert_eq!(waits_since(5, &received), 0, "it acknowledges the response");
}

#[test]
fn a_capture_that_goes_on_knows_how_long_requests_waited() {
    assert_eq!(at_the_end(&hanging(true), 19_000_000_000), (2, vec![19_000_000_000]));
    assert_eq!(at_the_end(&hanging(true), 200_000_000_000).0, 0, "a client that is gone");
    assert_eq!(at_the_end(&hanging(false), 19_000_000_000).0, 0, "one direction");
}
