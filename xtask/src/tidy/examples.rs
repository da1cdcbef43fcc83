//! Code in doc comments would be a test that nothing runs: `doctest` is off in every manifest, because each library would be read
//! again for tests that it does not have.

use super::source::Source;

/// Code blocks in doc comments that rustdoc would take for Rust.
pub(crate) fn problems(sources: &[Source]) -> Vec<String> {
    let rust = sources.iter().filter(|source| source.is_rust());
    rust.flat_map(|source| {
        blocks_of_rust(&source.text).map(|line| {
            format!(
                "{}:{line}: mark this block as ```text, or make it a test: none runs from documentation",
                source.path
            )
        })
    })
    .collect()
}

/// Lines, from 1, on which a code block without a language begins.
fn blocks_of_rust(text: &str) -> impl Iterator<Item = usize> {
    let mut inside = false;
    let fences = text.lines().enumerate().filter_map(|(i, line)| {
        let line = line.trim_start();
        let said = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
        Some((i + 1, said.trim_start().strip_prefix("```")?))
    });
    let begun = fences.filter_map(move |(line, language)| {
        inside = !inside;
        (inside && (language.is_empty() || language.starts_with("rust"))).then_some(line)
    });
    begun.collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_rust_is_seen_and_one_of_text_is_not() {
        let lines = |text: &str| problems(&[Source::new("crates/wire/src/a.rs", text)]).len();
        assert_eq!(lines("/// ```\n/// let a = 1;\n/// ```\nfn a() {}\n"), 1);
        assert_eq!(lines("//! ```rust,ignore\n//! a\n//! ```\n//! ```text\n//! b\n//! ```\n"), 1);
        assert_eq!(lines("    /// ```text\n    /// a -> b\n    /// ```\n// ```\n"), 0);
    }
}
