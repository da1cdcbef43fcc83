//! Files are short enough to read in one sitting.

use super::source::Source;

/// Lines of a file without its tests that need no excuse.
const SOFT: usize = 400;
/// Lines of a file without its tests that no file may pass.
const HARD: usize = 700;

/// Files that are too long.
pub(crate) fn problems(sources: &[Source]) -> Vec<String> {
    let long = sizes(sources).filter(|&(_, lines)| lines > HARD);
    long.map(|(path, lines)| format!("{path}: {lines} lines without tests, {HARD} at the most")).collect()
}

/// Files that are getting long.
pub(crate) fn notices(sources: &[Source]) -> Vec<String> {
    let long = sizes(sources).filter(|&(_, lines)| lines > SOFT && lines <= HARD);
    long.map(|(path, lines)| format!("{path}: {lines} lines without tests; split it if it holds two ideas")).collect()
}

fn sizes(sources: &[Source]) -> impl Iterator<Item = (&str, usize)> {
    let rust = sources.iter().filter(|source| source.is_rust());
    rust.map(|source| (source.path.as_str(), source.lines_without_tests()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(lines: usize) -> [Source; 1] {
        [Source::new("a.rs", &format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "a\n".repeat(lines), "t\n".repeat(900)))]
    }

    #[test]
    fn tests_do_not_count_and_limits_are_inclusive() {
        assert!(problems(&file(700)).is_empty());
        assert_eq!(problems(&file(701)).len(), 1);
        assert!(notices(&file(400)).is_empty());
        assert_eq!(notices(&file(401)).len(), 1);
    }
}
