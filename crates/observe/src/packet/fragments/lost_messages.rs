//! Messages of RPC over UDP in datagrams that stay incomplete.

use std::collections::{HashMap, HashSet};

use plimsoll_wire::rpc::plausible_message;
use serde::{Deserialize, Serialize};

use super::super::datagram::Datagram;
use super::super::path::Address;

/// Ports of NFS and of the portmapper.
const RPC_PORTS: [u16; 2] = [2049, 111];
/// Bytes of the header of UDP.
const UDP_HEADER: usize = 8;
/// Bytes by which a message of RPC differs from other data (RFC 5531 9).
const RPC_HEADER: usize = 24;
/// Maximum number of pairs of hosts that are remembered.
const HOSTS_MAX: usize = 4_096;

/// Two hosts, in order.
type Hosts = (Address, Address);

/// Counts of messages that may have been lost.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct LostMessages {
    /// Datagrams whose first fragment shows RPC.
    certain: u64,
    /// Datagrams whose first fragment is missing or too short, by their hosts.
    between: HashMap<Hosts, u64>,
    /// Such datagrams of further hosts, for which `between` had no room.
    left_out: u64,
    /// Hosts with RPC over UDP.
    with_rpc: HashSet<Hosts>,
}

impl LostMessages {
    /// RPC over UDP goes between these hosts.
    pub(super) fn note_rpc(&mut self, source: Address, destination: Address) {
        if self.with_rpc.len() < HOSTS_MAX {
            self.with_rpc.insert(in_order(source, destination));
        }
    }

    /// Counts a datagram. `is_rpc` is what its first fragment shows.
    pub(super) fn add(&mut self, source: Address, destination: Address, is_rpc: Option<bool>) {
        let hosts = in_order(source, destination);
        match is_rpc {
            Some(true) => self.certain += 1,
            Some(false) => {}
            None if self.between.len() < HOSTS_MAX || self.between.contains_key(&hosts) => {
                *self.between.entry(hosts).or_default() += 1;
            }
            None => self.left_out += 1,
        }
    }

    /// How many datagrams may hold a message. Where not all hosts could be remembered, any of them may exchange RPC.
    pub(super) fn finish(&self) -> u64 {
        let is_full = self.with_rpc.len() >= HOSTS_MAX;
        let may_be_rpc = |hosts: &Hosts| is_full || self.with_rpc.contains(hosts);
        let between = self.between.iter().filter(|(hosts, _)| may_be_rpc(hosts)).map(|(_, count)| count);
        let left_out = if self.with_rpc.is_empty() { 0 } else { self.left_out };
        self.certain + between.sum::<u64>() + left_out
    }
}

fn in_order(one: Address, other: Address) -> Hosts {
    (one.min(other), one.max(other))
}

/// Whether the first fragment of a UDP datagram shows a message of RPC; `None` if it does not tell.
pub(super) fn is_rpc(first: &Datagram<'_>) -> Option<bool> {
    let &[a, b, c, d] = first.payload.first_chunk()?;
    if [[a, b], [c, d]].iter().any(|port| RPC_PORTS.contains(&u16::from_be_bytes(*port))) {
        return Some(true);
    }
    let message = first.payload.get(UDP_HEADER..)?;
    if plausible_message(message).is_some() {
        return Some(true);
    }
    // In a copy of `plimsoll anonymize`, incomplete datagrams are all zeros.
    message.get(..RPC_HEADER).filter(|header| header.iter().any(|byte| *byte != 0)).map(|_| false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(ports: [u16; 2], message: &[u8]) -> Option<bool> {
        let payload = [&ports[0].to_be_bytes()[..], &ports[1].to_be_bytes(), &[0; 4], message].concat();
        let wire_len = payload.len() as u32;
        is_rpc(&Datagram { source: 1, destination: 2, protocol: 17, payload: &payload, wire_len })
    }

    #[test]
    fn the_port_or_the_header_shows_rpc() {
        let reply = [&[0, 0, 0, 7, 0, 0, 0, 1][..], &[0; 16]].concat();
        assert_eq!(shown([900, 700], &reply), Some(true), "on any port");
        assert_eq!(shown([700, 2_049], &[]), Some(true), "cut");
        assert_eq!(shown([53, 700], &[0x55; 24]), Some(false));
        assert_eq!(shown([53, 700], &[0x55; 16]), None, "cut");
        assert_eq!(shown([53, 700], &[0; 24]), None, "a copy of `anonymize`");
    }

    #[test]
    fn beyond_the_bound_any_hosts_may_exchange_rpc() {
        let mut lost = LostMessages::default();
        for host in 0..=HOSTS_MAX as Address {
            lost.add(host, Address::MAX, None);
        }
        assert_eq!((lost.left_out, lost.finish()), (1, 0), "no RPC goes over UDP");
        lost.note_rpc(7, Address::MAX);
        assert_eq!(lost.finish(), 2, "those of the pair, and the one left out");
        for host in 0..=HOSTS_MAX as Address {
            lost.note_rpc(host, 1 << 100);
        }
        assert_eq!(lost.finish(), HOSTS_MAX as u64 + 1);
    }
}
