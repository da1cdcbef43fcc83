//! Opens an interface: everything that needs rights, and that must happen in the interface's network namespace.

use libc::sock_filter;

use super::card::Card;
use super::carrier::Carrier;
use super::clock::now_ns;
use super::error::InterfaceError;
use super::filter::{self, FILE_SERVER_PORTS};
use super::namespace::{path_of, within};
use super::ports::PortFilter;
use super::ring::{Ring, RingLayout};
use super::socket::{self, PacketSocket};
use super::tcpdump;
use crate::capture::LinkType;

/// An interface to open.
pub(super) struct CaptureRequest<'a> {
    pub(super) name: &'a str,
    /// The network namespace, if it is not this thread's.
    pub(super) namespace: Option<&'a str>,
    pub(super) ports: Vec<u16>,
    pub(super) filter: Option<&'a str>,
    pub(super) snap_length: u32,
    pub(super) buffer_bytes: usize,
}

/// A socket on an interface. So far, no packet gets in.
pub(super) struct CaptureSocket {
    pub(super) link: LinkType,
    pub(super) socket: PacketSocket,
    pub(super) ring: Ring,
    pub(super) carrier: Carrier,
    pub(super) card: Card,
    /// The filter, unless it is an expression.
    pub(super) filter: Option<PortFilter>,
    /// The filter's program for the kernel.
    pub(super) program: Vec<sock_filter>,
}

impl CaptureRequest<'_> {
    /// Opens the interface, in its network namespace.
    pub(super) fn open(self) -> Result<CaptureSocket, InterfaceError> {
        match self.namespace {
            None => self.open_here(),
            Some(namespace) => within(namespace, || self.open_here()),
        }
    }

    /// Opens the interface in the namespace of this thread.
    fn open_here(self) -> Result<CaptureSocket, InterfaceError> {
        let Self { name, namespace, mut ports, filter, snap_length, buffer_bytes } = self;
        let failed = |source| InterfaceError::Failed { name: name.into(), source };
        let index = socket::interface_index(name).map_err(|_| InterfaceError::Unknown(name.into()))?;
        let socket = PacketSocket::open(snap_length).map_err(|source| InterfaceError::not_opened(name, source))?;
        ports.extend(FILE_SERVER_PORTS);
        // Not yet known whether the interface has an Ethernet header: until then, no packet.
        socket.filter(&filter::nothing()).map_err(failed)?;
        let ring = socket.ring(RingLayout::of(buffer_bytes));
        let ring = ring.map_err(|source| InterfaceError::Ring { name: name.into(), source })?;
        let hardware = socket.bind(index).map_err(failed)?;
        let unsupported = || InterfaceError::LinkType { name: name.into(), number: hardware };
        let link = link_type(hardware).ok_or_else(unsupported)?;
        if hardware == libc::ARPHRD_LOOPBACK {
            socket.ignore_outgoing().map_err(failed)?;
        }
        if let Some(error) = socket.take_error().map_err(failed)? {
            return Err(failed(error));
        }
        let carrier = Carrier::of(socket.state().map_err(failed)?, now_ns());
        let card = Card::of(socket.interface().map_err(failed)?, namespace.map(path_of));
        let (filter, program) = match filter {
            None => {
                let filter = PortFilter::new(link, ports);
                let program = filter.program();
                (Some(filter), program)
            }
            Some(expression) => {
                let program = tcpdump::program((name, link), expression);
                let refused = |source| InterfaceError::Filter { expression: expression.into(), source };
                (None, program.map_err(refused)?)
            }
        };
        Ok(CaptureSocket { link, socket, ring, carrier, card, filter, program })
    }
}

/// IP packets without a header of the link, as some drivers of mobile networks have; not in libc.
const ARPHRD_RAWIP: u16 = 519;

/// The link layer of a hardware type (ARPHRD_… in include/uapi/linux/if_arp.h): Ethernet and loopback, or IP alone (tun, WireGuard).
fn link_type(hardware: u16) -> Option<LinkType> {
    match hardware {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Some(LinkType::Ethernet),
        libc::ARPHRD_NONE | ARPHRD_RAWIP => Some(LinkType::RawIp),
        _ => None,
    }
}
