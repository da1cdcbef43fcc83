//! `[[iterations]]`: one kind of iteration, and its steps.

use std::fmt;

use plimsoll_client::operation::OperationKind;
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::distribution::{Exponent, Pick, Sizes};
use crate::file_step::FileStep;
use crate::quantity::{Size, Time};

/// The problem of a word that needs options.
const SAY_MORE: &str = "this step needs options, e.g. { read = { size = \"64KiB\" } }";

/// `[[iterations]]`: one kind of iteration.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Iteration")]
pub(crate) struct IterationText {
    /// Name in reports.
    #[schemars(example = &"read")]
    pub(crate) name: String,
    /// Relative frequency: the share of this kind in all iterations is its weight divided by the sum of all weights.
    #[serde(default = "one")]
    #[schemars(example = 30)]
    pub(crate) weight: u32,
    /// Weight of this kind's variant that connects to the share before the steps, and disconnects after them (SMB only).
    #[serde(default)]
    #[schemars(example = 5)]
    pub(crate) unmapped: u32,
    /// Weight of this kind's variant that logs on and connects before the steps, and disconnects and logs off after them (SMB only).
    #[serde(default)]
    #[schemars(example = 5)]
    pub(crate) with_logon: u32,
    /// Object that the steps use.
    pub(crate) on: Subject,
    /// How the file, link or directory is selected from the set.
    #[serde(default)]
    pub(crate) pick: Pick,
    /// Steps, one after the other. The file is opened when a step needs it, and closed at the end.
    #[schemars(with = "Vec<StepText>")]
    pub(crate) steps: Vec<Spanned<StepText>>,
}

fn one() -> u32 {
    1
}

/// Object that the steps use.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Subject {
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
pub(crate) enum StepText {
    Plain(PlainStep),
    WithOptions(Box<StepWithOptions>),
    OnFile(FileStep),
}

/// A step that needs to know no more than the iteration's subject.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PlainStep {
    /// Makes the slot's own file.
    Create,
    /// Makes it once more over itself, closed as it is: emptied.
    Recreate,
    Operation(OperationKind),
}

/// A step with options.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StepWithOptions {
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

impl StepWithOptions {
    /// The words of all these steps.
    const WORDS: [&str; 5] = ["read", "write", "probe", "think", "repeat"];
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
            word if FileStep::WORDS.contains(&word) || StepWithOptions::WORDS.contains(&word) => {
                return Err(E::custom(SAY_MORE));
            }
            // Not serde's list of kinds: some of them are no steps, and "create" is none of them.
            _ => PlainStep::Operation(
                OperationKind::deserialize(StrDeserializer::<E>::new(text))
                    .map_err(|_| E::custom(unknown(text, "")))?,
            ),
        }))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<StepText, A::Error> {
        let word: Option<String> = map.next_key()?;
        let on_file = word.as_deref().is_some_and(|word| FileStep::WORDS.contains(&word));
        if let Some(word) = word.as_deref().filter(|word| !on_file && !StepWithOptions::WORDS.contains(word)) {
            return Err(A::Error::custom(unknown(word, " with options")));
        }
        let map = MapAccessDeserializer::new(WordFirst { word, rest: map });
        if on_file {
            return FileStep::deserialize(map).map(StepText::OnFile);
        }
        StepWithOptions::deserialize(map).map(|with| StepText::WithOptions(Box::new(with)))
    }
}

fn unknown(word: &str, kind: &str) -> String {
    format!("unknown step \"{word}\"{kind} (docs/workload-reference.md lists all)")
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
pub(crate) struct ReadText {
    /// Bytes per request.
    pub(crate) size: Size,
    /// Position of the reads.
    #[serde(default)]
    pub(crate) at: At,
    /// Number of requests: 1 if absent. Not with `whole`.
    #[schemars(example = 4)]
    pub(crate) count: Option<u32>,
    /// Read the whole file. Not with `count`.
    #[serde(default)]
    pub(crate) whole: bool,
    /// Begin at the start of the file; otherwise sequential reads continue where the slot (a client has `depth` slots) last stopped.
    #[serde(default)]
    pub(crate) from_start: bool,
    /// Read only every Nth block, so that N slots together read the whole file (a client has `depth` slots). Sequential reads only.
    #[serde(default = "one")]
    #[schemars(example = 1)]
    pub(crate) every: u32,
    /// Read with READ_PLUS, whose response has no data for holes (NFS 4.2 only).
    #[serde(default)]
    pub(crate) plus: bool,
}

/// How a file is written.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Write")]
pub(crate) struct WriteText {
    /// Bytes per request.
    pub(crate) size: Size,
    /// Position of the writes; in the iteration's own file always sequential.
    #[serde(default)]
    pub(crate) at: At,
    /// Number of requests: 1 if absent. Not with `whole` or `total`.
    #[schemars(example = 2)]
    pub(crate) count: Option<u32>,
    /// Write the whole file. Not with `count` or `total`.
    #[serde(default)]
    pub(crate) whole: bool,
    /// Begin at the start of the file; otherwise sequential writes continue where the slot (a client has `depth` slots) last stopped.
    #[serde(default)]
    pub(crate) from_start: bool,
    /// Total number of bytes to write, from the start of the iteration's own file on. Not with `count` or `whole`.
    pub(crate) total: Option<Sizes>,
    /// Request that the server responds only after the data is durable (NFS FILE_SYNC, SMB write-through: SMB 3.0.2 or later).
    #[serde(default)]
    pub(crate) stable: bool,
}

/// Position in the file.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum At {
    /// Each request begins where the previous one ended.
    #[default]
    Sequential,
    /// At a random multiple of the request's size.
    Random,
    /// At a multiple of the request's size; the probability of the nth multiple is proportional to 1 / n^exponent.
    Zipf(Exponent),
}

/// Steps that run several times.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Repeat")]
pub(crate) struct RepeatText {
    /// Number of repetitions.
    #[schemars(example = 3)]
    pub(crate) times: u32,
    /// Steps, one after the other.
    #[schemars(with = "Vec<StepText>")]
    pub(crate) steps: Vec<Spanned<StepText>>,
}
