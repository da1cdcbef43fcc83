//! `cargo xtask words`: counts the patterns of hard language in all texts that users read.

use std::collections::BTreeMap;

use crate::tidy::source::{self, Source};
use crate::{Outcome, workspace};

/// Patterns and their phrases, which are counted in lower case and between word boundaries.
const PATTERNS: [(&str, &str); 5] = [
    ("clause with what or whoever", "what, whoever, whatever"),
    ("else for otherwise", "else"),
    ("a for per", "a second, a core, a line, a row, an interval, a side, a client, a level, a call"),
    ("metaphor", "kept, keeps, told, felt, spoilt, born, strangers, promise, promises, trouble, the wire"),
    (
        "idiom",
        "so long, so many, so much, the like, the same of, likewise, besides, alone, at the most, anew, meanwhile, \
         of its own, of their own, all the same, says so, goes with, is said, are said, is no, are no, was no, were no, \
         has none, have none, not one, that of, those of, as it is, is to, are to, of a run, of a capture, by itself, \
         in its place, in turns",
    ),
];
/// Before "a second" and its like, these words make it a rate.
const RATES: &str = "one once twice times operations bytes calls requests runs iterations";
const NEGATIONS: &str = "not no never none nothing without nobody cannot neither nor";
/// Words of a sentence that can be read once.
const LONG: usize = 30;
/// Shorter texts are names and headings.
const FEWEST_WORDS: usize = 5;

/// Prints how often each pattern occurs, by kind of text.
pub(crate) fn run() -> Outcome {
    let sources = source::read_all(&workspace::files()?)?;
    let mut texts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.test && !source.path.contains("testkit")) {
        if source.is_rust() && source.path.starts_with("crates/") {
            texts.entry("strings").or_default().extend(strings(source));
        }
        if source.path.starts_with("crates/cli/src/") {
            texts.entry("help and comments of the cli").or_default().extend(paragraphs(source, Some("///")));
        }
        let document = source.path.starts_with("docs/") && !source.path.starts_with("docs/decisions/");
        if (document || !source.path.contains('/')) && source.path.ends_with(".md") && source.path != "CHANGELOG.md" {
            texts.entry("documents").or_default().extend(paragraphs(source, None));
        }
    }
    for (kind, texts) in &texts {
        println!("{kind}: {} texts", texts.len());
        for (name, count) in counts(texts) {
            println!("  {name:32} {count:5}");
        }
    }
    Ok(())
}

fn counts(texts: &[String]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for sentence in texts.iter().flat_map(|text| text.split_inclusive(['.', '?', '!', '|'])) {
        let clean = |c: char| if c.is_alphanumeric() || c == '\'' || c == '-' { c } else { ' ' };
        let lower: String = sentence.to_lowercase().chars().map(clean).collect();
        let words: Vec<&str> = lower.split_whitespace().collect();
        for (name, phrases) in PATTERNS.iter().filter(|_| !sentence.ends_with('?')) {
            let found = phrases.split(", ").map(|phrase| occurrences(&words, phrase, *name == "a for per"));
            *counts.entry(*name).or_default() += found.sum::<usize>();
        }
        *counts.entry("sentence above 30 words").or_default() += usize::from(words.len() > LONG);
        let negations = words.iter().filter(|word| NEGATIONS.split(' ').any(|no| no == **word)).count();
        *counts.entry("three negations in a sentence").or_default() += usize::from(negations >= 3);
    }
    counts
}

fn occurrences(words: &[&str], phrase: &str, rate: bool) -> usize {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    let at = (0..words.len()).filter(|&at| words[at..].starts_with(&phrase));
    at.filter(|&at| !rate || at > 0 && RATES.split(' ').any(|rate| rate == words[at - 1])).count()
}

/// String literals of at least [`FEWEST_WORDS`] words. Literals that go on over lines count as one.
fn strings(source: &Source) -> Vec<String> {
    let code: Vec<&str> = source.code().map(|(_, line)| line).filter(|line| !line.contains("reason = \"")).collect();
    let code = code.join("\n").replace("\\\"", "'").replace("'\"'", "' '").replace("\\\n", " ");
    let literals = code.split('"').skip(1).step_by(2).map(str::to_owned);
    literals.filter(|literal| literal.split_whitespace().count() >= FEWEST_WORDS).collect()
}

/// Paragraphs outside code blocks; with a mark, only lines that begin with it.
fn paragraphs(source: &Source, mark: Option<&str>) -> Vec<String> {
    let (mut paragraphs, mut fence) = (vec![String::new()], false);
    for line in source.text.lines().map(str::trim_start) {
        fence ^= mark.is_none() && line.starts_with("```");
        let text = mark.map_or(Some(line), |mark| line.strip_prefix(mark)).unwrap_or_default();
        if text.is_empty() || fence || text.starts_with(['|', '*', '#']) {
            paragraphs.push(String::new());
        }
        if let Some(last) = paragraphs.last_mut().filter(|_| !fence) {
            last.push_str(text);
            last.push(' ');
        }
    }
    paragraphs.retain(|paragraph| paragraph.split_whitespace().count() >= FEWEST_WORDS);
    paragraphs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pattern_is_found_and_plain_sentences_are_not() {
        let count = |text: &str| counts(&[text.to_owned()]).into_values().sum::<usize>();
        for text in ["It says what it is.", "one a core", "They are kept.", "It is no file.", "no, not one, never"] {
            assert!(count(text) > 0, "{text}");
        }
        assert_eq!(count("What is it?") + count("A client sends a call.") + count("No file is open."), 0);
        assert_eq!(count(&"word ".repeat(31)), 1);
    }

    #[test]
    fn literals_and_paragraphs_are_found() {
        let source =
            Source::new("crates/cli/src/a.rs", "/// One two three four\n/// five\nfn a() { b(\"a b c d \\\n e\") }\n");
        assert_eq!(strings(&source).len(), 1);
        assert_eq!(paragraphs(&source, Some("///")), [" One two three four  five "]);
        assert_eq!(paragraphs(&Source::new("a.md", "```\na b c d e\n```\na b c d e\n"), None).len(), 1);
    }
}
