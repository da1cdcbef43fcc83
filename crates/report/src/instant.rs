//! Instants as RFC 3339 has them.

const NS_PER_S: i64 = 1_000_000_000;
const S_PER_DAY: i64 = 86_400;

/// An instant in UTC, to the microsecond: 2026-11-21T01:02:03.000004Z.
pub fn utc(ns: i64) -> String {
    let seconds = ns.div_euclid(NS_PER_S);
    let (year, month, day) = civil(seconds.div_euclid(S_PER_DAY));
    let of_day = seconds.rem_euclid(S_PER_DAY);
    let (h, m, s) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let micros = ns.rem_euclid(NS_PER_S) / 1000;
    format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{micros:06}Z")
}

/// An instant in UTC, to the second, as people read it: 2026-11-21 01:02:03 UTC.
pub(crate) fn utc_second(ns: i64) -> String {
    let text = utc(ns);
    let (day, time) = text.split_once('T').unwrap_or((&text, ""));
    format!("{day} {} UTC", time.split_once('.').map_or(time, |(seconds, _)| seconds))
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
    fn days_follow_the_calendar() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(-1), (1969, 12, 31));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(19_782), (2024, 2, 29));
        assert_eq!(utc(872_000_000_123_456_789), "1997-08-19T14:13:20.123456Z");
    }
}
