//! A workload file as it is written.

mod iteration;
mod think;

use std::collections::BTreeMap;

use plimsoll_client::operation::Caching;
use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::data_source::DataSource;
use super::distribution::Sizes;
use super::quantity::{Fraction, Scale, Size, Time};
use crate::Arrivals;

pub(super) use iteration::{At, IterationText, PlainStep, ReadText, StepText, StepWithOptions, Subject, WriteText};
pub(super) use think::{Think, ThinkTable};

/// The whole file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Workload", description = "A workload file of plimsoll")]
pub(super) struct Text {
    /// Name of the workload in reports and file sets: lower-case letters, digits and -.
    #[schemars(with = "String", example = &"mixed")]
    pub(super) name: Spanned<String>,
    /// Description of the workload in one line.
    #[schemars(with = "String", example = &"Small files read and written")]
    pub(super) description: Spanned<String>,
    /// File set, created before the measurement. Without a file set, each client has an empty directory.
    #[schemars(with = "Option<Files>")]
    pub(super) files: Option<Spanned<Files>>,
    /// Load of a run; command-line options override it.
    #[schemars(with = "Option<Load>")]
    pub(super) load: Option<Spanned<Load>>,
    /// Settings of all iterations: order, caching, open files, verification.
    #[schemars(with = "Option<ScriptText>")]
    pub(super) script: Option<Spanned<ScriptText>>,
    /// Kinds of iteration. A workload has either `[[iterations]]` or `[replay]`.
    #[serde(default)]
    #[schemars(with = "Vec<IterationText>")]
    pub(super) iterations: Vec<Spanned<IterationText>>,
    /// dbench load file to replay, instead of iterations.
    #[schemars(with = "Option<ReplayText>")]
    pub(super) replay: Option<Spanned<ReplayText>>,
    /// Parameters and their defaults. "$NAME" stands for the value anywhere in the file; `--set NAME=VALUE` and `--vary` change it.
    // Looked at before, and put in place.
    #[serde(default, rename = "parameters")]
    #[schemars(with = "BTreeMap<String, ParameterDefault>")]
    pub(super) _parameters: IgnoredAny,
}

/// Default of a parameter; a value that replaces it is of the same type.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes what parameters::Declared reads")]
enum ParameterDefault {
    Text(String),
    Whole(i64),
    Number(f64),
    Switch(bool),
}

/// `[files]`: the file set, created before the measurement.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Files {
    /// Number of files (with shared = "by-none": per client), spread evenly over the directories.
    #[schemars(example = 200)]
    pub(super) count: u32,
    /// Number of directories.
    #[schemars(example = 20)]
    pub(super) directories: u32,
    /// Maximum nesting depth of the directories.
    #[schemars(example = 2)]
    pub(super) depth: u32,
    /// Sizes of the files.
    pub(super) size: Sizes,
    /// Factor for all sizes of files and requests; above 0, at most 1.
    #[serde(default)]
    pub(super) scale: Scale,
    /// Number of symbolic links.
    #[serde(default)]
    #[schemars(example = 10)]
    pub(super) links: u32,
    /// Whether clients share the files.
    #[serde(default)]
    pub(super) shared: Sharing,
    /// Random seed for the sizes and contents of the files.
    #[serde(default)]
    #[schemars(example = 1)]
    pub(super) seed: u32,
}

impl Files {
    /// Nothing but a directory for each client.
    pub(super) fn none() -> Self {
        let (size, shared) = (Sizes::Constant(Size(0)), Sharing::ByNone);
        Self { count: 0, directories: 0, depth: 1, size, scale: Scale::default(), links: 0, shared, seed: 0 }
    }
}

/// `[replay]`: a dbench load file, replayed line by line.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Replay")]
pub(super) struct ReplayText {
    /// Path of the load file, plain or gzip, relative to the workload file.
    #[schemars(with = "String", example = &"client.txt")]
    pub(super) loadfile: Spanned<String>,
    /// Number of times that each client replays the file; 0 or absent: repeated until the phase ends.
    #[schemars(example = 1)]
    pub(super) plays: Option<u32>,
}

/// Whether clients share the files.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Sharing {
    /// All clients work on the same files.
    #[default]
    ByAll,
    /// Each client has `count` files in its own directory.
    ByNone,
}

/// `[load]`: load of a run; command-line options override it.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Load {
    /// Number of simulated clients, each with its own connections and session.
    #[schemars(example = 4)]
    pub(super) clients: Option<u32>,
    /// Think time between a client's iterations; not allowed with `rate` or `users`.
    pub(super) think: Option<Think>,
    /// Iterations per second of all clients together, started on a schedule.
    #[schemars(example = 500)]
    pub(super) rate: Option<f64>,
    /// Number of users, each with its own schedule of iterations; requires `every`.
    #[schemars(example = 100)]
    pub(super) users: Option<u32>,
    /// Mean time between the starts of one user's iterations.
    #[schemars(example = &"11s")]
    pub(super) every: Option<Time>,
    /// Distribution of the gaps between intended starts; only with `rate` or `users`. If only options give the schedule
    /// (`--rate`, `--users`), the default is constant.
    pub(super) arrivals: Arrivals,
    /// Number of iterations that each client runs at the same time.
    #[schemars(example = 1)]
    pub(super) depth: u32,
    /// Length of the warm-up before the measured phase.
    pub(super) warmup: Time,
    /// Length of the measured phase.
    pub(super) duration: Time,
}

impl Default for Load {
    fn default() -> Self {
        let second = 1_000_000_000;
        Self {
            clients: None,
            think: None,
            rate: None,
            users: None,
            every: None,
            arrivals: Arrivals::Poisson,
            depth: 1,
            warmup: Time(5 * second),
            duration: Time(30 * second),
        }
    }
}

/// `[script]`: settings of all iterations.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Script")]
pub(super) struct ScriptText {
    /// Files that each slot leaves open between iterations (a client has `depth` slots); 0 or absent: each iteration closes its file.
    #[schemars(with = "Option<u32>", example = 16)]
    pub(super) keep_open: Option<Spanned<u32>>,
    /// Fraction of the reads whose data is compared with the data written; absent: none. Own files with holes or copied
    /// ranges are not compared.
    pub(super) verify: Option<Fraction>,
    /// Oplock, lease or durable handle that each open requests.
    pub(super) caching: Caching,
    /// Expected source of the data that clients read: any, cache or disk. The report checks it with the server's disk counters.
    pub(super) source: DataSource,
    /// How a client selects the next kind of iteration.
    pub(super) order: Order,
    /// Look up every file of the set before the measurement, so that NFS clients know its handle.
    pub(super) look_up_first: bool,
}

/// How a client selects the next kind of iteration.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Order {
    /// The client draws each kind at random by weight, independently of earlier iterations.
    #[default]
    Random,
    /// The client follows a shuffled list that holds the kinds in exact proportion to their weights, and then repeats it.
    Shuffled,
}
