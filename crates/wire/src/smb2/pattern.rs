//! Search patterns of directories: what servers match names against, and clients that do it themselves.
//!
//! Spec: MS-FSA 2.1.4.4

/// `*` and `?`, and what DOS programs' wildcards become on their way: `<` (`*` up to the last dot), `>` (one character that is no
/// dot, or none before a dot or at the end) and `"` (a dot, or nothing at the end).
const WILDCARDS: [char; 5] = ['*', '?', '<', '>', '"'];

/// Whether a pattern can match more than the name that it is.
pub fn is_pattern(pattern: &str) -> bool {
    pattern.contains(WILDCARDS)
}

/// Whether a name matches a pattern, upper and lower case alike. Walks the name once, with every place in the pattern where one
/// may be: no pattern takes long.
pub fn matches(pattern: &str, name: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    let (pattern, name) = (folded(pattern), folded(name));
    let last_dot = name.iter().rposition(|one| *one == '.');
    let mut places = vec![false; pattern.len() + 1];
    set(&mut places, 0, true);
    for (at, one) in name.iter().enumerate() {
        skip(&pattern, &mut places, Some(*one));
        let mut next = vec![false; places.len()];
        for (place, wanted) in pattern.iter().enumerate().filter(|(place, _)| places.get(*place) == Some(&true)) {
            let (stays, goes) = match wanted {
                '*' => (true, false),
                '<' => (Some(at) != last_dot, false),
                '?' => (false, true),
                '>' => (false, *one != '.'),
                '"' => (false, *one == '.'),
                literal => (false, literal == one),
            };
            set(&mut next, place, stays);
            set(&mut next, place + 1, goes);
        }
        places = next;
    }
    skip(&pattern, &mut places, None);
    places.last() == Some(&true)
}

/// Adds the places that are reached without taking a character, before `next` or the end.
fn skip(pattern: &[char], places: &mut [bool], next: Option<char>) {
    for (place, wanted) in pattern.iter().enumerate() {
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

/// Marks a place, if it is to be.
fn set(places: &mut [bool], place: usize, mark: bool) {
    if mark && let Some(place) = places.get_mut(place) {
        *place = true;
    }
}

fn folded(text: &str) -> Vec<char> {
    text.chars().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_as_the_specification_says() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "a.b", true),
            ("a*c", "abbc", true),
            ("a*c", "abbd", false),
            ("**a", "ba", true),
            ("*ab*ab", "ababcab", true),
            ("?", "", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*.*", "readme", false),
            ("abc", "abc", true),
            ("FILLER.*", "filler.000", true),
            ("*É", "aé", true),
            // Everything before the last dot.
            ("<.JNK", "a.b.jnk", true),
            ("<.b", "a.b.c", false),
            ("<", "a", true),
            // One, or nothing before a dot or at the end.
            (">>>", "ab", true),
            (">>>", "abcd", false),
            (">>>.t", "a.t", true),
            ("a>b", "ab", false),
            // A dot, or nothing at the end.
            ("a\"", "a", true),
            ("a\"", "a.", true),
            ("a\"b", "a.b", true),
            ("a\"b", "ab", false),
            ("<\"*", "readme", true),
            ("<\"*", "read.me.now", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
        assert!(is_pattern("a?") && is_pattern("<.JNK") && !is_pattern("a.b"));
    }

    #[test]
    fn no_pattern_takes_long() {
        assert!(!matches(&("*a".repeat(120) + "b"), &"a".repeat(255)));
    }
}
