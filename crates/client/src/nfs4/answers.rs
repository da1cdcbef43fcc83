//! Handles responses: the results of a compound, and their effect on job and session.

use plimsoll_model::{FileIdentity, Outcome};
use plimsoll_wire::nfs::status::{
    NFS4ERR_ACCESS, NFS4ERR_BAD_HIGH_SLOT, NFS4ERR_BADHANDLE, NFS4ERR_BADSESSION, NFS4ERR_BADSLOT,
    NFS4ERR_COMPLETE_ALREADY, NFS4ERR_CONN_NOT_BOUND_TO_SESSION, NFS4ERR_DEADSESSION, NFS4ERR_DENIED, NFS4ERR_EXPIRED,
    NFS4ERR_FHEXPIRED, NFS4ERR_MINOR_VERS_MISMATCH, NFS4ERR_NOENT, NFS4ERR_NOTDIR, NFS4ERR_OLD_STATEID, NFS4ERR_PERM,
    NFS4ERR_RETRY_UNCACHED_REP, NFS4ERR_SEQ_FALSE_RETRY, NFS4ERR_SEQ_MISORDERED, NFS4ERR_STALE, NFS4ERR_STALE_CLIENTID,
    NFS4ERR_WRONGSEC,
};
use plimsoll_wire::nfs::v4::open::{Delegation, Opened};
use plimsoll_wire::nfs::v4::sequence::SequenceReply;
use plimsoll_wire::nfs::v4::{Done, Reply as Results4};
use plimsoll_wire::rpc::Verdict;
use plimsoll_wire::xdr::Malformed;

use super::client::Nfs4Client;
use super::found::Found;
use super::job::{Connecting, Goal, Job, LATER};
use super::parted::Parted;
use super::recovery::Stage;
use super::request_context::RequestContext;
use super::results::Results;
use super::sessionless::STATE_LOST;
use super::shapes;
use crate::calls::{Call, Ending};
use crate::client::Events;
use crate::operation::{Cause, Failure};
use crate::rpc::Arrival;

/// The handle is no longer valid.
const MEANINGLESS: [u32; 3] = [NFS4ERR_STALE, NFS4ERR_BADHANDLE, NFS4ERR_FHEXPIRED];
/// Statuses, mostly of SEQUENCE, after which the session cannot be used.
pub(super) const SESSION_LOST: [u32; 10] = [
    NFS4ERR_EXPIRED,
    NFS4ERR_STALE_CLIENTID,
    NFS4ERR_BADSESSION,
    NFS4ERR_BADSLOT,
    NFS4ERR_CONN_NOT_BOUND_TO_SESSION,
    NFS4ERR_SEQ_MISORDERED,
    NFS4ERR_RETRY_UNCACHED_REP,
    NFS4ERR_SEQ_FALSE_RETRY,
    NFS4ERR_BAD_HIGH_SLOT,
    NFS4ERR_DEADSESSION,
];
/// The export does not exist, or is not available to this user.
const NO_EXPORT: [u32; 5] = [NFS4ERR_PERM, NFS4ERR_NOENT, NFS4ERR_ACCESS, NFS4ERR_NOTDIR, NFS4ERR_WRONGSEC];

/// The server has already used this sequence ID of the slot.
const COUNTED_BEFORE: [u32; 2] = [NFS4ERR_RETRY_UNCACHED_REP, NFS4ERR_SEQ_FALSE_RETRY];
/// SEQ4_STATUS_RESTART_RECLAIM_NEEDED: the session survived a restart of the server, its state did not.
const RECLAIM_NEEDED: u32 = 0x100;

/// First stage of the recovery after a status of [`SESSION_LOST`]. `at_once`: the first operation has it, with sessions SEQUENCE.
fn remedy(status: u32, has_session: bool, at_once: bool) -> Stage {
    match status {
        _ if !has_session => Stage::Identify,
        // The client ID is lost with the session.
        NFS4ERR_EXPIRED if at_once => Stage::Identify,
        NFS4ERR_BADSESSION | NFS4ERR_DEADSESSION => Stage::Create,
        NFS4ERR_STALE_CLIENTID => Stage::Identify,
        NFS4ERR_CONN_NOT_BOUND_TO_SESSION => Stage::Bind,
        // Only the state is lost.
        NFS4ERR_EXPIRED => Stage::Anew,
        // Client and server disagree about the sequence ID of a slot.
        _ => Stage::End,
    }
}

impl Nfs4Client {
    /// Handles the response of a call: updates the job, and reports the transactions.
    pub(super) fn answered(
        &mut self,
        call: &Call<RequestContext>,
        verdict: Verdict<'_>,
        arrival: &Arrival<'_>,
        events: &mut dyn Events,
    ) -> Result<(), Malformed> {
        let mut job = self.jobs.take(call.context.job);
        let lacking = matches!(verdict, Verdict::ProcedureUnavailable);
        let mut results = Results::default();
        let read = match verdict {
            Verdict::Success(bytes) => {
                let length = bytes.len() + arrival.length.saturating_sub(arrival.kept.len());
                self.results(call, job.as_deref_mut(), (bytes, length), &mut results, events).map(Some)
            }
            _ => Ok(None),
        };
        let (status, outcome, cause) = match read {
            // NULL has no results, and therefore no status.
            Ok(Some(0)) => ((!call.context.shape.is_empty()).then_some(0), Outcome::Succeeded, None),
            Ok(Some(status)) => (Some(status), Outcome::Refused, Some(Cause::Status)),
            Ok(None) if lacking => (None, Outcome::Refused, Some(Cause::Unsupported)),
            Ok(None) => (None, Outcome::Refused, Some(Cause::CallRejected)),
            Err(Malformed) => (None, Outcome::Failed, Some(Cause::Malformed)),
        };
        let response_bytes = Some(arrival.length as u64);
        let payload_bytes = results.payload;
        let ending = Ending { answered: Some(arrival.at), status, outcome, response_bytes, payload_bytes };
        self.report(call, job.as_ref().and_then(|job| job.tag), Some(&results), &ending, events);
        if read.is_ok() && self.still_executes(call, &results) {
            if let Some(mut job) = job {
                self.delay(call, &mut job, &results, arrival.at.1);
                self.jobs.put(call.context.job, job);
            }
            return Ok(());
        }
        self.free_slot(call, &results);
        self.count_sequence(call, &results, matches!(read, Ok(Some(_))));
        if let Some(mut job) = job {
            job.pending = job.pending.saturating_sub(1);
            job.unanswered.take_if(|_| call.context.owned.is_some());
            // The call for a Kerberos context is no request of the job.
            if cause.is_none() && !self.connection.context_began_by(call.id) {
                if self.outage.lasts() && !matches!(job.goal, Goal::Recover(_) | Goal::Renew | Goal::Test(_)) {
                    self.outage.end(arrival.at.1);
                }
                self.returned(&mut job, arrival.at.1);
            }
            if let Some(cause) = cause {
                job.again |= may_be_done(call, &results, status);
                let failure = Failure { procedure: Some(shapes::about(call.context.shape)), status, outcome, cause };
                self.failed(call, &results, &mut job, failure, arrival.at.1);
            }
            self.jobs.put(call.context.job, job);
        }
        read.map(|_| ())
    }

    /// An answer that is not the server's, or a refusal of the Kerberos context: the call failed.
    pub(super) fn rejected(
        &mut self,
        call: &Call<RequestContext>,
        cause: Cause,
        arrival: &Arrival<'_>,
        events: &mut dyn Events,
    ) {
        let ending = arrival.rejects(cause);
        let tag = self.jobs.find(call.context.job).and_then(|job| job.tag);
        self.report(call, tag, None, &ending, events);
        if let Some(job) = self.jobs.get(call.context.job) {
            job.pending = job.pending.saturating_sub(1);
            let procedure = Some(shapes::about(call.context.shape));
            job.fail(Failure { procedure, status: None, outcome: ending.outcome, cause });
        }
    }

    /// The server refused a call because the Kerberos context has expired: the job sends it again in another context.
    pub(super) fn refused_context(
        &mut self,
        call: &Call<RequestContext>,
        arrival: &Arrival<'_>,
        events: &mut dyn Events,
    ) {
        let tag = self.jobs.find(call.context.job).and_then(|job| job.tag);
        self.report(call, tag, None, &arrival.rejects(Cause::LogonRefused), events);
        if call.context.resent && call.context.session == self.session.number {
            // Whether the server has used its sequence ID before is still unknown.
            self.resends.add(Parted::of(call));
            return;
        }
        self.free_slot(call, &Results::default());
        // Whether the server executed an earlier sending is still unknown.
        let sent_before = self.jobs.find(call.context.job).is_some_and(|job| job.unanswered.is_some());
        let owned = call.context.owned.filter(|_| !sent_before);
        owned.into_iter().for_each(|request| self.opens.owners.answered(request, None));
        if let Some(job) = self.jobs.get(call.context.job) {
            job.pending = job.pending.saturating_sub(1);
            job.ask_again(call.context.shape, call.context.data());
            // The lost session was replaced: whether the server executed the first sending is unknown.
            job.again |= call.context.resent && shapes::is_kept(call.context.shape);
        }
    }

    /// Reads results, and returns their status. `length` is their full length, even if only a part was stored.
    fn results(
        &mut self,
        call: &Call<RequestContext>,
        job: Option<&mut Job>,
        (bytes, length): (&[u8], usize),
        results: &mut Results,
        events: &mut dyn Events,
    ) -> Result<u32, Malformed> {
        // The job of a timed-out request no longer exists; its responses count as unmatched, and do not come here.
        let Some(job) = job else { return Err(Malformed) };
        let shape = call.context.shape;
        if shape.is_empty() {
            // The call for a Kerberos context precedes the calls of a job.
            let begins = self.connection.context_began_by(call.id);
            job.reply = (!begins).then_some(crate::operation::Reply::Nothing);
            return if bytes.is_empty() && length == 0 { Ok(0) } else { Err(Malformed) };
        }
        let mut reply = Results4::parse(bytes, length)?;
        let mut found = Found::default();
        let shape = call.context.operations();
        for &code in shape {
            let Some(answered) = reply.next(code.into())? else { break };
            results.add(answered.status);
            match answered.result {
                Done::Sequence(said) => self.sequenced(call, job, &said)?,
                Done::Nothing | Done::Access(_) => {}
                Done::State(state) => found.state = Some(self.as_sent(state)),
                Done::Committed(verifier) => found.committed = Some(verifier),
                Done::Attributes(attributes) => found.attributes = Some(attributes),
                Done::Handle(handle) => {
                    results.file = Some(FileIdentity::of_handle(handle.as_bytes()));
                    found.handle = Some(handle);
                }
                Done::Opened(opened) => {
                    let of_delegation = |one: Delegation| Delegation { state: self.as_sent(one.state), ..one };
                    let (state, delegation) = (self.as_sent(opened.state), opened.delegation.map(of_delegation));
                    found.opened = Some(Opened { state, delegation, ..opened });
                }
                Done::Data(data) => {
                    results.payload = Some(data.count.into());
                    found.data = Some(data);
                }
                Done::Page(page) => found.page = Some(page),
                Done::Link(text) => found.link = Some(text),
                Done::Written(written) => {
                    results.payload = call.wrote(written.count);
                    found.written = Some(written);
                }
                Done::Tested(statuses) => found.tested = Some(statuses),
                Done::Copied(copied) => found.copied = Some(copied),
                Done::Found(one) => found.found = Some(one),
                Done::Contents(contents) => {
                    results.payload = Some(contents.data.into());
                    found.contents = Some(contents);
                }
                Done::Bound(bound) => found.bound = Some(bound),
                Done::Client(client) => found.client = Some(client),
                Done::Unconfirmed(unconfirmed) => found.unconfirmed = Some(unconfirmed),
                Done::Session(session) => found.session = Some(session),
            }
        }
        if call.context.is_probe() && results.first() == Some(0) {
            // The server has used the sequence ID of the slot: it may repeat its whole response to the request that used it.
            self.settle(call, job, &found, events)?;
            return Ok(0);
        }
        let status = reply.status;
        reply.end()?;
        if status == 0 && results.count() < shape.len() {
            return Err(Malformed);
        }
        if status == 0 {
            self.settle(call, job, &found, events)?;
        }
        Ok(status)
    }

    /// Frees the slot of an answered call. The server has used the sequence ID only if SEQUENCE succeeded.
    fn free_slot(&mut self, call: &Call<RequestContext>, results: &Results) {
        if let Some(slot) = call.context.slot.filter(|_| call.context.session == self.session.number) {
            let before = call.context.resent && results.first().is_some_and(|status| COUNTED_BEFORE.contains(&status));
            self.session.free(slot, results.first() == Some(0) || before);
        }
    }

    /// SEQUENCE succeeded: its result must name the requested slot. Responses of an earlier session may still arrive.
    fn sequenced(&mut self, call: &Call<RequestContext>, job: &Job, said: &SequenceReply) -> Result<(), Malformed> {
        if call.context.session != self.session.number {
            return Ok(());
        }
        if !call.context.slot.is_some_and(|slot| self.session.confirms(slot, said)) {
            return Err(Malformed);
        }
        self.note_revocation(said.flags);
        let reclaims =
            self.condition.is_connected() && self.membership.is_alone() && !matches!(job.goal, Goal::Leave(_));
        if said.flags & RECLAIM_NEEDED != 0 && reclaims {
            self.recovering.need_reclaim(self.session.number);
        }
        Ok(())
    }

    /// A call failed: its job fails, or repeats the request after a pause.
    fn failed(&mut self, call: &Call<RequestContext>, results: &Results, job: &mut Job, failure: Failure, now: i64) {
        let status = failure.status.unwrap_or(0);
        let sessionless = self.options.is_sessionless();
        let lost = match call.context.slot {
            Some(_) => SESSION_LOST.contains(&status),
            None => sessionless && STATE_LOST.contains(&status),
        };
        let later = LATER.contains(&status) || sessionless && status == NFS4ERR_OLD_STATEID;
        let denied = status == NFS4ERR_DENIED && matches!(job.goal, Goal::Lock { waits: true, .. });
        if job.failure.is_none() && (later || denied) {
            return self.rest(call, job, failure, now);
        }
        if let Goal::Recover(recovery) = &mut job.goal
            && failure.status.is_some()
        {
            if let Some(cause) = self.not_recovered(recovery, lost, status) {
                job.fail(Failure { cause, ..failure });
            }
            return;
        }
        // A repeated CLOSE whose state the server has lost is done. With sessions, the status is about this state only if SEQUENCE
        // succeeded; otherwise it is about the session.
        let executed = sessionless || results.first() == Some(0);
        let closed = executed && matches!(job.goal, Goal::Close { .. }) && self.was_done(job, &failure);
        if closed || self.asks_anew(call, results, job, lost.then_some(status)) || self.was_done(job, &failure) {
            return;
        }
        if sessionless && self.closes_with_left_out_id(job, status) {
            return;
        }
        // Another session of the client ID has sent RECLAIM_COMPLETE.
        if status == NFS4ERR_COMPLETE_ALREADY && matches!(job.goal, Goal::Connect(Connecting::ReclaimComplete)) {
            job.goal = Goal::Connect(Connecting::Root);
            return;
        }
        if MEANINGLESS.contains(&status) {
            job.handles().for_each(|handle| self.paths.handles.stale(handle));
        }
        let cause = match &job.goal {
            // Only the state is lost, not the session: a client that logs off still destroys its session and client ID.
            Goal::Leave(_) if call.context.slot.is_some() && results.first() == Some(0) => failure.cause,
            _ if lost => {
                self.condition.doom(Cause::SessionLost);
                Cause::SessionLost
            }
            Goal::Connect(_) if status == NFS4ERR_MINOR_VERS_MISMATCH => Cause::NotOffered,
            Goal::Connect(Connecting::Root | Connecting::Limits) if NO_EXPORT.contains(&status) => Cause::ShareRefused,
            _ => failure.cause,
        };
        let ignored = matches!(job.goal, Goal::Leave(_)) && failure.status.is_some();
        if ignored && self.left(job, false) {
            return;
        }
        if matches!(job.goal, Goal::Return(_)) && failure.status.is_some() {
            return self.return_refused(job, status, now);
        }
        job.fail(Failure { cause, ..failure });
    }

    /// Whether a failed call is repeated, in the next session or in another slot. `lost`: the status with which the session is lost.
    fn asks_anew(&mut self, call: &Call<RequestContext>, results: &Results, job: &mut Job, lost: Option<u32>) -> bool {
        let Some(status) = lost.filter(|_| self.condition.is_connected() && !matches!(job.goal, Goal::Leave(_))) else {
            return false;
        };
        // If the server has used the sequence ID, the next one is right.
        let counted = call.context.resent && COUNTED_BEFORE.contains(&status);
        // The request has state from before the last recovery: it is repeated with the present state, and needs no further recovery.
        let recovered = status == NFS4ERR_EXPIRED && self.recovering.has_succeeded_since(call.context.queued);
        let current = call.context.session == self.session.number && !recovered;
        if !counted && current && self.recovering.is_idle() {
            if let Some(cause) = self.recovering.lose() {
                self.condition.doom(cause);
                return false;
            }
            if status == NFS4ERR_EXPIRED {
                self.client_id.expire();
            }
            let at_once = results.first() == Some(status);
            let stage = match remedy(status, call.context.slot.is_some(), at_once) {
                stage @ (Stage::Create | Stage::Identify) => self.membership.lose(stage),
                stage => stage,
            };
            self.recovering.need(stage);
        }
        match job.goal {
            Goal::Renew => job.reply = Some(crate::operation::Reply::Nothing),
            _ => self.recovering.counts.asked_anew += u64::from(call.context.resent && !counted),
        }
        job.ask_again(call.context.shape, call.context.data());
        true
    }
}

/// Whether the server may have executed an earlier sending of a call that it refuses now. If SEQUENCE succeeds, the refusal is the result
/// of the only execution, unless the server says that it has not kept this result.
fn may_be_done(call: &Call<RequestContext>, results: &Results, status: Option<u32>) -> bool {
    let unknown = results.first() != Some(0) || status.is_some_and(|status| COUNTED_BEFORE.contains(&status));
    call.context.resent && unknown && shapes::is_kept(call.context.shape)
}
