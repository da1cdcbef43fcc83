//! Lines of load files: dbench 3 and 4 (NetBench), dbench 5 (NFS and SMB), smbtorture.

use plimsoll_client::operation::{Disposition, Kind};

use super::arguments::{Arguments, Texts};
use super::levels;
use super::line::{File, Line, Name, Op};
use super::statuses::Expected;

/// FILE_DIRECTORY_FILE, FILE_NON_DIRECTORY_FILE and FILE_DELETE_ON_CLOSE of NTCreateX (MS-SMB2 2.2.13, CreateOptions).
const DIRECTORY: u64 = 0x1;
const NON_DIRECTORY: u64 = 0x40;
const DELETE_ON_CLOSE: u64 = 0x1000;
/// Flags of dbench 5's OPEN that matter: make it, only if it is not there, empty it.
const CREATE: u64 = 0x08;
const EXCLUSIVE: u64 = 0x10;
const TRUNCATE: u64 = 0x20;

type Reader = fn(&mut Arguments<'_>) -> Result<Op, String>;

/// How each operation's arguments are read. Names count without case.
const OPERATIONS: &[(&str, Reader)] = &[
    ("NTCreateX", create),
    ("Close", |line| Ok(Op::Close { file: line.file()? })),
    ("ReadX", read),
    ("WriteX", write),
    ("Read", read),
    ("Write", write),
    ("Flush", |line| Ok(Op::Flush { file: line.file()? })),
    ("Unlink", |line| {
        let path = line.path()?;
        // NetBench says which attributes the file may have.
        line.ignore();
        Ok(Op::Remove { path })
    }),
    ("Rename", rename),
    ("Mkdir", |line| Ok(Op::MakeDirectory { path: line.path()? })),
    ("Rmdir", |line| Ok(Op::RemoveDirectory { path: line.path()? })),
    ("Deltree", |line| Ok(Op::RemoveTree { path: line.path()? })),
    ("QUERY_PATH_INFORMATION", |line| Ok(Op::Query { path: line.path()?, class: Some(level(line, levels::of_file)?) })),
    ("QUERY_FILE_INFORMATION", |line| {
        Ok(Op::QueryOf { handle: line.small("a handle")?, class: level(line, levels::of_file)? })
    }),
    ("QUERY_FS_INFORMATION", |line| Ok(Op::QueryFileSystem { class: Some(level(line, levels::of_file_system)?) })),
    ("SET_FILE_INFORMATION", set_attributes_of),
    ("Sfileinfo", set_attributes_of),
    ("FIND_FIRST", find),
    ("LockX", |line| Ok(Op::Lock { file: line.file()?, at: line.place()?, length: line.number("a length")? })),
    ("UnlockX", |line| Ok(Op::Unlock { file: line.file()?, at: line.place()?, length: line.number("a length")? })),
    ("Sleep", |line| Ok(Op::Sleep { us: line.number("a time")? })),
    // dbench 5: files over SMB.
    ("OPEN", open),
    ("READDIR", |line| Ok(Op::List { path: line.path()? })),
    // dbench 5: NFS 3 and its lock manager.
    ("GETATTR3", |line| Ok(Op::Query { path: line.path()?, class: None })),
    ("LOOKUP3", |line| Ok(Op::Lookup { path: line.path()? })),
    ("SETATTR3", |line| Ok(Op::SetAttributes { path: line.path()? })),
    ("ACCESS3", |line| {
        let path = line.path()?;
        // Desired and granted access.
        line.ignore();
        Ok(Op::Access { path })
    }),
    ("READLINK3", |line| Ok(Op::ReadLink { path: line.path()? })),
    ("READ3", |line| {
        let (file, at, length) = (line.file()?, line.place()?, line.small("a length")?);
        Ok(Op::Read { file, at, length, moved: None })
    }),
    ("WRITE3", |line| {
        let (file, at, length) = (line.file()?, line.place()?, line.small("a length")?);
        // How stable: a client that may write as it likes writes unstable, and commits.
        line.ignore();
        Ok(Op::Write { file, at, length, moved: Some(length) })
    }),
    ("CREATE3", |line| Ok(Op::Open { path: line.path()?, disposition: Disposition::OpenOrCreate })),
    ("MKDIR3", |line| Ok(Op::MakeDirectory { path: line.path()? })),
    ("SYMLINK3", |line| Ok(Op::SymbolicLink { path: line.path()?, text: line.path()? })),
    ("REMOVE3", |line| Ok(Op::Remove { path: line.path()? })),
    ("RMDIR3", |line| Ok(Op::RemoveDirectory { path: line.path()? })),
    ("RENAME3", rename),
    ("LINK3", |line| {
        let (to, from) = (line.path()?, line.path()?);
        Ok(Op::Link { from, to })
    }),
    ("READDIRPLUS3", |line| Ok(Op::List { path: line.path()? })),
    ("FSSTAT3", |_| Ok(Op::QueryFileSystem { class: None })),
    ("FSINFO3", unavailable),
    ("PATHCONF3", unavailable),
    ("COMMIT3", |line| Ok(Op::Flush { file: line.file()? })),
    ("LOCK4", |line| Ok(Op::Lock { file: line.file()?, at: line.place()?, length: line.number("a length")? })),
    ("UNLOCK4", |line| Ok(Op::Unlock { file: line.file()?, at: line.place()?, length: line.number("a length")? })),
    ("TEST4", unavailable),
];

/// The text of a name.
pub(super) fn name_of(name: Name) -> &'static str {
    OPERATIONS.get(usize::from(name.0)).map_or("", |(name, _)| name)
}

/// Parses the words of a line that is neither empty nor a comment.
///
/// # Errors
/// The description of the error.
pub(super) fn line(number: u32, mut words: &[&str], texts: &mut Texts) -> Result<Line, String> {
    let due_us = match words.first().filter(|word| word.starts_with(|first: char| first.is_ascii_digit())) {
        Some(time) => {
            words = words.get(1..).unwrap_or_default();
            due(time)?
        }
        None => 0,
    };
    let (&called, arguments) = words.split_first().ok_or("expected an operation after the time")?;
    if called.starts_with("SMB") {
        return Err("load files of dbench 1 are not supported; use a load file of dbench 3, 4 or 5".to_owned());
    }
    let found = (0_u8..).zip(OPERATIONS).find(|(_, (name, _))| name.eq_ignore_ascii_case(called));
    let (place, (_, reader)) = found.ok_or_else(|| format!("{called}: expected an operation of dbench 3, 4 or 5"))?;
    let of_nfs = called.ends_with(['3', '4']);
    let (arguments, expected) = match arguments.split_last() {
        Some((last, before)) => (before, Expected::parse(last, of_nfs)),
        None => (arguments, None),
    };
    // dbench's own SLEEP has no status.
    let bare = called.eq_ignore_ascii_case("Sleep") && arguments.is_empty();
    let (arguments, expected) = match expected {
        None if bare => (words.get(1..).unwrap_or_default(), Expected::Success),
        None => {
            return Err("expected a status at the end of the line: NT_STATUS_…, 0x…, SUCCESS, ERROR or *".to_owned());
        }
        Some(expected) => (arguments, expected),
    };
    let mut arguments = Arguments { words: arguments, texts };
    let op = reader(&mut arguments)?;
    arguments.over()?;
    Ok(Line { number, name: Name(place), due_us, op, expected })
}

/// Seconds since the beginning of the play, as µs.
fn due(time: &str) -> Result<u64, String> {
    let seconds: f64 = time.parse().map_err(|_| format!("{time}: expected an operation or a time in seconds"))?;
    let sound = (0.0..=1e7).contains(&seconds);
    if sound { Ok((seconds * 1e6).round() as u64) } else { Err(format!("{time}: expected a time from 0 to 1e7 s")) }
}

fn create(line: &mut Arguments<'_>) -> Result<Op, String> {
    let (path, options, disposition) = (line.path()?, line.number("the options")?, line.number("the disposition")?);
    let handle = line.small("a handle")?;
    let kind = match (options & DIRECTORY != 0, options & NON_DIRECTORY != 0) {
        (true, true) => return Err("the options require both a directory and a file: remove 0x1 or 0x40".to_owned()),
        (true, false) => Kind::Directory,
        (false, true) => Kind::File,
        (false, false) => Kind::Any,
    };
    let disposition = u32::try_from(disposition)
        .ok()
        .and_then(Disposition::of_number)
        .ok_or_else(|| format!("{disposition}: expected a disposition from 0 to 5"))?;
    Ok(Op::Create { path, kind, disposition, delete_on_close: options & DELETE_ON_CLOSE != 0, handle })
}

fn open(line: &mut Arguments<'_>) -> Result<Op, String> {
    let (path, flags) = (line.path()?, line.number("the flags")?);
    let disposition = match (flags & CREATE != 0, flags & EXCLUSIVE != 0, flags & TRUNCATE != 0) {
        (true, true, _) => Disposition::Create,
        (true, false, true) => Disposition::OverwriteOrCreate,
        (true, false, false) => Disposition::OpenOrCreate,
        (false, _, true) => Disposition::Overwrite,
        (false, _, false) => Disposition::Open,
    };
    Ok(Op::Open { path, disposition })
}

fn read(line: &mut Arguments<'_>) -> Result<Op, String> {
    let (file, at, length) = (line.file()?, line.place()?, line.small("a length")?);
    let moved = line.moved()?.or(whole(file, length));
    Ok(Op::Read { file, at, length, moved })
}

fn write(line: &mut Arguments<'_>) -> Result<Op, String> {
    let (file, at, length) = (line.file()?, line.place()?, line.small("a length")?);
    let moved = line.moved()?.or(Some(length));
    Ok(Op::Write { file, at, length, moved })
}

/// dbench 5's reads by path must bring all that they ask for.
fn whole(file: File, length: u32) -> Option<u32> {
    matches!(file, File::Path(_)).then_some(length)
}

fn rename(line: &mut Arguments<'_>) -> Result<Op, String> {
    let (from, to) = (line.path()?, line.path()?);
    Ok(Op::Rename { from, to })
}

fn find(line: &mut Arguments<'_>) -> Result<Op, String> {
    let (path, pattern) = line.search()?;
    let class = level(line, levels::of_entries)?;
    // How many entries to take at most, and how many there were: dbench does not hold anybody to them.
    line.ignore();
    Ok(Op::Find { path, pattern, class })
}

fn set_attributes_of(line: &mut Arguments<'_>) -> Result<Op, String> {
    let (handle, level) = (line.small("a handle")?, line.number("a level")?);
    if !levels::sets_attributes(level) {
        return Err(format!("level {level} is not supported: expected 1004 or 0x101 (times and attributes)"));
    }
    Ok(Op::SetAttributesOf { handle })
}

fn unavailable(line: &mut Arguments<'_>) -> Result<Op, String> {
    line.ignore();
    Ok(Op::Unavailable)
}

fn level<T>(line: &mut Arguments<'_>, class: fn(u64) -> Option<T>) -> Result<T, String> {
    let level = line.number("a level")?;
    class(level).ok_or_else(|| format!("level {level}: unknown information level"))
}
