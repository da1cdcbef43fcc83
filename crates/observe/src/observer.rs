//! The observer: frames in, transactions out. It ties the stages together and counts packets.

mod boxed;
mod connections;
mod datagrams;
mod far_times;
mod finish;
mod fragments;
mod hand_over;
mod order;
mod other_programs;
mod segments;
mod waiting;

use std::sync::Arc;

pub use boxed::BoxedObserver;
pub use hand_over::HandOverError;
use plimsoll_model::{Anomaly, Coverage, Names, PacketCounts, Sink};
use serde::{Deserialize, Serialize};

use crate::capture::{ClockEstimate, Frame, LinkType};
use crate::connection::Connection;
use crate::name_lookups::NameLookups;
use crate::named_services::NamedServices;
use crate::packet::{self, Fragments, Packet, Stamp};
use crate::pairing::{Output, Shared};
use crate::stream::Connections;
use crate::ties::{Datagram, Ties};
use crate::time_gate::TimeGate;
use crate::tracer::Tracer;
use other_programs::OtherPrograms;

/// Maximum number of unknown link types that are listed; a capture has an interface or two of them.
const UNKNOWN_LINKS_MAX: usize = 16;

/// Frames in, transactions out.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "", deserialize = "S: Default"))]
pub struct Observer<S> {
    connections: Connections<Connection>,
    numbered: u32,
    fragments: Fragments,
    packets: PacketCounts,
    clock: ClockEstimate,
    gate: TimeGate,
    ties: Ties,
    shared: Shared<S>,
    name_lookups: NameLookups,
    other_programs: OtherPrograms,
    connections_used: u64,
    /// Link types that are not known, with their packets.
    unknown_links: Vec<(u32, u64)>,
    /// Earliest and latest time so far, ns; reversed before the first packet.
    span: (i64, i64),
    /// When closed connections were last looked for, ns.
    swept_ns: i64,
    /// When idle connections were last packed, ns.
    packed_ns: i64,
    /// Until when the capture went on, ns; `None` if only its packets tell.
    #[serde(skip)]
    until_ns: Option<i64>,
}

/// Results of the observer.
#[derive(Debug)]
pub struct Observed<S> {
    /// The sink that took the transactions.
    pub sink: S,
    /// Their names.
    pub names: Names,
    /// Completeness of the capture.
    pub coverage: Coverage,
}

impl<S: Sink> Observer<S> {
    /// An observer that gives transactions to `sink`.
    pub fn new(sink: S) -> Self {
        Self {
            connections: Connections::default(),
            numbered: 0,
            fragments: Fragments::default(),
            packets: PacketCounts::default(),
            clock: ClockEstimate::new(),
            gate: TimeGate::default(),
            ties: Ties::default(),
            shared: Shared::new(Output::new(sink)),
            name_lookups: NameLookups::default(),
            other_programs: OtherPrograms::default(),
            connections_used: 0,
            unknown_links: Vec::new(),
            span: (i64::MAX, i64::MIN),
            swept_ns: i64::MIN,
            packed_ns: i64::MIN,
            until_ns: None,
        }
    }

    /// Decrypts the messages of the sessions whose keys these are. To be called before the first frame.
    #[cfg(feature = "decrypt")]
    #[must_use]
    pub fn with_session_keys(mut self, keys: crate::decrypt::SessionKeys) -> Self {
        let decryption = crate::decrypt::Decryption::new(keys);
        self.shared.smb2.decryption = (!decryption.is_empty()).then(|| Box::new(decryption));
        self
    }

    /// Tells `tracer` where packets and messages stand. To be called before the first frame.
    #[must_use]
    pub fn traced(mut self, tracer: Box<dyn Tracer + Send>) -> Self {
        self.shared.tracer = Some(tracer);
        self
    }

    /// From the next frame on, adds the services that portmappers name to `services`.
    pub fn report_services(&mut self, services: Option<Arc<NamedServices>>) {
        self.shared.output.services = services;
    }

    /// Takes the next frame of the capture.
    #[inline]
    pub fn frame(&mut self, frame: &Frame<'_>) {
        self.packets.total += 1;
        self.packets.captured_bytes += frame.captured.len() as u64;
        self.packets.wire_bytes += u64::from(frame.original_len);
        self.packets.largest = self.packets.largest.max(u64::from(frame.original_len));
        if (frame.captured.len() as u64) < u64::from(frame.original_len) {
            self.packets.truncated += 1;
        }
        let Some(time_ns) = frame.time_ns else {
            self.packets.other += 1;
            self.shared.output.anomalies.add(Anomaly::PacketWithoutTime);
            return;
        };
        if self.gate.is_near(time_ns) {
            self.timed(frame, time_ns);
        } else {
            self.far(frame, time_ns);
        }
    }

    /// The sink, and the names of its transactions so far, for readers before the end of the capture.
    pub fn sink(&mut self) -> (&mut S, &Names) {
        (&mut self.shared.output.sink, &self.shared.output.names)
    }

    /// Number of frames so far.
    pub fn frames(&self) -> u64 {
        self.packets.total
    }

    /// Number of frames so far of which the capture has only the beginning.
    pub fn truncated(&self) -> u64 {
        self.packets.truncated
    }

    /// Takes a frame whose time is near the previous one's.
    #[inline(always)]
    fn timed(&mut self, frame: &Frame<'_>, time_ns: i64) {
        self.clock.observe(time_ns);
        if time_ns < self.span.0 {
            self.span.0 = time_ns;
        }
        if time_ns > self.span.1 {
            self.span.1 = time_ns;
        }
        let stamp = Stamp { time_ns, frame: frame.number };
        if self.ties.are_over_at(time_ns) {
            self.release_all();
        }
        match &packet::decode_plain_tcp(frame.link, frame.captured) {
            Some((path, segment)) => self.segment(path, segment, stamp),
            None => self.other_frame(frame, stamp),
        }
    }

    #[inline(never)]
    fn other_frame(&mut self, frame: &Frame<'_>, stamp: Stamp) {
        match &packet::decode(frame.link, frame.captured, frame.original_len) {
            Packet::Fragment(fragment) => self.fragment(fragment, stamp),
            Packet::UnknownLink => self.unknown_link(frame.link),
            packet => self.packet(packet, stamp, stamp, 1),
        }
    }

    #[cold]
    fn unknown_link(&mut self, link: LinkType) {
        self.other(Anomaly::LinkTypeUnknown);
        let LinkType::Other(number) = link else { return };
        if let Some((_, count)) = self.unknown_links.iter_mut().find(|(known, _)| *known == number) {
            *count += 1;
        } else if self.unknown_links.len() < UNKNOWN_LINKS_MAX {
            self.unknown_links.push((number, 1));
        }
    }

    fn packet(&mut self, packet: &Packet<'_>, first: Stamp, last: Stamp, packets: u32) {
        match packet {
            Packet::Tcp(path, segment) => self.segment(path, segment, last),
            &Packet::Udp(ref path, payload, wire_len) => {
                self.datagram(path, Datagram { payload, wire_len, first, last, packets });
            }
            Packet::Other | Packet::Fragment(_) => self.packets.other += 1,
            Packet::Malformed => self.other(Anomaly::PacketMalformed),
            Packet::TooDeep => self.other(Anomaly::TunnelTooDeep),
            Packet::UnknownLink => self.other(Anomaly::LinkTypeUnknown),
        }
    }

    fn other(&mut self, anomaly: Anomaly) {
        self.packets.other += 1;
        self.shared.output.anomalies.add(anomaly);
    }
}
