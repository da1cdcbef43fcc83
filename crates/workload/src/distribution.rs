//! How sizes, files and places in files are drawn.

use std::fmt;

use rand::Rng as _;
use rand_distr::{Distribution, LogNormal, Zipf};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize};

use super::quantity::Size;
use crate::Rng;

/// Sizes of files.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sizes {
    /// Always the same.
    Constant(Size),
    /// Evenly between two bounds, both included.
    Uniform([Size; 2]),
    /// Log-normal, its tails cut: what is drawn beyond a bound becomes the bound.
    LogNormal(Bounded),
    /// One of these, by weight.
    List(Vec<Weighted>),
}

/// A log-normal distribution between bounds.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LogNormal")]
pub(super) struct Bounded {
    /// Half of the sizes are smaller than this size, which must be above 0B.
    median: Size,
    /// Standard deviation of the natural logarithm of the size; above 0, at most 10.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 10), example = 1.5)]
    sigma: f64,
    /// Lower bound: smaller sizes are set to this size.
    min: Size,
    /// Upper bound: larger sizes are set to this size.
    max: Size,
}

/// A size and its frequency.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Weighted {
    /// The size.
    size: Size,
    /// Relative frequency: the share of this size is its weight divided by the sum of all weights.
    #[schemars(example = 3)]
    weight: u32,
}

/// A distribution of sizes, in place of one size.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Table {
    /// Uniform between two sizes, both included.
    Uniform([Size; 2]),
    /// Log-normal between bounds.
    Lognormal(Bounded),
    /// One of at most 1,000 sizes, selected by weight.
    List(Vec<Weighted>),
}

/// What a user may write for sizes.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes what SizesVisitor reads")]
enum Written {
    /// Always the same size.
    Constant(Size),
    Drawn(Table),
}

impl JsonSchema for Sizes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Sizes".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = Written::json_schema(generator);
        schema.insert("description".into(), "One fixed size, or a distribution of sizes".into());
        let examples = serde_json::json!(["8KiB", { "uniform": ["1KiB", "8KiB"] }]);
        schema.insert("examples".into(), examples);
        schema
    }
}

/// The most sizes in a list.
const LONGEST_LIST: usize = 1000;

impl Sizes {
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Sizes::Constant(size) => size.0,
            Sizes::Uniform([least, most]) => rng.random_range(least.0..=most.0),
            Sizes::LogNormal(Bounded { median, sigma, min, max }) => {
                // The median's logarithm is the mean of the normal distribution. Sigma was checked.
                let normal = LogNormal::new((median.0 as f64).ln(), *sigma);
                let drawn = normal.map_or(median.0, |normal| normal.sample(rng).round() as u64);
                drawn.clamp(min.0, max.0)
            }
            Sizes::List(list) => {
                let all: u64 = list.iter().map(|entry| u64::from(entry.weight)).sum();
                let mut left = rng.random_range(0..all.max(1));
                let chosen = list.iter().find(|entry| {
                    let here = left < u64::from(entry.weight);
                    left = left.saturating_sub(u64::from(entry.weight));
                    here
                });
                chosen.map_or(0, |entry| entry.size.0)
            }
        }
    }

    /// The largest size that can be drawn, bytes.
    pub(super) fn most(&self) -> u64 {
        match self {
            Sizes::Constant(size) | Sizes::Uniform([_, size]) | Sizes::LogNormal(Bounded { max: size, .. }) => size.0,
            Sizes::List(list) => list.iter().map(|entry| entry.size.0).max().unwrap_or(0),
        }
    }

    fn check(&self) -> Result<(), &'static str> {
        match self {
            Sizes::Constant(_) => Ok(()),
            Sizes::Uniform([least, most]) if least > most => Err("\"uniform\": expected the smaller size first"),
            Sizes::Uniform(_) => Ok(()),
            Sizes::LogNormal(Bounded { sigma, .. }) if !(*sigma > 0.0 && *sigma <= 10.0) => {
                Err("\"sigma\" must be above 0 and at most 10")
            }
            Sizes::LogNormal(Bounded { median, min, max, .. }) if median.0 == 0 || min > median || median > max => {
                Err("expected \"min\" <= \"median\" <= \"max\", and \"median\" above 0B")
            }
            Sizes::LogNormal(_) => Ok(()),
            Sizes::List(list) if list.len() > LONGEST_LIST => Err("too many sizes: the limit is 1,000"),
            Sizes::List(list) if list.iter().all(|entry| entry.weight == 0) => {
                Err("expected at least one size with a \"weight\" above 0")
            }
            Sizes::List(_) => Ok(()),
        }
    }
}

/// One line that says all of it: manifests hold it, and are compared by it.
impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sizes::Constant(size) => size.fmt(f),
            Sizes::Uniform([least, most]) => write!(f, "uniform from {least} to {most}"),
            Sizes::LogNormal(Bounded { median, sigma, min, max }) => {
                write!(f, "lognormal with median {median} and sigma {sigma}, from {min} to {max}")
            }
            Sizes::List(list) => {
                let mut parts = list.iter().map(|entry| format!("{} of weight {}", entry.size, entry.weight));
                write!(f, "one of {}", parts.by_ref().collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Sizes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(SizesVisitor)
    }
}

struct SizesVisitor;

impl<'de> Visitor<'de> for SizesVisitor {
    type Value = Sizes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size such as \"8KiB\", or { uniform = … }, { lognormal = … } or { list = … }")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Sizes, E> {
        Size::deserialize(serde::de::value::StrDeserializer::new(text)).map(Sizes::Constant)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Sizes, A::Error> {
        let sizes = match Table::deserialize(MapAccessDeserializer::new(map))? {
            Table::Uniform(bounds) => Sizes::Uniform(bounds),
            Table::Lognormal(bounded) => Sizes::LogNormal(bounded),
            Table::List(list) => Sizes::List(list),
        };
        sizes.check().map_err(A::Error::custom)?;
        Ok(sizes)
    }
}

/// How a file, link or directory is selected.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, Default, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Pick {
    /// All files, links or directories have the same probability.
    #[default]
    Uniform,
    /// Zipf with this exponent: the probability of the nth file, link or directory is proportional to 1 / n^exponent.
    Zipf(Exponent),
}

/// Exponent of a Zipf distribution: above 0, at most 10.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(with = "f64", extend("exclusiveMinimum" = 0, "maximum" = 10), example = 0.9)]
pub(super) struct Exponent(pub(super) f64);

impl TryFrom<f64> for Exponent {
    type Error = &'static str;

    fn try_from(exponent: f64) -> Result<Self, Self::Error> {
        let sound = exponent > 0.0 && exponent <= 10.0;
        sound.then_some(Self(exponent)).ok_or("a Zipf exponent must be above 0 and at most 10")
    }
}

impl Pick {
    /// One of `count`, from 0. 0 where there is none.
    pub(super) fn draw(self, count: u64, rng: &mut Rng) -> u64 {
        match self {
            _ if count < 2 => 0,
            Pick::Uniform => rng.random_range(0..count),
            Pick::Zipf(Exponent(exponent)) => {
                let rank = Zipf::new(count as f64, exponent).map_or(1.0, |zipf| zipf.sample(rng));
                (rank as u64).clamp(1, count) - 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str) -> Result<Sizes, toml::de::Error> {
        #[derive(Deserialize)]
        struct Holder {
            size: Sizes,
        }
        toml::from_str::<Holder>(&format!("size = {text}")).map(|holder| holder.size)
    }

    fn mean(sizes: &Sizes) -> f64 {
        let mut rng = Rng::new(3);
        (0..100_000).map(|_| sizes.draw(&mut rng) as f64).sum::<f64>() / 100_000.0
    }

    #[test]
    fn they_are_what_they_say() {
        assert_eq!(sizes("\"8KiB\"").unwrap().draw(&mut Rng::new(1)), 8192);
        let uniform = mean(&sizes("{ uniform = [\"1KiB\", \"3KiB\"] }").unwrap());
        assert!((uniform - 2048.0).abs() < 10.0, "{uniform}");
        // Mean of a log-normal: median × e^(σ²/2).
        let text = r#"{ lognormal = { median = "1MiB", sigma = 0.5, min = "1B", max = "1GiB" } }"#;
        let normal = mean(&sizes(text).unwrap()) / f64::from(1 << 20);
        assert!((normal - (0.125_f64).exp()).abs() < 0.01, "{normal}");
        let text = r#"{ list = [{ size = "1B", weight = 3 }, { size = "0B", weight = 1 }] }"#;
        let list = mean(&sizes(text).unwrap());
        assert!((list - 0.75).abs() < 0.01, "{list}");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "8",
            "\"8\"",
            "{ uniform = [\"3KiB\", \"1KiB\"] }",
            "{ uniform = [\"3KiB\"] }",
            "{ normal = \"1B\" }",
            r#"{ lognormal = { median = "0B", sigma = 1, min = "0B", max = "1B" } }"#,
            r#"{ lognormal = { median = "1B", sigma = -1.0, min = "0B", max = "1B" } }"#,
            r#"{ lognormal = { median = "1B", sigma = nan, min = "0B", max = "1B" } }"#,
            r#"{ lognormal = { median = "1B", sigma = 1.0, min = "0B", max = "1B", more = 1 } }"#,
            "{ list = [] }",
            r#"{ list = [{ size = "1B", weight = 0 }] }"#,
        ] {
            assert!(sizes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn popularity_follows_zipf() {
        let (count, draws, exponent) = (50_u64, 200_000, 0.9);
        let mut rng = Rng::new(5);
        let mut seen = vec![0_f64; 50];
        for _ in 0..draws {
            seen[Pick::Zipf(Exponent(exponent)).draw(count, &mut rng) as usize] += 1.0;
        }
        let whole: f64 = (1..=count).map(|n| (n as f64).powf(-exponent)).sum();
        let chi: f64 = seen
            .iter()
            .zip(1..)
            .map(|(seen, n)| {
                let expected = f64::from(draws) * f64::from(n).powf(-exponent) / whole;
                (seen - expected).powi(2) / expected
            })
            .sum();
        // 49 degrees of freedom: 85.35 is passed once in a thousand seeds, and the seed is fixed.
        assert!(chi < 85.35, "{chi}");
        assert_eq!(Pick::Uniform.draw(0, &mut rng), 0);
    }
}
