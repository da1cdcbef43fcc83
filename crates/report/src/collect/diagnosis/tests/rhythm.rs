//! Requests after pauses, and at regular intervals.

use super::built::{MS, Says, Traffic, open, read};
use crate::findings::Rule;

const DATA: &str = r"\\server1\data";

/// Twelve times: after a pause of `pause_ms`, a read of `first_ms`; then 20 fast reads and opens, two clients, many files.
fn resting(pause_ms: i64, first_ms: i64) -> Traffic {
    let mut traffic = Traffic::new();
    for block in 0..12 {
        for i in 0..20 {
            let path = format!("f{}", (block * 20 + i) % 47);
            let took = if i == 0 && block > 0 { first_ms } else { 1 };
            traffic.request(read(), ((i + block) % 2) as u8, DATA, &path, took * MS);
            traffic.request(open(), (i % 2) as u8, DATA, &path, MS);
        }
        traffic.pause(pause_ms * MS);
    }
    traffic
}

#[test]
fn what_is_slow_after_a_pause_is_said_with_the_pause() {
    resting(20_000, 2_000).first(Rule::AfterPause).begins(
        r"The first read after a pause is slow: 11 read requests to share \\server1\data took 2.00 s on average, 2000 times as long as 229 other read requests (1.00 ms). Clients sent these requests at the ends of 11 pauses of at least 20.0 s, in which the server answered no read request to this share.",
    );
}

#[test]
fn a_first_read_from_a_disk_is_no_sleep_and_a_slow_file_no_pause() {
    assert!(!resting(20_000, 25).rules().contains(&Rule::AfterPause), "two accesses to a disk");
    assert!(!resting(100, 2_000).rules().contains(&Rule::AfterPause), "a short pause");
    let mut always = Traffic::new();
    for i in 0..300 {
        always.request(read(), 1, DATA, &format!("f{}", i % 47), if i % 9 == 0 { 900 * MS } else { MS });
        always.pause(if i % 10 == 0 { 5_000 * MS } else { 0 });
    }
    assert!(!always.rules().contains(&Rule::AfterPause), "{:#?}", always.diagnosis());
    let mut filtered = resting(20_000, 2_000);
    filtered.filters = vec!["--operation read".to_owned()];
    assert!(!filtered.rules().contains(&Rule::AfterPause), "others may have asked meanwhile");
}

/// Fast reads; then, after each of `pauses` pauses of 20 s, 8 reads at once of 2 s each.
fn burst_after(pauses: i64) -> Traffic {
    let mut traffic = Traffic::new();
    for block in 0..=pauses {
        for i in 0..8 {
            // All of them begin when the first one does.
            let pause_ms = if i == 0 { 2_000 } else { 1 };
            let path = format!("g{block}{i}");
            traffic.changed(read(), 1, DATA, &path, if block > 0 { pause_ms * MS } else { MS }, |t| {
                let took = if block > 0 { (2_000 + i) * MS } else { MS };
                let began = t.timeline.response_last.map(|end| end - took);
                (t.timeline.request_first, t.timeline.request_last) = (began, began);
            });
        }
        (0..100).for_each(|i| traffic.request(read(), 1, DATA, &format!("f{}", i % 47), MS));
        traffic.pause(20_000 * MS);
    }
    traffic
}

#[test]
fn many_requests_after_one_pause_do_not_show_that_pauses_make_them_slow() {
    assert!(!burst_after(1).rules().contains(&Rule::AfterPause), "{:#?}", burst_after(1).diagnosis());
    assert!(!burst_after(2).rules().contains(&Rule::AfterPause), "{:#?}", burst_after(2).diagnosis());
    let text = burst_after(5).first(Rule::AfterPause);
    assert!(text.contains(": 40 read requests to share") && text.contains(" 5 pauses of at least 20.0 s,"), "{text}");
}

#[test]
fn times_that_a_coarse_clock_makes_are_neither_pauses_nor_stalls() {
    let (mut pauses, mut stalls) = (resting(20_000, 2_000), stalling(|i| i % 500 == 499, |i| format!("f{}", i % 47)));
    for (traffic, rule, step_ns) in
        [(&mut pauses, Rule::AfterPause, 700_000_000), (&mut stalls, Rule::Periodic, 110_000_000)]
    {
        assert!(traffic.rules().contains(&rule));
        traffic.coverage.clock.estimate_ns = Some(step_ns);
        assert!(!traffic.rules().contains(&rule), "less than three steps: {:#?}", traffic.diagnosis());
    }
}

/// Reads and opens of two clients, 1 ms each, every 10 ms; at some of them everything stops for 300 ms.
fn stalling(is_stall: impl Fn(i64) -> bool, path: impl Fn(i64) -> String) -> Traffic {
    let mut traffic = Traffic::new();
    for i in 0..6_000 {
        let took = if is_stall(i) { 300 * MS } else { MS };
        traffic.request(if i % 3 == 0 { open() } else { read() }, (i % 2) as u8, DATA, &path(i), took);
        traffic.pause(9 * MS);
    }
    traffic
}

#[test]
fn stalls_at_regular_intervals_are_said_with_the_interval() {
    let text = stalling(|i| i % 500 == 499, |i| format!("f{}", i % 47)).first(Rule::Periodic);
    text.begins("Requests are slow at regular intervals: every 5.30 s, 12 times since 2023-11-14 22:13:2");
    text.has("12 requests took 268 ms or longer");
}

#[test]
fn stalls_at_random_or_for_one_file_are_no_interval() {
    // Squares modulo a prime: never at the same distance.
    let random = stalling(|i| i * i % 503 == 5, |i| format!("f{}", i % 47));
    assert!(!random.rules().contains(&Rule::Periodic), "{:#?}", random.diagnosis());
    let one = stalling(|i| i % 500 == 499, |i| if i % 500 == 499 { "log".to_owned() } else { format!("f{}", i % 47) });
    assert!(!one.rules().contains(&Rule::Periodic), "a client may ask for it at that interval: {:#?}", one.diagnosis());
}
