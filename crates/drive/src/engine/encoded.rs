//! Serialises distributions in the results of a plan's part: exact, in the byte format of `stats`.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(super) mod times {
    use plimsoll_stats::Times;

    use super::{Deserialize, Deserializer, Error, Serializer};

    pub(crate) fn serialize<S: Serializer>(of: &Times, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(of.to_bytes())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Times, D::Error> {
        Times::from_bytes(&Vec::deserialize(from)?).map_err(D::Error::custom)
    }
}

pub(super) mod moments {
    use plimsoll_stats::Moments;

    use super::{Deserialize, Deserializer, Error, Serializer};

    pub(crate) fn serialize<S: Serializer>(of: &Moments, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(of.to_bytes())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Moments, D::Error> {
        Moments::from_bytes(&Vec::deserialize(from)?).map_err(D::Error::custom)
    }
}
