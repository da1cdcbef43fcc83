//! One slot of one client plays a load file, line by line.

mod lines;
mod verdicts;

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_client::content::Content;
use plimsoll_client::operation::{Cause, Done, Failure, FileKey, Reply};

use super::account::{Account, Counted, Deviation};
use super::line::{Line, Place};
use super::script::{STRINGS, Script};
use crate::Rng;
use crate::fileset::FileSetError;
use crate::scenario::{Scenario, ScenarioStep, Verdict};
use crate::{Sweep, Swept, Tree};

/// Maximum number of connections that a player may lose per replay of the file.
const MOST_RESTARTS: u32 = 10;

/// Where and how often a script is played.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) script: Arc<Script>,
    pub(crate) account: Arc<Account>,
    /// The content of written files.
    pub(crate) content: Arc<Content>,
    /// The player's private directory, relative to the share or export; its parent must exist.
    pub(crate) root: String,
    pub(crate) client_index: u32,
    pub(crate) seed: u64,
    /// Then it ends; `None`: never.
    pub(crate) plays: Option<u32>,
}

/// One slot of one client.
#[derive(Debug)]
pub(crate) struct Player {
    stage: Stage,
    act: Act,
    /// A directory that is being removed.
    sweep: Option<Sweep>,
    /// Files that are of no use any more.
    closing: Vec<FileKey>,
    /// A line is over.
    iteration_over: bool,
    /// The last requested step.
    asked: PlayerAction,
    /// The line that is next, or under way.
    at: usize,
    /// Where the loop began, and how often it is still to be done.
    looping: Option<(usize, u64)>,
    /// Plays that are over.
    plays: u32,
    /// Connections lost since the last play was over.
    restarts: u32,
    // Sorted, so that the remaining files are always closed in the same order.
    by_handle: BTreeMap<u32, FileKey>,
    by_path: BTreeMap<String, FileKey>,
    strings: [String; STRINGS],
    rng: Rng,
    /// Of the line: its paths, and where in the file.
    path: String,
    other: String,
    place: u64,
    /// It was prepared: paths and place are its.
    prepared: bool,
    /// When the play began, and when the last answer was there, ns.
    begun: Option<i64>,
    now: i64,
    counted: Counted,
}

/// How far a player is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// What stands in its directory goes first.
    Clearing,
    /// The directory is made.
    Making,
    Playing,
    /// The last play is over: its directory goes.
    Leaving,
    Over,
}

/// A player's next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlayerAction {
    Sweep,
    MakeRoot,
    /// The operation in the line.
    Play,
    /// The file that the line names by its path.
    Open,
    Close(FileKey),
    Think(u64),
    IterationOver,
    Finished,
}

impl Player {
    pub(crate) fn new(stage: Stage) -> Self {
        let rng = Rng::new(stage.seed);
        Self {
            stage,
            act: Act::Clearing,
            sweep: None,
            closing: Vec::new(),
            iteration_over: false,
            asked: PlayerAction::IterationOver,
            at: 0,
            looping: None,
            plays: 0,
            restarts: 0,
            by_handle: BTreeMap::new(),
            by_path: BTreeMap::new(),
            strings: Default::default(),
            rng,
            path: String::new(),
            other: String::new(),
            place: 0,
            prepared: false,
            begun: None,
            now: 0,
            counted: Counted::default(),
        }
    }

    fn decide(&mut self) -> PlayerAction {
        loop {
            if let Some(file) = self.closing.pop() {
                return PlayerAction::Close(file);
            }
            if let Some(sweep) = &self.sweep {
                if !sweep.is_over() {
                    return PlayerAction::Sweep;
                }
                self.sweep = None;
                self.swept();
            }
            if std::mem::take(&mut self.iteration_over) {
                return PlayerAction::IterationOver;
            }
            match self.act {
                Act::Clearing | Act::Leaving => self.sweep = Some(self.sweep_of(self.stage.root.clone())),
                Act::Making => return PlayerAction::MakeRoot,
                Act::Playing => {
                    if let Some(next) = self.play() {
                        return next;
                    }
                }
                Act::Over => return PlayerAction::Finished,
            }
        }
    }

    /// Removes the player's directory, or the object at a path in it.
    fn sweep_of(&self, path: String) -> Sweep {
        let Stage { root, script, .. } = &self.stage;
        Sweep::tree(path, Tree { root: root.clone(), made: Arc::clone(script.made()) })
    }

    /// A directory is gone.
    fn swept(&mut self) {
        match self.act {
            Act::Clearing => self.act = Act::Making,
            Act::Leaving => self.act = Act::Over,
            Act::Playing => self.line_over(true, false),
            Act::Making | Act::Over => {}
        }
    }

    /// A line of the file is over: whether it went as the file says, and by being refused.
    fn line_over(&mut self, as_expected: bool, refused: bool) {
        self.counted.lines += 1;
        self.counted.as_expected += u64::from(as_expected);
        self.counted.refused += u64::from(refused);
        self.iteration_over = true;
        self.go_on();
    }

    fn go_on(&mut self) {
        self.at += 1;
        self.prepared = false;
    }

    /// The file is at its end.
    fn play_over(&mut self) {
        self.close_all();
        self.stage.account.add(std::mem::take(&mut self.counted));
        self.stage.account.played();
        self.plays = self.plays.saturating_add(1);
        self.restarts = 0;
        self.rewind();
        if self.stage.plays.is_some_and(|plays| self.plays >= plays) {
            self.act = Act::Leaving;
        }
    }

    fn close_all(&mut self) {
        self.closing.extend(std::mem::take(&mut self.by_handle).into_values());
        self.closing.extend(std::mem::take(&mut self.by_path).into_values());
    }

    fn rewind(&mut self) {
        (self.at, self.prepared, self.looping, self.begun, self.place) = (0, false, None, None, 0);
    }

    fn line(&self) -> Option<&Line> {
        self.stage.script.lines.get(self.at)
    }

    /// Position in the file that a line reads, writes or locks.
    fn place_of(&mut self, place: Place) -> u64 {
        match place {
            Place::At(offset) => offset,
            Place::Behind(more) => self.place.saturating_add(more),
            Place::BehindByClient => self.place.saturating_add(u64::from(self.stage.client_index)),
            Place::Drawn(formula) => {
                let drawn = rand::RngCore::next_u64(&mut self.rng);
                self.stage.script.formula(formula).iter().fold(drawn, |number, (sign, value)| match sign {
                    '/' => number - number % (*value).max(1),
                    '%' => number % (*value).max(1),
                    _ => number.saturating_add(*value),
                })
            }
        }
    }
}

impl Scenario for Player {
    fn next(&mut self) -> ScenarioStep<'_> {
        self.asked = self.decide();
        match self.asked {
            PlayerAction::Think(ns) => ScenarioStep::Think(ns),
            PlayerAction::IterationOver => ScenarioStep::IterationOver,
            PlayerAction::Finished => ScenarioStep::Finished,
            PlayerAction::Sweep => self.sweep.as_ref().map_or(ScenarioStep::IterationOver, Sweep::step),
            asked => self.step(asked),
        }
    }

    fn knows_what_comes_back(&self) -> bool {
        true
    }

    fn done(&mut self, done: &Done) -> Verdict {
        self.now = done.at;
        match (self.asked, &done.result) {
            (PlayerAction::Sweep, _) => self.swept_one(done),
            (PlayerAction::MakeRoot, result) => self.rooted(result),
            (PlayerAction::Open, Ok(Reply::Opened { file, .. })) => {
                self.by_path.insert(self.path.clone(), *file);
                Verdict::AsAnswered
            }
            (PlayerAction::Play | PlayerAction::Open, _) => self.played(done),
            _ => Verdict::AsAnswered,
        }
    }

    fn entry(&mut self, name: &str) {
        if let (PlayerAction::Sweep, Some(sweep)) = (self.asked, &mut self.sweep) {
            sweep.entry(name);
        }
    }

    fn reconnected(&mut self) {
        self.by_handle.clear();
        self.by_path.clear();
        self.closing.clear();
        self.rewind();
        self.restarts = self.restarts.saturating_add(1);
        let hopeless = self.stage.plays.is_some() && self.restarts > MOST_RESTARTS;
        match self.act {
            _ if hopeless => self.act = Act::Over,
            Act::Leaving | Act::Over => {}
            Act::Clearing | Act::Making | Act::Playing => {
                self.act = Act::Clearing;
                self.stage.account.restarted();
            }
        }
        self.sweep = None;
    }
}

impl Player {
    fn rooted(&mut self, result: &Result<Reply, Failure>) -> Verdict {
        match result {
            Err(failure) if failure.is_there() => {
                self.act = Act::Playing;
                return Verdict::Expected;
            }
            // A player that cannot create its directory cannot play.
            Err(failure) if matches!(failure.cause, Cause::Status | Cause::CallRejected | Cause::Unsupported) => {
                self.act = Act::Over;
            }
            Err(_) => {}
            Ok(_) => self.act = Act::Playing,
        }
        Verdict::AsAnswered
    }

    fn swept_one(&mut self, done: &Done) -> Verdict {
        let Some(sweep) = &mut self.sweep else { return Verdict::AsAnswered };
        let swept = sweep.done(done);
        if let Swept::Failed(error) = &swept {
            if let (Act::Playing, Some(line)) = (self.act, self.line().copied()) {
                let name = Deviation::name(&line);
                let came = match error {
                    FileSetError::Failed { failure, .. } => failure.to_string(),
                    error => error.to_string(),
                };
                let deviation = Deviation::Unexpected(name, line.expected, came);
                self.stage.account.deviates(&line, deviation);
            }
            self.sweep_failed();
        }
        swept.verdict()
    }
}

impl Drop for Player {
    /// The end of the run comes in the middle of a play.
    fn drop(&mut self) {
        self.stage.account.add(self.counted);
    }
}
