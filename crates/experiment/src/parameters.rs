//! A workload with one value of the varied parameter, and its parameters for reports.

use plimsoll_drive::connect::ConnectOptions;
use plimsoll_report::findings;
use plimsoll_results::Usage;
use plimsoll_workload::{Parameter, Workload, size};

use crate::ranges::{Item, items, twice};

/// A workload with one value of the varied parameter.
pub struct Variant {
    /// The workload, the value in place.
    pub workload: Workload,
    /// The varied parameter, and its value here; `None` if none is varied.
    pub value: Option<Parameter>,
    /// The varied load parameter, if it is not a parameter of the workload.
    pub load: Option<(LoadParameter, u32)>,
}

impl Variant {
    /// The name of its load curve.
    pub fn curve(&self) -> Option<String> {
        self.value.as_ref().map(|value| format!("{}={}", value.name, value.value))
    }

    /// The connection options with this value.
    pub(crate) fn connect_options(&self, options: &ConnectOptions) -> ConnectOptions {
        match self.load {
            Some((LoadParameter::Slots, slots)) => ConnectOptions { slots: Some(slots), ..options.clone() },
            _ => options.clone(),
        }
    }
}

/// Parameters that can be varied besides those of a workload. A workload must not have varied parameters with these names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadParameter {
    /// Requests of a client at the same time.
    Depth,
    /// Connections of a client.
    Connections,
    /// Connections of an SMB session.
    Channels,
    /// Slots that a session of NFS 4.1 asks for.
    Slots,
}

impl LoadParameter {
    /// The parameter with this name.
    pub fn called(name: &str) -> Option<Self> {
        Some(match name {
            "depth" => Self::Depth,
            "connections" => Self::Connections,
            "channels" => Self::Channels,
            "slots" => Self::Slots,
            _ => return None,
        })
    }

    /// The load parameter and its value: a number from 1.
    ///
    /// # Errors
    /// The value is invalid.
    pub fn of(parameter: &Parameter) -> Result<Option<(Self, u32)>, String> {
        let Some(which) = Self::called(&parameter.name) else { return Ok(None) };
        let value = parameter.value.parse().ok().filter(|&value| value >= 1);
        let wrong = || format!("{}={}: expected an integer >= 1", parameter.name, parameter.value);
        value.map(|value| Some((which, value))).ok_or_else(wrong)
    }
}

/// A parameter as reports show it.
pub(crate) fn shown(parameter: &Parameter) -> findings::Parameter {
    let Parameter { name, value } = parameter;
    findings::Parameter { name: name.clone(), value: value.clone(), bytes: size(value) }
}

/// A parameter and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Vary {
    name: String,
    values: Vec<String>,
}

impl Vary {
    /// Number of values.
    pub fn count(&self) -> usize {
        self.values.len()
    }
}

/// The workload with this name and these values, one variant per varied value.
///
/// # Errors
/// There is no such workload or parameter, or `settings` sets the varied parameter, too.
pub fn variants(name: &str, settings: &[Parameter], vary: Option<&Vary>) -> Result<Vec<Variant>, Usage> {
    let Some(Vary { name: varied, values }) = vary else {
        return Ok(vec![Variant { workload: with(name, settings, None)?, value: None, load: None }]);
    };
    if settings.iter().any(|setting| setting.name == *varied) {
        return Err(Usage(format!("{varied}: --set and --vary both set this parameter; use one of them")));
    }
    if LoadParameter::called(varied).is_some() {
        let workload = with(name, settings, None)?;
        if workload.parameters().iter().any(|parameter| parameter.name == *varied) {
            return Err(Usage(format!(
                "--vary {varied}: the workload {name} also has a parameter {varied}; rename the parameter of the workload"
            )));
        }
    }
    let variant = |value: &String| {
        let value = Parameter { name: varied.clone(), value: value.clone() };
        let load = LoadParameter::of(&value).map_err(|wrong| Usage(format!("--vary {wrong}")))?;
        let of_workload = Some(&value).filter(|_| load.is_none());
        Ok(Variant { workload: with(name, settings, of_workload)?, value: Some(value), load })
    };
    values.iter().map(variant).collect()
}

/// The workload with this name and these values.
///
/// # Errors
/// There is no such workload or parameter.
pub fn workload(name: &str, settings: &[Parameter]) -> Result<Workload, Usage> {
    with(name, settings, None)
}

fn with(name: &str, settings: &[Parameter], one_more: Option<&Parameter>) -> Result<Workload, Usage> {
    let names = settings.iter().map(|setting| &setting.name);
    if let Some(twice) = twice(names) {
        return Err(Usage(format!("--set {twice}: this parameter is given twice; give it once")));
    }
    let settings: Vec<Parameter> = settings.iter().chain(one_more).cloned().collect();
    Workload::find_with(name, &settings).map_err(|error| Usage(error.to_string()))
}

/// Parses `NAME=VALUE`.
///
/// # Errors
/// The text has no `=`.
pub fn parse_setting(text: &str) -> Result<Parameter, String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok(Parameter { name: name.trim().to_owned(), value: value.trim().to_owned() })
}

impl std::str::FromStr for Vary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
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
        match twice(&values) {
            Some(value) => {
                Err(format!("{value} is given twice; give each value once (to repeat the levels, use --repeat)"))
            }
            None => Ok(Self { name, values }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        text.parse::<Vary>().unwrap().values
    }

    #[test]
    fn values_are_listed_and_counted() {
        assert_eq!(values("block=0.75kB, 6kB,30KiB"), ["0.75kB", "6kB", "30KiB"]);
        assert_eq!(values("block=500B..1000B/250B,6kB"), ["500B", "750B", "1000B", "6kB"]);
        assert_eq!(values("block=1KiB..4KiB*2"), ["1024B", "2048B", "4096B"]);
        assert_eq!(values("times=1..3"), ["1", "2", "3"]);
        assert!(
            "block".parse::<Vary>().is_err()
                && "block=".parse::<Vary>().is_err()
                && "block=1B..x".parse::<Vary>().is_err()
        );
    }

    #[test]
    fn a_workload_is_had_once_for_each_value() {
        let vary = "block=750B,6kB".parse::<Vary>().unwrap();
        let found = variants("blocks-read", &[], Some(&vary)).unwrap();
        let curves: Vec<_> = found.iter().filter_map(Variant::curve).collect();
        assert_eq!(curves, ["block=750B", "block=6kB"]);
        assert_ne!(found[0].workload.digest(), found[1].workload.digest());
        let set = [Parameter { name: "block".into(), value: "1B".into() }];
        assert!(variants("blocks-read", &set, Some(&vary)).is_err());
        assert_eq!(workload("blocks-read", &set).unwrap().parameters()[0].value, "1B");
        assert!(workload("mixed", &set).is_err());
    }

    #[test]
    fn what_is_given_twice_is_refused() {
        let block = |value: &str| Parameter { name: "block".into(), value: value.into() };
        let error = workload("blocks-read", &[block("1B"), block("2B")]).unwrap_err().to_string();
        assert!(error.contains("--set block: this parameter is given twice"), "{error}");
        assert!("block=4KiB,4KiB".parse::<Vary>().unwrap_err().contains("4KiB is given twice"));
    }
}
