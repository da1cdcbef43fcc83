//! What a server is to keep: `--hold "p99 < 20ms"`, and what is always meant.

use plimsoll_experiment::{FROM_INTENDED, LevelResult};
use plimsoll_report::collect::times_of;
use plimsoll_report::findings::{MovedNumber, Times};
use plimsoll_stats::Accumulator;
use plimsoll_stats::comparison::{Metric, Scope};
use plimsoll_workload::Load;

use crate::compare::{Condition, Threshold};
use crate::exit::Usage;

/// What a server is to keep, as flags. Always: no failed operation, and no turn of the schedule late or never started.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Promise")]
pub(crate) struct Promises {
    /// What must hold besides "no errors, no user late": "p99 < 20ms", "read.mean < 5ms", "bytes > 80MB/s"; may be repeated
    #[arg(long = "hold", value_name = "CONDITION", value_parser = parse)]
    wanted: Vec<Condition>,
}

/// Whether a run kept them all.
pub(super) enum Word {
    Kept,
    /// Which were broken, and by how much.
    Broken(Vec<String>),
}

fn parse(text: &str) -> Result<Condition, String> {
    let condition = Condition::parse(text)?;
    match condition.threshold {
        Threshold::Value(_) => Ok(condition),
        _ => Err(format!("{text}: there is nothing to compare with; say the value itself (20ms, 1%, 80MB/s)")),
    }
}

impl Promises {
    /// Refuses what nothing would ever break.
    pub(super) fn check(&self, load: &Load) -> Result<(), Usage> {
        let scheduled = matches!(load, Load::Partly { .. });
        if self.wanted.is_empty() && !scheduled {
            let words = "say what is to hold: --hold \"p99 < 20ms\" (without one, more load is always fine)";
            return Err(Usage(words.to_owned()));
        }
        Ok(())
    }

    /// The promises in words.
    pub(super) fn words(&self, scheduled: bool) -> Vec<String> {
        let late = scheduled.then(|| "no user late".to_owned());
        let always = ["no errors".to_owned()].into_iter().chain(late);
        always.chain(self.wanted.iter().map(|wanted| wanted.text.clone())).collect()
    }

    /// The longest time that one of them allows, s; `None` where none speaks of time.
    pub(super) fn longest_s(&self) -> Option<f64> {
        let times = self.wanted.iter().filter(|wanted| !wanted.more).filter_map(|wanted| match wanted.threshold {
            Threshold::Value(value) if wanted.metric == Metric::Mean || wanted.metric.percentile().is_some() => {
                Some(value)
            }
            _ => None,
        });
        times.reduce(f64::max)
    }

    /// Whether a run would have broken one as well had the load generator been on time: then it is not to blame, late as it was.
    pub(super) fn broken_on_time(&self, ran: &LevelResult, scheduled: bool) -> bool {
        ran.on_time().is_some_and(|numbers| self.wanted.iter().any(|wanted| wanted.broken_on_time(numbers, scheduled)))
    }

    /// Whether a run kept them; `scheduled`: its starts were.
    pub(super) fn judge(&self, ran: &LevelResult, scheduled: bool) -> Word {
        let failed: Vec<String> = ran.failures().map(|(cause, count)| format!("{cause}: {count}")).collect();
        let mut broken = failed;
        if ran.late_turns() > 0 {
            broken.push(format!("{} turns had not ended when their user's next one was due", ran.late_turns()));
        }
        if ran.never_sent() > 0 {
            broken.push(format!("{} turns were never started", ran.never_sent()));
        }
        broken.extend(ran.behind().map(str::to_owned));
        broken.extend(self.wanted.iter().filter_map(|wanted| wanted.broken_by(ran, scheduled)));
        if broken.is_empty() { Word::Kept } else { Word::Broken(broken) }
    }
}

impl Condition {
    /// What a run says that broke it; `None` where it held.
    fn broken_by(&self, ran: &LevelResult, scheduled: bool) -> Option<String> {
        let Threshold::Value(limit) = self.threshold else { return None };
        let Some(value) = self.value(ran, scheduled) else {
            return Some(format!("{}: there was no {}", self.text, self.name));
        };
        let held = if self.more { value > limit } else { value < limit };
        (!held).then(|| format!("{}: it was {}", self.text, shown(self.metric, value)))
    }

    /// The same of numbers as they would be without the generator's lateness, which are of all operations together.
    fn broken_on_time(&self, numbers: &[MovedNumber], scheduled: bool) -> bool {
        let Threshold::Value(limit) = self.threshold else { return false };
        let name = format!("{}{}", self.metric.label(), if scheduled { FROM_INTENDED } else { "" });
        let found = numbers.iter().find(|number| self.name == "all" && number.number == name);
        found.is_some_and(|found| if self.more { found.on_time <= limit } else { found.on_time >= limit })
    }

    /// The number that it speaks of; of a schedule, response times from the intended start. (The pause of a station is no
    /// schedule: where it is longer than meant, nobody waits.)
    fn value(&self, ran: &LevelResult, scheduled: bool) -> Option<f64> {
        let mut row = Accumulator::default();
        let wanted = crate::filter::parse_operation(&self.name).ok();
        for (procedure, part) in ran.statistics().operations() {
            let among = match &wanted {
                Some(wanted) => wanted.holds(procedure),
                None => Scope::All.holds(procedure),
            };
            if among {
                row.merge(part);
            }
        }
        let times = || times_of(row.from_intended().filter(|_| scheduled).unwrap_or(&row.response()));
        let rate = |amount: u64| (ran.seconds() > 0.0).then(|| amount as f64 / ran.seconds());
        match self.metric {
            Metric::Throughput if wanted.is_none() => rate(ran.answered().requests),
            Metric::Bytes if wanted.is_none() => rate(ran.answered().read_bytes + ran.answered().written_bytes),
            Metric::Throughput => rate(row.answered()),
            Metric::Bytes => row.payload().exact().and_then(rate),
            Metric::Errors => (row.count() > 0).then(|| row.errors() as f64 / row.count() as f64),
            Metric::Mean => times().map(|times| times.mean_s),
            metric => times().map(|times| percentile(&times, metric)),
        }
    }
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
    use super::*;

    #[test]
    fn a_late_generator_is_not_to_blame_for_what_is_broken_without_it() {
        let number = |number: &str, on_time| MovedNumber { number: number.to_owned(), reported: 9.0, on_time };
        let numbers = [number("p99", 107e-6), number("p99 from the intended start", 3e-6), number("mean", 5e-6)];
        let broken = |text: &str, scheduled| parse(text).unwrap().broken_on_time(&numbers, scheduled);
        assert!(broken("p99 < 1us", false) && broken("p99 < 1us", true));
        assert!(!broken("p99 < 10us", true) && !broken("p99 < 200us", false));
        // Of one operation, or of a number that was not looked at, nobody knows.
        assert!(!broken("getattr.p99 < 1us", false) && !broken("p50 < 1us", false) && !broken("errors < 1%", false));
        assert_eq!(shown(Metric::P99, 107e-6), "107 µs");
    }
}
