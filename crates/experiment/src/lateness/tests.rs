//! Verdicts of levels whose lateness is known.

use plimsoll_drive::engine::{Answered, Generator, Lateness, WorkerCpu};

use super::*;

/// `requests` requests of 100 µs, the last `late` of which were read 8 ms late.
fn lateness(requests: u64, late: u64) -> Lateness {
    let mut lateness = Lateness { lost_ns: late * 8_000_000, requests: late, ..Lateness::default() };
    for at in 0..requests {
        let more = if at < requests - late { 0 } else { 8_000_000 };
        lateness.response.measured.record(100_000 + more);
        lateness.response.on_time.record(100_000);
    }
    lateness
}

/// A phase of a second, with one slot.
fn level(generator: &Generator) -> Level<'_> {
    let (users, pauses, unended, response, status) = (false, false, 0, None, None);
    Level { generator, clients: &[], users, pauses, unended, response, status, seconds: 1.0, slots: 1, processors: 2 }
}

fn verdict(generator: &Generator) -> Vec<Reason> {
    let level = level(generator);
    [late, stolen, unknown].iter().filter_map(|gate| gate(&level)).collect()
}

fn generator(lateness: Lateness) -> Generator {
    let answered = Answered { requests: lateness.response.measured.moments().count(), ..Answered::default() };
    let workers = vec![WorkerCpu { user_ns: 100_000_000, elapsed_ns: 1_000_000_000, ..WorkerCpu::default() }];
    Generator { lateness, answered, workers, ..Generator::default() }
}

#[test]
fn the_verdict_is_by_what_was_moved() {
    assert_eq!(verdict(&generator(lateness(5_000, 0))), []);
    // 30 of 20,000: p99.9 has 20 beyond it.
    let tail = verdict(&Generator { asked_rate: Some(20_000.0), ..generator(lateness(20_000, 30)) });
    assert_eq!(tail[0].verdict, plimsoll_model::Verdict::Partial, "{tail:?}");
    assert!(tail[0].text.contains("p99.9 would be 0.100 ms, not 8."), "{tail:?}");
    assert!(tail[0].text.contains("p50, p90, p95, p99 are reliable"), "{tail:?}");
    // 40 in 4,000 by 8 ms: 320 ms of a second, and 80 of 180 µs.
    let body = verdict(&generator(lateness(4_000, 40)));
    assert_eq!(body[0].verdict, plimsoll_model::Verdict::Invalid);
    assert!(
        body[0].text.contains("throughput would be up to 5882 op/s, not 4000 (allowed difference 5 %)"),
        "{body:?}"
    );
    assert!(body[0].text.contains("mean would be 0.100 ms, not 0.180 ms"), "{body:?}");
    assert!(body[0].text.contains("; p50, p90, p95, p99 are reliable"), "{body:?}");
    assert!(!body[0].text.contains("no-cpu-idle"), "no timer was set, so none was late: {body:?}");
}

#[test]
fn beside_another_reason_no_number_is_named_as_reliable() {
    let generator = generator(lateness(4_000, 40));
    let [alone, beside] = alone_and_beside(&level(&generator)).unwrap();
    assert!(alone.text.contains("; p50, p90, p95, p99 are reliable"), "{alone:?}");
    assert!(beside.text.contains("mean would be 0.100 ms") && !beside.text.contains("reliable"), "{beside:?}");
    assert_eq!(alone.verdict, beside.verdict);
}

#[test]
fn throughput_is_rounded_as_in_tables() {
    // 345 requests in 2 s: 172.5 op/s; 240 ms of these 2 s are lost.
    let generator = generator(lateness(345, 30));
    let said = late(&Level { seconds: 2.0, ..level(&generator) }).unwrap().text;
    assert!(said.contains("throughput would be up to 196 op/s, not 173 (allowed difference 5 %)"), "{said}");
}

/// Times that differ, of which the last `late` were counted 3 ms more, under a schedule of 500 a second.
fn scheduled(requests: i64, late: i64) -> Generator {
    let mut lateness = Lateness::default();
    for at in 0..requests {
        // Any order: late ones are quick and slow alike.
        let time = 200_000 + (at * 7_919 % requests) * 400_000 / requests;
        let more = if at < requests - late { 0 } else { 3_000_000 };
        for shifted in [&mut lateness.response, &mut lateness.from_intended] {
            shifted.measured.record(time + more);
            shifted.on_time.record(time);
        }
    }
    Generator { asked_rate: Some(500.0), ..generator(lateness) }
}

#[test]
fn a_mean_that_few_requests_moved_costs_the_mean_alone() {
    // 2 % of 1,500 by 3 ms: 60 of 400 µs.
    let found = verdict(&scheduled(1_500, 30));
    assert_eq!(found[0].verdict, plimsoll_model::Verdict::Partial, "{found:?}");
    let said = &found[0].text;
    assert!(
        said.starts_with("the load generator was late: without that delay, mean from the intended start would be"),
        "{said}"
    );
    assert!(said.ends_with("; p50, p90, p95 from the intended start are reliable"), "{said}");
    // 6 % of them affect p95, 15 % affect p90.
    let found = verdict(&scheduled(1_500, 90));
    assert_eq!(found[0].verdict, plimsoll_model::Verdict::Partial, "{found:?}");
    assert!(found[0].text.contains("p50, p90 from the intended start are reliable"), "{found:?}");
    let found = verdict(&scheduled(1_500, 225));
    assert_eq!(found[0].verdict, plimsoll_model::Verdict::Invalid, "{found:?}");
}

#[test]
fn times_that_do_not_lead_make_no_level_invalid() {
    let mut generator = scheduled(1_500, 225);
    let Lateness { response, from_intended, .. } = &mut generator.lateness;
    from_intended.measured = response.on_time.clone();
    let found = verdict(&generator);
    assert_eq!(found[0].verdict, plimsoll_model::Verdict::Partial, "{found:?}");
    assert!(found[0].text.contains("uncorrected p90 would be"), "{found:?}");
}

#[test]
fn the_slowest_request_costs_no_verdict() {
    let generator = scheduled(1_500, 1);
    assert_eq!(verdict(&generator), []);
    let moved = judge(&level(&generator)).moved_numbers();
    let numbers: Vec<&str> = moved.iter().map(|moved| moved.number.as_str()).collect();
    assert!(numbers.contains(&"max from the intended start"), "{numbers:?}");
}

#[test]
fn numbers_that_were_moved_and_others_are_in_the_units_of_reports() {
    let looked = judge(&level(&scheduled(1_500, 30)));
    let (all, moved) = (looked.all(), looked.moved_numbers());
    assert!(moved.iter().all(|number| all.contains(number)) && moved.len() < all.len(), "{all:?}");
    let p50 = all.iter().find(|number| number.number == "p50 from the intended start").unwrap();
    assert!((200e-6..600e-6).contains(&p50.on_time) && (200e-6..600e-6).contains(&p50.reported), "{p50:?}");
    let closed = judge(&level(&generator(lateness(4_000, 40)))).all();
    let throughput = closed.iter().find(|number| number.number == "throughput").unwrap();
    assert!((throughput.reported - 4_000.0).abs() < 1e-6, "{throughput:?}");
}

#[test]
fn chance_is_no_lateness_and_lateness_is_no_chance() {
    // One time in ten is 10 ms: of 100 requests chance moves the mean of 1.1 ms by more than half.
    let few = |late: i64| {
        let mut lateness = Lateness::default();
        for at in 0..100 {
            let time = if at % 10 == 0 { 10_000_000 } else { 100_000 };
            lateness.response.measured.record(time + if at % 10 == 5 { late } else { 0 });
            lateness.response.on_time.record(time);
        }
        verdict(&Generator { asked_rate: Some(100.0), ..generator(lateness) })
    };
    assert_eq!(few(4_000_000), []);
    let found = few(9_000_000);
    assert!(
        found[0].text.contains("(allowed difference ") && found[0].text.contains(" % with 100 requests)"),
        "{found:?}"
    );
    // The lateness itself widens nothing.
    let all_late = few(200_000_000);
    assert!(all_late.iter().any(|reason| reason.text.contains("mean would be")), "{all_late:?}");
}

#[test]
fn percentiles_need_ten_requests_beyond_them() {
    let moved = |requests: i64| -> Vec<String> {
        let generator = scheduled(requests, requests / 50);
        judge(&level(&generator)).moved_numbers().into_iter().map(|moved| moved.number).collect()
    };
    let has = |requests, name: &str| moved(requests).iter().any(|number| number == name);
    assert!(!has(999, "p99") && has(1_000, "p99"));
    assert!(!has(9_999, "p99.9") && has(10_000, "p99.9"));
}

#[test]
fn under_a_schedule_throughput_is_the_schedules_and_late_starts_count() {
    let mut late = lateness(1_000, 0);
    for _ in 0..1_000 {
        late.from_intended.measured.record(400_000);
        late.from_intended.on_time.record(100_000);
    }
    late.lost_ns = 300_000_000;
    let mut schedule_lag = Times::default();
    schedule_lag.record(300_000);
    let found = verdict(&Generator { asked_rate: Some(1_000.0), schedule_lag, ..generator(late) });
    let said = &found[0].text;
    let expected =
        "mean from the intended start would be 100.0 µs, not 400.0 µs (allowed difference 5 %), p50 would be";
    assert!(
        said.contains(expected) && said.contains(" (3 more); no number of this level is reliable; try --no-cpu-idle"),
        "{said}"
    );
    assert!(!said.contains("throughput"), "{said}");
}

#[test]
fn without_stamps_the_scheduler_says_how_long_others_had_the_processor() {
    let blocking = |run_delay_ns, cpu: u64| {
        let unstamped = Lateness { unstamped: 1_000, ..lateness(1_000, 0) };
        let worker = WorkerCpu { user_ns: cpu, elapsed_ns: 1_000_000_000, run_delay_ns, ..WorkerCpu::default() };
        verdict(&Generator { workers: vec![worker; 4], ..generator(unstamped) })
    };
    assert_eq!(blocking(Some(0), 100_000_000), []);
    let starved = blocking(Some(600_000_000), 100_000_000);
    assert!(starved[0].text.contains("throughput would be up to 1667 op/s, not 1000"), "{starved:?}");
    assert!(starved[0].text.contains("waited 2.40 s of 4.00 s for a CPU: reserve CPUs"), "{starved:?}");
    assert_eq!(
        blocking(Some(500_000_000), 500_000_000),
        [],
        "four threads that fill two processors wait for each other"
    );
    assert!(blocking(None, 0)[0].text.contains("is unknown"));
}

#[test]
fn idle_states_are_blamed_only_where_waiting_for_a_processor_is_not_the_cause() {
    let said = |lag_ns: i64, run_delay_ns: u64| {
        let mut generator = generator(lateness(1_000, 0));
        generator.schedule_lag.record(lag_ns);
        generator.workers[0].run_delay_ns = Some(run_delay_ns);
        advice(&level(&generator))
    };
    // 40 ms are 4 % of the second.
    assert!(said(100_000_000, 40_000_000).starts_with("; try --no-cpu-idle"));
    assert!(said(100_000_000, 0).starts_with("; try --no-cpu-idle"));
    assert_eq!(
        said(60_000_000, 40_000_000),
        "; the load threads waited 0.040 s of 1.00 s for a CPU: reserve CPUs for the load generator (docs/load-generators.md)"
    );
    // Many requests may wait for one thread.
    assert!(said(9_000_000_000, 60_000_000).contains("waited 0.060 s of 1.00 s for a CPU"));
}

#[test]
fn nobody_else_is_blamed_for_threads_that_wait_for_each_other() {
    let worker = |cpu: u64| WorkerCpu {
        user_ns: cpu,
        elapsed_ns: 1_000_000_000,
        run_delay_ns: Some(300_000_000),
        ..WorkerCpu::default()
    };
    let said = |cpu: u64, threads: usize| {
        let generator = Generator { workers: vec![worker(cpu); threads], ..generator(lateness(1_000, 0)) };
        advice(&level(&generator))
    };
    let each_other = "; the load threads waited 1.20 s of 4.00 s for a CPU (4 threads on 2 CPUs): use fewer threads";
    assert_eq!(said(450_000_000, 4), each_other);
    let reserve = "; the load threads waited 0.60 s of 2.00 s for a CPU: reserve CPUs for the load generator (docs/load-generators.md)";
    assert_eq!(said(450_000_000, 2), reserve, "each thread has a processor");
}

#[test]
fn a_hypervisor_that_takes_much_spoils_all() {
    let with = |stolen_ns| verdict(&Generator { stolen_ns, ..generator(lateness(1_000, 0)) }).len();
    assert_eq!([None, Some(50_000_000), Some(60_000_000)].map(with), [0, 0, 1]);
}

/// Each blocking client has its own thread. All threads together have only the time of the processors.
#[test]
fn threads_that_share_processors_lose_their_time_together() {
    let with = |threads: usize, stolen_ms: u64| {
        let workers = vec![WorkerCpu { elapsed_ns: 1_000_000_000, ..WorkerCpu::default() }; threads];
        let stolen_ns = Some(stolen_ms * 1_000_000);
        let generator = Generator { workers, stolen_ns, ..Generator::default() };
        stolen(&Level { processors: 4, ..level(&generator) }).is_some()
    };
    assert_eq!([with(100, 2_000), with(100, 210), with(100, 200), with(2, 110)], [true, true, false, true]);
}

#[test]
fn the_advice_names_a_cpu_limit_or_a_pause_if_that_is_the_cause() {
    let said = |change: fn(&mut Generator)| {
        let mut generator = generator(lateness(4_000, 40));
        generator.workers[0].run_delay_ns = Some(0);
        // Intended starts were late, too.
        generator.schedule_lag.record(300_000_000);
        change(&mut generator);
        late(&level(&generator)).unwrap().text
    };
    let idle = said(|generator| {
        generator.schedule_lag = Times::default();
        generator.schedule_lag.record(1_000_000);
    });
    assert!(idle.ends_with("try --no-cpu-idle, which prevents CPU idle states"), "{idle}");
    let limited = said(|generator| generator.throttled_ns = Some(290_000_000));
    assert!(limited.contains("stopped this process for 0.29 s") && limited.contains("raise the limit"), "{limited}");
    let limited = said(|generator| {
        generator.throttled_ns = Some(290_000_000);
        generator.workers[0].run_delay_ns = Some(290_000_000);
    });
    assert!(limited.contains("raise the limit") && !limited.contains("reserve CPUs"), "{limited}");
    let paused = said(|generator| generator.longest_stall_ns = 300_000_000);
    assert!(paused.contains("a load thread stood still for 0.30 s") && !paused.contains("no-cpu-idle"), "{paused}");
}
