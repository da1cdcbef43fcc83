//! COMPOUND: its head, its slot, and its operations one after the other until one fails.
//!
//! Spec: RFC 8881 16.2, RFC 8881 2.10.6

use std::sync::Arc;
use std::sync::atomic::Ordering;

use plimsoll_wire::nfs::v4::StateId;
use plimsoll_wire::nfs::v4::sequence::Sequence;
use plimsoll_wire::xdr::{Emit, Malformed, Strict};

use super::back_channel::Link;
use super::clients::Client;
use super::codes::{self, SEQUENCE, SETATTR};
use super::limits::REPLY_HEAD;
use super::server::Server;
use super::session::{Session, SlotRequest};
use super::status::{Done, Status};
use crate::memory::Node;

/// Bytes of a tag, at most.
const LONGEST_TAG: usize = 1024;
/// Bytes of the result of any operation without data, attributes or names.
const SMALL: usize = 256;
/// SEQ4_STATUS_RECALLABLE_STATE_REVOKED.
const RECALLABLE_STATE_REVOKED: u32 = 0x40;
/// Operations of a compound without a session: those have one only.
const ALONE: u32 = 1;

/// A compound in execution.
pub(super) struct Compound<'s, 'a> {
    pub(super) server: &'s Server,
    /// The connection, if the server may call over it.
    pub(super) link: Option<&'s Link>,
    pub(super) reader: Strict<'a>,
    /// The message; results are appended.
    pub(super) out: &'s mut Vec<u8>,
    /// Minor version.
    pub(super) minor: u32,
    pub(super) session: Option<Arc<Session>>,
    /// The current file handle, and the one that SAVEFH has saved, with their state IDs.
    pub(super) current: Option<Place>,
    pub(super) saved: Option<Place>,
    /// Operations behind this one.
    pub(super) left: u32,
    /// Where the results begin.
    start: usize,
    /// Results so far.
    results: u32,
    /// Length of the message, at most, and what is wrong with a longer one.
    limit: (usize, Status),
}

/// A current or saved file handle.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) node: Arc<Node>,
    /// The current state ID (RFC 8881 16.2.3.1.2).
    pub(super) state: Option<StateId>,
}

/// Carries a compound out. Fails only where not even its head can be read.
pub(super) fn run(server: &Server, link: Option<&Link>, arguments: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let mut reader = Strict::new(arguments);
    let (tag, minor, count) = (reader.opaque(LONGEST_TAG)?, reader.u32()?, reader.u32()?);
    let start = out.len();
    out.put_u32(0);
    out.put_opaque(tag);
    let count_at = out.len();
    out.put_u32(0);
    let limit = (usize::MAX, Status::REP_TOO_BIG);
    let (session, current, saved, left, results) = (None, None, None, count, 0);
    let mut compound =
        Compound { server, link, reader, out, minor, session, current, saved, left, start, results, limit };
    let status = match minor {
        1 | 2 => compound.begin(arguments.len()),
        _ => Status::MINOR_VERS_MISMATCH,
    };
    let Some(status) = (status != AGAIN).then_some(status) else { return Ok(()) };
    compound.finish(status, count_at);
    Ok(())
}

/// Not a status: the answer is that of the request before, and complete.
const AGAIN: Status = Status(u32::MAX);

impl Compound<'_, '_> {
    fn finish(&mut self, status: Status, count_at: usize) {
        for (at, word) in [(self.start, status.0), (count_at, self.results)] {
            if let Some(place) = self.out.get_mut(at..at + 4) {
                place.copy_from_slice(&word.to_be_bytes());
            }
        }
    }

    /// The first operation decides whether there is a session.
    fn begin(&mut self, length: usize) -> Status {
        let mut ahead = self.reader;
        match ahead.u32() {
            _ if self.left == 0 => Status::OK,
            Err(_) => Status::BADXDR,
            Ok(SEQUENCE) => self.in_session(length),
            Ok(code) if codes::needs_no_session(code) => {
                if self.left > ALONE {
                    return self.refuse(code, Status::NOT_ONLY_OP);
                }
                self.operations()
            }
            Ok(code) if codes::exists(code, self.minor) => self.refuse(code, Status::OP_NOT_IN_SESSION),
            Ok(_) => self.operations(),
        }
    }

    /// The result of an operation that is not tried.
    fn refuse(&mut self, code: u32, status: Status) -> Status {
        self.out.put_u32(code);
        self.out.put_u32(status.0);
        if code == SETATTR {
            put_no_attributes(self.out);
        }
        self.results += 1;
        status
    }

    fn in_session(&mut self, length: usize) -> Status {
        let count_at = self.out.len() - 4;
        // The number of the operation was looked at.
        let _ = self.reader.u32();
        let sequence = match sequence(&mut self.reader) {
            Ok(sequence) => sequence,
            Err(status) => return self.refuse(SEQUENCE, status),
        };
        let session = match self.server.sessions.get(&sequence.session) {
            Ok(session) => session,
            Err(status) => return self.refuse(SEQUENCE, status),
        };
        let slot = match session.slot(&sequence) {
            Ok(slot) => slot,
            Err(status) => return self.refuse(SEQUENCE, status),
        };
        // The slot's last request is being carried out, on another connection.
        let Some(mut slot) = slot.try_lock() else { return self.refuse(SEQUENCE, Status::DELAY) };
        match slot.classify(sequence.sequence) {
            Err(status) => return self.refuse(SEQUENCE, status),
            Ok(SlotRequest::Again(Some(answer))) => {
                self.out.truncate(self.start);
                self.out.put_fixed(answer);
                return AGAIN;
            }
            Ok(SlotRequest::Again(None)) => {
                self.sequence_result(&session, &sequence);
                if self.left == 0 {
                    return Status::OK;
                }
                let code = self.reader.u32().unwrap_or(codes::ILLEGAL);
                return self.refuse(code, Status::RETRY_UNCACHED_REP);
            }
            Ok(SlotRequest::New) => {}
        }
        if self.left > session.fore.operations {
            return self.refuse(SEQUENCE, Status::TOO_MANY_OPS);
        }
        if length > session.fore.request as usize {
            return self.refuse(SEQUENCE, Status::REQ_TOO_BIG);
        }
        session.client.renew(self.server.now());
        let longest = self.start - REPLY_HEAD.min(self.start) + session.fore.response as usize;
        let kept = self.start + session.fore.cached as usize;
        self.limit = if sequence.cache && kept < longest {
            (kept, Status::REP_TOO_BIG_TO_CACHE)
        } else {
            (longest, Status::REP_TOO_BIG)
        };
        self.sequence_result(&session, &sequence);
        self.session = Some(Arc::clone(&session));
        let status = self.operations();
        self.finish(status, count_at);
        let answer = self.out.get(self.start..).filter(|answer| answer.len() <= session.fore.cached as usize);
        slot.done(sequence.sequence, answer);
        status
    }

    fn sequence_result(&mut self, session: &Session, sequence: &Sequence) {
        let highest = session.fore.slots - 1;
        self.out.put_u64(u64::from(SEQUENCE) << 32);
        self.out.put_fixed(&session.id);
        let revoked = session.client.revoked.load(Ordering::Relaxed) > 0;
        let flags = if revoked { RECALLABLE_STATE_REVOKED } else { 0 };
        [sequence.sequence, sequence.slot, highest, highest, flags].iter().for_each(|&word| self.out.put_u32(word));
        self.results += 1;
        self.left -= 1;
    }

    /// Carries out what is left.
    fn operations(&mut self) -> Status {
        while self.left > 0 {
            self.left -= 1;
            let Ok(code) = self.reader.u32() else { return self.refuse(codes::ILLEGAL, Status::BADXDR) };
            if !codes::exists(code, self.minor) {
                return self.refuse(codes::ILLEGAL, Status::OP_ILLEGAL);
            }
            let at = self.out.len();
            self.out.put_u64(u64::from(code) << 32);
            self.results += 1;
            let status = self.bounded(code, at).err().unwrap_or(Status::OK);
            if status != Status::OK {
                self.fail(code, at, status);
                return status;
            }
        }
        Status::OK
    }

    /// An operation, unless its results have no room.
    fn bounded(&mut self, code: u32, at: usize) -> Done {
        let (limit, too_big) = self.limit;
        // What changes something must not fail after it did.
        if at + SMALL > limit && codes::changes(code) {
            return Err(too_big);
        }
        match self.operation(code) {
            // A denied lock names its holder, and has changed nothing.
            Ok(()) | Err(Status::DENIED) if self.out.len() > limit => Err(too_big),
            done => done,
        }
    }

    /// The result of an operation that failed: mostly its status alone.
    fn fail(&mut self, code: u32, at: usize, status: Status) {
        // LOCK and LOCKT have written whose lock is in the way.
        if status != Status::DENIED {
            self.out.truncate(at + 8);
        }
        if code == SETATTR {
            put_no_attributes(self.out);
        }
        if let Some(place) = self.out.get_mut(at + 4..at + 8) {
            place.copy_from_slice(&status.0.to_be_bytes());
        }
    }

    /// The client of the session.
    pub(super) fn client(&self) -> Done<&Arc<Client>> {
        self.session.as_ref().map(|session| &session.client).ok_or(Status::OP_NOT_IN_SESSION)
    }

    /// The file of the current handle.
    pub(super) fn current(&self) -> Done<&Arc<Node>> {
        self.current.as_ref().map(|place| &place.node).ok_or(Status::NOFILEHANDLE)
    }

    /// Another current handle, without a state.
    pub(super) fn go(&mut self, node: Arc<Node>) {
        self.current = Some(Place { node, state: None });
    }
}

/// An empty `attrsset`. Each answer to SETATTR has one, also with an error status (RFC 8881 18.30.2).
fn put_no_attributes(out: &mut Vec<u8>) {
    out.put_u32(0);
}

/// SEQUENCE's arguments.
fn sequence(reader: &mut Strict<'_>) -> Done<Sequence> {
    Ok(Sequence {
        session: reader.array()?,
        sequence: reader.u32()?,
        slot: reader.u32()?,
        highest: reader.u32()?,
        cache: reader.boolean()?,
    })
}
