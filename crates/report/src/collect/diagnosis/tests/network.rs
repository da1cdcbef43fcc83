//! The network, and delays that all requests have.

use super::built::{MS, Says, Traffic, open, read};
use crate::findings::Rule;
use plimsoll_model::{ClientPath, MostResent, Procedure, Protocol};

const DATA: &str = r"\\server1\data";
const NETWORK: [Rule; 5] =
    [Rule::ZeroWindow, Rule::DelayedAcknowledgement, Rule::RoundTrip, Rule::FixedDelay, Rule::LeaseBreaks];

/// 300 reads, opens and closes that take at least `least_ns`.
pub(super) fn traffic(least_ns: i64) -> Traffic {
    let mut traffic = Traffic::new();
    for i in 0..300i64 {
        let procedure = [read(), open(), Procedure::of(Protocol::Smb2, 6)][i as usize % 3];
        traffic.request(procedure, (i % 3) as u8, DATA, "f", least_ns + (i * 37 % 11) * least_ns / 50);
    }
    traffic
}

/// The same, with a different time for each operation.
pub(super) fn varied() -> Traffic {
    let mut traffic = Traffic::new();
    let procedures = [(read(), 30), (open(), 4), (Procedure::of(Protocol::Smb2, 6), 10)];
    (0..300).for_each(|i| traffic.request(procedures[i % 3].0, (i % 3) as u8, DATA, "f", procedures[i % 3].1 * MS));
    traffic
}

#[test]
fn a_network_without_fault_is_not_blamed() {
    let mut healthy = traffic(MS / 5);
    let network = &mut healthy.coverage.network;
    (network.handshakes, network.to_server_ns, network.to_client_ns) = (3, Some(100_000), Some(20_000));
    (network.zero_windows, network.zero_window_ns) = ([0, 2], [0, 1_000_000]);
    (network.delayed_acks, network.delayed_ack_ns) = ([0, 1], [0, 40_000_000]);
    assert!(!healthy.rules().iter().any(|rule| NETWORK.contains(rule)), "{:#?}", healthy.diagnosis());
}

#[test]
fn windows_and_acknowledgements_are_said_with_who_waits_for_whom() {
    let mut slow = varied();
    (slow.coverage.network.delayed_acks, slow.coverage.network.delayed_ack_ns) = ([0, 90], [0, 3_600_000_000]);
    slow.first(Rule::DelayedAcknowledgement).begins(
        "The last segment of responses waited 90 times for a delayed acknowledgement, 40.0 ms each time on average: in total 8",
    );
    let mut full = varied();
    (full.coverage.network.zero_windows, full.coverage.network.zero_window_ns) = ([50, 0], [2_000_000_000, 0]);
    full.first(Rule::ZeroWindow)
        .begins("The server reads too slowly: a TCP receive window of 0 stopped clients 50 times, for at least 2.00 s");
}

#[test]
fn a_window_that_is_closed_for_seconds_need_not_be_often() {
    let closed = |times: u64, closed_ns: u64| {
        let mut traffic = varied();
        (traffic.coverage.network.zero_windows, traffic.coverage.network.zero_window_ns) = ([0, times], [0, closed_ns]);
        traffic.coverage.network.slow_reader = Some(([10, 0, 0, 2].into(), closed_ns));
        traffic
    };
    assert!(closed(2, 3_000_000_000).first(Rule::ZeroWindow).starts_with(
        "Client 10.0.0.2 reads too slowly: a TCP receive window of 0 stopped the server 2 times, for at least 3.00 s in all, which is 6"
    ));
    closed(1, 9_000_000_000)
        .first(Rule::ZeroWindow)
        .has("for at least 9.00 s in all, which is longer than all response times together (4.");
    assert!(!closed(1, 100_000_000).rules().contains(&Rule::ZeroWindow), "0.1 s of 4 s");
    assert!(!closed(4, 600_000_000).rules().contains(&Rule::ZeroWindow), "seldom and soon opened");
}

#[test]
fn the_round_trip_is_said_where_it_is_most_of_the_waiting() {
    let mut far = traffic(20 * MS);
    (far.coverage.network.handshakes, far.coverage.network.to_server_ns) = (2, Some(18_000_000));
    let text = far.first(Rule::RoundTrip);
    text.begins(
        "The network round trip from the capture point to the server takes 18.0 ms (measured in 2 handshakes). Round trips account for \
            at least 8",
    );
    text.has("each of the 300 requests waits for one round trip. Clients send the requests one at a time: with");
    assert!(!far.rules().contains(&Rule::FixedDelay), "it is explained");
    let mut beyond = spaced(16 * MS);
    (beyond.coverage.network.to_server_ns, beyond.coverage.network.to_client_ns) = (Some(20_000), Some(15_000_000));
    beyond.first(Rule::RoundTrip).begins("Clients wait longer than the response times show");
}

/// 300 reads of 0.2 ms by one client, one per `every_ns`.
fn spaced(every_ns: i64) -> Traffic {
    let mut traffic = Traffic::new();
    for _ in 0..300 {
        traffic.changed(read(), 1, DATA, "f", every_ns, |t| {
            let began = t.timeline.response_last.map(|end| end - MS / 5);
            (t.timeline.request_first, t.timeline.request_last) = (began, began);
        });
    }
    traffic
}

#[test]
fn a_round_trip_is_no_fault_of_who_is_near_rests_or_asks_for_much_at_once() {
    let mut near = traffic(5 * MS);
    near.coverage.network.to_server_ns = Some(4_500_000);
    assert!(!near.rules().contains(&Rule::RoundTrip), "4.5 ms are nothing to mend");
    let mut rests = spaced(200 * MS);
    (rests.coverage.network.to_server_ns, rests.coverage.network.to_client_ns) = (Some(20_000), Some(15_000_000));
    assert!(!rests.rules().contains(&Rule::RoundTrip), "{:#?}", rests.diagnosis());
    let mut many = Traffic::new();
    for _ in 0..300 {
        many.changed(read(), 1, DATA, "f", MS, |t| {
            let began = t.timeline.response_last.map(|end| end - 20 * MS);
            (t.timeline.request_first, t.timeline.request_last) = (began, began);
        });
    }
    many.coverage.network.to_server_ns = Some(18_000_000);
    assert!(!many.rules().contains(&Rule::RoundTrip), "20 at once share a round trip");
    let mut path = plimsoll_model::ClientPath::new([10, 0, 0, 1].into());
    path.connections = 20;
    many.coverage.client_paths = vec![path];
    assert!(many.rules().contains(&Rule::RoundTrip), "one on each connection: {:#?}", many.diagnosis());
}

#[test]
fn the_client_that_reads_slowly_is_named() {
    let mut slow = varied();
    let network = &mut slow.coverage.network;
    (network.zero_windows, network.zero_window_ns) = ([0, 70], [0, 1_500_000_000]);
    network.slow_reader = Some(([10, 0, 0, 2].into(), 1_450_000_000));
    slow.first(Rule::ZeroWindow)
        .begins("Client 10.0.0.2 reads too slowly: a TCP receive window of 0 stopped the server 70");
    slow.coverage.network.slow_reader = Some(([10, 0, 0, 2].into(), 600_000_000));
    slow.first(Rule::ZeroWindow).has(" Client 10.0.0.2 caused 40 % of this time.");
    // A window explains the one long read that it is part of.
    slow.request(read(), 2, DATA, "film", 8_000 * MS);
    slow.first(Rule::ZeroWindow);
    assert!(slow.rules().contains(&Rule::FewSlowRequests));
}

/// Reads of three clients, of which the second takes long.
fn slow_second() -> Traffic {
    let mut traffic = Traffic::new();
    for i in 0..600 {
        let client = (i % 3) as u8;
        traffic.request(read(), client, DATA, &format!("f{client}"), if client == 2 { 30 * MS } else { MS });
    }
    traffic
}

#[test]
fn a_client_that_reads_slowly_most_of_the_time_is_the_cause_of_its_waiting() {
    let mut traffic = slow_second();
    traffic.first(Rule::SlowClient);
    let network = &mut traffic.coverage.network;
    (network.zero_windows, network.zero_window_ns) = ([0, 70], [0, 4_000_000_000]);
    network.slow_reader = Some(([10, 0, 0, 2].into(), 4_000_000_000));
    traffic.named_first(Rule::ZeroWindow).ends("All requests of this client account for 94 % of all time waited.");
    let rules = traffic.rules();
    assert!(!rules.contains(&Rule::SlowClient) && !rules.contains(&Rule::SlowPath), "{rules:?}");
    // A third of the time: the server may be slow for this client as well.
    traffic.coverage.network.zero_window_ns = [0, 2_000_000_000];
    traffic.coverage.network.slow_reader = Some(([10, 0, 0, 2].into(), 2_000_000_000));
    assert!(traffic.rules().contains(&Rule::SlowClient), "{:#?}", traffic.diagnosis());
}

#[test]
fn what_delays_each_request_alike_is_no_work() {
    let mut delayed = traffic(20 * MS);
    delayed.coverage.network.to_server_ns = Some(200_000);
    let text = delayed.first(Rule::FixedDelay);
    text.begins(
        "Each request is delayed by 20.0 ms: for each of 3 operations, even the fastest request took at least this \
             long, although",
    );
    let mixed = varied();
    assert!(!mixed.rules().contains(&Rule::FixedDelay), "operations differ");
}

#[test]
fn with_a_filter_nothing_is_said_of_all_traffic() {
    let mut far = traffic(20 * MS);
    far.coverage.network.to_server_ns = Some(18_000_000);
    far.filters = vec!["--operation read".to_owned()];
    assert!(!far.rules().iter().any(|rule| NETWORK.contains(rule)));
}

#[test]
fn segments_lost_behind_the_capture_are_said() {
    let mut lossy = varied();
    lossy.coverage.packets.tcp_data = 8_000;
    lossy.coverage.packets.retransmitted = 130;
    let network = &mut lossy.coverage.network;
    (network.data_segments, network.resent_segments) = ([3_000, 5_000], [6, 100]);
    network.resent_wait_ns = [50_000_000, 2_200_000_000];
    network.most_resent = MostResent::of([10, 0, 0, 2].into(), 90);
    let text = lossy.first(Rule::Retransmission);
    text.begins(
        "TCP retransmitted 100 segments of responses (2.0 %): packets were lost after the capture point. Most of these segments belong \
             to client 10.0.0.2. The delays between the original segments and their retransmissions add up to at least 2.20 s, which is 50 % \
             of all time waited.",
    );
    lossy.coverage.network.resent_wait_ns = [0, 100_000_000];
    assert!(!lossy.rules().contains(&Rule::Retransmission), "nobody waited long");
    lossy.coverage.network.resent_wait_ns = [0, 2_200_000_000];
    lossy.coverage.packets.retransmitted = 4_000;
    assert!(!lossy.rules().contains(&Rule::Retransmission), "each packet may be there twice");
    lossy.coverage.packets.retransmitted = 130;
    lossy.coverage.network.data_segments = [3_000, 50_000];
    assert!(!lossy.rules().contains(&Rule::Retransmission), "1 in 500");
    let mut path = ClientPath::new([10, 0, 0, 2].into());
    (path.data_segments, path.resent_segments) = ([1_000, 5_000], [0, 90]);
    lossy.coverage.client_paths = vec![ClientPath::new([10, 0, 0, 1].into()), path];
    lossy
        .first(Rule::Retransmission)
        .has("Most of these segments belong to client 10.0.0.2 (1.5 % of the segments on its connections).");
    path.reordered_segments = [12, 0];
    lossy.coverage.client_paths[1] = path;
    let text = lossy.first(Rule::Retransmission);
    text.begins(
        "Packets on the path of client 10.0.0.2 arrive out of order: 12 captured segments came after segments that were sent \
             later, and too soon for retransmissions. TCP assumes that such segments are lost: it retransmitted 100 segments of responses (0.2 %). Check whether",
    );
    lossy.coverage.packets.out_of_order = 25;
    let text = lossy.first(Rule::Retransmission);
    assert!(
        text.starts_with("TCP retransmitted 100 segments of responses (0.2 %): packets were lost"),
        "most came late enough: {text}"
    );
    path.data_segments[1] = 10_000;
    lossy.coverage.client_paths[1] = path;
    assert!(!lossy.rules().contains(&Rule::Retransmission), "1 in 111 of its own");
}

#[test]
fn losses_come_before_the_client_that_waits_for_transfers_because_of_them() {
    let mut traffic = Traffic::new();
    for i in 0..400 {
        let client = (i % 4) as u8;
        traffic.changed(read(), client, DATA, &format!("f{}", i % 50), if client == 2 { 30 * MS } else { MS }, |t| {
            t.timeline.response_first = t.timeline.request_last.map(|ns| ns + MS / 2);
        });
    }
    traffic.first(Rule::SlowClient);
    let network = &mut traffic.coverage.network;
    (network.data_segments, network.resent_segments) = ([3_000, 5_000], [6, 100]);
    network.resent_wait_ns = [0, 700_000_000];
    network.most_resent = MostResent::of([10, 0, 0, 2].into(), 90);
    assert_eq!(traffic.rules()[..2], [Rule::Retransmission, Rule::SlowClient], "{:#?}", traffic.diagnosis());
    traffic.coverage.network.most_resent = MostResent::of([10, 0, 0, 1].into(), 90);
    assert_eq!(traffic.rules()[0], Rule::SlowClient, "another client's");
}

#[test]
fn credits_come_instead_of_the_round_trip_that_they_make_count() {
    let mut far = traffic(20 * MS);
    (far.coverage.network.handshakes, far.coverage.network.to_server_ns) = (2, Some(18_000_000));
    let credits = &mut far.coverage.credits;
    (credits.waits, credits.wait_ns, credits.busy_ns) = (100, 4_000_000_000, 5_000_000_000);
    credits.requests_ns = 20_000_000_000;
    far.first(Rule::CreditsExhausted).has("The affected connections lacked credits for 80 % of the time in which");
    assert!(!far.rules().contains(&Rule::RoundTrip));
    far.coverage.credits.requests_ns = 10_000_000;
    let rules = far.rules();
    let place = |rule| rules.iter().position(|one| *one == rule);
    assert!(place(Rule::RoundTrip) < place(Rule::CreditsExhausted), "{rules:?}: connections with few requests");
    far.coverage.credits.wait_ns = 10_000_000;
    far.coverage.credits.busy_ns = 20_000_000;
    assert!(far.first(Rule::RoundTrip).starts_with("The network round trip"), "of little of the waiting");
}

#[test]
fn what_most_round_trips_are_for_is_said() {
    let mut far = Traffic::new();
    let list = Procedure::of(Protocol::Smb2, 14);
    (0..300).for_each(|i| far.request(list, 1, DATA, if i % 10 == 0 { "other" } else { "queue" }, 20 * MS));
    (0..100).for_each(|i| far.request(read(), 1, DATA, &format!("f{i}"), 20 * MS));
    (far.coverage.network.handshakes, far.coverage.network.to_server_ns) = (2, Some(18_000_000));
    far.first(Rule::RoundTrip)
        .has(r" Of these requests, 75 % are for the operation list, most of them for queue on share \\server1\data.");
    // Of many operations and files none is most.
    let mut mixed = traffic(20 * MS);
    mixed.coverage.network.to_server_ns = Some(18_000_000);
    assert!(!mixed.first(Rule::RoundTrip).contains("are for the operation"));
}

#[test]
fn a_small_window_is_said_with_the_client_and_what_it_allows() {
    let small = |waits: u64| {
        let mut traffic = varied();
        let client = [10, 0, 0, 2].into();
        let network = &mut traffic.coverage.network;
        (network.small_windows, network.small_window_ns) = ([0, waits], [0, waits * 40_000_000]);
        network.smallest_window =
            [None, Some(plimsoll_model::SmallWindow { client, waits, wait_ns: waits * 40_000_000, bytes: 5_840 })];
        traffic
    };
    let text = small(50).first(Rule::SmallWindow);
    text.begins(
        "The TCP receive windows of clients are too small: the server filled them 50 times and waited 2.00 s in all",
    );
    text.has("For client 10.0.0.2, a window of 5.84 kB and a mean wait of 40.0 ms allow at most 146 kB/s.");
    assert!(!small(4).rules().contains(&Rule::SmallWindow), "4 times");
    let mut full = small(50);
    let mut path = plimsoll_model::ClientPath::new([10, 0, 0, 2].into());
    (path.round_trips[0].least_ns, path.round_trips[1].least_ns) = (Some(100_000), Some(30_000_000));
    full.coverage.client_paths = vec![path];
    full.first(Rule::SmallWindow);
    full.coverage.client_paths[0].round_trips[1].least_ns = Some(200_000);
    let text = full.first(Rule::SmallWindow);
    text.begins(
        "The server filled the TCP receive window of client 10.0.0.2 (5.84 kB) 50 times, but the client never announced a window of 0.",
    );
    text.has(
        "Each stop lasted 40.0 ms on average, but a round trip takes only 300 µs: the client reads too slowly, or",
    );
    let mut closed = small(50);
    (closed.coverage.network.zero_windows, closed.coverage.network.zero_window_ns) = ([0, 50], [0, 2_000_000_000]);
    assert!(!closed.rules().contains(&Rule::SmallWindow), "the client reads slowly");
}

#[test]
fn a_slow_time_that_the_network_explains_is_not_said_again() {
    let mut traffic = Traffic::new();
    for i in 0..300 {
        traffic.request(read(), 1, DATA, "f", if i < 150 { MS } else { 40 * MS });
    }
    assert!(traffic.rules().contains(&Rule::SlowInterval), "{:#?}", traffic.diagnosis());
    let network = &mut traffic.coverage.network;
    (network.delayed_acks, network.delayed_ack_ns) = ([0, 130], [0, 5_200_000_000]);
    traffic.first(Rule::DelayedAcknowledgement);
    assert!(!traffic.rules().contains(&Rule::SlowInterval), "{:#?}", traffic.diagnosis());
    (traffic.coverage.network.delayed_acks, traffic.coverage.network.delayed_ack_ns) = ([0, 12], [0, 480_000_000]);
    assert!(traffic.rules().contains(&Rule::SlowInterval), "it explains a twelfth");
}
