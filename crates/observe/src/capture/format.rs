//! Capture formats.

use super::input::Compression;

/// A capture file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// libpcap, microseconds.
    Pcap,
    /// libpcap, nanoseconds.
    PcapNanosecond,
    /// libpcap with the longer record headers of A. Kuznetzov's patches (also SuSE 6.3, Red Hat 6.1) or of Nokia.
    PcapModified,
    /// pcapng.
    Pcapng,
    /// Solaris snoop.
    Snoop,
    /// NetXRay 2.x, Windows Sniffer.
    NetXRay,
    /// Microsoft Network Monitor 2.x.
    NetMon,
}

/// Format and compression of one input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFormat {
    /// The file's path, or `standard input`.
    pub input: Box<str>,
    /// The capture format.
    pub format: Format,
    /// How it is packed.
    pub compression: Compression,
    /// Nanoseconds in a unit of the timestamps, rounded up. None in pcapng, where each interface has its own. The
    /// clock may be coarser: see [`ClockEstimate`](super::ClockEstimate).
    pub tick_ns: Option<u64>,
}
