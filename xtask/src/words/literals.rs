//! String literals of Rust code.

/// A string literal.
#[derive(Debug)]
pub(super) struct Literal<'c> {
    /// The line in which it begins, 1-based.
    pub(super) line: usize,
    /// The code before it.
    pub(super) before: &'c str,
    /// Its value, without the marks of escapes.
    pub(super) value: String,
}

/// The string literals outside comments.
pub(super) fn literals(code: &str) -> Vec<Literal<'_>> {
    let (mut literals, mut at) = (Vec::new(), 0);
    while let Some(c) = code[at..].chars().next() {
        let rest = &code[at..];
        let literal = if c == '"' { plain(rest) } else { raw(rest) };
        at += match literal {
            Some((length, value)) => {
                let before = &code[..at];
                literals.push(Literal { line: before.matches('\n').count() + 1, before, value });
                length
            }
            None if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            None if c == '\'' => character(rest),
            None => c.len_utf8(),
        };
    }
    literals
}

/// Length and value of the literal that begins with a quotation mark.
fn plain(code: &str) -> Option<(usize, String)> {
    let mut value = String::new();
    let mut chars = code.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((at + 1, value)),
            '\\' => match chars.next()?.1 {
                '\n' => while chars.next_if(|(_, c)| c.is_whitespace()).is_some() {},
                'n' => value.push('\n'),
                't' => value.push('\t'),
                'r' => value.push('\r'),
                '0' => value.push('\0'),
                'x' => value.extend(character_of(chars.by_ref().take(2).map(|(_, c)| c))),
                'u' => value.extend(character_of(chars.by_ref().map(|(_, c)| c).take_while(|c| *c != '}'))),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

/// The character with a number in hexadecimal digits; other characters do not count.
fn character_of(digits: impl Iterator<Item = char>) -> Option<char> {
    let digits: String = digits.filter(char::is_ascii_hexdigit).collect();
    u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)
}

/// Length and value of a raw literal.
fn raw(code: &str) -> Option<(usize, String)> {
    let after = code.strip_prefix('r')?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let value = after[hashes..].strip_prefix('"')?;
    let length = value.find(&format!("\"{}", "#".repeat(hashes)))?;
    Some((length + 3 + 2 * hashes, value[..length].to_owned()))
}

/// Length of a character literal, or of the mark of a lifetime.
fn character(code: &str) -> usize {
    let mut chars = code.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        // The character after the backslash may be the mark itself.
        (Some((_, '\\')), Some(_)) => chars.find(|(_, c)| *c == '\'').map_or(1, |(at, _)| at + 1),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved_and_comments_and_characters_are_skipped() {
        let code = "// \"no\"\nf('\"', '\\'', '\\\"', \"a\\\n   b\\\"\\u{2014}\\x41\", r#\"c\"d\"#);\nfn g<'a>() { h(\"e\\n\\\\\") }";
        let found: Vec<(usize, String)> = literals(code).into_iter().map(|found| (found.line, found.value)).collect();
        let expected = [(2, "ab\"\u{2014}A"), (3, "c\"d"), (4, "e\n\\")];
        assert_eq!(found, expected.map(|(line, value)| (line, value.to_owned())));
        assert!(literals("f(r\"a\")")[0].before.ends_with("f("));
    }
}
