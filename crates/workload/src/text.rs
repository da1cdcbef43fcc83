//! A workload file as it is written.

use std::fmt;

use plimsoll_client::operation::{Caching, OperationKind};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, IntoDeserializer, MapAccess, Visitor};
use toml::Spanned;

use super::distribution::{Pick, Sizes};
use super::file_step::FileStep;
use super::program::SAY_MORE;
use super::quantity::{Fraction, Scale, Size, Time};
use crate::{Arrivals, Pause};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Text {
    pub(super) name: Spanned<String>,
    pub(super) description: Spanned<String>,
    pub(super) files: Option<Spanned<Files>>,
    pub(super) load: Option<Spanned<Load>>,
    pub(super) script: Option<Spanned<ScriptText>>,
    #[serde(default)]
    pub(super) iterations: Vec<Spanned<IterationText>>,
    pub(super) replay: Option<Spanned<ReplayText>>,
    /// Looked at before, and put in place.
    #[serde(default, rename = "parameters")]
    pub(super) _parameters: IgnoredAny,
}

/// `[files]`: what is there before anything is measured.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Files {
    pub(super) count: u32,
    pub(super) directories: u32,
    pub(super) depth: u32,
    pub(super) size: Sizes,
    /// Factor of all sizes: of files, and of requests for them.
    #[serde(default)]
    pub(super) scale: Scale,
    /// Symbolic links.
    #[serde(default)]
    pub(super) links: u32,
    #[serde(default)]
    pub(super) shared: Sharing,
    #[serde(default)]
    pub(super) seed: u32,
}

impl Files {
    /// Nothing but a directory for each client.
    pub(super) fn none() -> Self {
        let (size, shared) = (Sizes::Constant(Size(0)), Sharing::ByNone);
        Self { count: 0, directories: 0, depth: 1, size, scale: Scale::default(), links: 0, shared, seed: 0 }
    }
}

/// `[replay]`: a load file of dbench's in place of iterations, its lines played one after the other.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplayText {
    pub(super) loadfile: Spanned<String>,
    /// Then a client is done; 0 or nothing: over and over.
    pub(super) plays: Option<u32>,
}

/// Who works on which files.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Sharing {
    /// All clients work on the same files.
    #[default]
    ByAll,
    /// Each client has as many files of its own, in a directory of its own.
    ByNone,
}

/// `[load]`: what holds unless flags say otherwise.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Load {
    pub(super) clients: Option<u32>,
    pub(super) think: Option<Think>,
    pub(super) rate: Option<f64>,
    pub(super) users: Option<u32>,
    pub(super) every: Option<Time>,
    pub(super) arrivals: Arrivals,
    pub(super) depth: u32,
    pub(super) warmup: Time,
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

/// `[script]`: how each slot goes through its iterations.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ScriptText {
    pub(super) keep_open: Option<Spanned<u32>>,
    pub(super) verify: Option<Fraction>,
    pub(super) caching: Caching,
    pub(super) order: Order,
    pub(super) look_up_first: bool,
}

/// How a slot comes to its next kind of iteration.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Order {
    /// Drawn by weight, each by itself.
    #[default]
    Random,
    /// From a shuffled deck with as many cards of a kind as its weight says, gone through again and again: shares are exact.
    Shuffled,
}

/// `[[iterations]]`: one kind of iteration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IterationText {
    pub(super) name: String,
    #[serde(default = "one")]
    pub(super) weight: u32,
    /// How often the iteration connects to the share and leaves it again besides.
    #[serde(default)]
    pub(super) unmapped: u32,
    /// How often it logs on and off besides that.
    #[serde(default)]
    pub(super) with_logon: u32,
    pub(super) on: Subject,
    #[serde(default)]
    pub(super) pick: Pick,
    pub(super) steps: Vec<Spanned<StepText>>,
}

fn one() -> u32 {
    1
}

/// What an iteration is about.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Subject {
    /// A file of the set.
    File,
    /// A symbolic link of the set.
    Link,
    /// A directory of the set.
    Directory,
    /// A file or directory that the slot makes in a directory of the set, and removes.
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

/// A step with what it needs to know.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StepWithOptions {
    Read(ReadText),
    Write(WriteText),
    Probe(String),
    Think(Time),
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
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadText {
    pub(super) size: Size,
    #[serde(default)]
    pub(super) at: At,
    pub(super) count: Option<u32>,
    #[serde(default)]
    pub(super) whole: bool,
    /// Where nothing else is said, a slot goes on where its last read of this file ended, and at the file's end with its beginning.
    #[serde(default)]
    pub(super) from_start: bool,
    /// Of the blocks one in so many: the slots of a client read one file together, each as many blocks further on as it is
    /// slots from the first.
    #[serde(default = "one")]
    pub(super) every: u32,
}

/// How a file is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteText {
    pub(super) size: Size,
    #[serde(default)]
    pub(super) at: At,
    pub(super) count: Option<u32>,
    #[serde(default)]
    pub(super) whole: bool,
    /// As of [`ReadText`]; of files of the set, for the slot's own have no past.
    #[serde(default)]
    pub(super) from_start: bool,
    pub(super) total: Option<Sizes>,
    #[serde(default)]
    pub(super) stable: bool,
}

/// Where in the file.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum At {
    /// One after the other.
    #[default]
    Sequential,
    /// At any multiple of the request's size, all alike.
    Random,
    /// Likewise, the nth in proportion to n to the power of −exponent.
    Zipf(super::distribution::Exponent),
}

/// Steps done several times.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RepeatText {
    pub(super) times: u32,
    pub(super) steps: Vec<Spanned<StepText>>,
}

/// A pause between iterations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Think(pub(super) Pause);

/// What stands in a table instead of a plain time.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ThinkTable {
    Exponential(Time),
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
                Err(A::Error::custom("the first time must not be above the second"))
            }
            ThinkTable::Uniform([Time(least), Time(most)]) => Ok(Think(Pause::Uniform(least, most))),
        }
    }
}
