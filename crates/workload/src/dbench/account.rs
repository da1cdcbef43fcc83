//! Reports of the players of a load file besides their transactions: progress and deviations.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::line::{Line, Op};
use super::script::Script;
use super::{grammar, statuses::Expected};

/// Maximum number of kinds of deviations; further ones are counted together.
const MOST_KINDS: usize = 32;
/// Maximum number of reported lines per kind.
const LINES: usize = 3;

/// What all players of a load file did. Whole run: warm-up and the rest outside of the measured phase included.
#[derive(Debug, Default)]
pub(crate) struct Account {
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    plays: u64,
    lines: u64,
    as_expected: u64,
    refused: u64,
    restarts: u64,
    deviations: BTreeMap<Deviation, Count>,
    others: u64,
}

/// A kind of deviation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deviation {
    /// Another result than in the line: the operation, the expected result, the actual one.
    Unexpected(&'static str, Expected, String),
    /// Another number of bytes was moved than in the line.
    Moved(&'static str),
    /// The protocol, the client or the server does not support the operation: its name, and which of them.
    Impossible(String, String),
    /// Nothing was sent, because the file that the line works on was never opened.
    NotOpen(&'static str),
}

#[derive(Debug, Default)]
struct Count {
    times: u64,
    lines: Vec<u32>,
}

/// A player's counts since its last report.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub(super) lines: u64,
    /// Lines with the expected result.
    pub(super) as_expected: u64,
    /// Those that were refused as expected.
    pub(super) refused: u64,
}

impl Account {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn deviates(&self, line: &Line, deviation: Deviation) {
        let mut counts = self.counts();
        if counts.deviations.len() >= MOST_KINDS && !counts.deviations.contains_key(&deviation) {
            counts.others += 1;
            return;
        }
        let count = counts.deviations.entry(deviation).or_default();
        count.times += 1;
        if count.lines.len() < LINES && !count.lines.contains(&line.number) {
            count.lines.push(line.number);
        }
    }

    pub(super) fn add(&self, counted: Counted) {
        let mut counts = self.counts();
        counts.lines += counted.lines;
        counts.as_expected += counted.as_expected;
        counts.refused += counted.refused;
    }

    /// A player reached the end of the file.
    pub(super) fn played(&self) {
        self.counts().plays += 1;
    }

    /// A player lost its connection, and restarts.
    pub(super) fn restarted(&self) {
        self.counts().restarts += 1;
    }

    /// What there is to tell since it was last asked for, in words.
    pub(crate) fn take(&self, script: &Script) -> Vec<String> {
        let counts = std::mem::take(&mut *self.counts());
        if counts.lines == 0 {
            return Vec::new();
        }
        let mut facts = vec![format!(
            "load file of {} operations ({} with an expected error status): completed {} times; of {} replayed operations, including the \
            warm-up, {} had the expected result ({} of them expected errors)",
            script.operations(),
            script.refusals(),
            counts.plays,
            counts.lines,
            counts.as_expected,
            counts.refused
        )];
        if counts.restarts > 0 {
            facts.push(format!("load file: restarts by clients after lost connections: {}", counts.restarts));
        }
        facts.extend(counts.deviations.iter().map(|(deviation, count)| deviation.words(count)));
        if counts.others > 0 {
            facts.push(format!("load file: other deviations from the expected results: {}", counts.others));
        }
        facts
    }
}

impl Deviation {
    pub(super) fn name(line: &Line) -> &'static str {
        grammar::name_of(line.name)
    }

    /// A deviation for a line with an unsupported operation.
    pub(super) fn impossible(line: &Line, why: impl Into<String>) -> Self {
        let name = Self::name(line);
        let class = match line.op {
            Op::Query { class, .. } | Op::QueryFileSystem { class } => class,
            Op::QueryOf { class, .. } | Op::Find { class, .. } => Some(class),
            _ => None,
        };
        let name = class.map_or_else(|| name.to_owned(), |class| format!("{name} for information class {}", class.0));
        Deviation::Impossible(name, why.into())
    }

    fn words(&self, count: &Count) -> String {
        let lines: Vec<String> = count.lines.iter().map(u32::to_string).collect();
        let (times, place) = (count.times, lines.join(", "));
        let what = match self {
            Deviation::Unexpected(name, expected, came) => {
                format!("load file: {name} expected {}, got {came}", expected.name())
            }
            Deviation::Moved(name) => {
                format!("load file: {name} transferred a different number of bytes than expected")
            }
            Deviation::Impossible(name, why) => format!("load file, not possible: {name} ({why})"),
            Deviation::NotOpen(name) => format!("load file, skipped: {name} (its file is not open)"),
        };
        let line = if lines.len() == 1 { "line" } else { "lines" };
        format!("{what}: {times} times, first in {line} {place}")
    }
}
