//! Whether a server is on this machine.

use std::net::{ToSocketAddrs as _, UdpSocket};

use plimsoll_client::target::Target;

/// Whether a server is on this machine: a socket can be bound to its address.
pub fn is_here(target: &Target) -> bool {
    let Some(server) = target.server() else { return true };
    let addresses = (server.host.as_str(), 0).to_socket_addrs();
    addresses.is_ok_and(|mut addresses| addresses.any(|address| UdpSocket::bind(address).is_ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_here_where_its_address_is() {
        let here = |url: &str| is_here(&Target::parse(url).unwrap());
        assert!(here("smb://user@127.0.0.1/share") && here("nfs://127.0.0.1/export") && here("file:///tmp"));
        // No machine has an address of TEST-NET-1 (RFC 5737).
        assert!(!here("smb://user@192.0.2.1/share"));
    }
}
