//! Parameters of the workload, as flags.

use plimsoll_client::target::Target;
use plimsoll_experiment::{LoadParameter, Variant};
use plimsoll_results::Usage;
use plimsoll_workload::{Parameter, Workload, size};

use super::ranges::{Item, items};

/// Flags for values of the workload's parameters.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct SetFlags {
    /// Set a parameter of the workload, e.g. block=750B; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    settings: Vec<Parameter>,
}

/// Flags for a parameter with several values.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct VaryFlags {
    /// Run all load levels once per value of NAME: a parameter of the workload, or depth, connections, channels (SMB) or slots (NFS 4.1).
    /// E.g. block=0.75kB,6kB,30kB or block=500B..4000B/100B (steps of 100 B) or slots=1..64*2. Each value has its own
    /// load curve
    #[arg(long, value_name = "NAME=LIST", value_parser = parse_vary)]
    vary: Option<Vary>,
}

/// A parameter and its values.
#[derive(Clone, Debug, PartialEq)]
struct Vary {
    name: String,
    values: Vec<String>,
}

impl SetFlags {
    /// The workload with this name and these values.
    pub(crate) fn workload(&self, name: &str) -> Result<Workload, Usage> {
        self.with(name, None)
    }

    /// The given values.
    pub(crate) fn settings(&self) -> &[Parameter] {
        &self.settings
    }

    fn with(&self, name: &str, one_more: Option<&Parameter>) -> Result<Workload, Usage> {
        let settings: Vec<Parameter> = self.settings.iter().chain(one_more).cloned().collect();
        Workload::find_with(name, &settings).map_err(|error| Usage(error.to_string()))
    }

    /// The workload with these values, one variant per varied value.
    pub(crate) fn variants(&self, name: &str, vary: &VaryFlags) -> Result<Vec<Variant>, Usage> {
        let Some(Vary { name: varied, values }) = &vary.vary else {
            return Ok(vec![Variant { workload: self.workload(name)?, value: None, load: None }]);
        };
        if self.settings.iter().any(|setting| setting.name == *varied) {
            return Err(Usage(format!("{varied}: --set and --vary both set this parameter; use one of them")));
        }
        if LoadParameter::called(varied).is_some() {
            let workload = self.workload(name)?;
            if workload.parameters().iter().any(|parameter| parameter.name == *varied) {
                return Err(Usage(format!(
                    "--vary {varied}: the workload {name} has a parameter of this name: rename it"
                )));
            }
        }
        let variant = |value: &String| {
            let value = Parameter { name: varied.clone(), value: value.clone() };
            let load = LoadParameter::of(&value).map_err(|wrong| Usage(format!("--vary {wrong}")))?;
            let of_workload = Some(&value).filter(|_| load.is_none());
            Ok(Variant { workload: self.with(name, of_workload)?, value: Some(value), load })
        };
        values.iter().map(variant).collect()
    }
}

impl VaryFlags {
    /// Whether a parameter is varied.
    pub(crate) fn is_some(&self) -> bool {
        self.vary.is_some()
    }
}

/// Refuses a varied parameter that the target lacks.
pub(super) fn check(variants: &[Variant], target: &Target) -> Result<(), Usage> {
    let has_slots = matches!(target, Target::Nfs(nfs) if nfs.version.has_sessions());
    let wants_slots = |variant: &Variant| matches!(variant.load, Some((LoadParameter::Slots, _)));
    if variants.iter().any(wants_slots) && !has_slots {
        return Err(Usage("--vary slots needs a target nfs://host/export?version=4.1 (or 4.2)".to_owned()));
    }
    Ok(())
}

fn parse_setting(text: &str) -> Result<Parameter, String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok(Parameter { name: name.trim().to_owned(), value: value.trim().to_owned() })
}

fn parse_vary(text: &str) -> Result<Vary, String> {
    let Parameter { name, value: list } = parse_setting(text)?;
    let (mut values, mut sizes) = (Vec::new(), false);
    let read = |text: &str| size(text).map(|bytes| bytes as f64).or_else(|| text.parse().ok());
    for part in list.split(',') {
        sizes |= part.split("..").any(|end| size(end.trim()).is_some());
        for item in items(part, read)? {
            values.push(match item {
                Item::Written("") => return Err(format!("{part:?}: expected a value")),
                Item::Written(value) => value.to_owned(),
                Item::Number(number) if sizes => format!("{number:.0}B"),
                Item::Number(number) => number.to_string(),
            });
        }
    }
    Ok(Vary { name, values })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Parses the flag.
    pub(in crate::drive::run) fn vary(text: &str) -> VaryFlags {
        VaryFlags { vary: Some(parse_vary(text).unwrap()) }
    }

    fn values(text: &str) -> Vec<String> {
        parse_vary(text).unwrap().values
    }

    #[test]
    fn values_are_listed_and_counted() {
        assert_eq!(values("block=0.75kB, 6kB,30KiB"), ["0.75kB", "6kB", "30KiB"]);
        assert_eq!(values("block=500B..1000B/250B,6kB"), ["500B", "750B", "1000B", "6kB"]);
        assert_eq!(values("block=1KiB..4KiB*2"), ["1024B", "2048B", "4096B"]);
        assert_eq!(values("times=1..3"), ["1", "2", "3"]);
        assert!(parse_vary("block").is_err() && parse_vary("block=").is_err() && parse_vary("block=1B..x").is_err());
    }

    #[test]
    fn a_workload_is_had_once_for_each_value() {
        let (set, vary) = (SetFlags::default(), vary("block=750B,6kB"));
        let variants = set.variants("blocks-read", &vary).unwrap();
        let curves: Vec<_> = variants.iter().filter_map(Variant::curve).collect();
        assert_eq!(curves, ["block=750B", "block=6kB"]);
        assert_ne!(variants[0].workload.digest(), variants[1].workload.digest());
        let set = SetFlags { settings: vec![Parameter { name: "block".into(), value: "1B".into() }] };
        assert!(set.variants("blocks-read", &vary).is_err());
        assert_eq!(set.workload("blocks-read").unwrap().parameters()[0].value, "1B");
        assert!(set.workload("mixed").is_err());
    }
}
