//! Numbers with units as readers see them. Commas group thousands; a dash means unknown.

pub(super) use crate::collect::thousands as count;
use crate::shares::{self, Percentage};
use maud::{Markup, html};

/// Stands where a number is not known.
pub(super) const UNKNOWN: &str = "–";

/// Seconds in the unit that suits them: `340 ns`, `7.32 ms`, `1.65 s`.
pub(super) fn duration(s: f64) -> String {
    let (minus, size) = (minus(s), s.abs());
    // Below half a unit's thousandth, rounding would print "1000" of the smaller unit.
    match size {
        _ if !s.is_finite() => UNKNOWN.into(),
        0.0 => "0 s".into(),
        _ if size < 999.5e-9 => format!("{minus}{:.0} ns", size * 1e9),
        _ if size < 999.5e-6 => format!("{minus}{} µs", three_digits(size * 1e6)),
        _ if size < 999.5e-3 => format!("{minus}{} ms", three_digits(size * 1e3)),
        _ => format!("{minus}{} s", three_digits(size)),
    }
}

/// Seconds as `10 min 51.8 s` or `3 h 25 min`, for lengths of captures.
pub(super) fn long_duration(s: f64) -> String {
    // Rounded first, so that 59.96 s is a minute and not "60.0 s". A capture's length is far below 2^53 tenths.
    let tenths = (s * 10.0).round();
    if !s.is_finite() || tenths < 600.0 {
        return duration(s);
    }
    let (h, min, rest) = ((tenths / 36_000.0).floor(), (tenths % 36_000.0 / 600.0).floor(), tenths % 600.0 / 10.0);
    if h > 0.0 { format!("{h:.0} h {min:.0} min {:.0} s", rest.floor()) } else { format!("{min:.0} min {rest:.1} s") }
}

/// Seconds as milliseconds with three decimals, for columns headed "ms".
pub(super) fn milliseconds(s: f64) -> String {
    if !s.is_finite() {
        return UNKNOWN.into();
    }
    let text = format!("{:.3}", s.abs() * 1e3);
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, "000"));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    format!("{}{whole}.{fraction}", minus(s))
}

/// The sign of a number: a minus has the width of a digit.
fn minus(number: f64) -> &'static str {
    if number < 0.0 { "−" } else { "" }
}

/// A share of 0..=1 as a percentage; of shares that are parts of one whole, [`percentage`].
pub(super) fn percent(share: f64) -> String {
    percentage(shares::alone(share))
}

/// A percentage of a table; a value above zero never reads as 0.0 %; a dash without a whole.
pub(super) fn percentage(shown: Option<Percentage>) -> String {
    match shown {
        None => UNKNOWN.into(),
        Some(shown) if shown.tenths == 0 && shown.some => "< 0.1 %".into(),
        Some(shown) => format!("{}{} %", minus(shown.tenths as f64), shown.digits()),
    }
}

/// `part` of `whole` as a percentage; a dash where there is no whole.
pub(super) fn percent_of(part: u64, whole: u64) -> String {
    if whole == 0 { UNKNOWN.into() } else { percent(part as f64 / whole as f64) }
}

/// Bytes with decimal prefixes: `512 B`, `1.04 GB`.
pub(super) fn bytes(n: f64) -> String {
    prefixed(n, "B")
}

/// A sum of bytes: a lower bound where the sizes of `unknown` operations are not known.
pub(super) fn data(sum: Option<u64>, unknown: u64) -> String {
    match sum {
        None => "unknown".to_owned(),
        Some(sum) if unknown > 0 => format!("≥ {}", bytes(sum as f64)),
        Some(sum) => bytes(sum as f64),
    }
}

/// Bits likewise: `92.0 Mbit`.
pub(super) fn bits(n: f64) -> String {
    prefixed(n, "bit")
}

fn prefixed(n: f64, unit: &str) -> String {
    const PREFIXES: [&str; 6] = ["k", "M", "G", "T", "P", "E"];
    if n < 1000.0 {
        return format!("{n:.0} {unit}");
    }
    let mut scaled = n / 1000.0;
    let mut prefixes = PREFIXES.iter();
    let mut prefix = prefixes.next().unwrap_or(&"k");
    while scaled >= 999.5 {
        let Some(next) = prefixes.next() else { break };
        scaled /= 1000.0;
        prefix = next;
    }
    format!("{} {prefix}{unit}", three_digits(scaled))
}

/// A rate: `12.3/s`, `4,321/s`.
pub(super) fn per_second(rate: f64) -> String {
    format!("{}/s", rate_number(rate))
}

/// A rate without its unit.
pub(super) fn rate_number(rate: f64) -> String {
    if rate < 100.0 { format!("{rate:.1}") } else { count(rate.round() as u64) }
}

/// An instant to the microsecond, with its zone.
pub(super) fn instant(ns: Option<i64>) -> Markup {
    let Some(ns) = ns else { return html! { (UNKNOWN) } };
    let utc = crate::instant::utc(ns);
    html! { time datetime=(utc) { (crate::instant::microsecond(ns)) } }
}

/// `value` through `show`, or a dash.
pub(super) fn optional<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.into(), show)
}

fn three_digits(n: f64) -> String {
    match n {
        _ if n < 9.995 => format!("{n:.2}"),
        _ if n < 99.95 => format!("{n:.1}"),
        // Only seconds and exabytes come here with more than three digits.
        _ if n < 1e15 => count(n.round() as u64),
        _ => format!("{n:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_change_where_digits_would_run_over() {
        assert_eq!(duration(3.4e-7), "340 ns");
        assert_eq!(duration(999.6e-9), "1.00 µs");
        assert_eq!(duration(0.00732), "7.32 ms");
        assert_eq!(duration(0.9996), "1.00 s");
        assert_eq!(duration(-0.0021), "−2.10 ms");
        assert_eq!(long_duration(651.7954), "10 min 51.8 s");
        assert_eq!(long_duration(59.97), "1 min 0.0 s");
        assert_eq!(long_duration(12_345.0), "3 h 25 min 45 s");
        assert_eq!(bytes(999.0), "999 B");
        assert_eq!(bytes(1_040_000_000.0), "1.04 GB");
        assert_eq!(bytes(999_600.0), "1.00 MB");
        assert_eq!((bits(92_000_000.0), bits(8.0)), ("92.0 Mbit".to_owned(), "8 bit".to_owned()));
        assert_eq!(milliseconds(1.64518), "1,645.180");
        assert_eq!(milliseconds(-0.000_001), "−0.001");
    }

    #[test]
    fn little_is_not_nothing() {
        assert_eq!(percent(0.0), "0.0 %");
        assert_eq!(percent(0.0001), "< 0.1 %");
        assert_eq!(percent_of(0, 0), UNKNOWN);
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
    }

    #[test]
    fn instants_are_for_people_and_programs() {
        let shown = instant(Some(872_000_000_123_456_789)).into_string();
        assert!(shown.contains("\"1997-08-19T14:13:20.123456Z\">1997-08-19 14:13:20.123456 UTC<"), "{shown}");
    }
}
