//! `--with`: what a user asks for of workloads that run at the same time as the run's own.

use std::str::FromStr;
use std::time::Duration;

use plimsoll_results::Usage;
use plimsoll_workload::{Parameter, Workload};

use super::companion::{CompanionSpec, Sharer, levels_of_sharers};
use crate::level_spec::LevelSpec;
use crate::load_options::LoadOptions;
use crate::run_spec::{RunSpec, VariantSpec, absolute_workload};

/// Number of rounds without --repeat: five pairs show a difference of three times their scatter.
pub const ROUNDS_BESIDE: u32 = 5;

/// A workload and its load.
#[derive(Clone, Debug, PartialEq)]
pub struct Companion {
    workload: String,
    given: Vec<Parameter>,
}

/// Adds the workloads to the run, which must have a single level.
///
/// # Errors
/// A workload is not known, or what is asked of it makes no sense.
pub fn add_companions(
    companions: &[Companion],
    spec: &mut RunSpec,
    (workload, level): (&Workload, LevelSpec),
    (load, rounds): (&LoadOptions, u32),
) -> anyhow::Result<()> {
    if companions.is_empty() {
        return Ok(());
    }
    let mut sharers = vec![Sharer { name: workload.name().to_owned(), level }];
    for companion in companions {
        let (workload, level, settings) = companion.read(load)?;
        spec.with.push(CompanionSpec {
            name: workload.name().to_owned(),
            workload: absolute_workload(&companion.workload)?,
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

impl Companion {
    /// The workload, its load, and the values of its parameters. Settings that are not part of the load come from the run.
    fn read(&self, run: &LoadOptions) -> anyhow::Result<(Workload, LevelSpec, Vec<Parameter>)> {
        let mut load = LoadOptions {
            timeout: run.timeout,
            threads: run.threads,
            no_cpu_idle: run.no_cpu_idle,
            seed: run.seed,
            ..LoadOptions::default()
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
            return Err(self.wrong("\"users\" cannot be combined with \"clients\", \"rate\" or \"think\"").into());
        }
        if load.rate.is_some() && load.think.is_some() {
            return Err(self.wrong("\"rate\" cannot be combined with \"think\"").into());
        }
        let workload =
            Workload::find_with(&self.workload, &settings).map_err(|error| self.wrong(&error.to_string()))?;
        let levels = load.levels(workload.defaults()).map_err(|error| self.wrong(&error.to_string()))?;
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

impl FromStr for Companion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',').map(str::trim);
        let workload = parts.next().filter(|name| !name.is_empty()).ok_or("expected a workload")?.to_owned();
        if workload.contains('=') {
            return Err(format!("{workload}: expected the name of a workload before NAME=VALUE"));
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
            None => Ok(Self { workload, given }),
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_workload::{Load, Pause};

    use super::*;

    fn read(text: &str) -> anyhow::Result<(Workload, LevelSpec, Vec<Parameter>)> {
        text.parse::<Companion>().map_err(Usage)?.read(&LoadOptions::default())
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
            ("clients=3", "before NAME=VALUE"),
            ("mixed,clients", "expected NAME=VALUE"),
            ("mixed,clients=2,clients=3", "clients is given twice"),
            ("mixed,clients=many", "--with mixed: clients=many: expected an integer"),
            ("mixed,colour=red", "--with mixed: "),
            ("no-such-workload", "--with no-such-workload: "),
            ("mixed,users=3,clients=2", "\"users\" cannot be combined"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_run_keeps_what_it_needs_to_be_repeated() {
        let workload = Workload::find("mixed").unwrap();
        let level = LoadOptions::default().levels(workload.defaults()).unwrap().remove(0);
        let mut spec = RunSpec::new(&workload, 1);
        let with = ["blocks-read,block=6kB".parse().unwrap()];
        add_companions(&with, &mut spec, (&workload, level), (&LoadOptions::default(), 2)).unwrap();
        assert_eq!(spec.levels().count(), 8);
        let again: RunSpec = serde_json::from_value(serde_json::to_value(&spec).unwrap()).unwrap();
        let companion = again.with[0].workload().unwrap();
        assert_eq!((companion.name(), companion.parameters()[0].value.as_str()), ("blocks-read", "6kB"));
        assert_eq!(again.levels().nth(2).unwrap().1.share.as_ref().unwrap().beside, ["mixed"]);
    }
}
