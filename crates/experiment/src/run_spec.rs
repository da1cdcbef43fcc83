//! All that was asked for of a run: a recording keeps it, so that the run can be continued and repeated.

mod difference;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use plimsoll_drive::connect::ConnectOptions;
use plimsoll_recording::folder::{FolderError, Recording};
use plimsoll_report::findings::{self, About, Run, Source};
use plimsoll_results::Usage;
use plimsoll_results::record::Measurement;
use plimsoll_results::recording_findings::measured;
use plimsoll_workload::{Builtin, Parameter, Workload};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::beside::companion::CompanionSpec;
use super::capacity::spec::SearchSpec;
use super::level_spec::LevelSpec;
use super::parameters::{self, LoadParameter, Variant};
use super::recorded_workload;

pub(crate) use difference::first_difference;

/// All that was asked for of a run, but for its outputs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunSpec {
    /// The target, without a password.
    pub target: String,
    /// Further requirements for its server.
    pub server: ServerSpec,
    /// A workload that comes with the program, or an absolute path.
    pub workload: String,
    /// Values that were given to its parameters.
    pub settings: Vec<Parameter>,
    /// Workloads that run at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<CompanionSpec>,
    /// The name of the file set, where it has one of its own.
    pub file_set: Option<String>,
    /// Everything random follows from it.
    pub seed: u64,
    /// Load before each level that is not measured, ns.
    pub warmup_ns: u64,
    /// CPU idle states of this machine are prevented.
    pub no_cpu_idle: bool,
    /// A load curve ends at the first level with a longer mean response time, s.
    pub stop_above_s: Option<f64>,
    /// Maximum offset between this machine's clock and those of the others, ns, if several processes drive parts of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_bound_ns: Option<u64>,
    /// The search, if this is one part of a search: its variant has the levels that were begun, and the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchSpec>,
    /// The variants of the workload, and their levels; empty for a search in one process, whose levels follow from its measurements.
    pub variants: Vec<VariantSpec>,
    /// The user's title, labels and description: a recording stores it as part of its source, because it may differ between equal runs.
    #[serde(skip)]
    pub about: About,
}

/// Requirements for a server besides its target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSpec {
    /// The SMB dialect that is forced; null where the server chooses.
    pub dialect: Option<String>,
    /// SMB signing is demanded.
    pub signing: bool,
    /// SMB encryption is demanded.
    pub encryption: bool,
    /// SMB users log on with Kerberos; null: with NTLM.
    pub kerberos: Option<KerberosSpec>,
    /// The file of the accounts that SMB clients log on with in turn; null: all log on with the target's.
    pub accounts: Option<PathBuf>,
    /// The file of the authorities that servers of RPC over TLS are checked against; null: those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_ca: Option<PathBuf>,
    /// Certificates are not checked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tls_insecure: bool,
    /// All targets, without passwords, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
}

/// Where Kerberos tickets come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KerberosSpec {
    /// The realm; null: the user's.
    pub realm: Option<String>,
    /// `host:port` of its KDC; null: the one in krb5.conf.
    pub kdc: Option<String>,
}

/// A workload with one value of the varied parameter, and its levels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VariantSpec {
    /// The varied parameter, and its value here; null if none is varied.
    pub value: Option<Parameter>,
    /// The workload's digest, its parameters in place.
    pub workload_sha256: String,
    /// The levels, in order.
    pub levels: Vec<LevelSpec>,
}

/// Absolute path of a workload file, or its built-in name.
///
/// # Errors
/// The working directory is unknown.
pub fn absolute_workload(workload: &str) -> anyhow::Result<String> {
    match Builtin::named(workload) {
        Some(_) => Ok(workload.to_owned()),
        None => Ok(std::path::absolute(workload)?.display().to_string()),
    }
}

impl RunSpec {
    /// A run of the unchanged workload, without a target and levels.
    pub fn new(workload: &Workload, seed: u64) -> Self {
        Self {
            target: String::new(),
            server: ServerSpec::default(),
            workload: workload.name().to_owned(),
            settings: Vec::new(),
            with: Vec::new(),
            file_set: None,
            seed,
            warmup_ns: 0,
            no_cpu_idle: false,
            stop_above_s: None,
            clock_bound_ns: None,
            search: None,
            variants: Vec::new(),
            about: About::default(),
        }
    }

    /// The same run as one part of a search, of which only the first level is known.
    pub(crate) fn searching(self, first: LevelSpec, search: &SearchSpec, workload: &Workload) -> Self {
        let (value, workload_sha256) = (None, workload.digest().to_owned());
        let variants = vec![VariantSpec { value, workload_sha256, levels: vec![first] }];
        Self { search: Some(search.clone()), variants, ..self }
    }

    /// The run for reports. `facts` were negotiated with servers, `threads` is the number of load threads.
    pub(super) fn run(&self, workload: &Workload, facts: Vec<String>, threads: u32) -> Run {
        let mut facts = facts;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        // A comparison takes this for a term: without idle states response times are shorter.
        let idle = if self.no_cpu_idle { ", no CPU idle states" } else { "" };
        facts.push(format!("client with {cores} cores{idle}"));
        Run {
            target: self.target.clone(),
            workload: self.workloads(workload),
            description: workload.description().to_owned(),
            workload_sha256: self.digests(workload),
            seed: self.seed,
            threads,
            warmup_s: self.warmup_ns as f64 / 1e9,
            parameters: self.parameters(workload),
            facts,
            capacity: None,
            calls: None,
        }
    }

    /// The names of all workloads.
    fn workloads(&self, workload: &Workload) -> String {
        let others = self.with.iter().map(|companion| companion.name.as_str());
        std::iter::once(workload.name()).chain(others).collect::<Vec<_>>().join(" beside ")
    }

    fn digests(&self, workload: &Workload) -> String {
        let others = self.with.iter().map(|companion| companion.workload_sha256.as_str());
        std::iter::once(workload.digest()).chain(others).collect::<Vec<_>>().join(" ")
    }

    /// The parameters of the workload as reports show them: of what is varied, all values.
    fn parameters(&self, workload: &Workload) -> Vec<findings::Parameter> {
        let of_companion = |companion: &CompanionSpec| {
            let named = |parameter: &Parameter| {
                let shown = parameters::shown(parameter);
                findings::Parameter { name: format!("{}: {}", companion.name, shown.name), ..shown }
            };
            companion.settings.iter().map(named).collect::<Vec<_>>()
        };
        let varied: Vec<&Parameter> = self.variants.iter().filter_map(|variant| variant.value.as_ref()).collect();
        let one = |parameter: &Parameter| match varied.first() {
            Some(first) if first.name == parameter.name => {
                let values: Vec<&str> = varied.iter().map(|varied| varied.value.as_str()).collect();
                findings::Parameter { name: parameter.name.clone(), value: values.join(", "), bytes: None }
            }
            _ => parameters::shown(parameter),
        };
        workload.parameters().iter().map(one).chain(self.with.iter().flat_map(of_companion)).collect()
    }

    pub(super) fn source(&self) -> Source {
        Source {
            tool: format!("plimsoll {}", env!("CARGO_PKG_VERSION")),
            inputs: vec![self.target.clone()],
            filters: Vec::new(),
            options: Vec::new(),
            vantage: "client".to_owned(),
            about: self.about.clone(),
        }
    }

    /// The specification of a recorded run, and the text of its workload.
    ///
    /// # Errors
    /// There is no recording in the folder, it is damaged, or it is not a run with a plan.
    pub fn read(folder: &Path) -> anyhow::Result<(Self, String)> {
        let shown = folder.display();
        let recording = Recording::open(folder).map_err(|error| match error {
            FolderError::NoRecording { .. } => Usage(format!("--from {shown}: no recording in this folder")).into(),
            error => anyhow::Error::new(error),
        })?;
        if let Measurement::Run { spec, workload_text, .. } = measured(&recording)? {
            let spec = Self::of_manifest(spec)?;
            // The levels of a search follow from its measurements.
            if !spec.variants.is_empty() && spec.search.is_none() {
                return Ok((spec, workload_text));
            }
        }
        Err(Usage(format!("--from {shown}: expected a recording of plimsoll run, sweep or duel")).into())
    }

    pub(super) fn of_manifest(spec: Value) -> anyhow::Result<Self> {
        serde_json::from_value(spec).context(
            "manifest.json: unknown format of the field `measured`; another version of plimsoll wrote this recording",
        )
    }

    /// Timeout of a request, and for finding the server: that of the first level.
    pub fn timeout(&self) -> Duration {
        let of = |(_, level): (_, &LevelSpec)| Duration::from_nanos(level.plan.timeout_ns);
        self.levels().next().map_or(ConnectOptions::default().timeout, of)
    }

    /// The variants of the workload; `text` is the workload's.
    ///
    /// # Errors
    /// It has changed: it plays a load file that is different now.
    pub fn variants(&self, text: &str) -> Result<Vec<Variant>, Usage> {
        let variant = |spec: &VariantSpec| {
            let load = spec.value.as_ref().map(LoadParameter::of).transpose().map_err(Usage)?.flatten();
            let value = spec.value.iter().filter(|_| load.is_none());
            let settings: Vec<Parameter> = self.settings.iter().chain(value).cloned().collect();
            let workload = recorded_workload::unchanged(&self.workload, text, &settings, &spec.workload_sha256)?;
            Ok(Variant { workload, value: spec.value.clone(), load })
        };
        self.variants.iter().map(variant).collect()
    }

    /// Number of load levels of all curves, without their repeats. A run with other workloads has one.
    pub fn distinct_levels(&self) -> usize {
        if !self.with.is_empty() {
            return 1;
        }
        let of = |variant: &VariantSpec| {
            variant.levels.iter().map(|level| level.load_name.as_str()).collect::<BTreeSet<_>>().len()
        };
        self.variants.iter().map(of).sum()
    }

    /// Every level with its variant, in order.
    pub fn levels(&self) -> impl Iterator<Item = (&VariantSpec, &LevelSpec)> {
        self.variants.iter().flat_map(|variant| variant.levels.iter().map(move |level| (variant, level)))
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_drive::engine::Plan;
    use plimsoll_workload::{Load, Pause};

    use super::*;
    use crate::level_spec::repeated;

    #[test]
    fn of_what_is_varied_a_report_shows_all_values() {
        let workload = Workload::find("blocks-read").unwrap();
        let variant = |value: &str| {
            let value = Some(Parameter { name: "block".to_owned(), value: value.to_owned() });
            VariantSpec { value, workload_sha256: String::new(), levels: Vec::new() }
        };
        let plain = RunSpec::new(&workload, 1);
        let varied = RunSpec { variants: vec![variant("750B"), variant("6kB")], ..plain.clone() };
        let values = |spec: &RunSpec| spec.parameters(&workload)[0].value.clone();
        assert_eq!((values(&plain), values(&varied)), (workload.parameters()[0].value.clone(), "750B, 6kB".to_owned()));
    }

    #[test]
    fn repeats_of_a_level_are_one_level() {
        let workload = Workload::find("blocks-read").unwrap();
        let level = |clients| {
            let load = Load::Closed { clients, think: Pause::None };
            let (load_name, plan) = (load.to_string(), Plan::new(load));
            LevelSpec { load_name, plan, curve: None, parameter: None, share: None }
        };
        let counted = |levels: Vec<LevelSpec>| {
            let levels = repeated(levels, 3);
            let variant = VariantSpec { value: None, workload_sha256: String::new(), levels };
            RunSpec { variants: vec![variant], ..RunSpec::new(&workload, 1) }.distinct_levels()
        };
        assert_eq!((counted(vec![level(4)]), counted(vec![level(4), level(8)])), (1, 2));
    }
}
