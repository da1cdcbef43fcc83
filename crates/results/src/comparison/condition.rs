//! `--fail-if "read.p99 > +10%"`: what is to fail.
//!
//! ```text
//! condition  = [ name "." ] metric ( ">" | "<" ) threshold
//! name       = "all" | operation | group | procedure            (docs/vocabulary.md lists them)
//! metric     = "throughput" | "bytes" | "mean" | "p50" | "p90" | "p95" | "p99" | "p99.9" | "errors"
//! threshold  = ( "+" | "-" ) number "%"       change against the baseline; of errors, percentage points
//!            | ( "+" | "-" ) number unit      change against the baseline
//!            | number unit                    the number itself
//! unit       = "ns" | "us" | "µs" | "ms" | "s" | "/s" | "op/s" | "B/s" | "kB/s" | "MB/s" | "GB/s" | "%"
//! ```

use plimsoll_stats::comparison::{Metric, Unit};

use crate::procedures::ProcedureSet;

/// Decimals of the numbers of an interval.
const DIGITS: usize = 3;
/// Maximum number of decimals that tell numbers apart.
const MOST_DIGITS: usize = 9;

/// Something that is to fail.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// As it was written.
    pub text: String,
    /// Of which rows; "all" where none was named.
    pub name: String,
    /// The number.
    pub metric: Metric,
    /// More than the threshold fails; otherwise less.
    pub more: bool,
    /// The threshold.
    pub threshold: Threshold,
}

/// The limit of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// The relative change against the baseline.
    Relative(f64),
    /// The change against the baseline, in the metric's unit.
    Change(f64),
    /// The number itself, in the metric's unit.
    Value(f64),
}

/// The verdict of an interval on a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The whole interval is on the good side.
    Passed,
    /// The interval contains the threshold, or there is no interval.
    Undecided,
    /// The whole interval is on the bad side.
    Failed,
}

impl Outcome {
    /// The word used in reports.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Undecided => "undecided",
            Outcome::Failed => "failed",
        }
    }
}

/// A side's number, and what the operations that its captures lack, and the time between their files, may change of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PossibleNumber {
    /// The measured number.
    pub value: f64,
    /// The true number divided by it, at least and at most.
    pub factor: (f64, f64),
    /// Whether operations are missing that may change it.
    pub lacks_operations: bool,
    /// The part of the time between capture files that may change it.
    pub between_files_share: f64,
}

impl PossibleNumber {
    /// How far the true number may be below and above the measured one.
    fn changes(&self) -> (f64, f64) {
        (times(self.value, self.factor.0) - self.value, times(self.value, self.factor.1) - self.value)
    }
}

/// A number may be 0, and a factor may have no limit.
fn times(value: f64, factor: f64) -> f64 {
    if factor.is_finite() { value * factor } else { factor }
}

impl Threshold {
    /// The interval with all values that are possible with the missing operations of the baseline and of the other side.
    #[must_use]
    pub fn with_missing(self, (low, high): (f64, f64), [baseline, other]: [PossibleNumber; 2]) -> (f64, f64) {
        match self {
            Threshold::Relative(_) => (
                (1.0 + low) * other.factor.0 / baseline.factor.1 - 1.0,
                (1.0 + high) * other.factor.1 / baseline.factor.0 - 1.0,
            ),
            Threshold::Change(_) => {
                let (of_baseline, of_other) = (baseline.changes(), other.changes());
                (low + of_other.0 - of_baseline.1, high + of_other.1 - of_baseline.0)
            }
            Threshold::Value(_) => (times(low, other.factor.0), times(high, other.factor.1)),
        }
    }

    /// The limit, absolute or relative.
    #[must_use]
    pub fn limit(self) -> f64 {
        let (Threshold::Relative(limit) | Threshold::Change(limit) | Threshold::Value(limit)) = self;
        limit
    }
}

/// The invalid part of the text, and the error.
type Wrong<'t> = (&'t str, String);

impl Condition {
    /// Parses a condition.
    ///
    /// # Errors
    /// The text is invalid; the message marks the place.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::parse_with(text, true)
    }

    /// Parses a condition on a number itself, where there is no baseline.
    ///
    /// # Errors
    /// The text is invalid, or the threshold has a sign; the message marks the place.
    pub fn parse_without_baseline(text: &str) -> Result<Self, String> {
        Self::parse_with(text, false)
    }

    fn parse_with(text: &str, has_baseline: bool) -> Result<Self, String> {
        read(text, has_baseline).map_err(|(part, what)| {
            // `part` is a part of `text`.
            let at = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len());
            let before = text.get(..at).unwrap_or_default().chars().count();
            let marks = part.trim_end().chars().count().max(1);
            format!("{what}\n  {text}\n  {}{}", " ".repeat(before), "^".repeat(marks))
        })
    }

    /// Whether the interval's outcome holds whatever operations are missing from the sides; also if it decides nothing.
    #[must_use]
    pub fn is_certain(&self, interval: (f64, f64), sides: Option<[PossibleNumber; 2]>) -> bool {
        let outcome = self.outcome(interval);
        let holds = |sides| self.outcome(self.threshold.with_missing(interval, sides)) == outcome;
        outcome == Outcome::Undecided || sides.is_none_or(holds)
    }

    /// An interval in the unit of the limit, with enough digits to tell its ends and the limit apart.
    #[must_use]
    pub fn interval_words(&self, (low, high): (f64, f64)) -> String {
        let (numbers, unit) = self.numbers(&[low, high], DIGITS);
        format!("{} {unit}", numbers.join(" to "))
    }

    /// Numbers like the limit in its unit, with at least these decimals: as many as tell the numbers and the limit apart. Changes have a
    /// sign.
    #[must_use]
    pub fn numbers(&self, numbers: &[f64], least: usize) -> (Vec<String>, &'static str) {
        let (factor, unit) = self.unit();
        let is_value = matches!(self.threshold, Threshold::Value(_));
        let limit = self.threshold.limit();
        let written = |digits: usize| -> Vec<String> {
            let one = |number: &f64| {
                let number = number * factor;
                if is_value { format!("{number:.digits$}") } else { format!("{number:+.digits$}") }
            };
            numbers.iter().chain([&limit]).map(one).collect()
        };
        let all: Vec<f64> = numbers.iter().chain([&limit]).copied().collect();
        let is_apart = |text: &Vec<String>| {
            let same_text = |a: usize, b: usize| text.get(a) == text.get(b);
            let same = |a: usize, b: usize| all.get(a).zip(all.get(b)).is_none_or(|(a, b)| is_alike(*a, *b));
            (0..all.len()).all(|a| (0..a).all(|b| same(a, b) || !same_text(a, b)))
        };
        let mut text = (least..=MOST_DIGITS).map(written).find(is_apart).unwrap_or_else(|| written(MOST_DIGITS));
        text.truncate(numbers.len());
        (text, unit)
    }

    /// The unit of the limit as it was written, and the factor from the threshold's unit to it.
    fn unit(&self) -> (f64, &'static str) {
        if matches!(self.threshold, Threshold::Relative(_)) {
            return (100.0, "%");
        }
        let of = self.metric.unit();
        let written = self.text.rsplit(|c: char| c.is_ascii_digit() || c == '.').next().unwrap_or_default().trim();
        let known = known_units(of).iter().find(|(name, _)| *name == written);
        match known.or_else(|| known_units(of).first()) {
            // The number of operations per second has no other unit.
            Some(("/s", _)) => (1.0, "op/s"),
            Some(&(name, factor)) => (1.0 / factor, name),
            None => (1.0, ""),
        }
    }

    /// Whether too many errors fail it.
    #[must_use]
    pub fn limits_errors(&self) -> bool {
        self.metric == Metric::Errors && self.more
    }

    /// The verdict of an interval, in the unit of the threshold.
    #[must_use]
    pub fn outcome(&self, (low, high): (f64, f64)) -> Outcome {
        let limit = self.threshold.limit();
        match self.more {
            true if low > limit => Outcome::Failed,
            true if high <= limit => Outcome::Passed,
            false if high < limit => Outcome::Failed,
            false if low >= limit => Outcome::Passed,
            _ => Outcome::Undecided,
        }
    }
}

/// Whether two numbers are equal, except for rounding.
fn is_alike(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

fn read(text: &str, has_baseline: bool) -> Result<Condition, Wrong<'_>> {
    let place = text.find(['<', '>']).ok_or((text, "expected > or <".to_owned()))?;
    let (left, right) = text.split_at(place);
    let (sign, right) = right.split_at(1);
    let (name, metric) = subject(left.trim())?;
    let threshold = threshold(right.trim_start(), metric, has_baseline)?;
    Ok(Condition { text: text.to_owned(), name: name.to_owned(), metric, more: sign == ">", threshold })
}

/// The name and the metric, which follows the last point (except in p99.9).
fn subject(left: &str) -> Result<(&str, Metric), Wrong<'_>> {
    let ends = |metric: &Metric| {
        let name = left.strip_suffix(metric.label())?;
        (name.is_empty() || name.ends_with('.')).then_some((name, *metric))
    };
    let Some((name, metric)) = Metric::ALL.iter().find_map(ends) else {
        let known: Vec<&str> = Metric::ALL.iter().map(|metric| metric.label()).collect();
        let metric = left.rsplit_once('.').map_or(left, |(_, metric)| metric);
        return Err((metric, format!("unknown metric; expected one of {}", known.join(", "))));
    };
    let name = name.strip_suffix('.').unwrap_or("all");
    if !name.eq_ignore_ascii_case("all") {
        ProcedureSet::named(name).map_err(|what| (name, what))?;
    }
    Ok((name, metric))
}

fn threshold(text: &str, metric: Metric, has_baseline: bool) -> Result<Threshold, Wrong<'_>> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let unsigned = text.trim_start_matches(['+', '-']);
    let signed = text.len() - unsigned.len();
    let end = unsigned.find(|c: char| !is_number(c)).unwrap_or(unsigned.len());
    let (digits, unit) = unsigned.split_at(end);
    let examples = if has_baseline { "+10%, -5%, 1.5ms, 2000/s" } else { "1.5ms, 2000/s" };
    let wrong = || (text, format!("expected a number with a unit: {examples}"));
    if signed > 0 && !has_baseline {
        return Err((text, "there is no baseline; expected an absolute value (20ms, 1%, 80MB/s)".to_owned()));
    }
    if signed > 1 {
        return Err(wrong());
    }
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    let number = if text.starts_with('-') { -number } else { number };
    let of = metric.unit();
    match (unit.trim(), signed) {
        ("", _) => Err((text, format!("{text}: missing unit; expected {}", units(of, has_baseline)))),
        ("%", 1) if of != Unit::Share => Ok(Threshold::Relative(number / 100.0)),
        ("%", _) if of != Unit::Share && has_baseline => {
            Err((text, format!("missing sign; expected +{digits}% or -{digits}% (relative to the baseline)")))
        }
        (unit, signed) => match factor(unit, of) {
            Some(factor) if signed == 1 => Ok(Threshold::Change(number * factor)),
            Some(factor) => Ok(Threshold::Value(number * factor)),
            None => Err((unit, format!("{}: expected a value in {}", metric.label(), units(of, has_baseline)))),
        },
    }
}

/// Units of a metric, each with the factor to the metric's own.
fn known_units(of: Unit) -> &'static [(&'static str, f64)] {
    match of {
        Unit::Seconds => &[("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)],
        Unit::OperationsPerSecond => &[("/s", 1.0), ("op/s", 1.0)],
        Unit::BytesPerSecond => &[("B/s", 1.0), ("kB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9)],
        Unit::Share => &[("%", 1e-2)],
    }
}

/// Factor from a unit to the metric's own.
fn factor(unit: &str, of: Unit) -> Option<f64> {
    known_units(of).iter().find(|(name, _)| *name == unit).map(|&(_, factor)| factor)
}

fn units(of: Unit, has_baseline: bool) -> String {
    let units = match of {
        Unit::Seconds => "ns, us, ms or s",
        Unit::OperationsPerSecond => "op/s",
        Unit::BytesPerSecond => "B/s, kB/s, MB/s or GB/s",
        Unit::Share => "%",
    };
    let or_change = match of {
        _ if !has_baseline => "",
        Unit::Share => "; with a sign (+N% or -N%), the number is the change from the baseline in percentage points",
        _ => ", or a change from the baseline as +N% or -N%",
    };
    format!("{units}{or_change}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, Metric, bool, Threshold) {
        let condition = Condition::parse(text).unwrap();
        (condition.name, condition.metric, condition.more, condition.threshold)
    }

    fn refused(text: &str) -> String {
        Condition::parse(text).unwrap_err()
    }

    #[test]
    fn conditions_of_every_kind() {
        assert_eq!(parsed("read.p99 > +10%"), ("read".into(), Metric::P99, true, Threshold::Relative(0.1)));
        assert_eq!(parsed("throughput<-5 %"), ("all".into(), Metric::Throughput, false, Threshold::Relative(-0.05)));
        let dotted = ("Other.Directory".into(), Metric::P999, true, Threshold::Value(0.005));
        assert_eq!(parsed("Other.Directory.p99.9 > 5ms"), dotted);
        assert_eq!(parsed("errors > 1%"), ("all".into(), Metric::Errors, true, Threshold::Value(0.01)));
        assert_eq!(parsed("all.errors > +1%"), ("all".into(), Metric::Errors, true, Threshold::Change(0.01)));
        let named = ("TRANSACTION2 FIND_FIRST2".into(), Metric::Mean, true, Threshold::Change(0.0005));
        assert_eq!(parsed("TRANSACTION2 FIND_FIRST2.mean > +500us"), named);
        assert_eq!(parsed("bytes < 80MB/s"), ("all".into(), Metric::Bytes, false, Threshold::Value(8e7)));
    }

    #[test]
    fn an_interval_has_the_unit_of_the_limit_and_enough_digits() {
        let words = |text: &str, low: f64, high: f64| Condition::parse(text).unwrap().interval_words((low, high));
        assert_eq!(words("p50 > 400ns", 200e-9, 370e-9), "200.000 to 370.000 ns");
        assert_eq!(words("p50 > +50 ns", 60e-9, 90e-9), "+60.000 to +90.000 ns");
        assert_eq!(words("p99 > 5ms", 4.5e-3, 6e-3), "4.500 to 6.000 ms");
        assert_eq!(words("p99 > 0.0003ms", 200e-9, 370e-9), "0.0002 to 0.0004 ms");
        assert_eq!(words("p99.9 > 1.5s", 1.25, 2.0), "1.250 to 2.000 s");
        assert_eq!(words("p99 > +5%", -0.01, 0.05), "-1.000 to +5.000 %");
        assert_eq!(words("errors > 0.0001%", 2e-6, 3e-6), "0.0002 to 0.0003 %");
        assert_eq!(words("throughput < 2000/s", 1999.5, 2001.0), "1999.500 to 2001.000 op/s");
        assert_eq!(words("bytes < 80kB/s", 79e3, 81e3), "79.000 to 81.000 kB/s");
        assert_eq!(words("p99 > 5ms", 5e-3, 5.0001e-3), "5.0000 to 5.0001 ms");
    }

    #[test]
    fn what_is_wrong_is_shown_where_it_stands() {
        assert_eq!(
            refused("read.p98 > +10%"),
            "unknown metric; expected one of throughput, bytes, mean, p50, p90, p95, p99, p99.9, errors\n  \
             read.p98 > +10%\n       ^^^"
        );
        assert!(refused("raed.p99 > +10%").ends_with("\n  raed.p99 > +10%\n  ^^^^"));
        assert!(
            refused("read.p99 > 10%")
                .ends_with("expected +10% or -10% (relative to the baseline)\n  read.p99 > 10%\n             ^^^")
        );
        assert!(refused("p99 > +10").contains("missing unit"));
        assert!(refused("p99 > 10").contains("expected ns, us, ms or s, or a change from the baseline as +N% or -N%"));
        let absolute = |text: &str| Condition::parse_without_baseline(text).unwrap_err();
        for text in ["p95 < 50", "p95 < 50%", "errors < 1", "p95 < +10%", "p95 < x"] {
            let error = absolute(text);
            assert!(!error.contains("+N%") && !error.contains("+10%,") && error.contains(text), "{error}");
        }
        assert!(absolute("p95 < 50").starts_with("50: missing unit; expected ns, us, ms or s\n"));
        assert!(absolute("p95 < -1ms").starts_with("there is no baseline; expected an absolute value"));
        assert!(refused("p99 > +10MB/s").ends_with("\n           ^^^^"));
        assert!(refused("p99 >> 10ms").contains("a number with a unit"));
        assert!(refused("p99 = 10ms").contains("expected > or <"));
        for text in ["", ">", ".p99 > 1s", "p99 > +-1s", "p99 > 1.2.3s", "µ > 1", "p99 > ∞", "..p99>+1%"] {
            assert!(Condition::parse(text).is_err(), "{text}");
        }
    }
}
