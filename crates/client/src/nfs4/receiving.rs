//! Received messages: hands each response to its job, and then sends jobs that wait for slots.

use plimsoll_wire::nfs::v4::Reply as Results4;
use plimsoll_wire::rpc::Verdict;
use plimsoll_wire::xdr::Malformed;

use super::client::Nfs4Client;
use super::recovery::Recovery;
use super::shapes;
use crate::client::{Arrived, Events};
use crate::operation::Cause;
use crate::outbox::Outbox;
use crate::rpc::{Arrival, Opened};

impl Nfs4Client {
    /// Takes a record.
    ///
    /// # Errors
    /// The cause for which the connection is of no use any more.
    pub(super) fn arrived(
        &mut self,
        record: &Arrived<'_>,
        out: &mut Outbox,
        events: &mut dyn Events,
    ) -> Result<(), Cause> {
        let at = record.last;
        Arrival::of(record, |arrival| {
            if self.called_back(arrival.kept, at, out)? { Ok(()) } else { self.reply(arrival, out, events) }
        })?;
        if self.condition.over().is_none() {
            self.return_due(at, out, events);
        }
        Ok(())
    }

    fn reply(&mut self, arrival: &Arrival<'_>, out: &mut Outbox, events: &mut dyn Events) -> Result<(), Cause> {
        let (xid, verdict) = Verdict::parse(arrival.kept).map_err(|Malformed| Cause::Malformed)?;
        let at = arrival.at.1;
        self.outage.answered(at);
        match self.connection.ended_by(xid) {
            Some(call) => {
                let opened = match self.connection.open(call.id, arrival.kept, verdict) {
                    Ok(opened) => opened,
                    Err(cause) => {
                        self.rejected(&call, cause, arrival, events);
                        return Err(cause);
                    }
                };
                match opened {
                    Opened::Expired(_) => self.refused_context(&call, arrival, events),
                    opened => {
                        let answered = self.answered(&call, opened.verdict(), arrival, events);
                        answered.map_err(|Malformed| Cause::Malformed)?;
                    }
                }
                if let Some(job) = self.jobs.get(call.context.job) {
                    job.due_at(at);
                }
                if let Some(stage) = self.recovering.take_need().filter(|_| !self.condition.is_doomed()) {
                    self.outage.begin(at);
                    let recovery = Box::new(Recovery::new(stage, at, self.session.number, &self.opens.files));
                    self.recover(recovery, None, at, out, events);
                }
                self.advance(call.context.job, at, out, events);
            }
            None => {
                let counted = self.connection.open_late(xid, arrival.kept, verdict);
                match counted.map(|opened| was_counted(opened.verdict())) {
                    Some(counted) => self.session.found(xid, counted),
                    None => self.ask_about(xid, at),
                }
            }
        }
        self.pump(at, out, events);
        self.give_up_if_doomed(at, events);
        Ok(())
    }

    /// Sends jobs that wait for slots, as long as slots are free.
    pub(super) fn pump(&mut self, now: i64, out: &mut Outbox, events: &mut dyn Events) {
        self.send_parted(now, out);
        // A job whose owner is busy waits again, behind the others.
        for _ in 0..self.waiting.queued() {
            // During a recovery nothing else can be sent, also if it came to the front later.
            let Some((id, since)) = self.waiting.take_next(self.recovering.job()) else { break };
            if !self.has_room() {
                self.waiting.put_back(id, since);
                break;
            }
            if let Some(job) = self.jobs.get(id) {
                job.waits = false;
            }
            self.advance(id, now, out, events);
        }
    }
}

/// Whether the server has used the sequence ID of the request: SEQUENCE succeeded.
fn was_counted(verdict: Verdict<'_>) -> bool {
    let Verdict::Success(bytes) = verdict else { return false };
    let sequence = Results4::parse(bytes, bytes.len()).and_then(|mut reply| reply.next(shapes::SEQUENCE.into()));
    sequence.is_ok_and(|answered| answered.is_some_and(|answered| answered.status == 0))
}
