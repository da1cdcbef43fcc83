//! What one lane does: turn after turn, step after step.

mod acquaintance;
mod asked;
mod office;
mod own;
mod places;
mod turn;

use std::sync::Arc;

use plimsoll_client::operation::{Done, OperationKind, Reply};

use self::asked::Asked;
use self::places::Places;
use self::turn::{Left, Turning};
use super::Work;
use super::fileset::FileSet;
use super::open_files::OpenFiles;
use super::program::ScriptStep;
use super::text::Subject;
use crate::Rng;
use crate::scenario::{Scenario, Step, Verdict, WrongData};

/// One lane of one station.
#[derive(Debug)]
pub(super) struct Lane {
    work: Arc<Work>,
    files: Arc<FileSet>,
    station: u32,
    lane: u32,
    seed: u64,
    /// Turns begun.
    begun: u64,
    /// Which kind of turn was begun last.
    kind: u32,
    /// The draws of the turn: they follow from the seed and the turn's number.
    rng: Rng,
    turn: Option<Turning>,
    open: OpenFiles,
    places: Places,
    /// The order of its turns, where they are dealt; else empty.
    cards: Vec<u16>,
    /// What it looks up next before its first turn.
    unknown: std::ops::Range<u64>,
    /// What was asked for last.
    asked: Asked,
    /// Path of the subject.
    path: String,
    /// What it is renamed to.
    new_path: String,
    check: Check,
}

/// The bytes of a read that is verified.
#[derive(Clone, Copy, Debug, Default)]
struct Check {
    seen: u64,
    wrong: bool,
}

impl Lane {
    pub(super) fn new(work: Arc<Work>, files: Arc<FileSet>, station: u32, lane: u32, seed: u64) -> Self {
        let open = OpenFiles::new(work.keep_open);
        let (rng, asked, check) = (Rng::new(seed), Asked::TurnOver, Check::default());
        let (path, new_path) = (String::new(), String::new());
        let cards = work.deck.as_ref().map_or_else(Vec::new, |deck| deck.shuffled(seed, station, lane));
        let unknown = if work.look_up_first && lane == 0 { 0..files.layout().names_of_a_part() } else { 0..0 };
        let (begun, turn) = (0, None);
        Self {
            work,
            files,
            station,
            lane,
            seed,
            begun,
            kind: 0,
            rng,
            turn,
            open,
            places: Places::default(),
            cards,
            unknown,
            asked,
            path,
            new_path,
            check,
        }
    }

    fn decide(&mut self) -> Asked {
        if let Some(next) = self.get_acquainted() {
            return next;
        }
        if self.turn.is_none() {
            self.begin();
        }
        loop {
            let Some(turn) = &self.turn else { return Asked::TurnOver };
            if turn.abandoned {
                return self.clean_up();
            }
            let steps = self.work.turns.get(turn.kind).map_or(&[][..], |kind| &kind.steps);
            let Some(step) = steps.get(turn.step).copied() else { return self.finish() };
            if let Some(next) = self.next_for(step) {
                return next;
            }
            self.advance();
        }
    }

    fn advance(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.step += 1;
            turn.left = None;
        }
    }

    /// The turn's steps are done: what the lane does not keep open is closed.
    fn finish(&mut self) -> Asked {
        let subject = self.turn.as_ref().filter(|turn| turn.on == Subject::File).map(|turn| turn.file);
        if self.work.keep_open == 0
            && let Some(file) = subject
            && let Some(key) = self.open.forget(file)
        {
            return Asked::CloseFile(file, key);
        }
        if let Some(key) = self.turn.as_mut().and_then(|turn| turn.folder.take()) {
            return Asked::Close(key);
        }
        self.turn = None;
        Asked::TurnOver
    }

    /// The next thing to do for a step; `None` when the step is done.
    fn next_for(&mut self, step: ScriptStep) -> Option<Asked> {
        match step {
            ScriptStep::Create | ScriptStep::Recreate => self.next_for_own(step),
            ScriptStep::Operation(kind) => self.next_operation(kind),
            ScriptStep::Read(transfer) => self.next_read(&transfer),
            ScriptStep::Write(transfer) => self.next_write(&transfer),
            ScriptStep::Truncate(size) => {
                Some(self.opened().map_or_else(|first| first, |file| Asked::Truncate(file, size)))
            }
            ScriptStep::Probe(name) => Some(self.probe(name)),
            ScriptStep::Volume(what) => {
                Some(self.opened().map_or_else(|first| first, |file| Asked::Volume(file, what)))
            }
            ScriptStep::Ioctl(what) => Some(self.opened().map_or_else(|first| first, |file| Asked::Ioctl(file, what))),
            ScriptStep::Think(time) => {
                self.advance();
                Some(Asked::Think(time))
            }
        }
    }

    /// The same for an operation that needs to know no more than the subject.
    fn next_operation(&mut self, kind: OperationKind) -> Option<Asked> {
        match kind {
            OperationKind::Mkdir | OperationKind::Rmdir | OperationKind::Remove | OperationKind::Rename => {
                self.next_for_own(ScriptStep::Operation(kind))
            }
            OperationKind::Open => self.opened().err(),
            OperationKind::Close => self.next_close(),
            kind if kind.is_on_an_open_file() => {
                Some(self.opened().map_or_else(|first| first, |file| Asked::Operation(kind, Some(file))))
            }
            kind => Some(Asked::Operation(kind, None)),
        }
    }

    /// It went well: what that means for the turn.
    fn on_reply(&mut self, asked: Asked, reply: &Reply) -> Result<(), WrongData> {
        let Some(turn) = &mut self.turn else { return Ok(()) };
        match (asked, reply) {
            (Asked::Operation(kind, _), _) => return self.on_operation(kind, reply),
            (Asked::OpenFile(file), Reply::Opened { file: key, .. }) => self.open.opened(file, *key),
            (Asked::CreateOwn, Reply::Opened { file: key, .. }) => turn.own.created(*key),
            (Asked::OpenOwn, Reply::Opened { file: key, .. }) => turn.own.opened(*key),
            (Asked::OpenFolder, Reply::Opened { file: key, .. }) => turn.folder = Some(*key),
            (Asked::CloseFile(..) | Asked::Close(_), _) => {}
            (Asked::Read { expected, keep, .. }, Reply::Read { bytes }) => {
                let verified = !keep || (self.check.seen == u64::from(*bytes) && !self.check.wrong);
                if *bytes != expected || !verified {
                    return Err(WrongData);
                }
                turn.left = turn.left.map(|left| left.after(*bytes));
                self.remember();
            }
            (Asked::Write { length, .. }, Reply::Written { bytes }) if *bytes > 0 && *bytes <= length => {
                let left = turn.left.map(|left| left.after(*bytes));
                turn.own.written(left.map_or(0, |left: Left| left.next));
                turn.left = left;
                self.remember();
            }
            (Asked::Truncate(_, size), _) => {
                turn.own.resized(size);
                self.advance();
            }
            (Asked::Probe, Reply::Opened { file: key, .. }) => {
                // It shall not be there.
                turn.folder = Some(*key);
                return Err(WrongData);
            }
            (Asked::Volume(..) | Asked::Ioctl(..), _) => self.advance(),
            // An answer to something else: nothing that was asked for came of it.
            _ => return Err(WrongData),
        }
        Ok(())
    }

    /// The same for an operation that needed to know no more than the subject.
    fn on_operation(&mut self, kind: OperationKind, reply: &Reply) -> Result<(), WrongData> {
        let sound = match (kind, reply) {
            (OperationKind::Getattr | OperationKind::GetattrOpen, Reply::Attributes { size, .. }) => {
                self.expected_size().is_none_or(|expected| expected == *size)
            }
            (OperationKind::List | OperationKind::ListNames, Reply::Listed { entries }) => {
                *entries >= self.least_entries()
            }
            (OperationKind::Readlink, Reply::Text(text)) => self.is_text_of_link(text),
            // SMB does not say it.
            (OperationKind::Readlink, Reply::Nothing) => true,
            (OperationKind::Find, Reply::Listed { entries }) => *entries > 0,
            (OperationKind::Find, Reply::Attributes { .. }) => true,
            // An answer to something else: nothing that was asked for came of it.
            (
                OperationKind::Getattr
                | OperationKind::GetattrOpen
                | OperationKind::List
                | OperationKind::ListNames
                | OperationKind::Readlink
                | OperationKind::Find,
                _,
            ) => false,
            _ => true,
        };
        if !sound {
            return Err(WrongData);
        }
        let Some(turn) = &mut self.turn else { return Ok(()) };
        match kind {
            OperationKind::Mkdir => turn.own.made_directory(),
            OperationKind::Remove | OperationKind::Rmdir => {
                turn.own.removed();
                // What is left of the subject is the directory that it was in.
                self.path.truncate(self.path.rfind('/').unwrap_or(0));
            }
            OperationKind::Rename => {
                turn.own.renamed();
                std::mem::swap(&mut self.path, &mut self.new_path);
                self.advance();
            }
            OperationKind::ConnectShare | OperationKind::DisconnectShare => {
                turn.connected = kind == OperationKind::ConnectShare;
                self.advance();
            }
            OperationKind::LogOn | OperationKind::LogOff => {
                turn.logged_on = kind == OperationKind::LogOn;
                self.advance();
            }
            _ => self.advance(),
        }
        Ok(())
    }

    /// Something went wrong: the rest of the turn makes no sense any more.
    fn abandon(&mut self, asked: Asked) {
        if let Some(turn) = &mut self.turn {
            turn.abandoned = true;
            match asked {
                Asked::Operation(OperationKind::Remove | OperationKind::Rmdir, _) => turn.own.removed(),
                Asked::Operation(OperationKind::DisconnectShare, _) => turn.connected = false,
                Asked::Operation(OperationKind::LogOff, _) => turn.logged_on = false,
                _ => {}
            }
        }
    }

    /// What is left to do of an abandoned turn, each thing tried once.
    fn clean_up(&mut self) -> Asked {
        let Some(turn) = &mut self.turn else { return Asked::TurnOver };
        if let Some(next) = turn.own.clean_up() {
            return next;
        }
        // It may be the open file that is of no use any more.
        if turn.on == Subject::File
            && let Some(key) = self.open.forget(turn.file)
        {
            return Asked::CloseFile(turn.file, key);
        }
        if let Some(key) = turn.folder.take() {
            return Asked::Close(key);
        }
        if std::mem::take(&mut turn.connected) {
            return Asked::Operation(OperationKind::DisconnectShare, None);
        }
        if std::mem::take(&mut turn.logged_on) {
            return Asked::Operation(OperationKind::LogOff, None);
        }
        self.turn = None;
        Asked::TurnOver
    }
}

impl Scenario for Lane {
    fn next(&mut self) -> Step<'_> {
        self.asked = self.decide();
        self.check = Check::default();
        self.step(self.asked)
    }

    fn done(&mut self, done: &Done) -> Verdict {
        let asked = std::mem::replace(&mut self.asked, Asked::TurnOver);
        let taken = match &done.result {
            Ok(reply) => self.on_reply(asked, reply),
            Err(failure) if asked.expects(failure) => {
                self.advance();
                return Verdict::Expected;
            }
            Err(_) => {
                self.abandon(asked);
                Ok(())
            }
        };
        if taken.is_err() {
            self.abandon(asked);
        }
        taken.into()
    }

    fn kind(&self) -> u32 {
        self.kind
    }

    fn data(&mut self, offset: u64, piece: &[u8]) {
        if let Asked::Read { key, .. } = self.asked {
            self.check.seen += piece.len() as u64;
            self.check.wrong |= !self.files.content().matches(key, offset, piece);
        }
    }

    fn reconnected(&mut self) {
        self.open.forget_all();
        if let Some(turn) = &mut self.turn {
            turn.own.lost();
            (turn.folder, turn.connected, turn.logged_on) = (None, false, false);
            turn.abandoned = true;
        }
    }
}
