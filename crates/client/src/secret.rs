//! A password.

use zeroize::Zeroizing;

/// A text that is never printed: no `Display`, an empty `Debug`, overwritten when dropped.
#[derive(Clone, Default)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes the text over.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The text, for the logon alone.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_not_shown() {
        let secret = Secret::new("correct horse".to_owned());
        assert_eq!(format!("{secret:?} {:#?}", Some(&secret)).matches("horse").count(), 0);
        assert_eq!(secret.expose(), "correct horse");
        assert!(!secret.is_empty() && Secret::default().is_empty());
    }
}
