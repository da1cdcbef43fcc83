//! The wildcards of a directory search.
//!
//! Spec: MS-FSA 2.1.4.4.

/// A search pattern, for which upper and lower case are alike (names that are looked up are not): `*`, `?`, and the DOS forms `<` (up to the last dot), `>` (one that is no dot, or nothing before a
/// dot or at the end) and `"` (a dot, or nothing at the end).
#[derive(Debug)]
pub(super) struct Pattern {
    parts: Vec<char>,
    text: String,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self { parts: text.chars().collect(), text: text.to_owned() }
    }

    /// The one name that matches, where there is no wildcard.
    pub(super) fn literal(&self) -> Option<&str> {
        (!self.text.contains(['*', '?', '<', '>', '"'])).then_some(&self.text)
    }

    /// Walks the name once, with every place in the pattern where one may be: no pattern takes long.
    pub(super) fn matches(&self, name: &str) -> bool {
        if self.text == "*" {
            return true;
        }
        let name: Vec<char> = name.chars().collect();
        let last_dot = name.iter().rposition(|part| *part == '.');
        let mut places = vec![false; self.parts.len() + 1];
        if let Some(first) = places.first_mut() {
            *first = true;
        }
        for (at, part) in name.iter().enumerate() {
            self.skip(&mut places, Some(*part));
            let mut next = vec![false; places.len()];
            for (place, wanted) in self.parts.iter().enumerate() {
                let stays = *wanted == '*' || (*wanted == '<' && Some(at) != last_dot);
                let goes = match wanted {
                    '?' => true,
                    '>' => *part != '.',
                    '"' => *part == '.',
                    literal => literal == part || literal.to_lowercase().eq(part.to_lowercase()),
                };
                if places.get(place) == Some(&true) {
                    set(&mut next, place, stays);
                    set(&mut next, place + 1, goes && !matches!(wanted, '*' | '<'));
                }
            }
            places = next;
        }
        self.skip(&mut places, None);
        places.last() == Some(&true)
    }

    /// Adds the places that are reached without taking a character, before `next` or the end.
    fn skip(&self, places: &mut [bool], next: Option<char>) {
        for (place, wanted) in self.parts.iter().enumerate() {
            let empty = match wanted {
                '*' | '<' => true,
                '>' => next.is_none_or(|next| next == '.'),
                '"' => next.is_none(),
                _ => false,
            };
            let here = places.get(place) == Some(&true);
            set(places, place + 1, here && empty);
        }
    }
}

/// Marks a place, if it is to be.
fn set(places: &mut [bool], place: usize, mark: bool) {
    if mark && let Some(place) = places.get_mut(place) {
        *place = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_as_the_specification_says() {
        let table = [
            ("*", "", true),
            ("*", "a.b", true),
            ("a*c", "abbc", true),
            ("a*c", "abbd", false),
            ("**a", "ba", true),
            ("?", "", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("abc", "abc", true),
            ("FILLER.*", "filler.000", true),
            ("*É", "aé", true),
            // `<.txt`: everything before the last dot.
            ("<.txt", "a.b.txt", true),
            ("<.b", "a.b.c", false),
            ("<", "a", true),
            // `>`: one, or nothing before a dot or at the end.
            (">>>", "ab", true),
            (">>>", "abcd", false),
            (">>>.t", "a.t", true),
            ("a>b", "ab", false),
            // `"`: a dot, or nothing at the end.
            ("a\"", "a", true),
            ("a\"", "a.", true),
            ("a\"b", "a.b", true),
            ("a\"b", "ab", false),
            ("<\"*", "readme", true),
            ("<\"*", "read.me.now", true),
        ];
        for (pattern, name, expected) in table {
            assert_eq!(Pattern::new(pattern).matches(name), expected, "{pattern} {name}");
        }
        assert_eq!(Pattern::new("plain").literal(), Some("plain"));
        assert_eq!(Pattern::new("p?").literal(), None);
    }

    #[test]
    fn no_pattern_takes_long() {
        let (pattern, name) = ("*a".repeat(120) + "b", "a".repeat(255));
        assert!(!Pattern::new(&pattern).matches(&name));
    }
}
