//! What a client is for the server: the name that it gives itself, the ID that the server gives it, and the lease on this ID.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use plimsoll_wire::nfs::v4::client_id::Unconfirmed;
use plimsoll_wire::nfs::v4::exchange_id;

use super::options::Nfs4Options;

/// The identity of a client at the server.
#[derive(Debug)]
pub(super) struct ClientId {
    /// Client owner (the same after a reconnection) and verifier.
    owner: Arc<[u8]>,
    verifier: [u8; 8],
    /// The client belongs to the load, so its recoveries are reported.
    of_load: bool,
    /// The ID, and the sequence ID of its next CREATE_SESSION.
    id: (u64, u32),
    /// The verifier that confirms the ID, in 4.0.
    confirmation: [u8; 8],
    /// The server did not know the ID when the client asked for it.
    is_new: bool,
    /// The lease has ended, so the server has dropped all state, in 4.0.
    expired: bool,
    /// Time of the last renewal of the lease, ns.
    renewed: i64,
}

impl ClientId {
    /// The identity of a new client. Without a name it is another one each time.
    pub(super) fn new(options: &Nfs4Options, name: Option<&str>) -> Self {
        let number = options.made.fetch_add(1, Relaxed);
        let owner = match name {
            Some(name) => format!("plimsoll {:016x} {name}", options.run),
            None => format!("plimsoll {:016x} control {number}", options.run),
        };
        Self {
            owner: owner.into_bytes().into(),
            verifier: number.to_be_bytes(),
            of_load: name.is_some(),
            id: (0, 0),
            confirmation: [0; 8],
            is_new: false,
            expired: false,
            renewed: i64::MAX,
        }
    }

    /// The connections of a client have the same owner and verifier.
    pub(super) fn rename(&mut self, (owner, verifier): (Arc<[u8]>, [u8; 8])) {
        (self.owner, self.verifier) = (owner, verifier);
    }

    /// Client owner and verifier.
    pub(super) fn name(&self) -> (Arc<[u8]>, [u8; 8]) {
        (self.owner.clone(), self.verifier)
    }

    /// Whether the client belongs to the load.
    pub(super) fn is_of_load(&self) -> bool {
        self.of_load
    }

    /// The ID.
    pub(super) fn number(&self) -> u64 {
        self.id.0
    }

    /// The ID, and the sequence ID of its next CREATE_SESSION.
    pub(super) fn next_session(&self) -> (u64, u32) {
        self.id
    }

    /// CREATE_SESSION succeeded.
    pub(super) fn count_session(&mut self) {
        self.id.1 = self.id.1.wrapping_add(1);
    }

    /// Another connection of the client has created sessions of this ID.
    pub(super) fn share(&mut self, id: (u64, u32)) {
        self.id = id;
    }

    /// EXCHANGE_ID succeeded. True if the server has no state of the client.
    pub(super) fn exchanged(&mut self, client: &exchange_id::Client<'_>) -> bool {
        let another = std::mem::replace(&mut self.id, (client.id, client.sequence)).0 != client.id;
        self.is_new = !client.is_confirmed();
        another || self.is_new
    }

    /// Whether the server did not know the ID.
    pub(super) fn is_new(&self) -> bool {
        self.is_new
    }

    /// SETCLIENTID succeeded. True if the server has no state of the client.
    pub(super) fn identified(&mut self, unconfirmed: Unconfirmed) -> bool {
        let Unconfirmed { client, verifier } = unconfirmed;
        let another = std::mem::replace(&mut self.id, (client, 0)).0 != client;
        self.confirmation = verifier;
        std::mem::take(&mut self.expired) || another
    }

    /// The arguments of SETCLIENTID_CONFIRM.
    pub(super) fn unconfirmed(&self) -> Unconfirmed {
        Unconfirmed { client: self.id.0, verifier: self.confirmation }
    }

    /// The server says that the lease has ended.
    pub(super) fn expire(&mut self) {
        self.expired = true;
    }

    /// A request renews the lease.
    pub(super) fn renew(&mut self, now: i64) {
        self.renewed = now;
    }

    /// Time at which the lease must be renewed if no other request renews it, ns: after two thirds of the lease time.
    pub(super) fn renews_at(&self, lease_ns: i64) -> i64 {
        self.renewed.saturating_add(lease_ns / 3 * 2)
    }
}
