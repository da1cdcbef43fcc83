//! IP packets, whole and in fragments.

use std::net::IpAddr;

/// Larger than any fragment that starts further in.
pub(crate) const UNFRAGMENTED: usize = usize::MAX;

/// The IP packets of a payload, each behind `before` and with at most `piece` bytes of it (a multiple of 8, or [`UNFRAGMENTED`]).
///
/// # Panics
/// If one address is of IPv4 and the other of IPv6.
pub(crate) fn packets(
    before: &[u8],
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    id: u32,
    payload: &[u8],
    piece: usize,
) -> Vec<Vec<u8>> {
    if payload.len() <= piece {
        return vec![packet(before, source, destination, protocol, id, payload, None)];
    }
    let pieces = payload.chunks(piece).enumerate();
    pieces
        .map(|(index, bytes)| {
            let (at, more) = (index * piece, index * piece + bytes.len() < payload.len());
            packet(before, source, destination, protocol, id, bytes, Some((at, more)))
        })
        .collect()
}

fn packet(
    before: &[u8],
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    id: u32,
    payload: &[u8],
    fragment: Option<(usize, bool)>,
) -> Vec<u8> {
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let (at, more) = fragment.unwrap_or_default();
            let flags = (at / 8) as u16 | if more { 0x2000 } else { 0 };
            // Longer than the field: as segmentation offload leaves it.
            let length = u16::try_from(20 + payload.len()).unwrap_or(0);
            let mut header = [0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            header[2..4].copy_from_slice(&length.to_be_bytes());
            header[4..6].copy_from_slice(&(id as u16).to_be_bytes());
            header[6..8].copy_from_slice(&flags.to_be_bytes());
            header[12..16].copy_from_slice(&source.octets());
            header[16..20].copy_from_slice(&destination.octets());
            [before, &header, payload].concat()
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let extra = if fragment.is_some() { 8 } else { 0 };
            let mut bytes = [before, &[0x60, 0, 0, 0]].concat();
            bytes.extend(u16::try_from(extra + payload.len()).unwrap_or(0).to_be_bytes());
            bytes.extend([if fragment.is_some() { 44 } else { protocol }, 64]);
            bytes.extend(source.octets());
            bytes.extend(destination.octets());
            if let Some((at, more)) = fragment {
                bytes.extend([protocol, 0]);
                bytes.extend((at as u16 | u16::from(more)).to_be_bytes());
                bytes.extend(id.to_be_bytes());
            }
            bytes.extend(payload);
            bytes
        }
        _ => panic!("both ends of a packet are of one address family"),
    }
}
