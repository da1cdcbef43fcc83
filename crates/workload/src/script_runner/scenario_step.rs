//! Translates a slot's next action into an operation for the client.

use plimsoll_client::operation::{Access, Caching, Disposition, FileKey, InfoClass, Kind, Operation, OperationKind};
use plimsoll_model::Symbol;

use super::ScriptRunner;
use super::next_action::NextAction;
use crate::scenario::ScenarioStep;
use crate::text::Subject;

/// Information class for looking up an entry: FileIdBothDirectoryInformation, as in Windows.
const NAMES: InfoClass = InfoClass(37);

/// Permission bits that files are given, and directories.
const FILE_MODE: u32 = 0o644;
const DIRECTORY_MODE: u32 = 0o755;

impl ScriptRunner {
    /// The operation for the client.
    pub(super) fn step(&self, asked: NextAction) -> ScenarioStep<'_> {
        let path = self.path.as_str();
        let operation = match asked {
            NextAction::Think(time) => return ScenarioStep::Think(time),
            NextAction::IterationOver => return ScenarioStep::IterationOver,
            NextAction::CloseFile(number, file) => {
                return ScenarioStep::Act(Operation::Close { file }, self.files.symbol(number));
            }
            NextAction::Operation(kind @ (OperationKind::List | OperationKind::ListNames), _) => {
                return self.list(kind);
            }
            NextAction::Operation(kind, file) => match self.operation(kind, file) {
                Some(operation) => operation,
                None => return ScenarioStep::IterationOver,
            },
            NextAction::OpenFile(_) => self.open_file(path),
            NextAction::CreateOwn => self.own_file(path, Disposition::OverwriteOrCreate),
            NextAction::OpenOwn => self.own_file(path, Disposition::Open),
            NextAction::OpenFolder => {
                let (kind, disposition) = (Kind::Directory, Disposition::Open);
                Operation::OpenEntry { path, kind, disposition, delete_on_close: false }
            }
            NextAction::Close(file) => Operation::Close { file },
            NextAction::Read { file, offset, length, keep, plus: true, .. } => {
                Operation::ReadPlus { file, offset, length, keep }
            }
            NextAction::Read { file, offset, length, keep, .. } => Operation::Read { file, offset, length, keep },
            NextAction::Write { file, key, offset, length, stable } => {
                let content = self.files.content();
                match stable {
                    true => Operation::WriteThrough { file, offset, length, content, key },
                    false => Operation::Write { file, offset, length, content, key },
                }
            }
            NextAction::PreLookup => Operation::Lookup { path },
            NextAction::Probe => {
                let (access, disposition) = (Access::Read, Disposition::Open);
                Operation::Open { path: &self.new_path, access, disposition, caching: Caching::None }
            }
            NextAction::OnFile(file, step) => step.operation(file),
            NextAction::CreateCopy => self.own_file(&self.new_path, Disposition::OverwriteOrCreate),
            NextAction::Copy { from, to, length, clones: true } => Operation::Clone { from, to, length },
            NextAction::Copy { from, to, length, .. } => {
                // It is no longer than LONGEST.
                Operation::Copy { from, to, length: u32::try_from(length).unwrap_or(u32::MAX) }
            }
            NextAction::RemoveCopy => Operation::Remove { path: &self.new_path },
        };
        let symbol = match (&self.iteration, asked) {
            (_, asked) if asked.is_about_no_subject() => Symbol::NONE,
            // A copy of the file; the file itself has an action of its own.
            (Some(iteration), NextAction::Close(_)) if iteration.on == Subject::File => Symbol::NONE,
            (Some(iteration), _) if iteration.on == Subject::File => self.files.symbol(iteration.file),
            (Some(iteration), _) if iteration.on == Subject::Link => self.files.link_symbol(iteration.file),
            (Some(iteration), _) if iteration.on == Subject::Directory => {
                self.files.directory_symbol(iteration.directory)
            }
            _ => Symbol::NONE,
        };
        ScenarioStep::Act(operation, symbol)
    }

    /// The operation on the subject; `None` where iterations have no such step.
    fn operation(&self, kind: OperationKind, file: Option<FileKey>) -> Option<Operation<'_>> {
        let path = self.path.as_str();
        match kind {
            OperationKind::Rename => Some(Operation::Rename { from: path, to: &self.new_path }),
            OperationKind::Setattr => Some(Operation::Setattr { path, mode: self.mode() }),
            OperationKind::Find => {
                let (path, pattern) = path.rsplit_once('/').unwrap_or(("", path));
                Some(Operation::Find { path, pattern, class: NAMES })
            }
            _ => kind.on(path, file),
        }
    }

    /// Lists the subject if it is a directory, otherwise its directory.
    fn list(&self, kind: OperationKind) -> ScenarioStep<'_> {
        let inside = |path| match str::rsplit_once(path, '/') {
            Some((directory, _)) => directory,
            None => path,
        };
        let Some(iteration) = &self.iteration else { return ScenarioStep::IterationOver };
        let own = iteration.own.is_directory();
        let path = match iteration.on {
            Subject::File | Subject::Link => inside(&self.path),
            Subject::Own if iteration.own.is_file() => inside(&self.path),
            Subject::Directory | Subject::Own => &self.path,
        };
        let symbol = if own { Symbol::NONE } else { self.files.directory_symbol(iteration.directory) };
        kind.on(path, None).map_or(ScenarioStep::IterationOver, |operation| ScenarioStep::Act(operation, symbol))
    }

    fn open_file<'a>(&self, path: &'a str) -> Operation<'a> {
        let kinds = &self.work.iterations;
        let this = self.iteration.as_ref().and_then(|iteration| kinds.get(iteration.kind));
        // A file that stays open serves every kind of iteration.
        let writes = match self.work.keep_open {
            0 => this.is_some_and(|kind| kind.writes_to_the_set()),
            _ => self.work.writes_to_the_set,
        };
        let access = if writes { Access::ReadWrite } else { Access::Read };
        Operation::Open { path, access, disposition: Disposition::Open, caching: self.work.caching }
    }

    /// A slot's own file is not worth caching, for it is soon gone; but a lost connection ends no action on it, either.
    fn own_file<'a>(&self, path: &'a str, disposition: Disposition) -> Operation<'a> {
        let caching = match self.work.caching {
            Caching::Durable => Caching::Durable,
            _ => Caching::None,
        };
        Operation::Open { path, access: Access::ReadWrite, disposition, caching }
    }

    fn mode(&self) -> u32 {
        let directory = self.iteration.as_ref().is_some_and(|iteration| iteration.own.is_directory());
        if directory { DIRECTORY_MODE } else { FILE_MODE }
    }
}
