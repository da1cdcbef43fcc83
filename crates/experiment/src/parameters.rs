//! A workload with one value of the varied parameter, and its parameters for reports.

use plimsoll_drive::connect::ConnectOptions;
use plimsoll_report::findings;
use plimsoll_workload::{Parameter, Workload, size};

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
