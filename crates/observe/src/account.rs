//! What the connections that have ended add up to, besides their transactions.

use plimsoll_model::{Missing, Network, OneSided, RpcTls, Unopened, Unseen};
use serde::{Deserialize, Serialize};

use crate::connection::{ClientPaths, Lives};
use crate::missing::{Bursts, End};

/// Missing parts of all connections together.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Account {
    /// Sums over the connections that have ended.
    pub(crate) unseen: Unseen,
    /// Number of connections with only one captured direction, and the first of them.
    pub(crate) one_sided: u64,
    pub(crate) one_sided_named: Vec<OneSided>,
    /// Connections with RPC over TLS.
    pub(crate) rpc_tls: RpcTls,
    /// Waiting that TCP's headers tell of.
    pub(crate) network: Network,
    /// The same by client.
    pub(crate) client_paths: ClientPaths,
    /// When connections were opened and closed.
    pub(crate) lives: Lives,
    /// Connections that were not opened.
    pub(crate) unopened: Vec<Unopened>,
    /// When packets were lost.
    pub(crate) bursts: Bursts,
    /// When connections were seen.
    pub(crate) ends: Vec<End>,
}

impl Account {
    /// Adds requests with an interim response that were not answered, and are in the account of no connection: they wait by design, or
    /// another connection of their session could have answered them.
    pub(crate) fn add_asynchronous(&mut self, unseen: &Unseen) {
        let lost = unseen.requests_after_gap + unseen.requests_after_cut;
        self.unseen.add(unseen);
        self.unseen.missing.add(&Missing { operations: lost, low: 0, high: lost, unknown: 0 });
    }
}
