//! Several servers: each has its share of the clients.

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_client::Client;
use plimsoll_client::tls::Tls;
use plimsoll_model::Guarantees;

use super::Connector;
use crate::engine::{ConnectionInfo, ServerAccess};

/// Several servers. Client 1 uses the first one, client 2 the second one, and so on in rotation.
pub struct Several {
    servers: Vec<(String, Arc<dyn Connector>)>,
    first: Arc<dyn Connector>,
}

impl Several {
    /// The servers with their names in reports; `None` if there are none.
    #[must_use]
    pub fn new(servers: Vec<(String, Arc<dyn Connector>)>) -> Option<Self> {
        let first = servers.first().map(|(_, server)| Arc::clone(server))?;
        Some(Self { servers, first })
    }

    /// Which of several servers a client has.
    #[must_use]
    pub fn place_of(client_index: u32, servers: usize) -> usize {
        client_index as usize % servers.max(1)
    }

    fn of(&self, client_index: u32) -> &Arc<dyn Connector> {
        let place = Self::place_of(client_index, self.servers.len());
        self.servers.get(place).map_or(&self.first, |(_, server)| server)
    }

    fn all(&self) -> impl Iterator<Item = &Arc<dyn Connector>> {
        self.servers.iter().map(|(_, server)| server)
    }
}

impl ServerAccess for Several {
    fn address(&self) -> Option<SocketAddr> {
        self.first.address()
    }

    fn address_of(&self, client_index: u32) -> Option<SocketAddr> {
        self.of(client_index).address()
    }

    fn targets(&self) -> Vec<String> {
        self.servers.iter().map(|(name, _)| name.clone()).collect()
    }

    fn account_of(&self, client_index: u32) -> Option<String> {
        self.of(client_index).account_of(client_index)
    }

    fn reserved_ports(&self) -> bool {
        self.all().any(|server| server.reserved_ports())
    }

    fn tls(&self) -> Vec<(SocketAddr, Arc<Tls>)> {
        self.all().flat_map(|server| server.tls()).collect()
    }

    fn client(&self, info: &ConnectionInfo) -> Box<dyn Client> {
        self.of(info.client_index).client(info)
    }
}

impl Connector for Several {
    fn facts(&self) -> Vec<String> {
        let facts: Vec<_> = self.servers.iter().map(|(name, server)| (Some(name.clone()), server.facts())).collect();
        common_facts_first(&facts)
    }

    fn take_guest_logons(&self) -> Vec<String> {
        let of = |(name, server): &(String, Arc<dyn Connector>)| {
            server.take_guest_logons().into_iter().map(|words| format!("{words} on {name}")).collect::<Vec<_>>()
        };
        self.servers.iter().flat_map(of).collect()
    }

    fn take_guarantees(&self) -> Guarantees {
        let mut taken = self.first.take_guarantees();
        self.all().skip(1).for_each(|server| taken.merge(&server.take_guarantees()));
        taken
    }
}

/// The facts of several servers or measurements: first those that all have, then the others with the name of theirs, if it has one.
#[must_use]
pub fn common_facts_first(facts: &[(Option<String>, Vec<String>)]) -> Vec<String> {
    let is_in_all = |fact: &String| facts.iter().all(|(_, of)| of.contains(fact));
    let same = facts.first().into_iter().flat_map(|(_, of)| of).filter(|fact| is_in_all(fact)).cloned();
    let own = facts.iter().flat_map(|(name, of)| {
        let own = of.iter().filter(|fact| !is_in_all(fact));
        own.map(move |fact| name.as_ref().map_or_else(|| fact.clone(), |name| format!("{name}: {fact}")))
    });
    same.chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_told_with_its_value() {
        let with = |curve: &str, facts: &[&str]| {
            (Some(curve.to_owned()), facts.iter().map(|&fact| fact.to_owned()).collect::<Vec<_>>())
        };
        let both = [with("slots=1", &["NFS 4.1", "1 slot"]), with("slots=9", &["NFS 4.1", "9 slots", "waits: 3"])];
        assert_eq!(common_facts_first(&both), ["NFS 4.1", "slots=1: 1 slot", "slots=9: 9 slots", "slots=9: waits: 3"]);
        assert_eq!(common_facts_first(&[(None, vec!["SMB 3.1.1".to_owned()])]), ["SMB 3.1.1"]);
        assert!(common_facts_first(&[]).is_empty());
    }
}
