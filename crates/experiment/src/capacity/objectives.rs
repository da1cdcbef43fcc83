//! Service-level objectives: `--hold "p99 < 20ms"`, and those that always hold.

use plimsoll_client::operation::Cause;
use plimsoll_report::collect::times_of;
use plimsoll_report::findings::{MovedNumber, Times};
use plimsoll_stats::Accumulator;
use plimsoll_stats::comparison::{Metric, Scope, Unit, fewest_of_percentile};

use crate::lateness::FROM_INTENDED;
use crate::level::LevelResult;
use crate::level::frequent_status::most_frequent;
use plimsoll_results::ProcedureSet;
use plimsoll_results::Usage;
use plimsoll_results::comparison::{Condition, Threshold};

/// Service-level objectives. Always among them: no failed operation, no client without service, no wrong data, no outage of most of the
/// phase, and no iteration of the schedule late or never started.
#[derive(Clone, Debug, Default)]
pub(super) struct Objectives {
    /// Those that were given.
    given: Vec<Condition>,
}

/// Whether a run met them all.
pub(super) enum Outcome {
    Met,
    /// Which were missed, and by how much.
    Missed(Vec<String>),
    /// Nothing was missed, because the run requested nothing: why it cannot be judged.
    Nothing(String),
    /// Nothing was missed, but the run has too few requests for a percentile.
    TooFew(Vec<String>),
    /// Nothing was missed, but the run has no number for these.
    Unknown(Vec<String>),
}

/// Parses an objective: a condition on a number itself. Of times and errors it is an upper limit.
///
/// # Errors
/// It is no condition, or one on a change against a baseline, or a lower limit of a time or of errors.
pub fn parse(text: &str) -> Result<Condition, String> {
    let condition = Condition::parse_without_baseline(text)?;
    let is_rate = matches!(condition.metric.unit(), Unit::OperationsPerSecond | Unit::BytesPerSecond);
    // Throughput grows with the load, and falls under too much of it: both limits have a meaning.
    match condition.more && !is_rate {
        false => Ok(condition),
        true => Err(format!("{text}: an objective for a time or for errors is an upper limit; use < instead of >")),
    }
}

impl Objectives {
    /// The objectives with these conditions.
    ///
    /// # Errors
    /// A condition is not valid.
    pub(super) fn parse(conditions: &[String]) -> Result<Self, Usage> {
        let given = conditions.iter().map(|condition| parse(condition)).collect::<Result<_, _>>().map_err(Usage)?;
        Ok(Self { given })
    }

    /// The objectives in words.
    pub(super) fn words(&self, scheduled: bool) -> Vec<String> {
        let late = scheduled.then(|| "no user late".to_owned());
        let always = ["no errors".to_owned()].into_iter().chain(late);
        always.chain(self.given.iter().map(|condition| condition.text.clone())).collect()
    }

    /// The longest wait at the end of a run that one of them allows, s; `None` if none is about time. At a load that is slightly too high, waits
    /// grow evenly from 0 to this wait: their mean is half of it, their 95th percentile 0.95 of it.
    pub(super) fn longest_wait_s(&self) -> Option<f64> {
        let wait = |condition: &Condition| {
            let Threshold::Value(limit) = condition.threshold else { return None };
            let part = match condition.metric {
                Metric::Mean => 0.5,
                metric => metric.percentile()? / 100.0,
            };
            Some(limit / part)
        };
        self.given.iter().filter(|condition| !condition.more).filter_map(wait).reduce(f64::max)
    }

    /// Whether a run would have missed one as well had the load generator been on time: then its lateness is not the cause.
    pub(super) fn missed_on_time(&self, ran: &LevelResult, scheduled: bool) -> bool {
        ran.on_time()
            .is_some_and(|numbers| self.given.iter().any(|condition| missed_on_time(condition, numbers, scheduled)))
    }

    /// Why a run without requests cannot be judged.
    fn without_requests(&self, ran: &LevelResult, why: &str, scheduled: bool) -> String {
        let missing = self.given.iter().filter(|condition| value(condition, ran, scheduled).is_none());
        let without: Vec<String> = missing.map(number_name).collect();
        not_judged(ran.load_name(), why, &without)
    }

    /// Whether a run met them; `scheduled`: its starts had a schedule.
    pub(super) fn judge(&self, ran: &LevelResult, scheduled: bool) -> Outcome {
        let mut missed = failed(ran);
        if ran.late_iterations() > 0 {
            missed.push(format!(
                "iterations that ended after the same user's next iteration was due: {}",
                ran.late_iterations()
            ));
        }
        if ran.never_sent() > 0 {
            missed.push(format!("iterations that were never started: {}", ran.never_sent()));
        }
        // A server that falls behind slowly ends iterations later and later.
        missed.extend([ran.behind(), ran.ended_later()].into_iter().flatten().map(str::to_owned));
        missed.extend_from_slice(ran.unserved());
        // The clients were fewer than the load says.
        missed.extend(ran.machines_fault().map(str::to_owned));
        let mut unknown = Vec::new();
        for condition in &self.given {
            match value(condition, ran, scheduled) {
                Some(value) => missed.extend(missed_by(condition, value)),
                None => unknown.push(format!("{}: the run has no number for {}", condition.text, condition.name)),
            }
        }
        if !missed.is_empty() {
            return Outcome::Missed(missed);
        }
        if let Some(why) = ran.nothing() {
            return Outcome::Nothing(self.without_requests(ran, &why, scheduled));
        }
        if !unknown.is_empty() {
            return Outcome::Unknown(unknown);
        }
        let too_few: Vec<String> =
            self.given.iter().filter_map(|condition| too_few_of(condition, ran, scheduled)).collect();
        if too_few.is_empty() { Outcome::Met } else { Outcome::TooFew(too_few) }
    }
}

/// Failures by cause. All error statuses are one cause, with the most frequent of them.
fn failed(ran: &LevelResult) -> Vec<String> {
    let label = Cause::Status.label();
    let (statuses, others): (Vec<_>, Vec<_>) = ran.failures().partition(|(cause, _)| cause.starts_with(label));
    let count: u64 = statuses.iter().map(|(_, count)| count).sum();
    let most = most_frequent(ran.statistics(), statuses.iter().map(|(cause, count)| (cause.as_str(), *count)));
    let most = most.map_or_else(String::new, |status| format!(", most frequent {status}"));
    let of_statuses = (count > 0).then(|| format!("{label}: {count}{most}"));
    of_statuses.into_iter().chain(others.iter().map(|(cause, count)| format!("{cause}: {count}"))).collect()
}

/// Why a run cannot be judged that did what `why` says.
fn not_judged(load: &str, why: &str, without: &[String]) -> String {
    let so = if without.is_empty() { "cannot be judged".to_owned() } else { format!("has no {}", without.join(", ")) };
    format!("the run at {load} {why}, so it {so}")
}

/// How a number misses a condition; `None` where it meets it.
fn missed_by(condition: &Condition, value: f64) -> Option<String> {
    let Threshold::Value(limit) = condition.threshold else { return None };
    let held = if condition.more { value > limit } else { value < limit };
    (!held).then(|| format!("{}: it was {}", condition.text, shown(condition.metric, value)))
}

/// Why a run says nothing of a condition that it does not miss. The slowest of few requests is below a high percentile by chance; if even
/// that one is too slow, more requests would not make it faster.
fn too_few_of(condition: &Condition, ran: &LevelResult, scheduled: bool) -> Option<String> {
    too_few(condition, leading(&row(condition, ran), scheduled)?.count)
}

fn too_few(condition: &Condition, requests: u64) -> Option<String> {
    let fewest = fewest_of_percentile(condition.metric.percentile()?);
    (requests < fewest).then(|| {
        let word = if requests == 1 { "request is" } else { "requests are" };
        format!("{}: not judged, because {requests} {word} too few for it (at least {fewest})", condition.text)
    })
}

/// Whether numbers as they would be without the generator's lateness, which are of all operations together, miss a condition.
fn missed_on_time(condition: &Condition, numbers: &[MovedNumber], scheduled: bool) -> bool {
    let Threshold::Value(limit) = condition.threshold else { return false };
    let since = if scheduled { FROM_INTENDED } else { "" };
    let name_of = |metric: Metric| format!("{}{since}", metric.label());
    let on_time = |name: &str| {
        let found = numbers.iter().find(|number| condition.name == "all" && number.number == name);
        found.map(|found| found.on_time)
    };
    if let Some(found) = on_time(&name_of(condition.metric)) {
        return if condition.more { found <= limit } else { found >= limit };
    }
    // No percentile is below a lower one: with too few requests for p99 the p50 may tell.
    let Some(wanted) = condition.metric.percentile().filter(|_| !condition.more) else { return false };
    [Metric::P50, Metric::P90, Metric::P95, Metric::P99].into_iter().any(|lower| {
        lower.percentile().is_some_and(|percentile| percentile < wanted)
            && on_time(&name_of(lower)).is_some_and(|found| found >= limit)
    })
}

/// The number that it limits; with a schedule, response times from the intended start. (A client's pause is not a schedule: if it is
/// longer than planned, no request waits.)
fn value(condition: &Condition, ran: &LevelResult, scheduled: bool) -> Option<f64> {
    let row = row(condition, ran);
    let of_all = ProcedureSet::named(&condition.name).is_err();
    let times = || leading(&row, scheduled);
    let rate = |amount: u64| (ran.seconds() > 0.0).then(|| amount as f64 / ran.seconds());
    match condition.metric {
        Metric::Throughput if of_all => rate(ran.answered().requests),
        Metric::Bytes if of_all => rate(ran.answered().read_bytes + ran.answered().written_bytes),
        Metric::Throughput => rate(row.answered()),
        Metric::Bytes => row.payload().exact().and_then(rate),
        Metric::Errors => (row.count() > 0).then(|| row.errors() as f64 / row.count() as f64),
        Metric::Mean => times().map(|times| times.mean_s),
        metric => times().map(|times| percentile(&times, metric)),
    }
}

/// The times of a row that a condition limits.
fn leading(row: &Accumulator, scheduled: bool) -> Option<Times> {
    times_of(row.from_intended().filter(|_| scheduled).unwrap_or(&row.response()))
}

/// The operations of a condition together.
fn row(condition: &Condition, ran: &LevelResult) -> Accumulator {
    let mut row = Accumulator::default();
    let wanted = ProcedureSet::named(&condition.name).ok();
    for (procedure, part) in ran.statistics().operations() {
        let among = match &wanted {
            Some(wanted) => wanted.contains(procedure),
            None => Scope::All.holds(procedure),
        };
        if among {
            row.merge(part);
        }
    }
    row
}

/// p99, read.p99.
fn number_name(condition: &Condition) -> String {
    let of_all = ProcedureSet::named(&condition.name).is_err();
    let of = if of_all { String::new() } else { format!("{}.", condition.name) };
    format!("{of}{}", condition.metric.label())
}

fn percentile(times: &Times, metric: Metric) -> f64 {
    match metric {
        Metric::P50 => times.p50_s,
        Metric::P90 => times.p90_s,
        Metric::P95 => times.p95_s,
        Metric::P99 => times.p99_s,
        _ => times.p999_s,
    }
}

fn shown(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Throughput => format!("{value:.1} op/s"),
        Metric::Bytes => format!("{:.2} MB/s", value / 1e6),
        Metric::Errors => format!("{:.3} %", value * 100.0),
        _ => plimsoll_report::duration(value),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Outcome as RequestOutcome, Procedure, Protocol};
    use plimsoll_report::collect::run::MeasuredLevel;
    use plimsoll_stats::{Options, Statistics};
    use plimsoll_testkit::transaction;

    use super::*;

    #[test]
    fn a_late_generator_is_not_to_blame_for_what_is_broken_without_it() {
        let number = |number: &str, on_time| MovedNumber { number: number.to_owned(), reported: 9.0, on_time };
        let numbers = [number("p99", 107e-6), number("p99 from the intended start", 3e-6), number("mean", 5e-6)];
        let broken = |text: &str, scheduled| missed_on_time(&parse(text).unwrap(), &numbers, scheduled);
        assert!(broken("p99 < 1us", false) && broken("p99 < 1us", true));
        assert!(!broken("p99 < 10us", true) && !broken("p99 < 200us", false));
        // The number of an operation that did not occur, or of another metric, is unknown.
        assert!(!broken("getattr.p99 < 1us", false) && !broken("p50 < 1us", false) && !broken("errors < 1%", false));
        assert_eq!(shown(Metric::P99, 107e-6), "107 µs");
    }

    /// Of waits that grow evenly to 2 s, the mean and the median are 1 s.
    #[test]
    fn evenly_growing_waits_hide_behind_a_mean() {
        let of = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
            Objectives::parse(&texts).unwrap().longest_wait_s()
        };
        let mut waits: Vec<f64> = (1..=1_000).map(|place| 2.0 * f64::from(place) / 1_000.0).collect();
        waits.sort_unstable_by(f64::total_cmp);
        assert!((waits.iter().sum::<f64>() / 1_000.0 - 1.0).abs() < 0.01);
        for (text, place) in [("p50 < 1s", 500), ("read.p95 < 1.9s", 950), ("p99 < 1.98s", 990)] {
            let wait = of(&[text]).unwrap();
            let Threshold::Value(limit) = parse(text).unwrap().threshold else { panic!("{text}") };
            assert!((wait - 2.0).abs() < 1e-9 && (waits[place - 1] - limit).abs() < 1e-9, "{text}: {wait}");
        }
        assert_eq!(of(&["mean < 1s"]), Some(2.0));
        assert_eq!(of(&["p50 < 1s", "mean < 3s", "errors < 1%"]), Some(6.0), "the longest");
        assert_eq!((of(&["throughput > 1/s"]), of(&["errors < 1%"]), of(&[])), (None, None, None));
    }

    #[test]
    fn a_time_or_errors_need_an_upper_limit() {
        for (text, use_other) in [
            ("p95 > 50ms", "use < instead of >"),
            ("read.mean > 1s", "use < instead of >"),
            ("errors > 1%", "use < instead of >"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(text) && error.contains(use_other), "{error}");
        }
        assert!(parse("throughput < 100/s").is_ok() && parse("bytes > 80MB/s").is_ok());
        assert!(parse("p95 < 50").unwrap_err().contains("expected ns, us, ms or s\n"));
    }

    #[test]
    fn a_high_percentile_needs_requests_beyond_it() {
        let said = |text: &str, requests| too_few(&parse(text).unwrap(), requests);
        assert_eq!(
            said("p99.9 < 1s", 27).unwrap(),
            "p99.9 < 1s: not judged, because 27 requests are too few for it (at least 10000)"
        );
        assert!(said("p99 < 1s", 999).is_some() && said("p99 < 1s", 1_000).is_none());
        assert!(said("read.p90 < 1s", 99).is_some() && said("p50 < 1s", 1).is_none());
        assert!(said("mean < 1s", 1).is_none() && said("throughput > 1/s", 0).is_none());
    }

    #[test]
    fn a_run_without_requests_says_what_it_lacks() {
        let names = |texts: &[&str]| texts.iter().map(|text| number_name(&parse(text).unwrap())).collect::<Vec<_>>();
        assert_eq!(names(&["p99 < 50ms", "read.mean < 1s"]), ["p99", "read.mean"]);
        assert_eq!(
            not_judged("1 user", "made no request of the workload in 2.50 s", &names(&["p99 < 50ms"])),
            "the run at 1 user made no request of the workload in 2.50 s, so it has no p99"
        );
        assert!(not_judged("1 user", "had no iteration due in 1.00 s", &[]).ends_with("s, so it cannot be judged"));
    }

    /// A client that thinks for longer than the phase renews its lease: SEQUENCE is no request of the workload.
    #[test]
    fn a_run_of_lease_renewals_alone_is_not_judged() {
        let judged = |codes: &[u16], conditions: &[&str]| {
            let mut statistics = Statistics::new(Options::default());
            for &code in codes {
                statistics.record(&transaction(Procedure::of(Protocol::Nfs4, code), 2_000_000, 1_000_000));
            }
            let recorded = MeasuredLevel { statistics, span_ns: (0, 2_000_000_000), ..MeasuredLevel::default() };
            let conditions: Vec<String> = conditions.iter().map(|&condition| condition.to_owned()).collect();
            Objectives::parse(&conditions).unwrap().judge(&LevelResult::of_recording(recorded), false)
        };
        let (sequence, read) = (53, 25);
        let Outcome::Nothing(why) = judged(&[sequence], &[]) else { panic!("it met or missed nothing") };
        assert!(why.contains("made no request of the workload in 2.00 s, so it cannot be judged"), "{why}");
        let Outcome::Nothing(why) = judged(&[sequence], &["p99 < 20ms"]) else { panic!("another load has a p99") };
        assert!(why.ends_with("so it has no p99"), "{why}");
        assert!(matches!(judged(&[sequence, read], &[]), Outcome::Met));
    }

    #[test]
    fn failures_name_the_status_the_operation_and_the_remedy() {
        let mut denied = transaction(Procedure::of(Protocol::Smb2, 5), 2_000_000, 1_000_000);
        (denied.status, denied.outcome) = (Some(0xC000_0022), RequestOutcome::Refused);
        let mut statistics = Statistics::new(Options::default());
        statistics.record(&denied);
        let mut recorded = MeasuredLevel { statistics, ..MeasuredLevel::default() };
        recorded.about.failures = vec![("error status".to_owned(), 1), ("timed out".to_owned(), 2)];
        let judged = Objectives::default().judge(&LevelResult::of_recording(recorded), false);
        let Outcome::Missed(missed) = judged else { panic!("it failed") };
        let denied = "error status: 1, most frequent STATUS_ACCESS_DENIED, CREATE (1); check the rights of the account";
        assert!(missed[0].starts_with(denied) && missed[1] == "timed out: 2", "{missed:?}");
        // The requests that got a status were due after the phase, so the tables have none.
        let mut recorded = MeasuredLevel::default();
        let continued = "lost connection: connection reset (operations continued)";
        let failures =
            [("error status: NFS3ERR_IO, READ", 1), ("error status: NFS3ERR_NOSPC, WRITE", 2), (continued, 1)];
        recorded.about.failures = failures.map(|(cause, count)| (cause.to_owned(), count)).to_vec();
        let judged = Objectives::default().judge(&LevelResult::of_recording(recorded), false);
        let Outcome::Missed(missed) = judged else { panic!("it failed") };
        assert_eq!(missed, ["error status: 3, most frequent NFS3ERR_NOSPC, WRITE (2)"]);
    }

    #[test]
    fn a_percentile_of_too_few_requests_is_not_below_a_lower_one() {
        let number = |number: &str, on_time| MovedNumber { number: number.to_owned(), reported: 9.0, on_time };
        let numbers = [number("p50", 588e-6), number("p90", 1.7e-3)];
        let broken = |text: &str| missed_on_time(&parse(text).unwrap(), &numbers, false);
        assert!(broken("p99 < 1us") && broken("p99 < 1ms"), "588 µs and 1.7 ms are more");
        assert!(!broken("p99 < 2ms"), "nobody knows");
        assert!(broken("p50 < 500us") && !broken("p50 < 600us") && !broken("p50 < 1ms"), "p90 says nothing of p50");
    }
}
