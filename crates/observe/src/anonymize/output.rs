//! Packets as a capture file: pcap or pcapng, nothing in it but the packets and what the capture stated.
//!
//! Spec: draft-ietf-opsawg-pcap-04 4, 5; draft-ietf-opsawg-pcapng-03 4.1, 4.2, 4.3

use std::io::{self, Write};

use crate::capture::pcapng::blocks::ENHANCED_PACKET;
use crate::capture::pcapng::writer;
use crate::capture::{Format, LinkType, MAX_PACKET_BYTES};

use super::stated::Stated;

const PCAP_MICROSECONDS: u32 = 0xa1b2_c3d4;
const PCAP_NANOSECONDS: u32 = 0xa1b2_3c4d;
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
                let head = [interface, (ticks >> 32) as u32, ticks as u32, captured.len() as u32, original_len];
                file.write_all(&writer::block(ENHANCED_PACKET, |body| {
                    // With the padding, and the length behind it.
                    body.reserve(20 + captured.len() + 3 + 4);
                    head.iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
                    body.extend_from_slice(captured);
                    body.resize(body.len().next_multiple_of(4), 0);
                }))?;
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
            file.write_all(&writer::section())?;
            self.begun = true;
        }
        if let Some(known) = self.links.iter().position(|known| *known == link) {
            return Ok(known as u32);
        }
        let registered = u16::try_from(registered).map_err(|_| OutputError::UnknownLink(number))?;
        if self.links.len() >= LINKS_MAX {
            return Err(OutputError::UnknownLink(number));
        }
        file.write_all(&writer::interface(registered, 0, self.stated.interface_name(), digits))?;
        self.links.push(link);
        Ok(self.links.len() as u32 - 1)
    }
}

fn words(file: &mut impl Write, words: &[u32]) -> io::Result<()> {
    words.iter().try_for_each(|word| file.write_all(&word.to_le_bytes()))
}
