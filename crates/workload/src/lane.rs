//! What one lane does: turn after turn, step after step.

mod acquaintance;
mod moves;
mod office;
mod own;
mod places;
mod turn;

use std::sync::Arc;

use plimsoll_client::action::{Done, Reply};

use self::moves::Move;
use self::places::Places;
use self::turn::{Left, Turning};
use super::Work;
use super::fileset::FileSet;
use super::open_files::OpenFiles;
use super::program::Op;
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
    asked: Move,
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
        let (rng, asked, check) = (Rng::new(seed), Move::TurnOver, Check::default());
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

    fn decide(&mut self) -> Move {
        if let Some(next) = self.get_acquainted() {
            return next;
        }
        if self.turn.is_none() {
            self.begin();
        }
        loop {
            let Some(turn) = &self.turn else { return Move::TurnOver };
            if turn.abandoned {
                return self.clean_up();
            }
            let steps = self.work.turns.get(turn.kind).map_or(&[][..], |kind| &kind.steps);
            let Some(op) = steps.get(turn.step).copied() else { return self.finish() };
            if let Some(next) = self.toward(op) {
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
    fn finish(&mut self) -> Move {
        let subject = self.turn.as_ref().filter(|turn| turn.on == Subject::File).map(|turn| turn.file);
        if self.work.keep_open == 0
            && let Some(file) = subject
            && let Some(key) = self.open.forget(file)
        {
            return Move::CloseFile(file, key);
        }
        if let Some(key) = self.turn.as_mut().and_then(|turn| turn.folder.take()) {
            return Move::CloseFolder(key);
        }
        self.turn = None;
        Move::TurnOver
    }

    /// The next thing to do for a step; `None` when the step is done.
    fn toward(&mut self, op: Op) -> Option<Move> {
        match op {
            Op::Create | Op::Recreate | Op::MakeDirectory | Op::RemoveDirectory | Op::Remove | Op::Rename => {
                self.toward_own(op)
            }
            Op::Open => self.opened().err(),
            Op::Close => self.toward_closed(),
            Op::Read(transfer) => self.toward_read(&transfer),
            Op::Write(transfer) => self.toward_written(&transfer),
            Op::Flush => Some(self.opened().map_or_else(|first| first, Move::Flush)),
            Op::Truncate(size) => Some(self.opened().map_or_else(|first| first, |file| Move::SetSize(file, size))),
            Op::GetAttributesOfOpen => {
                let expected = self.expected_size();
                Some(self.opened().map_or_else(|first| first, |file| Move::GetAttributesOf(file, expected)))
            }
            Op::Lookup => Some(Move::Lookup),
            Op::ReadLink => Some(Move::ReadLink),
            Op::GetAttributes => Some(Move::GetAttributes(self.expected_size())),
            Op::SetAttributes => Some(Move::SetAttributes),
            Op::Access => Some(Move::Access),
            Op::List => Some(Move::List { names: false }),
            Op::ListNames => Some(Move::List { names: true }),
            Op::FileSystemInfo => Some(Move::FileSystemInfo),
            Op::Find => Some(Move::Find),
            Op::Probe(name) => Some(self.probe(name)),
            Op::Volume(what) => Some(self.opened().map_or_else(|first| first, |file| Move::Volume(file, what))),
            Op::Control(what) => Some(self.opened().map_or_else(|first| first, |file| Move::Control(file, what))),
            Op::ConnectShare => Some(Move::ConnectShare),
            Op::DisconnectShare => Some(Move::DisconnectShare),
            Op::LogOn => Some(Move::LogOn),
            Op::LogOff => Some(Move::LogOff),
            Op::Null => Some(Move::Null),
            Op::Think(time) => {
                self.advance();
                Some(Move::Think(time))
            }
        }
    }

    /// It went well: what that means for the turn.
    fn took(&mut self, asked: Move, reply: &Reply) -> Result<(), WrongData> {
        let Some(turn) = &mut self.turn else { return Ok(()) };
        match (asked, reply) {
            (Move::OpenFile(file), Reply::Opened { file: key, .. }) => self.open.opened(file, *key),
            (Move::CreateOwn, Reply::Opened { file: key, .. }) => turn.own.created(*key),
            (Move::OpenOwn, Reply::Opened { file: key, .. }) => turn.own.opened(*key),
            (Move::MakeOwn, _) => turn.own.made_directory(),
            (Move::CloseFile(..) | Move::CloseOwn(_) | Move::CloseFolder(_), _) => {}
            (Move::RemoveOwn | Move::RemoveOwnDirectory, _) => {
                turn.own.removed();
                // What is left of the subject is the directory that it was in.
                self.path.truncate(self.path.rfind('/').unwrap_or(0));
            }
            (Move::RenameOwn, _) => {
                turn.own.renamed();
                std::mem::swap(&mut self.path, &mut self.new_path);
                self.advance();
            }
            (Move::Read { expected, keep, .. }, Reply::Read { bytes }) => {
                let verified = !keep || (self.check.seen == u64::from(*bytes) && !self.check.wrong);
                if *bytes != expected || !verified {
                    return Err(WrongData);
                }
                turn.left = turn.left.map(|left| left.after(*bytes));
                self.remember();
            }
            (Move::Write { length, .. }, Reply::Written { bytes }) if *bytes > 0 && *bytes <= length => {
                let left = turn.left.map(|left| left.after(*bytes));
                turn.own.written(left.map_or(0, |left: Left| left.next));
                turn.left = left;
                self.remember();
            }
            (Move::SetSize(_, size), _) => {
                turn.own.resized(size);
                self.advance();
            }
            (Move::GetAttributes(expected) | Move::GetAttributesOf(_, expected), Reply::Attributes { size, .. }) => {
                if expected.is_some_and(|expected| expected != *size) {
                    return Err(WrongData);
                }
                self.advance();
            }
            (Move::List { .. }, Reply::Listed { entries }) => {
                if *entries < self.least_entries() {
                    return Err(WrongData);
                }
                self.advance();
            }
            (Move::ReadLink, Reply::Text(text)) => {
                if !self.is_text_of_link(text) {
                    return Err(WrongData);
                }
                self.advance();
            }
            // SMB does not say it.
            (Move::ReadLink, Reply::Nothing) => self.advance(),
            (
                Move::Flush(_) | Move::SetAttributes | Move::Access | Move::Lookup | Move::FileSystemInfo | Move::Null,
                _,
            ) => self.advance(),
            _ => return self.took_office(asked, reply),
        }
        Ok(())
    }

    /// Something went wrong: the rest of the turn makes no sense any more.
    fn abandon(&mut self, asked: Move) {
        if let Some(turn) = &mut self.turn {
            turn.abandoned = true;
            match asked {
                Move::RemoveOwn | Move::RemoveOwnDirectory => turn.own.removed(),
                Move::DisconnectShare => turn.connected = false,
                Move::LogOff => turn.logged_on = false,
                _ => {}
            }
        }
    }

    /// What is left to do of an abandoned turn, each thing tried once.
    fn clean_up(&mut self) -> Move {
        let Some(turn) = &mut self.turn else { return Move::TurnOver };
        if let Some(next) = turn.own.clean_up() {
            return next;
        }
        // It may be the open file that is of no use any more.
        if turn.on == Subject::File
            && let Some(key) = self.open.forget(turn.file)
        {
            return Move::CloseFile(turn.file, key);
        }
        if let Some(key) = turn.folder.take() {
            return Move::CloseFolder(key);
        }
        if std::mem::take(&mut turn.connected) {
            return Move::DisconnectShare;
        }
        if std::mem::take(&mut turn.logged_on) {
            return Move::LogOff;
        }
        self.turn = None;
        Move::TurnOver
    }
}

impl Scenario for Lane {
    fn next(&mut self) -> Step<'_> {
        self.asked = self.decide();
        self.check = Check::default();
        self.step(self.asked)
    }

    fn done(&mut self, done: &Done) -> Verdict {
        let asked = std::mem::replace(&mut self.asked, Move::TurnOver);
        let taken = match &done.result {
            Ok(reply) => self.took(asked, reply),
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
        if let Move::Read { key, .. } = self.asked {
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
