//! The filter by ports, which grows by the services that portmappers name.

use std::net::SocketAddr;

use libc::sock_filter;

use super::filter::{self, MAX_SERVICES};
use crate::capture::LinkType;
use crate::named_services::NamedService;

/// The filter by ports.
#[derive(Debug)]
pub(super) struct PortFilter {
    link: LinkType,
    /// Ports of all servers.
    ports: Vec<u16>,
    /// Ports of single servers.
    services: Vec<SocketAddr>,
    /// No more services fit.
    is_full: bool,
}

impl PortFilter {
    /// A filter by ports of all servers.
    pub(super) fn new(link: LinkType, ports: Vec<u16>) -> Self {
        Self { link, ports, services: Vec::new(), is_full: false }
    }

    /// The program for the kernel.
    pub(super) fn program(&self) -> Vec<sock_filter> {
        filter::program(self.link, &self.ports, &self.services)
    }

    /// Adds services whose packets do not pass yet, and has `attach` replace the program. Returns the changes, for people.
    pub(super) fn add(
        &mut self,
        named: &[NamedService],
        attach: impl FnOnce(&[sock_filter]) -> std::io::Result<()>,
    ) -> Vec<String> {
        let before = self.services.len();
        let mut changes = Vec::new();
        for &NamedService { program, server, port } in named {
            let service = SocketAddr::new(server, port);
            if self.is_full || self.ports.contains(&port) || self.services.contains(&service) {
                continue;
            }
            if self.services.len() == MAX_SERVICES {
                self.is_full = true;
                let left_out = format!(
                    "portmappers named more than {MAX_SERVICES} ports: not capturing the others; use --port or --filter"
                );
                changes.push(left_out);
                continue;
            }
            self.services.push(service);
            changes
                .push(format!("portmapper of {server}: also capturing port {port} ({}) from now on", program.name()));
        }
        if self.services.len() > before
            && let Err(error) = attach(&self.program())
        {
            // The program before stays.
            let ports = self.services.drain(before..).map(|service| format!(" --port {}", service.port()));
            let ports: String = ports.collect();
            self.is_full = true;
            return vec![format!("cannot capture the ports that a portmapper named: {error}; restart with{ports}")];
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use plimsoll_wire::rpc::Program;

    use super::*;

    fn named(program: Program, host: u8, port: u16) -> NamedService {
        NamedService { program, server: [10, 0, 0, host].into(), port }
    }

    fn filter() -> PortFilter {
        PortFilter::new(LinkType::Ethernet, vec![2_049, 111])
    }

    #[test]
    fn each_service_is_added_once_and_said() {
        let mut filter = filter();
        let services =
            [named(Program::Mount, 5, 20_048), named(Program::Nfs, 5, 2_049), named(Program::Nlm, 6, 40_001)];
        let mut attached = 0;
        let mut add = |filter: &mut PortFilter| {
            filter.add(&services, |program| {
                attached += 1;
                assert!(program.len() > 100);
                Ok(())
            })
        };
        let expected = [
            "portmapper of 10.0.0.5: also capturing port 20048 (MOUNT) from now on",
            "portmapper of 10.0.0.6: also capturing port 40001 (NLM) from now on",
        ];
        assert_eq!(add(&mut filter), expected, "port 2049 passes anyway");
        assert_eq!(add(&mut filter), [""; 0]);
        assert_eq!((attached, filter.services.len()), (1, 2), "nothing new: the program stays");
    }

    #[test]
    fn the_number_of_services_is_bounded() {
        let mut filter = filter();
        let services: Vec<NamedService> = (1..=200).map(|port| named(Program::Nfs, 5, port)).collect();
        let said = filter.add(&services, |_| Ok(()));
        assert_eq!((filter.services.len(), said.len()), (MAX_SERVICES, MAX_SERVICES + 1));
        assert!(said[MAX_SERVICES].contains("more than 64 ports"), "{said:?}");
        assert_eq!(filter.add(&services, |_| Ok(())), [""; 0], "said once");
    }

    #[test]
    fn a_program_that_the_kernel_refuses_changes_nothing() {
        let mut filter = filter();
        let before = filter.program().len();
        let services = [named(Program::Mount, 5, 20_048), named(Program::Nlm, 5, 40_001)];
        let said = filter.add(&services, |_| Err(io::Error::other("no memory")));
        assert_eq!(said.len(), 1);
        assert!(said[0].contains("no memory; restart with --port 20048 --port 40001"), "{said:?}");
        assert_eq!(filter.program().len(), before);
    }
}
