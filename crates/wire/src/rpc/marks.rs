//! Marks in RPC messages: headers, callers, and the arguments and results of the programs that this crate knows.
//!
//! Spec: RFC 5531 9, RFC 5531 Appendix A, RFC 2203 5.3.1

use super::credential::{Flavor, Protection};
use super::{CALL_HEADER, Call, REPLY_HEADER, Reply, ReplyStat};
use crate::marks::{Mark, Marks};
use crate::nfs::marks::{arguments, number, opaque, results};
use crate::xdr::Cursor;

/// Of a denied reply, and of a version mismatch: numbers behind the header, at most.
const WHY_LEN: usize = 16;
/// Before arguments and results that are signed: their length and a sequence number.
const SIGNED_LEN: usize = 8;

/// Facts of a call that are needed to read its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    program: u32,
    version: u32,
    procedure: u32,
    protection: Option<Protection>,
}

/// Marks a call; gives its xid, and what its reply needs. `None` where it is no call.
pub fn mark_call(marks: &mut Marks<'_>) -> Option<(u32, Asked)> {
    let call = Call::new(marks.message())?;
    marks.range(0..CALL_HEADER, Mark::Number);
    let mut cursor = Cursor::new(marks.message().get(CALL_HEADER..).unwrap_or_default());
    let _ = mark_auth(&mut cursor, marks).and_then(|()| mark_auth(&mut cursor, marks));
    let parts = call.parts();
    let asked = Asked {
        program: call.program(),
        version: call.version(),
        procedure: call.procedure(),
        protection: parts.protection,
    };
    if let Some(bytes) = parts.arguments {
        mark_signed(asked.protection, bytes, marks);
        arguments(asked.program, asked.version, asked.procedure, bytes, marks);
    }
    Some((call.xid(), asked))
}

/// Marks a reply, of the call with its xid if `asked` knows that.
pub fn mark_reply(asked: impl FnOnce(u32) -> Option<Asked>, marks: &mut Marks<'_>) -> Option<()> {
    let reply = Reply::new(marks.message())?;
    marks.range(0..REPLY_HEADER + 4, Mark::Number);
    let behind = marks.message().get(REPLY_HEADER + 4..).unwrap_or_default();
    if reply.reply_stat() != Some(ReplyStat::Accepted) {
        marks.part(behind.get(..WHY_LEN).unwrap_or(behind), Mark::Number);
        return Some(());
    }
    let mut cursor = Cursor::new(behind);
    number(&mut cursor, marks)?;
    opaque(&mut cursor, None, marks)?;
    if number(&mut cursor, marks)? != 0 {
        let rest = cursor.rest();
        marks.part(rest.get(..WHY_LEN).unwrap_or(rest), Mark::Number);
        return Some(());
    }
    let asked = asked(reply.xid())?;
    let bytes = reply.results_under(asked.protection?)?;
    mark_signed(asked.protection, bytes, marks);
    results(asked.program, asked.version, asked.procedure, bytes, marks);
    Some(())
}

fn mark_signed(protection: Option<Protection>, behind: &[u8], marks: &mut Marks<'_>) {
    if protection == Some(Protection::Integrity)
        && let Some(place) = marks.place(behind)
    {
        marks.range(place.start.saturating_sub(SIGNED_LEN)..place.start, Mark::Number);
    }
}

/// Marks a credential or verifier.
fn mark_auth(cursor: &mut Cursor<'_>, marks: &mut Marks<'_>) -> Option<()> {
    let flavor = Flavor::from_wire(number(cursor, marks)?);
    let mut ahead = *cursor;
    number(&mut ahead, marks);
    let body = cursor.opaque()?;
    // A verifier is never AUTH_SYS with a body.
    let _ = match flavor {
        Flavor::Sys => mark_user(&mut Cursor::new(body), marks),
        Flavor::Gss => mark_gss(&mut Cursor::new(body), marks),
        _ => None,
    };
    Some(())
}

/// AUTH_SYS: a stamp, the machine's name, and numbers of the user and the groups.
fn mark_user(cursor: &mut Cursor<'_>, marks: &mut Marks<'_>) -> Option<()> {
    cursor.skip(4)?;
    opaque(cursor, Some(Mark::Narrow), marks)?;
    marks.part(cursor.take(8)?, Mark::User);
    let groups = number(cursor, marks)?;
    for _ in 0..groups {
        marks.part(cursor.take(4)?, Mark::User);
    }
    Some(())
}

/// RPCSEC_GSS: version, procedure, sequence and service; then the context's handle.
fn mark_gss(cursor: &mut Cursor<'_>, marks: &mut Marks<'_>) -> Option<()> {
    marks.part(cursor.take(16)?, Mark::Number);
    opaque(cursor, None, marks)
}
