//! The state of a client.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use plimsoll_model::Guarantees;
use plimsoll_wire::nfs::v4::FileHandle;

use super::back_channel::UnsentReplies;
use super::condition::Condition;
use super::delegations::Delegations;
use super::file::Files;
use super::job::Jobs;
use super::options::{Negotiated, Nfs4Options, PROGRAM, VERSION};
use super::outage::Outage;
use super::owners::Owners;
use super::parted::Resends;
use super::recoveries::Recoveries;
use super::recovering::Recovering;
use super::request_context::RequestContext;
use super::session::{Part, Session};
use super::trunk::{Last, Trunk};
use super::waiting::Waiting;
use crate::calls::Identity;
use crate::nfs::{Handles, LastIdentity, SpareWalks};
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
    /// The client belongs to the load, so its recoveries are reported.
    pub(super) counts: bool,
    /// The session that it shares with other connections.
    pub(super) trunk: Option<Arc<Trunk>>,
    pub(super) part: Part,
    /// Number of this connection among them.
    pub(super) member: u32,
    /// Number of its session among the sessions of the client's connections.
    pub(super) trunk_session: u32,
    /// The server did not know the client ID when it connected.
    pub(super) is_new: bool,
    /// Number of times that the server had lost the client's state when the session was created.
    pub(super) forgotten: u32,
    /// This connection creates the common session.
    pub(super) makes: bool,
    /// It has joined the common session.
    pub(super) joined: bool,
    /// What it must return when it leaves, after it has closed its files.
    pub(super) last: Option<Last>,
    pub(super) jobs: Jobs,
    pub(super) handles: Handles<FileHandle>,
    pub(super) last_identity: LastIdentity,
    pub(super) files: Files,
    /// Delegations, if it asks for them.
    pub(super) delegations: Option<Box<Delegations>>,
    /// Replies to calls of the server.
    pub(super) unsent_replies: UnsentReplies,
    pub(super) owners: Owners,
    pub(super) spare: SpareWalks<FileHandle>,
    pub(super) agreed: Negotiated,
    /// Client owner (the same after a reconnection) and verifier.
    pub(super) owner: Arc<[u8]>,
    pub(super) verifier: [u8; 8],
    /// Client ID, and the sequence ID of its next CREATE_SESSION.
    pub(super) client_id: (u64, u32),
    /// The verifier that confirms the client ID, in 4.0.
    pub(super) confirmation: [u8; 8],
    /// The lease has ended, so the server has dropped all state, in 4.0.
    pub(super) expired: bool,
    pub(super) session: Session,
    /// The jobs that wait for a slot, for a connection or for the end of a pause.
    pub(super) waiting: Waiting,
    /// Time of the last renewal of the lease, ns.
    pub(super) renewed: i64,
    /// What the server guaranteed this client.
    pub(super) guarantees: Guarantees,
}

impl Drop for Nfs4Client {
    fn drop(&mut self) {
        self.part_ways();
        self.options.guarantees.lock().unwrap_or_else(PoisonError::into_inner).merge(&self.guarantees);
        if self.counts {
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
        let number = options.made.fetch_add(1, Relaxed);
        let owner = match name {
            Some(name) => format!("plimsoll {:016x} {name}", options.run),
            None => format!("plimsoll {:016x} control {number}", options.run),
        };
        Self {
            connection: Connection::new(identity, (PROGRAM, VERSION), options.security.as_ref()),
            condition: Condition::default(),
            outage: Outage::default(),
            resends: Resends::default(),
            recovering: Recovering::default(),
            counts: name.is_some(),
            trunk: None,
            part: Part::default(),
            member: 0,
            trunk_session: 0,
            is_new: false,
            forgotten: 0,
            makes: false,
            joined: false,
            last: None,
            jobs: Jobs::default(),
            handles: Handles::new(FileHandle::EMPTY),
            last_identity: LastIdentity::default(),
            files: Files::default(),
            delegations: (options.delegations && options.minor_version > 0 && name.is_some()).then(Box::default),
            unsent_replies: UnsentReplies::default(),
            owners: Owners::new(0, 1),
            spare: SpareWalks::default(),
            agreed: options.agreed.get().copied().unwrap_or(Negotiated::UNKNOWN),
            owner: owner.into_bytes().into(),
            verifier: number.to_be_bytes(),
            client_id: (0, 0),
            confirmation: [0; 8],
            expired: false,
            session: Session::default(),
            waiting: Waiting::default(),
            renewed: i64::MAX,
            guarantees: Guarantees::default(),
            options,
        }
    }

    /// Connection number `nth` of the connections that share the session of `trunk`.
    #[must_use]
    pub fn trunked(options: Arc<Nfs4Options>, identity: Identity, trunk: Arc<Trunk>, nth: u32) -> Self {
        let step = trunk.connections();
        let mut client = Self::new(options, identity, Some(""));
        (client.owner, client.verifier) = trunk.name();
        (client.part, client.owners) = (Part { first: nth % step, step }, Owners::new(nth % step, step));
        client.member = nth % step;
        // The server may recall over any connection of the session, and only one of them knows the delegation.
        client.delegations = None;
        client.trunk = Some(trunk);
        client
    }
}
