//! Link layers of captured packets.

use serde::{Deserialize, Serialize};

/// The link layer of a captured packet.
///
/// Numbers are those of the registry at <https://www.tcpdump.org/linktypes.html>; the numbers of snoop,
/// NetMon and NetXRay are mapped to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LinkType {
    /// Ethernet II or IEEE 802.3, from the destination address on (1).
    Ethernet,
    /// Linux "cooked" capture, version 1: a 16-byte header (113).
    LinuxCooked1,
    /// Linux "cooked" capture, version 2: a 20-byte header (276).
    LinuxCooked2,
    /// BSD loopback: a 4-byte address family in the byte order of the capturing machine (0).
    Null,
    /// OpenBSD loopback: a 4-byte address family in network byte order (108).
    Loop,
    /// An IPv4 or IPv6 packet without link layer (101, 228 and 229; 12 and 14 on some systems).
    RawIp,
    /// PPP, with or without HDLC's address and control bytes, or Cisco's HDLC in their place (9 and 50).
    Ppp,
    /// PPP behind a byte that tells the direction (166 and 204).
    PppWithDirection,
    /// A PPPoE header without Ethernet's before it (51).
    PppOverEthernet,
    /// Cisco's HDLC: address, control and an EtherType (104).
    CiscoHdlc,
    /// Any other link layer: its number in the registry, or [`LinkType::UNREGISTERED`] plus the format's own number if the registry has
    /// no equal.
    Other(u32),
}

impl LinkType {
    /// Added to a snoop, NetMon or NetXRay network number that the registry has no number for.
    pub const UNREGISTERED: u32 = 0x8000_0000;

    /// The link type of a number in the registry.
    pub fn from_registry(number: u32) -> Self {
        match number {
            0 => Self::Null,
            1 => Self::Ethernet,
            9 | 50 => Self::Ppp,
            12 | 14 | 101 | 228 | 229 => Self::RawIp,
            51 => Self::PppOverEthernet,
            104 => Self::CiscoHdlc,
            108 => Self::Loop,
            113 => Self::LinuxCooked1,
            166 | 204 => Self::PppWithDirection,
            276 => Self::LinuxCooked2,
            other => Self::Other(other),
        }
    }

    /// The number in the registry that capture files have; `None` where there is none.
    pub fn registry_number(self) -> Option<u32> {
        Some(match self {
            Self::Null => 0,
            Self::Ethernet => 1,
            Self::Ppp => 9,
            Self::RawIp => 101,
            Self::PppOverEthernet => 51,
            Self::CiscoHdlc => 104,
            Self::Loop => 108,
            Self::LinuxCooked1 => 113,
            Self::PppWithDirection => 204,
            Self::LinuxCooked2 => 276,
            Self::Other(number) => return (number < Self::UNREGISTERED).then_some(number),
        })
    }

    /// A number of a format that counts otherwise and that has no equal in the registry.
    pub(super) fn unregistered(number: u32) -> Self {
        Self::Other(Self::UNREGISTERED | number)
    }
}
