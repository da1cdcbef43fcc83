//! Effect of the generator's own lateness on the numbers of a load level (docs/decisions/0017-lateness.md).

use plimsoll_drive::engine::Shifted;
use plimsoll_model::Reason;
use plimsoll_report::findings::MovedNumber;
use plimsoll_report::significant;
use plimsoll_results::SentenceUnit;
use plimsoll_stats::Times;

use super::validity::Level;

/// Maximum relative effect of the generator on a number, as stated for every number of a run (MEASUREMENT.md).
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

/// Consequence for a level if one of its numbers was affected.
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
    Number { name: "p95", read: Read::Percentile(95.0), weight: Weight::Tail, fewest: 1 },
    // Ten requests beyond it.
    Number { name: "p99", read: Read::Percentile(99.0), weight: Weight::Tail, fewest: 1_000 },
    Number { name: "p99.9", read: Read::Percentile(99.9), weight: Weight::Tail, fewest: 10_000 },
    Number { name: "max", read: Read::Max, weight: Weight::One, fewest: 1 },
];
/// Maximum number of affected numbers in a reason; the JSON has all of them.
const SHOWN: usize = 3;
const THROUGHPUT: &str = "throughput";
/// Waiting for a processor is the cause of the lateness where it is at least this share of all lags.
const CAUSE: f64 = 0.5;
/// A longer delay has other causes than CPU idle states and timers, s.
const LONGEST_WAKING_S: f64 = 0.05;
/// Behind the name of a number under a schedule.
pub const FROM_INTENDED: &str = " from the intended start";

/// A number that was looked at, as it was reported and as it would be had the generator been on time.
struct Looked {
    name: &'static str,
    /// The start of the measured time, if it is not the sending.
    since: &'static str,
    weight: Weight,
    reported: f64,
    on_time: f64,
    /// Relative to the reported number.
    limit: f64,
    /// The requests that make the limit higher than [`TOLERANCE`].
    requests: Option<u64>,
}

/// A level's numbers if the generator had been on time.
pub(super) struct Judged(Vec<Looked>);

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
    let schedule = lateness.from_intended.measured.moments().count() > 0;
    // Under a schedule the headline is the time from the intended start; otherwise there is no intended start.
    for (times, since) in [(&lateness.from_intended, FROM_INTENDED), (&lateness.response, "")] {
        for number in &NUMBERS {
            let Some((reported, on_time)) = both(times, number) else { continue };
            let (limit, requests) = limit(times, number, reported);
            let mut looked =
                Looked { name: number.name, since, weight: number.weight, reported, on_time, limit, requests };
            // Only one of the two times is the headline: if only the other was affected, the headline is valid.
            if looked.weight == Weight::Body && since.is_empty() && schedule {
                looked.weight = Weight::Tail;
            }
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
    late_with(level, |judged| format!("; {}", judged.stand()))
}

/// The same alone, and beside another reason that makes the level INVALID: then no number is named as reliable.
pub(super) fn alone_and_beside(level: &Level<'_>) -> Option<[Reason; 2]> {
    Some([late(level)?, late_with(level, |_| String::new())?])
}

fn late_with(level: &Level<'_>, verdict: impl Fn(&Judged) -> String) -> Option<Reason> {
    let judged = judge(level);
    let heaviest = judged.moved().map(|looked| looked.weight).min_by_key(|weight| match weight {
        Weight::Body => 0,
        Weight::Tail => 1,
        Weight::One => 2,
    })?;
    if heaviest == Weight::One {
        return None;
    }
    let text = format!(
        "the load generator was late: without that delay, {numbers}{verdict}{advice}",
        numbers = judged.shown(),
        verdict = verdict(&judged),
        advice = advice(level),
    );
    Some(if heaviest == Weight::Body { Reason::invalid(text) } else { Reason::partial(text) })
}

/// No timestamp shows steal time: while the hypervisor had the processor, the kernel did not run either.
pub(super) fn stolen(level: &Level<'_>) -> Option<Reason> {
    let stolen = level.generator.stolen_ns? as f64 / 1e9;
    // Threads that share a processor lose its time together.
    let used = level.generator.workers.len().min(level.processors).max(1);
    let share = stolen / (level.seconds * used as f64);
    (share > TOLERANCE).then(|| {
        Reason::invalid(format!(
            "steal time: the hypervisor withheld CPU time from this machine for {stolen:.2} s in a phase of {length:.2} s ({share:.0} % \
            of the time of the processors that its load threads can use, limit {limit:.0} %); use a dedicated machine",
            length = level.seconds,
            share = share * 100.0,
            limit = TOLERANCE * 100.0
        ))
    })
}

/// The reason that the generator's lateness is unknown.
pub(super) fn unknown(level: &Level<'_>) -> Option<Reason> {
    let lateness = &level.generator.lateness;
    let blind = lateness.unstamped > 0 && run_delay_s(level).is_none();
    blind.then(|| {
        Reason::partial(
            "the delay of the load generator is unknown: the kernel reports neither receive timestamps nor run-queue delay \
            (/proc/thread-self/schedstat)",
        )
    })
}

impl Judged {
    /// Those that were moved by more than their limit.
    fn moved(&self) -> impl Iterator<Item = &Looked> {
        self.0.iter().filter(|looked| looked.is_moved())
    }

    /// Those that were moved, as reports have them.
    pub(super) fn moved_numbers(&self) -> Vec<MovedNumber> {
        self.moved().map(Looked::number).collect()
    }

    /// All numbers, affected or not.
    pub(super) fn all(&self) -> Vec<MovedNumber> {
        self.0.iter().map(Looked::number).collect()
    }

    /// From which instant the times count that lead.
    fn leading(&self) -> &'static str {
        self.0.iter().find(|looked| looked.name != THROUGHPUT).map_or("", |looked| looked.since)
    }

    /// The first affected numbers, of each start.
    fn shown(&self) -> String {
        let leading = self.leading();
        let mut since = "";
        let mut shown = Vec::new();
        let times = self.moved().take(SHOWN).filter(|looked| looked.name != THROUGHPUT);
        let unit = SentenceUnit::of(times.flat_map(|looked| [looked.on_time / 1e9, looked.reported / 1e9]));
        for looked in self.moved().take(SHOWN) {
            let from = if looked.since == since { "" } else { looked.since };
            since = looked.since;
            // Two times of one name stand in a report of a schedule: tables call the second one uncorrected.
            let is_second = looked.name != THROUGHPUT && looked.since != leading;
            shown.push(format!("{}{}", if is_second { "uncorrected " } else { "" }, looked.shown(from, unit)));
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
            [] => "no number of this level is reliable".to_owned(),
            [one] => format!("{one}{since} is reliable"),
            several => format!("{}{since} are reliable", several.join(", ")),
        }
    }
}

impl Looked {
    /// In the units of reports: s, op/s.
    fn number(&self) -> MovedNumber {
        let unit = if self.name == THROUGHPUT { 1.0 } else { 1e9 };
        let (reported, on_time) = (self.reported / unit, self.on_time / unit);
        MovedNumber { number: format!("{}{}", self.name, self.since), reported, on_time }
    }

    fn is_moved(&self) -> bool {
        (self.reported - self.on_time).abs() > self.limit * self.reported
    }

    fn shown(&self, from: &str, unit: SentenceUnit) -> String {
        let Self { name, reported, on_time, limit, requests, .. } = self;
        let limit = match requests {
            Some(requests) => format!("allowed difference {:.0} % with {requests} requests", limit * 100.0),
            None => format!("allowed difference {:.0} %", limit * 100.0),
        };
        match *name {
            THROUGHPUT => {
                // Rounded as in tables: a number must not look like two.
                let (on_time, reported) = (significant(*on_time), significant(*reported));
                format!("throughput would be up to {on_time} op/s, not {reported} ({limit})")
            }
            _ => format!(
                "{name}{from} would be {}, not {} ({limit})",
                unit.show(on_time / 1e9),
                unit.show(reported / 1e9)
            ),
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

/// The share of their time for which slots stood still because the generator was late, below 1.
fn lost_share(level: &Level<'_>) -> f64 {
    let lateness = &level.generator.lateness;
    let slots = level.slots.max(1) as f64;
    let seen = lateness.lost_ns as f64 / 1e9 / (level.seconds * slots);
    let waited = if lateness.unstamped > 0 { others_share(level).unwrap_or(0.0) } else { 0.0 };
    // No level ends in which nothing was done.
    seen.max(waited).clamp(0.0, 0.999)
}

/// Fraction of the threads' time in which other programs had the processors that they waited for.
fn others_share(level: &Level<'_>) -> Option<f64> {
    let elapsed = elapsed_s(level);
    (elapsed > 0.0).then_some(others_s(level)? / elapsed)
}

/// Upper bound of the time that other programs had the processors that the threads waited for, s. Without waits of the threads for each
/// other, because the user requested more threads than processors.
fn others_s(level: &Level<'_>) -> Option<f64> {
    let workers = &level.generator.workers;
    let own: f64 =
        workers.iter().map(|worker| (worker.user_ns + worker.system_ns + worker.polled_ns) as f64 / 1e9).sum();
    let others = (level.processors as f64 * level.seconds - own).max(0.0);
    Some(run_delay_s(level)?.min(others))
}

/// How long the threads measured, all together, s.
fn elapsed_s(level: &Level<'_>) -> f64 {
    level.generator.workers.iter().map(|worker| worker.elapsed_ns as f64 / 1e9).sum()
}

/// How late starts and reads were, all together, s.
fn lags_s(level: &Level<'_>) -> f64 {
    let lags = [&level.generator.schedule_lag, &level.generator.wake_up_lag];
    lags.iter().map(|lag| lag.moments().sum_ns() as f64 / 1e9).sum()
}

/// How long the threads waited for a processor, s.
pub(super) fn run_delay_s(level: &Level<'_>) -> Option<f64> {
    let waits = level.generator.workers.iter().map(|worker| Some(worker.run_delay_ns? as f64 / 1e9));
    waits.sum()
}

fn advice(level: &Level<'_>) -> String {
    let elapsed = elapsed_s(level);
    // One wait makes every request late that is due or answered meanwhile: where there are many, the lags exceed their cause by far.
    let is_cause = |waited: f64| waited > 0.0 && (waited >= CAUSE * lags_s(level) || waited > TOLERANCE * elapsed);
    let throttled = level.generator.throttled_ns.map_or(0.0, |ns| ns as f64 / 1e9);
    let stalled = level.generator.longest_stall_ns as f64 / 1e9;
    if is_cause(throttled) {
        return format!(
            "; the CPU limit of the control group stopped this process for {throttled:.2} s (all CPUs together) in a phase of {length:.2} s: \
            raise the limit (cpu.max; in a container its CPU limit)",
            length = level.seconds
        );
    }
    match run_delay_s(level) {
        Some(waited) if is_cause(waited) => contention(level, waited, elapsed),
        // Leaving an idle state takes a CPU less than a millisecond.
        _ if stalled >= LONGEST_WAKING_S => format!(
            "; a load thread stood still for {stalled:.2} s: the process or the machine was paused, or the thread waited for memory or a disk"
        ),
        // Where no start was planned no timer woke a processor that slept: the kernel did, when an answer came.
        _ if level.generator.no_cpu_idle || level.generator.schedule_lag.moments().count() == 0 => String::new(),
        _ => "; try --no-cpu-idle, which prevents CPU idle states".to_owned(),
    }
}

/// Advice for threads that waited this long for a processor, s. The competing program is unknown: an embedded server is part of this
/// process.
fn contention(level: &Level<'_>, waited: f64, elapsed: f64) -> String {
    let (threads, processors) = (level.generator.workers.len(), level.processors);
    let decimals = if waited < 0.1 { 3 } else { 2 };
    let waited_for = format!("; the load threads waited {waited:.decimals$} s of {elapsed:.2} s for a CPU");
    let for_each_other = threads > processors && others_s(level).is_some_and(|others| others < CAUSE * waited);
    if for_each_other {
        let cpus = if processors == 1 { "1 CPU".to_owned() } else { format!("{processors} CPUs") };
        format!("{waited_for} ({threads} threads on {cpus}): use fewer threads")
    } else {
        format!("{waited_for}: reserve CPUs for the load generator (docs/load-generators.md)")
    }
}

#[cfg(test)]
mod tests;
