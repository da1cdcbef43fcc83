//! Blocks of pcapng: a section, one interface, packets.
//!
//! Spec: draft-ietf-opsawg-pcapng-03 4.1, 4.2, 4.3
//!
//! Written here and not with a crate: see docs/decisions/0012-tap.md.

use std::io::{self, Write};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
/// LINKTYPE_RAW: the packet begins with its IP header.
const RAW_IP: u16 = 101;
/// Option codes: comment or end, application, interface name, clock resolution.
const END: u16 = 0;
const APPLICATION: u16 = 4;
const NAME: u16 = 2;
const RESOLUTION: u16 = 9;
/// Ticks are 10⁻⁹ s.
const NANOSECONDS: u8 = 9;

/// Writes the blocks before the first packet.
pub(super) fn begin(file: &mut impl Write) -> io::Result<()> {
    let mut section = Vec::new();
    section.extend_from_slice(&0x1a2b_3c4d_u32.to_le_bytes());
    section.extend_from_slice(&[1, 0, 0, 0]);
    // How long the section is: not known.
    section.extend_from_slice(&u64::MAX.to_le_bytes());
    option(&mut section, APPLICATION, concat!("plimsoll ", env!("CARGO_PKG_VERSION")).as_bytes());
    option(&mut section, END, &[]);
    block(file, SECTION_HEADER, &section)?;
    let mut interface = Vec::new();
    interface.extend_from_slice(&RAW_IP.to_le_bytes());
    interface.extend_from_slice(&[0, 0]);
    // Packets of any length.
    interface.extend_from_slice(&0u32.to_le_bytes());
    option(&mut interface, NAME, b"tap");
    option(&mut interface, RESOLUTION, &[NANOSECONDS]);
    option(&mut interface, END, &[]);
    block(file, INTERFACE_DESCRIPTION, &interface)
}

/// A packet: its headers, and of its `length` bytes of data those in `pieces`.
pub(super) fn packet(
    file: &mut impl Write,
    at: i64,
    headers: &[u8],
    pieces: &[&[u8]],
    length: usize,
) -> io::Result<()> {
    let captured = headers.len() + pieces.iter().map(|piece| piece.len()).sum::<usize>();
    let padded = captured.next_multiple_of(4);
    let ticks = u64::try_from(at).unwrap_or(0);
    let total = (32 + padded) as u32;
    let mut head = [0; 28];
    let words = [
        ENHANCED_PACKET,
        total,
        0,
        (ticks >> 32) as u32,
        ticks as u32,
        captured as u32,
        (headers.len() + length) as u32,
    ];
    head.chunks_exact_mut(4).zip(words).for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_le_bytes()));
    file.write_all(&head)?;
    file.write_all(headers)?;
    for piece in pieces {
        file.write_all(piece)?;
    }
    file.write_all(&[0; 3][..padded - captured])?;
    file.write_all(&total.to_le_bytes())
}

fn block(file: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let total = (12 + body.len()) as u32;
    file.write_all(&kind.to_le_bytes())?;
    file.write_all(&total.to_le_bytes())?;
    file.write_all(body)?;
    file.write_all(&total.to_le_bytes())
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}
