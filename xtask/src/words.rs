//! `cargo xtask words`: counts the patterns of hard language in all texts that users read, or draws some of these texts.

mod draw;
mod help;
mod literals;
mod texts;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::tidy::source;
use crate::{Outcome, workspace};
use texts::{Kind, Text};

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

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Draw this number of texts at random and print them, instead of counting
    #[arg(long, value_name = "COUNT")]
    draw: Option<usize>,
    /// Seed of the draw: the same seed draws the same texts from the same source files
    #[arg(long, default_value_t = 1, requires = "draw")]
    seed: u64,
    /// Print every text as JSON, one object per line, instead of counting
    #[arg(long, conflicts_with = "draw")]
    all: bool,
}

/// Prints how often each pattern occurs, by kind of text; or texts.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let texts = texts::all(&source::read_all(&workspace::files()?)?);
    if let Some(count) = arguments.draw {
        print_drawn(&texts, count, arguments.seed);
    } else if arguments.all {
        texts.iter().for_each(|text| println!("{}", as_json(text)));
    } else {
        let mut kinds: BTreeMap<Kind, Vec<&str>> = BTreeMap::new();
        for text in &texts {
            kinds.entry(text.kind).or_default().push(&text.text);
        }
        for (kind, texts) in &kinds {
            println!("{}: {} texts", kind.name(), texts.len());
            for (name, count) in counts(texts) {
                println!("  {name:32} {count:5}");
            }
        }
    }
    Ok(())
}

fn print_drawn(texts: &[Text], count: usize, seed: u64) {
    println!("{} of {} texts, seed {seed}", count.min(texts.len()), texts.len());
    for (number, place) in draw::draw(count, texts.len(), seed).into_iter().enumerate() {
        let text = &texts[place];
        println!("\n{}. {}, {}", number + 1, text.kind.name(), text.place);
        for line in text.header.iter().chain([&text.text]).flat_map(|text| text.lines()) {
            println!("   {line}");
        }
    }
}

fn as_json(text: &Text) -> Value {
    let mut object = json!({ "kind": text.kind.name(), "place": text.place, "text": text.text });
    if let Some(header) = &text.header {
        object["header"] = json!(header);
    }
    object
}

fn counts(texts: &[&str]) -> BTreeMap<&'static str, usize> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pattern_is_found_and_plain_sentences_are_not() {
        let count = |text: &str| counts(&[text]).into_values().sum::<usize>();
        for text in ["It says what it is.", "one a core", "They are kept.", "It is no file.", "no, not one, never"] {
            assert!(count(text) > 0, "{text}");
        }
        assert_eq!(count("What is it?") + count("A client sends a call.") + count("No file is open."), 0);
        assert_eq!(count(&"word ".repeat(31)), 1);
    }
}
