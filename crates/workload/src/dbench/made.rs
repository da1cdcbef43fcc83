//! The paths that a load file can create: only these are removed from a player's directory.

use std::collections::{BTreeSet, HashSet};

use super::line::{Line, Op};
use super::script::STRINGS;
use plimsoll_client::operation::Disposition;

/// The most paths that follow from renamed directories. A path beyond them is reported rather than removed.
const MOST: usize = 1 << 16;
/// The longest path, bytes: a line of a load file is no longer.
const LONGEST: usize = 4096;

/// The paths that the lines of a load file can make, relative to the directory of the player. Upper and lower case are alike,
/// because a server may show a name in the case in which it was first made.
#[derive(Debug, Default)]
pub(crate) struct MadePaths {
    plain: HashSet<Box<str>>,
    /// Paths with placeholders such as `$1`.
    drawn: Vec<Vec<Piece>>,
    /// The possible values of each of the ten strings: for each pattern, the characters at each position.
    strings: [Vec<Vec<Box<[char]>>>; STRINGS],
}

/// A piece of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Char(char),
    /// The string of this number, which is empty before it is drawn.
    Drawn(usize),
}

impl MadePaths {
    /// The paths of these lines; `draws` says whether `$1` stands for a random string.
    pub(super) fn of(lines: &[Line], texts: &[Box<str>], draws: bool) -> Self {
        let text = |text: super::line::Text| texts.get(text.0 as usize).map_or("", |text| text);
        let (mut all, mut renamed, mut made) = (BTreeSet::new(), BTreeSet::new(), Self::default());
        for line in lines {
            match line.op {
                Op::Create { path, disposition, .. } | Op::Open { path, disposition }
                    if !matches!(disposition, Disposition::Open | Disposition::Overwrite) =>
                {
                    all.insert(text(path).to_lowercase());
                }
                Op::MakeDirectory { path } | Op::SymbolicLink { path, .. } => {
                    all.insert(text(path).to_lowercase());
                }
                Op::Link { to, .. } => {
                    all.insert(text(to).to_lowercase());
                }
                Op::Rename { from, to } => {
                    all.insert(text(to).to_lowercase());
                    renamed.insert((text(from).to_lowercase(), text(to).to_lowercase()));
                }
                Op::Draw { string, pattern } => {
                    if let Some(known) = made.strings.get_mut(usize::from(string)) {
                        known.push(pattern_of(&text(pattern).to_lowercase()));
                    }
                }
                _ => {}
            }
        }
        follow(&renamed, &mut all);
        for path in all {
            match draws && path.contains('$') {
                true => made.drawn.push(pieces_of(&path)),
                false => drop(made.plain.insert(path.into())),
            }
        }
        made
    }

    /// Whether a line can make this path.
    pub(crate) fn has(&self, path: &str) -> bool {
        let path = path.to_lowercase();
        if self.plain.contains(path.as_str()) {
            return true;
        }
        let path: Vec<char> = path.chars().collect();
        self.drawn.iter().any(|pieces| self.matches(pieces, &path))
    }

    /// Goes through the path with all places at which it can be, so that it takes no longer for many strings.
    fn matches(&self, pieces: &[Piece], path: &[char]) -> bool {
        let mut places = BTreeSet::from([0]);
        for piece in pieces {
            let mut next = BTreeSet::new();
            for &place in &places {
                match *piece {
                    Piece::Char(c) => next.extend((path.get(place) == Some(&c)).then_some(place + 1)),
                    Piece::Drawn(string) => {
                        let patterns = self.strings.get(string).map_or(&[][..], Vec::as_slice);
                        let rest = path.get(place..).unwrap_or_default();
                        let fits = |pattern: &&Vec<Box<[char]>>| {
                            pattern.len() <= rest.len() && pattern.iter().zip(rest).all(|(set, c)| set.contains(c))
                        };
                        next.extend(patterns.iter().filter(fits).map(|pattern| place + pattern.len()));
                        next.insert(place);
                    }
                }
            }
            places = next;
        }
        places.contains(&path.len())
    }
}

/// What stood in a directory before it was renamed stands in it under its new name.
fn follow(renamed: &BTreeSet<(String, String)>, all: &mut BTreeSet<String>) {
    let mut new: Vec<String> = all.iter().cloned().collect();
    while let Some(path) = new.pop() {
        for (from, to) in renamed {
            let below = path.strip_prefix(from.as_str()).filter(|below| below.starts_with('/'));
            let Some(moved) = below.map(|below| format!("{to}{below}")) else { continue };
            if all.len() < MOST && moved.len() <= LONGEST && all.insert(moved.clone()) {
                new.push(moved);
            }
        }
    }
}

/// As the player reads it: `$` and a digit is a string, any other `$` is literal.
fn pieces_of(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let digit = chars.peek().and_then(|digit| digit.to_digit(10)).filter(|_| c == '$');
        pieces.push(match digit {
            Some(digit) => {
                chars.next();
                Piece::Drawn(digit as usize)
            }
            None => Piece::Char(c),
        });
    }
    pieces
}

/// The characters of each place of a string that is drawn: one of each set in brackets.
fn pattern_of(text: &str) -> Vec<Box<[char]>> {
    let mut pattern: Vec<Box<[char]>> = Vec::new();
    let mut rest = text.trim_start_matches('/');
    let one = |c: char| -> Box<[char]> { Box::new([c]) };
    while let Some((before, behind)) = rest.split_once('[') {
        let (set, behind) = behind.split_once(']').unwrap_or((behind, ""));
        pattern.extend(before.chars().map(one));
        pattern.push(set.chars().collect());
        rest = behind;
    }
    pattern.extend(rest.chars().map(one));
    pattern
}

#[cfg(test)]
mod tests {
    use super::super::Script;

    fn has(text: &str, path: &str) -> bool {
        Script::parse(text).unwrap_or_else(|error| panic!("{}", error.problem)).made().has(path)
    }

    #[test]
    fn a_load_file_makes_what_its_lines_make_and_nothing_else() {
        let text = "Mkdir \"\\Clients\" *\nNTCreateX \"\\Clients\\A.txt\" 0x40 0x2 1 *\n\
                    NTCreateX \"\\Clients\\seen\" 0x40 0x1 2 *\nUnlink \"\\Clients\\gone\" *\nSYMLINK3 \"/l\" \"/x\" *\n";
        for made in ["clients", "CLIENTS/a.TXT", "l"] {
            assert!(has(text, made), "{made}");
        }
        for other in ["clients/seen", "clients/gone", "x", "clients/a.txt/b", "", "clients/", "../clients"] {
            assert!(!has(text, other), "{other}");
        }
    }

    #[test]
    fn what_stood_in_a_directory_goes_with_it() {
        let text = "Mkdir \"\\a\" *\nMkdir \"\\a\\b\" *\nRename \"\\a\" \"\\c\" *\nRename \"\\c\\b\" \"\\d\" *\nRename \"\\c\" \"\\c\\e\" *\n";
        assert!(["a", "a/b", "c", "c/b", "d", "c/e/b"].iter().all(|path| has(text, path)));
        assert!(!has(text, "d/b") && !has(text, "ab"));
    }

    #[test]
    fn strings_that_are_drawn_are_those_of_their_patterns() {
        let text = "RANDOMSTRING 1 \"/f[ab][01]\"\nRANDOMSTRING 1 \"g\"\nCREATE3 $1 *\nMKDIR3 /x/$1$1-$2 *\n";
        for made in ["fa0", "FB1", "g", "x/fa0g-", "x/gg-", "x/g-", "x/-"] {
            assert!(has(text, made), "{made}");
        }
        for other in ["f", "fa2", "h", "x/ggg-", "fa0g"] {
            assert!(!has(text, other), "{other}");
        }
        // Many strings in one path take no longer than the path is long.
        let many = format!("RANDOMSTRING 1 \"[ab]\"\nRANDOMSTRING 1 \"[ac]\"\nMKDIR3 /{} *\n", "$1".repeat(1_500));
        assert!(has(&many, &"a".repeat(1_500)) && !has(&many, &"d".repeat(1_500)));
    }
}
