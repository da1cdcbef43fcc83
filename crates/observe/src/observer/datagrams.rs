//! UDP datagrams: messages of RPC, and packets that contain names of hosts.

use plimsoll_model::{Anomaly, Sink};

use super::Observer;
use crate::message::{Content, Framing, Message};
use crate::packet::{Path, ip_address};
use crate::stream::Slot;
use crate::ties::{Datagram, DatagramBuf, Tied, TiedPacket};

/// Ports of NFS and of the portmapper, over UDP.
const RPC_PORTS: [u16; 2] = [2049, 111];

impl<S: Sink> Observer<S> {
    pub(super) fn datagram(&mut self, path: &Path, datagram: Datagram<'_>) {
        self.packets.udp += 1;
        let kind = plimsoll_wire::rpc::plausible_message(datagram.payload);
        if self.other_programs.takes(kind, path, datagram.payload, datagram.last.time_ns) {
            return;
        }
        if kind.is_none() {
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
            self.fragments.note_rpc(path.source, path.destination);
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

    pub(super) fn take_datagram(&mut self, slot: Slot, direction: usize, datagram: Datagram<'_>) {
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
}
