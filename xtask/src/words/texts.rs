//! All texts that users read: help texts, messages, and the paragraphs, bullets and table rows of documents.

use super::{help, literals};
use crate::tidy::documents::{blocks, is_item};
use crate::tidy::source::Source;

/// Literals and parts of documents with fewer words are names and headings. Placeholders and tags are no words.
const FEWEST_WORDS: usize = 6;
/// Documents beside the pages of docs/.
const DOCUMENTS: [&str; 5] = ["README.md", "ARCHITECTURE.md", "MEASUREMENT.md", "CONTRIBUTING.md", "SECURITY.md"];
/// Figures of proofs, which `cargo xtask verify` writes.
const RESULTS: &str = "docs/verified.md";
/// Its tables are names only.
const VOCABULARY: &str = "docs/vocabulary.md";
/// Code before a literal of the command that is part of a help text.
const HELP: [&str; 4] = [": &str =", "help =", "help = format!(", "heading ="];
/// Code before a literal that users do not see: reasons of attributes, and bugs.
const UNSEEN: [&str; 2] = ["reason =", "expect("];
/// Beginnings of literals for other programs: policies, pictures and HTTP headers of pages, and constants of NTLM.
const FOR_PROGRAMS: [&str; 4] = ["default-src", "data:", "HTTP/1.1 {}", "session key to "];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Help,
    Message,
    Paragraph,
    Bullet,
    TableRow,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Help => "help",
            Kind::Message => "message",
            Kind::Paragraph => "paragraph",
            Kind::Bullet => "bullet",
            Kind::TableRow => "table row",
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) kind: Kind,
    /// File and line.
    pub(super) place: String,
    /// The header of a table row.
    pub(super) header: Option<String>,
    pub(super) text: String,
}

/// Every text, in the order of files and lines.
pub(super) fn all(sources: &[Source]) -> Vec<Text> {
    let read = |source: &&Source| !source.test && !source.path.contains("testkit");
    sources.iter().filter(read).flat_map(in_file).collect()
}

fn in_file(source: &Source) -> Vec<Text> {
    let path = source.path.as_str();
    let is_page = path.strip_prefix("docs/").is_some_and(|name| !name.contains('/') && name.ends_with(".md"));
    match path {
        RESULTS => Vec::new(),
        _ if is_page || DOCUMENTS.contains(&path) => in_document(source),
        _ if path.starts_with("crates/") && path.contains("/src/") && source.is_rust() => in_code(source),
        _ => Vec::new(),
    }
}

fn in_code(source: &Source) -> Vec<Text> {
    let code: String = source.text.split_inclusive('\n').take(source.lines_without_tests()).collect();
    let is_command = source.path.starts_with("crates/cli/");
    let text = |kind, line, text: &str| {
        let place = format!("{}:{line}", source.path);
        Text { kind, place, header: None, text: text.trim().to_owned() }
    };
    let helps = if is_command { help::texts(&code, source.path.ends_with("/main.rs")) } else { Vec::new() };
    let mut texts: Vec<Text> = helps.iter().map(|(line, help)| text(Kind::Help, *line, help)).collect();
    for literal in literals::literals(&code) {
        let after = |marks: &[&str]| marks.iter().any(|mark| literal.before.trim_end().ends_with(mark));
        let for_programs = FOR_PROGRAMS.iter().any(|begin| literal.value.trim_start().starts_with(begin));
        if words(&literal.value) >= FEWEST_WORDS && !after(&UNSEEN) && !for_programs {
            let kind = if is_command && after(&HELP) { Kind::Help } else { Kind::Message };
            texts.push(text(kind, literal.line, &literal.value));
        }
    }
    texts
}

fn in_document(source: &Source) -> Vec<Text> {
    let blocks = blocks(&source.text);
    let (mut texts, mut header) = (Vec::new(), None);
    for (i, (line, block)) in blocks.iter().enumerate() {
        let block = block.trim_end();
        let is_row = block.starts_with('|');
        let kind = match is_row {
            true => Kind::TableRow,
            false if is_item(block) => Kind::Bullet,
            false => Kind::Paragraph,
        };
        let is_rule = |text: &str| text.starts_with('|') && text.trim_matches(['|', '-', ':', ' ']).is_empty();
        if blocks.get(i + 1).is_some_and(|(_, next)| is_rule(next)) {
            header = Some(block.to_owned());
            continue;
        }
        let left_out = is_row && (source.path == VOCABULARY || is_of_numbers(block));
        if words(block) >= FEWEST_WORDS && !left_out {
            let place = format!("{}:{line}", source.path);
            texts.push(Text { kind, place, header: header.clone().filter(|_| is_row), text: block.to_owned() });
        }
    }
    texts
}

/// Whether at least three cells of a row after the first, and more than half of them, are numbers.
fn is_of_numbers(row: &str) -> bool {
    let cells = row.trim_matches(['|', ' ']).split('|').skip(1).map(str::trim).filter(|cell| !cell.is_empty());
    let (mut cells_in_all, mut numbers) = (0, 0);
    for cell in cells {
        let bare = cell.trim_start_matches(|c| "*+−-±<>≥≤~ ".contains(c));
        let is_number = bare.starts_with(|c: char| c.is_ascii_digit()) && bare.split_whitespace().count() <= 2;
        cells_in_all += 1;
        numbers += usize::from(is_number || bare.is_empty() || bare.starts_with('–'));
    }
    numbers >= 3 && numbers * 2 > cells_in_all
}

fn words(text: &str) -> usize {
    let text = without(&without(text, ['<', '>']), ['{', '}']);
    text.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).count()
}

/// The text outside pairs of brackets.
fn without(text: &str, [open, close]: [char; 2]) -> String {
    let (mut outside, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(open) {
        outside.push_str(before);
        rest = match after.find([open, close]).map(|end| after.split_at(end).1) {
            Some(end) if end.starts_with(close) => {
                outside.push(' ');
                &end[1..]
            }
            _ => after,
        };
    }
    outside + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, text: &str) -> Vec<String> {
        let texts = all(&[Source::new(path, text)]);
        let shown = |text: Text| format!("{} {} {:?} {}", text.kind.name(), text.place, text.header, text.text);
        texts.into_iter().map(shown).collect()
    }

    #[test]
    fn a_table_row_has_its_header_and_code_blocks_are_left_out() {
        let code = "```sh\na b c d e f g\n```\n\n    a b c d e f g\n\n";
        let table = "| a | b |\n| --- | --- |\n| c | d e f g h |\n| i | j |\n\n";
        let numbers = "| a | b | c | d |\n|---|---|---|---|\n| one two three four five six | 1.5 | −2 s | – |\n\n";
        let text = format!("# a b c d e f g\n\n{code}{table}{numbers}* a b c\n  d e f\n\na b c d e f.\n\na b c:\n");
        let expected = [
            "table row docs/a.md:11 Some(\"| a | b |\") | c | d e f g h |",
            "bullet docs/a.md:18 None * a b c d e f",
            "paragraph docs/a.md:21 None a b c d e f.",
        ];
        assert_eq!(of("docs/a.md", &text), expected);
        assert!(of("docs/decisions/a.md", &text).is_empty() && of(RESULTS, &text).is_empty());
    }

    #[test]
    fn messages_and_help_texts_of_code_are_found() {
        let code =
            "const A: &str = \"a b c d e f\";\nfn g() {\n    h(\"{x}: a b c d e\", \"<p>a {x} b c</p>\\n d e f\")\n}\n";
        let tests = "#[cfg(test)]\nmod tests {\n    const B: &str = \"a b c d e f\";\n}\n";
        let message = "None <p>a {x} b c</p>\n d e f";
        let expected = [
            "help crates/cli/src/a.rs:1 None a b c d e f".to_owned(),
            format!("message crates/cli/src/a.rs:3 {message}"),
        ];
        assert_eq!(of("crates/cli/src/a.rs", &format!("{code}{tests}")), expected);
        assert!(of("crates/testkit/src/a.rs", code).is_empty() && of("crates/cli/tests/a.rs", code).is_empty());
    }
}
