//! Title, labels and description of the system under test, as given by the person who measures.
//!
//! A new part of the description needs a field here, its key in `description.rs` of `results`, and a line in `schemas/`. All renderers show
//! the rows of `described.rs` of `report`.

use std::collections::BTreeMap;

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

/// Maximum length of a title, characters, so that it fits a heading.
pub const LONGEST_TITLE: usize = 200;
/// Maximum number of labels of a measurement: a build system has about ten.
pub const MOST_LABELS: usize = 32;
/// Longest key of a label, bytes.
pub const LONGEST_KEY: usize = 64;
/// Longest value of a label, characters: a URL of a build fits.
pub const LONGEST_VALUE: usize = 256;

/// A title, labels and a description, as far as they were given. The text is not trusted: renderers make it safe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// The title.
    pub title: Option<String>,
    /// Labels by key.
    #[serde(deserialize_with = "checked_labels")]
    pub labels: BTreeMap<String, String>,
    /// The system under test.
    pub system: Option<SystemUnderTest>,
}

/// A description of the system under test, as a benchmark's paper has one. A list has an entry per line; an empty list is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SystemUnderTest {
    /// The server: its product or machine.
    pub server: Vec<String>,
    /// The server software and its version.
    pub version: Vec<String>,
    /// Processors.
    pub cpu: Vec<String>,
    /// Memory.
    pub memory: Vec<String>,
    /// Disks and the file systems on them.
    pub disks: Vec<String>,
    /// The network between clients and server.
    pub network: Vec<String>,
    /// Further remarks.
    pub notes: Vec<String>,
}

impl SystemUnderTest {
    /// Every part with its name, in the order in which reports show them.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, &[String]); 7] {
        [
            ("Server", &self.server),
            ("Version", &self.version),
            ("CPU", &self.cpu),
            ("Memory", &self.memory),
            ("Disks", &self.disks),
            ("Network", &self.network),
            ("Notes", &self.notes),
        ]
    }
}

impl About {
    /// Whether all fields are empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Title, labels and parts of the description with their names, in the order in which reports show them.
    #[must_use]
    pub fn entries(&self) -> Vec<(String, String)> {
        let title = self.title.iter().map(|title| ("Title".to_owned(), title.clone()));
        let labels = self.labels.iter().map(|(key, value)| (format!("Label {key}"), value.clone()));
        let parts = self.system.iter().flat_map(SystemUnderTest::parts).filter(|(_, lines)| !lines.is_empty());
        title.chain(labels).chain(parts.map(|(name, lines)| (name.to_owned(), lines.join("; ")))).collect()
    }

    /// A title of one line that is not too long.
    ///
    /// # Errors
    /// It is empty or too long, or has several lines.
    pub fn check_title(text: &str) -> Result<String, String> {
        match text.chars().count() {
            0 => Err("expected a title, got an empty text".to_owned()),
            _ if text.contains(['\n', '\r']) => Err("expected one line, got several".to_owned()),
            1..=LONGEST_TITLE => Ok(text.to_owned()),
            many => Err(format!("expected at most {LONGEST_TITLE} characters, got {many}")),
        }
    }

    /// Parses `KEY=VALUE`.
    ///
    /// # Errors
    /// The text has another form, the key has characters that an OpenMetrics label must not have, or key or value is too long.
    pub fn parse_label(text: &str) -> Result<(String, String), String> {
        let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
        let first = key.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
        if !first || !key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(format!("key {key:?}: expected a letter, then letters, digits and underscores"));
        }
        if key.len() > LONGEST_KEY {
            return Err(format!("key {key}: expected at most {LONGEST_KEY} characters, got {}", key.len()));
        }
        match value.chars().count() {
            many if many > LONGEST_VALUE => {
                Err(format!("value of {key}: expected at most {LONGEST_VALUE} characters, got {many}"))
            }
            _ => Ok((key.to_owned(), value.to_owned())),
        }
    }

    /// Labels by key.
    ///
    /// # Errors
    /// There are too many, or two have one key.
    pub fn collect_labels(labels: &[(String, String)]) -> Result<BTreeMap<String, String>, String> {
        if labels.len() > MOST_LABELS {
            return Err(format!("expected at most {MOST_LABELS} labels, got {}", labels.len()));
        }
        let mut all = BTreeMap::new();
        for (key, value) in labels {
            if let Some(before) = all.insert(key.clone(), value.clone()) {
                return Err(format!("{key} has two values, {before:?} and {value:?}; give one value"));
            }
        }
        Ok(all)
    }
}

/// Checks labels of a recording from an untrusted source: a key becomes the name of an OpenMetrics label.
fn checked_labels<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let labels = BTreeMap::<String, String>::deserialize(deserializer)?;
    let pairs = labels.iter().map(|(key, value)| About::parse_label(&format!("{key}={value}")));
    let pairs = pairs.collect::<Result<Vec<_>, _>>().map_err(D::Error::custom)?;
    About::collect_labels(&pairs).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_key_and_any_value() {
        let label = |text: &str| About::parse_label(text);
        assert_eq!(label("commit=a=b\u{1b}"), Ok(("commit".to_owned(), "a=b\u{1b}".to_owned())));
        assert_eq!(label("empty="), Ok(("empty".to_owned(), String::new())));
        for wrong in ["commit", "=x", "1a=x", "a-b=x", "ä=x", "a b=x", "a\"=x", "_a=x"] {
            assert!(label(wrong).is_err(), "{wrong}");
        }
        assert!(label(&format!("{}=x", "k".repeat(LONGEST_KEY))).is_ok());
        assert!(label(&format!("{}=x", "k".repeat(LONGEST_KEY + 1))).is_err());
        assert!(label(&format!("k={}", "ä".repeat(LONGEST_VALUE))).is_ok());
        assert!(label(&format!("k={}", "ä".repeat(LONGEST_VALUE + 1))).is_err());
    }

    #[test]
    fn titles_and_numbers_of_labels_are_bounded() {
        assert!(About::check_title("").is_err() && About::check_title(&"x".repeat(LONGEST_TITLE)).is_ok());
        assert_eq!(About::check_title("a\nb").unwrap_err(), "expected one line, got several");
        assert!(About::check_title(&"x".repeat(LONGEST_TITLE + 1)).unwrap_err().contains("201"));
        let labels: Vec<_> = (0..=MOST_LABELS).map(|at| (format!("k{at}"), String::new())).collect();
        assert!(About::collect_labels(&labels).is_err() && About::collect_labels(&labels[1..]).is_ok());
        let twice = [("a".to_owned(), "1".to_owned()), ("a".to_owned(), "2".to_owned())];
        assert!(About::collect_labels(&twice).unwrap_err().starts_with("a has two values"));
    }

    #[test]
    fn entries_are_what_was_said() {
        let system = SystemUnderTest { cpu: vec!["two".to_owned(), "four".to_owned()], ..SystemUnderTest::default() };
        let labels = BTreeMap::from([("b".to_owned(), "1".to_owned())]);
        let about = About { title: Some("T".to_owned()), labels, system: Some(system) };
        let expected = [("Title", "T"), ("Label b", "1"), ("CPU", "two; four")];
        assert_eq!(about.entries(), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert!(!about.is_empty() && About::default().is_empty() && About::default().entries().is_empty());
    }
}
