//! Instants as people read them: date, time and zone. The zone is the machine's, or UTC; it is chosen once per process.

use std::sync::OnceLock;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// The ends of an interval of this length or longer are given to the second, those of a shorter one to the millisecond, ns.
const LONG_NS: u64 = 10_000_000_000;

/// The zone of all times that this process shows. Default: UTC.
static SHOWN: OnceLock<Zone> = OnceLock::new();

/// A time zone.
#[derive(Clone, Debug)]
pub struct Zone(TimeZone);

impl Zone {
    /// UTC.
    #[must_use]
    pub fn utc() -> Zone {
        Zone(TimeZone::UTC)
    }

    /// The machine's: TZ, otherwise /etc/localtime.
    ///
    /// # Errors
    /// TZ names a zone that the machine does not know, or nothing says which zone it is in.
    pub fn local() -> Result<Zone, String> {
        TimeZone::try_system().map(Zone).map_err(|error| error.to_string())
    }

    /// The zone in which this process shows instants.
    #[must_use]
    pub fn shown() -> Zone {
        SHOWN.get().cloned().unwrap_or_else(Zone::utc)
    }

    /// Shows all instants of this process in this zone. Only the first call counts, so that a report has one zone.
    pub fn show(self) {
        let _ = SHOWN.set(self);
    }

    /// Its rules.
    #[must_use]
    pub fn rules(&self) -> &TimeZone {
        &self.0
    }

    fn at(&self, ns: i64) -> Zoned {
        // 64 bits of nanoseconds cover 1677 to 2262, which every timestamp can represent.
        Timestamp::from_nanosecond(ns.into()).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(self.0.clone())
    }

    /// An instant to the second: `2026-11-21 03:08:21 UTC`, `2026-11-21 04:08:21 +01:00`.
    #[must_use]
    pub fn second(&self, ns: i64) -> String {
        let at = self.at(ns);
        format!("{} {}", at.strftime("%Y-%m-%d %H:%M:%S"), name(&at))
    }

    /// An end of an interval of this length, as exact as the interval needs: `2026-11-21 03:08:21.123 UTC` if it is short.
    pub(crate) fn end_of(&self, ns: i64, length_ns: u64) -> String {
        if length_ns >= LONG_NS {
            return self.second(ns);
        }
        let at = self.at(ns);
        format!("{} {}", at.strftime("%Y-%m-%d %H:%M:%S.%3f"), name(&at))
    }

    /// An instant to the microsecond: `2026-11-21 03:08:21.123456 UTC`.
    #[must_use]
    pub fn microsecond(&self, ns: i64) -> String {
        let at = self.at(ns);
        format!("{} {}", at.strftime("%Y-%m-%d %H:%M:%S.%6f"), name(&at))
    }

    /// From one instant to another, with what both share said once: `2026-11-21 03:08:17 to 03:08:22 UTC`.
    pub(crate) fn span(&self, first: i64, last: i64) -> String {
        let (from, to) = (self.at(first), self.at(last));
        if name(&from) != name(&to) {
            return format!("{} to {}", self.second(first), self.second(last));
        }
        let until = if from.date() == to.date() { "%H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" };
        format!("{} to {} {}", from.strftime("%Y-%m-%d %H:%M:%S"), to.strftime(until), name(&to))
    }

    /// The day of an instant, with its zone: two instants of one label need no date.
    pub(crate) fn day(&self, ns: i64) -> (String, String) {
        let at = self.at(ns);
        (at.strftime("%Y-%m-%d").to_string(), name(&at))
    }

    /// The time of day of an instant, to the millisecond.
    pub(crate) fn time_of_day(&self, ns: i64) -> String {
        self.at(ns).strftime("%H:%M:%S.%3f").to_string()
    }
}

/// UTC, or the offset from it: abbreviations such as CST or IST stand for several zones.
fn name(at: &Zoned) -> String {
    let abbreviation = at.strftime("%Z").to_string();
    if abbreviation == "UTC" { abbreviation } else { at.strftime("%:z").to_string() }
}

/// An instant in UTC, to the microsecond, for programs: 2026-11-21T01:02:03.000004Z.
#[must_use]
pub fn utc(ns: i64) -> String {
    Zone::utc().at(ns).strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// An instant to the second in the zone of this process: `2026-11-21 03:08:21 UTC`.
pub(crate) fn second(ns: i64) -> String {
    Zone::shown().second(ns)
}

/// An end of an interval of this length in the zone of this process: `2026-11-21 03:08:21.123 UTC` if it is short.
pub(crate) fn end_of(ns: i64, length_ns: u64) -> String {
    Zone::shown().end_of(ns, length_ns)
}

/// An instant to the microsecond in the zone of this process.
pub(crate) fn microsecond(ns: i64) -> String {
    Zone::shown().microsecond(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: i64 = 872_000_000_123_456_789;
    const HOUR: i64 = 3_600_000_000_000;

    fn berlin() -> Zone {
        Zone(TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap())
    }

    #[test]
    fn programs_get_utc() {
        assert_eq!(utc(AT), "1997-08-19T14:13:20.123456Z");
        assert_eq!(utc(-1), "1969-12-31T23:59:59.999999Z");
        assert_eq!(utc(i64::MAX), "2262-04-11T23:47:16.854775Z");
    }

    #[test]
    fn people_get_date_time_and_zone() {
        assert_eq!(Zone::utc().second(AT), "1997-08-19 14:13:20 UTC");
        assert_eq!(Zone::utc().microsecond(AT), "1997-08-19 14:13:20.123456 UTC");
        assert_eq!(berlin().second(AT), "1997-08-19 16:13:20 +02:00");
        assert_eq!(berlin().end_of(AT, 9_999_999_999), "1997-08-19 16:13:20.123 +02:00");
        assert_eq!(berlin().end_of(AT, 10_000_000_000), "1997-08-19 16:13:20 +02:00");
        assert_eq!(berlin().time_of_day(AT), "16:13:20.123");
    }

    #[test]
    fn a_span_says_once_what_both_ends_share() {
        assert_eq!(Zone::utc().span(AT, AT + HOUR), "1997-08-19 14:13:20 to 15:13:20 UTC");
        assert_eq!(
            Zone::utc().span(AT, AT + 10 * HOUR),
            "1997-08-19 14:13:20 to 1997-08-20 00:13:20 UTC",
            "another day has its date"
        );
        // From summer time to winter time: 2026-10-25 03:00 +02:00 is 02:00 +01:00.
        let before = 1_792_888_200_000_000_000;
        assert_eq!(berlin().span(before, before + HOUR), "2026-10-25 02:30:00 +02:00 to 2026-10-25 02:30:00 +01:00");
    }
}
