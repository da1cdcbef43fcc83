//! Numbers with their units, in few columns and without false zeros.

use crate::findings::comparison::ComparedUnit;
use crate::shares::{self, Percentage};

/// Stands where there is no number.
pub(super) const NONE: &str = "-";
/// Text for an existing but unknown number.
pub(super) const UNKNOWN: &str = "unknown";
/// Widest time that a table column shows in a fixed unit.
const TIME_COLUMNS: usize = 9;
/// If all times are shorter, the unit is not seconds, s.
const SECONDS_FROM: f64 = 0.1;

/// The unit of the times of one report: the first of s, ms, µs that shows its smallest time with a digit (seconds: with three, and
/// only where some time is a tenth of a second) and its largest in nine columns; otherwise milliseconds of three significant digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TimeScale {
    /// Name, units in a second, decimals.
    Fixed(&'static str, f64, usize),
    /// Milliseconds, three significant digits.
    Digits,
}

impl TimeScale {
    /// Seconds with five decimals, as in Appendix A.
    const FIXED: [TimeScale; 3] =
        [TimeScale::Fixed("s", 1.0, 5), TimeScale::Fixed("ms", 1e3, 3), TimeScale::Fixed("µs", 1e6, 2)];

    /// The scale for `times` (s); zeros are zero in any unit.
    pub(super) fn of(times: impl IntoIterator<Item = f64>) -> TimeScale {
        let (mut smallest, mut largest) = (f64::INFINITY, 0.0_f64);
        for time in times {
            let time = time.abs();
            if time > 0.0 && time.is_finite() {
                smallest = smallest.min(time);
                largest = largest.max(time);
            }
        }
        let fits = |scale: &TimeScale| match *scale {
            TimeScale::Digits => true,
            TimeScale::Fixed(_, per_second, decimals) => {
                let digits = if per_second > 1.0 { 1.0 } else { 100.0 };
                (per_second > 1.0 || largest >= SECONDS_FROM || largest == 0.0)
                    && smallest * per_second * 10_f64.powi(decimals as i32) >= digits
                    && format!("{:.decimals$}", largest * per_second).len() <= TIME_COLUMNS
            }
        };
        Self::FIXED.into_iter().find(fits).unwrap_or(TimeScale::Digits)
    }

    /// The unit in a heading: "in seconds".
    pub(super) fn words(self) -> &'static str {
        match self {
            TimeScale::Fixed("s", ..) => "in seconds",
            TimeScale::Fixed("µs", ..) => "in µs",
            TimeScale::Fixed(..) | TimeScale::Digits => "in ms",
        }
    }

    /// The unit's symbol.
    pub(super) fn unit(self) -> &'static str {
        match self {
            TimeScale::Fixed(unit, ..) => unit,
            TimeScale::Digits => "ms",
        }
    }

    /// A time with the unit, where it stands in a sentence.
    pub(super) fn with_unit(self, seconds: f64) -> String {
        format!("{} {}", self.show(seconds), self.unit())
    }

    /// A time (s) in this unit with three significant digits, for numbers that are known no better.
    pub(super) fn brief(self, seconds: f64) -> String {
        match self {
            TimeScale::Fixed(_, per_second, _) => significant(seconds * per_second),
            TimeScale::Digits => significant(seconds * 1e3),
        }
    }

    /// A time (s) in this scale. A value other than zero never reads as zero.
    pub(super) fn show(self, seconds: f64) -> String {
        match self {
            TimeScale::Fixed(_, per_second, decimals) => {
                let text = format!("{:.decimals$}", seconds * per_second);
                let looks_zero = text.bytes().all(|b| matches!(b, b'0' | b'.' | b'-'));
                if seconds == 0.0 {
                    "0".to_owned()
                } else if looks_zero {
                    significant(seconds * per_second)
                } else {
                    text
                }
            }
            TimeScale::Digits => significant(seconds * 1e3),
        }
    }

    /// [`TimeScale::show`], or a dash.
    pub(super) fn show_maybe(self, seconds: Option<f64>) -> String {
        seconds.map_or_else(|| NONE.to_owned(), |seconds| self.show(seconds))
    }
}

/// A time with its unit, three significant digits: `12.3 µs`, `1.65 s`.
pub fn time(seconds: f64) -> String {
    let size = seconds.abs();
    // From 999.5 units on, three digits round up to the next unit.
    let (factor, unit) = match size {
        0.0 => return "0 s".to_owned(),
        s if s < 0.9995e-6 => (1e9, "ns"),
        s if s < 0.9995e-3 => (1e6, "µs"),
        s if s < 0.9995 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    format!("{} {unit}", significant(seconds * factor))
}

/// Three significant digits without exponent: `0.00123`, `1.23`, `123`, `12345`.
pub fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { NONE.to_owned() };
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = (2 - magnitude).clamp(0, 12) as usize;
    // Pages round a half up, formatting to the next even number: one number must not look like two.
    let value = if decimals == 0 { value.round() } else { value };
    let text = format!("{value:.decimals$}");
    // 9.996 becomes 10.00: one digit too many.
    let rounded: f64 = text.parse().unwrap_or(value);
    if decimals > 0 && rounded.abs().log10().floor() as i32 > magnitude {
        return format!("{value:.0$}", decimals - 1);
    }
    text
}

/// The name of a metric in a table: of rates their unit.
pub(crate) fn unit_label(metric: &str) -> &str {
    match metric {
        "throughput" => "op/s",
        "bytes" => "MB/s",
        other => other,
    }
}

/// A number of a comparison in a table, rates without their unit.
pub(crate) fn in_table(unit: ComparedUnit, value: f64) -> String {
    match unit {
        ComparedUnit::Seconds => time(value),
        ComparedUnit::BytesPerSecond => significant(value / 1e6),
        ComparedUnit::Share => format!("{} %", significant(value * 100.0)),
        ComparedUnit::PerSecond | ComparedUnit::PerHour => significant(value),
    }
}

/// The same with the unit of rates, where it stands in a sentence: `3.10 ms`, `120/s`.
pub(crate) fn with_unit(unit: ComparedUnit, value: f64) -> String {
    let number = in_table(unit, value);
    match unit {
        ComparedUnit::PerSecond => format!("{number}/s"),
        ComparedUnit::PerHour => format!("{number}/h"),
        ComparedUnit::BytesPerSecond => format!("{number} MB/s"),
        ComparedUnit::Seconds | ComparedUnit::Share => number,
    }
}

/// Bytes with a decimal unit, three digits: `1.23 MB`.
pub(crate) fn bytes(count: u64) -> String {
    let size = count as f64;
    let (factor, unit) = match size {
        s if s < 999.5 => return format!("{count} B"),
        s if s < 999.5e3 => (1e3, "kB"),
        s if s < 999.5e6 => (1e6, "MB"),
        s if s < 999.5e9 => (1e9, "GB"),
        _ => (1e12, "TB"),
    };
    format!("{} {unit}", significant(size / factor))
}

/// File data or messages: a dash where there were none, a lower bound where the sizes of `unknown` operations are not known.
pub(super) fn data(sum: Option<u64>, unknown: u64) -> String {
    match sum {
        None => UNKNOWN.to_owned(),
        Some(0) => NONE.to_owned(),
        Some(sum) => at_least(bytes(sum), unknown),
    }
}

/// An amount, marked as a lower bound if `unknown` operations are not included.
pub(super) fn at_least(amount: String, unknown: u64) -> String {
    if unknown > 0 { format!("≥ {amount}") } else { amount }
}

/// A share (0..=1) as per cent with one decimal, as in Appendix A; of shares that are parts of one whole, [`percentage`].
pub(super) fn percent(share: f64) -> String {
    percentage(shares::alone(share))
}

/// A percentage of a table; a dash where there is no whole.
pub(super) fn percentage(shown: Option<Percentage>) -> String {
    let sign = |shown: Percentage| if shown.tenths < 0 { "-" } else { "" };
    shown.map_or_else(|| NONE.to_owned(), |shown| format!("{}{}%", sign(shown), shown.digits()))
}

/// `part` of `whole` as per cent; a dash where there is no whole.
pub(super) fn percent_of(part: u64, whole: u64) -> String {
    if whole == 0 { NONE.to_owned() } else { percent(part as f64 / whole as f64) }
}

/// Mean packets a pair, as in Appendix A: "2" where every pair had two, "2.0" where it was nearly so.
pub(super) fn packets(mean: Option<f64>) -> String {
    match mean {
        None => NONE.to_owned(),
        Some(mean) if mean.fract() == 0.0 => format!("{mean:.0}"),
        Some(mean) => format!("{mean:.1}"),
    }
}

/// `HHH:MM:SS.fffff`, as in Appendix A.
pub(super) fn clock_face(seconds: f64) -> String {
    let (whole, fraction) = hundred_thousandths(seconds);
    format!("{:03}:{:02}:{:02}.{fraction:05}", whole / 3600, whole / 60 % 60, whole % 60)
}

/// Whole seconds and 1/100,000 s. Rounded first, so that 59.999999 s becomes a minute and not 60 seconds, and so that all printed parts
/// belong to one number.
pub(super) fn hundred_thousandths(seconds: f64) -> (u64, u64) {
    let ticks = (seconds.max(0.0) * 1e5).round() as u64;
    (ticks / 100_000, ticks % 100_000)
}

/// The upper edge of a decade, as in Appendix A: `<0.001`.
pub(super) fn edge(below_s: f64) -> String {
    if !(1e-12..1e12).contains(&below_s) {
        return format!("<{below_s}");
    }
    let exponent = below_s.log10().round();
    let is_decade = (below_s / 10_f64.powf(exponent) - 1.0).abs() < 1e-9;
    if is_decade && exponent < 0.0 {
        format!("<{below_s:.0$}", -exponent as usize)
    } else if is_decade {
        format!("<{below_s:.0}")
    } else {
        format!("<{}", significant(below_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_shows_its_smallest_and_its_largest() {
        assert_eq!(TimeScale::of([0.001, 1.645_18]).show(0.001), "0.00100", "Appendix A");
        assert_eq!(TimeScale::of([0.000_16, 1.645_18]).show(0.000_16), "0.160", "two digits are too few");
        assert_eq!(TimeScale::of([0.001, 651.8]).words(), "in seconds");
        assert_eq!(TimeScale::of([0.000_16, 651.8]).with_unit(651.8), "651800 ms");
        assert_eq!(TimeScale::of([0.000_012, 0.5]).show(0.000_012), "0.012");
        assert_eq!(TimeScale::of([0.000_000_25, 0.5]).show(0.000_000_25), "0.25");
        assert_eq!(TimeScale::of([0.000_008, 0.951]).show(0.000_008), "0.008", "one digit is enough");
        assert_eq!(TimeScale::of([0.000_000_25, 500.0]), TimeScale::Digits);
        assert_eq!(TimeScale::of([0.000_000_25, 500.0]).with_unit(0.000_000_25), "0.000250 ms");
        assert_eq!(TimeScale::of([]), TimeScale::FIXED[0]);
        assert_eq!(TimeScale::of([0.0, 0.0, 1.0]).show(0.0), "0");
        assert_eq!(TimeScale::of([1.0]).show(0.000_000_4), "0.000000400", "nothing that is not zero looks like it");
        assert_eq!(TimeScale::of([1.0]).show(-0.25), "-0.25000");
    }

    #[test]
    fn a_clock_face_and_its_seconds_are_one_number() {
        // As a binary fraction it lies below the middle of two hundred-thousandths.
        let elapsed_s = 4.946_955;
        assert_eq!(format!("{elapsed_s:.5}"), "4.94695");
        assert_eq!((clock_face(elapsed_s).as_str(), hundred_thousandths(elapsed_s)), ("000:00:04.94696", (4, 94_696)));
    }

    #[test]
    fn three_digits_in_the_unit_of_the_others() {
        let scale = TimeScale::of([0.000_253, 0.0363]);
        assert_eq!([0.000_253, 0.002_95, 0.0363].map(|s| scale.brief(s)), ["0.253", "2.95", "36.3"]);
        assert_eq!(TimeScale::Digits.brief(0.0012), "1.20");
    }

    #[test]
    fn three_digits() {
        for (value, shown) in [
            (0.001_234, "0.00123"),
            (9.996, "10.0"),
            (99.96, "100"),
            (999.6, "1000"),
            (12_345.0, "12345"),
            (0.0, "0"),
            (-1.5, "-1.50"),
        ] {
            assert_eq!(significant(value), shown);
        }
        assert_eq!(significant(f64::NAN), "-");
    }

    #[test]
    fn times_and_sizes_have_units() {
        assert_eq!(time(0.000_012_34), "12.3 µs");
        assert_eq!(time(0.000_999_9), "1.00 ms");
        assert_eq!(time(1.645_18), "1.65 s");
        assert_eq!(time(7e-9), "7.00 ns");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(999_999), "1.00 MB");
        assert_eq!(bytes(u64::MAX), "18446744 TB");
    }

    #[test]
    fn shares_do_not_round_to_all() {
        assert_eq!(percent(0.999_99), "99.9%");
        assert_eq!(percent(1.0), "100.0%");
        assert_eq!(percent_of(74_112, 91_748), "80.8%");
        assert_eq!(percent_of(1, 0), "-");
    }

    #[test]
    fn packets_are_whole_where_all_are() {
        assert_eq!(packets(Some(2.0)), "2");
        assert_eq!(packets(Some(2.004)), "2.0");
        assert_eq!(packets(Some(7.13)), "7.1");
    }

    #[test]
    fn the_clock_face_of_appendix_a() {
        assert_eq!(clock_face(651.795_40), "000:10:51.79540");
        assert_eq!(clock_face(59.999_999), "000:01:00.00000");
        assert_eq!(clock_face(-1.0), "000:00:00.00000");
    }

    #[test]
    fn edges_are_decades() {
        for (below, shown) in [(0.001, "<0.001"), (1.0, "<1"), (10.0, "<10"), (1e-5, "<0.00001"), (0.002, "<0.00200")] {
            assert_eq!(edge(below), shown);
        }
    }
}
