//! Slow parts of the time, and queues.

use super::built::{MS, Says, Traffic, open, read};
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
    text.begins("From 2023-11-14 22:13:20.");
    text.has(" UTC on, responses came late: ");
    text.has("8.9 times as long as at other times (1.00 ms)");
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
    of(false).has(r"Nearly all slow requests were to share \\server1\data. All requests in this period");
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
    at_first.first(Rule::SlowInterval).begins("Until 2023-11-14 22:13:22.");
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
pub(super) fn served(outstanding: impl Fn(i64) -> i64, every_ns: impl Fn(i64) -> i64) -> Traffic {
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
    busy.first(Rule::Queue).begins(
        "The server is busy: with 16 requests outstanding on average, read took 16.0 ms; with 1.0 requests outstanding, read took 1.0",
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
pub(super) fn loaded(every_ms: i64, took_ms: i64) -> Traffic {
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
    text.begins("Requests queue in the server, which has reached its limit for the operation read: with 15 requests");
    text.has(
        "on average, read took 150 ms; with fewer than 0.1 requests outstanding, read took 1.00 ms. So read took 150 times as long",
    );
    text.ends(" All other operations took 200 µs on average.");
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
    with(20, 1).ends(" On average, more than 99.9 % of the outstanding read requests belong to client 10.0.0.1.");
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
    text.begins("Requests take longer under load: with 20 requests outstanding on average (");
    text.has("read took 10.0 ms; with fewer than 0.1 requests outstanding (");
    text.has("read took 1.00 ms.");
    let said = |traffic: &Traffic| traffic.rules().contains(&Rule::Queue);
    assert!(!said(&rush(8_000, 500, MS)), "as quick as before");
    assert!(!said(&rush(8_000, 20_000, 10 * MS)), "no more load");
}

#[test]
fn filters_say_nothing_about_the_load() {
    let queued = |filter: &str| {
        let all = [
            served(|i| if i % 800 < 400 { 1 } else { 16 }, |_| MS),
            served(|i| (i + 1).min(6), |_| 7 * MS),
            loaded(10, 150),
            rush(8_000, 500, 10 * MS),
        ];
        all.map(|mut traffic| {
            traffic.filters = vec![filter.to_owned()];
            traffic.rules().contains(&Rule::Queue)
        })
    };
    for filter in ["--to 1h", "--server 10.0.1.49"] {
        assert_eq!(queued(filter), [true; 4], "{filter}: all requests of the server");
    }
    for filter in ["--operation read", "--client 10.0.0.1", "--share data", "--slower-than 1ms"] {
        assert_eq!(queued(filter), [false; 4], "{filter}: others may be outstanding as well");
    }
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
    text.begins("9 requests for 3 operations (read 3, open 3, fsinfo 3) took 1.50 s to 1.50 s: ");
    text.has("They came from all 3 clients (10.0.0.0, 10.0.0.1, 10.0.0.2): the first began at 2023-11-14 22:13:");
    text.has(" Each of these clients had such a slow request about every 1");
}

#[test]
fn a_server_that_serves_one_at_a_time_from_the_beginning_is_busy() {
    // Six clients begin at once; each asks again when it is answered.
    let busy = served(|i| (i + 1).min(6), |_| 7 * MS);
    busy.first(Rule::Queue).begins(
        "The server is busy and carries out one request at a time: it answers one read request every 7.00 ms, and the fastest",
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
