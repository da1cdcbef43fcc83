//! Slow parts of the time, and queues.

use super::built::{MS, START_NS, Traffic, open, read};
use crate::findings::Rule;
use plimsoll_model::{Procedure, Protocol};

const DATA: &str = r"\\server1\data";

/// A thousand alternating reads and opens; `took_ns` returns the time of each.
fn traffic(took_ns: impl Fn(i64) -> i64) -> Traffic {
    let mut traffic = Traffic::new();
    for i in 0..1_000 {
        let procedure = if i % 2 == 0 { read() } else { open() };
        traffic.request(procedure, (i % 3) as u8, DATA, &format!("f{}", i % 50), took_ns(i));
    }
    traffic
}

#[test]
fn requests_that_take_longer_from_an_instant_on_are_said_with_it() {
    let traffic = traffic(|i| if i < 700 { MS } else { 9 * MS });
    let text = traffic.first(Rule::SlowInterval);
    assert!(text.starts_with("From 2023-11-14 22:13:20 UTC on, responses came late: "), "{text}");
    assert!(text.contains("8.9 times as long as at other times (1.00 ms)"), "{text}");
    assert!(!traffic.rules().contains(&Rule::Burst));
}

#[test]
fn a_slower_time_names_the_share_that_alone_is_slower() {
    let of = |is_home_slow: bool| {
        let mut traffic = Traffic::new();
        for i in 0..1_000 {
            let share = if i % 2 == 0 { DATA } else { r"\\server1\home" };
            let is_slow = i >= 700 && (share == DATA || is_home_slow);
            traffic.request(read(), (i % 3) as u8, share, &format!("f{}", i % 50), if is_slow { 40 * MS } else { MS });
        }
        traffic.diagnosis().statements.into_iter().find(|one| one.rule == Rule::SlowInterval).unwrap().text
    };
    let one = of(false);
    assert!(
        one.contains(r"Nearly all slow requests were to share \\server1\data. All requests in this period"),
        "{one}"
    );
    assert!(!of(true).contains("Nearly all"), "{}", of(true));
}

#[test]
fn little_is_no_slower_time_however_many_times_as_much() {
    let brief = traffic(|i| if i < 700 { MS / 2 } else { 4 * MS });
    assert!(!brief.rules().contains(&Rule::SlowInterval), "3.5 ms: {:#?}", brief.diagnosis());
    // 100 requests of 9 ms in a capture of a quarter of an hour without other waiting.
    let mut rare = Traffic::new();
    for i in 0..1_000 {
        rare.changed(read(), 1, DATA, &format!("f{}", i % 50), 900 * MS, |t| {
            let took = if (400..500).contains(&i) { 9 * MS } else { MS };
            let began = t.timeline.response_last.map(|end| end - took);
            (t.timeline.request_first, t.timeline.request_last) = (began, began);
        });
    }
    assert!(!rare.rules().contains(&Rule::SlowInterval), "0.8 s in 15 min: {:#?}", rare.diagnosis());
}

#[test]
fn a_part_of_the_time_is_slow_that_begins_and_ends() {
    let between = traffic(|i| if (400..600).contains(&i) { 9 * MS } else { MS });
    assert!(between.first(Rule::SlowInterval).starts_with("For 1."), "{:#?}", between.diagnosis());
    let at_first = traffic(|i| if i < 300 { 9 * MS } else { MS });
    assert!(
        at_first.first(Rule::SlowInterval).starts_with("Until 2023-11-14 22:13:22 UTC"),
        "{:#?}",
        at_first.diagnosis()
    );
}

#[test]
fn other_work_is_no_slower_time() {
    assert!(!traffic(|_| MS).rules().contains(&Rule::SlowInterval));
    // First opens alone, which are quick; then reads alone, which are not.
    let mut phases = Traffic::new();
    (0..500).for_each(|_| phases.request(open(), 1, DATA, "f", MS / 5));
    (0..500).for_each(|_| phases.request(read(), 1, DATA, "f", 5 * MS));
    assert!(!phases.rules().contains(&Rule::SlowInterval), "{:#?}", phases.diagnosis());
}

/// A server that answers a read every millisecond, 4,000 in total, with `outstanding` requests at each of them.
fn served(outstanding: impl Fn(i64) -> i64, every_ns: impl Fn(i64) -> i64) -> Traffic {
    let mut traffic = Traffic::new();
    for i in 0..4_000 {
        let took = outstanding(i) * every_ns(i);
        traffic.changed(read(), (i % 3) as u8, DATA, "f", every_ns(i) - 10_000, |t| {
            let began = t.timeline.response_last.map(|end| end - took);
            (t.timeline.request_first, t.timeline.request_last) = (began, began);
        });
    }
    traffic
}

#[test]
fn a_server_is_busy_that_answers_no_more_however_many_wait() {
    let busy = served(|i| if i % 800 < 400 { 1 } else { 16 }, |_| MS);
    let text = busy.first(Rule::Queue);
    assert!(
        text.starts_with(
            "The server is busy: with 16 requests outstanding on average, read took 16.0 ms; with 1.0 requests outstanding, read took 1.0"
        ),
        "{text}"
    );
    let steady = served(|_| 16, |_| MS);
    assert!(!steady.rules().contains(&Rule::Queue), "nothing tells how long one alone takes");
    let slower = served(|i| if i % 800 < 400 { 1 } else { 4 }, |i| if i % 800 < 400 { MS } else { 4 * MS });
    assert!(!slower.rules().contains(&Rule::Queue), "the server became slower: {:#?}", slower.diagnosis());
}

#[test]
fn two_requests_that_wait_for_something_else_are_no_queue() {
    let mut held = served(|i| if i % 800 < 400 { 1 } else { 2 }, |_| MS);
    for _ in 0..2 {
        held.changed(read(), 1, DATA, "f", MS, |t| {
            let began = t.timeline.response_last.map(|end| end - 20_000 * MS);
            (t.timeline.request_first, t.timeline.request_last) = (began, began);
        });
    }
    assert!(!held.rules().contains(&Rule::Queue), "{:#?}", held.diagnosis());
}

/// Ten seconds of one read every 40 ms that takes 1 ms; then, for ten seconds, one every `every_ms` of `took_ms`. Opens between them are
/// quick.
fn loaded(every_ms: i64, took_ms: i64) -> Traffic {
    loaded_beyond(1, every_ms, took_ms)
}

/// The same, where a read takes `quiet_ms` without load.
fn loaded_beyond(quiet_ms: i64, every_ms: i64, took_ms: i64) -> Traffic {
    let mut traffic = Traffic::new();
    let mut request = |procedure, pause_ns: i64, took_ns: i64| {
        traffic.changed(procedure, 1, DATA, "f", pause_ns - 10_000, |t| {
            let began = t.timeline.response_last.map(|end| end - took_ns);
            (t.timeline.request_first, t.timeline.request_last) = (began, began);
        });
    };
    let mut seconds = |every_ms: i64, took_ms: i64| {
        for _ in 0..10_000 / every_ms {
            request(open(), MS, MS / 5);
            request(read(), (every_ms - 1) * MS, took_ms * MS);
        }
    };
    seconds(40, quiet_ms);
    seconds(every_ms, took_ms);
    traffic
}

#[test]
fn a_server_is_at_its_limit_if_requests_take_much_longer_under_load() {
    let mut limit = loaded(10, 150);
    let text = limit.first(Rule::Queue);
    assert!(
        text.starts_with(
            "Requests queue in the server, which has reached its limit for the operation read: with 15 requests"
        ),
        "{text}"
    );
    assert!(
        text.contains("on average, read took 150 ms; with fewer than 0.1 requests outstanding, read took 1.00 ms. So read took 150 times as long"),
        "{text}"
    );
    assert!(text.ends_with(" All other operations took 200 µs on average."), "{text}");
    assert!(!limit.rules().contains(&Rule::SlowOperation), "it is quick without load: {:#?}", limit.diagnosis());
    let said = |traffic: &Traffic| traffic.rules().contains(&Rule::Queue);
    assert!(!said(&loaded(40, 150)), "no more load: {:#?}", loaded(40, 150).diagnosis());
    let other = loaded(10, 8).diagnosis();
    assert!(!other.statements.iter().any(|one| one.text.contains("limit")), "8 times as long: {other:#?}");
    let mut path = plimsoll_model::ClientPath::new([10, 0, 0, 1].into());
    path.round_trips[0].median_ns = Some(100_000_000);
    limit.coverage.client_paths = vec![path];
    let far = limit.diagnosis();
    assert!(!far.statements.iter().any(|one| one.text.contains("limit")), "the network may be it: {far:#?}");
}

#[test]
fn a_client_that_has_most_of_a_queue_is_named() {
    let with = |others: usize, took_ms: i64| {
        let mut traffic = loaded(10, 150);
        for i in 0..others {
            traffic.request(read(), 2 + (i % 2) as u8, DATA, "g", took_ms * MS);
        }
        traffic.diagnosis().statements.into_iter().find(|one| one.rule == Rule::Queue).unwrap().text
    };
    let one = with(20, 1);
    assert!(
        one.ends_with(" On average, more than 99.9 % of the outstanding read requests belong to client 10.0.0.1."),
        "{one}"
    );
    assert!(!with(0, 0).contains("Of the outstanding"), "there is no other client");
}

#[test]
fn what_waits_in_a_queue_is_not_what_the_operation_takes() {
    let rules =
        |traffic: &Traffic| -> Vec<Rule> { traffic.diagnosis().statements.iter().map(|one| one.rule).collect() };
    let [queue, slow] = [Rule::Queue, Rule::SlowOperation].map(|rule| {
        let found = rules(&loaded_beyond(35, 40, 300));
        found.iter().position(|one| *one == rule)
    });
    assert!(queue.is_some() && slow.is_some() && queue < slow, "{:#?}", loaded_beyond(35, 40, 300).diagnosis());
}

/// Four clients that read and open without a pause; for `silence_ns` no client is answered, and then all are, for separate files or one.
fn stopped(silence_ns: i64, path: impl Fn(i64) -> String) -> Traffic {
    stopped_for(open(), silence_ns, path)
}

/// The same, with the procedure of the requests without an answer.
fn stopped_for(procedure: Procedure, silence_ns: i64, path: impl Fn(i64) -> String) -> Traffic {
    let mut traffic = Traffic::new();
    let some = |traffic: &mut Traffic| {
        (0..600).for_each(|i| traffic.request(read(), (i % 4) as u8, DATA, &format!("f{i}"), MS));
    };
    some(&mut traffic);
    for i in 0..4 {
        let pause = if i == 0 { silence_ns } else { 100_000 };
        traffic.changed(procedure, i as u8, DATA, &path(i), pause, |t| {
            let began = t.timeline.response_last.map(|end| end - silence_ns);
            (t.timeline.request_first, t.timeline.request_last) = (began, began);
        });
    }
    some(&mut traffic);
    traffic
}

/// Work of four clients. For each of these distances the server sends no response for 900 ms.
fn pausing(distances_ms: &[i64]) -> Traffic {
    let mut traffic = Traffic::new();
    for (at, distance) in distances_ms.iter().enumerate() {
        (0..distance / 4).for_each(|i| traffic.request(read(), (i % 4) as u8, DATA, &format!("f{i}"), 4 * MS));
        for client in 0..4 {
            let took = if client == 0 { 900 * MS } else { MS / 10 };
            traffic.changed(read(), client, DATA, &format!("g{at}{client}"), took, |t| {
                let began = t.timeline.response_last.map(|end| end - 900 * MS);
                (t.timeline.request_first, t.timeline.request_last) = (began, began);
            });
        }
    }
    (0..300).for_each(|i| traffic.request(read(), (i % 4) as u8, DATA, &format!("f{i}"), 4 * MS));
    traffic
}

#[test]
fn several_silences_are_said_with_their_number_and_interval() {
    let text = pausing(&[3_000; 5]).first(Rule::Burst);
    assert!(
        text.starts_with("The server sent no response in 5 periods of ") && text.contains(", about every 3."),
        "{text}"
    );
    assert!(text.contains("During these periods, at least 20 requests of 4 clients waited"), "{text}");
    let text = pausing(&[3_000, 6_000, 1_500, 5_000]).first(Rule::Burst);
    assert!(text.starts_with("The server sent no response in 4 periods") && !text.contains("about every"), "{text}");
}

#[test]
fn a_server_that_gets_no_requests_is_not_silent() {
    let mut traffic = pausing(&[3_000; 5]);
    let network = &mut traffic.coverage.network;
    (network.data_segments, network.resent_segments) = ([3_000, 5_000], [60, 0]);
    network.resent_wait_ns = [10_000_000_000, 0];
    let text = traffic.first(Rule::Retransmission);
    assert!(text.contains("packets were lost after the capture point"), "{text}");
    assert!(!traffic.rules().contains(&Rule::Burst), "{:#?}", traffic.diagnosis());
    traffic.coverage.network.resent_wait_ns = [2_200_000_000, 0];
    assert!(traffic.rules().contains(&Rule::Burst), "{:#?}", traffic.diagnosis());
}

/// Two clients wait for different slow files, two are answered all the time, and then all pause for 400 ms.
fn overtaken() -> Traffic {
    let mut traffic = Traffic::new();
    (0..600).for_each(|i| traffic.request(read(), (i % 2) as u8, DATA, &format!("f{i}"), 2 * MS));
    for (i, pause) in [(2, 400 * MS), (3, 100_000)] {
        traffic.changed(open(), i, DATA, &format!("g{i}"), pause, |t| {
            let began = t.timeline.response_last.map(|end| end - 1_500 * MS);
            (t.timeline.request_first, t.timeline.request_last) = (began, began);
        });
    }
    (0..600).for_each(|i| traffic.request(read(), (i % 2) as u8, DATA, &format!("f{i}"), 2 * MS));
    traffic
}

#[test]
fn a_server_that_answers_nobody_is_said_with_since_when() {
    let text = stopped(1_300 * MS, |i| format!("g{i}")).first(Rule::Burst);
    assert!(text.starts_with("The server sent no response for 1."), "{text}");
    assert!(
        text.contains(
            "s from 2023-11-14 22:13:20 UTC on. During this time, at least 4 requests of 4 clients waited: 8"
        ),
        "{text}"
    );
    let silent = |traffic: &Traffic| {
        traffic.diagnosis().statements.iter().any(|statement| statement.text.contains("sent no response"))
    };
    assert!(!silent(&stopped(1_300 * MS, |_| "one".to_owned())), "they may wait for that file");
    assert!(!silent(&stopped(100 * MS, |i| format!("g{i}"))), "too short to be felt");
    assert!(!silent(&overtaken()), "others were answered after they were sent");
    let mut down = stopped(1_300 * MS, |i| format!("g{i}"));
    down.coverage.downtime.begin(START_NS + 1_000 * MS);
    assert!(!silent(&down), "the interface was down");
    assert!(!silent(&served(|_| 1, |i| if i == 2_000 { 3_000 * MS } else { MS })), "one client alone");
}

#[test]
fn opens_that_wait_for_a_lease_are_no_silence_of_the_server() {
    let silent = |traffic: &Traffic| traffic.rules().contains(&Rule::Burst);
    for (procedure, expected) in [(open(), false), (read(), true)] {
        let mut traffic = stopped_for(procedure, 1_300 * MS, |i| format!("g{i}"));
        let breaks = &mut traffic.coverage.breaks;
        (breaks.notified, breaks.opens, breaks.wait_ns) = (4, 4, 5_200_000_000);
        traffic.first(Rule::LeaseBreaks);
        assert_eq!(silent(&traffic), expected, "{procedure:?}: {:#?}", traffic.diagnosis());
    }
}

/// 20 s of one read of 1 ms each 20 ms; from 10 s on, for `lasts_ms`, one each `every_us`, each of `took_ns`.
fn rush(lasts_ms: i64, every_us: i64, took_ns: i64) -> Traffic {
    let mut traffic = Traffic::new();
    let mut read_at = |i: i64, pause_ns: i64, took_ns: i64| {
        traffic.changed(read(), (i % 3) as u8, DATA, &format!("f{}", i % 50), pause_ns - 10_000, |t| {
            let began = t.timeline.response_last.map(|end| end - took_ns);
            (t.timeline.request_first, t.timeline.request_last) = (began, began);
        });
    };
    (0..500).for_each(|i| read_at(i, 20 * MS, MS));
    (0..lasts_ms * 1_000 / every_us).for_each(|i| read_at(i, every_us * 1_000, took_ns));
    (0..500).for_each(|i| read_at(i, 20 * MS, MS));
    traffic
}

#[test]
fn many_requests_at_once_that_take_longer_are_no_slow_time() {
    let accused = |traffic: &Traffic| {
        let rules = traffic.rules();
        [Rule::SlowInterval, Rule::Burst].into_iter().any(|rule| rules.contains(&rule))
    };
    // 40 times as many a second, each 10 times as long: the load, not the server.
    let many = rush(400, 500, 10 * MS);
    assert!(!accused(&many), "{:#?}", many.diagnosis());
    // Not more requests than before, and the same duration.
    assert!(accused(&rush(4_000, 20_000, 10 * MS)));
}

#[test]
fn times_that_grow_with_the_load_are_said_with_both_loads() {
    let text = rush(8_000, 500, 10 * MS).first(Rule::Queue);
    assert!(text.starts_with("Requests take longer under load: with 20 requests outstanding on average ("), "{text}");
    assert!(
        text.contains("read took 10.0 ms; with fewer than 0.1 requests outstanding (")
            && text.contains("read took 1.00 ms."),
        "{text}"
    );
    let said = |traffic: &Traffic| traffic.rules().contains(&Rule::Queue);
    assert!(!said(&rush(8_000, 500, MS)), "as quick as before");
    assert!(!said(&rush(8_000, 20_000, 10 * MS)), "no more load");
}

#[test]
fn few_slow_requests_of_several_operations_are_said_with_their_interval() {
    let mut traffic = Traffic::new();
    let kinds = [Procedure::of(Protocol::Nfs3, 19), read(), open()];
    for i in 0..2_997_usize {
        // Of each client one request in 333 is slow, and not at the same time as that of another client.
        let is_slow = [30, 130, 230].contains(&(i % 999));
        let (procedure, took_ns) = if is_slow { (kinds[i / 999], 1_500 * MS) } else { (kinds[1 + i % 2], MS / 10) };
        traffic.request(procedure, (i % 3) as u8, DATA, &format!("f{}", i % 90), took_ns);
        traffic.pause(10 * MS);
    }
    let text = traffic.first(Rule::FewSlowRequests);
    assert!(
        text.starts_with("9 requests for 3 operations (read 3, open 3, fsinfo 3) took 1.50 s to 1.50 s: "),
        "{text}"
    );
    assert!(
        text.contains(
            "They came from all 3 clients (10.0.0.0, 10.0.0.1, 10.0.0.2): the first began at 2023-11-14 22:13:"
        ),
        "{text}"
    );
    assert!(text.contains(" Each of these clients had such a slow request about every 1"), "{text}");
}

#[test]
fn a_server_that_serves_one_at_a_time_from_the_beginning_is_busy() {
    // Six clients begin at once; each asks again when it is answered.
    let busy = served(|i| (i + 1).min(6), |_| 7 * MS);
    let text = busy.first(Rule::Queue);
    assert!(
        text.starts_with(
            "The server is busy and carries out one request at a time: it answers one read request every 7.00 ms, and the fastest"
        ),
        "{text}"
    );
    let said = |traffic: &Traffic| traffic.rules().contains(&Rule::Queue);
    assert!(!said(&served(|_| 6, |_| 7 * MS)), "nothing tells how long one alone takes");
    assert!(!said(&served(|i| if i == 9 { 0 } else { 6 }, |_| 7 * MS)), "the quickest was in a cache");
    let uneven = served(|i| (i + 1).min(6), |i| (1 + i * i % 13) * MS);
    assert!(!said(&uneven), "answers come at random: {:#?}", uneven.diagnosis());
    let mut far = served(|i| (i + 1).min(6), |_| 7 * MS);
    far.coverage.network.to_server_ns = Some(7_000_000);
    assert!(!said(&far), "the quickest is the round trip");
}

/// 100 small reads, and five reads of 1 MB from another file by one client, `took_ms` each; most of it is receiving.
fn large(took_ms: i64) -> Traffic {
    large_after(1, took_ms)
}

/// The same, with `service_ms` of service time each.
fn large_after(service_ms: i64, took_ms: i64) -> Traffic {
    let mut traffic = Traffic::new();
    for i in 0..100 {
        traffic.request(read(), (i % 3) as u8, DATA, &format!("f{}", i % 50), MS);
        if i % 20 == 19 {
            traffic.changed(read(), 1, DATA, "film.iso", took_ms * MS, |t| {
                t.payload_bytes = Some(1_000_000);
                t.timeline.response_first = t.timeline.request_last.map(|ns| ns + service_ms * MS);
            });
        }
    }
    traffic
}

#[test]
fn large_transfers_that_take_the_time_of_their_bytes_are_no_slow_requests() {
    assert!(!large(150).rules().contains(&Rule::FewSlowRequests), "{:#?}", large(150).diagnosis());
    let slow = large(400).diagnosis().statements.into_iter().find(|one| one.rule == Rule::FewSlowRequests).unwrap();
    let end = "Sending and receiving (at about 20.1 Mbit/s) were 99.8 % of the time that these requests took: the network path or the client is slow, or the server accepts data \
               slowly.";
    assert!(slow.text.ends_with(end) && slow.text.contains("client 10.0.0.1 on 1 connection"), "{}", slow.text);
}

#[test]
fn slow_requests_that_mostly_wait_for_the_server_have_no_transfer_rate() {
    // Receiving takes 60 %, and then 1 %.
    for (service_ms, is_service) in [(160, false), (396, true)] {
        let found = large_after(service_ms, 400).diagnosis().statements;
        let slow = found.iter().find(|one| one.rule == Rule::FewSlowRequests).unwrap();
        assert!(!slow.text.contains("Mbit/s"), "{}", slow.text);
        assert_eq!(slow.text.contains("Service time was"), is_service, "{}", slow.text);
    }
}
