//! The load that a workload asks for where no flag says otherwise.

use super::text;
use crate::{Load, Pause, Phases};

/// The load that a workload asks for where no flag says otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Defaults {
    /// The source of iterations and their times.
    pub load: Load,
    /// Pipelining depth.
    pub depth: u32,
    /// How long each phase is.
    pub phases: Phases,
}

/// The most clients, and the deepest pipeline, that a file may ask for.
const MAX_CLIENTS: u32 = 1_000_000;
const DEEPEST: u32 = 1024;

impl Defaults {
    pub(super) fn of(text: &text::Load) -> Result<Self, String> {
        let within = |number: u32, most: u32, what: &str| {
            let sound = (1..=most).contains(&number);
            if sound { Ok(number) } else { Err(format!("{what} = {number}: expected 1 to {most}")) }
        };
        let clients = within(text.clients.unwrap_or(1), MAX_CLIENTS, "clients")?;
        let arrivals = text.arrivals;
        let load =
            match (text.rate, text.users, text.every) {
                (None, None, None) => Load::Closed { clients, think: text.think.map_or(Pause::None, |think| think.0) },
                (Some(rate), None, None) if rate > 0.0 && rate <= 1e8 => Load::Open { clients, rate, arrivals },
                (Some(rate), None, None) => {
                    return Err(format!("rate = {rate}: expected a number above 0 and at most 1e8"));
                }
                (None, Some(users), Some(every)) if every.0 > 0 => {
                    let users = within(users, MAX_CLIENTS, "users")?;
                    Load::Partly { users, every_ns: every.0, arrivals }
                }
                _ => return Err(
                    "invalid combination: use \"clients\" and optionally \"think\", or \"clients\" and \"rate\", or \"users\" and \"every\" \
                     above 0s"
                        .to_owned(),
                ),
            };
        let closed = matches!(load, Load::Closed { .. });
        if text.think.is_some() && !closed {
            return Err(
                "\"think\" cannot be combined with \"rate\" or \"users\", which start iterations on a schedule: remove \"think\""
                    .to_owned(),
            );
        }
        if text.clients.is_some() && matches!(load, Load::Partly { .. }) {
            return Err("\"users\" and \"clients\" cannot be combined, because each user is a client: remove one of the two settings".to_owned());
        }
        if text.duration.0 == 0 {
            return Err("\"duration\" must be above 0s".to_owned());
        }
        let phases = Phases { warmup_ns: text.warmup.0, measured_ns: Some(text.duration.0), ..Phases::default() };
        Ok(Self { load, depth: within(text.depth, DEEPEST, "depth")?, phases })
    }
}
