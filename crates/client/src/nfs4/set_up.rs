//! The calls of a session's beginning and end.

use plimsoll_model::Symbol;
use plimsoll_wire::nfs::v4::close::Close;
use plimsoll_wire::nfs::v4::create_session::{self, CreateSession};
use plimsoll_wire::nfs::v4::exchange_id::{self, ExchangeId};
use plimsoll_wire::nfs::v4::getattr::GetAttributes;
use plimsoll_wire::nfs::v4::session_end::{DestroyClient, DestroySession, ReclaimComplete};
use plimsoll_wire::nfs::v4::{GetHandle, Mask, PutRoot};

use super::advance::Calling;
use super::job::{Connecting, Job, Leaving};
use super::session;
use super::shapes;

/// Program of the server's calls, as Linux' client has it.
const CALLBACK: u32 = 0x4000_0000;

impl Calling<'_> {
    pub(super) fn connect(&mut self, stage: Connecting, job: &Job) -> bool {
        let client = &self.client;
        let (id, sequence) = client.client_id;
        match stage {
            Connecting::ExchangeId => {
                let (verifier, owner) = (client.verifier, client.owner.clone());
                self.send(shapes::EXCHANGE_ID, Symbol::NONE, None, |compound| {
                    compound.add(&ExchangeId { verifier, owner: &owner, flags: exchange_id::WITHOUT_PNFS });
                })
            }
            Connecting::CreateSession => {
                let fore = session::fore(client.options.most, client.options.slots);
                let flags = create_session::BACK_CHANNEL;
                let create =
                    CreateSession { client: id, sequence, flags, fore, back: session::BACK, callback: CALLBACK };
                self.send(shapes::CREATE_SESSION, Symbol::NONE, None, |compound| {
                    compound.add(&create);
                })
            }
            Connecting::ReclaimComplete => self.send(shapes::RECLAIM_COMPLETE, Symbol::NONE, None, |compound| {
                compound.add(&ReclaimComplete);
            }),
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

    pub(super) fn leave(&mut self, leaving: &Leaving, job: &Job) -> bool {
        let (session, client) = (self.client.session.id, self.client.client_id.0);
        match leaving {
            Leaving::Files(files) => {
                let Some(&(handle, state)) = files.last() else { return false };
                self.about(shapes::CLOSE_FILE, &handle, job, |compound| {
                    compound.add(&Close { state });
                })
            }
            Leaving::Session => self.send(shapes::DESTROY_SESSION, Symbol::NONE, None, |compound| {
                compound.add(&DestroySession(session));
            }),
            Leaving::Client => self.send(shapes::DESTROY_CLIENTID, Symbol::NONE, None, |compound| {
                compound.add(&DestroyClient(client));
            }),
        }
    }
}
