//! Client ports, and their replacements.

use std::collections::{BTreeMap, BTreeSet};

/// Ports on which file servers and what belongs to them listen.
const SERVERS: [u16; 6] = [111, 137, 138, 139, 445, 2049];
/// The first port that a copy's client may have.
const FIRST: u16 = 1_024;

/// The ports in a capture.
#[derive(Debug, Default)]
pub(crate) struct Ports {
    all: BTreeSet<u16>,
    clients: BTreeSet<u16>,
}

/// A copy's names for the client's ports.
#[derive(Debug)]
pub(crate) struct Renaming(BTreeMap<u16, u16>);

impl Ports {
    /// Learns from a packet's ports.
    pub(crate) fn saw(&mut self, (source, destination): (u16, u16)) {
        self.all.extend([source, destination]);
        if let Some(client) = client((source, destination)) {
            self.clients.insert(client);
        }
    }

    /// Ports for `copies` copies: the first keeps its own, the others get unused ones.
    pub(crate) fn renamings(&self, copies: u64) -> Result<Vec<Renaming>, String> {
        let mut free = (FIRST..=u16::MAX).filter(|port| !self.all.contains(port) && !SERVERS.contains(port));
        let mut renamings = Vec::new();
        for copy in 0..copies {
            let mut ports = BTreeMap::new();
            for client in self.clients.iter().filter(|_| copy > 0) {
                let port = free.next();
                ports.insert(
                    *client,
                    port.ok_or_else(|| {
                        format!("{copies} copies of {} client ports are more ports than there are", self.clients.len())
                    })?,
                );
            }
            renamings.push(Renaming(ports));
        }
        Ok(renamings)
    }
}

impl Renaming {
    /// The ports of a packet in this copy.
    pub(crate) fn rename(&self, ports: (u16, u16)) -> (u16, u16) {
        let (source, destination) = ports;
        match client(ports).and_then(|client| Some((client, *self.0.get(&client)?))) {
            Some((client, new)) if client == source => (new, destination),
            Some((_, new)) => (source, new),
            None => ports,
        }
    }
}

/// The port of the two that is the client's, the same for both directions; none between two servers' ports.
fn client((source, destination): (u16, u16)) -> Option<u16> {
    match (SERVERS.contains(&source), SERVERS.contains(&destination)) {
        (true, true) => None,
        (true, false) => Some(destination),
        (false, true) => Some(source),
        (false, false) => Some(source.max(destination)),
    }
}
