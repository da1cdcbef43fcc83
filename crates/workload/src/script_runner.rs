//! Runs the script of one slot: iteration by iteration, step by step.

mod copy_of_file;
mod copy_step;
mod draw;
mod iteration;
mod next_action;
mod own_file;
mod own_step;
mod positions;
mod preload;
mod probe;
mod scenario_step;
mod subject;
mod transfer;

use std::sync::Arc;

use plimsoll_client::operation::{Done, OperationKind, Reply};

use self::copy_of_file::CopyOfFile;
use self::iteration::{Iteration, Remaining};
use self::next_action::NextAction;
use self::positions::Positions;
use super::fileset::FileSet;
use super::open_files::OpenFiles;
use super::program::ScriptStep;
use super::text::Subject;
use crate::Rng;
use crate::checked_workload::CheckedWorkload;
use crate::scenario::{Scenario, ScenarioStep, Verdict, WrongData};

/// One slot of one client.
#[derive(Debug)]
pub(super) struct ScriptRunner {
    work: Arc<CheckedWorkload>,
    files: Arc<FileSet>,
    client_index: u32,
    slot: u32,
    seed: u64,
    /// Iterations begun.
    begun: u64,
    /// Which kind of iteration was begun last.
    kind: u32,
    /// The draws of the iteration: they follow from the seed and the iteration's number.
    rng: Rng,
    iteration: Option<Iteration>,
    open: OpenFiles,
    places: Positions,
    /// The order of its iterations, if they are dealt; otherwise empty.
    cards: Vec<u16>,
    /// Files to look up before its first iteration.
    unknown: std::ops::Range<u64>,
    /// The last requested action.
    asked: NextAction,
    /// Path of the subject.
    path: String,
    /// The new name.
    new_path: String,
    check: Check,
}

/// The bytes of a read that is verified.
#[derive(Clone, Copy, Debug, Default)]
struct Check {
    seen: u64,
    wrong: bool,
}

impl ScriptRunner {
    pub(super) fn new(
        work: Arc<CheckedWorkload>,
        files: Arc<FileSet>,
        client_index: u32,
        slot: u32,
        seed: u64,
    ) -> Self {
        let open = OpenFiles::new(work.keep_open);
        let (rng, asked, check) = (Rng::new(seed), NextAction::IterationOver, Check::default());
        let (path, new_path) = (String::new(), String::new());
        let cards = work.deck.as_ref().map_or_else(Vec::new, |deck| deck.shuffled(seed, client_index, slot));
        let unknown = if work.look_up_first && slot == 0 { 0..files.layout().names_of_a_part() } else { 0..0 };
        let (begun, iteration) = (0, None);
        Self {
            work,
            files,
            client_index,
            slot,
            seed,
            begun,
            kind: 0,
            rng,
            iteration,
            open,
            places: Positions::default(),
            cards,
            unknown,
            asked,
            path,
            new_path,
            check,
        }
    }

    fn decide(&mut self) -> NextAction {
        if let Some(next) = self.preload_handles() {
            return next;
        }
        if self.iteration.is_none() {
            self.begin();
        }
        loop {
            let Some(iteration) = &self.iteration else { return NextAction::IterationOver };
            if iteration.abandoned {
                return self.clean_up();
            }
            let steps = self.work.iterations.get(iteration.kind).map_or(&[][..], |kind| &kind.steps);
            let Some(step) = steps.get(iteration.step).copied() else { return self.finish() };
            if let Some(next) = self.next_for(step) {
                return next;
            }
            self.advance();
        }
    }

    fn advance(&mut self) {
        if let Some(iteration) = &mut self.iteration {
            iteration.step += 1;
            iteration.left = None;
        }
    }

    /// The iteration's steps are done: closes files that the slot does not keep open.
    fn finish(&mut self) -> NextAction {
        let subject =
            self.iteration.as_ref().filter(|iteration| iteration.on == Subject::File).map(|iteration| iteration.file);
        if self.work.keep_open == 0
            && let Some(file) = subject
            && let Some(key) = self.open.forget(file)
        {
            return NextAction::CloseFile(file, key);
        }
        if let Some(key) = self.iteration.as_mut().and_then(|iteration| iteration.folder.take()) {
            return NextAction::Close(key);
        }
        self.iteration = None;
        NextAction::IterationOver
    }

    /// The next thing to do for a step; `None` when the step is done.
    fn next_for(&mut self, step: ScriptStep) -> Option<NextAction> {
        match step {
            ScriptStep::Create | ScriptStep::Recreate => self.next_for_own(step),
            ScriptStep::Operation(kind) => self.next_operation(kind),
            ScriptStep::Read(transfer) => self.next_read(&transfer),
            ScriptStep::Write(transfer) => self.next_write(&transfer),
            ScriptStep::Probe(name) => Some(self.probe(name)),
            ScriptStep::OnFile(step) => {
                Some(self.opened().map_or_else(|first| first, |file| NextAction::OnFile(file, step)))
            }
            ScriptStep::Think(time) => {
                self.advance();
                Some(NextAction::Think(time))
            }
        }
    }

    /// The next action of an operation without parameters.
    fn next_operation(&mut self, kind: OperationKind) -> Option<NextAction> {
        match kind {
            OperationKind::Mkdir | OperationKind::Rmdir | OperationKind::Remove | OperationKind::Rename => {
                self.next_for_own(ScriptStep::Operation(kind))
            }
            OperationKind::Open => self.opened().err(),
            OperationKind::Close => self.next_close(),
            OperationKind::Copy | OperationKind::Clone => self.next_copy(kind == OperationKind::Clone),
            kind if kind.is_on_an_open_file() => {
                Some(self.opened().map_or_else(|first| first, |file| NextAction::Operation(kind, Some(file))))
            }
            kind => Some(NextAction::Operation(kind, None)),
        }
    }

    /// The operation succeeded: updates the iteration.
    fn on_reply(&mut self, asked: NextAction, reply: &Reply) -> Result<(), WrongData> {
        let Some(iteration) = &mut self.iteration else { return Ok(()) };
        match (asked, reply) {
            (NextAction::Operation(kind, _), _) => return self.on_operation(kind, reply),
            (NextAction::OpenFile(file), Reply::Opened { file: key, .. }) => self.open.opened(file, *key),
            (NextAction::CreateOwn, Reply::Opened { file: key, .. }) => iteration.own.created(*key),
            (NextAction::OpenOwn, Reply::Opened { file: key, .. }) => iteration.own.opened(*key),
            (NextAction::OpenFolder, Reply::Opened { file: key, .. }) => iteration.folder = Some(*key),
            (NextAction::CloseFile(..) | NextAction::Close(_), _) => {}
            (NextAction::Read { expected, keep, .. }, Reply::Read { bytes }) => {
                let verified = !keep || (self.check.seen == u64::from(*bytes) && !self.check.wrong);
                if *bytes != expected || !verified {
                    return Err(WrongData);
                }
                iteration.left = iteration.left.map(|left| left.after(*bytes));
                self.remember();
            }
            (NextAction::Write { length, .. }, Reply::Written { bytes }) if *bytes > 0 && *bytes <= length => {
                let left = iteration.left.map(|left| left.after(*bytes));
                iteration.own.written(left.map_or(0, |left: Remaining| left.next));
                iteration.left = left;
                self.remember();
            }
            (NextAction::OnFile(_, step), reply) => {
                let after = step.after(iteration.own.size(), reply).ok_or(WrongData)?;
                iteration.own.changed(after);
                self.advance();
            }
            (NextAction::CreateCopy | NextAction::Copy { .. } | NextAction::RemoveCopy, _) => {
                return self.on_copy(asked, reply);
            }
            (NextAction::Probe, Reply::Opened { file: key, .. }) => {
                // It shall not be there.
                iteration.folder = Some(*key);
                return Err(WrongData);
            }
            // An answer to a different request.
            _ => return Err(WrongData),
        }
        Ok(())
    }

    /// The operation without parameters succeeded.
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
            // An answer to a different request.
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
        let Some(iteration) = &mut self.iteration else { return Ok(()) };
        match kind {
            OperationKind::Mkdir => iteration.own.made_directory(),
            OperationKind::Remove | OperationKind::Rmdir => {
                iteration.own.removed();
                // The rest of the subject's path is its directory.
                self.path.truncate(self.path.rfind('/').unwrap_or(0));
            }
            OperationKind::Rename => {
                iteration.own.renamed();
                std::mem::swap(&mut self.path, &mut self.new_path);
                self.advance();
            }
            OperationKind::ConnectShare | OperationKind::DisconnectShare => {
                iteration.connected = kind == OperationKind::ConnectShare;
                self.advance();
            }
            OperationKind::LogOn | OperationKind::LogOff => {
                iteration.logged_on = kind == OperationKind::LogOn;
                self.advance();
            }
            _ => self.advance(),
        }
        Ok(())
    }

    /// Something went wrong: the rest of the iteration makes no sense any more.
    fn abandon(&mut self, asked: NextAction) {
        if let Some(iteration) = &mut self.iteration {
            iteration.abandoned = true;
            match asked {
                NextAction::RemoveCopy => iteration.copy = CopyOfFile::None,
                NextAction::Operation(OperationKind::Remove | OperationKind::Rmdir, _) => iteration.own.removed(),
                NextAction::Operation(OperationKind::DisconnectShare, _) => iteration.connected = false,
                NextAction::Operation(OperationKind::LogOff, _) => iteration.logged_on = false,
                _ => {}
            }
        }
    }

    /// The remaining cleanup of an abandoned iteration; each action is tried once.
    fn clean_up(&mut self) -> NextAction {
        let Some(iteration) = &mut self.iteration else { return NextAction::IterationOver };
        if let Some(next) = iteration.copy.clean_up().or_else(|| iteration.own.clean_up()) {
            return next;
        }
        // It may be the open file that is of no use any more.
        if iteration.on == Subject::File
            && let Some(key) = self.open.forget(iteration.file)
        {
            return NextAction::CloseFile(iteration.file, key);
        }
        if let Some(key) = iteration.folder.take() {
            return NextAction::Close(key);
        }
        if std::mem::take(&mut iteration.connected) {
            return NextAction::Operation(OperationKind::DisconnectShare, None);
        }
        if std::mem::take(&mut iteration.logged_on) {
            return NextAction::Operation(OperationKind::LogOff, None);
        }
        self.iteration = None;
        NextAction::IterationOver
    }
}

impl Scenario for ScriptRunner {
    fn next(&mut self) -> ScenarioStep<'_> {
        self.asked = self.decide();
        self.check = Check::default();
        self.step(self.asked)
    }

    fn done(&mut self, done: &Done) -> Verdict {
        let asked = std::mem::replace(&mut self.asked, NextAction::IterationOver);
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
        if let NextAction::Read { key, .. } = self.asked {
            self.check.seen += piece.len() as u64;
            self.check.wrong |= !self.files.content().matches(key, offset, piece);
        }
    }

    fn reconnected(&mut self) {
        self.open.forget_all();
        if let Some(iteration) = &mut self.iteration {
            iteration.own.lost();
            iteration.copy.lost();
            (iteration.folder, iteration.connected, iteration.logged_on) = (None, false, false);
            iteration.abandoned = true;
        }
    }
}
