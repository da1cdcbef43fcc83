//! ONC RPC by xid: NFS 2 to 4.2, MOUNT, NLM, NFSACL, portmap.
//!
//! An xid is asked again by a client that got no answer, and answered again by a server that had answered: both are
//! counted, the first request and the first answer make the pair.
//!
//! Spec: RFC 5531 9.

mod asked;
mod compound;
mod delegations;
mod facts;
mod member;
mod portmap;
mod procedure;
mod recent_xids;
mod slots;
mod waiting;

use plimsoll_model::{Anomaly, Names, Outcome, Sink, Symbol};
use plimsoll_wire::nfs::{self, Facts};
use plimsoll_wire::rpc::{self, AcceptStat, Call, Credential, Flavor, Reply};
use serde::{Deserialize, Serialize};

pub(crate) use delegations::Delegations;
use facts::{note_arguments, note_results};
use recent_xids::RecentXids;
pub(crate) use slots::Slots;
use waiting::{Called, Waiting};
pub(crate) use waiting::{MemberCount, SpareCalls};

use super::early::{Early, EarlyCount};
use super::pending::Displaced;
use super::{Answer, ConnectionContext, LastUse, Output, Pending, PendingTable, Role};
use crate::message::Message;
use crate::missing::Ids;
use crate::names::Handles;

/// The RPC calls of one connection, both ways (callbacks come from the server).
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Rpc {
    waiting: [PendingTable<Box<Waiting>>; 2],
    /// Xids that were answered.
    answered: [RecentXids; 2],
    /// Xid and procedure of the call that was answered last.
    answered_last: [Option<(u32, Called)>; 2],
    /// Answers that came before their calls, by the direction of the calls.
    early: [Early; 2],
    /// Xids of such answers in datagrams.
    early_datagrams: RecentXids,
    /// Answers without a call so far, where datagrams may still bring their calls.
    orphans: [u64; 2],
    /// Xids of calls, which some clients count up.
    ids: [Ids; 2],
    user: Option<(u32, Symbol)>,
    /// The NFS 4.1 session of the last call with one.
    session: Option<u64>,
    asked_for_tls: bool,
    last: LastUse,
}

impl Rpc {
    /// Takes a message that went in `direction`. A callback is no request of a client.
    #[inline]
    pub fn message<S: Sink>(
        &mut self,
        message: &Message<'_>,
        direction: usize,
        context: &ConnectionContext,
        handles: &mut Handles,
        output: &mut Output<S>,
    ) -> Role {
        if let Some(call) = Call::new(message.bytes) {
            self.call(&call, message, direction, context, handles, output);
            return if procedure::is_callback(&call) { Role::OneWay } else { Role::Request };
        }
        match Reply::new(message.bytes) {
            Some(reply) => self.reply(&reply, message, direction, context, handles, output),
            None => output.unread(Anomaly::MessageMalformed),
        }
        Role::Response
    }

    /// Whether this is a reply whose call has not come.
    pub(crate) fn is_early_reply(&mut self, bytes: &[u8], direction: usize) -> bool {
        let asked = 1 - direction;
        Call::new(bytes).is_none()
            && Reply::new(bytes).is_some_and(|reply| {
                let xid = reply.xid();
                !self.answered[asked].has(xid) && self.waiting[asked].get_mut(u64::from(xid)).is_none()
            })
    }

    /// Whether the first of several fragments of a reply to a waiting call begins here. Without that call, its header is too weak a sign.
    pub(crate) fn is_due(&mut self, bytes: &[u8], direction: usize) -> bool {
        let Some((mark, body)) = bytes.split_first_chunk::<4>() else { return false };
        let is_first_of_several = u32::from_be_bytes(*mark) >> 31 == 0;
        let Some(reply) = Reply::new(body).filter(|_| is_first_of_several) else { return false };
        matches!(rpc::plausible_message(body), Some(rpc::Message::Reply))
            && self.waiting[1 - direction].get_mut(u64::from(reply.xid())).is_some()
    }

    /// The xids of calls that went in `direction`.
    pub(crate) fn ids(&self, direction: usize) -> &Ids {
        &self.ids[direction]
    }

    /// Whether a client asked whether the server speaks RPC over TLS (RFC 9289 4.1).
    pub(crate) fn asked_for_tls(&self) -> bool {
        self.asked_for_tls
    }

    /// What the connection was last used for.
    pub(crate) fn last_use(&self) -> LastUse {
        self.last
    }

    /// Drops answers whose calls have not come.
    pub(crate) fn clear_early(&mut self, all: &mut EarlyCount) {
        self.early.iter_mut().for_each(|early| early.clear(all));
    }

    /// Whether there are such answers.
    pub(crate) fn has_early(&self) -> bool {
        self.early.iter().any(|early| !early.is_empty())
    }

    /// Whether a request waits for its answer.
    pub(crate) fn has_waiting(&self) -> bool {
        self.waiting.iter().any(|waiting| !waiting.is_empty())
    }

    /// Passes the waiting requests to `take`: of a compound the operation that counts.
    pub(crate) fn waiting(&self, take: &mut impl FnMut(&Pending)) {
        for waiting in self.waiting.iter().flat_map(PendingTable::iter) {
            let principal = compound::principal(&waiting.members, waiting.announced);
            match principal.and_then(|principal| waiting.members.get(principal)) {
                Some(member) => take(&member.pending(&waiting.pending, true)),
                None => take(&waiting.pending),
            }
        }
    }

    /// The connection has ended: the waiting requests were not answered.
    pub fn end<S: Sink>(&mut self, context: &ConnectionContext, output: &mut Output<S>) {
        // Whole calls with their replies may be missing.
        if context.holes.iter().all(|&holes| holes > 0) {
            output.delegations.partial_between(context.ends.map(|end| end.ip));
            self.session.into_iter().for_each(|session| output.slots.lost(session));
        }
        for direction in 0..2 {
            (0..std::mem::take(&mut self.orphans[direction])).for_each(|_| output.orphan(context, direction));
            for (xid, waiting) in self.waiting[direction].drain(&mut output.waiting) {
                unanswered(xid, waiting, context, output);
            }
        }
    }

    #[inline]
    fn call<S: Sink>(
        &mut self,
        call: &Call<'_>,
        message: &Message<'_>,
        direction: usize,
        context: &ConnectionContext,
        handles: &mut Handles,
        output: &mut Output<S>,
    ) {
        let xid = call.xid();
        let is_answered = self.answered[direction].has(xid) && !self.takes_xid_again(call, direction);
        if is_answered || self.is_under_way(call, direction, context, output) {
            output.anomalies.add(Anomaly::DuplicateRequest);
            return;
        }
        self.ids[direction].xid(xid, context.breaks[direction]);
        if self.early_datagrams.forget(xid) {
            let orphans = &mut self.orphans[1 - direction];
            *orphans = orphans.saturating_sub(1);
            output.anomalies.add(Anomaly::NegativeTime);
        }
        let parts = call.parts();
        self.asked_for_tls |= parts.credential == Some(Credential::Flavor(Flavor::Tls));
        let mut waiting = output.spare_calls.make(call, parts.protection, message, direction, context);
        waiting.pending.user = self.user(parts.credential, output);
        match parts.arguments {
            Some(arguments) => note_arguments(&mut waiting, arguments, context, handles, output),
            // It may recall a delegation. A client's compound may still be read in the reply.
            None if waiting.is_compound() && rpc::is_transient(waiting.program) => {
                output.delegations.partial(compound::place(context, waiting.pending.direction, true));
            }
            None => {}
        }
        self.session = waiting.pending.session.or(self.session);
        self.last.request(waiting.pending.procedure, message.first.time_ns, waiting.only_keeps_lease());
        if waiting.pending.procedure.is_unknown() {
            output.anomalies.add(Anomaly::ProcedureUnknown);
        }
        let key = (u64::from(xid), 0);
        if let Some((answer, _)) = self.early[direction].take(key, message.end_offset, &mut output.early) {
            return self.answered_before(waiting, answer, (xid, direction), context, handles, output);
        }
        let members = waiting.members.len();
        output.members.add(members);
        match self.waiting[direction].insert_new(u64::from(xid), waiting, &mut output.waiting) {
            Some(Displaced::Oldest(xid, old) | Displaced::SameId(xid, old)) => {
                output.anomalies.add(Anomaly::PendingEvicted);
                unanswered(xid, old, context, output);
            }
            None => {}
        }
        if members > 0 {
            self.bound_members(direction, context, output);
        }
    }

    /// A compound came: while the compounds of all connections have too many operations, the oldest call of this
    /// connection is given up.
    #[inline]
    fn bound_members<S: Sink>(&mut self, direction: usize, context: &ConnectionContext, output: &mut Output<S>) {
        while output.members.is_full(&self.waiting[direction])
            && let Some((xid, old)) = self.waiting[direction].take_oldest(&mut output.waiting)
        {
            output.anomalies.add(Anomaly::PendingEvicted);
            unanswered(xid, old, context, output);
        }
    }

    /// Whether this call waits already. If another call waits with its xid, gives that one up.
    #[inline]
    fn is_under_way<S: Sink>(
        &mut self,
        call: &Call<'_>,
        direction: usize,
        context: &ConnectionContext,
        output: &mut Output<S>,
    ) -> bool {
        let (xid, called) = (u64::from(call.xid()), (call.program(), call.version(), call.procedure()));
        let Some(is_same) = self.waiting[direction].get_mut(xid).map(|waiting| waiting.called() == called) else {
            return false;
        };
        if !is_same && let Some(old) = self.waiting[direction].give_up(xid, &mut output.waiting) {
            output.anomalies.add(Anomaly::IdReused);
            unanswered(xid, old, context, output);
        }
        is_same
    }

    /// Whether a call with the xid of the call that was answered last is another one: a client with one outstanding call may use the same
    /// xid for all. A call that is sent again has the same procedure.
    #[cold]
    fn takes_xid_again(&mut self, call: &Call<'_>, direction: usize) -> bool {
        let (xid, called) = (call.xid(), (call.program(), call.version(), call.procedure()));
        let is_other = self.answered_last[direction].is_some_and(|(last, before)| last == xid && before != called);
        if is_other {
            self.answered[direction].forget(xid);
        }
        is_other
    }

    #[inline]
    fn reply<S: Sink>(
        &mut self,
        reply: &Reply<'_>,
        message: &Message<'_>,
        direction: usize,
        context: &ConnectionContext,
        handles: &mut Handles,
        output: &mut Output<S>,
    ) {
        let (asked, xid) = (1 - direction, reply.xid());
        let Some(mut waiting) = self.waiting[asked].remove(u64::from(xid), &mut output.waiting) else {
            if self.answered[asked].has(xid) {
                output.anomalies.add(Anomaly::DuplicateResponse);
            } else {
                match context.datagrams {
                    true => self.early_datagrams.add(xid),
                    false => {
                        let answer = Answer::of(message, None, outcome(reply));
                        let (key, all) = ((u64::from(xid), 0), &mut output.early);
                        self.early[asked].add(key, message.acknowledges, (answer, true), all);
                    }
                }
                // Datagrams bring other programs: no version 4 of NFS (RFC 8881 2.9.1).
                if !context.datagrams && (context.holes[asked] > 0 || context.from_start || context.begins_late) {
                    output.delegations.partial_between(context.ends.map(|end| end.ip));
                    // An anonymised response does not name its session: it is that of the connection's calls.
                    let session = reply.results().and_then(compound::session_of).or(self.session);
                    session.into_iter().for_each(|session| output.slots.lost(session));
                }
                if context.datagrams {
                    self.orphans[direction] += 1;
                } else {
                    output.orphan(context, direction);
                }
            }
            return;
        };
        output.members.remove(&waiting);
        self.answered[asked].add(xid);
        self.answered_last[asked] = Some((xid, waiting.called()));
        self.last.response(&waiting.pending, message, waiting.only_keeps_lease());
        let mut answer = Answer::of(message, None, outcome(reply));
        let results = waiting.protection.and_then(|protection| reply.results_under(protection));
        if waiting.is_compound() {
            compound::pair(&mut waiting, results, &mut answer, u64::from(xid), context, handles, output);
            output.spare_calls.recycle(waiting);
            return;
        }
        if let Some(results) = results {
            let mut facts = Facts::default();
            nfs::results(waiting.program, waiting.version, waiting.procedure, results, &mut facts);
            note_results(&mut waiting, &facts, &mut answer, context.ends[direction].ip, handles, output);
            if let (Some(program), Some(services)) = (waiting.asked_program, &output.services) {
                let answer = (program, waiting.version);
                if let Some(named) = portmap::named_service(answer, results, context.ends[direction].ip) {
                    services.add(named);
                }
            }
        }
        let silent = answer.status.is_none() && answer.outcome == Outcome::Succeeded;
        if silent && procedure::returns_status(waiting.program, waiting.version, waiting.procedure) {
            answer.outcome = Outcome::Unknown;
        }
        output.pair(context, Some(u64::from(xid)), &waiting.pending, &answer);
        output.spare_calls.recycle(waiting);
    }

    /// A call came after its reply, of which only the layer of RPC was read: without the call nobody knows what its results are.
    #[cold]
    fn answered_before<S: Sink>(
        &mut self,
        mut waiting: Box<Waiting>,
        mut answer: Answer,
        (xid, direction): (u32, usize),
        context: &ConnectionContext,
        handles: &mut Handles,
        output: &mut Output<S>,
    ) {
        self.answered[direction].add(xid);
        self.answered_last[direction] = Some((xid, waiting.called()));
        output.answered_before(&waiting.pending, answer.last.unwrap_or(answer.first).time_ns);
        if waiting.is_compound() {
            compound::pair(&mut waiting, None, &mut answer, u64::from(xid), context, handles, output);
        } else {
            let has_status = procedure::returns_status(waiting.program, waiting.version, waiting.procedure);
            if answer.outcome == Outcome::Succeeded && has_status {
                answer.outcome = Outcome::Unknown;
            }
            output.pair(context, Some(u64::from(xid)), &waiting.pending, &answer);
        }
        output.spare_calls.recycle(waiting);
    }

    /// The caller's numeric uid, as text; formatted once while it stays the same.
    #[inline]
    fn user<S: Sink>(&mut self, credential: Option<Credential<'_>>, output: &mut Output<S>) -> Symbol {
        let Some(Credential::Sys(sys)) = credential else { return Symbol::NONE };
        match self.user {
            Some((uid, symbol)) if uid == sys.uid => symbol,
            _ => self.other_user(sys.uid, &mut output.names),
        }
    }

    #[cold]
    fn other_user(&mut self, uid: u32, names: &mut Names) -> Symbol {
        let symbol = names.intern(&uid.to_string());
        self.user = Some((uid, symbol));
        symbol
    }
}

/// The outcome at the RPC layer; the procedure's own status may be worse.
fn outcome(reply: &Reply<'_>) -> Outcome {
    match reply.reply_stat() {
        Some(rpc::ReplyStat::Denied) => Outcome::Refused,
        _ => match reply.accept_stat() {
            None => Outcome::Unknown,
            Some(AcceptStat::Success) => Outcome::Succeeded,
            Some(AcceptStat::SystemError) => Outcome::Failed,
            Some(_) => Outcome::Refused,
        },
    }
}

fn unanswered<S: Sink>(xid: u64, mut waiting: Box<Waiting>, context: &ConnectionContext, output: &mut Output<S>) {
    output.members.remove(&waiting);
    let direction = waiting.pending.direction;
    let back = 1 - usize::from(direction);
    let is_lost = context.holes[back] != waiting.pending.holes[back];
    if is_lost && waiting.is_compound() && compound::hides_delegations(&waiting, None, 0, Outcome::Unknown) {
        output.delegations.partial(compound::place(context, direction, false));
    }
    if is_lost && let Some((session, _)) = compound::slot(&waiting) {
        output.slots.lost(session);
    }
    let principal = compound::principal(&waiting.members, waiting.announced);
    waiting.pending.counted = principal.is_none();
    output.unanswered(context, Some(xid), &waiting.pending);
    for (place, member) in waiting.members.iter().enumerate() {
        output.unanswered_member(context, Some(xid), &member.pending(&waiting.pending, principal == Some(place)));
    }
}
