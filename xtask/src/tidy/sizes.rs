//! Files are short enough to read in one sitting, and the command has arguments and output alone.

use super::source::Source;

/// Lines of a file without its tests that need no excuse.
const SOFT: usize = 400;
/// Lines of a file without its tests that no file may pass.
const HARD: usize = 700;

/// The command: arguments, progress and output of the subcommands. What they do is in other crates.
const COMMAND: &str = "crates/cli/src/";
/// Lines of the command without tests.
const COMMAND_LINES: usize = 4_500;

/// Files that are too long, and a command that does too much.
pub(crate) fn problems(sources: &[Source]) -> Vec<String> {
    let long = sizes(sources).filter(|&(_, lines)| lines > HARD);
    let long = long.map(|(path, lines)| format!("{path}: {lines} lines without tests, {HARD} at the most"));
    let command: usize = sizes(sources).filter(|(path, _)| path.starts_with(COMMAND)).map(|(_, lines)| lines).sum();
    let command = (command > COMMAND_LINES).then(|| {
        format!(
            "{COMMAND}: {command} lines without tests, {COMMAND_LINES} at the most; what a subcommand does is elsewhere"
        )
    });
    long.chain(command).collect()
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

    #[test]
    fn the_command_is_small_as_a_whole() {
        let files = |count: usize| -> Vec<Source> {
            (0..count).map(|n| Source::new(&format!("{COMMAND}{n}.rs"), &"a\n".repeat(500))).collect()
        };
        assert!(problems(&files(9)).is_empty());
        assert_eq!(problems(&files(10)).len(), 1);
    }
}
