//! Sender and receiver of a packet.

use serde::{Deserialize, Serialize};

/// An IPv4 (mapped into IPv6 as ::ffff:a.b.c.d) or IPv6 address as one number: cheap to hash and compare.
pub type Address = u128;

/// The address as the standard library has it.
pub fn ip_address(address: Address) -> std::net::IpAddr {
    std::net::Ipv6Addr::from(address).to_canonical()
}

/// Source and destination of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Path {
    /// Sender.
    pub source: Address,
    /// Receiver.
    pub destination: Address,
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
}

impl Path {
    /// The way back.
    pub fn reversed(&self) -> Path {
        Path {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
        }
    }
}
