//! Numbers as readers see them, units included. Thousands are grouped by commas; what is not known is a dash.

use maud::{Markup, html};

/// Stands where a number is not known.
pub(super) const UNKNOWN: &str = "–";

const NS_PER_S: i64 = 1_000_000_000;
const S_PER_DAY: i64 = 86_400;

/// `23665` as `23,665`.
pub(super) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Seconds in the unit that suits them: `340 ns`, `7.32 ms`, `1.65 s`.
pub(super) fn duration(s: f64) -> String {
    let size = s.abs();
    // Below half a unit's thousandth, rounding would print "1000" of the smaller unit.
    match size {
        _ if !s.is_finite() => UNKNOWN.into(),
        0.0 => "0 s".into(),
        _ if size < 999.5e-9 => format!("{:.0} ns", s * 1e9),
        _ if size < 999.5e-6 => format!("{} µs", three_digits(s * 1e6)),
        _ if size < 999.5e-3 => format!("{} ms", three_digits(s * 1e3)),
        _ => format!("{} s", three_digits(s)),
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
    let minus = if s < 0.0 { "−" } else { "" };
    format!("{minus}{whole}.{fraction}")
}

/// A share of 0..=1 as a percentage; what is more than nothing never reads as 0.0 %.
pub(super) fn percent(share: f64) -> String {
    match share * 100.0 {
        p if !p.is_finite() => UNKNOWN.into(),
        p if p > 0.0 && p < 0.05 => "< 0.1 %".into(),
        p => format!("{p:.1} %"),
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
    if rate < 100.0 { format!("{rate:.1}/s") } else { format!("{}/s", count(rate.round() as u64)) }
}

/// An instant in UTC, to the microsecond.
pub(super) fn instant(ns: Option<i64>) -> Markup {
    let Some(ns) = ns else { return html! { (UNKNOWN) } };
    let seconds = ns.div_euclid(NS_PER_S);
    let (year, month, day) = civil(seconds.div_euclid(S_PER_DAY));
    let of_day = seconds.rem_euclid(S_PER_DAY);
    let (h, m, s) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let micros = ns.rem_euclid(NS_PER_S) / 1000;
    html! {
        time datetime=(format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{micros:06}Z")) {
            (format!("{year:04}-{month:02}-{day:02} {h:02}:{m:02}:{s:02}.{micros:06}"))
        }
    }
}

/// `value` through `show`, or a dash.
pub(super) fn optional<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.into(), show)
}

fn three_digits(n: f64) -> String {
    match n.abs() {
        size if size < 9.995 => format!("{n:.2}"),
        size if size < 99.95 => format!("{n:.1}"),
        // Only seconds and exabytes come here with more than three digits.
        size if size < 1e15 => {
            let grouped = count(size.round() as u64);
            if n < 0.0 { format!("−{grouped}") } else { grouped }
        }
        _ => format!("{n:.2e}"),
    }
}

/// Year, month and day of a day number since 1970-01-01, proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // Counted from 0000-03-01, so that the leap day is a year's last; 146 097 days are 400 years.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
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
        assert_eq!(duration(-0.0021), "-2.10 ms");
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
    fn days_follow_the_calendar() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(-1), (1969, 12, 31));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(19_782), (2024, 2, 29));
        let shown = instant(Some(872_000_000_123_456_789)).into_string();
        assert!(shown.contains(">1997-08-19 14:13:20.123456<"), "{shown}");
    }
}
