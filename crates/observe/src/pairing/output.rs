//! Where transactions and counts go: requests with their answers, and halves without a partner.

use std::num::NonZeroU64;
use std::sync::Arc;

use plimsoll_model::{
    Anomalies, Anomaly, Asked, Frames, LateRequests, Names, Outcome, Resent, Sink, Timeline, Transaction, Vantage,
};
use serde::{Deserialize, Serialize};

use super::rpc::{Delegations, MemberCount, Slots, SpareCalls};
use super::smb1::OplockBreaks;
use super::smb2::BreakTimes;
use super::unfinished::UnfinishedOnes;
use super::{Answer, ConnectionContext, EarlyCount, LastResponses, Pending, WaitingCount};
use crate::missing::{Tally, client_by_port};
use crate::named_services::NamedServices;
use crate::packet::Stamp;

/// Where transactions and counts go.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(bound(serialize = "", deserialize = "S: Default"))]
pub struct Output<S> {
    /// Takes the transactions.
    #[serde(skip)]
    pub sink: S,
    /// Names of shares, paths and users.
    pub names: Names,
    /// Anomalies.
    pub anomalies: Anomalies,
    /// Pairs, halves without a partner and messages that cannot be read, since they were last taken from here.
    pub(crate) tally: Tally,
    /// Messages so far that could not be read, or not completely.
    pub(crate) unread: u64,
    /// How long operations waited for bytes that were sent again.
    pub resent: Resent,
    /// One-way messages.
    pub one_way: u64,
    /// Number of the frame to which the timestamps jumped last; 0 if they never did.
    pub jumped_at: u64,
    /// Requests that were captured after their responses.
    pub late_requests: LateRequests,
    /// Connections with requests that got no response.
    pub(crate) unfinished: UnfinishedOnes,
    /// When each server last sent a response.
    pub(crate) last_responses: LastResponses,
    /// Leases and oplocks that servers broke.
    pub(crate) breaks: BreakTimes,
    /// Oplocks that servers broke in SMB1.
    pub(crate) oplock_breaks: OplockBreaks,
    /// Slots of NFS 4.1 sessions.
    pub(crate) slots: Slots,
    /// Delegations of NFS 4.
    pub(crate) delegations: Delegations,
    /// Answers that wait for their requests.
    pub(crate) early: EarlyCount,
    /// Requests that wait for their answers.
    pub(crate) waiting: WaitingCount,
    /// Operations of NFSv4 compounds among these requests.
    pub(crate) members: MemberCount,
    /// Memory for calls.
    #[serde(skip)]
    pub(crate) spare_calls: SpareCalls,
    /// Takes the services that portmappers name, if a live capture wants to know them.
    #[serde(skip)]
    pub(crate) services: Option<Arc<NamedServices>>,
}

impl<S> Output<S> {
    /// Hands transactions to `sink`; so far there was none.
    pub(crate) fn new(sink: S) -> Self {
        Output::<()>::default().with_sink(sink)
    }

    /// The same with another sink.
    pub(crate) fn with_sink<T>(self, sink: T) -> Output<T> {
        macro_rules! moved {
            ($from:ident, $($field:ident)*) => {{
                let Output { sink: _, $($field),* } = $from;
                Output { sink, $($field),* }
            }};
        }
        moved!(self, names anomalies tally unread resent one_way jumped_at late_requests unfinished last_responses breaks
            oplock_breaks slots delegations early waiting members spare_calls services)
    }
}

impl<S> Output<S> {
    /// A message cannot be read, or not completely, for this reason.
    #[cold]
    pub(crate) fn unread(&mut self, why: Anomaly) {
        self.anomalies.add(why);
        self.unread += 1;
    }

    /// Until when a request may wait for a client that is to give up a lease or oplock of its file, ns.
    pub(crate) fn held_until(&self, context: &ConnectionContext, request: &Pending) -> Option<i64> {
        self.breaks.held_until(context, request).max(self.oplock_breaks.held_until(context, request))
    }

    /// A response came in `direction`, or what may be one. If the direction of requests is not known, either end may be the server.
    #[inline]
    pub(crate) fn responded(&mut self, context: &ConnectionContext, direction: usize, client: Option<usize>, ns: i64) {
        if client.or_else(|| client_by_port(&context.ends)) != Some(direction) {
            self.last_responses.record(context.connection, direction, context.ends[direction], ns);
        }
    }
}

impl<S: Sink> Output<S> {
    /// Hands on a request with its answer.
    #[inline]
    pub fn pair(&mut self, context: &ConnectionContext, id: Option<u64>, request: &Pending, answer: &Answer) {
        self.tally.paired += 1;
        self.count_missing_ends(request, Some(answer));
        if answer.last.is_some_and(|last| last.time_ns < request.first.time_ns) {
            self.anomalies.add(Anomaly::NegativeTime);
        }
        let resent_wait_ns = resent_wait_ns(context, request, answer);
        if request.compound_position.is_none_or(|position| position == 0) {
            self.resent.add(resent_wait_ns);
        }
        self.answered(context, id, request, answer, resent_wait_ns);
    }

    /// A request came whose answer, captured before at this time, had been counted as one without a request.
    #[cold]
    pub fn answered_before(&mut self, request: &Pending, answered_ns: i64) {
        let late_ns = request.first.time_ns.saturating_sub(answered_ns).max(0).unsigned_abs();
        self.late_requests.add(&LateRequests { count: 1, most_ns: late_ns });
        self.tally.found_request();
        self.anomalies.take_back(Anomaly::ResponseWithoutRequest);
    }

    /// Reports a part of a request that was reported as a whole: a separate row, not counted again.
    pub fn pair_member(&mut self, context: &ConnectionContext, id: Option<u64>, request: &Pending, answer: &Answer) {
        self.answered(context, id, request, answer, resent_wait_ns(context, request, answer));
    }

    #[inline]
    fn answered(
        &mut self,
        context: &ConnectionContext,
        id: Option<u64>,
        request: &Pending,
        answer: &Answer,
        resent_wait_ns: Option<u64>,
    ) {
        let mut transaction = transaction(context, id, request, Some((answer, resent_wait_ns)));
        if request.first.frame < self.jumped_at {
            self.behind_jump(&mut transaction, request);
        }
        self.sink.transaction(&transaction, &self.names);
    }

    /// The clock was set between the request and the response: the difference of their times is meaningless.
    #[cold]
    fn behind_jump(&mut self, transaction: &mut Transaction, request: &Pending) {
        self.anomalies.add(Anomaly::ResponseBehindJump);
        let timeline = &mut transaction.timeline;
        timeline.request_last.take_if(|_| request.last.is_some_and(|last| last.frame >= self.jumped_at));
        (timeline.interim, timeline.response_first, timeline.response_last) = (None, None, None);
    }

    /// Reports a request without an answer.
    pub fn unanswered(&mut self, context: &ConnectionContext, id: Option<u64>, request: &Pending) {
        let back = usize::from(1 - request.direction);
        self.anomalies.add(Anomaly::RequestUnanswered);
        let losses = context.holes[back].wrapping_sub(request.holes[back]);
        if context.datagrams {
            self.tally.others().requests_unexplained += 1;
        } else if losses == 0 {
            self.tally.others().requests_waiting += 1;
        } else if mostly_cuts(losses, context.cuts[back].wrapping_sub(request.cuts_back)) {
            self.tally.others().requests_after_cut += 1;
        } else {
            self.tally.others().requests_after_gap += 1;
        }
        self.count_missing_ends(request, None);
        self.unanswered_member(context, id, request);
    }

    /// Hands on a part of an unanswered request.
    pub fn unanswered_member(&mut self, context: &ConnectionContext, id: Option<u64>, request: &Pending) {
        let held_until_ns = self.held_until(context, request);
        self.unfinished.unanswered(context, request, held_until_ns);
        self.sink.transaction(&transaction(context, id, request, None), &self.names);
    }

    /// Reports a request that was not carried out, as the answer to another request shows: a command of an AndX chain after the one that
    /// failed.
    pub fn not_carried_out(&mut self, context: &ConnectionContext, id: Option<u64>, request: &Pending) {
        self.count_missing_ends(request, None);
        let transaction = Transaction { outcome: Outcome::Failed, ..transaction(context, id, request, None) };
        self.sink.transaction(&transaction, &self.names);
    }

    /// Counts an answer that fits no request; `direction` is the answer's.
    pub fn orphan(&mut self, context: &ConnectionContext, direction: usize) {
        self.anomalies.add(Anomaly::ResponseWithoutRequest);
        let (losses, cuts) = (context.holes[1 - direction], context.cuts[1 - direction]);
        if context.datagrams || (losses == 0 && (context.from_start || context.begins_late)) {
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

/// Whether most of the losses were cuts by the snap length.
fn mostly_cuts(losses: u32, cuts: u32) -> bool {
    cuts > losses.saturating_sub(cuts)
}

/// How long an operation waited for bytes that filled gaps. Not known where bytes were not seen, or where the request was sent again:
/// then the first copy may have been lost behind the place of the capture.
#[inline]
fn resent_wait_ns(context: &ConnectionContext, request: &Pending, answer: &Answer) -> Option<u64> {
    let from = usize::from(request.direction);
    let sent_again = context.resent_to.get(from).is_none_or(|&resent_to| resent_to > request.start_offset);
    let ends = request.last.is_some() && answer.last.is_some();
    let (asking, answering) = request.resent_wait_ns.zip(answer.resent_wait_ns)?;
    (ends && !sent_again).then(|| asking.saturating_add(answering))
}

/// A request with its answer, if it got one, and how long both waited for resent bytes. Sets each field once, because it runs for each
/// operation.
#[inline(always)]
pub(super) fn transaction(
    context: &ConnectionContext,
    id: Option<u64>,
    request: &Pending,
    answer: Option<(&Answer, Option<u64>)>,
) -> Transaction {
    let (answer, resent_wait_ns) = answer.unzip();
    let from = usize::from(request.direction);
    let client = if request.procedure.is_callback() { 1 - from } else { from };
    let (client, server) = (context.ends[client], context.ends[1 - client]);
    let file_server = request.file_server.unwrap_or(server.ip);
    let frame = |stamp: Stamp| NonZeroU64::new(stamp.frame);
    let response_last = answer.and_then(|answer| answer.last);
    let outcome =
        answer.map_or(Outcome::Unanswered, |answer| answer.outcome.with_status(request.procedure, answer.status));
    let outcome = if request.reconnects { outcome.of_reconnection() } else { outcome };
    Transaction {
        procedure: request.procedure,
        client,
        server,
        connection: context.connection,
        session: request.session,
        share: request.share,
        path: request.path,
        user: request.user,
        id,
        compound_position: request.compound_position,
        status: answer.and_then(|answer| answer.status),
        outcome,
        payload_bytes: answer.and_then(|answer| answer.payload).or(request.payload),
        request_bytes: request.bytes,
        response_bytes: answer.and_then(|answer| answer.bytes),
        request_packets: request.packets,
        response_packets: answer.map(|answer| answer.packets),
        timeline: Timeline {
            intended: None,
            request_first: Some(request.first.time_ns),
            request_last: request.last.map(|stamp| stamp.time_ns),
            interim: request.interim,
            response_first: answer.map(|answer| answer.first.time_ns),
            response_last: response_last.map(|stamp| stamp.time_ns),
        },
        frames: Frames {
            request_first: frame(request.first),
            request_last: request.last.and_then(frame),
            response_first: answer.and_then(|answer| frame(answer.first)),
            response_last: response_last.and_then(frame),
        },
        vantage: Vantage::Wire,
        level: None,
        long_lived: request.long_lived,
        counted: request.counted,
        resent_wait_ns: resent_wait_ns.flatten(),
        asked: Asked { file: request.asked.file.map(|file| file.on(file_server)), ..request.asked },
        client_index: None,
    }
}
