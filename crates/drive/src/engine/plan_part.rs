//! The part of a plan that one of several processes drives.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Maximum number of parts of a plan; each process drives one.
const MOST: u32 = 65_536;

/// The part of a plan that one process drives: `2/4` is the second of four. Numbers of clients, and with them files and random numbers,
/// are those of the whole plan, so all parts together do the same as one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PlanPart {
    /// From 1.
    part: u32,
    parts: u32,
}

impl PlanPart {
    /// Its number, from 1.
    #[must_use]
    pub fn number(self) -> u32 {
        self.part
    }

    /// How many there are.
    #[must_use]
    pub fn parts(self) -> u32 {
        self.parts
    }

    /// The first makes the files for all.
    #[must_use]
    pub fn is_first(self) -> bool {
        self.part == 1
    }
}

impl FromStr for PlanPart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u32>().ok().filter(|number| (1..=MOST).contains(number));
        let both = text.split_once('/').and_then(|(part, parts)| Some((number(part)?, number(parts)?)));
        match both.filter(|(part, parts)| part <= parts) {
            Some((part, parts)) => Ok(Self { part, parts }),
            None => Err(format!("expected K/N with 1 <= K <= N <= {MOST}, e.g. 2/4")),
        }
    }
}

impl TryFrom<String> for PlanPart {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<PlanPart> for String {
    fn from(part: PlanPart) -> Self {
        part.to_string()
    }
}

impl fmt::Display for PlanPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_numbered_from_one() {
        let part: PlanPart = "2/4".parse().unwrap();
        assert_eq!((part.number(), part.parts(), part.to_string().as_str()), (2, 4, "2/4"));
        for wrong in ["0/4", "5/4", "1/0", "1", "a/b", "-1/4", "1/4/2", "1/65537", ""] {
            assert!(wrong.parse::<PlanPart>().is_err(), "{wrong}");
        }
    }
}
