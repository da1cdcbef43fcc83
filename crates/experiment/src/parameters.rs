//! A workload with one value of what is varied, and its parameters as reports show them.

use plimsoll_report::findings;
use plimsoll_workload::{Parameter, Workload, size};

/// A workload with one value of what is varied.
pub struct Variant {
    /// The workload, the value in place.
    pub workload: Workload,
    /// What is varied, and the value here; `None` where nothing is.
    pub value: Option<Parameter>,
}

impl Variant {
    /// What its load curve is called.
    pub fn curve(&self) -> Option<String> {
        self.value.as_ref().map(|value| format!("{}={}", value.name, value.value))
    }
}

/// A parameter as reports show it.
pub(crate) fn shown(parameter: &Parameter) -> findings::Parameter {
    let Parameter { name, value } = parameter;
    findings::Parameter { name: name.clone(), value: value.clone(), bytes: size(value) }
}
