//! Any command's path, second path and FID, asked for without knowing the command.
//! Spec: MS-CIFS 2.2.4

use super::andx::Link;
use super::command;
use super::open::{self, FORMAT_STRING};
use super::string::SmbString;
use super::trans2;
use super::transaction::Transaction;

/// FID as the first word.
const CORE_FID: usize = 0;
/// FID after the AndX words.
const ANDX_FID: usize = 4;

/// The path that a request is about (the old one of two), as it stands on the wire: with a pattern in a search, relative
/// to another FID in some NT opens. Not the share: see [`super::session::TreeConnect`].
pub fn path<'a>(link: &Link<'a>) -> Option<SmbString<'a>> {
    if !link.is_request() {
        return None;
    }
    match link.command {
        command::CREATE_DIRECTORY
        | command::DELETE_DIRECTORY
        | command::CHECK_DIRECTORY
        | command::DELETE
        | command::RENAME
        | command::NT_RENAME
        | command::QUERY_INFORMATION
        | command::SET_INFORMATION
        | command::SEARCH
        | command::FIND
        | command::FIND_UNIQUE
        | command::OPEN_PRINT_FILE => link.reader()?.formatted(FORMAT_STRING),
        command::TRANSACTION => Transaction::new(link)?.name(),
        command::TRANSACTION2 => trans2::path(&Transaction::new(link)?),
        command::NT_TRANSACT => Transaction::new(link)?.nt_create_path(),
        _ => open::path(link),
    }
}

/// The new path of RENAME and NT_RENAME.
pub fn new_path<'a>(link: &Link<'a>) -> Option<SmbString<'a>> {
    if !link.is_request() || !matches!(link.command, command::RENAME | command::NT_RENAME) {
        return None;
    }
    let mut reader = link.reader()?;
    reader.formatted(FORMAT_STRING)?;
    reader.formatted(FORMAT_STRING)
}

/// The open file of a request. For the file that an answer opens: [`open::opened_fid`].
pub fn fid(link: &Link<'_>) -> Option<u16> {
    if !link.is_request() {
        return None;
    }
    match link.command {
        command::CLOSE
        | command::FLUSH
        | command::READ
        | command::WRITE
        | command::LOCK_BYTE_RANGE
        | command::UNLOCK_BYTE_RANGE
        | command::SEEK
        | command::LOCK_AND_READ
        | command::WRITE_AND_UNLOCK
        | command::READ_RAW
        | command::READ_MPX
        | command::WRITE_RAW
        | command::WRITE_MPX
        | command::WRITE_MPX_SECONDARY
        | command::SET_INFORMATION2
        | command::QUERY_INFORMATION2
        | command::IOCTL
        | command::WRITE_AND_CLOSE
        | command::CLOSE_AND_TREE_DISC
        | command::WRITE_PRINT_FILE
        | command::CLOSE_PRINT_FILE => link.u16(CORE_FID),
        command::LOCKING_ANDX | command::READ_ANDX | command::WRITE_ANDX => link.u16(ANDX_FID),
        command::TRANSACTION2 => trans2::fid(&Transaction::new(link)?),
        command::TRANSACTION | command::TRANSACTION2_SECONDARY | command::NT_TRANSACT => Transaction::new(link)?.fid(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::build::{Build, first, wide, words};
    use super::*;

    #[test]
    fn both_names_of_a_rename() {
        // MS-CIFS 2.2.4.8.1: two SMB_STRINGs, each behind its buffer format; UTF-16 aligned from the header. The bytes
        // start at 32 + 1 + 2 + 2 = 37: the first name needs no padding, the second one does.
        let bytes = [&[4][..], &wide("\\a\0"), &[4, 0], &wide("\\bc\0")].concat();
        let message = Build::request(command::RENAME).unicode().block(&words(&[0x16]), &bytes).done();
        assert_eq!(path(&first(&message)).unwrap().text(), "\\a");
        assert_eq!(new_path(&first(&message)).unwrap().text(), "\\bc");
        let oem = Build::request(command::RENAME).block(&words(&[0x16]), b"\x04\\a\0\x04\\bc\0").done();
        assert_eq!(new_path(&first(&oem)).unwrap().text(), "\\bc");
    }

    #[test]
    fn answers_and_other_commands_have_no_path() {
        let answer = Build::response(command::DELETE).block(&[], &[]).done();
        assert_eq!(path(&first(&answer)), None);
        let echo = Build::request(command::ECHO).block(&words(&[1]), b"\x04\\a\0").done();
        assert_eq!((path(&first(&echo)), fid(&first(&echo))), (None, None));
    }

    #[test]
    fn a_wrong_buffer_format_gives_nothing() {
        let message = Build::request(command::DELETE).block(&words(&[0]), b"\x05\\a\0").done();
        assert_eq!(path(&first(&message)), None);
    }

    #[test]
    fn fid_of_core_and_andx_requests() {
        let close = Build::request(command::CLOSE).block(&words(&[0x4001, 0, 0]), &[]).done();
        assert_eq!(fid(&first(&close)), Some(0x4001));
        let read = Build::request(command::READ_ANDX).block(&words(&[0xff, 0, 0x4002]), &[]).done();
        assert_eq!(fid(&first(&read)), Some(0x4002), "known though the rest of the words is missing");
    }
}
