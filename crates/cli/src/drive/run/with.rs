//! `--with`: workloads that run at the same time as the run's own.

use std::str::FromStr;
use std::time::Duration;

use plimsoll_experiment::{CompanionSpec, LevelSpec, RunSpec, Sharer, VariantSpec, levels_of_sharers};
use plimsoll_results::Usage;
use plimsoll_workload::{Parameter, Workload};

use super::absolute;
use super::load::{LoadFlags, levels_of};

/// Number of rounds without --repeat: five pairs show a difference of three times their scatter.
pub(super) const ROUNDS: u32 = 5;

/// Workloads that run at the same time, as flags.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct WithFlags {
    /// Run another workload at the same time, e.g. stream-read,clients=2: its name, then its load (clients, users, rate, depth, every,
    /// think, arrivals) and its parameters; may be repeated. In each of --repeat rounds [default: 5] every
    /// workload runs alone and all run together, and the report shows how much each workload slows the others
    #[arg(
        long, value_name = "WORKLOAD[,NAME=VALUE…]", value_parser = parse_with,
        conflicts_with_all = ["levels", "vary", "stop_above", "part", "start_at", "go_on"]
    )]
    with: Vec<Companion>,
}

/// A workload and its load.
#[derive(Clone, Debug, PartialEq)]
struct Companion {
    workload: String,
    given: Vec<Parameter>,
}

impl WithFlags {
    /// Whether another workload was given.
    pub(super) fn is_some(&self) -> bool {
        !self.with.is_empty()
    }

    /// Adds the workloads to the run, which must have a single level.
    ///
    /// # Errors
    /// A workload is not known, or what is asked of it makes no sense.
    pub(super) fn put(
        &self,
        spec: &mut RunSpec,
        (workload, level): (&Workload, LevelSpec),
        (load, rounds): (&LoadFlags, u32),
    ) -> anyhow::Result<()> {
        if self.with.is_empty() {
            return Ok(());
        }
        let mut sharers = vec![Sharer { name: workload.name().to_owned(), level }];
        for companion in &self.with {
            let (workload, level, settings) = companion.read(load)?;
            spec.with.push(CompanionSpec {
                name: workload.name().to_owned(),
                workload: absolute(&companion.workload)?,
                workload_text: workload.text().to_owned(),
                workload_sha256: workload.digest().to_owned(),
                settings,
            });
            sharers.push(Sharer { name: workload.name().to_owned(), level });
        }
        let levels = levels_of_sharers(&sharers, rounds)?;
        spec.variants = vec![VariantSpec { value: None, workload_sha256: workload.digest().to_owned(), levels }];
        Ok(())
    }
}

impl Companion {
    /// The workload, its load, and the values of its parameters. Settings that are not part of the load come from the run.
    fn read(&self, run: &LoadFlags) -> anyhow::Result<(Workload, LevelSpec, Vec<Parameter>)> {
        let mut load = LoadFlags {
            timeout: run.timeout,
            threads: run.threads,
            no_cpu_idle: run.no_cpu_idle,
            seed: run.seed,
            connections: 1,
            channels: 1,
            clients_per_connection: 1,
            ..LoadFlags::default()
        };
        let mut settings = Vec::new();
        for parameter in &self.given {
            let Parameter { name, value } = parameter;
            match name.as_str() {
                "clients" => load.clients = Some(self.value(parameter, "an integer")?),
                "users" => load.users = Some(self.value(parameter, "an integer")?),
                "rate" => load.rate = Some(self.value(parameter, "iterations per second")?),
                "depth" => load.depth = Some(self.value(parameter, "an integer")?),
                "think" => load.think = Some(self.value(parameter, "a time, e.g. 10ms")?),
                "arrivals" => load.arrivals = Some(self.value(parameter, "constant or poisson")?),
                "every" => load.every = Some(self.time(name, value)?),
                _ => settings.push(parameter.clone()),
            }
        }
        if load.users.is_some() && (load.rate.is_some() || load.clients.is_some() || load.think.is_some()) {
            return Err(self.wrong("users cannot be combined with clients, rate or think").into());
        }
        if load.rate.is_some() && load.think.is_some() {
            return Err(self.wrong("rate cannot be combined with think").into());
        }
        let workload =
            Workload::find_with(&self.workload, &settings).map_err(|error| self.wrong(&error.to_string()))?;
        let levels = levels_of(&load, workload.defaults()).map_err(|error| self.wrong(&error.to_string()))?;
        let level = levels.into_iter().next().ok_or_else(|| self.wrong("no load"))?;
        Ok((workload, level, settings))
    }

    fn value<T: FromStr>(&self, Parameter { name, value }: &Parameter, expected: &str) -> Result<T, Usage> {
        value.parse().map_err(|_| self.wrong(&format!("{name}={value}: expected {expected}")))
    }

    fn time(&self, name: &str, value: &str) -> Result<Duration, Usage> {
        humantime::parse_duration(value).map_err(|_| self.wrong(&format!("{name}={value}: expected a time, e.g. 11s")))
    }

    fn wrong(&self, why: &str) -> Usage {
        Usage(format!("--with {}: {why}", self.workload))
    }
}

fn parse_with(text: &str) -> Result<Companion, String> {
    let mut parts = text.split(',').map(str::trim);
    let workload = parts.next().filter(|name| !name.is_empty()).ok_or("expected a workload")?.to_owned();
    if workload.contains('=') {
        return Err(format!("{workload}: expected a workload in front of NAME=VALUE"));
    }
    let given = parts.map(|part| {
        let (name, value) = part.split_once('=').ok_or_else(|| format!("{part:?}: expected NAME=VALUE"))?;
        Ok(Parameter { name: name.trim().to_owned(), value: value.trim().to_owned() })
    });
    let given: Vec<Parameter> = given.collect::<Result<_, String>>()?;
    let repeated =
        given.iter().enumerate().find(|(at, one)| given.iter().take(*at).any(|other| other.name == one.name));
    match repeated {
        Some((_, twice)) => Err(format!("{} is given twice", twice.name)),
        None => Ok(Companion { workload, given }),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_workload::{Load, Pause};

    use super::*;

    fn flags() -> LoadFlags {
        let timeout = Duration::from_secs(30);
        LoadFlags { connections: 1, channels: 1, clients_per_connection: 1, timeout, ..LoadFlags::default() }
    }

    fn read(text: &str) -> anyhow::Result<(Workload, LevelSpec, Vec<Parameter>)> {
        parse_with(text).map_err(Usage)?.read(&flags())
    }

    #[test]
    fn a_companion_has_a_load_and_parameters_of_its_own() {
        let (workload, level, settings) = read("blocks-read,clients=3,think=5ms,block=6kB").unwrap();
        assert_eq!((workload.name(), settings.len()), ("blocks-read", 1));
        assert_eq!(level.plan.load, Load::Closed { clients: 3, think: Pause::Constant(5_000_000) });
        let users = read("home-folders,users=7,every=2s").unwrap().1.plan.load;
        assert!(matches!(users, Load::Partly { users: 7, every_ns: 2_000_000_000, .. }), "{users:?}");
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        for (text, said) in [
            ("", "expected a workload"),
            ("clients=3", "in front of NAME=VALUE"),
            ("mixed,clients", "expected NAME=VALUE"),
            ("mixed,clients=2,clients=3", "clients is given twice"),
            ("mixed,clients=many", "--with mixed: clients=many: expected an integer"),
            ("mixed,colour=red", "--with mixed: "),
            ("no-such-workload", "--with no-such-workload: "),
            ("mixed,users=3,clients=2", "users cannot be combined"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_run_keeps_what_it_needs_to_be_repeated() {
        let workload = Workload::find("mixed").unwrap();
        let level = levels_of(&flags(), workload.defaults()).unwrap().remove(0);
        let mut spec = RunSpec::new(&workload, 1);
        let with = WithFlags { with: vec![parse_with("blocks-read,block=6kB").unwrap()] };
        with.put(&mut spec, (&workload, level), (&flags(), 2)).unwrap();
        assert_eq!(spec.levels().count(), 8);
        let again: RunSpec = serde_json::from_value(serde_json::to_value(&spec).unwrap()).unwrap();
        let companion = again.with[0].workload().unwrap();
        assert_eq!((companion.name(), companion.parameters()[0].value.as_str()), ("blocks-read", "6kB"));
        assert_eq!(again.levels().nth(2).unwrap().1.share.as_ref().unwrap().beside, ["mixed"]);
    }
}
