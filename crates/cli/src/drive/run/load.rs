//! Flags of the load, and the plans that follow from them, one per level.

use std::time::Duration;

use plimsoll_drive::engine::Plan;
use plimsoll_experiment::{LevelSpec, LoadParameter};
use plimsoll_results::Usage;
use plimsoll_workload::Defaults;
use plimsoll_workload::{Arrivals, Load, Pause, Phases};

use super::ranges::Levels;

/// Load, as flags; the workload supplies the rest.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadFlags {
    /// Number of simulated clients, each with its own connection and session [default: from the workload]. Without
    /// --rate, a client starts its next operation when the previous one ends
    #[arg(long, value_name = "COUNT")]
    pub(crate) clients: Option<u32>,
    /// Number of users; each starts one iteration per --every interval, even when the server falls behind
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["rate", "clients", "think"])]
    pub(crate) users: Option<u32>,
    /// Iterations to start per second, over all clients, e.g. 500; the rate does not drop when the server falls behind
    #[arg(long, value_name = "PER_SECOND", conflicts_with = "think")]
    pub(crate) rate: Option<f64>,
    /// Queue depth: maximum outstanding operations per client, over all its connections [default: from the workload]
    #[arg(long, value_name = "COUNT")]
    pub(crate) depth: Option<u32>,
    /// Load levels to run in order: clients (with --users: users; with --rate: iterations/s), e.g. 1,2,4 or 1..15 or
    /// 1..64*2 (doubling) or 100..1000/100 (steps of 100)
    #[arg(long, value_name = "LIST")]
    pub(crate) levels: Option<Levels>,
    /// Length of each measured phase, e.g. 30s [default: from the workload]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) duration: Option<Duration>,
    /// Unmeasured load before each measured phase, e.g. 5s [default: from the workload]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) warmup: Option<Duration>,
    /// Think time of a client between iterations: 10ms, exponential:10ms (mean 10 ms) or 5ms..20ms (uniform)
    #[arg(long, value_name = "TIME")]
    pub(crate) think: Option<Pause>,
    /// Mean time between the starts of one user's iterations, e.g. 11s
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) every: Option<Duration>,
    /// Spacing of scheduled starts: constant or poisson [default: from the workload, or constant]
    #[arg(long, value_name = "HOW")]
    pub(crate) arrivals: Option<Arrivals>,
    /// TCP connections per client (like the mount option nconnect), which share its --depth; --depth must be at least
    /// COUNT
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub(crate) connections: u32,
    /// TCP connections per SMB session (multichannel): each request takes the connection with the fewest credits in use. SMB 3
    /// only, 1 to 64; the server must offer multichannel
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub(crate) channels: u32,
    /// Number of clients that share one connection and session
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub(crate) clients_per_connection: u32,
    /// Load threads; 0 = one per core (file://: one per client)
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub(crate) threads: u32,
    /// Prevent CPU idle states with one SCHED_IDLE spinning thread per CPU. This lowers the wake-up latency, and
    /// appears as CPU use in --server-metrics of this host
    #[arg(long)]
    pub(crate) no_cpu_idle: bool,
    /// Timeout for a request, and for connecting and logging on, e.g. 10s; the report counts timeouts
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "30s")]
    pub(crate) timeout: Duration,
    /// Name of the set of files that the workload uses on the share; concurrent runs need different names
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub(crate) file_set: Option<String>,
    /// Seed of the random number generator
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
}

impl LoadFlags {
    /// These flags with a value of the varied parameter.
    pub(super) fn with(&self, varied: Option<(LoadParameter, u32)>) -> Self {
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
}

/// Timeout of a request.
pub(crate) fn timeout_ns(flags: &LoadFlags) -> u64 {
    nanoseconds(flags.timeout)
}

/// The requested levels, in order.
pub(crate) fn levels_of(flags: &LoadFlags, defaults: &Defaults) -> anyhow::Result<Vec<LevelSpec>> {
    let base = base(flags, &defaults.load)?;
    let at = |&level: &f64| at_level(base, ("--levels", level));
    let loads = match &flags.levels {
        None => vec![base],
        Some(Levels(levels)) => levels.iter().map(at).collect::<Result<_, _>>()?,
    };
    (0..).zip(loads).map(|(number, load)| step(flags, defaults, load, number)).collect()
}

/// The load from flags and workload, for runs without levels.
pub(crate) fn usual(flags: &LoadFlags, defaults: &Defaults) -> anyhow::Result<Load> {
    Ok(base(flags, &defaults.load)?)
}

/// The stage with this number, at this level; `flag` names the option that gave the level.
pub(crate) fn level_at(
    flags: &LoadFlags,
    defaults: &Defaults,
    (flag, level): (&str, f64),
    number: u32,
) -> anyhow::Result<LevelSpec> {
    step(flags, defaults, at_level(base(flags, &defaults.load)?, (flag, level))?, number)
}

/// The load without levels.
fn base(flags: &LoadFlags, default: &Load) -> Result<Load, Usage> {
    let clients = flags.clients.unwrap_or(default.clients());
    let arrivals = flags.arrivals.unwrap_or(match *default {
        Load::Open { arrivals, .. } | Load::Partly { arrivals, .. } => arrivals,
        Load::Closed { .. } => Arrivals::Constant,
    });
    let default_think = if let Load::Closed { think, .. } = *default { think } else { Pause::None };
    let every = match (flags.every, *default) {
        (Some(every), _) => Some(nanoseconds(every)),
        (None, Load::Partly { every_ns, .. }) => Some(every_ns),
        (None, _) => None,
    };
    match (flags.users, flags.rate, *default) {
        (Some(users), _, _) => {
            let missing = || Usage("--users requires --every, e.g. --every 11s".to_owned());
            Ok(Load::Partly { users, every_ns: every.ok_or_else(missing)?, arrivals })
        }
        (None, Some(rate), _) => Ok(Load::Open { clients, rate, arrivals }),
        (None, None, Load::Open { rate, .. }) if flags.think.is_none() => Ok(Load::Open { clients, rate, arrivals }),
        (None, None, Load::Partly { every_ns, .. }) if flags.think.is_none() && flags.clients.is_none() => {
            Ok(Load::Partly { users: default.clients(), every_ns: every.unwrap_or(every_ns), arrivals })
        }
        _ => Ok(Load::Closed { clients, think: flags.think.unwrap_or(default_think) }),
    }
}

fn at_level(base: Load, (flag, level): (&str, f64)) -> Result<Load, Usage> {
    base.at_level(level).ok_or_else(|| Usage(format!("{flag} {level}: expected an integer >= 1")))
}

fn step(flags: &LoadFlags, defaults: &Defaults, load: Load, number: u32) -> anyhow::Result<LevelSpec> {
    let (lanes, connections) = (flags.depth.unwrap_or(defaults.depth), flags.connections);
    if connections > lanes {
        // Plimsoll does not raise the depth itself, because this would be a second difference between compared runs.
        return Err(Usage(format!(
            "--connections {connections}: a client cannot use more connections than its queue depth, {lanes}; add \
            --depth {connections}, also to any run that you compare with this one"
        ))
        .into());
    }
    let plan = Plan {
        depth: lanes,
        connections,
        clients_per_connection: flags.clients_per_connection,
        channels: flags.channels,
        phases: Phases {
            warmup_ns: flags.warmup.map_or(defaults.phases.warmup_ns, nanoseconds),
            measured_ns: flags.duration.map(nanoseconds).or(defaults.phases.measured_ns),
            ..defaults.phases
        },
        timeout_ns: nanoseconds(flags.timeout),
        threads: flags.threads,
        no_cpu_idle: flags.no_cpu_idle,
        seed: flags.seed,
        stage: Some(number),
        ..Plan::new(load)
    };
    plan.check().map_err(|error| Usage(error.to_string()))?;
    Ok(LevelSpec { words: load.to_string(), plan, curve: None, parameter: None, share: None })
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Maximum length of the name of a file set, characters.
const LONGEST_NAME: usize = 40;

fn parse_name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match (1..=LONGEST_NAME).contains(&text.len()) && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err(format!("expected 1 to {LONGEST_NAME} letters, digits, '-' or '_'")),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_experiment::{levels_of_variant, repeated};

    use super::super::parameters::SetFlags;
    use super::*;

    const PHASES: Phases =
        Phases { connect_ns: 1, warmup_ns: 1_000_000_000, measured_ns: Some(2_000_000_000), drain_ns: 1 };
    const DEFAULTS: Defaults =
        Defaults { load: Load::Closed { clients: 4, think: Pause::Constant(5) }, depth: 1, phases: PHASES };

    fn flags() -> LoadFlags {
        let timeout = Duration::from_secs(30);
        LoadFlags { connections: 1, channels: 1, clients_per_connection: 1, timeout, ..LoadFlags::default() }
    }

    fn loads(flags: &LoadFlags) -> Vec<Load> {
        levels_of(flags, &DEFAULTS).unwrap().iter().map(|step| step.plan.load).collect()
    }

    #[test]
    fn without_flags_the_workload_decides() {
        let step = &levels_of(&flags(), &DEFAULTS).unwrap()[0];
        assert_eq!(step.plan.load, DEFAULTS.load);
        assert_eq!((step.words.as_str(), step.plan.phases.warmup_ns), ("4 clients", 1_000_000_000));
    }

    #[test]
    fn levels_are_of_what_is_asked_for() {
        let levels = || Some(Levels(vec![1.0, 8.0]));
        let closed = |clients| Load::Closed { clients, think: Pause::Constant(5) };
        assert_eq!(loads(&LoadFlags { levels: levels(), ..flags() }), [closed(1), closed(8)]);
        let open = |rate| Load::Open { clients: 4, rate, arrivals: Arrivals::Constant };
        let rated = LoadFlags { levels: levels(), rate: Some(1.0), ..flags() };
        assert_eq!(loads(&rated), [open(1.0), open(8.0)]);
        let every = Some(Duration::from_secs(1));
        let users = LoadFlags { levels: levels(), users: Some(1), every, ..flags() };
        assert!(matches!(loads(&users)[1], Load::Partly { users: 8, every_ns: 1_000_000_000, .. }));
    }

    #[test]
    fn repeats_are_stages_with_draws_of_their_own() {
        let levels = LoadFlags { levels: Some(Levels(vec![1.0, 8.0])), seed: 5, ..flags() };
        let all = repeated(levels_of(&levels, &DEFAULTS).unwrap(), 2);
        let seen: Vec<_> = all
            .iter()
            .map(|step| (step.words.as_str(), step.curve.as_deref(), step.plan.stage, step.plan.seed))
            .collect();
        let [first, second] = ["repeat 1", "repeat 2"].map(Some);
        let expected = [
            ("1 client", first, Some(0), 5),
            ("8 clients", first, Some(1), 5),
            ("1 client", second, Some(2), 6),
            ("8 clients", second, Some(3), 6),
        ];
        assert_eq!(seen, expected);
        assert_eq!(repeated(levels_of(&levels, &DEFAULTS).unwrap(), 1)[0].curve, None);
    }

    #[test]
    fn variants_are_curves_of_their_own() {
        let levels = LoadFlags { levels: Some(Levels(vec![1.0, 8.0])), ..flags() };
        let vary = crate::drive::run::parameters::tests::vary("block=1B,2B");
        let variants = SetFlags::default().variants("blocks-read", &vary).unwrap();
        let steps = |times| repeated(levels_of(&levels, &DEFAULTS).unwrap(), times);
        let second = levels_of_variant(steps(1), 1, &variants[1]);
        let seen: Vec<_> = second.iter().map(|step| (step.curve.as_deref(), step.plan.stage)).collect();
        assert_eq!(seen, [(Some("block=2B"), Some(2)), (Some("block=2B"), Some(3))]);
        assert_eq!(second[0].parameter.as_ref().unwrap().value, "2B");
        let last = &levels_of_variant(steps(2), 1, &variants[1])[3];
        assert_eq!((last.curve.as_deref(), last.plan.stage), (Some("block=2B, repeat 2"), Some(7)));
    }

    #[test]
    fn connections_do_not_make_the_load_deeper() {
        let plan = |depth, connections| {
            levels_of(&LoadFlags { depth, connections, ..flags() }, &DEFAULTS).map(|steps| steps[0].plan.clone())
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
        assert!(levels_of(&LoadFlags { levels: Some(Levels(vec![1.5])), ..flags() }, &DEFAULTS).is_err());
        assert!(levels_of(&LoadFlags { users: Some(3), ..flags() }, &DEFAULTS).is_err());
        assert!(levels_of(&LoadFlags { clients: Some(0), ..flags() }, &DEFAULTS).is_err());
    }
}
