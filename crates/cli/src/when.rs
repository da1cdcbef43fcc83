//! Points in time on the command line: since the capture's start (`90`, `1m30s`), or absolute (RFC 3339).

use std::str::FromStr;
use std::time::{Duration, SystemTime};

/// A point in time as the user wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Since the first packet.
    SinceStart(Duration),
    /// Nanoseconds since the Unix epoch.
    Absolute(i64),
}

impl When {
    /// Nanoseconds since the Unix epoch, the capture having begun at `start_ns`.
    pub(crate) fn resolve(self, start_ns: i64) -> i64 {
        match self {
            When::SinceStart(after) => start_ns.saturating_add(i64::try_from(after.as_nanos()).unwrap_or(i64::MAX)),
            When::Absolute(at) => at,
        }
    }
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
        let at = humantime::parse_rfc3339_weak(text).map_err(|_| {
            format!("{text} is neither seconds or a duration since the capture's start (90, 1m30s) nor a time in UTC (2026-11-21T01:02:03Z)")
        })?;
        let since_epoch = at.duration_since(SystemTime::UNIX_EPOCH).map_err(|_| format!("{text} is before 1970"))?;
        i64::try_from(since_epoch.as_nanos()).map(When::Absolute).map_err(|_| format!("{text} is too late"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_and_absolute() {
        assert_eq!("1.5".parse::<When>().unwrap().resolve(10), 1_500_000_010);
        assert_eq!("1m30s".parse::<When>().unwrap().resolve(0), 90_000_000_000);
        assert_eq!("1970-01-01T00:00:02Z".parse::<When>().unwrap().resolve(99), 2_000_000_000);
        assert!("soon".parse::<When>().is_err());
        assert!("-3".parse::<When>().is_err());
    }
}
