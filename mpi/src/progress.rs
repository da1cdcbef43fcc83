//! The progress of all parts, in lines. Each part writes a file (`plimsoll run --progress-file`); rank 0 reads the files of all.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::say;

/// Between two looks at the files.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Between two lines that differ only in numbers.
const LINE: Duration = Duration::from_secs(5);

/// The progress of a part, as its file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Part {
    level: String,
    phase: String,
    clients: u64,
    connected: u64,
    operations: u64,
    errors: u64,
}

/// The progress of all parts.
pub(crate) struct Progress {
    /// Their files; none if nothing is to be printed.
    files: Vec<PathBuf>,
    looked: Option<Instant>,
    /// What the last line said besides numbers, and when it was printed.
    phases: String,
    printed: Option<Instant>,
    /// The numbers of the last line, without the rate.
    numbers: String,
    /// Operations at the last line.
    operations: u64,
}

impl Progress {
    pub(crate) fn of(files: Vec<PathBuf>) -> Self {
        Self { files, looked: None, phases: String::new(), printed: None, numbers: String::new(), operations: 0 }
    }

    /// Prints a line if there is something new. To be called often.
    pub(crate) fn look(&mut self) {
        if self.looked.is_some_and(|looked| looked.elapsed() < CHECK_INTERVAL) {
            return;
        }
        self.looked = Some(Instant::now());
        let parts = self.read();
        let phases = phases(&parts);
        if phases != self.phases || self.printed.is_none_or(|printed| printed.elapsed() >= LINE) {
            self.print(&parts, phases);
        }
    }

    /// Prints the last line, when all parts have ended.
    pub(crate) fn end(&mut self) {
        let parts = self.read();
        self.print(&parts, phases(&parts));
    }

    fn read(&self) -> Vec<Part> {
        let read = |file: &PathBuf| fs::read_to_string(file).ok().and_then(|text| part(&text)).unwrap_or_default();
        self.files.iter().map(read).collect()
    }

    fn print(&mut self, parts: &[Part], phases: String) {
        if self.files.is_empty() {
            return;
        }
        let without_rate = numbers(parts, None);
        if self.printed.is_some() && phases == self.phases && without_rate == self.numbers {
            return;
        }
        let operations: u64 = parts.iter().map(|part| part.operations).sum();
        // Numbers begin anew with each level, so a rate is that of lines with the same text.
        let same = self.printed.filter(|_| phases == self.phases).map(|printed| printed.elapsed().as_secs_f64());
        let rate = same.zip(operations.checked_sub(self.operations)).map(|(seconds, more)| more as f64 / seconds);
        say(&format!("{phases}{}", numbers(parts, rate)));
        (self.phases, self.numbers) = (phases, without_rate);
        (self.printed, self.operations) = (Some(Instant::now()), operations);
    }
}

/// A part, from the line of its file.
fn part(text: &str) -> Option<Part> {
    let mut fields = text.strip_suffix('\n')?.split('\t');
    let (level, phase) = (fields.next()?.to_owned(), fields.next()?.to_owned());
    let mut number = || fields.next()?.parse().ok();
    Some(Part { level, phase, clients: number()?, connected: number()?, operations: number()?, errors: number()? })
}

/// How many parts are in each phase of each level, in the order of the parts.
fn phases(parts: &[Part]) -> String {
    let mut all: Vec<(String, usize)> = Vec::new();
    for Part { level, phase, .. } in parts {
        let phase = if phase.is_empty() { "not started" } else { phase };
        let text = if level.is_empty() { phase.to_owned() } else { format!("{level}: {phase}") };
        match all.iter_mut().find(|(other, _)| *other == text) {
            Some((_, count)) => *count += 1,
            None => all.push((text, 1)),
        }
    }
    let texts: Vec<String> =
        all.into_iter().map(|(text, count)| format!("{text} ({count} of {} parts)", parts.len())).collect();
    texts.join(", ")
}

/// Clients that are not connected yet, operations, their rate, and errors of all parts.
fn numbers(parts: &[Part], rate: Option<f64>) -> String {
    let sum = |number: fn(&Part) -> u64| parts.iter().map(number).sum::<u64>();
    let mut text = String::new();
    if parts.iter().any(|part| part.phase == "connecting") {
        let (connected, clients) = (sum(|part| part.connected), sum(|part| part.clients));
        text += &format!("; {connected} of {clients} clients connected");
    }
    let (operations, errors) = (sum(|part| part.operations), sum(|part| part.errors));
    if operations + errors > 0 {
        text += &format!("; {operations} operations, {errors} errors");
        text += &rate.map(|rate| format!(", {rate:.0} op/s")).unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(lines: &[&str]) -> Vec<Part> {
        lines.iter().map(|line| part(line).unwrap_or_default()).collect()
    }

    #[test]
    fn parts_in_one_phase_are_one_text_and_their_numbers_are_sums() {
        let all = parts(&["8 clients\tmeasuring\t4\t4\t100\t1\n", "8 clients\tmeasuring\t4\t4\t50\t0\n"]);
        assert_eq!(phases(&all), "8 clients: measuring (2 of 2 parts)");
        assert_eq!(numbers(&all, None), "; 150 operations, 1 errors");
        assert_eq!(numbers(&all, Some(24.6)), "; 150 operations, 1 errors, 25 op/s");
    }

    #[test]
    fn parts_that_lag_behind_are_seen() {
        let all = parts(&["8 clients\tconnecting\t4\t3\t0\t0\n", "\twaiting\t0\t0\t0\t0\n", "cut of", ""]);
        let text = "8 clients: connecting (1 of 4 parts), waiting (1 of 4 parts), not started (2 of 4 parts)";
        assert_eq!(phases(&all), text);
        assert_eq!(numbers(&all, None), "; 3 of 4 clients connected");
    }
}
