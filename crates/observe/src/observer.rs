//! The observer: frames in, transactions out. It ties the stages together and counts packets.

mod hand_over;
mod order;
mod waiting;

use std::sync::Arc;

pub use hand_over::HandOverError;
use plimsoll_model::{Anomalies, Anomaly, ClockGranularity, Coverage, Endpoint, Missing, Names, PacketCounts, Sink};
use serde::{Deserialize, Serialize};

use crate::capture::{ClockEstimate, Frame, LinkType};
use crate::connection::{Connection, Opening};
use crate::message::{Content, Framing, Message};
use crate::missing::between_connections;
use crate::name_lookups::NameLookups;
use crate::named_services::NamedServices;
use crate::packet::{self, Fragments, Packet, Path, Segment, SegmentBuf, Stamp, ip_address};
use crate::pairing::{Output, Shared};
use crate::stream::{Connections, PACKINGS, Slot};
use crate::ties::{Datagram, DatagramBuf, Tied, TiedPacket, Ties};
use crate::time_gate::{TimeGate, Waiting};
use crate::tracer::Tracer;

/// A connection without a SYN whose first packet comes this long after the capture's may have lost packets, ns: nearly all requests from
/// before the capture are answered by then.
const LATE_NS: i64 = 1_000_000_000;
/// Maximum number of reassemblies per frame: a tunnel's datagram, and the datagrams inside it.
const REASSEMBLIES_MAX: usize = 8;
/// Ports of NFS and of the portmapper, over UDP.
const RPC_PORTS: [u16; 2] = [2049, 111];
/// Closed connections are looked for this often, ns.
const SWEEP_NS: i64 = 1_000_000_000;
/// Connections without packets for this time, or up to [`PACK_NS`] longer, are packed, ns: longer than between the packets by which most
/// clients keep an idle connection alive (TCP keep-alive, SMB2 ECHO, RENEW: a minute).
const IDLE_NS: i64 = 120_000_000_000;
/// Idle connections are looked for this often, ns.
const PACK_NS: i64 = IDLE_NS / PACKINGS as i64;
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
        let output = Output {
            sink,
            names: Names::default(),
            anomalies: Anomalies::default(),
            tally: Default::default(),
            resent: Default::default(),
            one_way: 0,
            jumped_at: 0,
            late_requests: Default::default(),
            unfinished: Default::default(),
            slots: Default::default(),
            delegations: Default::default(),
            early: Default::default(),
            spare_calls: Default::default(),
            services: None,
        };
        Self {
            connections: Connections::default(),
            numbered: 0,
            fragments: Fragments::default(),
            packets: PacketCounts::default(),
            clock: ClockEstimate::new(),
            gate: TimeGate::default(),
            ties: Ties::default(),
            shared: Shared::new(output),
            name_lookups: NameLookups::default(),
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

    /// Takes a frame whose time is far from the previous one's: now, or after the next one has come.
    #[cold]
    #[inline(never)]
    fn far(&mut self, frame: &Frame<'_>, time_ns: i64) {
        let decided = self.gate.decide(frame, time_ns);
        self.leave_out(decided.outliers);
        if let Some(waiting) = &decided.release {
            self.waited(waiting, decided.jumped);
        }
        if !decided.waits {
            self.decided(frame, time_ns);
        }
    }

    /// Takes a frame that waited for a decision.
    #[inline(never)]
    fn decided(&mut self, frame: &Frame<'_>, time_ns: i64) {
        self.timed(frame, time_ns);
    }

    /// Takes a frame that waited.
    fn waited(&mut self, waiting: &Waiting, jumped: bool) {
        let (frame, time_ns) = waiting.frame();
        if self.span.0 > self.span.1 {
            self.shared.output.sink.begin(time_ns);
        }
        if jumped {
            self.shared.output.jumped_at = frame.number;
            self.shared.output.anomalies.add(Anomaly::TimeJump);
        }
        self.decided(&frame, time_ns);
    }

    /// Counts frames whose time is damaged: they carry no transaction.
    fn leave_out(&mut self, frames: u64) {
        self.packets.other += frames;
        self.shared.output.anomalies.add_many(Anomaly::TimeOutlier, frames);
    }

    /// Takes or leaves out the frames that waited when the capture ended.
    fn end_gate(&mut self) {
        let (waiting, outliers) = self.gate.end();
        self.leave_out(outliers);
        waiting.iter().enumerate().for_each(|(at, one)| self.waited(one, at > 0));
    }

    #[inline(never)]
    fn other_frame(&mut self, frame: &Frame<'_>, stamp: Stamp) {
        match &packet::decode(frame.link, frame.captured, frame.original_len) {
            Packet::Fragment(fragment) => self.fragment(fragment, stamp),
            Packet::UnknownLink => self.unknown_link(frame.link),
            packet => self.packet(packet, stamp, stamp, 1),
        }
    }

    /// Takes a piece of a datagram. The whole may be a tunnel's, and hold a piece of another.
    fn fragment(&mut self, fragment: &packet::Fragment<'_>, stamp: Stamp) {
        let key = (fragment.piece.source, fragment.piece.destination, fragment.id, fragment.piece.protocol);
        if let Some(tracer) = &mut self.shared.tracer {
            tracer.fragment(stamp.frame, key, fragment.offset);
        }
        let Some(mut whole) = self.fragments.add(fragment, stamp, 1) else {
            return self.fragment_counted(fragment);
        };
        if let Some(tracer) = &mut self.shared.tracer {
            tracer.whole(stamp.frame, key);
        }
        for _ in 0..REASSEMBLIES_MAX {
            let next = match &packet::decode_whole(&whole.datagram()) {
                Packet::Fragment(inner) => match self.fragments.add(inner, whole.first, whole.packets) {
                    Some(next) => next,
                    None => return self.fragment_counted(inner),
                },
                packet => {
                    return self.packet(packet, whole.first, stamp, whole.packets);
                }
            };
            whole = next;
        }
        self.other(Anomaly::TunnelTooDeep);
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

    /// The sink, and the names of its transactions so far, for readers before the end of the capture.
    pub fn sink(&mut self) -> (&mut S, &Names) {
        (&mut self.shared.output.sink, &self.shared.output.names)
    }

    /// Packs all connections, as otherwise those without packets for minutes. Nothing of them is lost: the next packet of a connection
    /// unpacks it.
    pub fn pack(&mut self) {
        if self.shared.smb2.decryption.is_none() {
            self.connections.pack();
        }
    }

    /// How many connections are packed, and the bytes that they take.
    pub fn packed(&self) -> (usize, usize) {
        self.connections.packed()
    }

    /// Number of frames so far.
    pub fn frames(&self) -> u64 {
        self.packets.total
    }

    /// Ends the capture: passes on waiting data.
    pub fn finish(mut self) -> Observed<S> {
        self.end_gate();
        self.release_all();
        self.shared.smb2.give_back();
        for mut connection in self.connections.drain() {
            connection.end(&mut self.shared, &mut self.packets);
        }
        let Shared { mut output, mut smb2, mut account, .. } = self.shared;
        smb2.end(&mut output);
        let encrypted = std::mem::take(&mut smb2.sealed).finish();
        let (breaks, lease_breaks) = smb2.breaks.finish();
        let credits = smb2.credits;
        let unseen = output.tally.take();
        account.unseen.add(&unseen);
        let asynchronous = unseen.requests_after_gap + unseen.requests_after_cut;
        account.unseen.missing.add(&Missing { operations: asynchronous, low: 0, high: asynchronous, unknown: 0 });
        account.unseen.missing.add(&between_connections(&account.ends, account.bursts.finish(), self.span));
        let unfinished =
            std::mem::take(&mut output.unfinished).finish(self.span.1.max(self.until_ns.unwrap_or(i64::MIN)));
        let (slots, slots_left_out) = std::mem::take(&mut output.slots).finish();
        let (delegations, delegations_left_out, delegations_partial) = std::mem::take(&mut output.delegations).finish();
        output.anomalies.add_many(Anomaly::FragmentsIncomplete, self.fragments.incomplete());
        output.anomalies.add_many(Anomaly::PacketOutOfOrder, self.clock.granularity().out_of_order);
        output.anomalies.add_many(Anomaly::NameRefused, output.names.refused());
        let (first_ns, last_ns) = self.span;
        let timed = first_ns <= last_ns;
        let (client_paths, without_path) = account.client_paths.finish();
        let (name_lookups, name_servers) = self.name_lookups.finish(&account.lives.begins());
        let resets = account.lives.resets();
        let restarts = account.lives.restarts();
        let coverage = Coverage {
            packets: self.packets,
            anomalies: output.anomalies,
            clock: granularity(&self.clock),
            late_requests: output.late_requests,
            unseen: account.unseen,
            resent: output.resent,
            network: account.network,
            client_paths,
            restarts,
            resets,
            name_lookups,
            name_servers,
            without_path,
            breaks,
            lease_breaks,
            credits,
            slots,
            slots_left_out,
            delegations,
            delegations_left_out,
            delegations_partial,
            unfinished,
            unopened: account.unopened,
            encrypted,
            first_ns: timed.then_some(first_ns),
            last_ns: timed.then_some(last_ns),
            connections: self.connections_used,
            one_way: output.one_way,
            unknown_links: self.unknown_links,
            rpc_tls: account.rpc_tls,
            one_sided: account.one_sided,
            one_sided_named: account.one_sided_named,
            ..Coverage::default()
        };
        Observed { sink: output.sink, names: output.names, coverage }
    }

    /// Counts a fragment under its transport protocol, if its header shows it.
    fn fragment_counted(&mut self, fragment: &packet::Fragment<'_>) {
        match fragment.piece.protocol {
            6 => {
                self.packets.tcp += 1;
                self.packets.tcp_data += 1;
            }
            17 => self.packets.udp += 1,
            _ => self.packets.other += 1,
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

    #[inline]
    fn segment(&mut self, path: &Path, segment: &Segment<'_>, stamp: Stamp) {
        self.packets.tcp += 1;
        let (slot, direction) = match self.connections.find_again(path, false) {
            Some(found) => found,
            None => self.connection(*path, false),
        };
        let connection = self.connections.get(slot);
        let is_rare = segment.flags.opens_or_ends() || connection.opening.is_some() || connection.is_closed();
        if !is_rare && self.ties.is_empty() && !connection.is_early(segment, direction) {
            // As nearly all are.
            let used = connection.framed.framing != Framing::Unknown;
            connection.segment(segment, direction, stamp, &mut self.shared, &mut self.packets);
            if !used && connection.framed.framing != Framing::Unknown {
                self.first_message(slot);
            }
            return;
        }
        self.rare_segment((slot, direction), *segment, stamp);
    }

    /// Takes a segment that may open a connection or end it, an early segment, and any segment while others wait.
    #[cold]
    #[inline(never)]
    fn rare_segment(&mut self, (slot, direction): (Slot, usize), segment: Segment<'_>, stamp: Stamp) {
        let segment = &segment;
        let may_open = segment.flags.syn() || self.connections.get(slot).opening.is_some();
        if may_open && self.opening(slot, direction, segment, stamp) {
            return;
        }
        if self.connections.get(slot).is_followed_by(segment, direction) {
            self.replace(slot);
        }
        if self.connections.get(slot).is_early(segment, direction) {
            let packet = TiedPacket::Segment(SegmentBuf::of(segment), stamp);
            return self.wait(Tied { slot, direction, packet }, stamp.time_ns);
        }
        self.take_rare(slot, direction, segment, stamp);
        if !self.ties.is_empty() {
            self.release_ready(slot);
        }
    }

    /// Takes a rare segment, outside the code for the common case.
    #[cold]
    fn take_rare(&mut self, slot: Slot, direction: usize, segment: &Segment<'_>, stamp: Stamp) {
        let connection = self.connections.get(slot);
        let used = connection.framed.framing != Framing::Unknown;
        connection.rare_segment(*segment, direction, stamp, &mut self.shared, &mut self.packets);
        let is_closed = segment.flags.ends() && connection.is_closed();
        if !used && connection.framed.framing != Framing::Unknown {
            self.first_message(slot);
        }
        if is_closed {
            self.connections.note_closed(slot);
        }
    }

    /// A connection has turned out to be one of a file server.
    #[cold]
    fn first_message(&mut self, slot: Slot) {
        self.connections_used += 1;
        self.connections.keep_longer(slot);
    }

    /// A SYN may open another connection between the same ends. It is accepted when it is answered, or when its sender continues after
    /// it; a stray SYN leaves the connection as it is. Returns whether the segment needs no further work.
    #[cold]
    fn opening(&mut self, slot: Slot, direction: usize, segment: &Segment<'_>, stamp: Stamp) -> bool {
        let connection = self.connections.get(slot);
        let confirmed = connection.take_confirmed(segment, direction);
        let other_start = segment.flags.syn() && connection.tcp_flows[direction].is_other_start(segment.seq);
        let may_be_stray = !segment.flags.ack() || connection.is_acknowledged_by(segment, direction);
        if other_start && confirmed.is_none() && may_be_stray {
            connection.opening = Some(Box::new(Opening::new(segment, direction, stamp)));
            self.packets.tcp_data += u64::from(segment.wire_len > 0);
            self.packets.ack_only += u64::from(segment.wire_len == 0);
            return true;
        }
        if other_start || confirmed.is_some() {
            self.replace(slot);
        }
        if let Some(opening) = confirmed {
            let (syn, direction, stamp) = opening.segment();
            let connection = self.connections.get(slot);
            connection.confirmed(&syn, direction, stamp, &mut self.shared, &mut self.packets);
        }
        false
    }

    /// Ends a connection; another one begins between the same ends.
    #[cold]
    fn replace(&mut self, slot: Slot) {
        while self.release_first(Some(slot)) {}
        let begins_late = self.begins_late();
        let connection = self.connections.get(slot);
        connection.end(&mut self.shared, &mut self.packets);
        let (ends, decrypts) = (connection.ends(), self.shared.smb2.decryption.is_some());
        *connection = Connection::new(self.numbered, ends, decrypts).begun(begins_late);
        self.numbered += 1;
    }

    /// Whether the capture has been running for some time: a connection without a SYN may have lost packets.
    fn begins_late(&self) -> bool {
        self.span.1.saturating_sub(self.span.0) > LATE_NS
    }

    fn datagram(&mut self, path: &Path, datagram: Datagram<'_>) {
        self.packets.udp += 1;
        if plimsoll_wire::rpc::plausible_message(datagram.payload).is_none() {
            let (names, payload) = (&mut self.shared.output.names, datagram.payload);
            crate::names::learn_hosts(path.source_port, payload, &mut names.hosts);
            let is_cut = payload.len() < datagram.wire_len as usize;
            let ends = [(path.source, path.source_port), (path.destination, path.destination_port)];
            let ends = ends.map(|(address, port)| (ip_address(address), port));
            self.name_lookups.datagram(ends, payload, is_cut, datagram.last.time_ns, names);
            if is_cut && [path.source_port, path.destination_port].iter().any(|port| RPC_PORTS.contains(port)) {
                self.shared.output.anomalies.add(Anomaly::HeaderCutShort);
                self.shared.account.unseen.missing.unknown += 1;
            }
            return;
        }
        let (slot, direction) = self.connection(*path, true);
        let connection = self.connections.get(slot);
        if connection.framed.framing == Framing::Unknown {
            connection.framed.framing = Framing::Rpc;
            self.connections_used += 1;
        }
        if connection.paired.pairing.is_early_reply(datagram.payload, direction) {
            let time_ns = datagram.last.time_ns;
            let packet = TiedPacket::Datagram(DatagramBuf::of(&datagram));
            return self.wait(Tied { slot, direction, packet }, time_ns);
        }
        self.take_datagram(slot, direction, datagram);
        if !self.ties.is_empty() {
            self.release_ready(slot);
        }
    }

    fn take_datagram(&mut self, slot: Slot, direction: usize, datagram: Datagram<'_>) {
        let Datagram { payload, wire_len, first, last, packets } = datagram;
        let message = Message {
            bytes: payload,
            len: u64::from(wire_len),
            first,
            last: Some(last),
            resent_wait_ns: None,
            end_offset: 0,
            acknowledges: 0,
            packets,
            begin_offset: 0,
            marks: &[],
            content: Content::Message,
        };
        self.connections.get(slot).message(&message, direction, &mut self.shared, &mut self.packets);
    }

    #[inline(never)]
    fn connection(&mut self, path: Path, udp: bool) -> (Slot, usize) {
        if self.ties.is_empty() {
            if self.span.1.saturating_sub(self.swept_ns) > SWEEP_NS {
                self.sweep();
            }
        } else if self.connections.is_full() {
            // None may wait in a place that another connection gets.
            self.release_all();
        }
        let begins_late = self.begins_late();
        let (number, decrypts) = (&mut self.numbered, self.shared.smb2.decryption.is_some());
        let (slot, direction, evicted) = self.connections.find(&path, udp, || {
            let source = Endpoint { ip: ip_address(path.source), port: path.source_port };
            let destination = Endpoint { ip: ip_address(path.destination), port: path.destination_port };
            let low_first = (path.source, path.source_port) <= (path.destination, path.destination_port);
            let ends = if low_first { [source, destination] } else { [destination, source] };
            *number += 1;
            Connection::new(*number - 1, ends, decrypts).begun(begins_late)
        });
        if let Some(mut evicted) = evicted {
            self.shared.output.anomalies.add(Anomaly::ConnectionEvicted);
            evicted.end(&mut self.shared, &mut self.packets);
        }
        (slot, direction)
    }
}

impl<S: Sink> Observer<S> {
    /// Ends connections that were closed some time ago, and packs idle ones. Otherwise a capture of many short ones would fill the memory.
    #[cold]
    fn sweep(&mut self) {
        let now_ns = self.span.1;
        self.swept_ns = now_ns;
        if now_ns.saturating_sub(self.packed_ns) > PACK_NS {
            self.packed_ns = now_ns;
            // The keys of decrypted connections are not written anywhere.
            if self.shared.smb2.decryption.is_none() {
                let early = &mut self.shared.output.early;
                self.connections.pack_idle(|connection| connection.paired.pairing.clear_early(early));
            }
        }
        while let Some(mut closed) = self.connections.take_closed(|connection| connection.is_over(now_ns)) {
            closed.end(&mut self.shared, &mut self.packets);
        }
    }
}

fn granularity(clock: &ClockEstimate) -> ClockGranularity {
    let found = clock.granularity();
    ClockGranularity { estimate_ns: found.estimate_ns, at_most: found.at_most, backward_steps: found.backward_steps }
}
