//! The beginning and end of a session: the calls, and the effect of the responses.

use std::sync::atomic::Ordering::Relaxed;

use plimsoll_model::Symbol;
use plimsoll_wire::nfs::v4::bind::BindConnection;
use plimsoll_wire::nfs::v4::close::ReturnDelegation;
use plimsoll_wire::nfs::v4::create_session::{self, CreateSession, Session as Created};
use plimsoll_wire::nfs::v4::exchange_id::{self, ExchangeId};
use plimsoll_wire::nfs::v4::getattr::GetAttributes;
use plimsoll_wire::nfs::v4::session_end::{DestroyClient, DestroySession, ReclaimComplete};
use plimsoll_wire::nfs::v4::{GetHandle, Mask, PutRoot};
use plimsoll_wire::xdr::Malformed;

use super::client::Nfs4Client;
use super::found::Found;
use super::job::{Connecting, Goal, Job, Leaving, Walk};
use super::options::Negotiated;
use super::requests::Calling;
use super::session;
use super::shapes;
use crate::operation::Reply;

/// Program number of callbacks, as in Linux' client.
pub(super) const CALLBACK: u32 = 0x4000_0000;

impl Calling<'_> {
    pub(super) fn connect(&mut self, stage: Connecting, job: &Job) -> bool {
        match stage {
            // Decided before the call is built.
            Connecting::Join => false,
            Connecting::Bind => self.bind(),
            Connecting::ExchangeId => self.exchange_id(),
            Connecting::CreateSession => self.create_session(),
            Connecting::ReclaimComplete => self.reclaim_complete(),
            Connecting::Root => self.send(shapes::ROOT, Symbol::NONE, None, |compound| {
                compound.add(&PutRoot).add(&GetHandle).add(&GetAttributes(Mask::KIND_AND_SIZE));
            }),
            Connecting::Limits => {
                let Some((handle, _)) = job.found() else { return false };
                self.about(shapes::GET_ATTRIBUTES, &handle, job, |compound| {
                    compound.add(&GetAttributes(Mask::OF_SERVER));
                })
            }
        }
    }

    pub(super) fn bind(&mut self) -> bool {
        if self.client.options.is_sessionless() {
            return self.renew();
        }
        let session = self.client.session.id;
        self.send(shapes::BIND, Symbol::NONE, None, |compound| {
            compound.add(&BindConnection(session));
        })
    }

    pub(super) fn exchange_id(&mut self) -> bool {
        if self.client.options.is_sessionless() {
            return self.set_client_id();
        }
        let (owner, verifier) = self.client.client_id.name();
        self.send(shapes::EXCHANGE_ID, Symbol::NONE, None, |compound| {
            compound.add(&ExchangeId { verifier, owner: &owner, flags: exchange_id::WITHOUT_PNFS });
        })
    }

    pub(super) fn create_session(&mut self) -> bool {
        if self.client.options.is_sessionless() {
            return self.confirm_client_id();
        }
        let (client, sequence) = self.client.client_id.next_session();
        let options = &self.client.options;
        let (fore, back) = (session::fore(options.most, self.client.wanted_slots()), session::BACK);
        let flags = create_session::BACK_CHANNEL;
        self.send(shapes::CREATE_SESSION, Symbol::NONE, None, |compound| {
            compound.add(&CreateSession { client, sequence, flags, fore, back, callback: CALLBACK });
        })
    }

    pub(super) fn reclaim_complete(&mut self) -> bool {
        self.send(shapes::RECLAIM_COMPLETE, Symbol::NONE, None, |compound| {
            compound.add(&ReclaimComplete);
        })
    }

    pub(super) fn destroy_session(&mut self) -> bool {
        let session = self.client.session.id;
        self.send(shapes::DESTROY_SESSION, Symbol::NONE, None, |compound| {
            compound.add(&DestroySession(session));
        })
    }

    pub(super) fn leave(&mut self, leaving: &Leaving, job: &Job) -> bool {
        let client = self.client.client_id.number();
        match leaving {
            Leaving::Delegations(list) => {
                let Some(&(handle, state)) = list.last() else { return false };
                self.about(shapes::RETURN_DELEGATION, &handle, job, |compound| {
                    compound.add(&ReturnDelegation { state });
                })
            }
            Leaving::Files(files) => {
                let Some(&(handle, state, owner)) = files.last() else { return false };
                self.close(&handle, state, owner, job)
            }
            Leaving::Session => self.destroy_session(),
            Leaving::Context => self.end_context(job),
            Leaving::Client => self.send(shapes::DESTROY_CLIENTID, Symbol::NONE, None, |compound| {
                compound.add(&DestroyClient(client));
            }),
        }
    }
}

impl Nfs4Client {
    /// Handles a step of setting up a session.
    pub(super) fn connecting(&mut self, stage: Connecting, job: &mut Job, found: &Found<'_>) -> Result<(), Malformed> {
        let next = match stage {
            Connecting::Join => return Err(Malformed),
            Connecting::Bind => {
                let bound = found.bound.filter(|bound| bound.session == self.session.id).ok_or(Malformed)?;
                self.agreed.back_channel = bound.back_channel;
                Connecting::Root
            }
            Connecting::ExchangeId if self.options.is_sessionless() => {
                self.client_id.identified(found.unconfirmed.ok_or(Malformed)?);
                Connecting::CreateSession
            }
            Connecting::CreateSession if self.options.is_sessionless() => {
                self.confirmed();
                self.agreed = Negotiated::without_session(self.options.most);
                Connecting::Root
            }
            Connecting::ExchangeId => {
                self.client_id.exchanged(&found.client.ok_or(Malformed)?);
                Connecting::CreateSession
            }
            Connecting::CreateSession => {
                let session = found.session.ok_or(Malformed)?;
                self.created(&session);
                self.agreed = Negotiated::of(&session, self.session.slots());
                // With several connections, the last one sends RECLAIM_COMPLETE.
                let (client, is_new) = (self.client_id.next_session(), self.client_id.is_new());
                match self.membership.share(session, client, is_new) {
                    true => Connecting::ReclaimComplete,
                    false => Connecting::Root,
                }
            }
            Connecting::ReclaimComplete => Connecting::Root,
            Connecting::Root => {
                let root = found.handle.ok_or(Malformed)?;
                job.walks = [Some(Box::new(Walk::new(self.options.export.clone(), true, 0, root))), None];
                Connecting::Limits
            }
            Connecting::Limits => {
                let (root, _) = job.found().ok_or(Malformed)?;
                self.paths.handles.set_root(root);
                self.agreed = self.agreed.narrowed(&found.attributes.ok_or(Malformed)?, self.options.most);
                // The values of the first client appear in the report.
                let _ = self.options.agreed.set(self.agreed);
                self.condition.connect();
                job.reply = Some(Reply::Nothing);
                return Ok(());
            }
        };
        job.goal = Goal::Connect(next);
        Ok(())
    }

    /// Handles a new session; the next CREATE_SESSION has the next sequence ID.
    pub(super) fn created(&mut self, session: &Created) {
        self.membership.granted(session.fore.slots, &self.options);
        let part = self.membership.part();
        if self.client_id.is_of_load() {
            self.session = self.session.next(session, self.wanted_slots(), part);
            self.options.load_slots.fetch_max(self.session.slots(), Relaxed);
        } else {
            // The first client requests the maximum, so the granted number is the server's limit.
            let _ = self.options.server_slots.set(session.fore.slots);
            self.session = self.session.next(session, self.options.slots, part);
        }
        self.client_id.count_session();
        self.agreed = self.agreed.within(session, self.session.slots());
    }

    /// The step of leaving that closes open files, or the next one.
    pub(super) fn leaving_files(&mut self) -> Leaving {
        let files = self.opens.all();
        if files.is_empty() { Leaving::Session } else { Leaving::Files(files) }
    }

    /// Handles the end of a step of leaving, successful or not. Always true, as a convenience for the caller.
    pub(super) fn left(&mut self, job: &mut Job, succeeded: bool) -> bool {
        let Goal::Leave(leaving) = &mut job.goal else { return false };
        match leaving {
            Leaving::Delegations(list) => {
                if let Some(((handle, state), delegations)) = list.pop().zip(self.opens.delegations.as_mut()) {
                    delegations.left(&handle, &state, succeeded, self.outage.answered_at());
                }
                if list.is_empty() {
                    *leaving = self.leaving_files();
                }
            }
            Leaving::Files(files) => {
                files.pop();
                if files.is_empty() {
                    *leaving = Leaving::Session;
                }
            }
            Leaving::Session if self.membership.leaves_last() => *leaving = Leaving::Client,
            Leaving::Session | Leaving::Client => self.leave_context(job),
            Leaving::Context => job.reply = Some(Reply::Nothing),
        }
        true
    }

    /// Session and client ID are given back: only a Kerberos context may be left.
    pub(super) fn leave_context(&self, job: &mut Job) {
        match self.connection.has_context() {
            true => job.goal = Goal::Leave(Leaving::Context),
            false => job.reply = Some(Reply::Nothing),
        }
    }
}
