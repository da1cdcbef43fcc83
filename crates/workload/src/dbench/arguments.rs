//! The words of a line, and the texts that lines share.

use std::collections::HashMap;

use super::line::{File, Place, Text};

/// Words of a line, at most; dbench takes as many.
const MOST_WORDS: usize = 20;

/// The texts of a script, each once.
#[derive(Debug, Default)]
pub(super) struct Texts {
    texts: Vec<Box<str>>,
    places: HashMap<Box<str>, u32>,
    formulas: Vec<Formula>,
}

/// Steps from a random number to a place in a file: `/`, `%` or `+` a number, in order.
pub(crate) type Formula = Box<[(char, u64)]>;

impl Texts {
    pub(super) fn intern(&mut self, text: &str) -> Result<Text, String> {
        if let Some(place) = self.places.get(text) {
            return Ok(Text(*place));
        }
        let place = u32::try_from(self.texts.len()).map_err(|_| "too many different paths".to_owned())?;
        self.texts.push(text.into());
        self.places.insert(text.into(), place);
        Ok(Text(place))
    }

    /// The texts, and the formulas, in order.
    pub(super) fn into_parts(self) -> (Vec<Box<str>>, Vec<Formula>) {
        (self.texts, self.formulas)
    }
}

/// A line's words: blanks separate them, quotes hold them together.
pub(super) fn words(line: &str) -> Result<Vec<&str>, String> {
    let mut words = Vec::new();
    let mut rest = line.trim_ascii();
    while !rest.is_empty() {
        if words.len() == MOST_WORDS {
            return Err(format!("too many words: the limit is {MOST_WORDS} per line"));
        }
        let (word, behind) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').ok_or("missing closing quote")?,
            None => rest.split_at(rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len())),
        };
        words.push(word);
        rest = behind.trim_ascii_start();
    }
    Ok(words)
}

/// What stands between an operation's name and its status.
#[derive(Debug)]
pub(super) struct Arguments<'a> {
    pub(super) words: &'a [&'a str],
    pub(super) texts: &'a mut Texts,
}

impl<'a> Arguments<'a> {
    fn word(&mut self, what: &str) -> Result<&'a str, String> {
        let (first, rest) = self.words.split_first().ok_or_else(|| format!("missing argument: {what}"))?;
        self.words = rest;
        Ok(first)
    }

    /// Whether a path comes next, rather than a handle.
    pub(super) fn names_a_path(&self) -> bool {
        self.words.first().is_some_and(|word| word.starts_with(['/', '\\', '$']))
    }

    /// A path, relative to the client's own directory.
    pub(super) fn path(&mut self) -> Result<Text, String> {
        let path = self.path_text()?;
        self.texts.intern(&path)
    }

    /// A directory and the search pattern in it.
    pub(super) fn search(&mut self) -> Result<(Text, Text), String> {
        let path = self.path_text()?;
        let (directory, pattern) = path.rsplit_once('/').unwrap_or(("", &path));
        Ok((self.texts.intern(directory)?, self.texts.intern(pattern)?))
    }

    fn path_text(&mut self) -> Result<String, String> {
        let word = self.word("a path")?;
        if !word.starts_with(['/', '\\', '$']) {
            return Err(format!("{word}: expected a path that starts with \\ or /"));
        }
        let parts: Vec<&str> = word.split(['/', '\\']).filter(|part| !matches!(*part, "" | ".")).collect();
        if parts.contains(&"..") {
            return Err("the path leaves the client's directory: remove ..".to_owned());
        }
        if word.contains('\0') {
            return Err("the path contains a zero byte".to_owned());
        }
        Ok(parts.join("/"))
    }

    pub(super) fn number(&mut self, what: &str) -> Result<u64, String> {
        let word = self.word(what)?;
        number(word).ok_or_else(|| format!("{word}: expected a number for {what}"))
    }

    pub(super) fn small(&mut self, what: &str) -> Result<u32, String> {
        let number = self.number(what)?;
        u32::try_from(number).map_err(|_| format!("{number}: too large for {what}"))
    }

    /// Bytes that must have been moved, where the line says how many.
    pub(super) fn moved(&mut self) -> Result<Option<u32>, String> {
        if self.words.is_empty() { Ok(None) } else { self.small("the bytes transferred").map(Some) }
    }

    /// A handle, or the path of a file.
    pub(super) fn file(&mut self) -> Result<File, String> {
        if self.names_a_path() { self.path().map(File::Path) } else { self.small("a handle").map(File::Handle) }
    }

    /// A place in a file: a number, or a formula of one.
    pub(super) fn place(&mut self) -> Result<Place, String> {
        let word = self.word("an offset")?;
        let wrong = || format!("{word}: expected an offset, as a number or a formula such as *%1000/8");
        if word == "+child" {
            return Ok(Place::BehindByClient);
        }
        if let Some(behind) = word.strip_prefix('+') {
            return number(behind).map(Place::Behind).ok_or_else(wrong);
        }
        let Some(formula) = word.strip_prefix('*') else { return number(word).map(Place::At).ok_or_else(wrong) };
        let formula = formula_of(formula).ok_or_else(wrong)?;
        let place = u32::try_from(self.texts.formulas.len()).map_err(|_| "too many formulas".to_owned())?;
        self.texts.formulas.push(formula);
        Ok(Place::Drawn(place))
    }

    pub(super) fn over(&self) -> Result<(), String> {
        match self.words.first() {
            Some(word) => Err(format!("{word}: unexpected extra argument")),
            None => Ok(()),
        }
    }

    /// Skips the remaining arguments.
    pub(super) fn ignore(&mut self) {
        self.words = &[];
    }
}

/// A number as C writes it: decimal, octal behind a 0, hexadecimal behind 0x.
pub(super) fn number(word: &str) -> Option<u64> {
    if !word.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    match (word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")), word.strip_prefix('0')) {
        (Some(digits), _) => u64::from_str_radix(digits, 16).ok(),
        (None, Some(digits)) if !digits.is_empty() => u64::from_str_radix(digits, 8).ok(),
        _ => word.parse().ok(),
    }
}

fn formula_of(mut text: &str) -> Option<Formula> {
    let mut steps = Vec::new();
    while let Some(sign) = text.chars().next() {
        let rest = text.strip_prefix(['/', '%', '+'])?;
        let (digits, behind) = rest.split_at(rest.find(['/', '%', '+']).unwrap_or(rest.len()));
        steps.push((sign, number(digits).filter(|value| *value > 0)?));
        text = behind;
    }
    Some(steps.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_separated_by_blanks_and_held_together_by_quotes() {
        assert_eq!(words("  Close 7\tNT_STATUS_OK\r").unwrap(), ["Close", "7", "NT_STATUS_OK"]);
        assert_eq!(words(r#"Rename "\a b\c" "\d" *"#).unwrap(), ["Rename", r"\a b\c", r"\d", "*"]);
        assert!(words("Unlink \"\\a").is_err());
        assert!(words(&"a ".repeat(21)).is_err());
    }

    #[test]
    fn numbers_read_as_in_c() {
        assert_eq!(["0x40", "16385", "010", "0"].map(number), [Some(64), Some(16_385), Some(8), Some(0)]);
        assert_eq!(["-1", "+1", "0x", "", "9z", "99999999999999999999"].map(number), [None; 6]);
    }

    #[test]
    fn offsets_may_be_formulas() {
        let mut texts = Texts::default();
        let mut place = |word: &str| Arguments { words: &[word], texts: &mut texts }.place();
        assert_eq!(place("512"), Ok(Place::At(512)));
        assert_eq!((place("+0x10"), place("+child")), (Ok(Place::Behind(16)), Ok(Place::BehindByClient)));
        assert_eq!(place("*%0x10000000/4096+5"), Ok(Place::Drawn(0)));
        assert_eq!(place("*"), Ok(Place::Drawn(1)));
        for wrong in ["*%0", "*%", "*5", "+num_children", "x", "**"] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
        let formulas = texts.into_parts().1;
        assert_eq!(*formulas[0], [('%', 0x1000_0000), ('/', 4096), ('+', 5)]);
    }
}
