//! Why a workload file is of no use.

use std::fmt;
use std::ops::Range;

/// Why a workload file is of no use: where, what stands there, and what would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadError {
    /// The file, as its reader calls it.
    pub file: String,
    /// The line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// What stands there, key and value.
    pub text: String,
    /// The error.
    pub problem: String,
}

/// The longest part of a line that is repeated, characters.
const LONGEST: usize = 120;

impl WorkloadError {
    /// An error of the file as a whole.
    pub(super) fn whole(file: &str, problem: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: 0, text: String::new(), problem: problem.into() }
    }

    /// About what stands at a place in the text.
    pub(super) fn at(file: &str, text: &str, place: &Range<usize>, problem: impl Into<String>) -> Self {
        let before = text.get(..place.start.min(text.len())).unwrap_or_default();
        Self::in_line(file, text, before.matches('\n').count() + 1, problem)
    }

    /// About a line of the text, from 1.
    pub(super) fn in_line(file: &str, text: &str, line: usize, problem: impl Into<String>) -> Self {
        let shown = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
        let shown = shown.trim().chars().take(LONGEST).collect();
        Self { file: file.to_owned(), line, text: shown, problem: problem.into() }
    }
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, text, problem } = self;
        if *line == 0 {
            write!(f, "{file}: {problem}")
        } else {
            write!(f, "{file}, line {line}: {problem}, in: {text}")
        }
    }
}

impl std::error::Error for WorkloadError {}
