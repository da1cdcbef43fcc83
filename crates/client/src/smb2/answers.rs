//! What an answer says, read strictly.

use plimsoll_wire::smb2::ioctl::fsctl;
use plimsoll_wire::smb2::query_directory::Entries;
use plimsoll_wire::smb2::reply::{Buffer, Why};
use plimsoll_wire::smb2::{Answer, Malformed, Reply, information, status};
use plimsoll_wire::smb2::{
    change_notify, close, create, echo, flush, ioctl, lock, logoff, negotiate, oplock_break, query_directory,
    query_info, read, session_setup, set_info, tree_connect, tree_disconnect, write,
};

use super::connection::RequestContext;
use super::operations::ENTRIES;
use super::step::Step;

/// What an answer says.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found<'a> {
    /// No.
    Refused,
    /// Done, and nothing else to know.
    Nothing,
    /// What the server chose.
    Negotiated(negotiate::Negotiated<'a>),
    /// The server's part of a logon.
    SessionSetup(session_setup::Step<'a>),
    /// The share.
    TreeConnected(tree_connect::Connected),
    /// What the server says now that it chose.
    Validated(fsctl::Validated),
    /// The file.
    Opened(create::Opened),
    /// There is no more: of the file, of the directory.
    End,
    /// So many bytes, of which so many were kept.
    Data { length: u32, kept: &'a [u8] },
    /// So many bytes were written.
    Written(u32),
    /// Size of a file, and whether it is a directory.
    Attributes(u64, bool),
    /// Size and free bytes of the file system.
    Space(u64, u64),
    /// Entries of a directory, all of them as they should be.
    Entries(Buffer<'a>),
    /// Entries of a directory in the class that was asked for, not looked at yet.
    Matches(Buffer<'a>),
    /// A file's name for copying from it.
    ResumeKey([u8; 24]),
    /// So many bytes were copied.
    Copied(u32),
}

/// Reads the answer to a request.
pub(super) fn read<'a>(reply: &Reply<'a>, what: &RequestContext) -> Result<Found<'a>, Malformed> {
    let nothing = |()| Ok(Found::Nothing);
    match what.step {
        Step::Read if reply.status() == status::STATUS_END_OF_FILE => Ok(Found::End),
        Step::Read => done(read::parse(reply)?, |data| {
            within(reply, "DataLength", data.length, what.asked)?;
            Ok(Found::Data { length: data.length, kept: data.kept })
        }),
        Step::Write => done(write::parse(reply)?, |written| {
            within(reply, "Count", written.count, what.asked)?;
            Ok(Found::Written(written.count))
        }),
        Step::Open | Step::Create => done(create::parse(reply)?, |opened| Ok(Found::Opened(opened))),
        Step::Close => done(close::parse(reply)?, |_| Ok(Found::Nothing)),
        Step::Attributes => done(query_info::parse(reply)?, |buffer| {
            let found = information::network_open(&buffer)?;
            Ok(Found::Attributes(found.end_of_file, found.attributes & create::ATTRIBUTE_DIRECTORY != 0))
        }),
        Step::Space => done(query_info::parse(reply)?, |buffer| {
            let size = information::FullSize::parse(&buffer)?;
            let bytes = |units: u64| units.saturating_mul(size.unit_bytes());
            Ok(Found::Space(bytes(size.total), bytes(size.available_to_caller)))
        }),
        Step::Information | Step::FileSystem => done(query_info::parse(reply)?, |_| Ok(Found::Nothing)),
        // What is in it is nobody's business here: it was asked for as office programs do.
        Step::ObjectId | Step::Snapshots | Step::Interfaces => done(ioctl::parse(reply)?, |_| Ok(Found::Nothing)),
        Step::List => entries(reply),
        Step::Find => done(query_directory::parse(reply)?, |buffer| Ok(Found::Matches(buffer))),
        Step::Flush => done(flush::parse(reply)?, nothing),
        Step::SetTimes | Step::SetSize | Step::Rename | Step::Link | Step::Dispose => {
            done(set_info::parse(reply)?, nothing)
        }
        Step::Lock => done(lock::parse(reply)?, nothing),
        Step::Watch => done(change_notify::parse(reply)?, |_| Ok(Found::Nothing)),
        Step::Validate | Step::ResumeKey | Step::Copy | Step::CopyWriteOnly => controlled(reply, what.step),
        Step::Negotiate => done(negotiate::parse(reply)?, |chosen| Ok(Found::Negotiated(chosen))),
        Step::SessionSetup => done(session_setup::parse(reply)?, |step| Ok(Found::SessionSetup(step))),
        Step::TreeConnect => done(tree_connect::parse(reply)?, |share| Ok(Found::TreeConnected(share))),
        Step::TreeDisconnect => done(tree_disconnect::parse(reply)?, nothing),
        Step::Logoff => done(logoff::parse(reply)?, nothing),
        // It has no answer.
        Step::Cancel => Ok(Found::Nothing),
        Step::Echo => done(echo::parse(reply)?, nothing),
        Step::BreakAcknowledgement => done(oplock_break::parse(reply)?, |_| Ok(Found::Nothing)),
    }
}

fn done<'a, T>(
    answer: Answer<'a, T>,
    found: impl FnOnce(T) -> Result<Found<'a>, Malformed>,
) -> Result<Found<'a>, Malformed> {
    match answer {
        Answer::Done(done) => found(done),
        Answer::Refused(_) => Ok(Found::Refused),
    }
}

/// More than was asked for is no answer to what was asked.
fn within(reply: &Reply<'_>, field: &'static str, found: u32, asked: u32) -> Result<(), Malformed> {
    if found <= asked {
        return Ok(());
    }
    Err(Malformed { command: reply.command(), field, why: Why::Value(found.into()) })
}

fn entries<'a>(reply: &Reply<'a>) -> Result<Found<'a>, Malformed> {
    // A directory without even itself in it has no such file at the first question.
    if matches!(reply.status(), status::STATUS_NO_MORE_FILES | status::STATUS_NO_SUCH_FILE) {
        return Ok(Found::End);
    }
    done(query_directory::parse(reply)?, |buffer| {
        let mut count = 0;
        for entry in Entries::new(&buffer, ENTRIES) {
            entry?;
            count += 1;
        }
        // Nothing is not the end: the server has a status for that, and whoever waits for it waits for ever.
        let field = "OutputBufferLength";
        let none = Malformed { command: reply.command(), field, why: Why::Value(0) };
        if count == 0 { Err(none) } else { Ok(Found::Entries(buffer)) }
    })
}

fn controlled<'a>(reply: &Reply<'a>, step: Step) -> Result<Found<'a>, Malformed> {
    done(ioctl::parse(reply)?, |controlled| {
        let output = controlled.output;
        // A copy that is too large is refused with what would not be.
        if reply.status() != status::STATUS_SUCCESS {
            return Ok(Found::Refused);
        }
        Ok(match step {
            Step::Validate => Found::Validated(fsctl::validated(&output)?),
            Step::ResumeKey => Found::ResumeKey(fsctl::resume_key(&output)?.0),
            _ => Found::Copied(fsctl::copied(&output)?.total_bytes),
        })
    })
}
