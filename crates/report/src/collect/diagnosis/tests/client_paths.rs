//! A client that is far away, or behind a narrow path.

use std::net::IpAddr;

use plimsoll_model::{ClientPath, Pace, Stuck, Transaction};

use super::built::{MS, Says, Traffic, open, read};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";

/// The path to client 10.0.0.N, by its round trip from the capture.
fn path(client: u8, to_client_ns: u64) -> ClientPath {
    let mut path = ClientPath::new(IpAddr::from([10, 0, 0, client]));
    (path.connections, path.handshakes) = (1, 1);
    (path.round_trips[0].least_ns, path.round_trips[1].least_ns) = (Some(20_000), Some(to_client_ns));
    path
}

/// 50 requests of each of clients 1 to 3, one per `every_ns`; client 2 is `to_client_ns` away.
fn with_far_client(to_client_ns: u64, every_ns: i64) -> Traffic {
    let mut traffic = Traffic::new();
    for i in 0..150 {
        let shorter = |t: &mut Transaction| {
            let began = t.timeline.response_last.map(|end| end - MS / 5);
            (t.timeline.request_first, t.timeline.request_last) = (began, began);
        };
        traffic.changed(open(), 1 + (i % 3) as u8, DATA, "f", every_ns / 3, shorter);
    }
    traffic.coverage.client_paths = vec![path(1, 100_000), path(2, to_client_ns), path(3, 200_000)];
    traffic
}

#[test]
fn a_client_that_asks_for_little_again_and_again_is_far_at_a_shorter_distance() {
    let near = |bytes: u64| {
        let mut traffic = Traffic::new();
        for i in 0..450 {
            let small = |t: &mut Transaction| t.payload_bytes = Some(bytes);
            traffic.changed(read(), 1 + (i % 3) as u8, DATA, "f", MS / 5, small);
            traffic.pause(MS * 3 / 2);
        }
        traffic.coverage.client_paths = vec![path(1, 100_000), path(2, 4_000_000), path(3, 200_000)];
        traffic
    };
    let text = near(512).first(Rule::FarClient);
    text.has("its shortest round trip to the capture point takes 4.00 ms");
    text.has("100 % are reads of 512 B");
    assert!(!near(65_536).rules().contains(&Rule::FarClient), "large reads");
}

#[test]
fn a_client_that_is_far_away_is_named_with_both_round_trips() {
    let text = with_far_client(90_000_000, 150 * MS).first(Rule::FarClient);
    text.begins(
        "Client 10.0.0.2 is far away: its shortest round trip to the capture point takes 90.0 ms. For the 2 other clients, the median is 200 µs.",
    );
    text.has("Round trips delayed its 50 requests by about 4.50 s in all: 6");
}

#[test]
fn a_client_is_not_far_that_is_near_rests_or_has_no_other_beside_it() {
    let near = with_far_client(4_500_000, 10 * MS);
    assert!(!near.rules().contains(&Rule::FarClient), "4.5 ms");
    let rests = with_far_client(90_000_000, 900 * MS);
    assert!(!rests.rules().contains(&Rule::FarClient), "a tenth of its time");
    let mut alike = with_far_client(90_000_000, 150 * MS);
    alike.coverage.client_paths = vec![path(1, 60_000_000), path(2, 90_000_000), path(3, 70_000_000)];
    assert!(!alike.rules().contains(&Rule::FarClient), "all are");
    alike.coverage.client_paths = vec![path(2, 90_000_000)];
    assert!(!alike.rules().contains(&Rule::FarClient), "compared with whom?");
    let mut filtered = with_far_client(90_000_000, 150 * MS);
    filtered.filters = vec!["--operation open".to_owned()];
    assert!(!filtered.rules().contains(&Rule::FarClient));
}

#[test]
fn a_far_client_that_could_ask_for_less_is_told_so() {
    let far = |status: u32| {
        let mut traffic = with_far_client(90_000_000, 150 * MS);
        for _ in 0..60 {
            traffic.changed(open(), 2, DATA, "plugin.dll", 90 * MS, |t| {
                (t.status, t.outcome) = (Some(status), plimsoll_model::Outcome::of_status(t.procedure, status));
                t.timeline.request_first = t.timeline.response_last.map(|end| end - MS / 5);
                t.timeline.request_last = t.timeline.request_first;
            });
        }
        traffic.first(Rule::FarClient)
    };
    far(0xC000_0034).has(" Of its requests, 55 % are for names that do not exist.");
    assert!(!far(0).contains("Of its requests"), "{}", far(0));
    far_with_reads(512, 60).has(" Of its requests, 55 % are reads of 512 B on average.");
}

/// The sentence about a far client that opens 50 files and reads from one of them.
fn far_with_reads(bytes: u64, reads: usize) -> String {
    let mut traffic = with_far_client(90_000_000, 150 * MS);
    for _ in 0..reads {
        traffic.changed(read(), 2, DATA, "log", 90 * MS, |t| {
            t.payload_bytes = Some(bytes);
            t.timeline.request_first = t.timeline.response_last.map(|end| end - MS / 5);
            t.timeline.request_last = t.timeline.request_first;
        });
    }
    traffic.first(Rule::FarClient)
}

#[test]
fn larger_or_fewer_reads_of_a_far_client_are_not_named() {
    assert!(far_with_reads(4_096, 60).contains("are reads of 4.10 kB on average."), "{}", far_with_reads(4_096, 60));
    for (bytes, reads) in [(4_097, 60), (512, 49)] {
        let text = far_with_reads(bytes, reads);
        assert!(!text.contains("Of its requests"), "{reads} reads of {bytes} bytes: {text}");
    }
}

/// 40 reads of each of two clients, those of client 2 with 490 ms of receiving; `part` is the pace of its data.
fn with_narrow_path(part: impl Fn(u64) -> (u64, u64), on_the_way: bool) -> Traffic {
    with_narrow_path_after(10, part, on_the_way)
}

/// The same, where receiving begins after `service_ms` of the 500 ms.
fn with_narrow_path_after(service_ms: i64, part: impl Fn(u64) -> (u64, u64), on_the_way: bool) -> Traffic {
    let mut traffic = Traffic::new();
    for _ in 0..40 {
        traffic.request(read(), 1, DATA, "f", MS);
        traffic.changed(read(), 2, DATA, "f", 500 * MS, |t| {
            t.timeline.response_first = t.timeline.request_first.map(|began| began + service_ms * MS);
        });
    }
    let mut narrow = path(2, 10_000_000);
    narrow.round_trips[1].median_ns = Some(120_000_000);
    let mut pace = Pace::default();
    for i in 0..400 {
        let (bytes, ns) = part(i);
        pace.add_part(bytes, ns, on_the_way);
    }
    narrow.paces[1] = pace;
    narrow.data_segments = [40, 1_000];
    traffic.coverage.client_paths = vec![path(1, 100_000), narrow];
    traffic
}

#[test]
fn a_narrow_path_is_said_with_its_rate() {
    // 5,000 bytes in 40 ms: 1 Mbit/s.
    let even = |_| (5_000, 40_000_000);
    let text = with_narrow_path(even, true).first(Rule::NarrowPath);
    text.begins("Data move slowly to client 10.0.0.2 (1.0 Mbit/s): large messages arrive at a low, even");
    text.has("Receiving responses took 16.0 s: 8");
    text.ends("The network path is the bottleneck.");
    with_narrow_path(even, false).first(Rule::NarrowPath).ends("The bottleneck is the network path or the server.");
}

/// Of 16 s on the path, 12 s are in response times, which are 20 s together.
#[test]
fn time_behind_the_capture_point_is_no_time_waited() {
    let statements = with_narrow_path_after(200, |_| (5_000, 40_000_000), true).diagnosis().statements;
    let narrow = statements.iter().find(|statement| statement.rule == Rule::NarrowPath).unwrap();
    assert!(
        narrow.text.ends_with(
            "Receiving responses took 12.0 s: 60 % of all time waited. Data were on the path for another 4.00 s, behind the capture point. \
             The network path is the bottleneck."
        ),
        "{}",
        narrow.text
    );
    assert!(narrow.share.is_some_and(|share| (0.59..0.61).contains(&share)), "{narrow:?}");
}

/// The capture has responses of 100 ms, and the path behind it passes data at 1 Mbit/s for 16 s.
fn with_path_behind_the_capture(median_ns: u64) -> Traffic {
    let mut traffic = Traffic::new();
    for i in 0..80u8 {
        traffic.changed(read(), 1 + i % 2, DATA, "f", 250 * MS, |t| {
            let began = t.timeline.response_last.map(|end| end - 10 * MS);
            (t.timeline.request_first, t.timeline.request_last) = (began, began);
        });
    }
    let mut narrow = path(2, 10_000_000);
    narrow.round_trips[1].median_ns = Some(median_ns);
    (0..400).for_each(|_| narrow.paces[1].add_part(5_000, 40_000_000, true));
    narrow.data_segments = [40, 1_000];
    traffic.coverage.client_paths = vec![path(1, 100_000), narrow];
    traffic
}

#[test]
fn a_narrow_path_behind_the_capture_is_in_no_response_time() {
    let text = with_path_behind_the_capture(120_000_000).first(Rule::NarrowPath);
    text.begins(
        "Data move slowly from the capture point to client 10.0.0.2 (1.0 Mbit/s): they arrive at an even rate, and acknowledgements \
            come late. Client 10.0.0.2 took 120 ms (median) to acknowledge data; its shortest time was 10.0 ms. Data were on this network path for 16.0 s in all. Response times are measured at the capture point, so they include only 0 s of this time.",
    );
    let quick = with_path_behind_the_capture(12_000_000);
    assert!(!quick.rules().contains(&Rule::NarrowPath), "no data wait: {:#?}", quick.diagnosis());
}

#[test]
fn a_path_is_not_narrow_that_is_uneven_quick_lossy_or_waits_for_a_window() {
    let is_narrow = |traffic: &Traffic| traffic.rules().contains(&Rule::NarrowPath);
    assert!(!is_narrow(&with_narrow_path(|i| (if i % 2 == 0 { 2_000 } else { 32_000 }, 40_000_000), true)), "bursts");
    assert!(!is_narrow(&with_narrow_path(|_| (20_000, 1_000_000), true)), "160 Mbit/s");
    let even = |_| (5_000, 40_000_000);
    let mut lossy = with_narrow_path(even, true);
    lossy.coverage.client_paths[1].resent_segments = [0, 80];
    assert!(!is_narrow(&lossy), "8 % are sent again");
    let mut closed = with_narrow_path(even, true);
    closed.coverage.client_paths[1].zero_window_ns = [0, 15_000_000_000];
    assert!(!is_narrow(&closed), "the client reads slowly");
    let mut short = with_narrow_path(even, true);
    short.coverage.client_paths[1].paces[1] = Pace::default();
    (0..19).for_each(|_| short.coverage.client_paths[1].paces[1].add_part(5_000, 400_000_000, true));
    assert!(!is_narrow(&short), "19 parts");
}

/// Three clients; to client 2 segments of 1,448 bytes were stuck for `stuck_ns`, while its largest acknowledged segment has
/// `largest_acknowledged` bytes.
fn with_black_hole(stuck_ns: u64, largest_acknowledged: u32) -> Traffic {
    let mut traffic = with_far_client(100_000, 10 * MS);
    let path = &mut traffic.coverage.client_paths[1];
    path.stuck[1] = Stuck { segments: 2, copies: 7, ns: stuck_ns, bytes: 1_448 };
    path.largest_acknowledged = [900, largest_acknowledged];
    traffic
}

#[test]
fn a_path_that_drops_large_packets_is_named() {
    let text = with_black_hole(25_000_000_000, 610).first(Rule::BlackHole);
    text.begins(
        "The path to client 10.0.0.2 drops large packets: TCP sent 2 segments (1.45 kB or larger) up to 7 times, but \
            received no acknowledgement for them. The client acknowledged only segments of up to 610 B.",
    );
    assert!(!with_black_hole(25_000_000_000, 1_448).rules().contains(&Rule::BlackHole), "others of this size arrived");
    assert!(!with_black_hole(25_000_000_000, 0).rules().contains(&Rule::BlackHole), "nothing arrived");
    assert!(!with_black_hole(20_000_000, 610).rules().contains(&Rule::BlackHole), "20 ms");
}

#[test]
fn a_path_that_drops_large_packets_from_an_instant_on_is_named() {
    let mut traffic = with_black_hole(25_000_000_000, 1_448);
    traffic.coverage.client_paths[1].largest_since_stuck[1] = 610;
    traffic.first(Rule::BlackHole).has("The client acknowledged only segments of up to 610 B from then on.");
    traffic.coverage.client_paths[1].largest_since_stuck[1] = 1_448;
    assert!(!traffic.rules().contains(&Rule::BlackHole), "others of this size still arrive");
}

#[test]
fn clients_of_a_network_that_is_far_away_are_named_together() {
    let mut traffic = Traffic::new();
    for i in 0..300 {
        let shorter = |t: &mut Transaction| {
            let began = t.timeline.response_last.map(|end| end - MS / 5);
            (t.timeline.request_first, t.timeline.request_last) = (began, began);
            if i % 6 > 2 {
                t.client.ip = [10, 0, 9, (i % 6) as u8].into();
            }
        };
        traffic.changed(open(), (i % 6) as u8, DATA, "f", 25 * MS, shorter);
    }
    let far = |at: u8, ns| ClientPath { client: [10, 0, 9, at].into(), ..path(at, ns) };
    let near = [path(0, 100_000), path(1, 900_000), path(2, 200_000)];
    traffic.coverage.client_paths =
        near.into_iter().chain([far(3, 70_000_000), far(4, 90_000_000), far(5, 80_000_000)]).collect();
    traffic.first(Rule::FarClient).begins(
        "The 3 clients of network 10.0.9.0/24 are far away: their shortest round trips to the capture point take 70.0 ms to 90.0 ms. For the 3 other clients, these times are at most 900 µs. Round trips delayed the 150 requests of the far clients by about 12.0 s in all.",
    );
    traffic.coverage.client_paths.iter_mut().for_each(|path| path.round_trips[1].least_ns = Some(80_000_000));
    assert!(!traffic.rules().contains(&Rule::FarClient), "all are");
}

/// 100 reads of each of clients 1 to 3, with pauses; those of client 2, at a round trip of 12 ms, take these service and receiving times.
fn with_distance(service_ns: i64, receiving_ns: i64, payload: u64) -> Traffic {
    let mut traffic = Traffic::new();
    for i in 0..300 {
        let client = 1 + (i % 3) as u8;
        let took_ns = if client == 2 { service_ns + receiving_ns } else { MS };
        traffic.changed(read(), client, DATA, &format!("f{}", i % 40), took_ns, |t| {
            t.payload_bytes = Some(payload);
            if client == 2 {
                t.timeline.response_first = t.timeline.request_first.map(|began| began + service_ns);
            }
        });
        traffic.pause(90 * MS);
    }
    traffic.coverage.client_paths = vec![path(1, 100_000), path(2, 12_000_000), path(3, 200_000)];
    traffic
}

#[test]
fn a_client_whose_times_are_its_round_trip_is_far_and_not_slow() {
    let far = with_distance(MS, 24 * MS, 65_536);
    assert!(!far.rules().contains(&Rule::SlowClient), "{:#?}", far.diagnosis());
    let diagnosis = far.diagnosis();
    let said = diagnosis.statements.iter().find(|one| one.rule == Rule::FarClient);
    assert!(
        said.is_some_and(|one| one.text.starts_with(
            "Client 10.0.0.2 is far away: its shortest round trip to the server takes 12.0 ms. For the other clients, the median is 220 µs. This distance explains why the operation read took 25.0 ms on average for this client, 25 times as long as for the other clients (1.00 ms). The server is not slow for this client."
        )),
        "{diagnosis:#?}"
    );
    // The capture was taken at the client.
    let mut service = with_distance(13 * MS, 0, 100);
    service.coverage.client_paths[1].round_trips[0].least_ns = Some(12_000_000);
    service.coverage.client_paths[1].round_trips[1].least_ns = Some(20_000);
    assert!(!service.rules().contains(&Rule::SlowClient), "{:#?}", service.diagnosis());
    assert!(service.rules().contains(&Rule::FarClient));
}

#[test]
fn a_client_that_is_far_is_slow_where_its_round_trip_explains_less() {
    with_distance(13 * MS, 0, 100).first(Rule::SlowClient);
    with_distance(MS, 24 * MS, 100).first(Rule::SlowClient);
    with_distance(MS, 90 * MS, 65_536).first(Rule::SlowClient);
    let mut unknown = with_distance(MS, 24 * MS, 65_536);
    unknown.coverage.client_paths[1].handshakes = 0;
    unknown.first(Rule::SlowClient);
}
