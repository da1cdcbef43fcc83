//! Documents can be read once: their table rows, sentences and paragraphs are short.

use super::source::Source;

/// Longest row of a table, in characters: about three lines of a wide page.
const ROW: usize = 250;
/// Longest part of a sentence between two of [`PARTS`], in words.
const PART: usize = 30;
/// Longest sentence, in words: lists after a colon make it longer than a part.
const SENTENCE: usize = 40;
/// Longest paragraph or item of a list, in words.
const PARAGRAPH: usize = 100;

const SENTENCES: &str = ".?!…";
const PARTS: &str = ".?!…:;";

/// Long sentences that are lists: the document and the first words.
const LISTS: [(&str, &str); 1] = [("docs/formats.md", "* **Files**: pcap")];

/// Whether users read it. Decisions are for developers.
fn is_document(source: &Source) -> bool {
    let page = source.path.strip_prefix("docs/").filter(|name| !name.contains('/') && name.ends_with(".md"));
    page.is_some() || ["README.md", "MEASUREMENT.md"].contains(&source.path.as_str())
}

/// Texts that are too long.
pub(crate) fn problems(sources: &[Source]) -> Vec<String> {
    let documents = sources.iter().filter(|source| is_document(source));
    documents
        .flat_map(|source| blocks(&source.text).into_iter().flat_map(|block| in_block(&source.path, &block)))
        .collect()
}

/// A paragraph, an item of a list or a row of a table, with the line in which it begins.
pub(crate) type Block = (usize, String);

/// The text outside code.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let (mut blocks, mut is_fence, mut is_open): (Vec<Block>, bool, bool) = (Vec::new(), false, false);
    for (i, line) in text.lines().enumerate() {
        let content = line.trim();
        let is_mark = content.starts_with("```");
        is_fence ^= is_mark;
        let is_code = is_mark || is_fence || line.starts_with("    ") && !is_open;
        if is_code || content.is_empty() || content.starts_with(['#', '<']) {
            is_open = false;
            continue;
        }
        let is_row = content.starts_with('|');
        if !is_open || is_row || is_item(content) {
            blocks.push((i + 1, String::new()));
        }
        if let Some((_, block)) = blocks.last_mut() {
            block.push_str(content);
            block.push(' ');
        }
        is_open = !is_row;
    }
    blocks
}

/// Whether it begins an item of a list.
pub(crate) fn is_item(line: &str) -> bool {
    let number = line.split_once(". ").is_some_and(|(number, _)| number.chars().all(|c| c.is_ascii_digit()));
    line.starts_with("* ") || line.starts_with("- ") || number
}

fn in_block(path: &str, (line, text): &Block) -> Vec<String> {
    let mut problems = Vec::new();
    let mut add = |what: &str, length: usize, most: usize, unit: &str| {
        if length > most {
            problems.push(format!("{path}:{line}: {what} of {length} {unit}: at most {most}"));
        }
    };
    let text = text.trim_end();
    let plain = plain(text);
    match text.starts_with('|') {
        true => add("row", text.chars().count(), ROW, "characters"),
        false => add("paragraph", words(&plain), PARAGRAPH, "words"),
    }
    for sentence in split(&plain, SENTENCES) {
        let is_list =
            LISTS.iter().any(|(document, begin)| *document == path && sentence.trim_start().starts_with(begin));
        add("sentence", if is_list { 0 } else { words(sentence) }, SENTENCE, "words");
        for part in split(sentence, PARTS) {
            add("part of a sentence", words(part), PART, "words");
        }
    }
    problems
}

/// A piece of code counts as a word, and the target of a link does not count.
fn plain(text: &str) -> String {
    let pieces = text.split('`').enumerate();
    let text: String = pieces.map(|(i, piece)| if i.is_multiple_of(2) { piece } else { "code" }).collect();
    let (mut plain, mut rest) = (String::new(), text.as_str());
    while let Some((before, link)) = rest.split_once("](") {
        plain.push_str(before);
        rest = link.split_once(')').map_or("", |(_, rest)| rest);
    }
    plain + rest
}

fn words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

/// Splits at marks that end a word, and between the cells of a row.
fn split<'t>(text: &'t str, marks: &str) -> Vec<&'t str> {
    let (mut parts, mut from) = (Vec::new(), 0);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|&(_, next)| next);
        let is_end = marks.contains(c) && next.is_none_or(|next| next.is_whitespace() || ")*\"".contains(next));
        if is_end || c == '|' {
            parts.push(&text[from..at]);
            from = at + c.len_utf8();
        }
    }
    parts.push(&text[from..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        problems(&[Source::new("docs/page.md", text)])
    }

    #[test]
    fn long_rows_sentences_and_paragraphs_are_found() {
        let sentence = |words: usize| format!("{}\n", "word ".repeat(words));
        assert_eq!(found(&sentence(30)), [""; 0]);
        assert_eq!(found(&sentence(31)), ["docs/page.md:1: part of a sentence of 31 words: at most 30"]);
        let lists = format!("# Title\n\nThese{}.\n", ": one two three four".repeat(10));
        assert_eq!(found(&lists), ["docs/page.md:3: sentence of 41 words: at most 40"]);
        assert_eq!(found(&"Three short words. ".repeat(33)), [""; 0]);
        assert_eq!(found(&"Three short words. ".repeat(34)), ["docs/page.md:1: paragraph of 102 words: at most 100"]);
        let row = format!("| a | {} |\n", "x".repeat(243));
        assert_eq!(found(&row), ["docs/page.md:1: row of 251 characters: at most 250"]);
    }

    #[test]
    fn code_links_headings_and_other_files_do_not_count() {
        let long = "word ".repeat(50);
        assert!(found(&format!("```sh\n{long}\n```\n\n    {long}\n\n# {long}\n")).is_empty());
        assert!(found(&format!("{}[a](b.md) `a b c`.\n", "word ".repeat(28))).is_empty());
        assert!(
            problems(&[Source::new("docs/decisions/0001.md", &long), Source::new("CHANGELOG.md", &long)]).is_empty()
        );
        assert_eq!(found(&format!("* one\n* {long}\n1. {}\n", "word ".repeat(20))).len(), 2, "an item is a block");
    }

    #[test]
    fn the_named_lists_stand_in_their_documents() {
        for (path, begin) in LISTS {
            let text = std::fs::read_to_string(crate::workspace::root().join(path)).unwrap();
            let stands = blocks(&text).iter().any(|(_, block)| plain(block).contains(begin));
            assert!(stands, "{path}: {begin}");
        }
    }
}
