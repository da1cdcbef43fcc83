//! Packets of an interface as pcapng blocks: the input of the analysis and of `--save`.
//!
//! Spec: draft-ietf-opsawg-pcapng-03 4.1, 4.2, 4.3, 4.6
//!
//! A section has one interface. Its statistics count from its start, so each file of a ring reports the losses of its own time.

use super::block::RingPacket;
use crate::capture::LinkType;
use crate::capture::pcapng::{COMMENT, INTERFACE_REMOVED};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
/// Options: end, application, name of the interface, clock resolution; start and end of the capture, packets lost by the
/// interface and by the system.
const END: u16 = 0;
const APPLICATION: u16 = 4;
const NAME: u16 = 2;
const RESOLUTION: u16 = 9;
const STARTED: u16 = 2;
const ENDED: u16 = 3;
const INTERFACE_DROPS: u16 = 5;
const SYSTEM_DROPS: u16 = 7;
/// Ticks are 10⁻⁹ s.
const NANOSECONDS: u8 = 9;
/// Ethernet and raw IP in the registry of link types.
const ETHERNET: u16 = 1;
const RAW_IP: u16 = 101;
/// The two addresses of an Ethernet header, behind which VLAN tags stand.
const ADDRESSES: usize = 12;

/// Packets that were lost before they could be read. None is in both counts: what the card lost never reached the kernel's ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lost {
    /// By the kernel: the ring was full.
    pub(super) kernel: u64,
    /// By the interface: its own queue was full.
    pub(super) interface: u64,
}

/// Begins a section of an interface.
pub(super) fn begin(out: &mut Vec<u8>, name: &str, link: LinkType, snap_length: u32) {
    block(out, SECTION_HEADER, |body| {
        body.extend_from_slice(&0x1a2b_3c4d_u32.to_le_bytes());
        body.extend_from_slice(&[1, 0, 0, 0]);
        // How long the section is: not known.
        body.extend_from_slice(&u64::MAX.to_le_bytes());
        option(body, APPLICATION, concat!("plimsoll ", env!("CARGO_PKG_VERSION")).as_bytes());
        option(body, END, &[]);
    });
    block(out, INTERFACE_DESCRIPTION, |body| {
        let link = if link == LinkType::RawIp { RAW_IP } else { ETHERNET };
        body.extend_from_slice(&link.to_le_bytes());
        body.extend_from_slice(&[0, 0]);
        body.extend_from_slice(&snap_length.to_le_bytes());
        option(body, NAME, name.as_bytes());
        option(body, RESOLUTION, &[NANOSECONDS]);
        option(body, END, &[]);
    });
}

/// Adds a packet; a VLAN tag that was taken out of it is put back.
pub(super) fn packet(out: &mut Vec<u8>, packet: &RingPacket<'_>) {
    let (addresses, rest, tag) = match (packet.vlan.as_ref(), packet.captured.split_at_checked(ADDRESSES)) {
        (Some(tag), Some((addresses, rest))) => (addresses, rest, &tag[..]),
        _ => (packet.captured, &[][..], &[][..]),
    };
    let captured = packet.captured.len() + tag.len();
    let original_len = packet.original_len.saturating_add(tag.len() as u32);
    let total = (32 + captured.next_multiple_of(4)) as u32;
    let ticks = packet.time_ns;
    let head = [ENHANCED_PACKET, total, 0, (ticks >> 32) as u32, ticks as u32, captured as u32, original_len];
    head.into_iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
    for piece in [addresses, tag, rest, &[0; 3][..captured.next_multiple_of(4) - captured]] {
        out.extend_from_slice(piece);
    }
    out.extend_from_slice(&total.to_le_bytes());
}

/// Writes the losses since the section began.
pub(super) fn statistics(out: &mut Vec<u8>, time_ns: u64, lost: Lost) {
    block(out, INTERFACE_STATISTICS, |body| {
        body.extend_from_slice(&0u32.to_le_bytes());
        body.extend_from_slice(&ticks(time_ns));
        option(body, INTERFACE_DROPS, &lost.interface.to_le_bytes());
        option(body, SYSTEM_DROPS, &lost.kernel.to_le_bytes());
        option(body, END, &[]);
    });
}

/// Writes the end of the capture: when it began, until when it went on, with or without packets, the losses since the section began, and
/// whether the capture ended because the interface was removed.
pub(super) fn end(out: &mut Vec<u8>, (began_ns, until_ns): (u64, u64), lost: Lost, is_removed: bool) {
    block(out, INTERFACE_STATISTICS, |body| {
        body.extend_from_slice(&0u32.to_le_bytes());
        body.extend_from_slice(&ticks(until_ns));
        if is_removed {
            option(body, COMMENT, INTERFACE_REMOVED);
        }
        option(body, STARTED, &ticks(began_ns));
        option(body, ENDED, &ticks(until_ns));
        option(body, INTERFACE_DROPS, &lost.interface.to_le_bytes());
        option(body, SYSTEM_DROPS, &lost.kernel.to_le_bytes());
        option(body, END, &[]);
    });
}

/// Writes that the interface went down: its capture ended.
pub(super) fn down(out: &mut Vec<u8>, time_ns: u64) {
    moment(out, time_ns, ENDED, "the interface went down: packets are missing from now on");
}

/// Writes that the interface is up again: its capture started.
pub(super) fn up(out: &mut Vec<u8>, time_ns: u64) {
    moment(out, time_ns, STARTED, "the interface is up again");
}

fn moment(out: &mut Vec<u8>, time_ns: u64, what: u16, comment: &str) {
    block(out, INTERFACE_STATISTICS, |body| {
        body.extend_from_slice(&0u32.to_le_bytes());
        body.extend_from_slice(&ticks(time_ns));
        option(body, COMMENT, comment.as_bytes());
        option(body, what, &ticks(time_ns));
        option(body, END, &[]);
    });
}

/// A time as the format has it: the upper half first.
fn ticks(time_ns: u64) -> [u8; 8] {
    (time_ns.rotate_left(32)).to_le_bytes()
}

fn block(out: &mut Vec<u8>, kind: u32, write: impl FnOnce(&mut Vec<u8>)) {
    let mut body = Vec::new();
    write(&mut body);
    let total = ((12 + body.len()) as u32).to_le_bytes();
    [&kind.to_le_bytes()[..], &total, &body, &total].into_iter().for_each(|piece| out.extend_from_slice(piece));
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}
