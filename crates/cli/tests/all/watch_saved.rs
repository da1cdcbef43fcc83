//! A watch of saved packets: it shows in which seconds the interface was down.

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::{Link, Side, Tcp, Traffic, rpc};

use crate::plimsoll;

const START_NS: i64 = 1_000_000_000_000_000_000;

/// Consecutive GETATTRs, eight per second, with a pause of 20 s after the first half.
fn traffic() -> (Traffic, usize) {
    let mut traffic = Traffic::new(Link::Ethernet);
    traffic.step_ns = 62_500_000;
    let mut tcp = Tcp::between_ports(700, 2049);
    traffic.all(&tcp.handshake());
    let mut half = 0;
    for xid in 1..=48 {
        if xid == 25 {
            half = traffic.frames.len();
            traffic.time_ns += 20_000_000_000;
        }
        traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::getattr(xid, b"root")));
        traffic.send(&mut tcp, Side::Server, &rpc::record(&rpc::reply(xid, &rpc::words(&[0]))));
    }
    (traffic, half)
}

fn block(out: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let body = [body, &[0; 3][..body.len().next_multiple_of(4) - body.len()]].concat();
    let total = (12 + body.len() as u32).to_le_bytes();
    [&kind.to_le_bytes()[..], &total, &body, &total].into_iter().for_each(|piece| out.extend_from_slice(piece));
}

/// Interface statistics with one option: 2 is a start of the capture, 3 an end.
fn moment(out: &mut Vec<u8>, code: u16, ns: i64) {
    let ticks = ns.unsigned_abs().rotate_left(32).to_le_bytes();
    let option = [code.to_le_bytes(), 8_u16.to_le_bytes()].concat();
    block(out, 5, &[&[0; 4][..], &ticks, &option, &ticks, &[0; 4]].concat());
}

/// As `--save` stores them, with the times at which the interface went down, and was up again.
fn pcapng(times: Option<(i64, i64)>) -> Vec<u8> {
    let (traffic, half) = traffic();
    let mut out = Vec::new();
    block(&mut out, 0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
    // Ethernet, with times in nanoseconds.
    block(&mut out, 1, &[1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    for (number, frame) in traffic.frames.iter().enumerate() {
        if let Some((down_ns, up_ns)) = times.filter(|_| number == half) {
            moment(&mut out, 3, down_ns);
            moment(&mut out, 2, up_ns);
        }
        let ticks = frame.time_ns.unsigned_abs().rotate_left(32).to_le_bytes();
        let lengths = [frame.bytes.len() as u32, frame.original_len].map(u32::to_le_bytes).concat();
        block(&mut out, 6, &[&[0; 4][..], &ticks, &lengths, &frame.bytes].concat());
    }
    out
}

/// The lines of a watch of this capture.
fn lines(capture: &[u8]) -> Vec<String> {
    let scratch = Scratch::new("watch-saved");
    let file = scratch.path().join("saved.pcapng");
    std::fs::write(&file, capture).unwrap();
    let ended = output(plimsoll().args(["watch", "--lines", "--utc", "--json", "-"]).arg(&file));
    assert!(ended.status.success(), "{ended:?}");
    let said = String::from_utf8(ended.stderr).unwrap();
    said.lines().filter(|line| line.contains(" op/s")).map(str::to_owned).collect()
}

#[test]
fn the_seconds_in_which_the_interface_was_down_are_marked() {
    let marked = |line: &String| line.contains("INCOMPLETE: the interface was down");
    let quiet = |line: &String| line.contains("  0 op/s");
    let silent = lines(&pcapng(None));
    assert_eq!((silent.iter().filter(|line| quiet(line)).count(), silent.iter().find(|line| marked(line))), (19, None));
    // From 3.3 s to 23.1 s.
    let down = lines(&pcapng(Some((START_NS + 3_300_000_000, START_NS + 23_100_000_000))));
    assert_eq!(down.len(), silent.len());
    let marks: Vec<bool> = down.iter().map(marked).collect();
    let expected: Vec<bool> = (0..down.len()).map(|second| (3..=23).contains(&second)).collect();
    assert_eq!(marks, expected, "{down:#?}");
}
