//! The state of a client.

use std::sync::{Arc, PoisonError};

use plimsoll_model::Guarantees;

use super::back_channel::UnsentReplies;
use super::client_id::ClientId;
use super::condition::Condition;
use super::delegations::Delegations;
use super::file::Files;
use super::job::Jobs;
use super::membership::Membership;
use super::options::{Negotiated, Nfs4Options, PROGRAM, VERSION};
use super::outage::Outage;
use super::owners::Owners;
use super::parted::Resends;
use super::paths::Paths;
use super::recoveries::Recoveries;
use super::recovering::Recovering;
use super::request_context::RequestContext;
use super::session::Session;
use super::trunk::Trunk;
use super::waiting::Waiting;
use crate::calls::Identity;
use crate::rpc::Connection;

/// A connection with a session.
#[derive(Debug)]
pub struct Nfs4Client {
    pub(super) options: Arc<Nfs4Options>,
    pub(super) connection: Connection<RequestContext>,
    /// How far it is.
    pub(super) condition: Condition,
    /// The time without service.
    pub(super) outage: Outage,
    /// The requests of a lost connection that are sent again.
    pub(super) resends: Resends,
    /// The recovery of a lost session.
    pub(super) recovering: Recovering,
    /// Its place among the connections of the client.
    pub(super) membership: Membership,
    pub(super) jobs: Jobs,
    pub(super) paths: Paths,
    pub(super) files: Files,
    /// Delegations, if it asks for them.
    pub(super) delegations: Option<Box<Delegations>>,
    /// Replies to calls of the server.
    pub(super) unsent_replies: UnsentReplies,
    pub(super) owners: Owners,
    pub(super) agreed: Negotiated,
    /// What the client is for the server.
    pub(super) client_id: ClientId,
    pub(super) session: Session,
    /// The jobs that wait for a slot, for a connection or for the end of a pause.
    pub(super) waiting: Waiting,
    /// What the server guaranteed this client.
    pub(super) guarantees: Guarantees,
}

impl Drop for Nfs4Client {
    fn drop(&mut self) {
        self.membership.end();
        self.options.guarantees.lock().unwrap_or_else(PoisonError::into_inner).merge(&self.guarantees);
        if self.client_id.is_of_load() {
            let counts = Recoveries { outage_ns: self.outage.longest(), ..self.recovering.counts };
            self.options.recoveries.lock().unwrap_or_else(PoisonError::into_inner).add(&counts);
        }
        if let Some(delegations) = &self.delegations {
            let counts = delegations.counts_at_end();
            self.options.delegation_counts.lock().unwrap_or_else(PoisonError::into_inner).add(&counts);
        }
    }
}

impl Nfs4Client {
    /// A client for a new connection. `name` distinguishes it from other clients of this run. A client that reconnects has the same name,
    /// so the server drops the opens of the lost connection. Without a name the client is always a new one.
    #[must_use]
    pub fn new(options: Arc<Nfs4Options>, identity: Identity, name: Option<&str>) -> Self {
        Self {
            connection: Connection::new(identity, (PROGRAM, VERSION), options.security.as_ref()),
            condition: Condition::default(),
            outage: Outage::default(),
            resends: Resends::default(),
            recovering: Recovering::default(),
            membership: Membership::default(),
            jobs: Jobs::default(),
            paths: Paths::default(),
            files: Files::default(),
            delegations: (options.delegations && options.minor_version > 0 && name.is_some()).then(Box::default),
            unsent_replies: UnsentReplies::default(),
            owners: Owners::new(0, 1),
            agreed: options.agreed.get().copied().unwrap_or(Negotiated::UNKNOWN),
            client_id: ClientId::new(&options, name),
            session: Session::default(),
            waiting: Waiting::default(),
            guarantees: Guarantees::default(),
            options,
        }
    }

    /// Connection number `nth` of the connections that share the session of `trunk`.
    #[must_use]
    pub fn trunked(options: Arc<Nfs4Options>, identity: Identity, trunk: Arc<Trunk>, nth: u32) -> Self {
        let mut client = Self::new(options, identity, Some(""));
        client.client_id.rename(trunk.name());
        client.owners = Owners::new(nth % trunk.connections(), trunk.connections());
        // The server may recall over any connection of the session, and only one of them knows the delegation.
        client.delegations = None;
        client.membership = Membership::new(trunk, nth);
        client
    }
}
