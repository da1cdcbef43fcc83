//! The packet filter that runs in the kernel: TCP and UDP from or to a file server's ports.
//!
//! Spec: bpf(2) and Linux' Documentation/networking/filter.rst (classic BPF)
//!
//! IP fragments after the first have no ports and pass, and so do packets whose ports stand behind extension headers of IPv6. The filter
//! skips up to two VLAN tags that the network card did not strip; it does not look into tunnels.

mod assembly;
mod ip;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use libc::sock_filter;

use crate::capture::{LinkType, MAX_PACKET_BYTES};
use assembly::{IF_EQUAL, LOAD_BYTE, LOAD_HALF, Label, Program, RETURN, SHIFT_RIGHT, statement};
use ip::Servers;

/// Ports of SMB (over TCP and over NetBIOS), NFS and the port mapper.
pub const FILE_SERVER_PORTS: [u16; 4] = [445, 139, 2049, 111];
/// Maximum number of ports of all servers in a filter. A port takes 4 instructions, one per IP version and direction. A program has at
/// most 4,096; older kernels accept about 1,200 in place of another program (net.core.optmem_max = 20 KiB).
pub const MAX_PORTS: usize = 128;
/// Maximum number of services in a filter: each takes 24 instructions at most, if each is on another server and has an IPv6 address.
pub(super) const MAX_SERVICES: usize = 64;

const ETHERTYPE_AT: u32 = 12;
const ETHERNET_LEN: u32 = 14;
const IPV4: u32 = 0x0800;
const IPV6: u32 = 0x86dd;
/// 802.1Q, 802.1ad and the older QinQ value.
const VLAN_TAGS: [u32; 3] = [0x8100, 0x88a8, 0x9100];
const VLAN_TAG_LEN: u32 = 4;
const TAGS_MAX: u32 = 2;

/// Lets nothing through: for the end of a capture.
pub(super) fn nothing() -> Vec<sock_filter> {
    vec![statement(RETURN, 0)]
}

/// The program with this snap length: what it returns for a packet is how many bytes of it the kernel copies.
pub(super) fn cut(program: &[sock_filter], snap_length: u32) -> Vec<sock_filter> {
    let cut = |step: &sock_filter| match step.code {
        RETURN => sock_filter { k: step.k.min(snap_length), ..*step },
        _ => *step,
    };
    program.iter().map(cut).collect()
}

/// Lets packets of this link type from or to these ports of any server through, and from or to these ports of single servers.
pub(super) fn program(link: LinkType, ports: &[u16], services: &[SocketAddr]) -> Vec<sock_filter> {
    let mut program = Program::default();
    if link == LinkType::RawIp {
        program.add(LOAD_BYTE, 0);
        program.add(SHIFT_RIGHT, 4);
        program.header(0, (4, 6));
    } else {
        for tags in 0..=TAGS_MAX {
            let more = if tags < TAGS_MAX { Label::Tagged(tags + 1) } else { Label::Drop };
            program.place(Label::Tagged(tags));
            program.add(LOAD_HALF, ETHERTYPE_AT + tags * VLAN_TAG_LEN);
            VLAN_TAGS.iter().for_each(|&tag| program.jump_if(IF_EQUAL, tag, more));
            program.header(ETHERNET_LEN + tags * VLAN_TAG_LEN, (IPV4, IPV6));
        }
    }
    let mut servers = Servers::new();
    services.iter().for_each(|service| servers.entry(service.ip()).or_default().push(service.port()));
    program.ipv4(ports, &servers);
    program.ipv6(ports, &servers);
    program.place(Label::Drop);
    program.add(RETURN, 0);
    program.place(Label::Pass);
    program.add(RETURN, MAX_PACKET_BYTES);
    program.finish()
}
