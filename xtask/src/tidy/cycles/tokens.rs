//! Rust source as words and signs: enough to find paths, without comments, strings and visibilities.

/// Words, and signs of one character; `::` is one sign.
pub(super) fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => string(rest),
            'r' | 'b' if raw_string(rest) > 0 => raw_string(rest),
            '\'' => character(rest),
            _ if rest.starts_with("::") => 2,
            _ if is_of_a_word(first) => rest.find(|c| !is_of_a_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        if is_of_a_word(first) && !token.contains('"')
            || token.chars().count() == 1 && !first.is_whitespace()
            || token == "::"
        {
            tokens.push(token);
        }
        rest = after;
    }
    without_visibilities(&tokens)
}

fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of the string that begins here.
fn string(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|&(_, c)| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// The length of the raw string that begins here, of bytes or not; 0 if none does.
fn raw_string(text: &str) -> usize {
    let Some(rest) = text.trim_start_matches(['b', 'c']).strip_prefix('r') else { return 0 };
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let Some(inside) = rest[hashes..].strip_prefix('"') else { return 0 };
    let end = format!("\"{}", "#".repeat(hashes));
    let before = text.len() - inside.len();
    inside.find(&end).map_or(text.len(), |at| before + at + end.len())
}

/// The length of the character that begins here; of a lifetime, its quote.
fn character(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), Some((at, second))) => {
            let after = at + second.len_utf8();
            text[after..].find('\'').map_or(text.len(), |end| after + end + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

/// `pub(in super::super)` names no file that is used.
fn without_visibilities<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    let mut seen = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(&token) = tokens.get(at) {
        seen.push(token);
        at += 1;
        let limited = tokens.get(at + 1).is_some_and(|word| ["crate", "self", "super", "in"].contains(word));
        if token == "pub" && tokens.get(at) == Some(&"(") && limited {
            at += tokens[at..].iter().position(|token| *token == ")").map_or(tokens.len(), |end| end + 1);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_characters_and_visibilities_are_left_out() {
        let text = "pub(in super::super) fn a<'x>() { /* b::c */ d::e(\"f::g\", '\\'', 'h', r#\"i\"j\"#); } // k\n";
        let words =
            ["pub", "fn", "a", "<", "'", "x", ">", "(", ")", "{", "d", "::", "e", "(", ",", ",", ",", ")", ";", "}"];
        assert_eq!(tokens(text), words);
    }
}
