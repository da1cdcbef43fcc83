//! How far the generator's own lateness moved the numbers of a load level (docs/decisions/0017-lateness.md).

use plimsoll_drive::engine::Shifted;
use plimsoll_model::Reason;
use plimsoll_report::findings::MovedNumber;
use plimsoll_stats::Times;

use super::validity::Level;

/// The generator may have moved a number by this share of it: what is stated of every number of a run (MEASUREMENT.md).
pub(super) const TOLERANCE: f64 = 0.05;

/// A number of a distribution: its name, and how it is read off, ns.
type Number = (&'static str, fn(&Times) -> Option<f64>);

/// What a verdict hangs on.
const BODY: [Number; 4] = [
    ("mean", |times| times.moments().mean_ns()),
    ("p50", |times| Some(times.percentile_ns(50.0)? as f64)),
    ("p90", |times| Some(times.percentile_ns(90.0)? as f64)),
    ("p95", |times| Some(times.percentile_ns(95.0)? as f64)),
];
/// What few requests decide: without it the rest still stands.
const TAIL: [Number; 3] = [
    ("p99", |times| Some(times.percentile_ns(99.0)? as f64)),
    ("p99.9", |times| Some(times.percentile_ns(99.9)? as f64)),
    ("max", |times| Some(times.moments().max_ns()? as f64)),
];
/// Numbers of which a reason says by how much they were moved; the JSON has all.
const SHOWN: usize = 3;
const THROUGHPUT: &str = "throughput";
const FROM_INTENDED: &str = " from the intended start";

/// What a level's numbers would be had the generator been on time.
pub(super) struct Judged {
    /// Those that it moved by more than the tolerance, the tail's last.
    pub(super) moved: Vec<MovedNumber>,
    /// One of them is not of the tail.
    body: bool,
    /// Those that stand.
    stand: Vec<String>,
}

/// Looks at every number.
pub(super) fn judge(level: &Level<'_>) -> Judged {
    let mut judged = Judged { moved: Vec::new(), body: false, stand: Vec::new() };
    let lateness = &level.generator.lateness;
    let lost = lost_share(level);
    if level.generator.asked_rate.is_none() && level.seconds > 0.0 {
        let reported = level.generator.answered.requests as f64 / level.seconds;
        judged.body(THROUGHPUT.to_owned(), reported, reported / (1.0 - lost));
    }
    let bound = if lateness.unstamped > 0 { 1.0 - lost } else { 1.0 };
    // Under a schedule the time from the intended start is the headline; else there is none.
    let sets = [(&lateness.from_intended, FROM_INTENDED), (&lateness.response, "")];
    let named = |(name, _): &Number, suffix: &str| format!("{name}{suffix}");
    for (times, suffix) in sets {
        for number in &BODY {
            if let Some((reported, on_time)) = both(times, number) {
                // Where the kernel stamped nothing the threads' waiting is all that is known; it is in the mean at most.
                let on_time = if number.0 == "mean" { on_time.min(reported * bound) } else { on_time };
                judged.body(named(number, suffix), reported / 1e9, on_time / 1e9);
            }
        }
    }
    for (times, suffix) in sets {
        for number in &TAIL {
            if let Some((reported, on_time)) = both(times, number) {
                judged.tail(named(number, suffix), reported / 1e9, on_time / 1e9);
            }
        }
    }
    judged
}

/// Why a level is not valid for that; `None` where no number moved.
pub(super) fn late(level: &Level<'_>) -> Option<Reason> {
    let judged = judge(level);
    if judged.moved.is_empty() {
        return None;
    }
    let numbers: Vec<String> = judged.moved.iter().take(SHOWN).map(shown).collect();
    let stand = match judged.stand.as_slice() {
        [] => "no number of this level stands".to_owned(),
        [one] => format!("{one} stands"),
        several => format!("{} stand", several.join(", ")),
    };
    let text = format!(
        "the load generator was late: on time, {} (limit {:.0} %); {stand}{}",
        numbers.join(", "),
        TOLERANCE * 100.0,
        advice(level)
    );
    Some(if judged.body { Reason::invalid(text) } else { Reason::partial(text) })
}

/// What a hypervisor took is in no stamp: while it had the processor the kernel saw nothing either.
pub(super) fn stolen(level: &Level<'_>) -> Option<Reason> {
    let stolen = level.generator.stolen_ns? as f64 / 1e9;
    let share = stolen / (level.seconds * level.generator.workers.len().max(1) as f64);
    (share > TOLERANCE).then(|| {
        Reason::invalid(format!(
            "the hypervisor kept this machine's processors from running for {stolen:.2} s of the phase of {:.2} s ({:.0} % of the \
             threads' time, limit {:.0} %); use a machine that is not shared",
            level.seconds,
            share * 100.0,
            TOLERANCE * 100.0
        ))
    })
}

/// That nobody can tell whether the generator was late.
pub(super) fn unknown(level: &Level<'_>) -> Option<Reason> {
    let lateness = &level.generator.lateness;
    let blind = lateness.unstamped > 0 && run_delay_s(level).is_none();
    blind.then(|| {
        Reason::partial(
            "whether the load generator was late is not known: the kernel says neither when answers came nor how long threads waited for \
             a processor (/proc/thread-self/schedstat)",
        )
    })
}

impl Judged {
    fn body(&mut self, name: String, reported: f64, on_time: f64) {
        self.body |= self.tail(name, reported, on_time);
    }

    /// Whether the number was moved.
    fn tail(&mut self, name: String, reported: f64, on_time: f64) -> bool {
        let moved = (reported - on_time).abs() > TOLERANCE * reported;
        if moved {
            self.moved.push(MovedNumber { number: name, reported, on_time });
        } else {
            self.stand.push(name);
        }
        moved
    }
}

fn both(times: &Shifted, (_, read): &Number) -> Option<(f64, f64)> {
    Some((read(&times.measured)?, read(&times.on_time)?))
}

/// The share of their time for which lanes stood still because the generator was late, below 1.
fn lost_share(level: &Level<'_>) -> f64 {
    let lateness = &level.generator.lateness;
    let lanes = level.lanes.max(1) as f64;
    let seen = lateness.lost_ns as f64 / 1e9 / (level.seconds * lanes);
    let waited = if lateness.unstamped > 0 { others_share(level).unwrap_or(0.0) } else { 0.0 };
    // No level ends in which nothing was done.
    seen.max(waited).clamp(0.0, 0.999)
}

/// The share of the threads' time for which others had the processors that they waited for. What they waited for each other is none of
/// it: more threads than processors are what was asked for.
fn others_share(level: &Level<'_>) -> Option<f64> {
    let workers = &level.generator.workers;
    let own: f64 =
        workers.iter().map(|worker| (worker.user_ns + worker.system_ns + worker.polled_ns) as f64 / 1e9).sum();
    let elapsed: f64 = workers.iter().map(|worker| worker.elapsed_ns as f64 / 1e9).sum();
    let others = (level.processors as f64 * level.seconds - own).max(0.0);
    (elapsed > 0.0).then_some(run_delay_s(level)?.min(others) / elapsed)
}

/// How long the threads waited for a processor, s.
pub(super) fn run_delay_s(level: &Level<'_>) -> Option<f64> {
    let waits = level.generator.workers.iter().map(|worker| Some(worker.run_delay_ns? as f64 / 1e9));
    waits.sum()
}

fn advice(level: &Level<'_>) -> String {
    let elapsed: f64 = level.generator.workers.iter().map(|worker| worker.elapsed_ns as f64 / 1e9).sum();
    match run_delay_s(level) {
        Some(waited) if waited > TOLERANCE * elapsed => format!(
            "; its threads waited {waited:.2} s of {elapsed:.2} s for a processor that others had: leave it processors of its own"
        ),
        // Where no start was planned no timer woke a processor that slept: the kernel did, when an answer came.
        _ if level.generator.kept_awake || level.generator.schedule_lag.moments().count() == 0 => String::new(),
        _ => "; --keep-awake helps where processors sleep".to_owned(),
    }
}

fn shown(moved: &MovedNumber) -> String {
    let MovedNumber { number, reported, on_time } = moved;
    match number.as_str() {
        THROUGHPUT => format!("throughput would be up to {on_time:.0} op/s, not {reported:.0}"),
        _ => format!("{number} would be {}, not {}", time(*on_time), time(*reported)),
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_drive::engine::{Answered, Generator, Lateness, WorkerCpu};

    use super::*;

    /// So many requests of 100 µs, of which the last `late` were read 8 ms late.
    fn lateness(requests: u64, late: u64) -> Lateness {
        let mut lateness = Lateness { lost_ns: late * 8_000_000, requests: late, ..Lateness::default() };
        for at in 0..requests {
            let more = if at < requests - late { 0 } else { 8_000_000 };
            lateness.response.measured.record(100_000 + more);
            lateness.response.on_time.record(100_000);
        }
        lateness
    }

    /// Of a phase of a second, on one lane.
    fn verdict(generator: &Generator) -> Vec<Reason> {
        let level =
            Level { generator, stations: &[], users: false, response: None, seconds: 1.0, lanes: 1, processors: 2 };
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
        let tail = verdict(&generator(lateness(10_000, 3)));
        assert!(tail[0].verdict == plimsoll_model::Verdict::Partial, "{tail:?}");
        assert!(
            tail[0].text.contains("on time, p99.9 would be") || tail[0].text.contains("on time, max would be 100.0 µs"),
            "{tail:?}"
        );
        assert!(tail[0].text.contains("throughput, mean, p50, p90, p95, p99"), "{tail:?}");
        // 40 in 4,000 by 8 ms: 320 ms of a second, and 80 of 180 µs.
        let body = verdict(&generator(lateness(4_000, 40)));
        assert_eq!(body[0].verdict, plimsoll_model::Verdict::Invalid);
        assert!(body[0].text.contains("throughput would be up to 5882 op/s, not 4000"), "{body:?}");
        assert!(body[0].text.contains("mean would be 100.0 µs, not 180.0 µs"), "{body:?}");
        assert!(body[0].text.contains("; p50, p90, p95, p99 stand"), "{body:?}");
        assert!(!body[0].text.contains("keep-awake"), "no timer was set, so none was late: {body:?}");
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
        assert!(found[0].text.contains("mean from the intended start would be 100.0 µs, not 400.0 µs"), "{found:?}");
        assert!(!found[0].text.contains("throughput"), "{found:?}");
        assert!(found[0].text.contains("; mean, p50, p90, p95, p99, p99.9, max stand; --keep-awake"), "{found:?}");
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
        assert!(starved[0].text.contains("waited 2.40 s of 4.00 s for a processor"), "{starved:?}");
        assert_eq!(
            blocking(Some(500_000_000), 500_000_000),
            [],
            "four threads that fill two processors wait for each other"
        );
        assert!(blocking(None, 0)[0].text.contains("is not known"));
    }

    #[test]
    fn a_hypervisor_that_takes_much_spoils_all() {
        let with = |stolen_ns| verdict(&Generator { stolen_ns, ..generator(lateness(1_000, 0)) }).len();
        assert_eq!([None, Some(50_000_000), Some(60_000_000)].map(with), [0, 0, 1]);
    }
}
