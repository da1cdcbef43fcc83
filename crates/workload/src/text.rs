//! A workload file as it is written.

use std::collections::BTreeMap;
use std::fmt;

use plimsoll_client::operation::{Caching, OperationKind};
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::data_source::DataSource;
use super::distribution::{Pick, Sizes};
use super::file_step::FileStep;
use super::quantity::{Fraction, Scale, Size, Time};
use crate::{Arrivals, Pause};

/// The problem of a word that needs options.
pub(super) const SAY_MORE: &str = "this step needs options, e.g. { read = { size = \"64KiB\" } }";

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
    /// Distribution of the gaps between scheduled starts; only with `rate` or `users`.
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
    /// Fraction of the reads whose data is compared with the data written; absent: none.
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

/// `[[iterations]]`: one kind of iteration.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Iteration")]
pub(super) struct IterationText {
    /// Name in reports.
    #[schemars(example = &"read")]
    pub(super) name: String,
    /// Relative frequency: the share of this kind in all iterations is its weight divided by the sum of all weights.
    #[serde(default = "one")]
    #[schemars(example = 30)]
    pub(super) weight: u32,
    /// Weight of this kind's variant that connects to the share before the steps, and disconnects after them (SMB only).
    #[serde(default)]
    #[schemars(example = 5)]
    pub(super) unmapped: u32,
    /// Weight of this kind's variant that logs on and connects before the steps, and disconnects and logs off after them (SMB only).
    #[serde(default)]
    #[schemars(example = 5)]
    pub(super) with_logon: u32,
    /// Object that the steps use.
    pub(super) on: Subject,
    /// How the file, link or directory is selected from the set.
    #[serde(default)]
    pub(super) pick: Pick,
    /// Steps, one after the other. The file is opened when a step needs it, and closed at the end.
    #[schemars(with = "Vec<StepText>")]
    pub(super) steps: Vec<Spanned<StepText>>,
}

fn one() -> u32 {
    1
}

/// Object that the steps use.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Subject {
    /// A file of the set.
    File,
    /// A symbolic link of the set.
    Link,
    /// A directory of the set.
    Directory,
    /// A file or directory that the iteration creates in a directory of the set, and removes.
    Own,
}

/// One step of an iteration: a word, or a table with a word and what it needs to know.
#[derive(Debug)]
pub(super) enum StepText {
    Plain(PlainStep),
    WithOptions(Box<StepWithOptions>),
    OnFile(FileStep),
}

/// A step that needs to know no more than the iteration's subject.
#[derive(Clone, Copy, Debug)]
pub(super) enum PlainStep {
    /// Makes the slot's own file.
    Create,
    /// Makes it once more over itself, closed as it is: emptied.
    Recreate,
    Operation(OperationKind),
}

/// A step with options.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StepWithOptions {
    /// Reads from the iteration's file.
    Read(ReadText),
    /// Writes to the iteration's file.
    Write(WriteText),
    /// Looks up the given name, which must not exist in the directory.
    Probe(String),
    /// Pauses within the iteration.
    Think(Time),
    /// Runs steps several times.
    Repeat(RepeatText),
}

impl<'de> Deserialize<'de> for StepText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(StepVisitor)
    }
}

struct StepVisitor;

impl<'de> Visitor<'de> for StepVisitor {
    type Value = StepText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a step such as \"open\" or { read = { size = \"64KiB\" } }")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<StepText, E> {
        Ok(StepText::Plain(match text {
            "create" => PlainStep::Create,
            "recreate" => PlainStep::Recreate,
            word if FileStep::WORDS.contains(&word) => return Err(E::custom(SAY_MORE)),
            _ => PlainStep::Operation(OperationKind::deserialize(StrDeserializer::new(text))?),
        }))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<StepText, A::Error> {
        let word: Option<String> = map.next_key()?;
        let on_file = word.as_deref().is_some_and(|word| FileStep::WORDS.contains(&word));
        let map = MapAccessDeserializer::new(WordFirst { word, rest: map });
        if on_file {
            return FileStep::deserialize(map).map(StepText::OnFile);
        }
        StepWithOptions::deserialize(map).map(|with| StepText::WithOptions(Box::new(with)))
    }
}

/// A table whose first word was read already.
struct WordFirst<A> {
    word: Option<String>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for WordFirst<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.word.take() {
            Some(word) => seed.deserialize(word.into_deserializer()).map(Some),
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.rest.next_value_seed(seed)
    }
}

/// How a file is read.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Read")]
pub(super) struct ReadText {
    /// Bytes per request.
    pub(super) size: Size,
    /// Position of the reads.
    #[serde(default)]
    pub(super) at: At,
    /// Number of requests: 1 if absent. Not with `whole`.
    #[schemars(example = 4)]
    pub(super) count: Option<u32>,
    /// Read the whole file. Not with `count`.
    #[serde(default)]
    pub(super) whole: bool,
    /// Begin at the start of the file; otherwise sequential reads continue where the slot (a client has `depth` slots) last stopped.
    #[serde(default)]
    pub(super) from_start: bool,
    /// Read only every Nth block, so that N slots together read the whole file (a client has `depth` slots). Sequential reads only.
    #[serde(default = "one")]
    #[schemars(example = 1)]
    pub(super) every: u32,
    /// Read with READ_PLUS, whose response has no data for holes (NFS 4.2 only).
    #[serde(default)]
    pub(super) plus: bool,
}

/// How a file is written.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Write")]
pub(super) struct WriteText {
    /// Bytes per request.
    pub(super) size: Size,
    /// Position of the writes; in the iteration's own file always sequential.
    #[serde(default)]
    pub(super) at: At,
    /// Number of requests: 1 if absent. Not with `whole` or `total`.
    #[schemars(example = 2)]
    pub(super) count: Option<u32>,
    /// Write the whole file. Not with `count` or `total`.
    #[serde(default)]
    pub(super) whole: bool,
    /// Begin at the start of the file; otherwise sequential writes continue where the slot (a client has `depth` slots) last stopped.
    #[serde(default)]
    pub(super) from_start: bool,
    /// Total number of bytes to write, from the start of the iteration's own file on. Not with `count` or `whole`.
    pub(super) total: Option<Sizes>,
    /// Request that the server responds only after the data is durable (NFS FILE_SYNC, SMB write-through).
    #[serde(default)]
    pub(super) stable: bool,
}

/// Position in the file.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum At {
    /// Each request begins where the previous one ended.
    #[default]
    Sequential,
    /// At a random multiple of the request's size.
    Random,
    /// At a multiple of the request's size; the probability of the nth multiple is proportional to 1 / n^exponent.
    Zipf(super::distribution::Exponent),
}

/// Steps that run several times.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Repeat")]
pub(super) struct RepeatText {
    /// Number of repetitions.
    #[schemars(example = 3)]
    pub(super) times: u32,
    /// Steps, one after the other.
    #[schemars(with = "Vec<StepText>")]
    pub(super) steps: Vec<Spanned<StepText>>,
}

/// A pause between iterations.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Think(pub(super) Pause);

/// A distribution of pauses, in place of one time.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ThinkTable {
    /// Exponential, with this mean.
    Exponential(Time),
    /// Uniform between two times.
    Uniform([Time; 2]),
}

impl<'de> Deserialize<'de> for Think {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ThinkVisitor)
    }
}

struct ThinkVisitor;

impl<'de> Visitor<'de> for ThinkVisitor {
    type Value = Think;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time such as \"10ms\", or { exponential = \"10ms\" } or { uniform = [\"1ms\", \"5ms\"] }")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Think, E> {
        let time = Time::deserialize(StrDeserializer::new(text))?;
        Ok(Think(if time.0 == 0 { Pause::None } else { Pause::Constant(time.0) }))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Think, A::Error> {
        match ThinkTable::deserialize(MapAccessDeserializer::new(map))? {
            ThinkTable::Exponential(Time(mean)) => Ok(Think(Pause::Exponential(mean))),
            ThinkTable::Uniform([least, most]) if least > most => {
                Err(A::Error::custom("expected the shorter time first"))
            }
            ThinkTable::Uniform([Time(least), Time(most)]) => Ok(Think(Pause::Uniform(least, most))),
        }
    }
}
