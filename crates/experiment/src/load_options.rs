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

    /// The level with this number, of this load; `flag` names the option that gave the load.
    ///
    /// # Errors
    /// The options are not those of a load, or this is no level.
    pub fn level_at(&self, defaults: &Defaults, (flag, load): (&str, f64), number: u32) -> anyhow::Result<LevelSpec> {
        self.level_of(defaults, at_level(self.load(defaults)?, (flag, load))?, number)
    }

    fn level_of(&self, defaults: &Defaults, load: Load, number: u32) -> anyhow::Result<LevelSpec> {
        let (lanes, connections) = (self.depth.unwrap_or(defaults.depth), self.connections);
        if lanes == 0 {
            return Err(Usage("--depth 0: the queue depth must be at least 1".to_owned()).into());
        }
        if connections > lanes {
            // Plimsoll does not raise the depth itself, because this would be a second difference between compared runs.
            return Err(Usage(format!(
                "--connections {connections}: a client cannot use more connections than its queue depth, {lanes}; add \
            --depth {connections}, also to any run that you compare with this one"
            ))
            .into());
        }
        if self.duration.is_some_and(|duration| duration.is_zero()) {
            return Err(Usage("--duration 0s: expected a time above 0, e.g. 30s".to_owned()).into());
        }
        let plan = Plan {
            depth: lanes,
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
    base.at_level(level).ok_or_else(|| Usage(format!("{flag} {level}: expected an integer >= 1")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::variants;
    use crate::{levels_of_variant, repeated};

    const PHASES: Phases =
        Phases { connect_ns: 1, warmup_ns: 1_000_000_000, measured_ns: Some(2_000_000_000), drain_ns: 1 };
    const DEFAULTS: Defaults =
        Defaults { load: Load::Closed { clients: 4, think: Pause::Constant(5) }, depth: 1, phases: PHASES };

    fn options() -> LoadOptions {
        LoadOptions::default()
    }

    fn loads(options: &LoadOptions) -> Vec<Load> {
        options.levels(&DEFAULTS).unwrap().iter().map(|step| step.plan.load).collect()
    }

    #[test]
    fn without_options_the_workload_decides() {
        let step = &options().levels(&DEFAULTS).unwrap()[0];
        assert_eq!(step.plan.load, DEFAULTS.load);
        assert_eq!((step.load_name.as_str(), step.plan.phases.warmup_ns), ("4 clients", 1_000_000_000));
    }

    #[test]
    fn levels_are_of_what_is_asked_for() {
        let levels = || Some(LevelList(vec![1.0, 8.0]));
        let closed = |clients| Load::Closed { clients, think: Pause::Constant(5) };
        assert_eq!(loads(&LoadOptions { levels: levels(), ..options() }), [closed(1), closed(8)]);
        let open = |rate| Load::Open { clients: 4, rate, arrivals: Arrivals::Constant };
        let rated = LoadOptions { levels: levels(), rate: Some(1.0), ..options() };
        assert_eq!(loads(&rated), [open(1.0), open(8.0)]);
        let every = Some(Duration::from_secs(1));
        let users = LoadOptions { levels: levels(), users: Some(1), every, ..options() };
        assert!(matches!(loads(&users)[1], Load::Partly { users: 8, every_ns: 1_000_000_000, .. }));
    }

    #[test]
    fn repeats_are_levels_with_draws_of_their_own() {
        let levels = LoadOptions { levels: Some(LevelList(vec![1.0, 8.0])), seed: 5, ..options() };
        let all = repeated(levels.levels(&DEFAULTS).unwrap(), 2);
        let seen: Vec<_> = all
            .iter()
            .map(|step| (step.load_name.as_str(), step.curve.as_deref(), step.plan.level, step.plan.seed))
            .collect();
        let [first, second] = ["repeat 1", "repeat 2"].map(Some);
        let expected = [
            ("1 client", first, 0, 5),
            ("8 clients", first, 1, 5),
            ("1 client", second, 2, 6),
            ("8 clients", second, 3, 6),
        ];
        assert_eq!(seen, expected);
        assert_eq!(repeated(levels.levels(&DEFAULTS).unwrap(), 1)[0].curve, None);
    }

    #[test]
    fn variants_are_curves_of_their_own() {
        let levels = LoadOptions { levels: Some(LevelList(vec![1.0, 8.0])), ..options() };
        let vary = "block=1B,2B".parse().unwrap();
        let variants = variants("blocks-read", &[], Some(&vary)).unwrap();
        let steps = |times| repeated(levels.levels(&DEFAULTS).unwrap(), times);
        let second = levels_of_variant(steps(1), 1, &variants[1]);
        let seen: Vec<_> = second.iter().map(|step| (step.curve.as_deref(), step.plan.level)).collect();
        assert_eq!(seen, [(Some("block=2B"), 2), (Some("block=2B"), 3)]);
        assert_eq!(second[0].parameter.as_ref().unwrap().value, "2B");
        let last = &levels_of_variant(steps(2), 1, &variants[1])[3];
        assert_eq!((last.curve.as_deref(), last.plan.level), (Some("block=2B, repeat 2"), 7));
    }

    #[test]
    fn connections_do_not_make_the_load_deeper() {
        let plan = |depth, connections| {
            (LoadOptions { depth, connections, ..options() }).levels(&DEFAULTS).map(|steps| steps[0].plan.clone())
        };
        let error = plan(None, 4).unwrap_err().to_string();
        assert!(
            error.starts_with("--connections 4: a client cannot use more connections than its queue depth, 1")
                && error.contains("--depth 4")
        );
        assert!(plan(Some(3), 4).is_err());
        let spread = plan(Some(8), 4).unwrap();
        assert_eq!((spread.depth, spread.connections, spread.outstanding()), (8, 4, 32));
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        assert!((LoadOptions { levels: Some(LevelList(vec![1.5])), ..options() }).levels(&DEFAULTS).is_err());
        assert!((LoadOptions { users: Some(3), ..options() }).levels(&DEFAULTS).is_err());
        assert!((LoadOptions { clients: Some(0), ..options() }).levels(&DEFAULTS).is_err());
        assert!((LoadOptions { duration: Some(Duration::ZERO), ..options() }).levels(&DEFAULTS).is_err());
        let error = (LoadOptions { depth: Some(0), ..options() }).levels(&DEFAULTS).unwrap_err().to_string();
        assert_eq!(error, "--depth 0: the queue depth must be at least 1");
    }

    #[test]
    fn options_of_a_schedule_need_one() {
        let (every, arrivals) = (Some(Duration::from_secs(1)), Some(Arrivals::Poisson));
        let said =
            |options: LoadOptions| options.load(&DEFAULTS).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(said(LoadOptions { every, ..options() }).starts_with("--every: only users"));
        assert!(said(LoadOptions { every, rate: Some(1.0), ..options() }).starts_with("--every: only users"));
        assert!(said(LoadOptions { arrivals, ..options() }).starts_with("--arrivals: clients without a schedule"));
        assert_eq!(said(LoadOptions { arrivals, rate: Some(1.0), ..options() }), "");
        assert_eq!(said(LoadOptions { arrivals, every, users: Some(1), ..options() }), "");
    }
}
