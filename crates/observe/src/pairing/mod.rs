//! Pairing: requests and their answers become transactions.
//!
//! One file a protocol, for each has its own ids; what they share is here: what is remembered of a request while
//! it waits ([`Pending`]), what an answer adds ([`Answer`]), and how both become a [`Transaction`]. When in doubt,
//! nothing is paired and the doubt is counted.

mod pending;
mod pipe;
pub mod rpc;
pub mod smb1;
pub mod smb2;
mod status;

pub use pending::PendingTable;
pub use status::status_name;

use std::num::NonZeroU64;

use plimsoll_model::{
    Anomalies, Anomaly, Endpoint, Frames, Names, OneSided, Outcome, Procedure, Resent, Sink, Symbol, Timeline,
    Transaction, Unseen, Vantage,
};

use crate::message::{Message, Stamp};
use crate::missing::{Bursts, End, Ids, Tally};
use crate::names::Handles;
use rpc::Rpc;
use smb1::Smb1;
use smb2::{Smb2, Smb2Shared};

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared<S> {
    pub(crate) output: Output<S>,
    handles: Handles,
    pub(crate) smb2: Smb2Shared,
    pub(crate) account: Account,
}

/// What all connections together are missing.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// Sums over the connections that have ended.
    pub(crate) unseen: Unseen,
    /// Connections of which one direction was captured, and the first of them.
    pub(crate) one_sided: u64,
    pub(crate) one_sided_named: Vec<OneSided>,
    /// When packets were lost.
    pub(crate) bursts: Bursts,
    /// When connections were seen.
    pub(crate) ends: Vec<End>,
}

impl<S> Shared<S> {
    pub(crate) fn new(output: Output<S>) -> Self {
        Self { output, handles: Handles::default(), smb2: Smb2Shared::default(), account: Account::default() }
    }
}

/// The pairing of one connection, protocols as they turn up in it.
#[derive(Debug, Default)]
pub(crate) struct Pairing {
    /// Direction in which requests go, once one was seen.
    pub(crate) client: Option<usize>,
    rpc: Option<Box<Rpc>>,
    smb1: Option<Box<Smb1>>,
    smb2: Option<Box<Smb2>>,
}

impl Pairing {
    /// Takes a message.
    #[inline]
    pub(crate) fn take<S: Sink>(
        &mut self,
        message: &Message<'_>,
        direction: usize,
        link: &Link,
        shared: &mut Shared<S>,
    ) {
        let Shared { output, handles, smb2, .. } = shared;
        let is_request = match message.bytes {
            _ if message.raw => self.smb1.get_or_insert_default().message(message, direction, link, output),
            [0xfc..=0xfe, b'S', b'M', b'B', ..] => {
                if self.smb1.as_mut().is_some_and(|smb1| smb1.is_negotiated_in_smb2(message, direction, output)) {
                    // The SMB1 request took the first of SMB2's ids (MS-SMB2 3.3.5.3.1).
                    self.smb2.get_or_insert_default().begin_at(1);
                    return;
                }
                let pairing = self.smb2.get_or_insert_default();
                pairing.message(message, direction, link, smb2, output)
            }
            [0xff, b'S', b'M', b'B', ..] => self.smb1.get_or_insert_default().message(message, direction, link, output),
            _ => self.rpc.get_or_insert_default().message(message, direction, link, handles, output),
        };
        if is_request {
            self.client = Some(direction);
        }
    }

    /// Whether a block without a header may come in this direction (SMB1 Read_Raw, Write_Raw).
    #[inline]
    pub(crate) fn expects_raw(&self, direction: usize) -> bool {
        self.smb1.as_ref().is_some_and(|smb1| smb1.expects_raw(direction))
    }

    /// Whether this is an RPC reply whose call has not come.
    pub(crate) fn is_early_reply(&mut self, bytes: &[u8], direction: usize) -> bool {
        self.rpc.get_or_insert_default().is_early_reply(bytes, direction)
    }

    /// The ids of requests that went in `direction`, where the protocol has some that may count up.
    pub(crate) fn ids(&self, direction: usize) -> Option<&Ids> {
        match (&self.smb2, &self.smb1, &self.rpc) {
            // A connection that begins with SMB1's NEGOTIATE goes on in SMB2.
            (Some(smb2), _, None) => Some(smb2.ids()),
            (None, Some(smb1), None) => Some(smb1.ids()),
            (None, None, Some(rpc)) => Some(rpc.ids(direction)),
            _ => None,
        }
    }

    /// The connection has ended.
    pub(crate) fn end<S: Sink>(&mut self, link: &Link, shared: &mut Shared<S>) {
        if let Some(rpc) = &mut self.rpc {
            rpc.end(link, &mut shared.output);
        }
        if let Some(smb1) = &mut self.smb1 {
            smb1.end(link, &mut shared.output);
        }
        if let Some(smb2) = &mut self.smb2 {
            smb2.end(link, &mut shared.output);
        }
    }
}

/// What every protocol needs to know of the connection that a message came on.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Number of the connection.
    pub connection: u32,
    /// The two ends; a message of direction `d` went from `ends[d]` to `ends[1 - d]`.
    pub ends: [Endpoint; 2],
    /// Losses in each direction so far: holes, and cuts that may hide messages.
    pub holes: [u32; 2],
    /// … of which so many were cuts by the snap length.
    pub cuts: [u32; 2],
    /// Losses that lie before the next message: one in which a message ended counts once that message was taken.
    pub breaks: [u32; 2],
    /// How far each direction was sent again before it was acknowledged, as a stream offset.
    pub resent_to: [u64; 2],
    /// The connection's beginning was captured.
    pub from_start: bool,
    /// Messages come in datagrams: nothing tells of those that were not captured.
    pub datagrams: bool,
}

/// Where transactions and counts go.
#[derive(Debug)]
pub struct Output<S> {
    /// Takes the transactions.
    pub sink: S,
    /// Names of shares, paths and users.
    pub names: Names,
    /// What went wrong.
    pub anomalies: Anomalies,
    /// Pairs, halves without a partner and messages that cannot be read, since they were last taken from here.
    pub(crate) tally: Tally,
    /// How long operations waited for bytes that were sent again.
    pub resent: Resent,
    /// One-way messages.
    pub one_way: u64,
    /// Number of the frame to which the time stamps jumped last; 0 if they never did.
    pub jumped_at: u64,
}

/// What is remembered of a request while it waits for its answer.
#[derive(Clone, Debug)]
pub struct Pending {
    /// What was asked.
    pub procedure: Procedure,
    /// Waits by design.
    pub held: bool,
    /// Sums count it.
    pub counted: bool,
    /// Direction of the request.
    pub direction: u8,
    /// Place in its compound.
    pub compound_position: Option<u16>,
    /// First byte.
    pub first: Stamp,
    /// Last byte, where seen.
    pub last: Option<Stamp>,
    /// First interim answer.
    pub interim: Option<i64>,
    /// Size, bytes; `None` where only the size of what carried it is known.
    pub bytes: Option<u64>,
    /// Packets.
    pub packets: u32,
    /// File data in the request (writes).
    pub payload: Option<u64>,
    /// How long it waited for bytes that filled a gap, ns; see [`Message`].
    pub resent_wait_ns: Option<u64>,
    /// Stream offset in front of its message, without framing prefix.
    pub start_offset: u64,
    /// Stream offset behind it.
    pub end_offset: u64,
    /// Losses in each direction when it came.
    pub holes: [u32; 2],
    /// … of which so many were cuts in the direction of its answer.
    pub cuts_back: u32,
    /// Its SMB session.
    pub session: Option<u64>,
    /// Its share.
    pub share: Symbol,
    /// Its object.
    pub path: Symbol,
    /// Its user.
    pub user: Symbol,
}

impl Pending {
    /// A request that fills `message`, nothing else being known yet.
    #[inline]
    pub fn of(message: &Message<'_>, direction: usize, link: &Link, procedure: Procedure) -> Self {
        Self {
            procedure,
            held: procedure.row().held,
            counted: true,
            direction: direction as u8,
            compound_position: None,
            first: message.first,
            last: message.last,
            interim: None,
            bytes: Some(message.len),
            packets: message.packets,
            payload: None,
            resent_wait_ns: message.resent_wait_ns,
            start_offset: message.end_offset.saturating_sub(message.len),
            end_offset: message.end_offset,
            holes: link.holes,
            cuts_back: link.cuts[1 - direction],
            session: None,
            share: Symbol::NONE,
            path: Symbol::NONE,
            user: Symbol::NONE,
        }
    }

    /// Whether both directions have lost data since: then an id that comes round may be a stranger's.
    pub fn is_ambiguous(&self, link: &Link) -> bool {
        self.holes[0] != link.holes[0] && self.holes[1] != link.holes[1]
    }
}

/// What the final answer adds to a request.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// First byte.
    pub first: Stamp,
    /// Last byte, where seen.
    pub last: Option<Stamp>,
    /// Size, bytes; `None` where only the size of what carried it is known.
    pub bytes: Option<u64>,
    /// Packets.
    pub packets: u32,
    /// How long it waited for bytes that filled a gap, ns; see [`Message`].
    pub resent_wait_ns: Option<u64>,
    /// Status on the wire, where seen.
    pub status: Option<u32>,
    /// File data in the answer (reads).
    pub payload: Option<u64>,
    /// How it ended.
    pub outcome: Outcome,
}

impl Answer {
    /// An answer that fills `message`.
    #[inline]
    pub fn of(message: &Message<'_>, status: Option<u32>, outcome: Outcome) -> Self {
        Self {
            first: message.first,
            last: message.last,
            bytes: Some(message.len),
            packets: message.packets,
            resent_wait_ns: message.resent_wait_ns,
            status,
            payload: None,
            outcome,
        }
    }
}

impl<S: Sink> Output<S> {
    /// Hands on a request with its answer.
    #[inline]
    pub fn pair(&mut self, link: &Link, id: Option<u64>, request: &Pending, answer: &Answer) {
        self.tally.paired += 1;
        self.count_missing_ends(request, Some(answer));
        if answer.last.is_some_and(|last| last.time_ns < request.first.time_ns) {
            self.anomalies.add(Anomaly::NegativeTime);
        }
        let resent_wait_ns = resent_wait_ns(link, request, answer);
        if request.compound_position.is_none_or(|position| position == 0) {
            self.resent.add(resent_wait_ns);
        }
        self.answered(link, id, request, answer, resent_wait_ns);
    }

    /// Hands on a part of a request that has been handed on as a whole: a row of its own, counted nowhere else.
    pub fn pair_member(&mut self, link: &Link, id: Option<u64>, request: &Pending, answer: &Answer) {
        self.answered(link, id, request, answer, resent_wait_ns(link, request, answer));
    }

    #[inline]
    fn answered(
        &mut self,
        link: &Link,
        id: Option<u64>,
        request: &Pending,
        answer: &Answer,
        resent_wait_ns: Option<u64>,
    ) {
        let mut transaction = transaction(link, id, request);
        transaction.status = answer.status;
        transaction.outcome = answer.outcome.with_status(request.procedure, answer.status);
        transaction.payload_bytes = answer.payload.or(request.payload);
        transaction.response_bytes = answer.bytes;
        transaction.response_packets = Some(answer.packets);
        transaction.resent_wait_ns = resent_wait_ns;
        transaction.timeline.response_first = Some(answer.first.time_ns);
        transaction.timeline.response_last = answer.last.map(|stamp| stamp.time_ns);
        transaction.frames.response_first = NonZeroU64::new(answer.first.frame);
        transaction.frames.response_last = answer.last.and_then(|stamp| NonZeroU64::new(stamp.frame));
        if request.first.frame < self.jumped_at {
            self.behind_jump(&mut transaction, request);
        }
        self.sink.transaction(&transaction, &self.names);
    }

    /// The clock was set between the request and the response: the difference of their times is none.
    #[cold]
    fn behind_jump(&mut self, transaction: &mut Transaction, request: &Pending) {
        self.anomalies.add(Anomaly::ResponseBehindJump);
        let timeline = &mut transaction.timeline;
        timeline.request_last.take_if(|_| request.last.is_some_and(|last| last.frame >= self.jumped_at));
        (timeline.interim, timeline.response_first, timeline.response_last) = (None, None, None);
    }

    /// Hands on a request that nobody answered.
    pub fn unanswered(&mut self, link: &Link, id: Option<u64>, request: &Pending) {
        let back = usize::from(1 - request.direction);
        self.anomalies.add(Anomaly::RequestUnanswered);
        let losses = link.holes[back].wrapping_sub(request.holes[back]);
        if link.datagrams {
            self.tally.others().requests_unexplained += 1;
        } else if losses == 0 {
            self.tally.others().requests_waiting += 1;
        } else if mostly_cuts(losses, link.cuts[back].wrapping_sub(request.cuts_back)) {
            self.tally.others().requests_after_cut += 1;
        } else {
            self.tally.others().requests_after_gap += 1;
        }
        self.count_missing_ends(request, None);
        self.unanswered_member(link, id, request);
    }

    /// Hands on a part of an unanswered request.
    pub fn unanswered_member(&mut self, link: &Link, id: Option<u64>, request: &Pending) {
        self.sink.transaction(&transaction(link, id, request), &self.names);
    }

    /// Hands on a request that was not carried out, as an answer says that is not its own: the commands of an AndX
    /// chain behind the one that failed.
    pub fn not_carried_out(&mut self, link: &Link, id: Option<u64>, request: &Pending) {
        self.count_missing_ends(request, None);
        let transaction = Transaction { outcome: Outcome::Failed, ..transaction(link, id, request) };
        self.sink.transaction(&transaction, &self.names);
    }

    /// Counts an answer that fits no request; `direction` is the answer's.
    pub fn orphan(&mut self, link: &Link, direction: usize) {
        self.anomalies.add(Anomaly::ResponseWithoutRequest);
        let (losses, cuts) = (link.holes[1 - direction], link.cuts[1 - direction]);
        if link.datagrams || (losses == 0 && link.from_start) {
            self.tally.others().responses_unexplained += 1;
        } else if losses == 0 {
            self.tally.others().responses_before_start += 1;
        } else if mostly_cuts(losses, cuts) {
            self.tally.others().responses_after_cut += 1;
        } else {
            self.tally.others().responses_after_gap += 1;
        }
    }

    fn count_missing_ends(&mut self, request: &Pending, answer: Option<&Answer>) {
        if request.last.is_none() {
            self.anomalies.add(Anomaly::RequestEndMissing);
        }
        if answer.is_some_and(|answer| answer.last.is_none()) {
            self.anomalies.add(Anomaly::ResponseEndMissing);
        }
    }
}

/// Whether most of so many losses were cuts.
fn mostly_cuts(losses: u32, cuts: u32) -> bool {
    cuts > losses.saturating_sub(cuts)
}

/// When a message in several parts was complete: the later of what came so far and of its next part, whose end must have been seen.
fn later(so_far: Option<Stamp>, next: Option<Stamp>) -> Option<Stamp> {
    next.map(|next| so_far.filter(|so_far| so_far.time_ns > next.time_ns).unwrap_or(next))
}

/// How long two parts waited.
fn both(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.zip(other).map(|(one, other)| one.saturating_add(other))
}

/// How long an operation waited for bytes that filled gaps. Not known where bytes were not seen, or where the request was sent again:
/// then the first copy may have been lost behind the place of the capture.
#[inline]
fn resent_wait_ns(link: &Link, request: &Pending, answer: &Answer) -> Option<u64> {
    let from = usize::from(request.direction);
    let sent_again = link.resent_to.get(from).is_none_or(|&resent_to| resent_to > request.start_offset);
    let ends = request.last.is_some() && answer.last.is_some();
    let (asking, answering) = request.resent_wait_ns.zip(answer.resent_wait_ns)?;
    (ends && !sent_again).then(|| asking.saturating_add(answering))
}

/// The request's half of a transaction.
fn transaction(link: &Link, id: Option<u64>, request: &Pending) -> Transaction {
    let from = usize::from(request.direction);
    Transaction {
        procedure: request.procedure,
        client: link.ends[from],
        server: link.ends[1 - from],
        connection: link.connection,
        session: request.session,
        share: request.share,
        path: request.path,
        user: request.user,
        id,
        compound_position: request.compound_position,
        status: None,
        outcome: Outcome::Unanswered,
        payload_bytes: request.payload,
        request_bytes: request.bytes,
        response_bytes: None,
        request_packets: request.packets,
        response_packets: None,
        timeline: Timeline {
            intended: None,
            request_first: Some(request.first.time_ns),
            request_last: request.last.map(|stamp| stamp.time_ns),
            interim: request.interim,
            response_first: None,
            response_last: None,
        },
        frames: Frames {
            request_first: NonZeroU64::new(request.first.frame),
            request_last: request.last.and_then(|stamp| NonZeroU64::new(stamp.frame)),
            response_first: None,
            response_last: None,
        },
        vantage: Vantage::Wire,
        stage: None,
        held: request.held,
        counted: request.counted,
        resent_wait_ns: None,
    }
}
