//! A load file after all checks, ready for a player.

use std::collections::HashSet;
use std::sync::Arc;

use super::arguments::{Formula, Texts, words};
use super::grammar;
use super::line::{File, Line, Name, Op, Text};
use super::loadfile::LoadFileError;
use super::made::MadePaths;
use super::statuses::Expected;

/// The longest line, bytes; dbench takes 1,024.
const LONGEST_LINE: usize = 4096;
/// The most lines.
const MOST_LINES: usize = 1 << 24;
/// Files open at the same time, at most; dbench takes 200.
const MOST_OPEN: usize = 4096;
/// Maximum number of files that stay open by path; beyond it all of them are closed.
pub(super) const MOST_PATHS: usize = 1024;
/// Strings that a script may draw.
pub(super) const STRINGS: usize = 10;

/// A load file, checked.
#[derive(Debug)]
pub(crate) struct Script {
    pub(super) lines: Vec<Line>,
    texts: Vec<Box<str>>,
    formulas: Vec<Formula>,
    /// Whether placeholders such as `$1` stand for random strings.
    pub(super) draws: bool,
    operations: u64,
    refusals: u64,
    /// Handles that are open at the same time.
    open_at_once: usize,
    by_path: bool,
    made: Arc<MadePaths>,
}

impl Script {
    /// Reads a load file's text.
    ///
    /// # Errors
    /// The first invalid line, with the error.
    pub(crate) fn parse(text: &str) -> Result<Self, LoadFileError> {
        let mut reading = Reading::default();
        for (at, line) in text.lines().enumerate() {
            let number = at + 1;
            reading.line(number, line).map_err(|problem| LoadFileError { line: number, problem })?;
        }
        reading.finish(text.lines().count())
    }

    pub(super) fn text(&self, text: Text) -> &str {
        self.texts.get(text.0 as usize).map_or("", |text| text)
    }

    pub(super) fn formula(&self, formula: u32) -> &[(char, u64)] {
        self.formulas.get(formula as usize).map_or(&[], |formula| formula)
    }

    /// The paths that its lines can make.
    pub(crate) fn made(&self) -> &Arc<MadePaths> {
        &self.made
    }

    /// Lines that are operations.
    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    /// Number of lines that must be refused.
    pub(crate) fn refusals(&self) -> u64 {
        self.refusals
    }

    /// Files that a player has open at the same time, at most.
    pub(crate) fn open_files(&self) -> u64 {
        (self.open_at_once + if self.by_path { MOST_PATHS } else { 0 }) as u64
    }
}

/// The state of the parser.
#[derive(Default)]
struct Reading {
    lines: Vec<Line>,
    texts: Texts,
    draws: bool,
    /// Where a loop began.
    looping: Option<usize>,
    /// Number of repetitions of the next line.
    repeat: Option<u64>,
    open: HashSet<u32>,
    open_at_once: usize,
    by_path: bool,
}

impl Reading {
    fn line(&mut self, number: usize, text: &str) -> Result<(), String> {
        if text.len() > LONGEST_LINE {
            return Err(format!("the line is too long: the limit is {LONGEST_LINE} bytes"));
        }
        let text = text.trim_ascii();
        if text.is_empty() || text.starts_with('#') {
            return Ok(());
        }
        if self.lines.len() >= MOST_LINES {
            return Err(format!("too many lines: the limit is {MOST_LINES}"));
        }
        let number = u32::try_from(number).map_err(|error| error.to_string())?;
        let words = words(text)?;
        if self.directive(number, &words)? {
            return Ok(());
        }
        let line = grammar::line(number, &words, &mut self.texts)?;
        self.opens(&line)?;
        match self.repeat.take() {
            Some(times) => {
                self.word(number, Op::Loop { times });
                self.lines.push(line);
                self.word(number, Op::EndLoop);
            }
            None => self.lines.push(line),
        }
        Ok(())
    }

    /// Words about the play itself. Returns whether it is one.
    fn directive(&mut self, number: u32, words: &[&str]) -> Result<bool, String> {
        let times = || match words {
            [_, times] => super::arguments::number(times).filter(|times| *times > 0),
            _ => None,
        };
        let wrong = |what: &str| format!("{what}: expected a number of repetitions above 0");
        match words.first().copied().unwrap_or_default() {
            "LOOP" if self.looping.is_some() || self.repeat.is_some() => {
                return Err("LOOP is not allowed inside a loop or after REPEAT".to_owned());
            }
            "LOOP" => {
                self.looping = Some(self.lines.len());
                self.word(number, Op::Loop { times: times().ok_or_else(|| wrong("LOOP"))? });
            }
            "ENDLOOP" => {
                let begun = self.looping.take().ok_or("ENDLOOP without LOOP")?;
                if !self.lines.iter().skip(begun).any(|line| line.op.is_operation()) {
                    return Err("the loop is empty: add an operation".to_owned());
                }
                self.word(number, Op::EndLoop);
            }
            "REPEAT" if self.looping.is_some() => return Err("REPEAT is not allowed inside a loop".to_owned()),
            "REPEAT" => self.repeat = Some(times().ok_or_else(|| wrong("REPEAT"))?),
            "RANDOMSTRING" => self.draw(number, words)?,
            word @ ("SETSP" | "WAITSP" | "WRITEPATTERN") => {
                return Err(format!(
                    "{word} is not supported, because clients do not wait for each other and do not write given data: remove the line"
                ));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn draw(&mut self, number: u32, words: &[&str]) -> Result<(), String> {
        let [_, string, pattern] = words else {
            return Err("RANDOMSTRING: expected a number and a pattern".to_owned());
        };
        let string = string.parse::<u8>().ok().filter(|string| usize::from(*string) < STRINGS);
        let string = string.ok_or("RANDOMSTRING: expected a number from 0 to 9")?;
        let balanced =
            pattern.split('[').skip(1).all(|part| part.split_once(']').is_some_and(|(set, _)| !set.is_empty()));
        if !balanced {
            return Err("RANDOMSTRING: expected non-empty character sets in [ ]".to_owned());
        }
        if pattern.contains("..") {
            return Err("RANDOMSTRING: the pattern must not contain ..".to_owned());
        }
        let pattern = self.texts.intern(pattern)?;
        self.draws = true;
        self.word(number, Op::Draw { string, pattern });
        Ok(())
    }

    /// Counts open files.
    fn opens(&mut self, line: &Line) -> Result<(), String> {
        match line.op {
            Op::Create { handle, .. } if !line.expected.is_failure() => {
                self.open.insert(handle);
            }
            Op::Close { file: File::Handle(handle) } => {
                self.open.remove(&handle);
            }
            op => self.by_path |= matches!(op, Op::Open { .. }) || matches!(op.file(), Some(File::Path(_))),
        }
        self.open_at_once = self.open_at_once.max(self.open.len());
        let fits = self.open.len() <= MOST_OPEN;
        if fits { Ok(()) } else { Err(format!("too many open files at this line: the limit is {MOST_OPEN}")) }
    }

    /// A word about the play.
    fn word(&mut self, number: u32, op: Op) {
        self.lines.push(Line { number, name: Name(u8::MAX), due_us: 0, op, expected: Expected::Success });
    }

    fn finish(self, last: usize) -> Result<Script, LoadFileError> {
        let wrong = |problem: &str| Err(LoadFileError { line: last, problem: problem.to_owned() });
        if self.looping.is_some() {
            return wrong("LOOP without ENDLOOP");
        }
        if self.repeat.is_some() {
            return wrong("REPEAT without a following operation");
        }
        let operations = || self.lines.iter().filter(|line| line.op.is_operation());
        if operations().next().is_none() {
            return wrong("the load file contains no operations");
        }
        let refusals = operations().filter(|line| line.expected.is_failure()).count() as u64;
        let operations = operations().count() as u64;
        let (texts, formulas) = self.texts.into_parts();
        let Self { lines, draws, open_at_once, by_path, .. } = Self { texts: Texts::default(), ..self };
        let made = Arc::new(MadePaths::of(&lines, &texts, draws));
        Ok(Script { lines, texts, formulas, draws, operations, refusals, open_at_once, by_path, made })
    }
}
