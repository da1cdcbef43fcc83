//! Packets as a capture file: pcap or pcapng, nothing in it but the packets and what the capture stated.
//!
//! Spec: draft-ietf-opsawg-pcap-04 4, 5; draft-ietf-opsawg-pcapng-03 4.1, 4.2, 4.3

use std::io::{self, Write};

use crate::capture::{Format, LinkType, MAX_PACKET_BYTES};

use super::stated::Stated;

const PCAP_MICROSECONDS: u32 = 0xa1b2_c3d4;
const PCAP_NANOSECONDS: u32 = 0xa1b2_3c4d;
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
/// Options of a section (the program that wrote it) and of an interface (name, unit of its times).
const APPLICATION: u16 = 4;
const NAME: u16 = 2;
const RESOLUTION: u16 = 9;
/// Interfaces that a file describes, at most: one for each link type.
const LINKS_MAX: usize = 16;

/// A packet that the format of the output cannot hold.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// Writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It has no time, or one before 1970.
    #[error("cannot write packet {0}: the timestamp is missing, before 1970 or (in pcap) after February 2106")]
    Time(u64),
    /// Its link type cannot be written.
    #[error(
        "cannot write packet {0}: the packets before it have another link type, and a pcap file can have only one; convert the input to \
         pcapng"
    )]
    Link(u64),
    /// Its link type has no number.
    #[error(
        "cannot write packet {0}: its link type has no LINKTYPE number, or the capture has more than {LINKS_MAX} link types"
    )]
    UnknownLink(u64),
}

/// A capture file under way.
#[derive(Debug)]
pub(super) struct Output {
    kind: Kind,
    /// Link types so far: interfaces by number.
    links: Vec<LinkType>,
    begun: bool,
    stated: Stated,
    /// When the first packet came.
    first_ns: u64,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Pcap {
        nanoseconds: bool,
    },
    /// Exponent of ten of a second's parts.
    Pcapng {
        digits: u8,
    },
}

impl Output {
    /// Writes the format of the input if it is pcap or pcapng, otherwise pcapng; `tick_ns` is the unit of its times.
    pub(super) fn like(format: Option<Format>, tick_ns: Option<u64>, stated: Stated) -> Self {
        let kind = match format {
            Some(Format::Pcap | Format::PcapModified) => Kind::Pcap { nanoseconds: false },
            Some(Format::PcapNanosecond) => Kind::Pcap { nanoseconds: true },
            _ => Kind::Pcapng { digits: if tick_ns.is_some_and(|tick| tick >= 1_000) { 6 } else { 9 } },
        };
        Self { kind, links: Vec::new(), begun: false, stated, first_ns: 0 }
    }

    /// Writes a packet.
    pub(super) fn packet(
        &mut self,
        file: &mut impl Write,
        number: u64,
        time_ns: Option<i64>,
        link: LinkType,
        captured: &[u8],
        original_len: u32,
    ) -> Result<(), OutputError> {
        let time_ns = time_ns.and_then(|time| u64::try_from(time).ok()).ok_or(OutputError::Time(number))?;
        let registered = link.registry_number().ok_or(OutputError::UnknownLink(number))?;
        if !self.begun {
            self.first_ns = time_ns;
        }
        match self.kind {
            Kind::Pcap { nanoseconds } => {
                if !self.begun {
                    self.links.push(link);
                    let magic = if nanoseconds { PCAP_NANOSECONDS } else { PCAP_MICROSECONDS };
                    words(file, &[magic, 4 << 16 | 2, 0, 0, MAX_PACKET_BYTES, registered])?;
                    self.begun = true;
                }
                if self.links.first() != Some(&link) {
                    return Err(OutputError::Link(number));
                }
                let seconds = u32::try_from(time_ns / 1_000_000_000).map_err(|_| OutputError::Time(number))?;
                let rest = (time_ns % 1_000_000_000) as u32;
                let rest = if nanoseconds { rest } else { rest / 1_000 };
                words(file, &[seconds, rest, captured.len() as u32, original_len])?;
                file.write_all(captured)?;
            }
            Kind::Pcapng { digits } => {
                let interface = self.interface(file, number, link, registered, digits)?;
                let ticks = time_ns / 10_u64.pow(u32::from(9 - digits));
                let mut body = Vec::with_capacity(20 + captured.len() + 3);
                let head = [interface, (ticks >> 32) as u32, ticks as u32, captured.len() as u32, original_len];
                words(&mut body, &head)?;
                body.extend_from_slice(captured);
                body.resize(body.len().next_multiple_of(4), 0);
                block(file, ENHANCED_PACKET, &body)?;
            }
        }
        Ok(())
    }

    /// Writes what the capture stated; the format pcap has no place for it.
    pub(super) fn end(&mut self, file: &mut impl Write) -> Result<(), OutputError> {
        match self.kind {
            Kind::Pcapng { digits } if self.begun => Ok(self.stated.write(file, self.first_ns, digits)?),
            _ => Ok(()),
        }
    }

    /// Ends the file in the middle of a record, as the input did: a reader must find out that the rest is missing.
    pub(super) fn cut(&mut self, file: &mut impl Write) -> Result<(), OutputError> {
        match self.kind {
            // Nothing was written, and half a record would be no capture.
            _ if !self.begun => Ok(()),
            Kind::Pcap { .. } => Ok(words(file, &[0, 0])?),
            Kind::Pcapng { .. } => Ok(words(file, &[ENHANCED_PACKET, 32])?),
        }
    }

    /// The number of the interface for a link type; describes it where it is new.
    fn interface(
        &mut self,
        file: &mut impl Write,
        number: u64,
        link: LinkType,
        registered: u32,
        digits: u8,
    ) -> Result<u32, OutputError> {
        if !self.begun {
            let mut section = Vec::new();
            words(&mut section, &[BYTE_ORDER, 1, u32::MAX, u32::MAX])?;
            // Readers take the statements of other programs with less trust.
            option(&mut section, APPLICATION, concat!("plimsoll ", env!("CARGO_PKG_VERSION")).as_bytes());
            option(&mut section, 0, &[]);
            block(file, SECTION_HEADER, &section)?;
            self.begun = true;
        }
        if let Some(known) = self.links.iter().position(|known| *known == link) {
            return Ok(known as u32);
        }
        let registered = u16::try_from(registered).map_err(|_| OutputError::UnknownLink(number))?;
        if self.links.len() >= LINKS_MAX {
            return Err(OutputError::UnknownLink(number));
        }
        let mut interface = Vec::new();
        words(&mut interface, &[u32::from(registered), 0])?;
        if !self.stated.interface_name().is_empty() {
            option(&mut interface, NAME, self.stated.interface_name());
        }
        option(&mut interface, RESOLUTION, &[digits]);
        option(&mut interface, 0, &[]);
        block(file, INTERFACE_DESCRIPTION, &interface)?;
        self.links.push(link);
        Ok(self.links.len() as u32 - 1)
    }
}

fn words(file: &mut impl Write, words: &[u32]) -> io::Result<()> {
    words.iter().try_for_each(|word| file.write_all(&word.to_le_bytes()))
}

pub(super) fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

pub(super) fn block(file: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let total = (12 + body.len()) as u32;
    words(file, &[kind, total])?;
    file.write_all(body)?;
    words(file, &[total])
}
