//! The state of a client.

use std::sync::{Arc, PoisonError};

use plimsoll_model::Guarantees;

use super::back_channel::UnsentReplies;
use super::client_id::ClientId;
use super::condition::Condition;
use super::job::Jobs;
use super::membership::Membership;
use super::open_state::OpenState;
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

/// A connection with a session. Its parts own their state.
#[derive(Debug)]
pub struct Nfs4Client {
    pub(super) options: Arc<Nfs4Options>,

    pub(super) connection: Connection<RequestContext>,
    /// Replies to calls of the server.
    pub(super) unsent_replies: UnsentReplies,
    /// How far the client is, and whether it has a connection.
    pub(super) condition: Condition,
    /// The time without service.
    pub(super) outage: Outage,

    /// Name, ID and lease at the server.
    pub(super) client_id: ClientId,
    /// The place among the connections of a client.
    pub(super) membership: Membership,
    pub(super) session: Session,
    pub(super) agreed: Negotiated,

    /// Operations, and requests of the client itself.
    pub(super) jobs: Jobs,
    /// Jobs that wait for a slot, for a connection or for the end of a pause.
    pub(super) waiting: Waiting,
    /// Requests of a lost connection that are sent again.
    pub(super) resends: Resends,
    /// The recovery of a lost session or of lost state.
    pub(super) recovering: Recovering,

    /// Paths, and the handles that they lead to.
    pub(super) paths: Paths,
    /// Open files, their owners, and delegations.
    pub(super) opens: OpenState,
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
        if let Some(delegations) = &self.opens.delegations {
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
        let delegations = options.delegations && options.minor_version > 0 && name.is_some();
        Self {
            connection: Connection::new(identity, (PROGRAM, VERSION), options.security.as_ref()),
            unsent_replies: UnsentReplies::default(),
            condition: Condition::default(),
            outage: Outage::default(),
            client_id: ClientId::new(&options, name),
            membership: Membership::default(),
            session: Session::default(),
            agreed: options.agreed.get().copied().unwrap_or(Negotiated::UNKNOWN),
            jobs: Jobs::default(),
            waiting: Waiting::default(),
            resends: Resends::default(),
            recovering: Recovering::default(),
            paths: Paths::default(),
            opens: OpenState::new(Owners::new(0, 1), delegations),
            guarantees: Guarantees::default(),
            options,
        }
    }

    /// Connection number `nth` of the connections that share the session of `trunk`.
    #[must_use]
    pub fn trunked(options: Arc<Nfs4Options>, identity: Identity, trunk: Arc<Trunk>, nth: u32) -> Self {
        let mut client = Self::new(options, identity, Some(""));
        client.client_id.rename(trunk.name());
        // The server may recall over any connection of the session, and only one of them would know the delegation.
        client.opens = OpenState::new(Owners::new(nth % trunk.connections(), trunk.connections()), false);
        client.membership = Membership::new(trunk, nth);
        client
    }
}
