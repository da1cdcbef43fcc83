//! What an answer says, read strictly.

use plimsoll_wire::smb2::{
    Answer, Malformed, Reply, create, negotiate, read, session_setup, status, tree_connect, write,
};
use plimsoll_wire::smb2::{close, echo, logoff, tree_disconnect};

use super::client::What;
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
    /// The file.
    Opened(create::Opened),
    /// The file ends before what was asked for.
    End,
    /// So many bytes, of which so many were kept.
    Data { length: u32, kept: &'a [u8] },
    /// So many bytes were written.
    Written(u32),
}

/// Reads the answer to a request.
pub(super) fn read<'a>(reply: &Reply<'a>, what: &What) -> Result<Found<'a>, Malformed> {
    Ok(match what.step {
        Step::Read => {
            if reply.status() == status::STATUS_END_OF_FILE {
                return Ok(Found::End);
            }
            done(read::parse(reply)?, |data| Found::Data { length: data.length, kept: data.kept })
        }
        Step::Write => done(write::parse(reply)?, |written| Found::Written(written.count)),
        Step::Open | Step::Create => done(create::parse(reply)?, Found::Opened),
        Step::Close => done(close::parse(reply)?, |_| Found::Nothing),
        Step::Negotiate => done(negotiate::parse(reply)?, Found::Negotiated),
        Step::SessionSetup => done(session_setup::parse(reply)?, Found::SessionSetup),
        Step::TreeConnect => done(tree_connect::parse(reply)?, Found::TreeConnected),
        Step::TreeDisconnect => done(tree_disconnect::parse(reply)?, |_| Found::Nothing),
        Step::Logoff => done(logoff::parse(reply)?, |_| Found::Nothing),
        Step::Echo => done(echo::parse(reply)?, |_| Found::Nothing),
        _ => Found::Nothing,
    })
}

fn done<'a, T>(answer: Answer<'a, T>, found: impl FnOnce(T) -> Found<'a>) -> Found<'a> {
    match answer {
        Answer::Done(done) => found(done),
        Answer::Refused(_) => Found::Refused,
    }
}
