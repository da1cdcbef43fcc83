//! The load that a workload asks for where no flag says otherwise.

use super::text;
use crate::{Load, Pause, Phases};

/// The load that a workload asks for where no flag says otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Defaults {
    /// Who starts what, when.
    pub load: Load,
    /// Pipelining depth.
    pub lanes: u32,
    /// How long each phase is.
    pub phases: Phases,
}

/// The most stations, and the deepest pipeline, that a file may ask for.
const MOST_STATIONS: u32 = 1_000_000;
const DEEPEST: u32 = 1024;

impl Defaults {
    pub(super) fn of(text: &text::Load) -> Result<Self, String> {
        let within = |number: u32, most: u32, what: &str| {
            let sound = (1..=most).contains(&number);
            if sound { Ok(number) } else { Err(format!("{what} must be from 1 to {most}, not {number}")) }
        };
        let stations = within(text.stations.unwrap_or(1), MOST_STATIONS, "stations")?;
        let arrivals = text.arrivals;
        let load = match (text.rate, text.users, text.every) {
            (None, None, None) => Load::Closed { stations, think: text.think.map_or(Pause::None, |think| think.0) },
            (Some(rate), None, None) if rate > 0.0 && rate <= 1e8 => Load::Open { stations, rate, arrivals },
            (Some(rate), None, None) => return Err(format!("rate must be above 0 and at most 1e8, not {rate}")),
            (None, Some(users), Some(every)) if every.0 > 0 => {
                let users = within(users, MOST_STATIONS, "users")?;
                Load::Partly { users, every_ns: every.0, arrivals }
            }
            _ => return Err("say stations and think; or stations and rate; or users and every (above 0s)".to_owned()),
        };
        let closed = matches!(load, Load::Closed { .. });
        if text.think.is_some() && !closed {
            return Err("think goes with stations alone: with a rate or users, the schedule starts turns".to_owned());
        }
        if text.stations.is_some() && matches!(load, Load::Partly { .. }) {
            return Err("each user is a station: say users or stations".to_owned());
        }
        if text.duration.0 == 0 {
            return Err("duration must be above 0s".to_owned());
        }
        let phases = Phases { warmup_ns: text.warmup.0, measured_ns: Some(text.duration.0), ..Phases::default() };
        Ok(Self { load, lanes: within(text.depth, DEEPEST, "depth")?, phases })
    }
}
