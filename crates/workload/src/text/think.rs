//! The pause between a client's iterations.

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::Pause;
use crate::quantity::Time;

/// A pause between iterations.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Think(pub(crate) Pause);

/// A distribution of pauses, in place of one time.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ThinkTable {
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
