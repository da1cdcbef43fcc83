//! The calls at the beginning and end of a session.

use plimsoll_model::Symbol;
use plimsoll_wire::nfs::v4::bind::BindConnection;
use plimsoll_wire::nfs::v4::close::ReturnDelegation;
use plimsoll_wire::nfs::v4::create_session::{self, CreateSession};
use plimsoll_wire::nfs::v4::exchange_id::{self, ExchangeId};
use plimsoll_wire::nfs::v4::getattr::GetAttributes;
use plimsoll_wire::nfs::v4::session_end::{DestroyClient, DestroySession, ReclaimComplete};
use plimsoll_wire::nfs::v4::{GetHandle, Mask, PutRoot};

use super::advance::Calling;
use super::job::{Connecting, Job, Leaving};
use super::session;
use super::shapes;

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
        let (verifier, owner) = (self.client.verifier, self.client.owner.clone());
        self.send(shapes::EXCHANGE_ID, Symbol::NONE, None, |compound| {
            compound.add(&ExchangeId { verifier, owner: &owner, flags: exchange_id::WITHOUT_PNFS });
        })
    }

    pub(super) fn create_session(&mut self) -> bool {
        if self.client.options.is_sessionless() {
            return self.confirm_client_id();
        }
        let (client, sequence) = self.client.client_id;
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
        let client = self.client.client_id.0;
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
