//! Parses responses strictly.

use plimsoll_wire::smb2::ioctl::fsctl;
use plimsoll_wire::smb2::query_directory::Entries;
use plimsoll_wire::smb2::reply::{Buffer, Why};
use plimsoll_wire::smb2::status::Severity;
use plimsoll_wire::smb2::{Answer, Malformed, Reply, information, status};
use plimsoll_wire::smb2::{
    change_notify, close, create, empty_body, flush, ioctl, lock, negotiate, oplock_break, query_directory, query_info,
    read, session_setup, set_info, tree_connect, write,
};

use super::connection::RequestContext;
use super::request_kind::{ENTRIES, RequestKind};

/// The content of a response.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found<'a> {
    /// No.
    Refused,
    /// Success, without further content.
    Nothing,
    /// The negotiated values.
    Negotiated(negotiate::Negotiated<'a>),
    /// The server's part of a logon.
    SessionSetup(session_setup::SetupReply<'a>),
    /// The share.
    TreeConnected(tree_connect::Connected),
    /// The values that the server states in VALIDATE_NEGOTIATE_INFO.
    Validated(fsctl::Validated),
    /// The file.
    Opened(create::Opened),
    /// The end of the file or directory.
    End,
    /// Number of bytes read, and the bytes that were stored.
    Data { length: u32, kept: &'a [u8] },
    /// Number of bytes written.
    Written(u32),
    /// Size of a file, and whether it is a directory.
    Attributes(u64, bool),
    /// Size and free bytes of the file system.
    Space(u64, u64),
    /// Entries of a directory, checked.
    Entries(Buffer<'a>),
    /// Entries of a directory in the class that was asked for, not looked at yet.
    Matches(Buffer<'a>),
    /// A resume key: the source of a server-side copy.
    ResumeKey([u8; 24]),
    /// Number of bytes copied.
    Copied(u32),
    /// The server's addresses, not looked at yet.
    Interfaces(Buffer<'a>),
}

/// Reads the answer to a request.
pub(super) fn read<'a>(reply: &Reply<'a>, context: &RequestContext) -> Result<Found<'a>, Malformed> {
    let nothing = |()| Ok(Found::Nothing);
    match context.kind {
        RequestKind::Read if reply.status() == status::STATUS_END_OF_FILE => Ok(Found::End),
        RequestKind::Read => done(read::parse(reply)?, |data| {
            within(reply, "DataLength", data.length, context.asked)?;
            Ok(Found::Data { length: data.length, kept: data.kept })
        }),
        RequestKind::Write => done(write::parse(reply)?, |written| {
            within(reply, "Count", written.count, context.asked)?;
            Ok(Found::Written(written.count))
        }),
        RequestKind::Open | RequestKind::Reconnect | RequestKind::Create => {
            done(create::parse(reply)?, |opened| Ok(Found::Opened(opened)))
        }
        RequestKind::Close => done(close::parse(reply)?, |_| Ok(Found::Nothing)),
        RequestKind::Attributes => done(query_info::parse(reply)?, |buffer| {
            let found = information::network_open(&buffer)?;
            Ok(Found::Attributes(found.end_of_file, found.attributes & create::ATTRIBUTE_DIRECTORY != 0))
        }),
        RequestKind::Space => done(query_info::parse(reply)?, |buffer| {
            let size = information::FullSize::parse(&buffer)?;
            let bytes = |units: u64| units.saturating_mul(size.unit_bytes());
            Ok(Found::Space(bytes(size.total), bytes(size.available_to_caller)))
        }),
        RequestKind::Information | RequestKind::FileSystem => done(query_info::parse(reply)?, |_| Ok(Found::Nothing)),
        // The content is ignored: office programs send such requests, and so does this client.
        RequestKind::ObjectId | RequestKind::Snapshots => output(reply, |_| Found::Nothing),
        RequestKind::Interfaces => output(reply, Found::Interfaces),
        RequestKind::List => entries(reply),
        RequestKind::Find => done(query_directory::parse(reply)?, |buffer| Ok(Found::Matches(buffer))),
        RequestKind::Flush => done(flush::parse(reply)?, nothing),
        RequestKind::SetTimes
        | RequestKind::SetSize
        | RequestKind::Rename
        | RequestKind::Link
        | RequestKind::Dispose => done(set_info::parse(reply)?, nothing),
        RequestKind::Lock => done(lock::parse(reply)?, nothing),
        RequestKind::Watch => done(change_notify::parse(reply)?, |_| Ok(Found::Nothing)),
        RequestKind::Validate | RequestKind::ResumeKey | RequestKind::Copy | RequestKind::CopyWriteOnly => {
            controlled(reply, context.kind)
        }
        RequestKind::Negotiate => done(negotiate::parse(reply)?, |chosen| Ok(Found::Negotiated(chosen))),
        RequestKind::SessionSetup | RequestKind::Bind => {
            done(session_setup::parse(reply)?, |step| Ok(Found::SessionSetup(step)))
        }
        RequestKind::TreeConnect => done(tree_connect::parse(reply)?, |share| Ok(Found::TreeConnected(share))),
        RequestKind::TreeDisconnect => done(empty_body::TreeDisconnect::parse(reply)?, nothing),
        RequestKind::Logoff => done(empty_body::Logoff::parse(reply)?, nothing),
        // CANCEL has no response.
        RequestKind::Cancel => Ok(Found::Nothing),
        RequestKind::Echo => done(empty_body::Echo::parse(reply)?, nothing),
        RequestKind::BreakAcknowledgement => done(oplock_break::parse(reply)?, |_| Ok(Found::Nothing)),
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

/// A response with more than was requested is malformed.
fn within(reply: &Reply<'_>, field: &'static str, found: u32, asked: u32) -> Result<(), Malformed> {
    if found <= asked {
        return Ok(());
    }
    Err(Malformed { command: reply.command(), field, why: Why::Value(found.into()) })
}

fn entries<'a>(reply: &Reply<'a>) -> Result<Found<'a>, Malformed> {
    // At the first request this status means that no file matches, because every directory contains itself.
    if matches!(reply.status(), status::STATUS_NO_MORE_FILES | status::STATUS_NO_SUCH_FILE) {
        return Ok(Found::End);
    }
    done(query_directory::parse(reply)?, |buffer| {
        let mut count = 0;
        for entry in Entries::new(&buffer, ENTRIES) {
            entry?;
            count += 1;
        }
        // An empty response is not the end: the end has a status. Accepting it would cause an endless loop.
        let field = "OutputBufferLength";
        let none = Malformed { command: reply.command(), field, why: Why::Value(0) };
        if count == 0 { Err(none) } else { Ok(Found::Entries(buffer)) }
    })
}

/// The output of an IOCTL. A server may send an output with an error status, too: the operation has then failed.
fn output<'a>(reply: &Reply<'a>, found: impl FnOnce(Buffer<'a>) -> Found<'a>) -> Result<Found<'a>, Malformed> {
    done(ioctl::parse(reply)?, |controlled| {
        let has_failed = Severity::of(reply.status()) == Severity::Error;
        Ok(if has_failed { Found::Refused } else { found(controlled.output) })
    })
}

fn controlled<'a>(reply: &Reply<'a>, kind: RequestKind) -> Result<Found<'a>, Malformed> {
    done(ioctl::parse(reply)?, |controlled| {
        let output = controlled.output;
        // If a copy is too large, the response has the limits of the server.
        if reply.status() != status::STATUS_SUCCESS {
            return Ok(Found::Refused);
        }
        Ok(match kind {
            RequestKind::Validate => Found::Validated(fsctl::validated(&output)?),
            RequestKind::ResumeKey => Found::ResumeKey(fsctl::resume_key(&output)?.0),
            _ => Found::Copied(fsctl::copied(&output)?.total_bytes),
        })
    })
}
