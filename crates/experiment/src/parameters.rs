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
pub fn shown(parameter: &Parameter) -> findings::Parameter {
    let Parameter { name, value } = parameter;
    findings::Parameter { name: name.clone(), value: value.clone(), bytes: size(value) }
}

/// Parameters of a run as reports show them: of what was varied, all values.
pub fn of_all(variants: &[Variant]) -> Vec<findings::Parameter> {
    let Some(first) = variants.first() else { return Vec::new() };
    let one = |parameter: &Parameter| match variants
        .iter()
        .filter_map(|variant| variant.value.as_ref())
        .collect::<Vec<_>>()
    {
        values if values.first().is_some_and(|varied| varied.name == parameter.name) => {
            let values: Vec<&str> = values.iter().map(|varied| varied.value.as_str()).collect();
            findings::Parameter { name: parameter.name.clone(), value: values.join(", "), bytes: None }
        }
        _ => shown(parameter),
    };
    first.workload.parameters().iter().map(one).collect()
}
