//! Marks in SMB1 messages. The words of the commands in MS-CIFS are numbers, except times of files; in the bytes after them the names are
//! marked, and the parameters of transactions as far as the views read them.
//!
//! Spec: MS-CIFS 2.2.3, 2.2.4, 2.2.6, 2.2.7; MS-SMB 2.2.4.9

use core::ops::Range;

use super::andx::{Chain, Link};
use super::open::FORMAT_STRING;
use super::session::{Credentials, TreeConnect, credentials};
use super::string::SmbString;
use super::subcommand::{nt, trans2};
use super::transaction::Transaction;
use super::{command, header, locking, path};
use crate::marks::{Mark, Marks};
use crate::{ntlmssp, pipe};

/// SecurityFeatures: what signs the message.
const SECURITY: Range<usize> = 14..22;
/// A range of LOCKING_ANDX, and a large one.
const RANGE: usize = 10;
const LARGE_RANGE: usize = 20;
/// Parameters of a response that the views read: its FID.
const RESPONSE_PARAMETERS: usize = 4;
/// Parameters of TRANSACTION2 functions on an open file: FID, level, reserved.
const FID_AND_LEVEL: usize = 6;
/// Parameters of NT_TRANSACT functions on an open file: FID, then flags or reserved bytes.
const FID_AND_FLAGS: usize = 4;
/// Parameters of NT_TRANSACT CREATE before the name.
const BEFORE_NT_NAME: usize = 53;
/// CreationTime in the parameters of OPEN2.
const OPEN2_TIME: Range<usize> = 8..12;
/// NT_CREATE_ANDX response with extended security: the volume's GUID and the file's number on its disk.
const VOLUME_AND_FILE: Range<usize> = 68..92;
/// FIND_NEXT2: SID, count, level, resume key, flags.
const FIND_NEXT: usize = 12;
/// Padding that data may have in front, bytes.
const PADDING_MAX: usize = 3;

/// Marks a message of `len` bytes.
pub fn mark(len: usize, marks: &mut Marks<'_>) {
    let Some(chain) = Chain::new(marks.message(), len) else { return };
    let end = header::HEADER_LEN.min(len);
    marks.range(0..SECURITY.start.min(end), Mark::Number);
    marks.range(SECURITY.end..end, Mark::Number);
    for link in chain {
        mark_link(&link, marks);
    }
}

fn mark_link(link: &Link<'_>, marks: &mut Marks<'_>) {
    let Some(word_count) = link.word_count else { return };
    let words_end = link.offset + 1 + usize::from(word_count) * 2;
    marks.range(link.offset..link.offset + 1, Mark::Number);
    marks.range(words_end..words_end + 2, Mark::Number);
    if command::name(link.command).is_none() {
        return;
    }
    mark_words(link, marks);
    // Any of these may be missing.
    let _ = mark_transaction(link, marks);
    for name in [path::path(link), path::new_path(link)].into_iter().flatten() {
        mark_name(link, &name, marks);
    }
    match credentials(link) {
        Some(Credentials::Account { account, domain }) => {
            mark_name(link, &account, marks);
            domain.iter().for_each(|domain| mark_name(link, domain, marks));
        }
        Some(Credentials::Blob { token, .. }) => ntlmssp::mark(token, marks),
        None => {}
    }
    if let Some(connect) = TreeConnect::new(link) {
        mark_name(link, &connect.path, marks);
    }
    if let Some(locks) = locking::Locking::new(link) {
        let size = if locks.kind & locking::LARGE_FILES != 0 { LARGE_RANGE } else { RANGE };
        let ranges = (usize::from(locks.locks) + usize::from(locks.unlocks)) * size;
        marks.part(link.bytes.get(..ranges).unwrap_or(link.bytes), Mark::Number);
    }
    if link.is_request() && matches!(link.command, command::WRITE | command::WRITE_ANDX) {
        let padded = (0..=PADDING_MAX).filter_map(|padding| link.bytes.get(padding..));
        padded.map(pipe::call_header).for_each(|call| marks.part(call, Mark::Number));
    }
}

/// Marks the words without times of files and numbers of a disk.
fn mark_words(link: &Link<'_>, marks: &mut Marks<'_>) {
    let times = times(link);
    let is_nt_open = link.command == command::NT_CREATE_ANDX && link.is_response();
    let numbers = if is_nt_open { VOLUME_AND_FILE } else { times.end..times.end };
    let mut from = 0;
    for secret in [times, numbers] {
        let rest = link.words.get(from..).unwrap_or_default();
        marks.part(rest.get(..secret.start - from).unwrap_or(rest), Mark::Number);
        from = secret.end;
    }
    marks.part(link.words.get(from..).unwrap_or_default(), Mark::Number);
}

/// Times of a file in the words, bytes.
fn times(link: &Link<'_>) -> Range<usize> {
    match (link.command, link.is_request()) {
        (
            command::CREATE
            | command::CREATE_NEW
            | command::CREATE_TEMPORARY
            | command::CLOSE
            | command::CLOSE_AND_TREE_DISC
            | command::SET_INFORMATION,
            true,
        )
        | (command::QUERY_INFORMATION, false) => 2..6,
        (command::OPEN, false) => 4..8,
        (command::OPEN_ANDX, true) => 12..16,
        (command::OPEN_ANDX, false) | (command::WRITE_AND_CLOSE, true) => 8..12,
        (command::SET_INFORMATION2, true) => 2..14,
        (command::QUERY_INFORMATION2, false) => 0..12,
        (command::NT_CREATE_ANDX, false) => 11..43,
        _ => 0..0,
    }
}

/// Marks a name, and the byte before it that says that there is one.
fn mark_name(link: &Link<'_>, name: &SmbString<'_>, marks: &mut Marks<'_>) {
    let Some(range) = marks.place(name.raw) else { return };
    let bytes = marks.place(link.bytes).unwrap_or(0..0);
    // UTF-16 may be preceded by an alignment byte.
    for at in range.start.saturating_sub(2).max(bytes.start)..range.start {
        if marks.message().get(at) == Some(&FORMAT_STRING) {
            marks.range(at..at + 1, Mark::Number);
        }
    }
    marks.range(range, if name.unicode { Mark::Wide } else { Mark::Narrow });
}

/// Marks the parameters of a transaction up to a name in them.
fn mark_transaction(link: &Link<'_>, marks: &mut Marks<'_>) -> Option<()> {
    let transaction = Transaction::new(link)?;
    let parameters = marks.place(transaction.parameters.bytes)?;
    let len = match (link.command, transaction.function()) {
        _ if link.is_response() && transaction.parameters.displacement == 0 => RESPONSE_PARAMETERS,
        _ if !link.is_request() => 0,
        (command::TRANSACTION2, Some(trans2::FIND_NEXT2)) => FIND_NEXT,
        (command::TRANSACTION2 | command::NT_TRANSACT, _) => {
            let name = path::path(link).and_then(|name| marks.place(name.raw));
            match name.filter(|name| parameters.start <= name.start && name.end <= parameters.end) {
                Some(name) => name.start - parameters.start,
                None => nameless_len(&transaction, link),
            }
        }
        _ => 0,
    };
    let is_open2 = link.command == command::TRANSACTION2 && transaction.function() == Some(trans2::OPEN2);
    let secret = if is_open2 { OPEN2_TIME } else { 0..0 };
    for range in [0..secret.start.min(len), secret.end.min(len)..len] {
        let [start, end] = [range.start, range.end].map(|at| (parameters.start + at).min(parameters.end));
        marks.range(start..end, Mark::Number);
    }
    Some(())
}

/// Length of the parameters that the views read if they find no name. Unknown functions may begin with a name.
fn nameless_len(transaction: &Transaction<'_>, link: &Link<'_>) -> usize {
    match (link.command, transaction.function()) {
        (command::TRANSACTION2, _) if super::trans2::fid(transaction).is_some() => FID_AND_LEVEL,
        (command::TRANSACTION2, _) => super::trans2::path_at(transaction).unwrap_or(0),
        (command::NT_TRANSACT, Some(nt::CREATE)) => BEFORE_NT_NAME,
        // Their FIDs are setup words.
        (command::NT_TRANSACT, Some(nt::IOCTL | nt::NOTIFY_CHANGE)) => 0,
        (command::NT_TRANSACT, _) if transaction.fid().is_some() => FID_AND_FLAGS,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::build::{Build, wide};
    use super::super::transaction::tests::{nt_request, request};
    use super::*;

    /// Marked bytes among the last `len` ones.
    fn marked(message: &[u8], len: usize) -> Vec<usize> {
        let mut marks = Marks::new(message);
        mark(message.len(), &mut marks);
        let mut found: Vec<usize> = marks.iter().flat_map(|(range, _)| range).collect();
        found.sort_unstable();
        found.dedup();
        let from = message.len() - len;
        found.into_iter().filter_map(|at| at.checked_sub(from)).collect()
    }

    #[test]
    fn times_of_files_and_numbers_of_the_disk_are_not_marked() {
        let block = |message: Build, words: &[u8]| marked(&message.block(words, &[]).done(), words.len() + 2);
        let answered = |command, words: &[u8]| block(Build::response(command), words);
        let asked = |command, words: &[u8]| block(Build::request(command), words);
        let but = |len: usize, secret: &[Range<usize>]| -> Vec<usize> {
            (0..len + 2).filter(|at| !secret.iter().any(|range| range.contains(at))).collect()
        };
        // MS-CIFS 2.2.4.64.2, MS-SMB 2.2.4.9.2: no further command, then the FID.
        assert_eq!(answered(command::NT_CREATE_ANDX, &[0xff; 68]), but(68, &[11..43, 68..68]));
        assert_eq!(answered(command::NT_CREATE_ANDX, &[0xff; 100]), but(100, &[11..43, 68..92]));
        assert_eq!(answered(command::OPEN_ANDX, &[0xff; 30]), but(30, &[8..12, 0..0]));
        assert_eq!(asked(command::OPEN_ANDX, &[0xff; 30]), but(30, &[12..16, 0..0]));
        assert_eq!(asked(command::CLOSE, &[7; 6]), but(6, &[2..6, 0..0]));
        assert_eq!(answered(command::CLOSE, &[]), but(0, &[]));
        assert_eq!(asked(command::READ_ANDX, &[0xff; 24]), but(24, &[]));
    }

    #[test]
    fn parameters_of_unknown_functions_are_not_marked() {
        let name = wide("\\SECRETSERVER\\x\0");
        let total = name.len() as u16;
        for function in [trans2::REPORT_DFS_INCONSISTENCY, trans2::FSCTL, 0x20] {
            let message = request(command::TRANSACTION2, &[function], &[0], &name, (total, 0));
            assert!(marked(&message, name.len()).is_empty(), "function {function}");
        }
        let renamed = [&[7, 0, 1, 0][..], &name].concat();
        assert_eq!(marked(&nt_request(nt::RENAME, &[], &renamed), renamed.len()), [0, 1, 2, 3]);
        assert!(marked(&nt_request(0x77, &[], &name), name.len()).is_empty());
        let referral = [&[3, 0][..], &name].concat();
        let message = request(command::TRANSACTION2, &[trans2::GET_DFS_REFERRAL], &[0], &referral, (total + 2, 0));
        // Without the terminator.
        assert_eq!(marked(&message, referral.len()), (0..referral.len() - 2).collect::<Vec<_>>());
    }
}
