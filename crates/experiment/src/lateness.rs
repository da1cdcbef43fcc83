//! How far the generator's own lateness moved the numbers of a load level (docs/decisions/0017-lateness.md).

use plimsoll_drive::engine::Shifted;
use plimsoll_model::Reason;
use plimsoll_report::findings::MovedNumber;
use plimsoll_stats::Times;

use super::validity::Level;

/// The generator may have moved a number by this share of it: what is stated of every number of a run (MEASUREMENT.md).
pub(super) const TOLERANCE: f64 = 0.05;
/// Of a number that few requests decide, chance moves more: its interval at 95 %, in standard deviations of a normal distribution.
const NORMAL_95: f64 = 1.96;

/// A number of a distribution.
struct Number {
    name: &'static str,
    read: Read,
    weight: Weight,
    /// With fewer requests it is none of which anything can be said.
    fewest: u64,
}

/// How a number is read off a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Read {
    Mean,
    Percentile(f64),
    Max,
}

/// What it means for a level that a number of it was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// It is invalid.
    Body,
    /// It is partial: few requests decide the number, and the rest stands.
    Tail,
    /// Nothing by itself: one request decides the number.
    One,
}

/// The mean is moved by few requests as well, where throughput and the percentiles of the body stand.
const NUMBERS: [Number; 7] = [
    Number { name: "mean", read: Read::Mean, weight: Weight::Tail, fewest: 2 },
    Number { name: "p50", read: Read::Percentile(50.0), weight: Weight::Body, fewest: 1 },
    Number { name: "p90", read: Read::Percentile(90.0), weight: Weight::Body, fewest: 1 },
    Number { name: "p95", read: Read::Percentile(95.0), weight: Weight::Body, fewest: 1 },
    // Ten requests beyond it.
    Number { name: "p99", read: Read::Percentile(99.0), weight: Weight::Tail, fewest: 1_000 },
    Number { name: "p99.9", read: Read::Percentile(99.9), weight: Weight::Tail, fewest: 10_000 },
    Number { name: "max", read: Read::Max, weight: Weight::One, fewest: 1 },
];
/// Numbers of which a reason says by how much they were moved; the JSON has all.
const SHOWN: usize = 3;
const THROUGHPUT: &str = "throughput";
/// Behind the name of a number under a schedule.
pub const FROM_INTENDED: &str = " from the intended start";

/// A number that was looked at, as it was reported and as it would be had the generator been on time.
struct Looked {
    name: &'static str,
    /// What it is counted from, where that is not the sending.
    since: &'static str,
    weight: Weight,
    reported: f64,
    on_time: f64,
    /// As a share of what was reported.
    limit: f64,
    /// The requests that make the limit higher than [`TOLERANCE`].
    requests: Option<u64>,
}

/// What a level's numbers would be had the generator been on time.
pub(super) struct Judged(Vec<Looked>);

impl Judged {
    /// All of them, moved or not.
    pub(super) fn all(&self) -> Vec<MovedNumber> {
        let shown = |one: &Looked| MovedNumber {
            number: format!("{}{}", one.name, one.since),
            reported: one.reported,
            on_time: one.on_time,
        };
        self.0.iter().map(shown).collect()
    }
}

/// Looks at every number.
pub(super) fn judge(level: &Level<'_>) -> Judged {
    let mut all = Vec::new();
    let lateness = &level.generator.lateness;
    let lost = lost_share(level);
    if level.generator.asked_rate.is_none() && level.seconds > 0.0 {
        let reported = level.generator.answered.requests as f64 / level.seconds;
        let (on_time, limit) = (reported / (1.0 - lost), TOLERANCE);
        let (name, since, weight) = (THROUGHPUT, "", Weight::Body);
        all.push(Looked { name, since, weight, reported, on_time, limit, requests: None });
    }
    let stamped = lateness.unstamped == 0;
    // Under a schedule the time from the intended start is the headline; else there is none.
    for (times, since) in [(&lateness.from_intended, FROM_INTENDED), (&lateness.response, "")] {
        for number in &NUMBERS {
            let Some((reported, on_time)) = both(times, number) else { continue };
            let (limit, requests) = limit(times, number, reported);
            let mut looked =
                Looked { name: number.name, since, weight: number.weight, reported, on_time, limit, requests };
            if number.read == Read::Mean && !stamped {
                // Where the kernel stamped nothing the threads' waiting is all that is known. It is in the mean at most, and
                // percentiles that do not show it need not stand.
                looked.on_time = on_time.min(reported * (1.0 - lost));
                looked.weight = Weight::Body;
            }
            all.push(looked);
        }
    }
    Judged(all)
}

/// Why a level is not valid for that; `None` where no number moved that decides it.
pub(super) fn late(level: &Level<'_>) -> Option<Reason> {
    let judged = judge(level);
    let heaviest = judged.moved().map(|looked| looked.weight).min_by_key(|weight| match weight {
        Weight::Body => 0,
        Weight::Tail => 1,
        Weight::One => 2,
    })?;
    if heaviest == Weight::One {
        return None;
    }
    let text = format!("the load generator was late: on time, {}; {}{}", judged.shown(), judged.stand(), advice(level));
    Some(if heaviest == Weight::Body { Reason::invalid(text) } else { Reason::partial(text) })
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
    /// Those that were moved by more than their limit.
    fn moved(&self) -> impl Iterator<Item = &Looked> {
        self.0.iter().filter(|looked| looked.is_moved())
    }

    /// As reports want them.
    pub(super) fn moved_numbers(&self) -> Vec<MovedNumber> {
        let number = |looked: &Looked| {
            let unit = if looked.name == THROUGHPUT { 1.0 } else { 1e9 };
            let (reported, on_time) = (looked.reported / unit, looked.on_time / unit);
            MovedNumber { number: format!("{}{}", looked.name, looked.since), reported, on_time }
        };
        self.moved().map(number).collect()
    }

    /// From which instant the times count that lead.
    fn leading(&self) -> &'static str {
        self.0.iter().find(|looked| looked.name != THROUGHPUT).map_or("", |looked| looked.since)
    }

    /// The first of those that were moved, from one instant after the other.
    fn shown(&self) -> String {
        let leading = self.leading();
        let mut since = "";
        let mut shown = Vec::new();
        for looked in self.moved().take(SHOWN) {
            let from = if looked.since == since { "" } else { looked.since };
            since = looked.since;
            // Two times of one name stand in a report of a schedule: tables call the second one uncorrected.
            let is_second = looked.name != THROUGHPUT && looked.since != leading;
            shown.push(format!("{}{}", if is_second { "uncorrected " } else { "" }, looked.shown(from)));
        }
        let more = self.moved().count().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" ({more} more)") } else { String::new() };
        format!("{}{more}", shown.join(", "))
    }

    /// Those that stand, of the time that leads.
    fn stand(&self) -> String {
        let since = self.leading();
        let of_the_headline = self.0.iter().filter(|looked| looked.since == since || looked.name == THROUGHPUT);
        let names: Vec<&str> = of_the_headline.filter(|looked| !looked.is_moved()).map(|looked| looked.name).collect();
        match names.as_slice() {
            [] => "no number of this level stands".to_owned(),
            [one] => format!("{one}{since} stands"),
            several => format!("{}{since} stand", several.join(", ")),
        }
    }
}

impl Looked {
    fn is_moved(&self) -> bool {
        (self.reported - self.on_time).abs() > self.limit * self.reported
    }

    fn shown(&self, from: &str) -> String {
        let Self { name, reported, on_time, limit, requests, .. } = self;
        let limit = match requests {
            Some(requests) => format!("limit {:.0} %, of {requests} requests", limit * 100.0),
            None => format!("limit {:.0} %", limit * 100.0),
        };
        match *name {
            THROUGHPUT => format!("throughput would be up to {on_time:.0} op/s, not {reported:.0} ({limit})"),
            _ => format!("{name}{from} would be {}, not {} ({limit})", time(on_time / 1e9), time(reported / 1e9)),
        }
    }
}

impl Read {
    /// Of a distribution, ns.
    fn of(self, times: &Times) -> Option<f64> {
        match self {
            Read::Mean => times.moments().mean_ns(),
            Read::Percentile(percentile) => Some(times.percentile_ns(percentile)? as f64),
            Read::Max => Some(times.moments().max_ns()? as f64),
        }
    }

    /// How far above itself chance may move it at 95 %, ns: of a mean by the normal approximation, of a percentile by the times at the
    /// ranks within which it lies then.
    fn uncertainty(self, times: &Times) -> Option<f64> {
        let count = times.moments().count() as f64;
        match self {
            Read::Mean => Some(NORMAL_95 * times.moments().stddev_ns()? / count.sqrt()),
            Read::Percentile(percentile) => {
                let share = percentile / 100.0;
                let rank = (count * share + NORMAL_95 * (count * share * (1.0 - share)).sqrt()).ceil().min(count);
                Some((times.percentile_ns(100.0 * rank / count)? as f64 - self.of(times)?).max(0.0))
            }
            Read::Max => None,
        }
    }
}

/// The number as reported and on time, ns; `None` where too few requests decide it.
fn both(times: &Shifted, number: &Number) -> Option<(f64, f64)> {
    let enough = times.measured.moments().count() >= number.fewest;
    Some((number.read.of(&times.measured)?, number.read.of(&times.on_time)?)).filter(|_| enough)
}

/// By which share of it a number may have been moved, and the requests that make it more than [`TOLERANCE`]. Chance is seen in the
/// times without the lateness: what starves a run would widen the interval of those with it, and excuse itself.
fn limit(times: &Shifted, number: &Number, reported: f64) -> (f64, Option<u64>) {
    let chance = number.read.uncertainty(&times.on_time).unwrap_or(0.0) / reported;
    match chance > TOLERANCE {
        true => (chance, Some(times.measured.moments().count())),
        false => (TOLERANCE, None),
    }
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

/// What to say of a level whose verdict none of the moved numbers decides; `None` where none was moved.
pub(super) fn caution(moved: &[MovedNumber]) -> Option<String> {
    let shown = |MovedNumber { number, reported, on_time }: &MovedNumber| {
        format!("{number} would be {}, not {}", time(*on_time), time(*reported))
    };
    let all: Vec<String> = moved.iter().map(shown).collect();
    (!all.is_empty())
        .then(|| format!("the load generator was late for the slowest request: on time, {}", all.join(", ")))
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

    /// A phase of a second, on one lane.
    fn level(generator: &Generator) -> Level<'_> {
        Level { generator, stations: &[], users: false, response: None, seconds: 1.0, lanes: 1, processors: 2 }
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
        assert!(tail[0].text.contains("p99.9 would be 100.0 µs, not 8."), "{tail:?}");
        assert!(tail[0].text.contains("p50, p90, p95, p99 stand"), "{tail:?}");
        // 40 in 4,000 by 8 ms: 320 ms of a second, and 80 of 180 µs.
        let body = verdict(&generator(lateness(4_000, 40)));
        assert_eq!(body[0].verdict, plimsoll_model::Verdict::Invalid);
        assert!(body[0].text.contains("throughput would be up to 5882 op/s, not 4000 (limit 5 %)"), "{body:?}");
        assert!(body[0].text.contains("mean would be 100.0 µs, not 180.0 µs"), "{body:?}");
        assert!(body[0].text.contains("; p50, p90, p95, p99 stand"), "{body:?}");
        assert!(!body[0].text.contains("keep-awake"), "no timer was set, so none was late: {body:?}");
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
            said.starts_with("the load generator was late: on time, mean from the intended start would be"),
            "{said}"
        );
        assert!(said.ends_with("; p50, p90, p95 from the intended start stand"), "{said}");
        // 8 % of them are p95.
        let found = verdict(&scheduled(1_500, 120));
        assert_eq!(found[0].verdict, plimsoll_model::Verdict::Invalid, "{found:?}");
    }

    #[test]
    fn the_slowest_request_costs_no_verdict() {
        let generator = scheduled(1_500, 1);
        assert_eq!(verdict(&generator), []);
        let moved = judge(&level(&generator)).moved_numbers();
        let said = caution(&moved).unwrap();
        assert!(said.contains("max from the intended start would be") && caution(&[]).is_none(), "{said}");
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
        assert!(found[0].text.contains("(limit ") && found[0].text.contains(" %, of 100 requests)"), "{found:?}");
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
        let expected = "mean from the intended start would be 100.0 µs, not 400.0 µs (limit 5 %), p50 would be";
        assert!(
            said.contains(expected) && said.contains(" (3 more); no number of this level stands; --keep-awake"),
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
