//! Whether numbers may be used, and what speaks against it.

use serde::{Deserialize, Serialize};

/// How far numbers may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// They may be used.
    #[default]
    Valid,
    /// Part of the traffic or of the time could not be measured, or some of the numbers are not reliable.
    Partial,
    /// They must not be used.
    Invalid,
}

impl Verdict {
    /// The word used in reports and files.
    pub fn label(self) -> &'static str {
        match self {
            Verdict::Valid => "valid",
            Verdict::Partial => "partial",
            Verdict::Invalid => "invalid",
        }
    }
}

/// A sentence that speaks against numbers, and how much.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The best verdict that it leaves.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub text: String,
}

impl Reason {
    /// The numbers must not be used.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self { verdict: Verdict::Invalid, text: text.into() }
    }

    /// Some numbers are missing or unreliable.
    pub fn partial(text: impl Into<String>) -> Self {
        Self { verdict: Verdict::Partial, text: text.into() }
    }
}

/// A verdict with its reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validity {
    /// The worst that a reason leaves; valid without one.
    pub verdict: Verdict,
    /// Whether the numbers may be used: the verdict is not invalid.
    pub valid: bool,
    /// Reasons why it is partial or invalid, in sentences, worst first.
    pub reasons: Vec<String>,
    /// Number of reasons, from the first on, that make it invalid; the others alone would make it partial.
    pub invalid_reasons: usize,
}

impl Default for Validity {
    fn default() -> Self {
        Self::of([])
    }
}

impl Validity {
    /// What follows from these reasons.
    pub fn of(reasons: impl IntoIterator<Item = Reason>) -> Self {
        let mut reasons: Vec<Reason> = reasons.into_iter().collect();
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.verdict));
        let verdict = reasons.first().map_or(Verdict::Valid, |worst| worst.verdict);
        let invalid_reasons = reasons.iter().filter(|reason| reason.verdict == Verdict::Invalid).count();
        let reasons = reasons.into_iter().map(|reason| reason.text).collect();
        Self { verdict, valid: verdict != Verdict::Invalid, reasons, invalid_reasons }
    }

    /// Each reason with the best verdict that it leaves by itself.
    pub fn each_reason(&self) -> impl Iterator<Item = (Verdict, &str)> {
        let verdict = |place| if place < self.invalid_reasons { Verdict::Invalid } else { Verdict::Partial };
        self.reasons.iter().enumerate().map(move |(place, text)| (verdict(place), text.as_str()))
    }

    /// The reasons that make it invalid.
    pub fn invalidating(&self) -> &[String] {
        self.reasons.get(..self.invalid_reasons).unwrap_or(&self.reasons)
    }

    /// The numbers must not be used, for this single reason.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::of([Reason::invalid(text)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_reason_decides_and_stands_first() {
        let none = Validity::default();
        assert_eq!((none.verdict, none.valid, none.reasons.len()), (Verdict::Valid, true, 0));
        let partial = Validity::of([Reason::partial("half of it")]);
        assert_eq!((partial.verdict, partial.valid), (Verdict::Partial, true));
        let both = Validity::of([Reason::partial("half of it"), Reason::invalid("it was late")]);
        assert_eq!((both.verdict, both.valid), (Verdict::Invalid, false));
        assert_eq!(both.reasons, ["it was late", "half of it"]);
        let each: Vec<(Verdict, &str)> = both.each_reason().collect();
        assert_eq!(each, [(Verdict::Invalid, "it was late"), (Verdict::Partial, "half of it")]);
        assert_eq!((both.invalidating(), partial.invalidating().len()), (&["it was late".to_owned()][..], 0));
    }
}
