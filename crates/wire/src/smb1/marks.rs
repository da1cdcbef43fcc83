//! Marks in SMB1 messages. The words of the commands in MS-CIFS are numbers; in the bytes after them the names are marked, and the
//! parameters of transactions as far as the views read them.
//!
//! Spec: MS-CIFS 2.2.3, 2.2.4, 2.2.6, 2.2.7

use super::andx::{Chain, Link};
use super::open::FORMAT_STRING;
use super::session::{Credentials, TreeConnect, credentials};
use super::string::SmbString;
use super::subcommand::trans2;
use super::transaction::Transaction;
use super::{command, header, locking, path};
use crate::marks::{Mark, Marks};
use crate::{ntlmssp, pipe};

/// SecurityFeatures: what signs the message.
const SECURITY: core::ops::Range<usize> = 14..22;
/// A range of LOCKING_ANDX, and a large one.
const RANGE: usize = 10;
const LARGE_RANGE: usize = 20;
/// Parameters of a response that the views read: its FID.
const RESPONSE_PARAMETERS: usize = 4;
/// Parameters of TRANSACTION2 functions on an open file: FID, level, reserved.
const FID_AND_LEVEL: usize = 6;
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
    marks.part(link.words, Mark::Number);
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
        (command::TRANSACTION2 | command::NT_TRANSACT, function) => {
            let name = path::path(link).and_then(|name| marks.place(name.raw));
            match name.filter(|name| parameters.start <= name.start && name.end <= parameters.end) {
                Some(name) => name.start - parameters.start,
                None if function.is_some() => FID_AND_LEVEL,
                None => 0,
            }
        }
        _ => 0,
    };
    marks.range(parameters.start..(parameters.start + len).min(parameters.end), Mark::Number);
    Some(())
}
