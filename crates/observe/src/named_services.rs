//! RPC services whose ports portmappers named, on their way from the pairing to the filter of a live capture.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use plimsoll_wire::rpc::Program;

/// Maximum number of services that wait for the filter. A server has fewer than ten; a client asks for the others again when it mounts.
const WAITING_MAX: usize = 64;

/// A service that a portmapper named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedService {
    /// The program.
    pub program: Program,
    /// The server whose portmapper answered. An address in the answer is not used: it may be one that only the server itself knows.
    pub server: IpAddr,
    /// The port, over TCP or UDP.
    pub port: u16,
}

/// The services that were named and not taken yet.
#[derive(Debug, Default)]
pub struct NamedServices(Mutex<Vec<NamedService>>);

impl NamedServices {
    pub(crate) fn add(&self, service: NamedService) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < WAITING_MAX && !waiting.contains(&service) {
            waiting.push(service);
        }
    }

    /// The services since the last call.
    pub fn take(&self) -> Vec<NamedService> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_waits_once_and_no_more_than_the_limit_wait() {
        let services = NamedServices::default();
        let service = |port| NamedService { program: Program::Nfs, server: [10, 0, 0, 1].into(), port };
        (0..10).for_each(|_| services.add(service(7)));
        assert_eq!(services.take(), [service(7)]);
        (1..1_000).for_each(|port| services.add(service(port)));
        assert_eq!(services.take().len(), WAITING_MAX);
        assert_eq!(services.take(), []);
    }
}
