//! What a lane asks for, and how that is said to a client.

use plimsoll_client::action::{Access, Action, Caching, Control, Disposition, FileKey, InfoClass, Kind};
use plimsoll_model::Symbol;

use super::Lane;
use crate::scenario::Step;
use crate::text::Subject;

/// What a lane asks for next. Paths stand in the lane.
#[derive(Clone, Copy, Debug)]
pub(super) enum Move {
    OpenFile(u64),
    CloseFile(u64, FileKey),
    CreateOwn,
    OpenOwn,
    CloseOwn(FileKey),
    MakeOwn,
    RenameOwn,
    RemoveOwn,
    RemoveOwnDirectory,
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
    /// Looks up a name before the first turn.
    Acquaint,
    Lookup,
    ReadLink,
    Flush(FileKey),
    SetSize(FileKey, u64),
    /// With the size that must come out.
    GetAttributes(Option<u64>),
    GetAttributesOf(FileKey, Option<u64>),
    SetAttributes,
    Access,
    List {
        names: bool,
    },
    FileSystemInfo,
    /// Asks the directory for the subject's name.
    Find,
    /// Asks for a name that shall not be there; it stands in `new_path`.
    Probe,
    OpenFolder,
    CloseFolder(FileKey),
    Volume(FileKey, InfoClass),
    Control(FileKey, Control),
    ConnectShare,
    DisconnectShare,
    LogOn,
    LogOff,
    Null,
    Think(u64),
    TurnOver,
}

/// What is asked of an entry that is looked for: FileIdBothDirectoryInformation, as Windows does.
const NAMES: InfoClass = InfoClass(37);

/// Permission bits that files are given, and directories.
const FILE_MODE: u32 = 0o644;
const DIRECTORY_MODE: u32 = 0o755;

impl Lane {
    /// A move, as its station's client is told.
    pub(super) fn step(&self, asked: Move) -> Step<'_> {
        let path = self.path.as_str();
        let action = match asked {
            Move::Think(time) => return Step::Think(time),
            Move::TurnOver => return Step::TurnOver,
            Move::CloseFile(number, file) => return Step::Act(Action::Close { file }, self.files.symbol(number)),
            Move::List { names } => return self.list(names),
            Move::OpenFile(_) => self.open_file(path),
            Move::CreateOwn => own_file(path, Disposition::CreateOrTruncate),
            Move::OpenOwn => own_file(path, Disposition::OpenExisting),
            Move::CloseOwn(file) => Action::Close { file },
            Move::MakeOwn => Action::MakeDirectory { path },
            Move::RenameOwn => Action::Rename { from: path, to: &self.new_path },
            Move::RemoveOwn => Action::Remove { path },
            Move::RemoveOwnDirectory => Action::RemoveDirectory { path },
            Move::Read { file, offset, length, keep, .. } => Action::Read { file, offset, length, keep },
            Move::Write { file, key, offset, length, stable } => {
                let content = self.files.content();
                match stable {
                    true => Action::WriteThrough { file, offset, length, content, key },
                    false => Action::Write { file, offset, length, content, key },
                }
            }
            Move::Acquaint | Move::Lookup => Action::Lookup { path },
            Move::ReadLink => Action::ReadLink { path },
            Move::Flush(file) => Action::Flush { file },
            Move::SetSize(file, size) => Action::SetSize { file, size },
            Move::GetAttributes(_) => Action::GetAttributes { path },
            Move::GetAttributesOf(file, _) => Action::GetAttributesOf { file },
            Move::SetAttributes => Action::SetAttributes { path, mode: self.mode() },
            Move::Access => Action::Access { path },
            Move::Find => {
                let (path, pattern) = path.rsplit_once('/').unwrap_or(("", path));
                Action::Find { path, pattern, class: NAMES }
            }
            Move::Probe => {
                let (access, disposition) = (Access::Read, Disposition::OpenExisting);
                Action::Open { path: &self.new_path, access, disposition, caching: Caching::None }
            }
            Move::OpenFolder => {
                let (kind, disposition) = (Kind::Directory, Disposition::OpenExisting);
                Action::Create { path, kind, disposition, delete_on_close: false }
            }
            Move::CloseFolder(file) => Action::Close { file },
            Move::Volume(file, class) => Action::QueryVolume { file, class },
            Move::Control(file, what) => Action::Control { file, what },
            Move::ConnectShare => Action::ConnectShare,
            Move::DisconnectShare => Action::DisconnectShare,
            Move::LogOn => Action::LogOn,
            Move::LogOff => Action::LogOff,
            Move::FileSystemInfo => Action::FileSystemInfo,
            Move::Null => Action::Null,
        };
        let symbol = match (&self.turn, asked) {
            (_, asked) if asked.is_about_no_subject() => Symbol::NONE,
            (Some(turn), _) if turn.on == Subject::File => self.files.symbol(turn.file),
            (Some(turn), _) if turn.on == Subject::Link => self.files.link_symbol(turn.file),
            (Some(turn), _) if turn.on == Subject::Directory => self.files.directory_symbol(turn.directory),
            _ => Symbol::NONE,
        };
        Step::Act(action, symbol)
    }

    /// Lists the subject if it is a directory, else the directory that it is in.
    fn list(&self, names: bool) -> Step<'_> {
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
        Step::Act(if names { Action::ListNames { path } } else { Action::List { path } }, symbol)
    }

    fn open_file<'a>(&self, path: &'a str) -> Action<'a> {
        let kinds = &self.work.turns;
        let this = self.turn.as_ref().and_then(|turn| kinds.get(turn.kind));
        // What is kept open serves every kind of turn.
        let writes = match self.work.keep_open {
            0 => this.is_some_and(|kind| kind.writes_to_the_set()),
            _ => self.work.writes_to_the_set,
        };
        let access = if writes { Access::ReadWrite } else { Access::Read };
        Action::Open { path, access, disposition: Disposition::OpenExisting, caching: self.work.caching }
    }

    fn mode(&self) -> u32 {
        let directory = self.turn.as_ref().is_some_and(|turn| turn.own.is_directory());
        if directory { DIRECTORY_MODE } else { FILE_MODE }
    }
}

fn own_file(path: &str, disposition: Disposition) -> Action<'_> {
    Action::Open { path, access: Access::ReadWrite, disposition, caching: Caching::None }
}
