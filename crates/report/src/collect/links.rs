//! Link types that are not known, by number and name.

use super::counts::plural;
use plimsoll_model::{Coverage, Reason};

/// Set in numbers of formats that count link types otherwise than the registry.
const UNREGISTERED: u32 = 0x8000_0000;

/// Names of link types of networks and other buses (<https://www.tcpdump.org/linktypes.html>) that are not decoded.
const NAMES: [(u32, &str); 32] = [
    (6, "IEEE 802.5 Token Ring"),
    (7, "ARCNET"),
    (8, "SLIP"),
    (10, "FDDI"),
    (100, "ATM with RFC 1483"),
    (105, "IEEE 802.11"),
    (107, "Frame Relay"),
    (109, "IPsec of OpenBSD"),
    (117, "pf log of OpenBSD"),
    (119, "IEEE 802.11 with Prism headers"),
    (122, "IP over Fibre Channel"),
    (123, "ATM of SunATM"),
    (127, "IEEE 802.11 with radiotap headers"),
    (129, "ARCNET of Linux"),
    (138, "IP over IEEE 1394"),
    (140, "MTP2 with a pseudo-header"),
    (143, "DOCSIS"),
    (144, "IrDA of Linux"),
    (163, "IEEE 802.11 with AVS headers"),
    (187, "Bluetooth HCI"),
    (189, "USB of Linux"),
    (192, "PPI"),
    (195, "IEEE 802.15.4"),
    (201, "Bluetooth HCI with a direction"),
    (220, "USB of Linux, padded"),
    (224, "Fibre Channel"),
    (227, "CAN of Linux"),
    (239, "netfilter log of Linux"),
    (242, "IP over InfiniBand"),
    (247, "InfiniBand"),
    (249, "USB of Windows"),
    (252, "exported PDUs of Wireshark"),
];

/// The reason for data missing because of unknown link types; `None` if all are known.
pub(super) fn unknown(coverage: &Coverage) -> Option<Reason> {
    let links: Vec<String> = coverage.unknown_links.iter().map(|&(number, packets)| said(number, packets)).collect();
    (!links.is_empty()).then(|| {
        Reason::partial(format!(
            "{}. Operations in these packets are missing from the numbers: capture on an Ethernet or IP interface.",
            links.join("; ")
        ))
    })
}

/// `12 packets not read: link type 195 (IEEE 802.15.4) is not supported`.
fn said(number: u32, packets: u64) -> String {
    let packets = plural(packets, "packet");
    if number & UNREGISTERED != 0 {
        return format!(
            "{packets} not read: link type {} of this capture format is not supported",
            number & !UNREGISTERED
        );
    }
    let name = NAMES.iter().find(|(known, _)| *known == number).map_or("unnamed", |(_, name)| name);
    format!("{packets} not read: link type {number} ({name}) is not supported")
}
