//! Packets of an interface as pcapng blocks: the input of the analysis and of `--save`.
//!
//! Spec: draft-ietf-opsawg-pcapng-03 4.1, 4.2, 4.3, 4.6
//!
//! A section has one interface. Its statistics count from its start, so each file of a ring reports the losses of its own time.

use super::block::RingPacket;
use crate::capture::LinkType;
use crate::capture::pcapng::blocks::{
    ENHANCED_PACKET, ISB_ENDTIME, ISB_IFDROP, ISB_OSDROP, ISB_STARTTIME, OPT_COMMENT,
};
use crate::capture::pcapng::{INTERFACE_REMOVED, writer};

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
    out.extend_from_slice(&writer::section());
    let link = if link == LinkType::RawIp { RAW_IP } else { ETHERNET };
    out.extend_from_slice(&writer::interface(link, snap_length, name.as_bytes(), NANOSECONDS));
}

/// Adds a packet; a VLAN tag that was taken out of it is put back. It stays within the snap length that the section states: libpcap reads
/// no file with a longer packet.
pub(super) fn packet(out: &mut Vec<u8>, packet: &RingPacket<'_>, snap_length: u32) {
    let (addresses, rest, tag) = match (packet.vlan.as_ref(), packet.captured.split_at_checked(ADDRESSES)) {
        (Some(tag), Some((addresses, rest))) => (addresses, rest, &tag[..]),
        _ => (packet.captured, &[][..], &[][..]),
    };
    let too_long = (packet.captured.len() + tag.len()).saturating_sub(snap_length as usize);
    let rest = rest.get(..rest.len().saturating_sub(too_long)).unwrap_or_default();
    let captured = addresses.len() + tag.len() + rest.len();
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
    let (interface, kernel) = (lost.interface.to_le_bytes(), lost.kernel.to_le_bytes());
    out.extend_from_slice(&writer::statistics(time_ns, &[(ISB_IFDROP, &interface), (ISB_OSDROP, &kernel)]));
}

/// Writes the end of the capture: when it began, until when it went on, with or without packets, the losses since the section began, and
/// whether the capture ended because the interface was removed.
pub(super) fn end(out: &mut Vec<u8>, (began_ns, until_ns): (u64, u64), lost: Lost, is_removed: bool) {
    let (began, until) = (writer::timestamp(began_ns), writer::timestamp(until_ns));
    let (interface, kernel) = (lost.interface.to_le_bytes(), lost.kernel.to_le_bytes());
    let removed = is_removed.then_some((OPT_COMMENT, INTERFACE_REMOVED));
    let times = [(ISB_STARTTIME, &began[..]), (ISB_ENDTIME, &until[..])];
    let drops = [(ISB_IFDROP, &interface[..]), (ISB_OSDROP, &kernel[..])];
    let options: Vec<_> = removed.into_iter().chain(times).chain(drops).collect();
    out.extend_from_slice(&writer::statistics(until_ns, &options));
}

/// Writes that the interface went down: its capture ended.
pub(super) fn down(out: &mut Vec<u8>, time_ns: u64) {
    moment(out, time_ns, ISB_ENDTIME, "the interface went down: packets are missing from now on");
}

/// Writes that the interface is up again: its capture started.
pub(super) fn up(out: &mut Vec<u8>, time_ns: u64) {
    moment(out, time_ns, ISB_STARTTIME, "the interface is up again");
}

fn moment(out: &mut Vec<u8>, time_ns: u64, what: u16, comment: &str) {
    let time = writer::timestamp(time_ns);
    let options = [(OPT_COMMENT, comment.as_bytes()), (what, &time[..])];
    out.extend_from_slice(&writer::statistics(time_ns, &options));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// libpcap reads no file that has a packet longer than its section states.
    #[test]
    fn a_tag_that_is_put_back_makes_no_packet_longer_than_the_snap_length() {
        let captured: Vec<u8> = (0..96).collect();
        let tag = Some([0x81, 0, 0, 9]);
        for (len, vlan, expected) in [(96, tag, 96_u32), (94, tag, 96), (92, tag, 96), (90, tag, 94), (96, None, 96)] {
            let tagged = RingPacket { time_ns: 7, captured: &captured[..len], original_len: 1_000, vlan };
            let mut blocks = Vec::new();
            packet(&mut blocks, &tagged, 96);
            let word = |at: usize| u32::from_le_bytes(blocks[at..at + 4].try_into().unwrap());
            assert_eq!((word(20), word(24)), (expected, if vlan.is_some() { 1_004 } else { 1_000 }), "{len} {vlan:?}");
            assert_eq!(blocks.len() as u32, 32 + expected.next_multiple_of(4), "{len} {vlan:?}");
            assert!(blocks[28..].starts_with(&captured[..12]), "{len} {vlan:?}");
            if let Some(tag) = vlan {
                assert!(
                    blocks[40..].starts_with(&tag) && blocks[44..].starts_with(&captured[12..expected as usize - 4])
                );
            }
        }
    }
}
