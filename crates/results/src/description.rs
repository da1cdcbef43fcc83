//! `--describe FILE.toml`: the system under test, as its owner describes it.

use std::path::Path;

use anyhow::anyhow;
use plimsoll_model::SystemUnderTest;
use serde::Deserialize;
use toml::Spanned;

/// Largest description, bytes: a page of text.
const LARGEST: u64 = 64 * 1024;
/// Longest line of a part, characters.
const LONGEST_LINE: usize = 500;
/// Most lines of a part: disks of a large server have a line each.
const MOST_LINES: usize = 64;

/// The content of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Text {
    server: Option<Spanned<Lines>>,
    version: Option<Spanned<Lines>>,
    cpu: Option<Spanned<Lines>>,
    memory: Option<Spanned<Lines>>,
    disks: Option<Spanned<Lines>>,
    network: Option<Spanned<Lines>>,
    notes: Option<Spanned<Lines>>,
}

/// A text, or a list of texts.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a string or a list of strings")]
enum Lines {
    One(String),
    Many(Vec<String>),
}

/// Reads a description.
///
/// # Errors
/// The file cannot be read, or is no description: the message names the line and the key.
pub fn read(file: &Path) -> anyhow::Result<SystemUnderTest> {
    let shown = file.display();
    let wrong = |why: String| anyhow!("--describe {shown}: {why}");
    let bytes = std::fs::metadata(file).map_err(|error| wrong(error.to_string()))?.len();
    if bytes > LARGEST {
        return Err(wrong(format!("the file has {bytes} bytes, expected at most {LARGEST}")));
    }
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    parse(&text).map_err(|why| anyhow!("--describe {shown}{why}"))
}

/// The reason begins with the line, where there is one.
fn parse(text: &str) -> Result<SystemUnderTest, String> {
    let line = |at: usize| text.get(..at.min(text.len())).unwrap_or_default().matches('\n').count() + 1;
    // The longest part of a line that is repeated, characters.
    let shown = |number: usize| text.lines().nth(number - 1).unwrap_or_default().trim().chars().take(120);
    let read: Text = toml::from_str(text).map_err(|error| match error.span() {
        Some(place) => {
            let number = line(place.start);
            format!(", line {number}: {}, in: {}", error.message(), shown(number).collect::<String>())
        }
        None => format!(": {}", error.message()),
    })?;
    let lines = |key: &str, value: Option<Spanned<Lines>>| {
        let Some(value) = value else { return Ok(Vec::new()) };
        let at = line(value.span().start);
        let whole = match value.into_inner() {
            Lines::One(text) => vec![text],
            Lines::Many(texts) => texts,
        };
        let lines = whole.iter().flat_map(|text| text.lines()).map(str::trim).filter(|line| !line.is_empty());
        let lines: Vec<String> = lines.map(str::to_owned).collect();
        let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        match (lines.len(), longest) {
            (0, _) => Err(format!(", line {at}: `{key}` is empty: give a value, or remove the key")),
            (many, _) if many > MOST_LINES => {
                Err(format!(", line {at}: `{key}` has {many} lines of text, expected at most {MOST_LINES}"))
            }
            (_, long) if long > LONGEST_LINE => {
                let problem = format!("{long} characters without a line break, expected at most {LONGEST_LINE}");
                Err(format!(", line {at}: `{key}` has {problem}"))
            }
            _ => Ok(lines),
        }
    };
    let system = SystemUnderTest {
        server: lines("server", read.server)?,
        version: lines("version", read.version)?,
        cpu: lines("cpu", read.cpu)?,
        memory: lines("memory", read.memory)?,
        disks: lines("disks", read.disks)?,
        network: lines("network", read.network)?,
        notes: lines("notes", read.notes)?,
    };
    match system == SystemUnderTest::default() {
        true => Err(": the file sets none of the keys server, version, cpu, memory, disks, network, notes".to_owned()),
        false => Ok(system),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_a_text_or_a_list_and_each_line_an_entry() {
        let system = parse("cpu = \"2 × EPYC\"\ndisks = [\"a\", \"b\\nc\"]\nnotes = '''\none\n\n two\n'''").unwrap();
        assert_eq!(system.cpu, ["2 × EPYC"]);
        assert_eq!(
            (system.disks, system.notes),
            (vec!["a".into(), "b".into(), "c".into()], vec!["one".into(), "two".into()])
        );
        assert!(system.server.is_empty() && system.memory.is_empty());
    }

    #[test]
    fn an_error_names_the_line_and_the_key() {
        for (text, parts) in [
            ("cpu = \"x\"\nram = \"64 GiB\"", &[", line 2: ", "`ram`", "in: ram = \"64 GiB\"", "memory"][..]),
            ("cpu = 4", &[", line 1: ", "a string or a list of strings", "in: cpu = 4"]),
            ("\n[cpu]\nmodel = 'x'", &[", line 2: ", "in: [cpu]"]),
            ("cpu = \"x\"\ncpu = \"y\"", &[", line 2: ", "in: cpu = \"y\""]),
            ("server = 'a'\n\nnotes = ' '", &[", line 3: `notes` is empty"]),
            ("server = \"a", &[", line 1: "]),
            ("", &[": the file sets none of the keys server"]),
        ] {
            let said = parse(text).unwrap_err();
            assert!(parts.iter().all(|part| said.contains(part)), "{text}: {said}");
        }
        let long = parse(&format!("cpu='x'\nnotes = '{}'", "n".repeat(LONGEST_LINE + 1))).unwrap_err();
        assert!(long.starts_with(", line 2: `notes` has 501 characters"), "{long}");
        let many = parse(&format!("disks = {:?}", vec!["d"; MOST_LINES + 1])).unwrap_err();
        assert!(many.starts_with(", line 1: `disks` has 65 lines"), "{many}");
    }
}
