//! Reads any answer to its end, to check that it follows the specification; the contents are dropped.
//!
//! Spec: MS-SMB2 2.2

use super::empty_body::{Echo, Logoff, TreeDisconnect};
use super::header::UNSOLICITED;
use super::information::{CLASS_BASIC, CLASS_FS_FULL_SIZE, CLASS_NETWORK_OPEN, FileBasic, FullSize, network_open};
use super::ioctl::fsctl;
use super::query_directory::{Class, Entries};
use super::reply::Buffer;
use super::{
    Answer, Command, Malformed, Reply, change_notify, close, create, flush, ioctl, lock, negotiate, oplock_break,
    query_directory, query_info, read, session_setup, set_info, tree_connect, write,
};

/// The kind of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// The command's own body.
    Done,
    /// The ERROR body.
    Refused,
    /// Only that the answer will come later.
    Interim,
    /// An unsolicited break.
    Notice,
    /// A command that no client here sends.
    Unread,
}

/// Reads an answer. `info_type` and `class` are those of the QUERY_INFO or QUERY_DIRECTORY request; contents of classes that are not
/// supported here are skipped.
///
/// # Errors
/// If a field violates the specification.
pub fn read(reply: &Reply<'_>, info_type: u8, class: u8) -> Result<Form, Malformed> {
    if reply.is_interim() {
        return Ok(Form::Interim);
    }
    if reply.command() == Command::OplockBreak && reply.message_id() == UNSOLICITED {
        return oplock_break::notice(reply).map(|_| Form::Notice);
    }
    match reply.command() {
        Command::Negotiate => form(negotiate::parse(reply)?),
        Command::SessionSetup => form(session_setup::parse(reply)?),
        Command::Logoff => form(Logoff::parse(reply)?),
        Command::TreeConnect => form(tree_connect::parse(reply)?),
        Command::TreeDisconnect => form(TreeDisconnect::parse(reply)?),
        Command::Create => form(create::parse(reply)?),
        Command::Close => form(close::parse(reply)?),
        Command::Flush => form(flush::parse(reply)?),
        Command::Read => form(read::parse(reply)?),
        Command::Write => form(write::parse(reply)?),
        Command::Lock => form(lock::parse(reply)?),
        Command::Ioctl => further(ioctl::parse(reply)?, |answer| controlled(&answer)),
        Command::Echo => form(Echo::parse(reply)?),
        Command::QueryDirectory => further(query_directory::parse(reply)?, |buffer| {
            let class = Class::ALL.into_iter().find(|one| one.code() == class);
            class.map_or(Ok(()), |class| Entries::new(&buffer, class).try_for_each(|entry| entry.map(|_| ())))
        }),
        Command::ChangeNotify => {
            further(change_notify::parse(reply)?, |mut changes| changes.try_for_each(|change| change.map(|_| ())))
        }
        Command::QueryInfo => further(query_info::parse(reply)?, |buffer| information(&buffer, info_type, class)),
        Command::SetInfo => form(set_info::parse(reply)?),
        Command::OplockBreak => form(oplock_break::parse(reply)?),
        Command::Cancel | Command::ServerToClientNotification | Command::Unknown(_) => Ok(Form::Unread),
    }
}

fn form<T>(answer: Answer<'_, T>) -> Result<Form, Malformed> {
    further(answer, |_| Ok(()))
}

/// Continues with the body of a successful answer.
fn further<T>(answer: Answer<'_, T>, read: impl FnOnce(T) -> Result<(), Malformed>) -> Result<Form, Malformed> {
    match answer {
        Answer::Done(done) => read(done).map(|()| Form::Done),
        Answer::Refused(_) => Ok(Form::Refused),
    }
}

fn controlled(answer: &ioctl::Controlled<'_>) -> Result<(), Malformed> {
    match answer.code {
        fsctl::REQUEST_RESUME_KEY => fsctl::resume_key(&answer.output).map(|_| ()),
        fsctl::COPY_CHUNK | fsctl::COPY_CHUNK_WRITE => fsctl::copied(&answer.output).map(|_| ()),
        fsctl::VALIDATE_NEGOTIATE => fsctl::validated(&answer.output).map(|_| ()),
        _ => Ok(()),
    }
}

fn information(buffer: &Buffer<'_>, info_type: u8, class: u8) -> Result<(), Malformed> {
    match (info_type, class) {
        (1, CLASS_BASIC) => FileBasic::parse(buffer).map(|_| ()),
        (1, CLASS_NETWORK_OPEN) => network_open(buffer).map(|_| ()),
        (2, CLASS_FS_FULL_SIZE) => FullSize::parse(buffer).map(|_| ()),
        _ => Ok(()),
    }
}
