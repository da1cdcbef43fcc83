//! How much load there is, and for how long.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Who starts what, when. An iteration is what a scenario says it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// Each slot of each client starts its next iteration when the one before is over and the think time has passed. Intended
    /// is the instant at which the think time ended. The first iteration comes after a think time, too, so that clients do
    /// not march in step: constant ones are spread evenly over one think time.
    Closed {
        /// Clients.
        clients: u32,
        /// Between iterations.
        think: Pause,
    },
    /// Iterations start on one schedule for all clients, however slow the server is. An iteration takes the slot that has been free
    /// longest; where none is free it waits, its intended instant kept. The schedule depends on rate and seed alone. With
    /// several threads, iteration `n` goes to the thread of client `n % clients` and to the slots of that thread: as long as
    /// slots are free, and answers come in the order of their requests, to the same slot as with one thread.
    Open {
        /// Clients that share the schedule.
        clients: u32,
        /// Iterations per second, over all clients.
        rate: f64,
        /// Their spacing.
        arrivals: Arrivals,
    },
    /// Every user starts an iteration on a schedule of his own (FSCT: a scenario every 11 s); within the iteration he waits for the
    /// server. An iteration that is due while the one before still runs waits, its intended instant kept, and is counted late.
    Partly {
        /// Users, each a client.
        users: u32,
        /// Mean time between the starts of one user's iterations, ns. First starts are spread evenly over it.
        every_ns: u64,
        /// Their spacing.
        arrivals: Arrivals,
    },
}

/// Distribution of the gaps between intended starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Equal gaps.
    Constant,
    /// Exponential gaps: starts are independent of each other.
    Poisson,
}

/// A pause, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pause {
    /// None.
    None,
    /// Always the same.
    Constant(u64),
    /// Exponential with this mean.
    Exponential(u64),
    /// Evenly between two bounds, both included.
    Uniform(u64, u64),
}

/// How long each phase is, ns. Connecting comes first and counts in none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// All clients must be connected within this; then the run starts with those that are.
    pub connect_ns: u64,
    /// Load without measurement.
    pub warmup_ns: u64,
    /// The measured phase; `None` until every scenario has finished (never, if one holds a request that nobody answers). When no slot has anything left to do (scenarios have
    /// finished, connections were given up) it ends early.
    pub measured_ns: Option<u64>,
    /// The longest wait for what is outstanding at its end. What was meant to start before the end is still started; iterations
    /// of a schedule (open, partly open) are still gone through to their ends. Nothing is started any more where somebody
    /// stopped the run.
    pub drain_ns: u64,
}

impl Default for Phases {
    /// 5 s of warm-up, 30 s measured, at most 10 s of drain.
    fn default() -> Self {
        Self {
            connect_ns: 60_000_000_000,
            warmup_ns: 5_000_000_000,
            measured_ns: Some(30_000_000_000),
            drain_ns: 10_000_000_000,
        }
    }
}

impl Load {
    /// How many clients there are.
    #[must_use]
    pub fn clients(&self) -> u32 {
        match *self {
            Load::Closed { clients, .. } | Load::Open { clients, .. } => clients,
            Load::Partly { users, .. } => users,
        }
    }

    /// Iterations per second that the schedule asks for; `None` in a closed loop, where the server decides.
    #[must_use]
    pub fn asked_rate(&self) -> Option<f64> {
        match *self {
            Load::Closed { .. } => None,
            Load::Open { rate, .. } => Some(rate),
            Load::Partly { users, every_ns, .. } => Some(f64::from(users) * 1e9 / every_ns as f64),
        }
    }

    /// The same load with so many clients, iterations per second or users; `None` where these must be whole and at least 1, and are not.
    #[must_use]
    pub fn at_level(self, level: f64) -> Option<Self> {
        let whole = level.fract() == 0.0 && level >= 1.0 && level <= f64::from(u32::MAX);
        // It was just seen to fit.
        let count = whole.then_some(level as u32);
        Some(match self {
            Load::Closed { think, .. } => Load::Closed { clients: count?, think },
            Load::Open { clients, arrivals, .. } => Load::Open { clients, rate: level, arrivals },
            Load::Partly { every_ns, arrivals, .. } => Load::Partly { users: count?, every_ns, arrivals },
        })
    }
}

/// What a load level is called.
impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, what) = match *self {
            Load::Closed { clients, .. } => (clients, "client"),
            Load::Open { rate, .. } => return write!(f, "{rate} iterations/s"),
            Load::Partly { users, .. } => (users, "user"),
        };
        write!(f, "{count} {what}{}", if count == 1 { "" } else { "s" })
    }
}

impl FromStr for Arrivals {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "constant" => Ok(Arrivals::Constant),
            "poisson" => Ok(Arrivals::Poisson),
            _ => Err("expected constant or poisson".to_owned()),
        }
    }
}

/// A time in nanoseconds, at most the largest number.
pub fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// `10ms`, `exponential:10ms` (the mean) or `5ms..20ms` (uniform).
impl FromStr for Pause {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let time = |text: &str| {
            humantime::parse_duration(text)
                .map(nanoseconds)
                .map_err(|error| format!("{text}: {error}; expected a time such as 10ms or 1.5s"))
        };
        if let Some(mean) = text.strip_prefix("exponential:") {
            return time(mean).map(Pause::Exponential);
        }
        if let Some((low, high)) = text.split_once("..") {
            return Ok(Pause::Uniform(time(low)?, time(high)?));
        }
        time(text).map(|ns| if ns == 0 { Pause::None } else { Pause::Constant(ns) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_and_arrivals_are_read() {
        assert!("soon".parse::<Pause>().is_err() && "often".parse::<Arrivals>().is_err());
        assert_eq!("5ms..20ms".parse(), Ok(Pause::Uniform(5_000_000, 20_000_000)));
        assert_eq!("0s".parse(), Ok(Pause::None));
        assert_eq!("exponential:1s".parse(), Ok(Pause::Exponential(1_000_000_000)));
        // The example in the message.
        assert_eq!("1.5s".parse(), Ok(Pause::Constant(1_500_000_000)));
        assert!("5".parse::<Pause>().unwrap_err().ends_with("expected a time such as 10ms or 1.5s"));
    }
}
