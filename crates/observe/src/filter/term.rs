//! A filter's values, with or without negation.

/// One value of a filter as the user wrote it; a leading `!` negates it.
#[derive(Clone, Debug)]
pub struct Term<T> {
    /// As it was written.
    pub written: String,
    excludes: bool,
    /// The parsed value, without the `!`.
    pub what: T,
}

impl<T> Term<T> {
    /// Parses a value with `parse`, after an optional `!`.
    ///
    /// # Errors
    /// Those of `parse`.
    pub fn parse(text: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<Self, String> {
        let (excludes, rest) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        Ok(Self { written: text.to_owned(), excludes, what: parse(rest)? })
    }
}

/// All values of one filter: passes a transaction that matches any of the first (or all, if empty) and none of the
/// second.
#[derive(Clone, Debug)]
pub struct Terms<T> {
    wanted: Vec<T>,
    excluded: Vec<T>,
}

impl<T: Clone> Terms<T> {
    /// `None` without values: the filter then passes everything.
    pub fn of(all: &[Term<T>]) -> Option<Self> {
        let with = |excludes| all.iter().filter(move |term| term.excludes == excludes).map(|term| term.what.clone());
        (!all.is_empty()).then(|| Self { wanted: with(false).collect(), excluded: with(true).collect() })
    }

    /// Whether a transaction passes; `is` says whether a value matches. An unknown value never matches.
    #[inline]
    pub fn pass(&self, mut is: impl FnMut(&T) -> bool) -> bool {
        (self.wanted.is_empty() || self.wanted.iter().any(&mut is)) && !self.excluded.iter().any(&mut is)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(values: &[&str], number: u32) -> bool {
        let parse = |text: &str| text.parse::<u32>().map_err(|error| error.to_string());
        let all: Vec<Term<u32>> = values.iter().map(|value| Term::parse(value, parse).unwrap()).collect();
        Terms::of(&all).unwrap().pass(|wanted| *wanted == number)
    }

    #[test]
    fn what_is_excluded_outweighs_what_is_wanted() {
        assert!(passes(&["1", "2"], 2) && !passes(&["1", "2"], 3));
        assert!(passes(&["!1"], 2) && !passes(&["!1"], 1));
        assert!(!passes(&["1", "!1"], 1));
        assert!(Terms::<u32>::of(&[]).is_none());
        assert!(Term::parse("!x", |text| text.parse::<u32>().map_err(|error| error.to_string())).is_err());
    }
}
