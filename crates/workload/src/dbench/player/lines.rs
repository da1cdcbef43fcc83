//! From lines to operations.

use plimsoll_client::operation::{Disposition, FileKey, Kind, Operation};
use plimsoll_model::Symbol;
use rand::Rng as _;

use super::super::account::Deviation;
use super::super::line::{File, Line, Op, Text};
use super::super::script::MOST_PATHS;
use super::{Act, Player, PlayerAction};
use crate::scenario::ScenarioStep;

/// Permission bits that attributes are set to.
const MODE: u32 = 0o644;

impl Player {
    /// The step for the next line; `None` if the line needs none.
    pub(super) fn play(&mut self) -> Option<PlayerAction> {
        let Some(line) = self.line().copied() else {
            self.play_over();
            return None;
        };
        match line.op {
            Op::Loop { times } => {
                self.looping = Some((self.at + 1, times));
                self.go_on();
            }
            Op::EndLoop => match self.looping.take() {
                Some((begin, times)) if times > 1 => {
                    self.looping = Some((begin, times - 1));
                    (self.at, self.prepared) = (begin, false);
                }
                _ => self.go_on(),
            },
            Op::Draw { string, pattern } => {
                self.draw(string, pattern);
                self.go_on();
            }
            Op::Sleep { us } => {
                self.go_on();
                let ns = us.saturating_mul(1_000);
                self.now = self.now.saturating_add(i64::try_from(ns).unwrap_or(i64::MAX));
                return Some(PlayerAction::Think(ns));
            }
            _ => return self.next_of_line(&line),
        }
        None
    }

    fn next_of_line(&mut self, line: &Line) -> Option<PlayerAction> {
        if let Some(wait) = self.wait_for(line) {
            return Some(PlayerAction::Think(wait));
        }
        if !self.prepared {
            self.prepare(line);
        }
        if self.leaves(line) {
            self.leave_out(line, Deviation::impossible(line, "its path leaves the client's directory"));
            return None;
        }
        let under_its_path = self.by_path.contains_key(&self.path);
        match (line.op, line.op.file()) {
            (Op::Unavailable, _) => {
                self.leave_out(line, Deviation::impossible(line, "Plimsoll's clients do not send this operation"));
            }
            (Op::RemoveTree { .. }, _) => {
                self.close_all();
                self.sweep = Some(self.sweep_of(self.path.clone()));
            }
            (_, Some(File::Handle(handle))) if !self.by_handle.contains_key(&handle) => {
                self.leave_out(line, Deviation::NotOpen(Deviation::name(line)));
            }
            (Op::Close { file: File::Path(_) }, _) if !under_its_path => {
                self.leave_out(line, Deviation::NotOpen(Deviation::name(line)));
            }
            (_, Some(File::Path(_))) if !under_its_path => return Some(self.open_by_path()),
            (Op::Open { .. }, _) if self.by_path.len() >= MOST_PATHS => {
                self.closing.extend(std::mem::take(&mut self.by_path).into_values());
            }
            // Before a path is opened, removed or renamed, an open file with this path is closed.
            (Op::Open { .. } | Op::Remove { .. } | Op::Rename { .. }, _) if under_its_path => {
                self.closing.extend(self.by_path.remove(&self.path));
            }
            _ => return Some(PlayerAction::Play),
        }
        None
    }

    fn open_by_path(&mut self) -> PlayerAction {
        if self.by_path.len() >= MOST_PATHS {
            self.closing.extend(std::mem::take(&mut self.by_path).into_values());
        }
        self.closing.pop().map_or(PlayerAction::Open, PlayerAction::Close)
    }

    /// The line cannot be played: it is reported, and no request is sent.
    fn leave_out(&mut self, line: &Line, deviation: Deviation) {
        self.stage.account.deviates(line, deviation);
        self.line_over(false, false);
    }

    /// How long it is until a line is due, ns; `None` where it is. The play's time begins with its first line.
    fn wait_for(&mut self, line: &Line) -> Option<u64> {
        let begun = *self.begun.get_or_insert(self.now);
        if line.due_us == 0 {
            return None;
        }
        let due = begun.saturating_add(i64::try_from(line.due_us).ok()?.saturating_mul(1_000));
        let wait = u64::try_from(due.checked_sub(self.now)?).ok().filter(|wait| *wait > 0)?;
        self.now = due;
        Some(wait)
    }

    /// Resolves a line's paths and offsets, once.
    fn prepare(&mut self, line: &Line) {
        self.prepared = true;
        let (first, second) = texts(&line.op);
        let (mut path, mut other) = (std::mem::take(&mut self.path), std::mem::take(&mut self.other));
        if let Some(text) = first {
            self.write_path(text, &mut path);
        }
        match (line.op, second) {
            (Op::Find { .. }, Some(text)) => {
                other.clear();
                self.write_text(text, &mut other);
            }
            (_, Some(text)) => self.write_path(text, &mut other),
            _ => {}
        }
        (self.path, self.other) = (path, other);
        if let Op::Read { at, .. } | Op::Write { at, .. } | Op::Lock { at, .. } | Op::Unlock { at, .. } = line.op {
            self.place = self.place_of(at);
        }
    }

    /// Random strings can give a path that the grammar does not allow.
    fn leaves(&self, line: &Line) -> bool {
        let (first, second) = texts(&line.op);
        let paths = [first.map(|_| &self.path), second.map(|_| &self.other)];
        paths.into_iter().flatten().any(|path| path.split('/').any(|part| part == ".."))
    }

    fn write_path(&self, text: Text, path: &mut String) {
        path.clear();
        path.push_str(&self.stage.root);
        let before = path.len();
        path.push('/');
        self.write_text(text, path);
        if path.len() == before + 1 {
            path.truncate(before);
        }
    }

    /// A text, with the strings that were drawn in their places.
    fn write_text(&self, text: Text, to: &mut String) {
        let mut rest = self.stage.script.text(text);
        while let Some((before, behind)) = rest.split_once('$').filter(|_| self.stage.script.draws) {
            to.push_str(before);
            let digit = behind.chars().next().and_then(|digit| digit.to_digit(10));
            rest = match digit.and_then(|digit| self.strings.get(digit as usize)) {
                Some(string) => {
                    to.push_str(string);
                    behind.get(1..).unwrap_or_default()
                }
                None => {
                    to.push('$');
                    behind
                }
            };
        }
        to.push_str(rest);
    }

    /// Draws a string: of each set in brackets, one character.
    fn draw(&mut self, string: u8, pattern: Text) {
        let mut drawn = String::new();
        let mut rest = self.stage.script.text(pattern).trim_start_matches('/');
        while let Some((before, behind)) = rest.split_once('[') {
            let (set, behind) = behind.split_once(']').unwrap_or((behind, ""));
            drawn.push_str(before);
            let place = self.rng.random_range(0..set.chars().count().max(1));
            drawn.extend(set.chars().nth(place));
            rest = behind;
        }
        drawn.push_str(rest);
        if let Some(slot) = self.strings.get_mut(usize::from(string)) {
            *slot = drawn;
        }
    }

    /// The file that a line works on.
    fn file(&self, file: File) -> FileKey {
        let found = match file {
            File::Handle(handle) => self.by_handle.get(&handle),
            File::Path(_) => self.by_path.get(&self.path),
        };
        // It was seen to be open; a client refuses a key that it does not know.
        found.copied().unwrap_or(FileKey(u32::MAX))
    }

    /// The step for the client.
    pub(super) fn step(&self, asked: PlayerAction) -> ScenarioStep<'_> {
        let path = self.path.as_str();
        let operation = match asked {
            PlayerAction::Close(file) => Some(Operation::Close { file }),
            PlayerAction::MakeRoot => Some(Operation::Mkdir { path: &self.stage.root }),
            PlayerAction::Open => Some(opening(path, Kind::Any, Disposition::Open)),
            _ => self.line().and_then(|line| self.operation(&line.op)),
        };
        operation.map_or(ScenarioStep::IterationOver, |operation| ScenarioStep::Act(operation, Symbol::NONE))
    }

    fn operation(&self, op: &Op) -> Option<Operation<'_>> {
        let (path, other) = (self.path.as_str(), self.other.as_str());
        let offset = self.place;
        Some(match *op {
            Op::Create { kind, disposition, delete_on_close, .. } => {
                Operation::OpenEntry { path, kind, disposition, delete_on_close }
            }
            Op::Open { disposition, .. } => opening(path, Kind::File, disposition),
            Op::Close { file } => Operation::Close { file: self.file(file) },
            Op::Read { file, length, .. } => Operation::Read { file: self.file(file), offset, length, keep: false },
            Op::Write { file, length, .. } => {
                let (content, key) = (&self.stage.content, u64::from(self.stage.client_index));
                Operation::Write { file: self.file(file), offset, length, content, key }
            }
            Op::Flush { file } => Operation::Flush { file: self.file(file) },
            Op::Query { class: Some(class), .. } => Operation::Query { path, class },
            Op::Query { class: None, .. } => Operation::Getattr { path },
            Op::Lookup { .. } => Operation::Lookup { path },
            Op::QueryOf { handle, class } => Operation::QueryOpen { file: self.file(File::Handle(handle)), class },
            Op::QueryFileSystem { class: Some(class) } => Operation::QueryFileSystem { class },
            Op::QueryFileSystem { class: None } => Operation::Fsinfo,
            Op::SetAttributes { .. } => Operation::Setattr { path, mode: MODE },
            Op::SetAttributesOf { handle } => {
                Operation::SetattrOpen { file: self.file(File::Handle(handle)), mode: MODE }
            }
            Op::Access { .. } => Operation::Access { path },
            Op::Find { class, .. } => Operation::Find { path, pattern: other, class },
            Op::List { .. } => Operation::List { path },
            Op::MakeDirectory { .. } => Operation::Mkdir { path },
            Op::RemoveDirectory { .. } => Operation::Rmdir { path },
            Op::Remove { .. } => Operation::Remove { path },
            Op::Rename { .. } => Operation::Rename { from: path, to: other },
            Op::Link { .. } => Operation::Link { from: path, to: other },
            Op::SymbolicLink { .. } => Operation::Symlink { path, text: other },
            Op::ReadLink { .. } => Operation::Readlink { path },
            Op::Lock { file, length, .. } => {
                Operation::Lock { file: self.file(file), offset, length, exclusive: true, wait: false }
            }
            Op::Unlock { file, length, .. } => Operation::Unlock { file: self.file(file), offset, length },
            Op::RemoveTree { .. } | Op::Unavailable => return None,
            Op::Sleep { .. } | Op::Loop { .. } | Op::EndLoop | Op::Draw { .. } => return None,
        })
    }

    /// A directory could not be removed.
    pub(super) fn sweep_failed(&mut self) {
        self.sweep = None;
        match self.act {
            // The following operation meets the same obstacle.
            Act::Clearing => self.act = Act::Making,
            Act::Leaving => self.act = Act::Over,
            Act::Playing => self.line_over(false, false),
            Act::Making | Act::Over => {}
        }
    }
}

fn opening(path: &str, kind: Kind, disposition: Disposition) -> Operation<'_> {
    Operation::OpenEntry { path, kind, disposition, delete_on_close: false }
}

/// The paths of an operation: its object, and a second path or a search pattern.
fn texts(op: &Op) -> (Option<Text>, Option<Text>) {
    match *op {
        Op::Create { path, .. }
        | Op::Open { path, .. }
        | Op::Query { path, .. }
        | Op::Lookup { path }
        | Op::SetAttributes { path }
        | Op::Access { path }
        | Op::List { path }
        | Op::MakeDirectory { path }
        | Op::RemoveDirectory { path }
        | Op::Remove { path }
        | Op::RemoveTree { path }
        | Op::ReadLink { path } => (Some(path), None),
        Op::Find { path, pattern, .. } => (Some(path), Some(pattern)),
        Op::Rename { from, to } | Op::Link { from, to } => (Some(from), Some(to)),
        Op::SymbolicLink { path, text } => (Some(path), Some(text)),
        _ => match op.file() {
            Some(File::Path(path)) => (Some(path), None),
            _ => (None, None),
        },
    }
}
