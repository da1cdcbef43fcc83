//! Options with numbers, and files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a recording was asked to do.
#[derive(Debug)]
pub(crate) struct Arguments {
    numbers: BTreeMap<&'static str, u64>,
    texts: BTreeMap<&'static str, String>,
    flags: Vec<String>,
    files: Vec<PathBuf>,
}

/// The options that a recording knows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    /// Options with a number, and the number when they are not given.
    pub(crate) numbers: &'static [(&'static str, u64)],
    /// Options with a text, and the text when they are not given.
    pub(crate) texts: &'static [(&'static str, &'static str)],
    /// Options alone.
    pub(crate) flags: &'static [&'static str],
    /// The files to name, as a message names them.
    pub(crate) files: &'static [&'static str],
}

impl Arguments {
    /// Reads arguments; an unknown option, a bad number and a missing file are errors.
    pub(crate) fn parse(arguments: &[String], known: Known) -> Result<Self, String> {
        let mut parsed = Self {
            numbers: known.numbers.iter().copied().collect(),
            texts: known.texts.iter().map(|(name, text)| (*name, (*text).to_owned())).collect(),
            flags: Vec::new(),
            files: Vec::new(),
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if let Some((name, _)) = known.numbers.iter().find(|(name, _)| name == argument) {
                let value = rest.next().and_then(|value| value.parse().ok());
                parsed.numbers.insert(name, value.ok_or_else(|| format!("{name} needs a number"))?);
            } else if let Some((name, _)) = known.texts.iter().find(|(name, _)| name == argument) {
                parsed.texts.insert(name, rest.next().ok_or_else(|| format!("{name} needs a value"))?.clone());
            } else if known.flags.contains(&argument.as_str()) {
                parsed.flags.push(argument.clone());
            } else if argument.starts_with('-') {
                return Err(format!("no option {argument:?} here"));
            } else {
                parsed.files.push(argument.into());
            }
        }
        if parsed.files.len() == known.files.len() {
            Ok(parsed)
        } else {
            Err(format!("name {}", known.files.join(" and ")))
        }
    }

    /// The number of an option; 0 for one that [`Known`] does not have.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.numbers.get(name).copied().unwrap_or_default()
    }

    /// The text of an option; empty for one that [`Known`] does not have.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.texts.get(name).map_or("", String::as_str)
    }

    /// Whether an option was given.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.flags.iter().any(|flag| flag == name)
    }

    /// The file at a position, from 0.
    pub(crate) fn file(&self, at: usize) -> &Path {
        self.files.get(at).map_or(Path::new(""), PathBuf::as_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Known =
        Known { numbers: &[("--copies", 10)], texts: &[("--load", "x")], flags: &["--fast"], files: &["IN", "OUT"] };

    fn parse(line: &str) -> Result<Arguments, String> {
        Arguments::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>(), KNOWN)
    }

    #[test]
    fn options_and_files_come_in_any_order() {
        let parsed = parse("a --copies 3 b --fast").unwrap();
        assert_eq!((parsed.number("--copies"), parsed.flag("--fast"), parsed.text("--load")), (3, true, "x"));
        assert_eq!((parsed.file(0), parsed.file(1)), (Path::new("a"), Path::new("b")));
        assert_eq!(parse("a b").unwrap().number("--copies"), 10);
    }

    #[test]
    fn what_is_not_known_is_an_error() {
        for line in ["a", "a b c", "a b --copies", "a b --copies x", "a b --slow"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
