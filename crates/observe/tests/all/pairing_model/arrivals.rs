//! When bytes arrive: late, twice, out of order, or under the ports of a connection before.

use plimsoll_model::{Anomaly, Coverage, Transaction};
use plimsoll_observe::Observer;
use plimsoll_observe::capture::{Captures, Input};
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::{Link, Side, Traffic, rpc};
use proptest::prelude::*;

use crate::conversation::{
    Family, Operation, Sent, config, converse, families, observe, observe_every, observe_traffic, operations,
};

const LATE_NS: i64 = 200_000_000;

/// A read and its answer of 5 segments, or a write of 5 segments and its answer.
fn one(kind: u8) -> Vec<Sent> {
    converse(Family::Smb2, &[Operation { kind, size: 6_000, delay: 0, id: 0, again: None }], false)
}

/// The only transaction of these segments, when the segment at `late` comes after the one at `after`, 200 ms later.
fn resent(mut sent: Vec<Sent>, late: usize, after: usize) -> Transaction {
    let segment = sent.remove(late);
    sent.insert(after, segment);
    let mut traffic = Traffic::new(Link::Ethernet);
    for (at, sent) in sent.iter().enumerate() {
        traffic.time_ns += if at == after { LATE_NS } else { 0 };
        traffic.tcp(&sent.segment);
    }
    let mut all = observe_traffic(&traffic).0;
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// Places of the data segments of one side.
fn data(sent: &[Sent], from: Side) -> Vec<usize> {
    (0..sent.len()).filter(|&at| sent[at].from == from && !sent[at].segment.payload.is_empty()).collect()
}

#[test]
fn a_message_is_complete_when_its_last_byte_arrived() {
    for (kind, from) in [(1, Side::Server), (2, Side::Client)] {
        let sent = one(kind);
        let parts = data(&sent, from);
        let last = *parts.last().expect("a message of several segments");
        assert_eq!(parts.len(), 5);
        for (index, &part) in parts.iter().enumerate() {
            let found = resent(sent.clone(), part, last);
            let (t, frames) = (&found.timeline, &found.frames);
            let (first, end, frame) = match from {
                Side::Server => (t.response_first, t.response_last, frames.response_last),
                Side::Client => (t.request_first, t.request_last, frames.request_last),
            };
            assert_eq!(frame.expect("seen").get(), last as u64 + 1, "{from:?}, segment {index}");
            assert!(first <= end, "{from:?}, segment {index}: first byte after the last");
            let (request, response) = (t.request_first.expect("seen"), t.response_last.expect("seen"));
            assert!(index == 0 && from == Side::Client || response - request > LATE_NS, "{from:?}, segment {index}");
            // The last segment leaves no gap, so nothing shows that it was retransmitted. The other segments cause a wait.
            let wait = if index + 1 == parts.len() { 0 } else { LATE_NS as u64 + 100_000 };
            assert_eq!(found.resent_wait_ns, Some(wait), "{from:?}, segment {index}");
        }
    }
}

#[test]
fn a_message_that_is_all_late_waited_since_the_gap_showed() {
    let read = |id| Operation { kind: 1, size: 100, delay: 5, id, again: None };
    let mut sent = converse(Family::Smb2, &[read(0), read(1)], false);
    let answers = data(&sent, Side::Server);
    sent.swap(answers[0], answers[1]);
    let (mut all, coverage) = observe(&sent, usize::MAX);
    all.sort_by_key(|t| t.id);
    assert_eq!(all.iter().map(|t| t.resent_wait_ns).collect::<Vec<_>>(), [Some(100_000), Some(0)]);
    assert_eq!((coverage.resent.brief_operations, coverage.resent.brief_wait_ns), (1, 100_000));
    assert_eq!((coverage.resent.operations, coverage.resent.unknown), (0, 0));
}

#[test]
fn of_a_request_sent_twice_nobody_knows_which_copy_arrived() {
    let sent = one(1);
    let request = data(&sent, Side::Client)[0];
    let mut twice = sent.clone();
    twice.insert(request + 1, sent[request].clone());
    let (found, coverage) = observe(&twice, usize::MAX);
    assert_eq!((found.len(), found[0].resent_wait_ns, coverage.resent.unknown), (1, None, 1));
    // The retransmission of acknowledged data is unnecessary.
    let mut acknowledged = sent.clone();
    let mut ack = sent[data(&sent, Side::Server)[0]].clone();
    ack.segment.payload.clear();
    acknowledged.splice(request + 1..request + 1, [ack, sent[request].clone()]);
    let (found, _) = observe(&acknowledged, usize::MAX);
    assert_eq!((found.len(), found[0].resent_wait_ns), (1, Some(0)));
}

#[test]
fn a_syn_that_nobody_answers_is_no_connection() {
    let operation = |id| Operation { kind: 1, size: 100, delay: 0, id, again: None };
    let operations: Vec<Operation> = (0..4).map(operation).collect();
    let sent = converse(Family::Smb2, &operations, false);
    for from in [Side::Client, Side::Server] {
        for at in 5..sent.len() {
            // A forged segment; and copies of the sender's last segment with damaged flags, as a broken device makes them: their sequence
            // numbers are the connection's.
            let last = data(&sent[..at], from).into_iter().next_back().unwrap_or(data(&sent, from)[0]);
            let forged = (0x1234_5678, 0x0a);
            for (seq, flags) in [forged, (sent[last].segment.seq, 0x0a), (sent[last].segment.seq, 0x12)] {
                let mut stray = sent[last].clone();
                (stray.segment.seq, stray.segment.flags) = (seq, flags);
                stray.segment.payload.extend([0xc2; 4]);
                let mut with = sent.clone();
                with.insert(at, stray);
                let (found, coverage) = observe(&with, usize::MAX);
                let answered = found.iter().filter(|t| t.connection == 0 && t.timeline.response_last.is_some()).count();
                assert_eq!((found.len(), answered), (4, 4), "a SYN {seq:#x} {flags:#x} from {from:?} at {at}");
                let p = coverage.packets;
                assert_eq!((p.total, p.tcp_data + p.ack_only + p.ack_repeated), (p.tcp, p.tcp));
            }
        }
    }
}

#[test]
fn what_a_reset_carries_is_not_of_the_stream() {
    let read = |id| Operation { kind: 1, size: 100, delay: 0, id, again: None };
    let sent = converse(Family::Smb2, &[read(0), read(1), read(2)], false);
    for from in [Side::Client, Side::Server] {
        let at = data(&sent, from)[1];
        let mut reset = sent[at].clone();
        reset.segment.flags = 0xfc;
        reset.segment.payload.extend([0xc2; 8]);
        for place in [at, at + 1] {
            let mut with = sent.clone();
            with.insert(place, reset.clone());
            let (found, coverage) = observe(&with, usize::MAX);
            let answered = found.iter().filter(|t| t.timeline.response_last.is_some()).count();
            assert_eq!((found.len(), answered), (3, 3), "from {from:?} at {place}: {:?}", coverage.anomalies);
        }
    }
}

#[test]
fn ports_are_used_again() {
    let operation = Operation { kind: 1, size: 100, delay: 0, id: 0, again: None };
    let first = converse(Family::Smb2, std::slice::from_ref(&operation), false);
    // The same ports with other sequence numbers; with and without the server's half of the handshake.
    let mut second = first.clone();
    second.iter_mut().for_each(|sent| {
        let (seq, ack) = (0x2000_0000_u32, 0x3000_0000_u32);
        let (own, other) = if sent.from == Side::Client { (seq, ack) } else { (ack, seq) };
        sent.segment.seq = sent.segment.seq.wrapping_add(own);
        sent.segment.ack = sent.segment.ack.wrapping_add(other);
    });
    for without in [vec![], vec![1], vec![1, 2]] {
        let kept = second.iter().enumerate().filter(|(at, _)| !without.contains(at)).map(|(_, sent)| sent.clone());
        let both: Vec<Sent> = first.iter().cloned().chain(kept).collect();
        let (found, _) = observe(&both, usize::MAX);
        let connections: Vec<u32> = found.iter().map(|t| t.connection).collect();
        assert_eq!(connections, [0, 1], "without {without:?} of the handshake");
        assert!(found.iter().all(|t| t.timeline.response_last.is_some()));
    }
}

/// Two network cards of a tap: the requests get times that are 5 ms late, and so come behind their responses.
#[test]
fn requests_behind_their_responses_are_paired_and_show_two_clocks() {
    const OFFSET_NS: i64 = 5_000_000;
    let read = |id| Operation { kind: 1, size: 100, delay: 0, id, again: None };
    let operations: Vec<Operation> = (0..100).map(read).collect();
    for family in [Family::Smb2, Family::Rpc] {
        let sent = converse(family, &operations, false);
        let mut traffic = Traffic::new(Link::Ethernet);
        sent.iter().for_each(|sent| traffic.tcp(&sent.segment));
        // Its message ids do not begin at 0.
        let (_, plain) = observe_traffic(&traffic);
        for (frame, sent) in traffic.frames.iter_mut().zip(&sent) {
            frame.time_ns += if sent.from == Side::Client { OFFSET_NS } else { 0 };
        }
        traffic.frames.sort_by_key(|frame| frame.time_ns);
        let (found, coverage) = observe_traffic(&traffic);
        let answered = found.iter().filter(|t| t.timeline.response_last.is_some()).count();
        assert_eq!((found.len(), answered), (100, 100), "{family:?}");
        let (unseen, anomalies) = (coverage.unseen, &coverage.anomalies);
        assert_eq!((unseen.paired, unseen.orphans(), unseen.unanswered()), (100, 0, 0), "{family:?} {unseen:?}");
        assert_eq!(unseen.missing.operations, plain.unseen.missing.operations, "{family:?}");
        assert_eq!(anomalies.count(Anomaly::ResponseWithoutRequest), 0, "{family:?}");
        let late = coverage.late_requests;
        assert_eq!((late.count, anomalies.count(Anomaly::NegativeTime)), (100, 100), "{family:?}");
        assert!((4_500_000..=OFFSET_NS as u64).contains(&late.most_ns), "{family:?} {late:?}");
    }
}

/// The transactions of the file, without frame numbers, which differ between files.
fn read(traffic: &Traffic, name: &str) -> (Vec<String>, u64) {
    let scratch = Scratch::new(name);
    let path = scratch.file("arrivals.pcap", traffic.pcap());
    let mut captures = Captures::open(vec![Input::File(path)]).expect("a capture");
    let mut observer = Observer::new(Vec::new());
    while let Some(frame) = captures.next().expect("a sound capture") {
        observer.frame(&frame);
    }
    let observed = observer.finish();
    assert_eq!(observed.coverage.packets.dropped_at_least, 0, "nothing is missing");
    let line = |t: &Transaction| {
        let Transaction { procedure, id, timeline, resent_wait_ns, outcome, .. } = t;
        format!("{} {id:?} {timeline:?} {resent_wait_ns:?} {outcome:?}", procedure.name())
    };
    (observed.sink.iter().map(line).collect(), captures.anomalies().reordered)
}

proptest! {
    #![proptest_config(config(200))]

    /// Packets that are written late, each behind up to 100 later ones, are as good as packets in order.
    #[test]
    fn disorder_in_the_file_changes_nothing(
        family in families(),
        operations in operations(120),
        delays in prop::collection::vec(prop_oneof![2 => Just(0usize), 1 => 0usize..100], 50..400),
    ) {
        let mut traffic = Traffic::new(Link::Ethernet);
        traffic.step_ns = 1_000;
        converse(family, &operations, false).iter().for_each(|sent| traffic.tcp(&sent.segment));
        let (expected, none) = read(&traffic, "sorted");
        prop_assert_eq!(none, 0);
        let mut places: Vec<usize> = (0..traffic.frames.len()).collect();
        places.sort_by_key(|&at| at + delays[at % delays.len()]);
        let moved = places.windows(2).any(|pair| pair[0] > pair[1]);
        traffic.frames = places.into_iter().map(|at| traffic.frames[at].clone()).collect();
        let (found, reordered) = read(&traffic, "shuffled");
        prop_assert_eq!(found, expected);
        prop_assert_eq!(reordered > 0, moved);
    }
}

/// The findings, sorted, without frame numbers and times.
fn found(segments: &[Sent]) -> (Vec<String>, Coverage) {
    let (transactions, coverage) = observe_every(0, segments, usize::MAX);
    let line = |t: &Transaction| {
        let answered = t.timeline.response_last.is_some();
        format!("{} {:?} {:?} {:?} {answered}", t.procedure.name(), t.id, t.outcome, t.resent_wait_ns)
    };
    let mut lines: Vec<String> = transactions.iter().map(line).collect();
    lines.sort();
    (lines, coverage)
}

proptest! {
    #![proptest_config(config(300))]

    /// Packets that all have the same time, each behind up to 60 that were sent later, are as good as packets in order.
    #[test]
    fn disorder_that_no_time_shows_changes_nothing(
        family in families(),
        operations in operations(60),
        delays in prop::collection::vec(prop_oneof![2 => Just(0usize), 1 => 0usize..60], 50..400),
    ) {
        let sent = converse(family, &operations, false);
        let (expected, in_order) = found(&sent);
        let mut places: Vec<usize> = (0..sent.len()).collect();
        // Segments before the handshake seem to belong to another connection.
        places[3..].sort_by_key(|&at| at + delays[at % delays.len()]);
        let shuffled: Vec<Sent> = places.iter().map(|&at| sent[at].clone()).collect();
        let (lines, coverage) = found(&shuffled);
        prop_assert_eq!(lines, expected);
        prop_assert_eq!(coverage.packets.missing_bytes, 0);
        prop_assert_eq!(in_order.anomalies.count(Anomaly::PacketReordered), 0);
    }
}

#[test]
fn a_datagram_waits_for_its_call_at_the_same_time_and_no_longer() {
    let (client, server) = (([10, 0, 0, 1], 700).into(), ([10, 0, 0, 2], 2049).into());
    for (step_ns, answered) in [(0, 3), (1_000, 0)] {
        let mut traffic = Traffic::new(Link::Ethernet);
        traffic.step_ns = step_ns;
        for xid in [7, 8, 9] {
            traffic.udp(server, client, &rpc::reply(xid, &rpc::words(&[2])), None);
            traffic.udp(client, server, &rpc::lookup(xid, &[1; 16], "name"), None);
        }
        traffic.udp(server, client, &rpc::reply(1, &rpc::words(&[2])), None);
        let (found, coverage) = observe_traffic(&traffic);
        let paired = found.iter().filter(|t| t.timeline.response_last.is_some()).count();
        assert_eq!(paired, answered, "every {step_ns} ns");
        // A reply before its call counts as unpaired; over UDP the reason is unknown, but its operation is missing.
        let (unseen, early) = (coverage.unseen, coverage.anomalies.count(Anomaly::NegativeTime));
        assert_eq!((unseen.responses_before_start, unseen.responses_unexplained), (0, 1), "every {step_ns} ns");
        assert_eq!((unseen.missing.operations, unseen.requests_waiting), (1, 0), "every {step_ns} ns");
        assert_eq!((unseen.requests_unexplained, early), (3 - answered as u64, 3 - answered as u64));
        assert_eq!((coverage.packets.commands, coverage.packets.command_first), (3, 3));
    }
}
