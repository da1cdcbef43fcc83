//! Queues that may be on the network path rather than in the server.

use plimsoll_model::{ClientPath, Pace, RoundTrip};

use super::built::{MS, Says, Traffic, read};
use super::times::{loaded, served};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";
const ON_PATH: &str = "Requests queue in the server or on the network path: ";

/// The path of client 10.0.0.N, with these times until the server acknowledges requests.
fn acknowledged(client: u8, least_ns: u64, median_ns: u64) -> ClientPath {
    let mut path = ClientPath::new([10, 0, 0, client].into());
    path.round_trips[0] = RoundTrip { least_ns: Some(least_ns), median_ns: Some(median_ns), count: 100 };
    path
}

/// The path of client 10.0.0.N, to which data moved at 40 Mbit/s for so many ms.
fn passing(client: u8, ms: u64) -> ClientPath {
    let (mut path, mut pace) = (ClientPath::new([10, 0, 0, client].into()), Pace::default());
    (0..ms).for_each(|_| pace.add_part(5_000, 1_000_000, false));
    path.paces[1] = pace;
    path
}

/// The sentence about the queue.
fn queue(traffic: &Traffic) -> String {
    let statements = traffic.diagnosis().statements;
    statements.into_iter().find(|statement| statement.rule == Rule::Queue).unwrap().text
}

#[test]
fn a_slow_uplink_behind_the_capture_is_no_busy_server() {
    // Answers are even and 7 ms apart, and each request waits for six of them.
    let with = |least_ns: u64, median_ns: u64| {
        let mut even = served(|i| (i + 1).min(6), |_| 7 * MS);
        even.coverage.client_paths = (0..3).map(|client| acknowledged(client, least_ns, median_ns)).collect();
        queue(&even)
    };
    let text = with(3_000_000, 35_000_000);
    text.begins(&format!("{ON_PATH}the server answers one read request every 7.00 ms, and the"));
    text.has(" The server took 35.0 ms (median) to acknowledge requests of client 10.0.0.");
    text.has("; its shortest time was 3.00 ms.");
    for (least_ns, median_ns, why) in [
        (3_000_000, 10_000_000, "requests arrived soon"),
        (20_000, 40_000_000, "at the server: it delays acknowledgements"),
    ] {
        let text = with(least_ns, median_ns);
        assert!(
            text.starts_with("The server is busy and carries out one request at a time: it answers"),
            "{why}: {text}"
        );
    }
}

#[test]
fn data_that_move_slowly_for_most_of_a_queue_leave_open_where_it_is() {
    let with = |ms: u64, clients: u8| {
        let mut queued = served(|i| if i % 800 < 400 { 1 } else { 16 }, |_| MS);
        queued.coverage.client_paths = (0..clients).map(|client| passing(client, ms)).collect();
        queue(&queued)
    };
    let text = with(2_000, 3);
    text.begins(&format!("{ON_PATH}with 16 requests outstanding on average, read took 16.0 ms;"));
    text.has(" moved at an even, low rate (40.0 Mbit/s) for 2.00 s in all.");
    assert!(with(1_000, 3).starts_with("The server is busy: with 16"), "half of the time of the queue");
    assert!(with(2_000, 1).starts_with("The server is busy: with 16"), "a third of the waiting");
    let mut limit = loaded(10, 150);
    limit.coverage.client_paths = vec![passing(1, 10_000)];
    queue(&limit).begins("Requests queue in the server or on the network path for the operation read: with 15");
}

/// Each response takes 0.95 ms to receive; of the time, requests of 16 ms are queued for half of it.
#[test]
fn a_narrow_path_explains_the_queue_on_it() {
    let mut queued = Traffic::new();
    for i in 0..4_000 {
        queued.changed(read(), (i % 3) as u8, DATA, "f", MS - 10_000, |t| {
            let took = if i % 800 < 400 { MS } else { 16 * MS };
            let began = t.timeline.response_last.map(|end| end - took);
            (t.timeline.request_first, t.timeline.request_last) = (began, began);
            t.timeline.response_first = t.timeline.response_last.map(|end| end - MS * 19 / 20);
        });
    }
    queued.coverage.client_paths = (0..3).map(|client| passing(client, 2_000)).collect();
    queued.first(Rule::NarrowPath);
    assert!(queue(&queued).starts_with(ON_PATH), "{:#?}", queued.diagnosis());
    queued.coverage.client_paths = (0..3).map(|client| acknowledged(client, 20_000, 40_000_000)).collect();
    queued.first(Rule::Queue).begins("The server is busy: ");
}

#[test]
fn requests_of_a_client_that_reads_slowly_do_not_queue_in_the_server() {
    let mut limit = loaded(10, 150);
    queue(&limit).begins("Requests queue in the server, which has reached its limit for the operation read");
    let network = &mut limit.coverage.network;
    (network.zero_windows, network.zero_window_ns) = ([0, 70], [0, 15_000_000_000]);
    network.slow_reader = Some(([10, 0, 0, 1].into(), 15_000_000_000));
    let rules = limit.rules();
    assert!(rules.contains(&Rule::ZeroWindow) && !rules.contains(&Rule::Queue), "{rules:?}");
    let mut slow_server = loaded(10, 150);
    let network = &mut slow_server.coverage.network;
    (network.zero_windows, network.zero_window_ns) = ([70, 0], [15_000_000_000, 0]);
    assert!(slow_server.rules().contains(&Rule::Queue), "the server reads slowly: {:#?}", slow_server.diagnosis());
}
