//! The parser that reads a file, by its first bytes.

use super::anomalies::CaptureAnomalies;
use super::byte_window::ByteWindow;
use super::carried::CarriedParser;
use super::downtimes::Downtimes;
use super::error::Stop;
use super::format::Format;
use super::located::Located;
use super::netmon::{self, NetMon};
use super::netxray::{self, NetXRay};
use super::pcap::{self, Pcap};
use super::pcapng::{self, Pcapng};
use super::snoop::{self, Snoop};

/// The parser of the file that is being read.
pub(super) enum Parser {
    /// Between two files.
    Closed,
    /// In front of the first file.
    Carried(CarriedParser),
    Pcap(Pcap),
    Pcapng(Pcapng),
    Snoop(Snoop),
    NetXRay(NetXRay),
    NetMon(NetMon),
}

impl Parser {
    /// The parser for the data in the window; None if no known format starts like this.
    pub(super) fn open(window: &mut ByteWindow) -> Result<Option<Self>, Stop> {
        window.need(8)?;
        let first = window.available();
        let parser = match sniff(first) {
            Some(Known::Pcap) => Self::Pcap(Pcap::open(window)?),
            Some(Known::Pcapng) => Self::Pcapng(Pcapng::open(window)?),
            Some(Known::Snoop) => Self::Snoop(Snoop::open(window)?),
            Some(Known::NetXRay) => Self::NetXRay(NetXRay::open(window)?),
            Some(Known::NetMon) => Self::NetMon(NetMon::open(window)?),
            None if window.is_cut() => return Err(Stop::Truncated),
            None => return Ok(None),
        };
        Ok(Some(parser))
    }

    /// The next packet, None at the end of the file.
    pub(super) fn next(
        &mut self,
        window: &mut ByteWindow,
        anomalies: &mut CaptureAnomalies,
        downtimes: &Downtimes,
    ) -> Result<Option<Located>, Stop> {
        match self {
            Self::Closed => Ok(None),
            Self::Carried(parser) => parser.next(window),
            Self::Pcap(parser) => parser.next(window),
            Self::Pcapng(parser) => parser.next(window, anomalies, downtimes),
            Self::Snoop(parser) => parser.next(window, anomalies),
            Self::NetXRay(parser) => parser.next(window, anomalies),
            Self::NetMon(parser) => parser.next(window, anomalies),
        }
    }

    /// Whether packets may be read before the packets in front of them are returned. False for formats that are read out of order,
    /// because the window may have to go back; their records are in the order of a table or a ring.
    #[inline]
    pub(super) fn looks_ahead(&self) -> bool {
        !matches!(self, Self::NetXRay(_) | Self::NetMon(_))
    }

    /// The format, and the nanoseconds in a unit of its timestamps if the whole file has one.
    pub(super) fn describe(&self) -> Option<(Format, Option<u64>)> {
        match self {
            Self::Closed | Self::Carried(_) => None,
            Self::Pcap(pcap) => {
                let (format, tick_ns) = pcap.describe();
                Some((format, Some(tick_ns)))
            }
            Self::Pcapng(_) => Some((Format::Pcapng, None)),
            Self::Snoop(_) => Some((Format::Snoop, Some(snoop::TICK_NS))),
            Self::NetXRay(netxray) => Some((Format::NetXRay, Some(netxray.tick_ns()))),
            Self::NetMon(netmon) => Some((Format::NetMon, Some(netmon.tick_ns()))),
        }
    }
}

enum Known {
    Pcap,
    Pcapng,
    Snoop,
    NetXRay,
    NetMon,
}

fn sniff(first: &[u8]) -> Option<Known> {
    let found = [
        (pcap::recognise(first), Known::Pcap),
        (first.starts_with(pcapng::MAGIC), Known::Pcapng),
        (first.starts_with(snoop::MAGIC), Known::Snoop),
        (first.starts_with(netxray::MAGIC), Known::NetXRay),
        (first.starts_with(netmon::MAGIC), Known::NetMon),
    ];
    found.into_iter().find_map(|(is, known)| is.then_some(known))
}

/// Whether the first bytes belong to a supported format.
pub(super) fn is_known(first: &[u8]) -> bool {
    sniff(first).is_some()
}

/// Advice for a file that starts with these bytes, which no parser recognises.
pub(super) fn advice(first: &[u8]) -> String {
    const READ: &str = "Plimsoll reads pcap, pcapng, snoop, NetXRay 2 and NetMon 2 captures, uncompressed or compressed with gzip or zstd";
    let hints: [(&[u8], &str); 9] = [
        (b"\xfd7zXZ", "this input is compressed with xz: decompress it with `xz -d` first"),
        (b"BZh", "this input is compressed with bzip2: decompress it with `bzip2 -d` first"),
        (b"\x04\x22\x4d\x18", "this input is compressed with lz4: decompress it with `lz4 -d` first"),
        (b"PK\x03\x04", "this input is a zip archive: unpack it first"),
        (b"\x1f\x8b", "this input is compressed with gzip twice: decompress it once"),
        (b"\x28\xb5\x2f\xfd", "this input is compressed with zstd twice: decompress it once"),
        (b"RTSS", "this input is a NetMon 1 capture: convert it with `editcap -F pcap IN OUT`"),
        (b"VL\0\0", "this input is a NetXRay 1 capture: convert it with `editcap -F pcap IN OUT`"),
        (b"TRSNIFF ", "this input is a Sniffer for DOS capture: convert it with `editcap -F pcap IN OUT`"),
    ];
    match hints.iter().find(|(magic, _)| first.starts_with(magic)) {
        Some((_, hint)) => format!("{READ}; {hint}"),
        None => format!("{READ}. If this is a capture in another format, convert it with `editcap -F pcap IN OUT`"),
    }
}
