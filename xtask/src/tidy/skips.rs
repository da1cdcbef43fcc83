//! Tests say in one way that they skip: `cargo xtask test` counts no other.

use super::source::Source;

/// The only place that prints it. Programs outside `crates/` do not have the testkit.
const SKIP: &str = "crates/testkit/src/skip.rs";

/// Tests that print for themselves that they skip.
pub(crate) fn problems(sources: &[Source]) -> Vec<String> {
    let rust = sources.iter().filter(|source| source.is_rust() && source.path.starts_with("crates/"));
    let mut problems = Vec::new();
    for source in rust.filter(|source| source.path != SKIP) {
        for (i, line) in source.text.lines().enumerate().filter(|(_, line)| prints_a_skip(line)) {
            problems.push(format!("{}:{}: use plimsoll_testkit::skip: {}", source.path, i + 1, line.trim()));
        }
    }
    problems
}

fn prints_a_skip(line: &str) -> bool {
    ["println!(\"SKIPPED: ", "println!(\"skipped: "].iter().any(|printed| line.contains(printed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_in_other_words_is_seen() {
        let count = |path: &str, line: &str| problems(&[Source::new(path, line)]).len();
        let test = "crates/wire/tests/all/a.rs";
        for line in ["println!(\"SKIPPED: needs tshark\");", "    eprintln!(\"skipped: no {path}\");"] {
            assert_eq!(count(test, line), 1, "{line}");
            assert_eq!(count(SKIP, line) + count("mpi/tests/a.rs", line), 0, "{line}");
        }
        assert_eq!(count(test, "skip(\"needs tshark\");\nassert_eq!(line, \"skipped: ReadX\");"), 0);
    }
}
