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

impl Threshold {
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

    /// The unit of its numbers in outputs, and the factor from the threshold's unit to it.
    #[must_use]
    pub fn unit(&self) -> (f64, &'static str) {
        match (self.threshold, self.metric.unit()) {
            (Threshold::Relative(_), _) | (_, Unit::Share) => (100.0, "%"),
            (_, Unit::Seconds) => (1e3, "ms"),
            (_, Unit::BytesPerSecond) => (1e-6, "MB/s"),
            (_, Unit::OperationsPerSecond) => (1.0, "op/s"),
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

/// Factor from a unit to the metric's own.
fn factor(unit: &str, of: Unit) -> Option<f64> {
    let known: &[(&str, f64)] = match of {
        Unit::Seconds => &[("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)],
        Unit::OperationsPerSecond => &[("/s", 1.0), ("op/s", 1.0)],
        Unit::BytesPerSecond => &[("B/s", 1.0), ("kB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9)],
        Unit::Share => &[("%", 1e-2)],
    };
    known.iter().find(|(name, _)| *name == unit).map(|&(_, factor)| factor)
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
