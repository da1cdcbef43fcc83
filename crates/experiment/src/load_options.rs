//! What a user asks for of the load; the workload supplies the rest. The levels follow, with their plans.

use std::time::Duration;

use plimsoll_drive::engine::Plan;
use plimsoll_results::Usage;
use plimsoll_workload::{Arrivals, Defaults, Load, Pause, Phases, nanoseconds};

use crate::level_spec::LevelSpec;
use crate::parameters::LoadParameter;
use crate::ranges::LevelList;

/// What was asked for of the load. The options of `plimsoll run` with these names have the meaning of each.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the help texts of the options")]
pub struct LoadOptions {
    pub clients: Option<u32>,
    pub users: Option<u32>,
    pub rate: Option<f64>,
    pub depth: Option<u32>,
    pub levels: Option<LevelList>,
    pub duration: Option<Duration>,
    pub warmup: Option<Duration>,
    pub think: Option<Pause>,
    pub every: Option<Duration>,
    pub arrivals: Option<Arrivals>,
    pub connections: u32,
    pub channels: u32,
    pub clients_per_connection: u32,
    pub threads: u32,
    pub no_cpu_idle: bool,
    pub timeout: Duration,
    pub seed: u64,
}

/// Timeout of a request without `--timeout`.
const TIMEOUT: Duration = Duration::from_secs(30);

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            clients: None,
            users: None,
            rate: None,
            depth: None,
            levels: None,
            duration: None,
            warmup: None,
            think: None,
            every: None,
            arrivals: None,
            connections: 1,
            channels: 1,
            clients_per_connection: 1,
            threads: 0,
            no_cpu_idle: false,
            timeout: TIMEOUT,
            seed: 1,
        }
    }
}

impl LoadOptions {
    /// These options with a value of the varied parameter.
    pub fn with(&self, varied: Option<(LoadParameter, u32)>) -> Self {
        let mut load = self.clone();
        match varied {
            Some((LoadParameter::Depth, depth)) => load.depth = Some(depth),
            Some((LoadParameter::Connections, connections)) => load.connections = connections,
            Some((LoadParameter::Channels, channels)) => load.channels = channels,
            // Slots belong to the target.
            Some((LoadParameter::Slots, _)) | None => {}
        }
        load
    }

    /// Timeout of a request, ns.
    pub fn timeout_ns(&self) -> u64 {
        nanoseconds(self.timeout)
    }

    /// The requested levels, in order.
    ///
    /// # Errors
    /// The options are not those of a load.
    pub fn levels(&self, defaults: &Defaults) -> anyhow::Result<Vec<LevelSpec>> {
        let base = self.load(defaults)?;
        self.check_clients(&base)?;
        let at = |&level: &f64| at_level(base, ("--levels", level));
        let loads = match &self.levels {
            None => vec![base],
            Some(LevelList(levels)) => levels.iter().map(at).collect::<Result<_, _>>()?,
        };
        (0..).zip(loads).map(|(number, load)| self.level_of(defaults, load, number)).collect()
    }

    /// The load without levels.
    ///
    /// # Errors
    /// The options are not those of a load.
    pub fn load(&self, defaults: &Defaults) -> Result<Load, Usage> {
        let default = &defaults.load;
        let clients = self.clients.unwrap_or(default.clients());
        let arrivals = self.arrivals.unwrap_or(match *default {
            Load::Open { arrivals, .. } | Load::Partly { arrivals, .. } => arrivals,
            Load::Closed { .. } => Arrivals::Constant,
        });
        let default_think = if let Load::Closed { think, .. } = *default { think } else { Pause::None };
        let every = match (self.every, *default) {
            (Some(every), _) => Some(nanoseconds(every)),
            (None, Load::Partly { every_ns, .. }) => Some(every_ns),
            (None, _) => None,
        };
        self.rate.map_or(Ok(()), |rate| check_rate("--rate", rate))?;
        let load = match (self.users, self.rate, *default) {
            (Some(users), _, _) => {
                let missing = || Usage("--users requires --every, e.g. --every 11s".to_owned());
                Load::Partly { users, every_ns: every.ok_or_else(missing)?, arrivals }
            }
            (None, Some(rate), _) => Load::Open { clients, rate, arrivals },
            (None, None, Load::Open { rate, .. }) if self.think.is_none() => Load::Open { clients, rate, arrivals },
            (None, None, Load::Partly { every_ns, .. }) if self.think.is_none() && self.clients.is_none() => {
                Load::Partly { users: default.clients(), every_ns: every.unwrap_or(every_ns), arrivals }
            }
            _ => Load::Closed { clients, think: self.think.unwrap_or(default_think) },
        };
        self.check_schedule(&load)?;
        Ok(load)
    }

    /// Refuses a number of clients that is none of the levels: it would have no effect.
    fn check_clients(&self, load: &Load) -> Result<(), Usage> {
        match (self.clients, &self.levels, load) {
            (Some(clients), Some(LevelList(levels)), Load::Closed { .. }) if !levels.contains(&f64::from(clients)) => {
                Err(Usage(format!(
                    "--clients {clients}: --levels gives the numbers of clients, and {clients} is not one of them; remove \
                    --clients, or add {clients} to --levels"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Refuses options of a schedule that this load does not have: they would have no effect.
    fn check_schedule(&self, load: &Load) -> Result<(), Usage> {
        if self.every.is_some() && !matches!(load, Load::Partly { .. }) {
            return Err(Usage(
                "--every: only users start iterations at intervals; give --users, or remove --every (the pause of a client is --think)"
                    .to_owned(),
            ));
        }
        if self.arrivals.is_some() && matches!(load, Load::Closed { .. }) {
            return Err(Usage(
                "--arrivals: clients without a schedule start an iteration when the previous one ends; give --rate or --users, or remove \
                --arrivals"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Refuses counts of 0, each with its option; `depth` is the queue depth.
    fn check_counts(&self, depth: u32) -> Result<(), Usage> {
        let counts = [
            ("--clients", self.clients),
            ("--users", self.users),
            ("--depth", Some(depth)),
            ("--connections", Some(self.connections)),
            ("--channels", Some(self.channels)),
            ("--clients-per-connection", Some(self.clients_per_connection)),
        ];
        let zero = counts.into_iter().find(|(_, count)| *count == Some(0));
        zero.map_or(Ok(()), |(flag, _)| Err(Usage(format!("{flag} 0: expected an integer >= 1"))))
    }

    /// Refuses times of 0 and a think time that ends before it begins, each with its option.
    fn check_times(&self) -> Result<(), Usage> {
        let times = [("--duration", self.duration), ("--every", self.every), ("--timeout", Some(self.timeout))];
        if let Some((flag, _)) = times.into_iter().find(|(_, time)| time.is_some_and(|time| time.is_zero())) {
            return Err(Usage(format!("{flag} 0s: expected a time above 0, e.g. 30s")));
        }
        match self.think {
            Some(Pause::Uniform(low, high)) if low > high => {
                let [low, high] = [low, high].map(|ns| humantime::format_duration(Duration::from_nanos(ns)));
                Err(Usage(format!("--think {low}..{high}: expected the shorter time first")))
            }
            _ => Ok(()),
        }
    }

    /// The level with this number, of this load; `flag` names the option that gave the load.
    ///
    /// # Errors
    /// The options are not those of a load, or this is no level.
    pub fn level_at(&self, defaults: &Defaults, (flag, load): (&str, f64), number: u32) -> anyhow::Result<LevelSpec> {
        self.level_of(defaults, at_level(self.load(defaults)?, (flag, load))?, number)
    }

    fn level_of(&self, defaults: &Defaults, load: Load, number: u32) -> anyhow::Result<LevelSpec> {
        let (depth, connections) = (self.depth.unwrap_or(defaults.depth), self.connections);
        self.check_counts(depth)?;
        if connections > depth {
            // Plimsoll does not raise the depth itself, because this would be a second difference between compared runs.
            return Err(Usage(format!(
                "--connections {connections}: a client cannot use more connections than its queue depth, {depth}; add \
            --depth {connections}, also to any run that you compare with this one"
            ))
            .into());
        }
        self.check_times()?;
        let plan = Plan {
            depth,
            connections,
            clients_per_connection: self.clients_per_connection,
            channels: self.channels,
            phases: Phases {
                warmup_ns: self.warmup.map_or(defaults.phases.warmup_ns, nanoseconds),
                measured_ns: self.duration.map(nanoseconds).or(defaults.phases.measured_ns),
                ..defaults.phases
            },
            timeout_ns: nanoseconds(self.timeout),
            threads: self.threads,
            no_cpu_idle: self.no_cpu_idle,
            seed: self.seed,
            level: number,
            ..Plan::new(load)
        };
        plan.check().map_err(|error| Usage(error.to_string()))?;
        Ok(LevelSpec { load_name: load.to_string(), plan, curve: None, parameter: None, share: None })
    }
}

fn at_level(base: Load, (flag, level): (&str, f64)) -> Result<Load, Usage> {
    let load = base.at_level(level).ok_or_else(|| Usage(format!("{flag} {level}: expected an integer >= 1")))?;
    match load {
        Load::Open { rate, .. } => check_rate(flag, rate).map(|()| load),
        _ => Ok(load),
    }
}

/// Refuses a rate that the load engine cannot have; `flag` names the option that gave it.
fn check_rate(flag: &str, rate: f64) -> Result<(), Usage> {
    let highest = Plan::HIGHEST_RATE;
    let is_possible = rate > 0.0 && rate <= highest;
    let why = || Usage(format!("{flag} {rate}: expected a number above 0, at most {highest} iterations/s"));
    if is_possible { Ok(()) } else { Err(why()) }
}

#[cfg(test)]
mod tests;
