//! A parsed line of a load file.

use plimsoll_client::operation::{Disposition, InfoClass, Kind};

use super::statuses::Expected;

/// One line, or a line in a loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    /// Its number in the file, from 1.
    pub(crate) number: u32,
    /// Its operation's place in the table of names.
    pub(crate) name: Name,
    /// When it is due after the beginning of the play, µs; 0: at once.
    pub(crate) due_us: u64,
    pub(crate) op: Op,
    pub(crate) expected: Expected,
}

/// An operation's name: a row of the grammar's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Name(pub(super) u8);

/// A text of the script: a path, relative to the client's own directory, or a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text(pub(super) u32);

/// A file that a line works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum File {
    /// By the number that an open gave it.
    Handle(u32),
    /// By its path: it is opened when it is first used, and stays open.
    Path(Text),
}

/// Where in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// There.
    At(u64),
    /// This distance after the previous line's offset.
    Behind(u64),
    /// After the previous line's offset, at a distance that depends on the client's number.
    BehindByClient,
    /// Drawn, as one of the script's formulas says.
    Drawn(u32),
}

/// The operation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "each variant's line names its fields")]
pub(crate) enum Op {
    /// Opens a file under a handle.
    Create {
        path: Text,
        kind: Kind,
        disposition: Disposition,
        delete_on_close: bool,
        handle: u32,
    },
    /// Opens a file under its path.
    Open {
        path: Text,
        disposition: Disposition,
    },
    Close {
        file: File,
    },
    /// `moved`: bytes that must come.
    Read {
        file: File,
        at: Place,
        length: u32,
        moved: Option<u32>,
    },
    Write {
        file: File,
        at: Place,
        length: u32,
        moved: Option<u32>,
    },
    Flush {
        file: File,
    },
    /// Some attributes of a path; `None`: those that the client wants.
    Query {
        path: Text,
        class: Option<InfoClass>,
    },
    Lookup {
        path: Text,
    },
    QueryOf {
        handle: u32,
        class: InfoClass,
    },
    QueryFileSystem {
        class: Option<InfoClass>,
    },
    SetAttributes {
        path: Text,
    },
    SetAttributesOf {
        handle: u32,
    },
    Access {
        path: Text,
    },
    Find {
        path: Text,
        pattern: Text,
        class: InfoClass,
    },
    List {
        path: Text,
    },
    MakeDirectory {
        path: Text,
    },
    RemoveDirectory {
        path: Text,
    },
    Remove {
        path: Text,
    },
    /// Removes a directory with its contents, if it exists.
    RemoveTree {
        path: Text,
    },
    Rename {
        from: Text,
        to: Text,
    },
    Link {
        from: Text,
        to: Text,
    },
    SymbolicLink {
        path: Text,
        text: Text,
    },
    ReadLink {
        path: Text,
    },
    Lock {
        file: File,
        at: Place,
        length: u64,
    },
    Unlock {
        file: File,
        at: Place,
        length: u64,
    },
    /// Something that no client here sends.
    Unavailable,
    Sleep {
        us: u64,
    },
    /// Until the next [`Op::EndLoop`].
    Loop {
        times: u64,
    },
    EndLoop,
    /// Draws one of the ten strings, as `pattern` says.
    Draw {
        string: u8,
        pattern: Text,
    },
}

impl Op {
    /// Whether it is an operation on files, rather than a word about the play.
    pub(crate) fn is_operation(&self) -> bool {
        !matches!(self, Op::Sleep { .. } | Op::Loop { .. } | Op::EndLoop | Op::Draw { .. })
    }

    /// The file that must be open for it.
    pub(crate) fn file(&self) -> Option<File> {
        match *self {
            Op::Close { file }
            | Op::Read { file, .. }
            | Op::Write { file, .. }
            | Op::Flush { file }
            | Op::Lock { file, .. }
            | Op::Unlock { file, .. } => Some(file),
            Op::QueryOf { handle, .. } | Op::SetAttributesOf { handle } => Some(File::Handle(handle)),
            _ => None,
        }
    }
}
