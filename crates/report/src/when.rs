//! Points in time as people write them: since the capture's start (`90`, `1m30s`), a time of day (`03:08:21`), or a date and time
//! (`2026-11-21 03:08`), with or without a zone.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};

use crate::Zone;

const NS_PER_S: i64 = 1_000_000_000;
/// Days at which a time of day is looked for: two matches are one too many, and clocks skip an hour on one day at most.
const DAYS: usize = 4;

/// A point in time as the user wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Since the first packet.
    SinceStart(Duration),
    /// On a clock: which instant it is, the zone and the capture's day say.
    Clock(ClockTime),
}

/// A time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockTime {
    /// Without one: the day of the capture.
    date: Option<Date>,
    time: Time,
    /// How long the clock shows it: a minute, a second or no longer than an instant.
    shown_ns: i64,
    /// Without one: the zone of the report.
    offset: Option<Offset>,
}

impl When {
    /// Nanoseconds since the Unix epoch, the capture having begun at `start_ns`.
    #[must_use]
    pub fn resolve(self, start_ns: i64) -> i64 {
        match self {
            When::SinceStart(after) => start_ns.saturating_add(i64::try_from(after.as_nanos()).unwrap_or(i64::MAX)),
            // `check` refuses an absent or ambiguous time when the capture's end is known.
            When::Clock(clock) => clock.instants(start_ns, i64::MAX).first().copied().unwrap_or(start_ns),
        }
    }

    /// Rejects a time outside the capture, and an ambiguous time.
    ///
    /// # Errors
    /// Says which instants the capture has.
    pub fn check(self, (first, last): (i64, i64)) -> Result<(), String> {
        let When::Clock(clock) = self else { return Ok(()) };
        let shown = |ns| Zone::shown().second(ns);
        let (from, to) = (shown(first), shown(last));
        match (clock.instants(first, last).as_slice(), clock.date) {
            ([_], _) => Ok(()),
            ([], None) => Err(format!(
                "{clock}: outside the capture, which covers {from} to {to}; give a time in this range, or add a date"
            )),
            ([], Some(_)) => Err(format!(
                "{clock}: clocks skipped this time (daylight saving); give another time, or add the offset from UTC, e.g. +01:00"
            )),
            ([one, other, ..], None) if other - one > 2 * 3600 * NS_PER_S => {
                Err(format!("{clock}: the capture ({from} to {to}) has this time on several days; add the date"))
            }
            ([one, other, ..], _) => Err(format!(
                "{clock}: clocks showed this time twice, at {} and {} (daylight saving); add the offset from UTC, \
                e.g. +01:00",
                shown(*one),
                shown(*other)
            )),
        }
    }
}

impl ClockTime {
    /// The instants that a time can mean. A date has one, two where clocks went back, none where they skipped it; a
    /// time of day can occur on several days of the capture.
    fn instants(self, first: i64, last: i64) -> Vec<i64> {
        let zone = self.offset.map_or_else(|| Zone::shown().rules().clone(), TimeZone::fixed);
        if let Some(date) = self.date {
            return on(&zone, date, self.time);
        }
        let Ok(start) = jiff::Timestamp::from_nanosecond(first.into()) else { return Vec::new() };
        // The clock may have shown it just before the first packet.
        let day = zone.to_datetime(start).date().yesterday();
        let Ok(mut day) = day else { return Vec::new() };
        let mut found = Vec::new();
        for _ in 0..DAYS {
            let within = |at: &i64| at.saturating_add(self.shown_ns) > first && *at <= last;
            found.extend(on(&zone, day, self.time).into_iter().filter(within));
            let Ok(next) = day.tomorrow() else { break };
            day = next;
        }
        found
    }
}

/// The instants at which clocks of a zone show a date and time.
fn on(zone: &TimeZone, date: Date, time: Time) -> Vec<i64> {
    let found = zone.to_ambiguous_timestamp(DateTime::from_parts(date, time));
    let both = match found.offset() {
        jiff::tz::AmbiguousOffset::Unambiguous { .. } => vec![found.compatible()],
        jiff::tz::AmbiguousOffset::Gap { .. } => Vec::new(),
        jiff::tz::AmbiguousOffset::Fold { .. } => vec![found.earlier(), found.later()],
    };
    both.into_iter().flatten().filter_map(|at| i64::try_from(at.as_nanosecond()).ok()).collect()
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(seconds) = text.parse::<f64>() {
            let after = Duration::try_from_secs_f64(seconds).map_err(|error| format!("{text} s: {error}"))?;
            return Ok(When::SinceStart(after));
        }
        if let Ok(after) = humantime::parse_duration(text) {
            return Ok(When::SinceStart(after));
        }
        clock(text).map(When::Clock).ok_or_else(|| {
            format!(
                "{text}: expected a duration since the capture's start (90 for 90 s, or 1m30s), a time of day (03:08:21), or a \
                date and time (2026-11-21 03:08Z)"
            )
        })
    }
}

/// A time with or without a date in front of it and a zone behind it.
fn clock(text: &str) -> Option<ClockTime> {
    let (text, offset) = split_zone(text.trim())?;
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (Some(date.parse::<Date>().ok()?), time.trim()),
        None => (None, text),
    };
    // jiff reads 0308 and T03:08 as well: what looks like a number of seconds is none of these.
    let parts: Vec<&str> = time.split(':').collect();
    let whole = parts.iter().all(|part| part.len() >= 2 && part.starts_with(|c: char| c.is_ascii_digit()));
    if !(2..=3).contains(&parts.len()) || !whole {
        return None;
    }
    let shown_ns = match (parts.len(), time.contains(['.', ','])) {
        (2, _) => 60 * NS_PER_S,
        (_, false) => NS_PER_S,
        (_, true) => 1,
    };
    Some(ClockTime { date, time: time.parse().ok()?, shown_ns, offset })
}

/// Text before the zone, and the zone's offset.
fn split_zone(text: &str) -> Option<(&str, Option<Offset>)> {
    for utc in ["Z", "z", "UTC"] {
        if let Some(before) = text.strip_suffix(utc) {
            return Some((before.trim_end(), Some(Offset::UTC)));
        }
    }
    let Some(colon) = text.find(':') else { return Some((text, None)) };
    let Some(sign) = text.get(colon..)?.find(['+', '-']).map(|at| colon + at) else { return Some((text, None)) };
    let (before, offset) = text.split_at_checked(sign)?;
    let (hours, minutes) = offset.get(1..)?.split_once(':').unwrap_or((offset.get(1..)?, "0"));
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    if !(0..60).contains(&minutes) || !(0..24).contains(&hours) {
        return None;
    }
    let seconds = (hours * 60 + minutes) * 60 * if offset.starts_with('-') { -1 } else { 1 };
    Some((before.trim_end(), Some(Offset::from_seconds(seconds).ok()?)))
}

impl fmt::Display for ClockTime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(date) = self.date {
            write!(out, "{date}T")?;
        }
        write!(out, "{}", self.time)?;
        match self.offset {
            None => Ok(()),
            Some(Offset::UTC) => write!(out, "Z"),
            Some(offset) => {
                let (sign, minutes) = (if offset.is_negative() { '-' } else { '+' }, offset.seconds().abs() / 60);
                write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-21 03:08:17.5 UTC.
    const START: i64 = 1_795_230_497_500_000_000;
    const HOUR: i64 = 3600 * NS_PER_S;

    fn when(text: &str) -> When {
        text.parse().unwrap()
    }

    #[test]
    fn since_the_start() {
        assert_eq!(when("1.5").resolve(10), 1_500_000_010);
        assert_eq!(when("1m30s").resolve(0), 90_000_000_000);
        assert!(when("90").check((0, 10)).is_ok());
        for wrong in ["soon", "-3", "25:00", "3:08", "2026-11-21", "2026-13-01 03:08", "03:08+99:00", "03", ""] {
            assert!(wrong.parse::<When>().is_err() || wrong == "03", "{wrong}");
        }
    }

    /// Tests run in UTC, the default zone.
    #[test]
    fn dates_and_zones() {
        for text in [
            "2026-11-21 03:08:21",
            "2026-11-21T03:08:21Z",
            "2026-11-21 03:08:21 UTC",
            "2026-11-21 04:08:21 +01:00",
            "2026-11-20T22:08:21-05",
            "03:08:21",
            "04:08:21+01:00",
        ] {
            assert_eq!(when(text).resolve(START), START + 3_500_000_000, "{text}");
            assert_eq!(when(text).check((START, START + 5 * NS_PER_S)), Ok(()), "{text}");
        }
        assert_eq!(when("2026-11-21 03:08").resolve(START), START - 17_500_000_000);
        assert_eq!(when("1970-01-01T00:00:02Z").resolve(99), 2_000_000_000);
    }

    #[test]
    fn a_time_of_day_is_one_of_the_capture() {
        let check = |text: &str, last: i64| when(text).check((START, last));
        // The minute and the second in which the capture begins are included.
        assert_eq!(check("03:08", START + NS_PER_S), Ok(()));
        assert_eq!(check("03:08:17", START + NS_PER_S), Ok(()));
        // Behind midnight it is the next day's.
        assert_eq!(when("01:00").resolve(START), START + 22 * HOUR - 497_500_000_000);
        let none = check("12:00", START + NS_PER_S).unwrap_err();
        assert!(
            none.contains("outside the capture, which covers 2026-11-21 03:08:17 UTC to 2026-11-21 03:08:18 UTC"),
            "{none}"
        );
        let several = check("12:00", START + 40 * HOUR).unwrap_err();
        assert!(several.contains("on several days"), "{several}");
        assert_eq!(check("2026-11-21 12:00", START + 40 * HOUR), Ok(()), "a date says which");
        assert_eq!(check("2020-01-01 12:00", START + NS_PER_S), Ok(()), "outside, and meant so");
    }

    #[test]
    fn clocks_that_change_skip_and_repeat_times() {
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let at = |day: &str, time: &str| on(&berlin, day.parse().unwrap(), time.parse().unwrap()).len();
        assert_eq!([at("2026-03-29", "02:30"), at("2026-10-25", "02:30"), at("2026-10-26", "02:30")], [0, 2, 1]);
    }

    #[test]
    fn it_is_shown_as_the_command_line_takes_it() {
        for text in ["03:08:21", "2026-11-21T03:08:00", "2026-11-21T03:08:21.5Z", "04:08:00-05:30"] {
            let When::Clock(clock) = when(text) else { panic!("{text}") };
            assert_eq!(clock.to_string(), text);
        }
    }
}
