//! One side of a connection.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// An address and a port, as seen on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Endpoint {
    /// IPv4 or IPv6 address.
    pub ip: IpAddr,
    /// TCP or UDP port.
    pub port: u16,
}

impl Endpoint {
    /// No connection at all: calls to the operating system have none.
    pub const NOWHERE: Endpoint = Endpoint { ip: IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), port: 0 };

    /// Whether there is a connection.
    pub fn is_somewhere(&self) -> bool {
        *self != Endpoint::NOWHERE
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ip {
            _ if !self.is_somewhere() => f.write_str("none"),
            IpAddr::V4(ip) => write!(f, "{ip}:{}", self.port),
            IpAddr::V6(ip) => write!(f, "[{ip}]:{}", self.port),
        }
    }
}
