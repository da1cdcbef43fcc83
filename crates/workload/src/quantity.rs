//! Sizes, times and shares as people write them: "8KiB", "10ms", "1%".

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Size(pub(super) u64);

/// Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Time(pub(super) u64);

/// From 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) struct Fraction(pub(super) f64);

/// A factor of sizes, above 0 and at most 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, serde::Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "f64")]
#[schemars(with = "f64", extend("exclusiveMinimum" = 0, "maximum" = 1), example = 0.25)]
pub(super) struct Scale(f64);

impl Default for Scale {
    fn default() -> Self {
        Self(1.0)
    }
}

impl TryFrom<f64> for Scale {
    type Error = String;

    fn try_from(factor: f64) -> Result<Self, String> {
        let sound = factor > 0.0 && factor <= 1.0;
        if sound { Ok(Self(factor)) } else { Err(format!("scale = {factor}: expected a number above 0 and at most 1")) }
    }
}

impl Scale {
    /// A size, made smaller; what is more than nothing stays more than nothing.
    pub(super) fn of(self, bytes: u64) -> u64 {
        // Exact as long as nothing is scaled; sizes are below 2^53 bytes by far.
        if self.0 == 1.0 { bytes } else { (bytes as f64 * self.0).ceil() as u64 }
    }

    /// The factor, where it is not 1.
    pub(super) fn factor(self) -> Option<f64> {
        (self.0 != 1.0).then_some(self.0)
    }
}

/// Units of size, longest name first, bytes.
const UNITS: [(&str, u64); 5] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
/// Decimal ones, as documents of before 1998 mean them (0.75 kbyte of Poo & Tan (1988) is 750 byte); bytes.
const DECIMAL: [(&str, u64); 4] = [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];

impl Size {
    const EXPECTED: &str =
        "a size such as \"8KiB\" or \"6kB\", in B, KiB to TiB (powers of 1,024) or kB to TB (powers of 1,000)";

    pub(super) fn parse(text: &str) -> Option<Self> {
        let split = |(name, unit): &(&str, u64)| Some((text.strip_suffix(name)?.trim_end(), *unit));
        if let Some((digits, unit)) = DECIMAL.iter().find_map(split) {
            return decimal(digits, unit).map(Self);
        }
        let (digits, unit) = UNITS.iter().find_map(split)?;
        whole(digits)?.checked_mul(unit).map(Self)
    }
}

/// Digits, and nothing but digits.
fn whole(digits: &str) -> Option<u64> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

/// So many units, with decimals where that makes whole bytes: 0.75 of 1,000.
fn decimal(digits: &str, unit: u64) -> Option<u64> {
    let Some((units, part)) = digits.split_once('.') else { return whole(digits)?.checked_mul(unit) };
    let parts = 10_u64.checked_pow(u32::try_from(part.len()).ok()?)?;
    let rest = whole(part)?.checked_mul(unit).filter(|rest| rest.is_multiple_of(parts))? / parts;
    whole(units)?.checked_mul(unit)?.checked_add(rest)
}

/// In the largest unit that leaves no rest.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |unit: u64| self.0 >= unit && self.0.is_multiple_of(unit);
        let (name, unit) = UNITS.into_iter().find(|(_, unit)| fits(*unit)).unwrap_or(("B", 1));
        write!(f, "{}{name}", self.0 / unit)
    }
}

impl Time {
    const EXPECTED: &str = "a time such as \"10ms\", in ns, us, ms, s, min or h";

    fn parse(text: &str) -> Option<Self> {
        let nanoseconds = humantime::parse_duration(text).ok()?.as_nanos();
        u64::try_from(nanoseconds).ok().filter(|&time| time <= LONGEST).map(Self)
    }
}

/// The longest time, ns: 100 days.
const LONGEST: u64 = 100 * 86_400 * 1_000_000_000;

impl Fraction {
    const EXPECTED: &str = "a fraction such as \"1%\", from 0% to 100%";

    fn parse(text: &str) -> Option<Self> {
        let percent: f64 = text.strip_suffix('%')?.trim_end().parse().ok()?;
        (0.0..=100.0).contains(&percent).then_some(Self(percent / 100.0))
    }
}

/// Takes a text, and nothing but a text.
struct Written<T> {
    expected: &'static str,
    parse: fn(&str) -> Option<T>,
}

impl<T> Visitor<'_> for Written<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).ok_or_else(|| E::custom(format_args!("expected {}, not \"{text}\"", self.expected)))
    }
}

/// As it is written, without a unit that leaves a rest.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", humantime::format_duration(std::time::Duration::from_nanos(self.0)))
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0 * 100.0)
    }
}

impl Size {
    const PATTERN: &str = r"^([0-9]+ *(B|[KMGT]iB)|[0-9]+(\.[0-9]+)? *[kMGT]B)$";
    const EXAMPLES: [&str; 3] = ["8KiB", "6kB", "1 MiB"];
}

impl Time {
    const PATTERN: &str = r"^ *([0-9]+ *[a-zµ]+ *)+$|^0$";
    const EXAMPLES: [&str; 3] = ["10ms", "1m 30s", "0s"];
}

impl Fraction {
    const PATTERN: &str = r"^ *[0-9]+(\.[0-9]+)? *%$";
    const EXAMPLES: [&str; 3] = ["1%", "0.5%", "100%"];
}

macro_rules! written {
    ($($name:ident),*) => {$(
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "description": Self::EXPECTED,
                    "pattern": Self::PATTERN,
                    "examples": Self::EXAMPLES,
                })
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_str(Written { expected: Self::EXPECTED, parse: Self::parse })
            }
        }
    )*};
}
written!(Size, Time, Fraction);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let bytes = |text| Size::parse(text).map(|size| size.0);
        assert_eq!([bytes("1B"), bytes("8KiB"), bytes("1 MiB")], [Some(1), Some(8192), Some(1 << 20)]);
        for text in ["", "8", "8K", "8KB", "-1B", "+1B", "1.5KiB", "KiB", "17000000TiB", "8kib"] {
            assert_eq!(bytes(text), None, "{text}");
        }
        assert_eq!([bytes("6kB"), bytes("0.75kB"), bytes("1.5 MB")], [Some(6_000), Some(750), Some(1_500_000)]);
        for text in ["0.0001kB", ".5kB", "1.kB", "1.5B", "1e3kB", "6KB", "+1kB", "-0.5kB", "99999999999TB"] {
            assert_eq!(bytes(text), None, "{text}");
        }
        for text in ["0B", "1B", "1025B", "8KiB", "3MiB", "1TiB"] {
            assert_eq!(Size::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn times_and_shares_have_units() {
        let times = ["0s", "10ms", "1m", "2 h", "5", "-1s", "200days"].map(|text| Time::parse(text).map(|time| time.0));
        let hour = 3_600_000_000_000;
        assert_eq!(times, [Some(0), Some(10_000_000), Some(60_000_000_000), Some(2 * hour), None, None, None]);
        let shares =
            ["0%", "1%", "0.5 %", "100%", "101%", "1", "NaN%"].map(|text| Fraction::parse(text).map(|share| share.0));
        assert_eq!(shares, [Some(0.0), Some(0.01), Some(0.005), Some(1.0), None, None, None]);
    }
}
