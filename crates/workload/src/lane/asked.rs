//! What a lane asks for, and how that is said to a client.

use plimsoll_client::operation::{
    Access, Caching, Control, Disposition, FileKey, InfoClass, Kind, Operation, OperationKind,
};
use plimsoll_model::Symbol;

use super::Lane;
use crate::scenario::Step;
use crate::text::Subject;

/// What a lane asks for next. Paths stand in the lane.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    /// An operation on the subject, by its path or as it is open.
    Operation(OperationKind, Option<FileKey>),
    OpenFile(u64),
    CloseFile(u64, FileKey),
    CreateOwn,
    OpenOwn,
    OpenFolder,
    /// Closes the lane's own file, or a directory.
    Close(FileKey),
    Read {
        file: FileKey,
        key: u64,
        offset: u64,
        length: u32,
        expected: u32,
        keep: bool,
    },
    Write {
        file: FileKey,
        key: u64,
        offset: u64,
        length: u32,
        stable: bool,
    },
    Truncate(FileKey, u64),
    /// Looks up a name before the first turn.
    Acquaint,
    /// Asks for a name that shall not be there; it stands in `new_path`.
    Probe,
    Volume(FileKey, InfoClass),
    Ioctl(FileKey, Control),
    Think(u64),
    TurnOver,
}

/// What is asked of an entry that is looked for: FileIdBothDirectoryInformation, as Windows does.
const NAMES: InfoClass = InfoClass(37);

/// Permission bits that files are given, and directories.
const FILE_MODE: u32 = 0o644;
const DIRECTORY_MODE: u32 = 0o755;

impl Lane {
    /// What was asked for, as its station's client is told.
    pub(super) fn step(&self, asked: Asked) -> Step<'_> {
        let path = self.path.as_str();
        let operation = match asked {
            Asked::Think(time) => return Step::Think(time),
            Asked::TurnOver => return Step::TurnOver,
            Asked::CloseFile(number, file) => return Step::Act(Operation::Close { file }, self.files.symbol(number)),
            Asked::Operation(kind @ (OperationKind::List | OperationKind::ListNames), _) => return self.list(kind),
            Asked::Operation(kind, file) => match self.operation(kind, file) {
                Some(operation) => operation,
                None => return Step::TurnOver,
            },
            Asked::OpenFile(_) => self.open_file(path),
            Asked::CreateOwn => own_file(path, Disposition::CreateOrTruncate),
            Asked::OpenOwn => own_file(path, Disposition::OpenExisting),
            Asked::OpenFolder => {
                let (kind, disposition) = (Kind::Directory, Disposition::OpenExisting);
                Operation::OpenEntry { path, kind, disposition, delete_on_close: false }
            }
            Asked::Close(file) => Operation::Close { file },
            Asked::Read { file, offset, length, keep, .. } => Operation::Read { file, offset, length, keep },
            Asked::Write { file, key, offset, length, stable } => {
                let content = self.files.content();
                match stable {
                    true => Operation::WriteThrough { file, offset, length, content, key },
                    false => Operation::Write { file, offset, length, content, key },
                }
            }
            Asked::Truncate(file, size) => Operation::Truncate { file, size },
            Asked::Acquaint => Operation::Lookup { path },
            Asked::Probe => {
                let (access, disposition) = (Access::Read, Disposition::OpenExisting);
                Operation::Open { path: &self.new_path, access, disposition, caching: Caching::None }
            }
            Asked::Volume(file, class) => Operation::Volume { file, class },
            Asked::Ioctl(file, what) => Operation::Ioctl { file, what },
        };
        let symbol = match (&self.turn, asked) {
            (_, asked) if asked.is_about_no_subject() => Symbol::NONE,
            (Some(turn), _) if turn.on == Subject::File => self.files.symbol(turn.file),
            (Some(turn), _) if turn.on == Subject::Link => self.files.link_symbol(turn.file),
            (Some(turn), _) if turn.on == Subject::Directory => self.files.directory_symbol(turn.directory),
            _ => Symbol::NONE,
        };
        Step::Act(operation, symbol)
    }

    /// The operation on the subject; `None` where turns have no such step.
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

    /// Lists the subject if it is a directory, else the directory that it is in.
    fn list(&self, kind: OperationKind) -> Step<'_> {
        let inside = |path| match str::rsplit_once(path, '/') {
            Some((directory, _)) => directory,
            None => path,
        };
        let Some(turn) = &self.turn else { return Step::TurnOver };
        let own = turn.own.is_directory();
        let path = match turn.on {
            Subject::File | Subject::Link => inside(&self.path),
            Subject::Own if turn.own.is_file() => inside(&self.path),
            Subject::Directory | Subject::Own => &self.path,
        };
        let symbol = if own { Symbol::NONE } else { self.files.directory_symbol(turn.directory) };
        kind.on(path, None).map_or(Step::TurnOver, |operation| Step::Act(operation, symbol))
    }

    fn open_file<'a>(&self, path: &'a str) -> Operation<'a> {
        let kinds = &self.work.turns;
        let this = self.turn.as_ref().and_then(|turn| kinds.get(turn.kind));
        // What is kept open serves every kind of turn.
        let writes = match self.work.keep_open {
            0 => this.is_some_and(|kind| kind.writes_to_the_set()),
            _ => self.work.writes_to_the_set,
        };
        let access = if writes { Access::ReadWrite } else { Access::Read };
        Operation::Open { path, access, disposition: Disposition::OpenExisting, caching: self.work.caching }
    }

    fn mode(&self) -> u32 {
        let directory = self.turn.as_ref().is_some_and(|turn| turn.own.is_directory());
        if directory { DIRECTORY_MODE } else { FILE_MODE }
    }
}

fn own_file(path: &str, disposition: Disposition) -> Operation<'_> {
    Operation::Open { path, access: Access::ReadWrite, disposition, caching: Caching::None }
}
